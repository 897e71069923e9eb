//! Power that goes in the middle of a relocation: a machine with a real ext4 on a
//! disk moves files to and fro, and is killed at a random moment. Afterwards the
//! kernel has nothing to say against the filesystem, nor has e2fsck, and every file
//! is what it was.
//!
//! What a machine writes is kept with its flushes, so that one machine has many moments.
//!
//! The moments lie behind the last write before the relocation. Something syncs all the
//! time: else the kernel would commit all moves together, and hardly a moment would have
//! some files moved and others not.
//!
//! Ten moments of one machine, or as many as `FIRSTLIGHT_POWER_CUTS` says, with a
//! machine for every ten.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod power;

use power::Dice;
use power::disk::{Mounted, has_tools, run, text, write_sparse};
use power::log::{at_moment, writes};
use power::machine::{Cargo, Machine, wait_for};
use power::state::{State, states};
use rustix::fs::{XattrFlags, setxattr};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const FILES: usize = 400;
const MOVED: usize = 150;
/// So many moments are looked at of one machine.
const MOMENTS: u32 = 10;

fn name(i: usize) -> String {
    format!("d{}/f{i}", i % 11)
}

/// Files with gaps between them and with all that a file can have; says which of
/// them are to be moved, in no order of their places.
fn fill(root: &Path) -> Vec<String> {
    for i in 0..FILES {
        let path = root.join(name(i));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let bytes: Vec<u8> = (0..100 + i * i % 60_000)
            .map(|b| ((b * 31 + i * 7919) >> 3) as u8)
            .collect();
        let file = File::create(&path).unwrap();
        file.write_all_at(&bytes, if i % 13 == 5 { 70_000 } else { 0 })
            .unwrap();
        // In this order they get their places.
        file.sync_all().unwrap();
        if i % 5 == 0 {
            let value = format!("value {i}");
            setxattr(&path, "user.number", value.as_bytes(), XattrFlags::empty()).unwrap();
        }
        if i % 7 == 0 {
            fs::hard_link(&path, path.with_extension("again")).unwrap();
        }
        if i % 17 == 0 {
            symlink(path.file_name().unwrap(), path.with_extension("link")).unwrap();
        }
        chown(&path, Some(i as u32 % 3 * 1000), Some(i as u32 % 2 * 100)).unwrap();
        let modes = [0o644, 0o755, 0o4755, 0o400];
        fs::set_permissions(&path, fs::Permissions::from_mode(modes[i % 4])).unwrap();
        let then = std::time::UNIX_EPOCH + Duration::new(1_000_000_000 + i as u64, 123_456_789);
        let times = fs::FileTimes::new().set_modified(then).set_accessed(then);
        file.set_times(times).unwrap();
    }
    for i in (0..FILES).filter(|i| i % 9 == 4) {
        fs::remove_file(root.join(name(i))).unwrap();
    }
    let chosen = (0..FILES).map(|i| i * 353 % FILES).filter(|i| i % 9 != 4);
    chosen
        .take(MOVED)
        .map(|i| format!("/{}", name(i)))
        .collect()
}

/// Everything below `root`, and where each file begins.
fn seen(root: &Path) -> (BTreeMap<PathBuf, State>, BTreeMap<PathBuf, u64>) {
    let all = states(root);
    let place = |path: &PathBuf| {
        let file = File::open(root.join(path)).unwrap();
        let first = agent::extents::extents(&file, 0, u64::MAX, 1).unwrap();
        first.first().map_or(0, |e| e.physical)
    };
    let is_file = |state: &State| state.numbers[0] & 0o170_000 == 0o100_000;
    let files = all.iter().filter(|(_, state)| is_file(state));
    let places = files.map(|(path, _)| (path.clone(), place(path))).collect();
    (all, places)
}

