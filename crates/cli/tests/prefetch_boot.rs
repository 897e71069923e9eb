//! Boots with access lists that are wrong: each is told in one sentence on the
//! console, and the boot goes on to first light.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use agent::access::{AccessList, Entry, Identity, Range, RangeKind, encode};
use common::{json, workspace};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What an agent on a PC is for.
const HERE: &str = "x86_64";

/// A file, as the root of `experiments/capture` does not have it.
fn entry(path: &str) -> Entry {
    Entry {
        path: path.into(),
        identity: Identity::File {
            size: 4096,
            mtime_s: 1,
            mtime_ns: 0,
            inode: 3,
            generation: 0,
        },
        program: 0,
        ranges: vec![Range {
            page: 0,
            pages: 1,
            first_us: 0,
            seen: 1,
            kind: RangeKind::Touched,
        }],
    }
}

fn list(machine: &str, entries: Vec<Entry>) -> Vec<u8> {
    encode(&AccessList {
        recordings: 1,
        page_bytes: 4096,
        machine: machine.to_owned(),
        programs: vec!["init".to_owned()],
        entries,
        ..AccessList::default()
    })
}

/// The lists, by name, with some of the words that the boot has for them.
fn lists() -> Vec<(&'static str, Option<Vec<u8>>, &'static str)> {
    let fine = list(HERE, vec![entry("/bin/busybox")]);
    let newer = b"firstlight-access-list 7\n".to_vec();
    let stale = (10..30).map(|n| entry(&format!("/etc/gone{n}"))).collect();
    vec![
        ("cut", Some(fine[..fine.len() - 9].to_vec()), "is truncated"),
        ("newer", Some(newer), "version 7"),
        (
            "outside",
            Some(list(HERE, vec![entry("/etc/../../shadow")])),
            "not a plain absolute path",
        ),
        (
            "machine",
            Some(list("armv5t", vec![entry("/bin/busybox")])),
            "armv5t",
        ),
        (
            "stale",
            Some(list(HERE, stale)),
            "have changed since the recording",
        ),
        ("absent", None, "No such file"),
    ]
}

/// Whether boots can be tried; says what is missing.
fn possible() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin".into(), "/sbin".into()];
    let dirs: Vec<_> = std::env::split_paths(&path).chain(more).collect();
    let tools = ["qemu-system-x86_64", "apt-get", "dpkg-deb", "mke2fs"];
    let missing = tools
        .iter()
        .find(|tool| !dirs.iter().any(|d| d.join(tool).is_file()));
    if let Some(tool) = missing {
        eprintln!("skipped: boots with wrong access lists, because there is no {tool}");
    }
    missing.is_none()
}

/// Runs a tool that must succeed.
fn run(tool: &Path, args: &[&Path]) {
    let out = Command::new(tool).args(args).output().unwrap();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{}: {errors}", tool.display());
}

#[test]
fn a_boot_goes_on_whatever_is_wrong_with_its_list() {
    if !possible() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let own = |name: &str| scratch.path().join(name);
    let from = workspace().join("experiments/capture");
    let cache = lab::artifacts::Cache::open().unwrap();
    let busybox = cache.busybox("amd64", &mut |_| {}).unwrap();
    let image = own("root.ext4");
    run(&from.join("make-root"), &[&busybox, &image]);

    let mut experiment = "firstlight_experiment = 1\n[base]\nmachine = \"pc\"\nmemory_mb = 512\n\
         storage = \"emmc\"\nkernel = \"debian\"\nroot = \"root.ext4\"\n\
         cmdline = [\"console=ttyS0\", \"nokaslr\", \"panic=-1\", \"quiet\", \"cryptomgr.notests\"]\n\
         first_light = \"kmsg:the application is ready\"\nlimit_wall_s = 600\nensemble = 1\n"
        .to_owned();
    for (name, bytes, _) in lists() {
        writeln!(
            experiment,
            "[[variant]]\nname = \"{name}\"\ntreatments = [\"cmdline+=firstlight.prefetch=/{name}.list\"]"
        )
        .unwrap();
        let Some(bytes) = bytes else { continue };
        let file = own(name);
        fs::write(&file, bytes).unwrap();
        let write = format!("write {} {name}.list", file.display());
        run(
            Path::new("debugfs"),
            &[
                Path::new("-w"),
                Path::new("-R"),
                Path::new(&write),
                image.as_path(),
            ],
        );
    }
    let (file, out) = (own("lists.toml"), own("out"));
    fs::write(&file, experiment).unwrap();
    let done = json(&[
        "lab",
        "run",
        file.to_str().unwrap(),
        "--no-recording-cost",
        "--out",
        out.to_str().unwrap(),
        "--json",
    ]);
    let trials = done["trials"].as_array().unwrap();
    let of = |name: &str| -> &Value {
        let found = trials.iter().find(|t| t["variant"] == name);
        found.unwrap_or_else(|| unreachable!("{name}: {done}"))
    };
    for (name, _, words) in lists() {
        let trial = of(name);
        assert!(trial["first_light_ns"].is_u64(), "{name}: {trial}");
        let capture = Path::new(trial["capture"].as_str().unwrap());
        let console = fs::read(capture.join("console.log")).unwrap();
        let console = String::from_utf8_lossy(&console).into_owned();
        let told: Vec<&str> = console
            .lines()
            .filter(|line| line.contains("firstlight-agent: "))
            .collect();
        assert!(
            told.len() == 1 && told[0].contains(words),
            "{name}: {told:?}"
        );
    }
}
