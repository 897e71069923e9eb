//! `firstlight lab run`, killed at random moments: what it resumes to is what an
//! undisturbed run gives. And what else is said of a run whose trials are known: a twin
//! that differs, what can be told apart. The machine is `replay`, so that boots take no
//! time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{firstlight, workspace};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const VARIANTS: [&str; 4] = ["baseline", "faster", "slower", "broken"];
const ENSEMBLE: u64 = 3;
const KILLS: u32 = 50;
const KILLS_OF_SHARED: u32 = 20;

/// An earlier run's output folder, with captures as small as they come.
fn stored(folder: &Path) {
    for (v, variant) in VARIANTS.iter().enumerate() {
        for k in 0..ENSEMBLE {
            let trial = folder.join(format!("trials/{variant}/{k}"));
            let capture = trial.join("capture");
            fs::create_dir_all(&capture).unwrap();
            let failed = *variant == "broken";
            let at_ns = 1_000_000_000 + [0, -200_000_000, 300_000_000, 0][v] + k as i64 * 4_000_000;
            let reading = json!({"ticks": at_ns / 16, "other": "monotonic", "other_ns": at_ns,
                "error_ns": 20});
            let mut marks = vec![json!({"name": "power-on", "clock": "counter", "at_ns": 0,
                "begins": "firmware"})];
            if !failed {
                marks.push(json!({"name": "first-light", "clock": "counter", "at_ns": at_ns}));
            }
            let manifest = json!({
                "firstlight_capture": 1,
                "taken_by": "a test",
                "clocks": [
                    {"name": "counter", "kind": "virtual", "hz": 62_500_000, "readings": [reading]},
                    {"name": "monotonic", "kind": "monotonic", "hz": 1_000_000_000, "readings": []},
                ],
                "marks": marks,
                "sources": [{"name": "console", "format": "none", "file": "console.log"}],
            });
            fs::write(capture.join("manifest.json"), manifest.to_string()).unwrap();
            // Large enough to be found half-written.
            let console = format!("{variant} {k}\n").repeat(4_000);
            fs::write(capture.join("console.log"), console).unwrap();
            let failure = json!({"reason": "panic", "detail": "Kernel panic - no root",
                "last_lines": ["Kernel panic - no root"]});
            let whole = json!({
                "firstlight_trial": 1, "variant": variant, "perturbation": k,
                "fingerprint": "stored", "digest": "stored",
                "capture": format!("trials/{variant}/{k}/capture"),
                "virtual_end_ns": at_ns, "wall_s": 1.0,
                "failure": if failed { failure } else { Value::Null },
                "kernel": "image", "cmdline": "quiet",
            });
            fs::write(trial.join("trial.json"), whole.to_string()).unwrap();
        }
    }
}

