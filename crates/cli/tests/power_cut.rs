//! Power that goes in the middle of a relocation: a machine with a real ext4 on a
//! disk moves files to and fro, and is killed at a random moment. Afterwards the
//! kernel has nothing to say against the filesystem, nor has e2fsck, and every file
//! is what it was.
//!
//! What a machine writes is kept with its flushes, so that one machine has many
//! moments: the disk at a moment is what was written until then, and the disk's own
//! cache is lost besides: of what came after the last flush any part is there, down
//! to single blocks of 4 KiB. Those are whole, as on a disk whose sectors are as long:
//! ext4 does not survive half a superblock, whoever writes it.
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

use rustix::fs::{XattrFlags, getxattr, listxattr, setxattr};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const FILES: usize = 400;
const MOVED: usize = 150;
const SECTOR: usize = 512;
/// What a disk writes whole.
const WHOLE: usize = 4096;

/// So many moments are looked at of one machine.
const MOMENTS: u32 = 10;

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below.max(1)
    }
}

fn run(name: &str, args: &[&str]) -> Result<(), String> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    match Command::new(name).args(args).env("PATH", path).output() {
        Ok(out) if out.status.success() => Ok(()),
        Ok(out) => Err(format!(
            "{name} {args:?}: {}{}",
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr)
        )),
        Err(e) => Err(format!("{name}: {e}")),
    }
}

/// A mounted image; unmounted when it goes, and then free: whoever made a mount
/// namespace of its own meanwhile, as another test's machine may, holds the mount for as
/// long as it lives, and until then the image is in use.
struct Mounted {
    at: PathBuf,
    image: PathBuf,
}

