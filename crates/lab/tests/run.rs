//! The run logic on a machine that is only a script: order, results, resuming,
//! failures, exactness. No QEMU.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod replay;

use firstlight_lab::{Event, Options, Reason};
use replay::{Replay, folder, options, run};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;

#[test]
fn trials_run_in_order_and_leave_their_captures() {
    let out = folder();
    let machine = Replay::default();
    let mut options = options(out.path());
    options.ensemble = 2;
    let (outcome, events) = run(&machine, &options);
    assert_eq!(
        machine.boots(),
        [
            "baseline/0",
            "quiet/0",
            "broken/0",
            "baseline/1",
            "quiet/1",
            "broken/1"
        ]
    );
    let outcome = outcome.unwrap();
    let names: Vec<_> = outcome.trials.iter().map(|t| t.id.to_string()).collect();
    assert_eq!(
        names,
        [
            "baseline/0",
            "baseline/1",
            "quiet/0",
            "quiet/1",
            "broken/0",
            "broken/1"
        ]
    );
    for trial in &outcome.trials {
        let capture = out.path().join(&trial.capture);
        let console = fs::read_to_string(capture.join("console.log")).unwrap();
        assert_eq!(console, format!("booted {}\n", trial.cmdline));
        assert!(capture.join("manifest.json").is_file());
        assert!(!capture.join("../work").exists(), "nothing is left behind");
    }
    assert_eq!(
        outcome.trials[1]
            .cmdline
            .matches("firstlight.perturb=1x")
            .count(),
        1
    );
    let said: Vec<_> = events
        .iter()
        .map(|e| match e {
            Event::Planned {
                trials,
                reused,
                jobs,
            } => format!("{trials} {reused} {jobs}"),
            Event::PowerOn { trial } => format!("on {trial}"),
            Event::Console { trial, bytes, .. } => format!("{trial} {}", bytes > &0),
            Event::Finished { trial, reused } => format!("end {} {reused}", trial.id),
            Event::Note { text } => text.clone(),
        })
        .take(4)
        .collect();
    assert_eq!(
        said,
        [
            "6 0 1",
            "on baseline/0",
            "baseline/0 true",
            "end baseline/0 false"
        ]
    );
}

#[test]
fn a_boot_that_fails_is_a_result() {
    let out = folder();
    let (outcome, _) = run(&Replay::default(), &options(out.path()));
    let outcome = outcome.unwrap();
    let failed: Vec<_> = outcome.trials.iter().map(|t| t.failure.is_some()).collect();
    assert_eq!(failed, [false, false, true]);
    let failure = outcome.trials[2].failure.as_ref().unwrap();
    assert_eq!(failure.reason, Reason::Panic);
    assert_eq!(failure.last_lines, ["Kernel panic - as asked"]);
}

#[test]
fn a_machine_that_cannot_boot_at_all_ends_the_run_and_the_rest_is_kept() {
    let out = folder();
    let machine = Replay {
        impossible: Some("quiet/0"),
        ..Replay::default()
    };
    let (outcome, _) = run(&machine, &options(out.path()));
    assert!(outcome.unwrap_err().to_string().contains("as told"));
    assert_eq!(machine.boots(), ["baseline/0"]);
    let again = Replay::default();
    run(&again, &options(out.path())).0.unwrap();
    assert_eq!(again.boots(), ["quiet/0", "broken/0"]);
}

#[test]
fn a_second_run_boots_nothing_and_says_the_same() {
    let out = folder();
    let (first, _) = run(&Replay::default(), &options(out.path()));
    let journal = fs::read(out.path().join("trials.jsonl")).unwrap();
    let machine = Replay::default();
    let (second, events) = run(&machine, &options(out.path()));
    assert!(machine.boots().is_empty());
    assert_eq!(first.unwrap(), second.unwrap());
    assert_eq!(fs::read(out.path().join("trials.jsonl")).unwrap(), journal);
    let reused = |e: &&Event| matches!(e, Event::Finished { reused: true, .. });
    assert_eq!(events.iter().filter(reused).count(), 3);
}

#[test]
fn other_inputs_are_booted_anew() {
    let out = folder();
    run(&Replay::default(), &options(out.path())).0.unwrap();
    let machine = Replay {
        version: 1,
        ..Replay::default()
    };
    run(&machine, &options(out.path())).0.unwrap();
    assert_eq!(machine.boots().len(), 3);
}

#[test]
fn a_boot_that_does_not_end_leaves_that_of_earlier_inputs() {
    let out = folder();
    run(&Replay::default(), &options(out.path())).0.unwrap();
    let machine = Replay {
        version: 1,
        impossible: Some("quiet/0"),
        ..Replay::default()
    };
    run(&machine, &options(out.path())).0.unwrap_err();
    assert_eq!(machine.boots(), ["baseline/0"]);
    let again = Replay::default();
    run(&again, &options(out.path())).0.unwrap();
    assert_eq!(again.boots(), ["baseline/0"]);
    assert!(!out.path().join("begun").exists(), "nothing is left behind");
}

