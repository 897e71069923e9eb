//! The run logic on a machine that is only a script: order, results, resuming,
//! failures, exactness. No QEMU.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use firstlight_lab::{
    Boot, Event, Experiment, Failure, LabError, Machine, On, Options, Outcome, Plan, Reason,
    Shared, Trial, run_on,
};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const EXPERIMENT: &str = r#"
firstlight_experiment = 1
[base]
machine = "pc"
storage = "none"
kernel = "debian"
root = "none"
cmdline = ["console=ttyS0"]
first_light = "init"
[[variant]]
name = "quiet"
treatments = ["cmdline+=quiet"]
[[variant]]
name = "broken"
treatments = ["cmdline+=panic-now"]
"#;

/// A machine that plays what it is told, and counts its boots.
#[derive(Default)]
struct Replay {
    booted: Mutex<Vec<String>>,
    /// The n-th boot of a trial of this name writes this to its console.
    consoles: BTreeMap<&'static str, Vec<&'static str>>,
    /// A trial of this name cannot be run at all.
    impossible: Option<&'static str>,
    /// What else the boots depend on.
    version: u32,
}

impl Machine for Replay {
    fn description(&self) -> String {
        "replay".into()
    }

    fn inputs(&self, plan: &Plan) -> Result<String, LabError> {
        Ok(format!("{} {}", self.version, plan.spec.cmdline))
    }

    fn boot(
        &self,
        plan: &Plan,
        work: &Path,
        seen: &mut dyn FnMut(u64, &str),
    ) -> Result<Boot, LabError> {
        assert!(work.read_dir().unwrap().next().is_none(), "work is empty");
        fs::write(work.join("scratch"), "").unwrap();
        let name = plan.id.to_string();
        if self.impossible == Some(name.as_str()) {
            let why = "as told".into();
            return Err(LabError::Bug { why });
        }
        let mut booted = self.booted.lock().unwrap();
        let before = booted.iter().filter(|b| **b == name).count();
        booted.push(name.clone());
        let console = match self.consoles.get(name.as_str()) {
            Some(scripts) => scripts[before.min(scripts.len() - 1)].to_owned(),
            None => format!("booted {}\n", plan.spec.cmdline),
        };
        seen(console.len() as u64, "booted");
        let failure = plan.spec.cmdline.contains("panic-now").then(|| Failure {
            reason: Reason::Panic,
            detail: "Kernel panic - as asked".into(),
            last_lines: vec!["Kernel panic - as asked".into()],
        });
        Ok(Boot {
            console: console.into_bytes(),
            failure,
            ..Boot::default()
        })
    }
}

impl Replay {
    fn boots(&self) -> Vec<String> {
        self.booted.lock().unwrap().clone()
    }
}

/// A new folder, in memory where there is such a place: each trial is synced.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

fn options(out: &Path) -> Options {
    Options {
        out: out.to_owned(),
        jobs: NonZeroUsize::new(1),
        ensemble: 1,
        check_exact: false,
        recording_cost: false,
        shared: None,
        on: On::Host,
    }
}

fn run(machine: &Replay, options: &Options) -> (Result<Outcome, LabError>, Vec<Event>) {
    let experiment = Experiment::parse("e.toml", EXPERIMENT).unwrap();
    let mut events = Vec::new();
    let outcome = run_on(machine, &experiment, options, &mut |e| events.push(e));
    (outcome, events)
}

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

/// The shared folder `folder`, where one result in `audit_every` is checked.
fn sharing(options: &Options, folder: &Path, audit_every: u32) -> Options {
    Options {
        shared: Some(Shared {
            folder: folder.to_owned(),
            audit_every,
        }),
        ..options.clone()
    }
}

/// The files of the shared folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let groups = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let files = groups.flat_map(|g| fs::read_dir(g).unwrap());
    let mut files: Vec<_> = files.map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_shared_result_is_not_booted_again_and_says_who_booted_it() {
    let (one, two, shared) = (folder(), folder(), folder());
    let machine = Replay::default();
    let (first, _) = run(&machine, &sharing(&options(one.path()), shared.path(), 0));
    assert_eq!(machine.boots().len(), 3);
    assert_eq!(entries(shared.path()).len(), 3);
    let other = Replay::default();
    let (second, events) = run(&other, &sharing(&options(two.path()), shared.path(), 0));
    assert_eq!(other.boots(), Vec::<String>::new());
    assert!(
        events
            .iter()
            .any(|e| matches!(e, Event::Planned { reused: 3, .. }))
    );
    let (first, second) = (first.unwrap(), second.unwrap());
    for (a, b) in first.trials.iter().zip(&second.trials) {
        assert_eq!(a.shared_by, None);
        assert!(b.shared_by.as_ref().unwrap().contains("firstlight"));
        let same = Trial {
            shared_by: None,
            ..b.clone()
        };
        assert_eq!(*a, same);
        let console = |out: &Path, t: &Trial| fs::read(out.join(&t.capture).join("console.log"));
        assert_eq!(
            console(one.path(), a).unwrap(),
            console(two.path(), b).unwrap()
        );
    }
}

#[test]
fn a_damaged_foreign_or_cut_entry_is_refused_and_booted() {
    let (one, shared) = (folder(), folder());
    let machine = Replay::default();
    run(&machine, &sharing(&options(one.path()), shared.path(), 0))
        .0
        .unwrap();
    let files = entries(shared.path());
    let whole = fs::read(&files[0]).unwrap();
    fs::write(&files[0], &whole[..whole.len() / 2]).unwrap();
    // The right form, of another trial.
    fs::copy(&files[2], &files[1]).unwrap();
    fs::write(&files[2], b"not a result\n").unwrap();
    let (two, again) = (folder(), Replay::default());
    let (outcome, events) = run(&again, &sharing(&options(two.path()), shared.path(), 0));
    outcome.unwrap();
    assert_eq!(again.boots().len(), 3);
    let notes = events.iter().filter(|e| match e {
        Event::Note { text } => text.ends_with("; the trial is booted"),
        _ => false,
    });
    assert_eq!(notes.count(), 3);
}

#[test]
fn an_audit_that_differs_ends_the_run_with_both_digests() {
    let (one, two, shared) = (folder(), folder(), folder());
    let machine = Replay::default();
    run(&machine, &sharing(&options(one.path()), shared.path(), 0))
        .0
        .unwrap();
    // All are checked, and all are the same.
    let honest = Replay::default();
    run(&honest, &sharing(&options(two.path()), shared.path(), 1))
        .0
        .unwrap();
    assert_eq!(honest.boots().len(), 3);
    // Another host, on which the boot is another.
    let three = folder();
    let mut other = Replay::default();
    other.consoles.insert("quiet/0", vec!["something else\n"]);
    let (outcome, _) = run(&other, &sharing(&options(three.path()), shared.path(), 1));
    let said = outcome.unwrap_err().to_string();
    assert!(said.starts_with("quiet/0: the shared result of "), "{said}");
    assert!(said.contains("has the digest "), "{said}");
}

#[test]
fn a_second_boot_for_comparison_is_never_shared() {
    let (one, shared) = (folder(), folder());
    let mut asked = sharing(&options(one.path()), shared.path(), 0);
    asked.check_exact = true;
    run(&Replay::default(), &asked).0.unwrap();
    let two = folder();
    asked.out = two.path().to_owned();
    let machine = Replay::default();
    run(&machine, &asked).0.unwrap();
    let again = machine.boots();
    assert_eq!(again.len(), 3, "{again:?}");
    assert!(again.iter().all(|b| b.ends_with(" again")), "{again:?}");
}