impl Mounted {
    fn new(image: &Path, at: &Path, options: &str) -> Result<Self, String> {
        fs::create_dir_all(at).unwrap();
        run(
            "mount",
            &["-t", "ext4", "-o", options, &text(image), &text(at)],
        )?;
        Ok(Self {
            at: at.to_owned(),
            image: image.to_owned(),
        })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(why) = run("umount", &[&text(&self.at)]) {
            eprintln!("{why}");
            return;
        }
        let begun = Instant::now();
        while has_loop_device(&self.image) {
            if begun.elapsed() > Duration::from_secs(120) {
                eprintln!("{} is still in use", self.image.display());
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Whether a loop device has this image, by what the kernel lists in `/sys/block`.
fn has_loop_device(image: &Path) -> bool {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let mut backing =
        devices.filter_map(|d| fs::read_to_string(d.path().join("loop/backing_file")).ok());
    let image = image.canonicalize().unwrap_or_else(|_| image.to_owned());
    backing.any(|file| Path::new(file.trim_end()) == image)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

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

/// What a file is; a relocation may change nothing of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    content: Vec<u8>,
    numbers: [u64; 5],
    times: [(i64, i64); 2],
    xattrs: BTreeMap<String, Vec<u8>>,
}

/// Everything below `root`, and where each file begins.
fn states(root: &Path) -> (BTreeMap<PathBuf, State>, BTreeMap<PathBuf, u64>) {
    let (mut all, mut places) = (BTreeMap::new(), BTreeMap::new());
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            let own = path.strip_prefix(root).unwrap().to_owned();
            let about = fs::symlink_metadata(&path).unwrap();
            let mut content = Vec::new();
            let mut xattrs = BTreeMap::new();
            if about.is_file() {
                let file = File::open(&path).unwrap();
                let first = agent::extents::extents(&file, 0, u64::MAX, 1).unwrap();
                places.insert(own.clone(), first.first().map_or(0, |e| e.physical));
                content = fs::read(&path).unwrap();
                let mut names = vec![0; 4096];
                let length = listxattr(&path, &mut names).unwrap();
                for name in names[..length].split(|b| *b == 0).filter(|n| !n.is_empty()) {
                    let name = String::from_utf8(name.to_vec()).unwrap();
                    let mut value = vec![0; 4096];
                    let length = getxattr(&path, &*name, &mut value).unwrap();
                    xattrs.insert(name, value[..length].to_vec());
                }
            } else if about.is_symlink() {
                content = text(&fs::read_link(&path).unwrap()).into_bytes();
            } else if about.is_dir() {
                folders.push(path.clone());
            }
            let state = State {
                content,
                numbers: [
                    u64::from(about.mode()),
                    u64::from(about.uid()),
                    u64::from(about.gid()),
                    about.nlink(),
                    about.ino(),
                ],
                times: [
                    (about.mtime(), about.mtime_nsec()),
                    // A folder is read by whoever looks.
                    match about.is_dir() {
                        true => (0, 0),
                        false => (about.atime(), about.atime_nsec()),
                    },
                ],
                xattrs,
            };
            all.insert(own, state);
        }
    }
    (all, places)
}

/// The modules that a disk and an ext4 on it need, each after those it needs.
fn modules(tree: &Path) -> Option<Vec<PathBuf>> {
    let told = fs::read_to_string(tree.join("modules.dep"));
    let built_in = fs::read_to_string(tree.join("modules.builtin"));
    let (Ok(told), Ok(built_in)) = (told, built_in) else {
        eprintln!("skipped: {} does not list its modules", tree.display());
        return None;
    };
    let needs: BTreeMap<&str, Vec<&str>> = told
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(file, needs)| (file, needs.split_whitespace().collect()))
        .collect();
    let mut order: Vec<&str> = Vec::new();
    for wanted in [
        "virtio_pci",
        "virtio_blk",
        "crc32c_generic",
        "quota_v2",
        "ext4",
    ] {
        let ends = format!("/{wanted}.ko");
        let Some((file, needed)) = needs.iter().find(|(file, _)| file.ends_with(&ends)) else {
            if ["crc32c_generic", "quota_v2"].contains(&wanted)
                || built_in.lines().any(|l| l.ends_with(&ends))
            {
                continue;
            }
            eprintln!("skipped: {wanted} is no plain module of this kernel, and not built in");
            return None;
        };
        for one in needed.iter().rev().chain([file]) {
            if !order.contains(one) {
                order.push(one);
            }
        }
    }
    Some(order.into_iter().map(|file| tree.join(file)).collect())
}

/// The libraries that a program needs, the loader among them.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let told = Command::new("ldd").arg(program).output().unwrap().stdout;
    let told = String::from_utf8_lossy(&told).into_owned();
    let words = told.split_whitespace().filter(|w| w.starts_with('/'));
    words.map(PathBuf::from).collect()
}