#[test]
fn a_trial_without_its_last_file_is_booted_anew() {
    let out = folder();
    run(&Replay::default(), &options(out.path())).0.unwrap();
    let quiet = out.path().join("trials/quiet/0");
    fs::remove_file(quiet.join("trial.json")).unwrap();
    fs::write(quiet.join("capture/left-over"), "").unwrap();
    fs::remove_dir_all(out.path().join("trials/broken/0/capture")).unwrap();
    let machine = Replay::default();
    run(&machine, &options(out.path())).0.unwrap();
    assert_eq!(machine.boots(), ["quiet/0", "broken/0"]);
    assert!(!quiet.join("capture/left-over").exists());
}

#[test]
fn a_journal_cut_at_any_byte_is_mended_without_a_boot() {
    let out = folder();
    run(&Replay::default(), &options(out.path())).0.unwrap();
    let path = out.path().join("trials.jsonl");
    let whole = fs::read(&path).unwrap();
    let sorted = |bytes: &[u8]| {
        let mut lines: Vec<_> = bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        lines.sort();
        lines
    };
    // Every byte of the last line, and some of those before.
    let last = whole[..whole.len() - 1]
        .iter()
        .rposition(|b| *b == b'\n')
        .unwrap();
    for cut in (0..last).step_by(16).chain(last..whole.len()) {
        fs::write(&path, &whole[..cut]).unwrap();
        let machine = Replay::default();
        run(&machine, &options(out.path())).0.unwrap();
        assert!(machine.boots().is_empty(), "cut at {cut}");
        let mended = fs::read(&path).unwrap();
        assert_eq!(sorted(&mended), sorted(&whole), "cut at {cut}");
    }
}

#[test]
fn a_trial_file_cut_at_any_byte_is_not_taken_for_whole() {
    let out = folder();
    run(&Replay::default(), &options(out.path())).0.unwrap();
    let path = out.path().join("trials/quiet/0/trial.json");
    let whole = fs::read(&path).unwrap();
    // The last byte is a line end, without which the object is whole.
    for cut in (0..whole.len() - 1).step_by(29) {
        fs::write(&path, &whole[..cut]).unwrap();
        let machine = Replay::default();
        run(&machine, &options(out.path())).0.unwrap();
        assert_eq!(machine.boots(), ["quiet/0"], "cut at {cut}");
    }
}

#[test]
fn a_trial_that_met_the_hosts_limit_is_tried_again() {
    let out = folder();
    run(&Replay::default(), &options(out.path())).0.unwrap();
    let path = out.path().join("trials/broken/0/trial.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"panic\"", "\"wall_limit\"")).unwrap();
    let machine = Replay::default();
    run(&machine, &options(out.path())).0.unwrap();
    assert_eq!(machine.boots(), ["broken/0"]);
}

#[test]
fn two_equal_boots_are_exact() {
    let out = folder();
    let mut options = options(out.path());
    options.check_exact = true;
    options.ensemble = 2;
    let machine = Replay::default();
    let (outcome, _) = run(&machine, &options);
    let outcome = outcome.unwrap();
    assert_eq!(outcome.trials.len(), 6);
    assert_eq!(outcome.exact.len(), 3);
    for check in &outcome.exact {
        assert_eq!(check.difference, None);
        assert_eq!(check.digests[0], check.digests[1]);
    }
    let again = machine
        .boots()
        .iter()
        .filter(|b| b.ends_with("again"))
        .count();
    assert_eq!(again, 3);
}

#[test]
fn two_unequal_boots_show_where() {
    let out = folder();
    let mut options = options(out.path());
    options.check_exact = true;
    let machine = Replay {
        consoles: BTreeMap::from([
            ("quiet/0", vec!["one\ntwo\nthree\n"]),
            ("quiet/0 again", vec!["one\ntwO\nthree\n"]),
        ]),
        ..Replay::default()
    };
    let outcome = run(&machine, &options).0.unwrap();
    let unequal: Vec<_> = outcome
        .exact
        .iter()
        .filter(|c| c.difference.is_some())
        .collect();
    assert_eq!(unequal.len(), 1);
    assert_eq!(unequal[0].variant, "quiet");
    let difference = unequal[0].difference.as_ref().unwrap();
    assert_eq!(difference.file, "console.log");
    assert_eq!((difference.line, difference.byte), (2, 6));
    assert_eq!(difference.lines, ["two", "twO"]);
}

#[test]
fn several_machines_run_at_once_and_give_the_same() {
    let (one, many) = (folder(), folder());
    let mut options_many = options(many.path());
    options_many.jobs = NonZeroUsize::new(4);
    options_many.ensemble = 5;
    let mut options_one = options(one.path());
    options_one.ensemble = 5;
    let digests = |o: &Options| {
        let outcome = run(&Replay::default(), o).0.unwrap();
        let digests = outcome.trials.into_iter().map(|t| (t.id, t.digest));
        digests.collect::<Vec<_>>()
    };
    assert_eq!(digests(&options_one), digests(&options_many));
}

#[test]
fn a_journal_of_another_version_is_left_alone() {
    let out = folder();
    run(&Replay::default(), &options(out.path())).0.unwrap();
    let path = out.path().join("trials.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let newer = text.replace("\"firstlight_trial\":1", "\"firstlight_trial\":2");
    fs::write(&path, &newer).unwrap();
    let said = run(&Replay::default(), &options(out.path())).0.unwrap_err();
    assert!(said.to_string().contains("version 2"), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), newer);
}
