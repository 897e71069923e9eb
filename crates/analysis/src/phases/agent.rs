//! What our agent does as the initramfs of a trial, by the instants that it notes.

use super::stage::{Stage, whole};
use record::{Nanos, Record};

/// The first stage: the agent starts.
const FIRST: &str = "start";

/// The marks that begin the stages behind it, in the order of
/// `agent/src/program/init.rs`.
const STAGES: [(&str, &str); 3] = [
    ("initrd-modules", "modules"),
    ("initrd-storage", "storage"),
    ("initrd-root", "root"),
];

/// A stage that is shorter than this part of the phase belongs to the one before it.
const PARTS: i64 = 200;

/// The stages of the agent's initramfs from `start` to `end`, without a gap between them; none
/// if another one ran.
pub fn stages(record: &Record, start: Nanos, end: Nanos) -> Vec<Stage> {
    let mut begun = vec![(FIRST, start)];
    for (mark, name) in STAGES {
        let at = record.mark(mark).map(|m| m.at);
        let last = begun.last().map_or(start, |(_, at)| *at);
        if let Some(at) = at.filter(|at| *at >= last && *at < end) {
            begun.push((name, at));
        }
    }
    match begun.len() {
        1 => Vec::new(),
        _ => whole(&begun, end, Nanos((end - start).0 / PARTS)),
    }
}

#[cfg(test)]
mod tests {
    use super::stages;
    use record::{ClockKind, Nanos, Origin, Recorder};

    #[test]
    fn the_agent_tells_what_it_does() {
        let told = |marks: &[(&str, i64)]| {
            let mut recorder = Recorder::new();
            let source = recorder.source("manifest.json", "capture");
            let origin = Origin { source, offset: 0 };
            let clock = recorder.clock("counter", ClockKind::Virtual, 1);
            recorder.mark(clock, "power-on", 0, None, origin);
            for (name, at) in marks {
                recorder.mark(clock, name, *at, None, origin);
            }
            let stages = stages(&recorder.finish(), Nanos(1_000), Nanos(2_000));
            let row = |s: super::Stage| (s.name, s.start.get(), s.end.get());
            stages.into_iter().map(row).collect::<Vec<_>>()
        };
        let row = |name: &str, start, end| (name.to_owned(), start, end);
        assert_eq!(
            told(&[
                ("initrd-modules", 1_002),
                ("initrd-storage", 1_500),
                ("initrd-root", 1_900)
            ]),
            [
                row("start", 1_000, 1_002),
                row("modules", 1_002, 1_500),
                row("storage", 1_500, 1_900),
                row("root", 1_900, 2_000),
            ]
        );
        assert_eq!(told(&[]), []);
        // Another boot's.
        assert_eq!(told(&[("initrd-modules", 5_000)]), []);
    }
}