const INIT: &str = "#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /proc /disk /dev
$b mount -t proc proc /proc
$b mount -t devtmpfs dev /dev
for module in /modules/*; do $b insmod $module; done
$b mount -t ext4 -o noatime,commit=1 /dev/vda /disk || exec $b poweroff -f
$b sync
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
struct Machine {
    kernel: PathBuf,
    initramfs: PathBuf,
}

impl Machine {
    /// `None` with a visible line where something for it is missing.
    fn new(folder: &Path, list: &[String]) -> Option<Self> {
        let Some(kernel) = lab::artifacts::cached_kernel(lab::artifacts::Arch::X86_64) else {
            eprintln!("skipped: Debian's kernel is not in the cache yet; a demo brings it there");
            return None;
        };
        let cache = lab::artifacts::Cache::open().unwrap();
        let busybox = match cache.busybox("amd64", &mut |_| {}) {
            Ok(busybox) => busybox,
            Err(why) => {
                eprintln!("skipped: {why}");
                return None;
            }
        };
        let tree = folder.join("initramfs");
        let put = |from: &Path, to: &str, mode: u32| {
            let to = tree.join(to.trim_start_matches('/'));
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(from, &to).unwrap();
            fs::set_permissions(&to, fs::Permissions::from_mode(mode)).unwrap();
        };
        let program = Path::new(env!("CARGO_BIN_EXE_firstlight"));
        put(program, "firstlight", 0o755);
        run("strip", &[&text(&tree.join("firstlight"))]).ok();
        for library in libraries(program) {
            put(&library, &text(&library), 0o755);
        }
        put(&busybox, "bin/busybox", 0o755);
        for (number, module) in modules(&kernel.modules)?.iter().enumerate() {
            let name = module.file_name().unwrap().to_str().unwrap();
            put(module, &format!("modules/{:02}-{name}", number + 10), 0o644);
        }
        fs::create_dir_all(tree.join("dev")).unwrap();
        fs::write(tree.join("list"), list.join("\n") + "\n").unwrap();
        let back: Vec<_> = list.iter().rev().cloned().collect();
        fs::write(tree.join("back"), back.join("\n") + "\n").unwrap();
        fs::write(tree.join("init"), INIT).unwrap();
        fs::set_permissions(tree.join("init"), fs::Permissions::from_mode(0o755)).unwrap();
        let initramfs = folder.join("initramfs.cpio");
        let pack = format!(
            "cd {} && find . | cpio -o -H newc --quiet > {}",
            text(&tree),
            text(&initramfs)
        );
        if let Err(why) = run("sh", &["-c", &pack]) {
            eprintln!("skipped: {why}");
            return None;
        }
        Some(Self {
            kernel: kernel.image,
            initramfs,
        })
    }

    /// Starts it; what it says comes line by line.
    fn start(&self, disk: &Path, log: &Path) -> (Child, Receiver<String>) {
        let mut machine = Command::new("qemu-system-x86_64")
            .args(["-M", "q35", "-m", "512", "-nodefaults"])
            .args(["-nographic", "-no-reboot", "-serial", "stdio"])
            .args(["-accel", "tcg"])
            .args(["-kernel".as_ref(), self.kernel.as_os_str()])
            .args(["-initrd".as_ref(), self.initramfs.as_os_str()])
            .args(["-append", "console=ttyS0 quiet panic=-1 cryptomgr.notests"])
            .args([
                "-blockdev",
                &format!("file,filename={},node-name=disk", text(disk)),
            ])
            .args([
                "-blockdev",
                &format!("file,filename={},node-name=log", text(log)),
            ])
            .args([
                "-blockdev",
                "blklogwrites,node-name=both,file=disk,log=log,log-super-update-interval=1",
            ])
            .args(["-device", "virtio-blk-pci,drive=both"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (tell, told) = channel();
        let out = BufReader::new(machine.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in out.split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        (machine, told)
    }
}

/// Waits for a line; else what was said.
fn wait_for(word: &str, told: &Receiver<String>) -> Result<(), String> {
    let mut said = String::new();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(300) {
        match told.recv_timeout(Duration::from_secs(300)) {
            Ok(line) if line.ends_with(word) => return Ok(()),
            Ok(line) => writeln!(said, "{line}").unwrap(),
            Err(_) => break,
        }
    }
    Err(format!("the machine never said {word}:\n{said}"))
}

/// The writes of a log as `blklogwrites` makes it, which is that of the kernel's
/// `Documentation/admin-guide/device-mapper/log-writes.rst`: place and bytes, or
/// `None` for a flush.
fn writes(log: &[u8]) -> Vec<Option<(usize, &[u8])>> {
    let mut all = Vec::new();
    let mut at = SECTOR;
    while let Some(header) = log.get(at..at + 32) {
        let field = |n: usize| {
            let bytes = header[n * 8..n * 8 + 8].try_into().unwrap();
            usize::try_from(u64::from_le_bytes(bytes)).unwrap()
        };
        let [sector, sectors, flags] = [field(0), field(1), field(2)];
        if sectors == 0 && flags == 0 {
            break;
        }
        at += SECTOR;
        if flags & 1 != 0 {
            all.push(None);
        }
        // A discard has no bytes.
        if flags & 4 == 0 && sectors > 0 {
            let Some(bytes) = log.get(at..at + sectors * SECTOR) else {
                break;
            };
            all.push(Some((sector * SECTOR, bytes)));
            at += sectors * SECTOR;
        }
        if flags & 2 != 0 {
            all.push(None);
        }
    }
    all
}

/// The disk at a moment, that is after so many writes and flushes, if its cache was
/// lost: all that was flushed, and of what came after it any blocks. Also how many
/// writes were not flushed.
fn at_moment(
    before: &[u8],
    all: &[Option<(usize, &[u8])>],
    moment: usize,
    dice: &mut Dice,
) -> (Vec<u8>, usize) {
    let mut disk = before.to_vec();
    let done = &all[..moment.min(all.len())];
    let flushed = done.iter().rposition(Option::is_none).unwrap_or(0);
    let mut open = 0;
    for (number, write) in done.iter().enumerate() {
        let Some((at, bytes)) = write else { continue };
        let mut keep = bytes.len();
        if number >= flushed {
            open += 1;
            keep = match dice.next(3) {
                0 => 0,
                1 => dice.next((bytes.len() / WHOLE) as u64 + 1) as usize * WHOLE,
                _ => keep,
            };
        }
        if let Some(place) = disk.get_mut(*at..*at + keep) {
            place.copy_from_slice(&bytes[..keep]);
        }
    }
    (disk, open)
}

/// Lets the kernel replay the journal, and holds everything against what was before.
/// How many files lie elsewhere now.
fn check(
    image: &Path,
    at: &Path,
    before: &(BTreeMap<PathBuf, State>, BTreeMap<PathBuf, u64>),
) -> Result<usize, String> {
    let mounted = Mounted::new(image, at, "loop,noatime")?;
    let (now, places) = states(&mounted.at);
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

/// Whether a machine with a disk can be made here.
fn has_tools() -> bool {
    for tool in ["qemu-system-x86_64", "mke2fs", "e2fsck", "cpio", "ldd"] {
        if let Err(why) = run("sh", &["-c", &format!("command -v {tool}")]) {
            eprintln!("skipped: power cuts: {tool} is not there: {why}");
            return false;
        }
    }
    true
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
    let Some(machine) = Machine::new(folder.path(), &list) else {
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
    let cuts = std::env::var("FIRSTLIGHT_POWER_CUTS").ok();
    let cuts: u32 = cuts.and_then(|n| n.parse().ok()).unwrap_or(MOMENTS);
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
        states(&mounted.at)
    };
    let bytes = fs::read(&original).unwrap();
    let Some(machine) = Machine::new(folder.path(), &list) else {
        return;
    };
    let fresh = || {
        run("cp", &["--sparse=always", &text(&original), &text(&disk)]).unwrap();
        File::create(&log).unwrap();
    };
    // How long both directions take, and that they do anything at all.
    let mut span = None;
    let mut most_moved = 0;
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
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
            fs::write(&disk, now).unwrap();
            match check(&disk, &at, &before) {
                Ok(moved) => {
                    moved_in += usize::from(moved > 0);
                    half_in += usize::from(moved > 0 && moved < most_moved);
                }
                Err(why) => panic!(
                    "machine {machines}, after write {moment} of {}, {open} of them not flushed: {why}",
                    written.len()
                ),
            }
            open_in += usize::from(open > 0);
            looked += 1;
        }
        let mut err = std::io::stderr();
        writeln!(err, "{looked} of {cuts} power cuts").unwrap();
    }
    eprintln!(
        "{machines} machines killed, and {cuts} power cuts at other moments of what they wrote: \
         after {moved_in} of these files lay elsewhere, after {half_in} some of them and not all; \
         in {open_in} there were writes that were not flushed; all files were what they were"
    );
}
