//! Where a boot is split.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::record;
use firstlight_analysis::{Options, Phases, phases, phases_with};
use proptest::prelude::*;
use record::{ClockKind, Nanos, Phase, Recorder};

/// `kernel 0-5000000 a..b` for each phase, with ` | stage 0-3` for each stage.
fn rows(phases: &Phases) -> Vec<String> {
    let row = |p: &firstlight_analysis::PhaseRow| {
        let mut text = format!(
            "{} {}..{} {}..{}",
            p.name.as_str(),
            p.start,
            p.end,
            p.start_mark,
            p.end_mark
        );
        for s in &p.stages {
            text += &format!(" | {} {}..{}", s.name, s.start, s.end);
        }
        text
    };
    phases.phases.iter().map(row).collect()
}

#[test]
fn marks_split_the_time_line_and_loaders_are_stages() {
    let p = phases(&record(
        "mark 0s power-on firmware
         mark 1s U-Boot~SPL loader
         mark 2s U-Boot loader
         mark 5s decompression-start decompression
         mark 6s kernel-entry kernel
         mark 7s init-started -
         mark 7s userspace-start userspace
         mark 9s startup-finished -
         say 12s 6 later",
    ));
    assert_eq!(
        rows(&p),
        [
            "firmware 0 s..1.000 s power-on..U-Boot SPL",
            "loader 1.000 s..5.000 s U-Boot SPL..decompression-start \
             | U-Boot SPL 1.000 s..2.000 s | U-Boot 2.000 s..5.000 s",
            "decompression 5.000 s..6.000 s decompression-start..kernel-entry",
            "kernel 6.000 s..7.000 s kernel-entry..userspace-start",
            "userspace 7.000 s..9.000 s userspace-start..startup-finished",
        ]
    );
    assert_eq!(p.zero, "power-on");
    assert_eq!(p.clock, Some(ClockKind::Printk));
    assert_eq!(p.last, Nanos::from_millis(12_000));
    assert_eq!(p.first_light.unwrap().mark, "startup-finished");
}

#[test]
fn several_views_of_one_moment_are_one_phase() {
    let p = phases(&record(
        "mark 0s kernel-clock-start kernel
         mark 0s kernel-entry kernel
         mark 3us kernel-start kernel
         mark 2s userspace-start userspace
         mark 2.000005s systemd-start userspace
         mark 4s first-light -
         mark 5s startup-finished -",
    ));
    assert_eq!(
        rows(&p),
        [
            "kernel 0 s..2.000 s kernel-entry..userspace-start",
            "userspace 2.000 s..4.000 s userspace-start..first-light",
        ]
    );
}

#[test]
fn the_kernel_never_begins_before_its_first_instruction() {
    let p = phases(&record(
        "mark 0s power-on firmware
         mark 1s decompression-start decompression
         mark 4s kernel-clock-start kernel
         mark 4.1s kernel-entry kernel
         mark 6s first-light -",
    ));
    assert_eq!(
        rows(&p),
        [
            "firmware 0 s..1.000 s power-on..decompression-start",
            "decompression 1.000 s..4.100 s decompression-start..kernel-entry",
            "kernel 4.100 s..6.000 s kernel-entry..first-light",
        ]
    );
}

#[test]
fn firmware_between_two_loaders_is_a_stage() {
    let p = phases(&record(
        "mark 0s U-Boot~SPL loader
         mark 1s TF-A firmware
         mark 2s U-Boot loader
         mark 3s kernel-start kernel
         mark 4s first-light -",
    ));
    assert_eq!(
        rows(&p)[0],
        "loader 0 s..3.000 s U-Boot SPL..kernel-start \
         | U-Boot SPL 0 s..1.000 s | TF-A 1.000 s..2.000 s | U-Boot 2.000 s..3.000 s"
    );
}

#[test]
fn a_phase_from_an_unrelated_clock_does_not_go_backwards() {
    let p = phases(&record(
        "mark 0s kernel-start kernel
         mark 1s userspace-start userspace
         mark 3s startup-finished -
         source serial.log serial
         clock serial wall
         mark 0s U-Boot loader
         mark 2s U-Boot~proper loader",
    ));
    let text = rows(&p);
    assert_eq!(text.len(), 2, "{text:?}");
    assert!(text[0].starts_with("kernel 0 s..1.000 s"), "{text:?}");
    assert!(p.milestones.iter().any(|m| m.name == "U-Boot proper"));
}

#[test]
fn without_an_end_the_last_event_ends_it() {
    let p = phases(&record("mark 0s kernel-start kernel\nsay 3s 6 last words"));
    assert_eq!(rows(&p), ["kernel 0 s..3.000 s kernel-start..last-event"]);
    assert_eq!(p.first_light, None);
    assert_eq!(p.end(), Nanos::from_millis(3_000));
}