fn experiment(folder: &Path) -> String {
    let mut text = format!(
        "firstlight_experiment = 1\n[base]\nmachine = \"replay\"\nreplay = \"stored\"\n\
         cmdline = [\"quiet\"]\nensemble = {ENSEMBLE}\n"
    );
    for variant in &VARIANTS[1..] {
        text += &format!(
            "[[variant]]\nname = \"{variant}\"\ntreatments = [\"cmdline+=variant={variant}\"]\n"
        );
    }
    let path = folder.join("replay.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn start(file: &str, out: &Path) -> Child {
    start_with(file, out, &[])
}

fn start_with(file: &str, out: &Path, more: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(["lab", "run", file, "--jobs", "2", "--out"])
        .arg(out)
        .args(more)
        .current_dir(workspace())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The table of a run in `out`, whatever the folder is called.
fn result(out: &Path) -> String {
    let text = fs::read_to_string(out.join("result.json")).unwrap();
    text.replace(out.to_str().unwrap(), "OUT")
}

/// What claims to be whole is whole.
fn whole_trials_are_whole(out: &Path, stored: &Path) -> u32 {
    let mut whole = 0;
    for variant in VARIANTS {
        for k in 0..ENSEMBLE {
            let name = format!("trials/{variant}/{k}");
            let Ok(text) = fs::read(out.join(&name).join("trial.json")) else {
                continue;
            };
            let trial: Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(trial["variant"], variant);
            for file in ["capture/manifest.json", "capture/console.log"] {
                let read = |root: &Path| fs::read(root.join(&name).join(file)).unwrap();
                assert!(read(out) == read(stored), "{name}/{file}");
            }
            whole += 1;
        }
    }
    whole
}

/// A folder in memory where it can be, with `stored` and the experiment that reads it.
fn scratch() -> (tempfile::TempDir, String) {
    let scratch = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    stored(&scratch.path().join("stored"));
    let file = experiment(scratch.path());
    (scratch, file)
}

#[test]
fn a_run_killed_at_any_moment_resumes_to_the_same_table() {
    let (scratch, file) = scratch();
    let folder = scratch.path();
    let (calm, out) = (folder.join("calm"), folder.join("out"));
    let begin = Instant::now();
    assert!(start(&file, &calm).wait().unwrap().success());
    let length = begin.elapsed();
    let expected = result(&calm);
    assert!(expected.contains("Kernel panic - no root"));
    killed_and_resumed(
        (&file, &[]),
        &out,
        &folder.join("stored"),
        (KILLS, length),
        &expected,
    );
}

/// All trials are taken from shared results, many at once.
#[test]
fn a_run_killed_while_it_takes_shared_results_resumes_to_the_same_table() {
    let (scratch, file) = scratch();
    let folder = scratch.path();
    let shared = folder.join("shared");
    let more = ["--shared", shared.to_str().unwrap(), "--audit", "0"];
    let (first, calm, out) = (
        folder.join("first"),
        folder.join("calm"),
        folder.join("out"),
    );
    assert!(start_with(&file, &first, &more).wait().unwrap().success());
    let begin = Instant::now();
    assert!(start_with(&file, &calm, &more).wait().unwrap().success());
    let length = begin.elapsed();
    let journal = fs::read_to_string(calm.join("trials.jsonl")).unwrap();
    let taken = journal.matches("\"shared_by\"").count();
    assert_eq!(taken, VARIANTS.len() * ENSEMBLE as usize);
    killed_and_resumed(
        (&file, &more),
        &out,
        &folder.join("stored"),
        (KILLS_OF_SHARED, length),
        &result(&calm),
    );
}

/// Kills runs of `length` into `out` at random moments, and lets the last one end.
fn killed_and_resumed(
    (file, more): (&str, &[&str]),
    out: &Path,
    stored: &Path,
    (kills, length): (u32, Duration),
    expected: &str,
) {
    let start = || start_with(file, out, more);
    // A fixed sequence (the constants are Knuth's); the host makes it random.
    let mut seed: u64 = 1;
    let mut random = || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / (1_u64 << 31) as f64
    };
    let (mut killed, mut between) = (0, 0);
    while killed < kills {
        let mut run = start();
        std::thread::sleep(length.mul_f64(random()).max(Duration::from_millis(1)));
        if let Some(status) = run.try_wait().unwrap() {
            // It was faster: it has to be right, and the next one begins anew.
            assert!(status.success());
            assert_eq!(result(out), expected);
            fs::remove_dir_all(out).unwrap();
            continue;
        }
        run.kill().unwrap();
        run.wait().unwrap();
        killed += 1;
        let whole = whole_trials_are_whole(out, stored);
        if (1..VARIANTS.len() as u32 * ENSEMBLE as u32).contains(&whole) {
            between += 1;
        }
    }
    // Shared results become whole trials all at once.
    assert!(
        between > 0 || !more.is_empty(),
        "no kill came while trials were running"
    );
    assert!(start().wait().unwrap().success());
    assert_eq!(result(out), expected);
    // One line a trial, however often it was begun.
    let journal = fs::read_to_string(out.join("trials.jsonl")).unwrap();
    assert_eq!(journal.lines().count(), VARIANTS.len() * ENSEMBLE as usize);
}

/// A file system of a few bytes, until it is dropped.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// `None`: this user may not mount.
    fn mounted(at: &'a Path, size: &str) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let disk = Self(at);
        disk.mount(&format!("size={size}")).then_some(disk)
    }

    fn mount(&self, options: &str) -> bool {
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "none"])
            .arg(self.0)
            .output();
        done.is_ok_and(|d| d.status.success())
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).output();
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn a_full_disk_is_said_and_the_run_goes_on_when_there_is_room() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    stored(&folder.join("stored"));
    let file = experiment(folder);
    let (calm, out) = (folder.join("calm"), folder.join("out"));
    assert!(start(&file, &calm).wait().unwrap().success());
    // A trial needs 40 KB, and a megabyte has to stay free.
    let Some(disk) = SmallDisk::mounted(&out, "1300k") else {
        eprintln!("skipped: a full disk, because this user may not mount one");
        return;
    };
    let run = [
        "lab",
        "run",
        &file,
        "--jobs",
        "1",
        "--out",
        out.to_str().unwrap(),
    ];
    for _ in 0..2 {
        let failed = firstlight(&run);
        assert_eq!(failed.status.code(), Some(2), "{failed:?}");
        let said = String::from_utf8(failed.stderr).unwrap();
        assert!(said.contains("the disk is full"), "{said}");
        assert!(!out.join("result.json").exists());
        let whole = whole_trials_are_whole(&out, &folder.join("stored"));
        assert!((1..12).contains(&whole), "{whole}");
    }
    assert!(disk.mount("remount,size=16m"));
    let done = firstlight(&run);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(result(&out), result(&calm));
}

