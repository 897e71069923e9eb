//! Recording, planning and installing, as a user would.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use agent::trace::Tracefs;
use capture::accesses::{Owner, RecordingError, sweep};
use common::{firstlight, json, workspace};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Reads files as the table in `docs/prefetch.md` says: all of f1, a page of f2,
/// 64 KiB in the middle of f3, 20 pages of f4 through a mapping, all of s1.
const WORKLOAD: &str = "
import mmap, os, sys
d = sys.argv[1]
def read(name, offset, size):
    fd = os.open(d + '/' + name, os.O_RDONLY)
    os.lseek(fd, offset, 0)
    while size > 0:
        got = len(os.read(fd, min(size, 65536)))
        if got == 0: break
        size -= got
    os.close(fd)
read('f1', 0, 8 << 20)
read('f2', 0, 4096)
read('f3', 4 << 20, 65536)
with open(d + '/f4', 'rb', buffering=0) as f:
    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    for k in range(20):
        m[((k * 797 + 11) % 2048) * 4096]
read('s1', 0, 65536)
";

/// One recording at a time: it changes settings of the whole machine, and another
/// copy of these tests may run beside. The kernel's own lock dies with its owner.
struct Turn {
    tracefs: Tracefs,
    _lock: File,
}

impl Turn {
    /// Waits for the turn, and for what an earlier run left; `None`, with a visible
    /// line, where nothing can be recorded.
    fn take() -> Option<Self> {
        let root = rustix::process::geteuid().is_root();
        let python = Command::new("python3").arg("--version").output().is_ok();
        if !root || !python {
            eprintln!("skipped: a recording needs root ({root}) and python3 ({python})");
            return None;
        }
        let lock = File::create("/run/firstlight-tests.lock").unwrap();
        lock.lock().unwrap();
        let Some(tracefs) = Tracefs::find().ok().filter(|t| {
            t.path()
                .join("events/filemap/mm_filemap_get_pages")
                .exists()
        }) else {
            eprintln!("skipped: a recording needs touch events in tracefs (Linux 6.12)");
            return None;
        };
        let begun = Instant::now();
        while matches!(sweep(), Err(RecordingError::Busy)) {
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "a recording does not end"
            );
        }
        Some(Self {
            tracefs,
            _lock: lock,
        })
    }

    fn instances(&self) -> PathBuf {
        self.tracefs.path().join("instances")
    }
}

/// What the kernel is set to, as far as a recording changes it. Loop devices come and
/// go with others.
fn settings() -> BTreeMap<PathBuf, String> {
    let devices = fs::read_dir("/sys/class/bdi")
        .into_iter()
        .flatten()
        .flatten();
    let kept = devices.filter(|d| !d.file_name().to_string_lossy().starts_with("7:"));
    let files = kept.map(|d| d.path().join("read_ahead_kb"));
    files
        .filter_map(|file| Some((file.clone(), fs::read_to_string(file).ok()?)))
        .collect()
}

/// The instances of recordings by the process `pid`.
fn instances_of(instances: &Path, pid: u32) -> Vec<PathBuf> {
    let begin = format!("firstlight-{pid}-");
    let all = fs::read_dir(instances).into_iter().flatten().flatten();
    let ours = all.filter(|e| e.file_name().to_string_lossy().starts_with(&begin));
    ours.map(|e| e.path()).collect()
}

/// Runs the command to its end: what it says as JSON, and the number it had.
fn json_and_pid(args: &[&str]) -> (Value, u32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    command.args(args).current_dir(workspace());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let pid = child.id();
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    (serde_json::from_slice(&done.stdout).unwrap(), pid)
}