#[test]
fn the_kernel_ends_by_the_best_evidence_there_is() {
    let of = |text: &str| {
        rows(&phases(&record(&format!(
            "mark 0s kernel-start kernel\n{text}"
        ))))
    };
    // Kernels before 4.17 do not say that they run the first program.
    assert_eq!(
        of("mark 2s memory-freed -\nsay 30s 6 idle"),
        [
            "kernel 0 s..2.000 s kernel-start..memory-freed",
            "userspace 2.000 s..30.000 s memory-freed..last-event"
        ]
    );
    // What mounts the root after that is an initramfs.
    assert_eq!(
        of(
            "mark 2s memory-freed -\nmark 3s root-mounted -\nmark 5s userspace-start userspace\nsay 9s 6 x"
        ),
        [
            "kernel 0 s..2.000 s kernel-start..memory-freed",
            "initrd 2.000 s..5.000 s memory-freed..userspace-start",
            "userspace 5.000 s..9.000 s userspace-start..last-event"
        ]
    );
    assert_eq!(
        of(
            "mark 2s init-started -\nmark 2s initrd-start initrd\nmark 3s root-mounted -\nsay 3001s 6 x"
        ),
        [
            "kernel 0 s..2.000 s kernel-start..initrd-start",
            "initrd 2.000 s..3.000 s initrd-start..root-mounted",
            "userspace 3.000 s..50 min 1 s root-mounted..last-event"
        ]
    );
    // A quiet console shows little.
    assert_eq!(
        of("mark 4s first-userspace-line -\nsay 19s 4 a warning"),
        [
            "kernel 0 s..4.000 s kernel-start..first-userspace-line",
            "userspace 4.000 s..19.000 s first-userspace-line..last-event"
        ]
    );
    // Its own word is better than all of these.
    assert_eq!(
        of(
            "mark 1s memory-freed -\nmark 2s init-started -\nmark 2s userspace-start userspace\nsay 9s 6 x"
        ),
        [
            "kernel 0 s..2.000 s kernel-start..userspace-start",
            "userspace 2.000 s..9.000 s userspace-start..last-event"
        ]
    );
}

#[test]
fn a_prompt_ends_a_boot_without_systemd() {
    let end = |text: &str| {
        let p = phases(&record(&format!(
            "mark 0s kernel-start kernel\nsay 1s 6 a\n{text}"
        )));
        p.first_light
            .map(|f| (f.at.0 / 1_000_000, f.uncertain.0 / 1_000_000))
    };
    assert_eq!(end("say 5s - board login: \nsay 6s 6 b"), Some((5_000, 0)));
    // A line without a time came between its neighbors.
    assert_eq!(
        end("say - - board login:\nsay 6s 6 b"),
        Some((1_000, 5_000))
    );
    assert_eq!(end("say 7s - procd: - init complete -"), Some((7_000, 0)));
    assert_eq!(end("say 7s - login: of a user was refused"), None);
    let animated = "say 6s 6 init: Service 'bootanim' (pid 7) exited with status 0\n";
    assert_eq!(end(animated), Some((6_000, 0)));
    let old = "say 6s 6 init: process 'bootanim', pid 7 exited\n";
    assert_eq!(end(old), Some((6_000, 0)));
    // What says more is better, and what begins or is drawn again is no end.
    let complete = "say 7s 6 init: processing action (sys.boot_completed=1) from (/init.rc:9)";
    assert_eq!(end(&format!("{animated}{complete}")), Some((7_000, 0)));
    let begins = "say 5s 6 init: starting service 'bootanim'...\n\
                  say 6s 6 init: Service 'bootanim' (pid 7) is drawing";
    assert_eq!(end(begins), None);
    // systemd's own word is better.
    assert_eq!(
        end("say 5s - board login:\nmark 8s startup-finished -"),
        Some((8_000, 0))
    );
}

#[test]
fn a_target_is_there_when_it_is_reached() {
    let r = record(
        "mark 0s kernel-start kernel
         say 5s 6 systemd[1]: Queued start job for default target multi-user.target.
         say 43s 6 x
         say - - [  OK  ] Reached target multi-user.target - Multi-User System.
         say 44s 6 y",
    );
    let of = |text: &str| {
        let options = Options {
            first_light: Some(text.to_owned()),
        };
        let f = phases_with(&r, &options).first_light;
        f.map(|f| (f.at.0 / 1_000_000, f.uncertain.0 / 1_000_000))
    };
    assert_eq!(of("multi-user.target"), Some((43_000, 1_000)));
    assert_eq!(of("graphical.target"), None);
    let old = record("say 1s 6 a\nsay 9s - [  OK  ] Reached target Multi-User System.");
    let options = Options {
        first_light: Some("multi-user.target".to_owned()),
    };
    let f = phases_with(&old, &options).first_light.unwrap();
    assert_eq!(f.at, Nanos::from_millis(9_000));
}

#[test]
fn an_empty_record_has_no_phases() {
    let p = phases(&record(""));
    assert_eq!((p.phases.len(), p.first_light, p.clock), (0, None, None));
}