#[test]
fn a_plan_says_what_would_run_and_runs_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    stored(&folder.join("stored"));
    let file = experiment(folder);
    let out = folder.join("out");
    let dir = out.to_str().unwrap();
    let dry = ["lab", "run", &file, "--out", dir, "--dry-run", "--json"];
    let plan = common::json(&dry);
    assert_eq!(plan["boots"].as_array().unwrap().len(), 12);
    assert!(!out.exists());
    for format in ["--markdown", "--csv"] {
        let run = firstlight(&["lab", "run", &file, "--out", dir, format]);
        assert!(run.status.success(), "{run:?}");
        let text = String::from_utf8(run.stdout).unwrap();
        let name = format!("result.{}", if format == "--csv" { "csv" } else { "md" });
        assert_eq!(text, fs::read_to_string(out.join(name)).unwrap());
        assert!(text.contains("slower"), "{text}");
    }
    let plan = common::json(&dry);
    assert_eq!(plan["wall_s"], 0.0);
    assert!(
        plan["boots"]
            .as_array()
            .unwrap()
            .iter()
            .all(|b| b["basis"] == "there")
    );
}

#[test]
fn a_stored_boot_that_is_not_there_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    stored(&folder.join("stored"));
    let file = experiment(folder);
    fs::remove_dir_all(folder.join("stored/trials/faster/1")).unwrap();
    let out = folder.join("out");
    let run = firstlight(&["lab", "run", &file, "--out", out.to_str().unwrap()]);
    assert_eq!(run.status.code(), Some(2));
    let said = String::from_utf8(run.stderr).unwrap();
    assert!(said.contains("no stored boot of faster/1"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_twin_that_differs_ends_with_2_and_its_first_byte_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    stored(&folder.join("stored"));
    let file = experiment(folder);
    let (out, twin) = (folder.join("out"), "stored/trials/faster/0-again");
    let run = [
        "lab",
        "run",
        &file,
        "--check-exact",
        "--json",
        "--out",
        out.to_str().unwrap(),
    ];
    // The second boot is the stored first one: the same.
    let same = firstlight(&run);
    assert!(same.status.success(), "{same:?}");
    // Then one of its own, with another letter in the third line.
    let first = folder.join("stored/trials/faster/0");
    let again = folder.join(twin);
    fs::create_dir_all(again.join("capture")).unwrap();
    for name in ["trial.json", "capture/manifest.json", "capture/console.log"] {
        let text = fs::read_to_string(first.join(name)).unwrap();
        let text = match name.ends_with(".log") {
            true => text.replacen(
                "faster 0\nfaster 0\nfaster 0",
                "faster 0\nfaster 0\nfaXter 0",
                1,
            ),
            false => text,
        };
        fs::write(again.join(name), text).unwrap();
    }
    let differs = firstlight(&run);
    assert_eq!(differs.status.code(), Some(2), "{differs:?}");
    let expected = "faster is not exact: console.log differs first at byte 20 (line 3): \
                    `faster 0` against `faXter 0`";
    let said = String::from_utf8(differs.stderr).unwrap();
    assert!(said.contains(expected), "{said}");
    let table: Value = serde_json::from_slice(&differs.stdout).unwrap();
    let exact = table["exact"].as_array().unwrap();
    assert_eq!(exact.len(), VARIANTS.len());
    for pair in exact {
        assert_eq!(pair["same"], pair["variant"] != "faster", "{pair}");
    }
}

#[test]
fn a_run_says_what_it_can_tell_apart() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    stored(&folder.join("stored"));
    let file = experiment(folder);
    let out = folder.join("out");
    let dir = out.to_str().unwrap();
    assert!(
        firstlight(&["lab", "run", &file, "--out", dir])
            .status
            .success()
    );
    // Baseline and `faster` are not alike: three boots of each, 200 ms apart.
    let verb = ["lab", "resolution", dir, "--delays", "1,50", "--json"];
    let all = common::json(&[&verb[..], &["--changed", "slower"]].concat());
    assert_eq!((&all["boots"], &all["variants"]), (&json!(6), &json!(3)));
    assert_eq!((&all["pairs"], &all["told_apart"]), (&json!(1), &json!(1)));
    assert_eq!(all["changed"][0]["verdict"], "slower");
    assert_eq!(all["changed"][0]["unperturbed"], false);
    let rows = all["ensembles"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["found"][1]["delay_percent"], 50.0);
    }
    let markdown = firstlight(&[
        "lab",
        "resolution",
        dir,
        "--changed",
        "slower",
        "--markdown",
    ]);
    let text = String::from_utf8(markdown.stdout).unwrap();
    assert!(
        text.contains("1 of 1 pairs of identical variants are called different"),
        "{text}"
    );
    let refused = firstlight(&["lab", "resolution", dir, "--changed", "sloower"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("there is no variant `sloower`"), "{said}");
    let nothing = firstlight(&["lab", "resolution", folder.to_str().unwrap()]);
    assert_eq!(nothing.status.code(), Some(2));
}

#[test]
fn one_boot_against_one_has_no_verdict() {
    let scratch = tempfile::tempdir().unwrap();
    let boot = |name: &str, ms: i64| {
        json!({
            "variant": name, "perturbation": 0, "digest": "0", "capture": name, "failure": null,
            "first_light_ns": ms * 1_000_000,
        })
    };
    let result = json!({
        "schema": "firstlight.lab/1", "clock": "virtual", "baseline": "baseline",
        "trials": [boot("baseline", 1_000), boot("a", 1_010), boot("b", 1_020),
                   boot("c", 1_030), boot("changed", 1_005)],
    });
    fs::write(scratch.path().join("result.json"), result.to_string()).unwrap();
    let dir = scratch.path().to_str().unwrap();
    let verb = ["lab", "resolution", dir, "--changed", "changed"];
    let all = common::json(&[&verb[..], &["--json"]].concat());
    assert_eq!(all["changed"][0]["unperturbed"], true);
    for form in [&[][..], &["--markdown"]] {
        let said = firstlight(&[&verb[..], form].concat()).stdout;
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains("one boot"), "{said}");
        assert!(
            !said.contains("slower\n") && !said.contains("slower |"),
            "{said}"
        );
    }
}