#[test]
fn exactly_the_touched_pages_are_recorded_and_all_settings_come_back() {
    let Some(turn) = Turn::take() else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = folder.path().canonicalize().unwrap();
    for (name, pages) in [
        ("f1", 2048),
        ("f2", 2048),
        ("f3", 2048),
        ("f4", 2048),
        ("s1", 16),
    ] {
        fs::write(place.join(name), vec![7u8; pages * 4096]).unwrap();
    }
    let shown = |path: &Path| path.to_str().unwrap().to_owned();
    let list = shown(&place.join("list"));
    let before = settings();
    // Whether the files are in memory before must not matter: once they are, as
    // they were just written, and once all of them were read.
    for warm in [false, true] {
        if warm {
            for name in ["f1", "f2", "f3", "f4", "s1"] {
                fs::read(place.join(name)).unwrap();
            }
        }
        let (recorded, pid) = json_and_pid(&[
            "prefetch",
            "record",
            "--json",
            "-o",
            &list,
            "--",
            "python3",
            "-c",
            WORKLOAD,
            &shown(&place),
        ]);
        assert_eq!(recorded["exit_code"], 0);
        assert_eq!(instances_of(&turn.instances(), pid), [] as [PathBuf; 0]);
        let plan = json(&["prefetch", "plan", &list, "--json"]);
        let pages = pages_of(&plan, &place);
        let expected = [("f1", 2048), ("f2", 1), ("f3", 16), ("f4", 20), ("s1", 16)];
        for (name, count) in expected {
            assert_eq!(pages.get(name), Some(&count), "{name}, warm {warm}");
        }
    }
    assert_eq!(settings(), before);
    // The same list twice is one list of two recordings.
    let merged = shown(&place.join("merged"));
    let done = json(&["prefetch", "merge", "--json", "-o", &merged, &list, &list]);
    assert_eq!(done["recordings"], 2);
    assert_eq!(done["ranges"], done["always"]);
    let replayed = json(&["prefetch", "replay", "--json", &merged]);
    assert!(replayed["files"].as_u64().unwrap() >= 5);
    // A file that changed is told.
    fs::write(place.join("f2"), "other").unwrap();
    let plan = json(&["prefetch", "plan", &list, "--json"]);
    let f2 = shown(&place.join("f2"));
    let files = plan["files"].as_array().unwrap();
    let state = files.iter().find(|f| f["path"] == f2.as_str()).unwrap();
    assert_eq!(state["state"], "changed");
}

/// A recording of a program that runs until its input ends, in the middle of it.
fn recording(list: &Path, instances: &Path) -> (Child, PathBuf) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(["prefetch", "record", "-o"])
        .arg(list)
        .args(["--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    loop {
        let found = instances_of(instances, child.id()).pop();
        // The guard, and the program, which switches its own recording on.
        let is_on = |i: &PathBuf| {
            let on = fs::read_to_string(i.join("tracing_on"));
            children_of(child.id()).len() == 2 && on.is_ok_and(|on| on == "1\n")
        };
        if let Some(instance) = found.filter(is_on) {
            return (child, instance);
        }
        assert_eq!(child.try_wait().unwrap(), None);
        thread::sleep(Duration::from_millis(5));
    }
}

fn children_of(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace()
        .map(|c| c.parse().unwrap())
        .collect()
}

