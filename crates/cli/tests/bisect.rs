//! `firstlight bisect` through the command line: commits with a script, and boots that were
//! stored, so that they take no time.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Scratch, firstlight, valid};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn document(out: &Output, code: i32) -> Value {
    assert_eq!(out.status.code(), Some(code), "{out:?}");
    serde_json::from_slice(&out.stdout).unwrap()
}

fn error(args: &[&str]) -> String {
    let out = firstlight(args);
    assert_eq!(out.status.code(), Some(2), "{args:?}: {out:?}");
    String::from_utf8(out.stderr).unwrap()
}

/// A repository with this many commits after the first; the file `n` has the commit's number.
fn repository(scratch: &Scratch, commits: usize) -> String {
    let folder = scratch.path("repository");
    fs::create_dir_all(&folder).unwrap();
    let git = |args: &[&str]| {
        let out = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-C", &folder])
            .args(args)
            .output()
            .unwrap();
        assert!(out.status.success(), "{args:?}: {out:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    for n in 0..=commits {
        fs::write(Path::new(&folder).join("n"), n.to_string()).unwrap();
        git(&["add", "n"]);
        git(&["commit", "-q", "-m", &format!("number {n}")]);
    }
    git(&["tag", "first", &format!("HEAD~{commits}")]);
    folder
}

/// A script that "measures" 1 s and some noise by a fixed sequence of chance, 60 ms more from
/// commit 27 on; it counts its calls in `calls`, and commit 20 does not build.
const SCRIPT: &str = r#"
n=$(cat n)
echo "$n" >>"$CALLS"
[ "$n" != 20 ] || { echo "does not build" >&2; exit 125; }
chance=$(echo "$n $(wc -l <"$CALLS")" | cksum)
noise=$((${chance%% *} % 20))
slow=0
[ "$n" -lt 27 ] || slow=$SLOW
echo "building"
echo "$((1000 + noise + slow)) ms"
"#;

fn bisect_run(folder: &str, calls: &str, slow: &str, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(["bisect", "run", "--json", "--good", "first"])
        .args(args)
        .args(["--", "sh", "-c", SCRIPT])
        .current_dir(folder)
        .env("CALLS", calls)
        .env("SLOW", slow)
        .output()
        .unwrap()
}

#[test]
fn a_slow_commit_is_found_and_an_interrupted_run_goes_on() {
    let scratch = Scratch::new();
    let folder = repository(&scratch, 40);
    let calls = scratch.path("calls");
    let found = document(&bisect_run(&folder, &calls, "60", &[]), 0);
    valid(&found, "bisect");
    assert_eq!(found["verdict"], "found");
    assert_eq!(found["differences"], 40);
    let names = &found["culprits"][0]["names"];
    assert_eq!(names.as_array().unwrap().len(), 1, "{names}");
    assert!(
        names[0].as_str().unwrap().ends_with(" number 27"),
        "{names}"
    );
    let change = found["together"]["delta_ns"].as_i64().unwrap();
    assert!((40_000_000..80_000_000).contains(&change), "{change}");
    let count = || fs::read_to_string(&calls).unwrap().lines().count();
    let boots = count();
    // A commit that cannot be judged was run as well.
    assert!(found["boots"].as_u64().unwrap() <= boots as u64);

    // Everything is known by now, but for a line that was cut.
    let journal = Path::new(&folder).join(".git/firstlight-bisect/times.jsonl");
    let mut lines = fs::read_to_string(&journal).unwrap();
    assert_eq!(lines.lines().count(), boots);
    lines.truncate(lines.len() - 9);
    fs::write(&journal, &lines).unwrap();
    let again = document(&bisect_run(&folder, &calls, "60", &[]), 0);
    assert_eq!(again["culprits"][0]["names"], *names);
    assert!(count() <= boots + 2, "{} after {boots}", count());

    // Nothing of the user's repository has changed.
    let git = |args: &[&str]| {
        let out = Command::new("git")
            .arg("-C")
            .arg(&folder)
            .args(args)
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(&["rev-parse", "--abbrev-ref", "HEAD"]).trim(), "main");
}

#[test]
fn commits_that_do_not_differ_are_no_culprit() {
    let scratch = Scratch::new();
    let folder = repository(&scratch, 12);
    let found = document(&bisect_run(&folder, &scratch.path("calls"), "60", &[]), 0);
    assert_eq!(found["verdict"], "no_difference", "{found:#}");
    assert_eq!(found["culprits"], json!([]));
    let plan = document(&bisect_run(&folder, "unused", "0", &["--dry-run"]), 0);
    valid(&plan, "bisect.plan");
    assert_eq!(plan["differences"].as_array().unwrap().len(), 12);
}

#[test]
fn a_script_that_cannot_be_used_ends_the_run_with_one_sentence() {
    let scratch = Scratch::new();
    let folder = repository(&scratch, 3);
    let run = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_firstlight"))
            .args(["bisect", "run"])
            .args(args)
            .current_dir(&folder)
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(2), "{out:?}");
        String::from_utf8([out.stdout, out.stderr].concat()).unwrap()
    };
    for (args, expected) in [
        (
            &["--good", "first", "--", "echo", "fast"][..],
            "expected a time such as",
        ),
        (
            &["--good", "first", "--", "sh", "-c", "exit 127"],
            "exit code 127",
        ),
        (
            &["--good", "first", "--", "/no/such/script"],
            "cannot be started",
        ),
        (&["--good", "nowhere", "--", "true"], "git rev-parse"),
        (&["--good", "--help", "--", "true"], "a value is required"),
        (
            &["--good", "HEAD", "--bad", "first", "--", "true"],
            "is no ancestor of",
        ),
        (
            &["--good", "first", "--", "sh", "-c", "exit 1"],
            "cannot be booted",
        ),
    ] {
        let said = run(args);
        assert!(said.contains(expected), "{args:?}: {said}");
    }
}