#[test]
fn first_light_is_a_mark_a_unit_or_a_text() {
    let r = record(
        "mark 0s kernel-start kernel
         mark 1s userspace-start userspace
         span unit 2s 4s app.service
         say 5s 6 login:
         say 3s 6 debian login: again",
    );
    let of = |text: &str| {
        let options = Options {
            first_light: Some(text.to_owned()),
        };
        let p = phases_with(&r, &options);
        p.first_light.map(|f| (f.mark, f.at.0 / 1_000_000))
    };
    assert_eq!(
        of("userspace-start"),
        Some(("userspace-start".into(), 1_000))
    );
    assert_eq!(of("app.service"), Some(("app.service".into(), 4_000)));
    assert_eq!(of("login:"), Some(("login:".into(), 3_000)));
    assert_eq!(of("nothing says this"), None);
}

proptest! {
    #[test]
    fn phases_never_overlap_or_run_backwards(
        marks in prop::collection::vec((0_usize..8, 0_i64..20, 0_usize..2), 0..24),
    ) {
        let words = ["-", "firmware", "loader", "decompression", "kernel", "initrd", "userspace", "app"];
        let mut rec = Recorder::new();
        let source = rec.source("log", "test");
        let clocks = [
            rec.clock("printk", ClockKind::Printk, 1),
            rec.clock("serial", ClockKind::Wall, 1),
        ];
        for (offset, (word, at, clock)) in marks.iter().enumerate() {
            let origin = record::Origin { source, offset: offset as u64 };
            let name = if *word == 0 && *at > 10 { "first-light".to_owned() } else { format!("m{offset}") };
            rec.mark(clocks[*clock], &name, *at, common::phase(words[*word]), origin);
        }
        let p = phases(&rec.finish());
        let mut reached: Option<(Nanos, Phase)> = None;
        for row in &p.phases {
            prop_assert!(row.start < row.end || p.phases.len() == 1, "{row:?}");
            if let Some((end, before)) = reached {
                prop_assert_eq!(row.start, end);
                prop_assert!(row.name > before);
            }
            reached = Some((row.end, row.name));
            let mut at = row.start;
            for stage in &row.stages {
                prop_assert!(stage.start == at && stage.end > stage.start, "{row:?}");
                at = stage.end;
            }
            prop_assert!(row.stages.is_empty() || at == row.end);
        }
        if let (Some((end, _)), Some(f)) = (reached, &p.first_light) {
            prop_assert_eq!(end, f.at);
        }
    }
}

#[test]
fn what_systemd_says_of_userspace_is_finer_than_whole_seconds() {
    let kernel = |ms: i64| {
        let mut rec = Recorder::new();
        let source = rec.source("journal.txt", "kernel-log");
        let clock = rec.clock("monotonic", ClockKind::Monotonic, 1);
        let line = |offset| record::Origin { source, offset };
        rec.mark(clock, "a", 0, Some(Phase::Kernel), line(0));
        rec.mark(clock, "b", ms * 1_000_000, Some(Phase::Userspace), line(1));
        rec.fact("systemd.startup_userspace_ns", "5000000000", line(2));
        rec.mark(clock, "c", 3_600_000_000, Some(Phase::Userspace), line(2));
        rec.mark(clock, "startup-finished", 8_600_000_000, None, line(2));
        let rows = phases(&rec.finish()).phases;
        let kernel = rows.iter().find(|p| p.name == Phase::Kernel);
        kernel.map(|p| p.end.0 / 1_000_000)
    };
    assert_eq!(kernel(3_200), Some(3_600));
    // A line that is more than its step earlier says something else.
    assert_eq!(kernel(2_000), Some(2_000));
}

/// A kernel writes its first words as it starts: a clock that stands at seconds by then counted
/// firmware and loader. Another line's clock may be another one.
#[test]
fn a_clock_that_ran_before_the_kernel_shows_the_firmware() {
    let of = |words_ms: i64, place: u64| {
        let mut recorder = Recorder::new();
        let source = recorder.source("dmesg.txt", "kernel-log");
        let clock = recorder.clock("printk", ClockKind::Printk, 1_000);
        let at = |offset| record::Origin { source, offset };
        let kernel = Some(Phase::Kernel);
        recorder.mark(clock, record::mark::KERNEL_CLOCK_START, 0, kernel, at(0));
        let words = words_ms * 1_000_000;
        recorder.mark(clock, record::mark::KERNEL_START, words, kernel, at(place));
        recorder.message(clock, Some(15_000_000_000), None, "a line", at(90));
        rows(&phases(&recorder.finish()))
    };
    assert_eq!(
        of(13_000, 0),
        [
            "firmware 0 s..13.000 s kernel-clock-start..kernel-start",
            "kernel 13.000 s..15.000 s kernel-start..last-event",
        ]
    );
    let whole = ["kernel 0 s..15.000 s kernel-clock-start..last-event"];
    assert_eq!(of(13_000, 40), whole);
    assert_eq!(of(999, 0), whole);
}