/// Kills a recording together with its guard.
fn kill(mut recording: Child) {
    let pid = recording.id();
    let mut children = children_of(pid).into_iter();
    let is_guard = |c: &u32| {
        let words = fs::read(format!("/proc/{c}/cmdline")).unwrap_or_default();
        words.windows(7).any(|w| w == b"\0guard\0")
    };
    let guard = children.find(is_guard).unwrap();
    for pid in [guard, pid] {
        let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    // Its input goes with it, and then what it recorded ends.
    recording.wait().unwrap();
}

/// A trace instance that this test made.
struct Neighbour(PathBuf);

impl Drop for Neighbour {
    fn drop(&mut self) {
        fs::remove_dir(&self.0).ok();
    }
}

#[test]
fn what_a_killed_recording_left_is_cleaned_up_and_a_living_neighbour_stays() {
    let Some(turn) = Turn::take() else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let list = folder.path().join("list");
    let shown = list.to_str().unwrap();
    let before = settings();
    // Of a container, say, whose recordings this machine's do not exclude.
    let this = Owner::this().unwrap();
    let neighbour = Neighbour(turn.instances().join(format!("firstlight-{this}")));
    fs::create_dir(&neighbour.0).unwrap();
    let ways: [&[&str]; 3] = [
        &["prefetch", "record", "--json", "-o", shown, "--", "true"],
        &["lab", "doctor", "--json"],
        &["cold", "--evict", "--runs", "1", "--json", "--", "true"],
    ];
    for way in ways {
        let (child, instance) = recording(&list, &turn.instances());
        let pid = child.id();
        let begin = format!("changed-{pid}-");
        kill(child);
        let changed = || {
            let files = fs::read_dir("/run/firstlight")
                .into_iter()
                .flatten()
                .flatten();
            let mut names = files.map(|f| f.file_name().to_string_lossy().into_owned());
            names.any(|n| n.starts_with(&begin))
        };
        assert!(instance.exists() && changed(), "{way:?}");
        assert!(
            before
                .iter()
                .all(|(file, _)| fs::read_to_string(file).unwrap() == "0\n")
        );
        let said = json(way).to_string();
        assert!(
            said.contains("cleaned up after a killed recording: 1 trace instance"),
            "{said}"
        );
        assert!(!instance.exists() && !changed(), "{way:?}");
        assert_eq!(settings(), before, "{way:?}");
        assert_eq!(
            fs::read_to_string(neighbour.0.join("tracing_on")).unwrap(),
            "1\n"
        );
    }
}

/// Pages by the name of files in `folder`.
fn pages_of(plan: &Value, folder: &Path) -> BTreeMap<String, u64> {
    let mut pages = BTreeMap::new();
    for file in plan["files"].as_array().unwrap() {
        let path = Path::new(file["path"].as_str().unwrap());
        if path.parent() == Some(folder) {
            let ranges = file["ranges"].as_array().unwrap();
            let bytes: u64 = ranges.iter().map(|r| r["len"].as_u64().unwrap()).sum();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            pages.insert(name, bytes / 4096);
        }
    }
    pages
}

/// Everything that can be seen of a tree, times too.
fn tree(root: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let content = match meta.is_file() {
                true => format!("{:08x}", agent::access::checksum(&fs::read(&path).unwrap())),
                false => String::new(),
            };
            let (time, ns) = (meta.mtime(), meta.mtime_nsec());
            all.push(format!(
                "{} {:o} {time}.{ns} {content}",
                path.display(),
                meta.mode()
            ));
            if meta.is_dir() {
                folders.push(path);
            }
        }
    }
    all.sort();
    all
}

#[test]
fn a_root_is_after_uninstall_as_it_was_before_install() {
    let loops = "#!/bin/sh\nfor i in /etc/init.d/S??*; do $i start; done\n";
    let single = "#!/bin/sh\nmount -a\napplication &\n";
    type Case<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, &'a str)]);
    let cases: [Case<'_>; 5] = [
        (
            "systemd",
            &["usr/lib/systemd", "etc/systemd/system"],
            &[("usr/lib/systemd/systemd", "x")],
        ),
        (
            "systemd",
            &["usr/lib/systemd", "etc"],
            &[("usr/lib/systemd/systemd", "x")],
        ),
        ("busybox", &["etc/init.d"], &[("etc/init.d/rcS", loops)]),
        ("busybox", &["etc/init.d"], &[("etc/init.d/rcS", single)]),
        ("initramfs", &["etc/initramfs-tools/hooks"], &[]),
    ];
    for (init, folders, files) in cases {
        let root = tempfile::tempdir().unwrap();
        for folder in folders {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for (file, text) in files {
            fs::write(root.path().join(file), text).unwrap();
        }
        let before = tree(root.path());
        let place = root.path().to_str().unwrap();
        let install = |dry: bool| {
            let mut args = vec!["prefetch", "install", place, "--init", init, "--json"];
            if dry {
                args.push("--dry-run");
            }
            json(&args)
        };
        assert_eq!(install(true)["done"], false);
        assert_eq!(tree(root.path()), before, "{init}: a plan changes nothing");
        assert_eq!(install(false)["done"], true);
        assert_ne!(tree(root.path()), before);
        if files.iter().any(|(_, text)| *text == single) {
            // Nothing but that script would start it.
            let script = fs::read_to_string(root.path().join("etc/init.d/rcS")).unwrap();
            assert!(script.contains("firstlight-agent prefetch"), "{script}");
            assert!(!root.path().join("etc/init.d/S00firstlight").exists());
        }
        let again = firstlight(&["prefetch", "install", place, "--init", init]);
        assert_eq!(again.status.code(), Some(2));
        json(&["prefetch", "uninstall", place, "--json"]);
        assert_eq!(tree(root.path()), before, "{init}");
    }
}

#[test]
fn nothing_is_installed_through_a_link() {
    let root = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("etc")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), root.path().join("usr")).unwrap();
    let place = root.path().to_str().unwrap();
    let done = firstlight(&["prefetch", "install", place, "--init", "systemd"]);
    assert_eq!(done.status.code(), Some(2));
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn what_is_no_list_is_told_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list");
    for (bytes, words) in [
        (&b"firstlight-access-list 7\n"[..], "version 7"),
        (b"#!/bin/sh\n", "not an access list"),
        (b"firstlight-access-list 1\n\x09\0\0\0", "is truncated"),
    ] {
        fs::write(&list, bytes).unwrap();
        let done = firstlight(&["prefetch", "plan", list.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2));
        assert!(said.contains(words) && said.lines().count() == 1, "{said}");
    }
}