/// An output folder of an earlier run with boots of every set of these differences: 1 s, and
/// what `slow` says more, in ms.
fn stored(folder: &Path, differences: usize, slow: impl Fn(&[usize]) -> Option<i64>) {
    for bits in 0..1_usize << differences {
        let set: Vec<usize> = (0..differences).filter(|i| bits & (1 << i) != 0).collect();
        let name = match set.len() {
            0 => "first".to_owned(),
            n if n == differences => "second".to_owned(),
            _ => set_name(&set),
        };
        for k in 0..6_i64 {
            let trial = folder.join(format!("trials/{name}/{k}"));
            let capture = trial.join("capture");
            fs::create_dir_all(&capture).unwrap();
            let slow = slow(&set);
            let noise = k * 37 % 11 * 50_000;
            let at_ns = 1_000_000_000 + slow.unwrap_or(0) * 1_000_000 + noise;
            let reading = json!({"ticks": at_ns / 16, "other": "monotonic", "other_ns": at_ns,
                "error_ns": 20});
            let manifest = json!({
                "firstlight_capture": 1,
                "taken_by": "a test",
                "clocks": [
                    {"name": "counter", "kind": "virtual", "hz": 62_500_000, "readings": [reading]},
                    {"name": "monotonic", "kind": "monotonic", "hz": 1_000_000_000, "readings": []},
                ],
                "marks": [
                    {"name": "power-on", "clock": "counter", "at_ns": 0, "begins": "firmware"},
                    {"name": "first-light", "clock": "counter", "at_ns": at_ns},
                ],
                "sources": [{"name": "console", "format": "none", "file": "console.log"}],
            });
            fs::write(capture.join("manifest.json"), manifest.to_string()).unwrap();
            fs::write(capture.join("console.log"), "").unwrap();
            let failure = json!({"reason": "panic", "detail": "Kernel panic - no root",
                "last_lines": ["Kernel panic - no root"]});
            let whole = json!({
                "firstlight_trial": 1, "variant": name, "perturbation": k,
                "fingerprint": "stored", "digest": "stored",
                "capture": format!("trials/{name}/{k}/capture"),
                "virtual_end_ns": at_ns, "wall_s": 1.0,
                "failure": if slow.is_none() { failure } else { Value::Null },
                "kernel": "image", "cmdline": "quiet",
            });
            fs::write(trial.join("trial.json"), whole.to_string()).unwrap();
        }
    }
}

/// `set-1-3_5` are the differences 1 to 3 and 5, counted from 1.
fn set_name(set: &[usize]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut i = 0;
    while i < set.len() {
        let mut j = i;
        while j + 1 < set.len() && set[j + 1] == set[j] + 1 {
            j += 1;
        }
        parts.push(match i == j {
            true => (set[i] + 1).to_string(),
            false => format!("{}-{}", set[i] + 1, set[j] + 1),
        });
        i = j + 1;
    }
    format!("set-{}", parts.join("_"))
}

/// Bisects two command lines of six parameters each, on stored boots.
fn bisect_stored(scratch: &Scratch, slow: impl Fn(&[usize]) -> Option<i64>) -> Output {
    stored(&scratch.0.path().join("stored"), 6, slow);
    let experiment = "firstlight_experiment = 1\n[base]\nmachine = \"replay\"\n\
                      replay = \"stored\"\ncmdline = [\"console=ttyS0\"]\n";
    let experiment = scratch.file("boot.toml", experiment.as_bytes());
    let second = scratch.file("second.cmdline", b"a=2 b=2 c=2 d=2 e=2 f=2\n");
    firstlight(&[
        "bisect",
        "cmdline",
        "a=1 b=1 c=1 d=1 e=1 f=1",
        &second,
        "--experiment",
        &experiment,
        "--out",
        &scratch.path("out"),
        "--json",
    ])
}

#[test]
fn a_parameter_that_makes_the_boot_slower_is_found() {
    let scratch = Scratch::new();
    let out = bisect_stored(&scratch, |set| Some(if set.contains(&3) { 10 } else { 0 }));
    let found = document(&out, 0);
    valid(&found, "bisect");
    assert_eq!(found["verdict"], "found");
    assert_eq!(found["culprits"].as_array().unwrap().len(), 1);
    assert_eq!(found["culprits"][0]["names"], json!(["d=1 -> d=2"]));
    assert!(found["boots"].as_u64().unwrap() <= 14, "{found:#}");
    let others = found["others"]["delta_ns"].as_i64().unwrap();
    assert!(others.abs() < 1_000_000, "{others}");
}

