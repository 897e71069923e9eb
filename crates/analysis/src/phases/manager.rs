//! What systemd does before it starts its first unit, by the times that it tells of itself.

use super::stage::Stage;
use record::{Nanos, Record};

/// The last stage: units, which have names of their own.
pub const UNIT_STAGE: &str = "units";

/// The first stage: systemd is loaded and linked, and mounts the file systems that it needs.
const FIRST: &str = "start";

/// The stages behind it, and the marks that begin them: the manager's properties that
/// `systemctl show` prints as `SecurityStartTimestampMonotonic=` and so on, in the order in
/// which `src/core/main.c` passes them. An initrd's systemd has its own.
const STAGES: [(&str, &str); 6] = [
    ("security-start", "security policy"),
    ("security-finish", "setup"),
    ("generators-start", "generators"),
    ("generators-finish", "setup"),
    ("units-load-start", "unit files"),
    ("units-load-finish", UNIT_STAGE),
];

/// A stage that is shorter than this part of the phase belongs to the one before it.
const PARTS: i64 = 200;

/// The stages of systemd in a phase from `start` to `end`, without a gap between them; none
/// if systemd did not tell its times. `prefix` stands before the names of the marks.
pub fn stages(record: &Record, prefix: &str, start: Nanos, end: Nanos) -> Vec<Stage> {
    let mut begun = vec![(FIRST, start)];
    for (mark, name) in STAGES {
        let at = record.mark(&format!("{prefix}{mark}")).map(|m| m.at);
        let last = begun.last().map_or(start, |(_, at)| *at);
        if let Some(at) = at.filter(|at| *at >= last && *at < end) {
            begun.push((name, at));
        }
    }
    match begun.last() {
        Some((last, _)) if *last == UNIT_STAGE => {
            super::stage::whole(&begun, end, Nanos((end - start).0 / PARTS))
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::stages;
    use record::{ClockKind, Nanos, Origin, Recorder, mark};

    const MS: i64 = 1_000_000;

    fn told(marks: &[(&str, i64)], prefix: &str) -> Vec<(String, i64, i64)> {
        let mut recorder = Recorder::new();
        let source = recorder.source("show.txt", "systemd-show");
        let origin = Origin { source, offset: 0 };
        let clock = recorder.clock("monotonic", ClockKind::Monotonic, 1_000);
        recorder.mark(clock, mark::KERNEL_CLOCK_START, 0, None, origin);
        for (name, at) in marks {
            recorder.mark(clock, name, at * MS, None, origin);
        }
        let stages = stages(
            &recorder.finish(),
            prefix,
            Nanos(100 * MS),
            Nanos(1_000 * MS),
        );
        let ms = |t: Nanos| t.get() / MS;
        stages
            .into_iter()
            .map(|s| (s.name, ms(s.start), ms(s.end)))
            .collect()
    }

    #[test]
    fn the_times_of_systemd_part_its_phase() {
        let marks = [
            ("security-start", 230),
            ("security-finish", 231),
            ("generators-start", 330),
            ("generators-finish", 540),
            ("units-load-start", 540),
            ("units-load-finish", 790),
        ];
        let row = |name: &str, start, end| (name.to_owned(), start, end);
        let expected = [
            row("start", 100, 231),
            row("setup", 231, 330),
            row("generators", 330, 540),
            row("unit files", 540, 790),
            row("units", 790, 1_000),
        ];
        assert_eq!(told(&marks, ""), expected);
        // Those of the initrd's systemd are not of this one.
        assert!(told(&marks, "initrd-").is_empty());
        // Without the last, nobody knows where units begin.
        assert!(told(&marks[..5], "").is_empty());
    }

    #[test]
    fn times_of_another_phase_are_left_out() {
        let marks = [
            ("generators-start", 50),
            ("generators-finish", 300),
            ("units-load-finish", 500),
        ];
        let names: Vec<String> = told(&marks, "").into_iter().map(|s| s.0).collect();
        assert_eq!(names, ["start", "setup", "units"]);
        assert!(told(&[("units-load-finish", 2_000)], "").is_empty());
    }
}