const THEN: &str = "mount_disk ext4 noatime,commit=1
echo READY
while :; do $b sync; $b usleep 5000; done &
while :; do
    for list in /list /back; do
        /firstlight image relocate /disk --files $list --apply >/said 2>&1 || $b cat /said
        echo PASSED
    done
done
";

/// A machine that relocates for ever.
fn machine(folder: &Path, list: &[String]) -> Option<Machine> {
    let cargo = Cargo::new(folder);
    cargo.file("list", 0o644, (list.join("\n") + "\n").as_bytes());
    let back: Vec<_> = list.iter().rev().cloned().collect();
    cargo.file("back", 0o644, (back.join("\n") + "\n").as_bytes());
    Machine::new(folder, &cargo, "ext4", THEN)
}

/// Lets the kernel replay the journal, and holds everything against what was before.
/// How many files lie elsewhere now.
fn check(
    image: &Path,
    at: &Path,
    before: &(BTreeMap<PathBuf, State>, BTreeMap<PathBuf, u64>),
) -> Result<usize, String> {
    let mounted = Mounted::new(image, at, "loop,noatime")?;
    let (now, places) = seen(&mounted.at);
    drop(mounted);
    run("e2fsck", &["-f", "-n", &text(image)])?;
    let paths: BTreeSet<&PathBuf> = before.0.keys().chain(now.keys()).collect();
    for path in paths {
        let (was, is) = (before.0.get(path), now.get(path));
        if was != is {
            let about = |s: Option<&State>| s.map(|s| (s.content.len(), s.numbers, s.times));
            return Err(format!(
                "{}: was {:?}, is {:?}",
                path.display(),
                about(was),
                about(is)
            ));
        }
    }
    let moved = places
        .iter()
        .filter(|(path, at)| before.1.get(*path) != Some(at));
    Ok(moved.count())
}