/// A list of files that are there: what a recording of them would be.
fn list_of(folder: &Path, files: u32) -> Vec<u8> {
    use agent::access::{AccessList, Entry, Identity, Range, RangeKind, encode};
    let entries = (0..files).map(|n| {
        let path = folder.join(format!("f{n:03}"));
        fs::write(&path, vec![1u8; 8192]).unwrap();
        let meta = fs::metadata(&path).unwrap();
        Entry {
            path: path.to_str().unwrap().into(),
            identity: Identity::File {
                size: meta.len(),
                mtime_s: meta.mtime(),
                mtime_ns: u32::try_from(meta.mtime_nsec()).unwrap(),
                inode: meta.ino(),
                generation: 0,
            },
            program: 0,
            ranges: vec![Range {
                page: u64::from(n % 2),
                pages: 1,
                first_us: u64::from(n) * 1000,
                seen: 1,
                kind: RangeKind::Touched,
            }],
        }
    });
    encode(&AccessList {
        recordings: 1,
        page_bytes: 4096,
        machine: std::env::consts::ARCH.to_owned(),
        programs: vec!["p".to_owned()],
        entries: entries.collect(),
        ..AccessList::default()
    })
}

#[test]
fn a_list_is_planned_simulated_and_replayed() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = folder.path().canonicalize().unwrap();
    let list = place.join("list");
    fs::write(&list, list_of(&place, 20)).unwrap();
    fs::File::open(&list).unwrap().sync_all().unwrap();
    let list = list.to_str().unwrap();
    let plan = json(&["prefetch", "plan", list, "--json"]);
    assert_eq!(
        (&plan["bytes"], &plan["requests"]),
        (&81_920.into(), &20.into())
    );
    let files = plan["files"].as_array().unwrap();
    assert_eq!(
        files[3]["ranges"],
        serde_json::json!([{"offset": 4096, "len": 4096}])
    );
    assert_eq!(files[3]["first_need_ns"], 3_000_000);
    assert!(files.iter().all(|f| f["state"] == "same"));
    let replayed = json(&["prefetch", "replay", list, "--json"]);
    assert_eq!(
        (&replayed["files"], &replayed["stale"]),
        (&20.into(), &0.into())
    );
    for n in 0..20 {
        let file = fs::File::open(place.join(format!("f{n:03}"))).unwrap();
        file.sync_all().unwrap();
    }
    let simulated = json(&[
        "prefetch",
        "simulate",
        list,
        "--json",
        "--storage",
        "sd-card",
    ]);
    let row = &simulated["profiles"][0];
    let total = |case: &str| row[case]["total_ns"].as_u64().unwrap();
    assert!(total("ordered") >= row["limit_ns"].as_u64().unwrap());
    assert!(total("ordered") <= total("demand"));
    // Most files gone: the list is of another system.
    for n in 0..15 {
        fs::remove_file(place.join(format!("f{n:03}"))).unwrap();
    }
    let replayed = json(&["prefetch", "replay", list, "--json"]);
    assert_eq!(replayed["stale"], 15);
    assert!(
        replayed["stopped"]
            .as_str()
            .unwrap()
            .contains("have changed since the recording")
    );
}