#[test]
fn two_parameters_that_act_together_are_a_pair_and_unbootable_sets_are_told() {
    let scratch = Scratch::new();
    let out = bisect_stored(&scratch, |set| {
        match set.contains(&5) && !set.contains(&4) {
            true => None,
            false => Some(if set.contains(&1) && set.contains(&5) {
                15
            } else {
                0
            }),
        }
    });
    let found = document(&out, 0);
    valid(&found, "bisect");
    let culprits = found["culprits"].as_array().unwrap();
    let mut names: Vec<&str> = culprits
        .iter()
        .map(|c| c["names"][0].as_str().unwrap())
        .collect();
    names.sort_unstable();
    // `e` makes it boot.
    assert_eq!(
        names,
        ["b=1 -> b=2", "e=1 -> e=2", "f=1 -> f=2"],
        "{found:#}"
    );
    assert_eq!(found["interact"], true);
    assert!(found["unbootable"].as_u64().unwrap() > 0);
    assert_eq!(found["unbootable_why"], "Kernel panic - no root");
}

#[test]
fn equal_boots_are_no_difference_and_equal_inputs_are_an_error() {
    let scratch = Scratch::new();
    let found = document(&bisect_stored(&scratch, |_| Some(0)), 0);
    assert_eq!(found["verdict"], "no_difference");
    assert!(found["boots"].as_u64().unwrap() <= 12);
    let broken = document(&bisect_stored(&scratch, |_| None), 2);
    assert_eq!(broken["verdict"], "cannot_tell");
    assert_eq!(broken["unbootable_why"], "Kernel panic - no root");
    let same = error(&["bisect", "cmdline", "quiet a=1", "a=1 quiet"]);
    assert!(same.contains("do not differ"), "{same}");
}

#[test]
fn differences_are_listed_before_anything_is_booted() {
    let scratch = Scratch::new();
    let list = |args: &[&str]| {
        let out = firstlight(&[&["bisect"], args, &["--dry-run", "--json"]].concat());
        let plan = document(&out, 0);
        valid(&plan, "bisect.plan");
        plan["differences"].clone()
    };
    let a = scratch.file("a.config", b"CONFIG_A=y\n# CONFIG_B is not set\n");
    let b = scratch.file("b.config", b"CONFIG_A=y\nCONFIG_B=m\n");
    assert_eq!(list(&["config", &a, &b]), json!(["CONFIG_B n -> m"]));
    let p = scratch.file("p", b"cron 1\nlibc6 2\n");
    let q = scratch.file("q", b"cron 2\nlibc6 2\n");
    let packages = list(&["packages", &p, &q, "--make", "false"]);
    assert_eq!(packages, json!(["cron 1 -> cron 2"]));
    let tree = fs::read(common::workspace().join("corpus/boot/board.dtb")).unwrap();
    let mut other = bootimage::branches::Branches::read(&tree).unwrap();
    let model = ("model".to_owned(), b"another board\0".to_vec());
    other.root.properties.retain(|p| p.0 != "model");
    other.root.properties.push(model);
    let [t, u] = [("t.dtb", tree), ("u.dtb", other.bytes())].map(|(n, b)| scratch.file(n, &b));
    let trees = list(&["devicetree", &t, &u]);
    assert_eq!(trees.as_array().unwrap().len(), 1, "{trees}");
    let shown = trees[0].as_str().unwrap();
    assert!(shown.ends_with(" -> \"another board\""), "{shown}");
    let pc = scratch.file(
        "pc.toml",
        b"firstlight_experiment = 1\n[base]\nmachine = \"pc\"\nkernel = \"debian\"\nroot = \"none\"\n\
          storage = \"none\"\nfirst_light = \"init\"\n",
    );
    let wrong = error(&["bisect", "devicetree", &t, &u, "--experiment", &pc]);
    assert!(wrong.contains("can only be exchanged on"), "{wrong}");
    for (tree, text) in [("old", "1"), ("new", "2")] {
        let folder = scratch.0.path().join(tree).join("etc");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("conf"), text).unwrap();
    }
    let [old, new] = ["old", "new"].map(|t| scratch.path(t));
    assert_eq!(list(&["image", &old, &new]), json!(["/etc/conf (changed)"]));

    for (args, expected) in [
        (&["config", &a, &p][..], "p:1: expected a line such as"),
        (&["config", &a, "/no/such"], "/no/such: cannot be read"),
        (
            &["packages", &p, &scratch.file("empty", b""), "--make", "x"],
            "has no packages",
        ),
        (&["devicetree", &a, &t], "not a device tree"),
        (&["image", &old, "/no/such"], "no such file or folder"),
        (&["cmdline", "a=\"b", "c"], "unclosed double quote"),
        (
            &["cmdline", "a", "b", "--error", "90"],
            "expected a percentage",
        ),
    ] {
        let said = error(&[&["bisect"], args].concat());
        assert!(said.contains(expected), "{args:?}: {said}");
    }
}