/// Discontinuities of the files of a list.
fn discontinuities(image: &Path, list: &Path) -> u64 {
    let words = ["image", "score", "--json", "--files"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    let out = command.args(words).arg(list).arg(image).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    told["discontinuities"].as_u64().unwrap()
}

/// Not every host's kernel has quotas; Debian's has.
#[test]
fn quotas_hold_where_the_kernel_counts_them() {
    if !rustix::process::geteuid().is_root() || !has_tools() {
        eprintln!("skipped: quotas in a machine, because it needs root and qemu");
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let own = |name: &str| folder.path().join(name);
    let (tree, disk, log) = (own("tree"), own("disk"), own("log"));
    fs::create_dir(&tree).unwrap();
    let list = fill(&tree);
    fs::write(own("files"), list.join("\n") + "\n").unwrap();
    for file in [&disk, &log] {
        File::create(file).unwrap();
    }
    File::options()
        .write(true)
        .open(&disk)
        .unwrap()
        .set_len(48 << 20)
        .unwrap();
    let make = ["-q", "-F", "-t", "ext4", "-b", "4096", "-O", "quota", "-d"];
    run(
        "mke2fs",
        &[&make[..], &[&text(&tree), &text(&disk)]].concat(),
    )
    .unwrap();
    // mke2fs counts before it copies; this counts anew.
    run("e2fsck", &["-fy", &text(&disk)]).ok();
    run("e2fsck", &["-fn", &text(&disk)]).unwrap();
    let before = discontinuities(&disk, &own("files"));
    let Some(machine) = machine(folder.path(), &list) else {
        return;
    };
    let (mut child, told) = machine.start(&disk, &log);
    let mut said = wait_for("READY", &told);
    said = said.and_then(|()| wait_for("PASSED", &told));
    child.kill().unwrap();
    child.wait().unwrap();
    said.unwrap();
    // The journal is replayed; then e2fsck counts what everybody has, and holds it
    // against what the kernel wrote down.
    run("e2fsck", &["-y", "-E", "journal_only", &text(&disk)]).ok();
    run("e2fsck", &["-fn", &text(&disk)]).unwrap();
    let after = discontinuities(&disk, &own("files"));
    eprintln!("with quotas: {before} discontinuities before, {after} after");
    assert!(before > 20 && after < before / 2, "{before}, {after}");
}

#[test]
fn files_survive_power_cuts_in_the_middle_of_a_relocation() {
    let cuts = power::cuts(MOMENTS);
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: power cuts, because mounting a disk needs root");
        return;
    }
    if !has_tools() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let own = |name: &str| folder.path().join(name);
    let (original, disk, log, at) = (own("original"), own("disk"), own("log"), own("at"));
    File::create(&original).unwrap().set_len(48 << 20).unwrap();
    run(
        "mke2fs",
        &["-q", "-F", "-t", "ext4", "-b", "4096", &text(&original)],
    )
    .unwrap();
    let list = match Mounted::new(&original, &at, "loop,user_xattr,noatime") {
        Ok(mounted) => fill(&mounted.at),
        Err(why) => {
            eprintln!("skipped: power cuts: {why}");
            return;
        }
    };
    let before = {
        let mounted = Mounted::new(&original, &at, "loop,ro,noatime").unwrap();
        seen(&mounted.at)
    };
    let bytes = fs::read(&original).unwrap();
    let Some(machine) = machine(folder.path(), &list) else {
        return;
    };
    let fresh = || {
        run("cp", &["--sparse=always", &text(&original), &text(&disk)]).unwrap();
        File::create(&log).unwrap();
    };
    // How long both directions take, and that they do anything at all.
    let mut span = None;
    let mut most_moved = 0;
    let seed = power::seed();
    let mut dice = Dice(Dice::seed_of(seed, 0));
    let (mut looked, mut moved_in, mut half_in, mut open_in, mut machines) = (0, 0, 0, 0, 0);
    while looked < cuts {
        fresh();
        let (mut child, told) = machine.start(&disk, &log);
        let mut told_us = wait_for("READY", &told);
        let begun = Instant::now();
        let quiet = writes(&fs::read(&log).unwrap()).len();
        match span {
            None => {
                for _ in 0..2 {
                    told_us = told_us.and_then(|()| wait_for("PASSED", &told));
                }
            }
            Some(span) => {
                std::thread::sleep(Duration::from_micros(dice.next(span)));
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        told_us.unwrap();
        let lived = begun.elapsed();
        span.get_or_insert(lived.as_micros() as u64);
        machines += 1;
        let moved = check(&disk, &at, &before);
        let moved = moved.unwrap_or_else(|why| panic!("killed after {lived:?}: {why}"));
        // The first machine has moved all that it can.
        most_moved = most_moved.max(moved);
        assert!(machines > 1 || moved > MOVED / 2, "{moved} files moved");
        let written = fs::read(&log).unwrap();
        let written = writes(&written);
        for _ in 0..MOMENTS.min(cuts - looked) {
            let busy = written.len().saturating_sub(quiet);
            let moment = quiet + 1 + dice.next(busy as u64) as usize;
            let (now, open) = at_moment(&bytes, &written, moment, &mut dice);
            write_sparse(&disk, &now);
            match check(&disk, &at, &before) {
                Ok(moved) => {
                    moved_in += usize::from(moved > 0);
                    half_in += usize::from(moved > 0 && moved < most_moved);
                }
                Err(why) => {
                    let loss = format!(
                        "seed {seed}, cut {looked}, machine {machines}, ext4, relocate, after \
                         write {moment} of {}, {open} of them not flushed: {why}",
                        written.len()
                    );
                    power::lost(&loss);
                    panic!("{loss}");
                }
            }
            open_in += usize::from(open > 0);
            looked += 1;
        }
        power::say(&format!("{looked} of {cuts} power cuts"));
    }
    eprintln!(
        "{machines} machines killed, and {cuts} power cuts at other moments of what they wrote: \
         after {moved_in} of these files lay elsewhere, after {half_in} some of them and not all; \
         in {open_in} there were writes that were not flushed; all files were what they were"
    );
}