#[test]
fn cold_and_warm_starts_are_measured() {
    let measured = json(&["cold", "--evict", "--runs", "3", "--json", "--", "ls", "/"]);
    let cases = measured["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 2);
    for case in cases {
        assert_eq!(case["times_ns"].as_array().unwrap().len(), 3);
        assert!(case["low_ns"].as_i64() <= case["median_ns"].as_i64());
        assert!(case["median_ns"].as_i64() <= case["high_ns"].as_i64());
    }
    let failed = firstlight(&["cold", "--evict", "--runs", "1", "--", "false"]);
    assert_eq!(failed.status.code(), Some(2));
}

/// Where each file's first byte lies.
fn places(folder: &Path) -> BTreeMap<String, u64> {
    let files = fs::read_dir(folder).unwrap().flatten();
    let place = |path: &Path| {
        let file = fs::File::open(path).unwrap();
        let first = agent::extents::extents(&file, 0, u64::MAX, 1).unwrap();
        first.first().map_or(0, |e| e.physical)
    };
    files
        .filter(|e| e.path().is_file())
        .map(|e| (e.path().display().to_string(), place(&e.path())))
        .collect()
}

#[test]
fn a_cold_start_is_tried_in_order_and_all_lies_where_it_lay_afterwards() {
    let Some(_turn) = Turn::take() else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let image = folder.join("image");
    let at = folder.join("at");
    fs::create_dir(&at).unwrap();
    fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let run = |words: &[&str]| {
        let (name, words) = words.split_first().unwrap();
        let done = Command::new(name).args(words).env("PATH", &path).status();
        done.is_ok_and(|s| s.success())
    };
    let [image, shown] = [&image, &at].map(|p| p.to_str().unwrap());
    if !run(&["mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", image])
        || !run(&["mount", "-o", "loop,noatime", image, shown])
    {
        eprintln!("skipped: a cold start in order, because no ext4 can be made and mounted here");
        return;
    }
    for n in 0..60 {
        let file = at.join(format!("f{n:02}"));
        fs::write(&file, vec![n as u8; 9000]).unwrap();
        fs::File::open(&file).unwrap().sync_all().unwrap();
    }
    // The others lie between them.
    let needed: Vec<String> = (0..30)
        .map(|n| format!("{shown}/f{:02}", n * 14 % 60))
        .collect();
    let before = places(&at);
    let mut words = vec![
        "cold",
        "--runs",
        "2",
        "--order",
        "--prefetch",
        "--json",
        "--below",
        shown,
        "--",
        "cat",
    ];
    words.extend(needed.iter().map(String::as_str));
    let measured = json(&words);
    let after = places(&at);
    let is_unmounted = run(&["umount", shown]);
    let is_clean = run(&["e2fsck", "-fn", image]);
    let cases = measured["cases"].as_array().unwrap();
    let names: Vec<&str> = cases.iter().filter_map(|c| c["case"].as_str()).collect();
    assert_eq!(
        names,
        ["cold", "warm", "prefetch", "order", "order_prefetch"]
    );
    let moved = measured["moved"].as_array().unwrap();
    assert_eq!(moved.len(), 1);
    let here = &moved[0];
    assert_eq!(here["files"], 30);
    assert!(here["discontinuities_before"].as_u64() > Some(20));
    assert_eq!(here["discontinuities"], 0);
    assert_eq!(here["is_back"], true);
    assert_eq!(before, after);
    assert!(is_unmounted && is_clean);
}
