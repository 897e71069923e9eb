//! Power that goes while Firstlight writes a user's files: treatments and their undoing,
//! summaries of JFFS2, U-Boot's environment, the prefetcher in a root, a history.
//!
//! A machine does one after the other on a disk of its own, and leaves a mark on the disk,
//! outside of the filesystem, as soon as a command has reported success. Its disk is then
//! rebuilt at many moments of what it wrote. At each one
//!
//! - the kernel mounts the filesystem, and its checker has nothing to say;
//! - what was reported done is there, with owner, rights and attributes;
//! - every file of what was under way is as before or as after it;
//! - the host's program does it again, in every other case, and undoes all: everything is
//!   what it was in the beginning, times too, and no temporary file is left;
//! - the history has no damaged entry.
//!
//! One cut in four is right behind a mark: something was just reported. Nothing but the
//! program syncs, except on the second of the disks below.
//!
//! `FIRSTLIGHT_POWER_CUTS` says how many cuts are made, `FIRSTLIGHT_POWER_DISK` what is in
//! the name of the disks, `FIRSTLIGHT_POWER_STEP` what is in the words of the commands that are
//! cut off, `FIRSTLIGHT_POWER_SEED` from what the moments are drawn. A loss is
//! written to `losses.txt` in `FIRSTLIGHT_POWER_KEEP` as soon as it is seen, with the words
//! that look at this cut again: the disk's writes are kept there, too.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod power;
mod power_writers;

use power::Dice;
use power::disk::{Mounted, has_tools, run, text, write_sparse};
use power::log::{at_moment, writes};
use power::machine::{Cargo, Machine, wait_for};
use power_writers::check::{self, Disk, Seen};
use power_writers::fill::{fill, inputs};
use power_writers::steps::{Step, steps};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// So many moments are looked at of one machine, at most.
const MOMENTS: u32 = 100;

/// The marks lie behind the filesystem.
const FILESYSTEM: u64 = 120 << 20;
const DISK: u64 = FILESYSTEM + (1 << 20);
const BLOCK: u64 = 4096;

/// A kind of disk.
struct Kind {
    filesystem: &'static str,
    options: &'static str,
    /// Whether something syncs all the time, so that what is half done reaches the disk.
    syncs: bool,
}

const KINDS: [Kind; 4] = [
    Kind {
        filesystem: "ext4",
        options: "noatime",
        syncs: false,
    },
    Kind {
        filesystem: "ext4",
        options: "noatime,commit=1",
        syncs: true,
    },
    // Nothing is written for a rename.
    Kind {
        filesystem: "ext4",
        options: "noatime,data=writeback,noauto_da_alloc",
        syncs: false,
    },
    Kind {
        filesystem: "btrfs",
        options: "noatime",
        syncs: false,
    },
];

impl Kind {
    fn name(&self) -> String {
        format!("{} {}", self.filesystem, self.options)
    }

    fn make(&self, disk: &Path) -> Result<(), String> {
        File::create(disk).unwrap().set_len(DISK).unwrap();
        let (disk, size) = (text(disk), FILESYSTEM.to_string());
        let blocks = (FILESYSTEM / BLOCK).to_string();
        match self.filesystem {
            "ext4" => run(
                "mke2fs",
                &["-q", "-F", "-t", "ext4", "-b", "4096", &disk, &blocks],
            ),
            _ => run("mkfs.btrfs", &["-q", "-m", "single", "-b", &size, &disk]),
        }
    }

    fn check(&self, disk: &Path) -> Result<(), String> {
        match self.filesystem {
            "ext4" => run("e2fsck", &["-f", "-n", &text(disk)]),
            _ => run("btrfs", &["check", "--readonly", &text(disk)]),
        }
    }

    /// What the machine does.
    fn script(&self, steps: &[Step]) -> String {
        let Self {
            filesystem,
            options,
            syncs,
        } = self;
        let marks = FILESYSTEM / BLOCK;
        let mut script = format!(
            "export FIRSTLIGHT_AGENT=/in/agent PATH=/bin:/sbin:/usr/sbin:/usr/bin
n={marks}
mark() {{ $b dd if=/dev/zero of=/dev/vda bs=4096 count=1 seek=$n oflag=direct conv=notrunc 2>/said; n=$((n+1)); }}
step() {{ /firstlight \"$@\" >/said 2>&1 || {{ echo \"failed: $*\"; $b cat /said; $b poweroff -f; }}; mark; }}
mount_disk {filesystem} {options}
mark
echo READY
"
        );
        if *syncs {
            script.push_str("while :; do $b sync; $b usleep 20000; done &\n");
        }
        for step in steps {
            writeln!(script, "step {}", step.at("/disk", "/in/")).unwrap();
        }
        script + "echo PASSED\n$b sleep 1000\n"
    }
}

/// The disk before the steps and after each of them, as the host's program does them.
fn reference(disk: &Path, at: &Path, inputs: &Path, steps: &[Step]) -> Vec<Disk> {
    let mounted = Mounted::new(disk, at, "loop,noatime").unwrap();
    let mut all = vec![check::everything(at)];
    for step in steps {
        let words = step.at(&text(at), &format!("{}/", text(inputs)));
        check::firstlight(&words, inputs).unwrap();
        all.push(check::everything(at));
    }
    drop(mounted);
    all
}

/// What came of the cuts in a writer.
#[derive(Default)]
struct Tally {
    cuts: usize,
    unflushed: usize,
    reported: usize,
    seen: Seen,
}

/// Says what came of the cuts so far.
fn tell(tallies: &BTreeMap<(String, String), Tally>) {
    for ((writer, options), tally) in tallies {
        let Tally {
            cuts,
            unflushed,
            reported,
            seen,
        } = tally;
        power::say(&format!(
            "{writer} ({options}): {cuts} cuts, {unflushed} with unflushed writes, {reported} \
             just reported; under way: {} old, {} new, {} between, {} temporary files",
            seen.old, seen.new, seen.between, seen.left
        ));
    }
}

/// A disk at a moment.
struct Moment<'m> {
    kind: &'m Kind,
    disk: &'m Path,
    at: &'m Path,
    inputs: &'m Path,
    done: usize,
    does_again: bool,
}

impl Moment<'_> {
    fn check(&self, reference: &[Disk], steps: &[Step]) -> Result<Seen, String> {
        let mounted = Mounted::new(self.disk, self.at, "loop,noatime")?;
        let found = check::everything(self.at);
        drop(mounted);
        self.kind.check(self.disk)?;
        let under_way = steps.get(self.done);
        let before = &reference[self.done];
        let after = reference.get(self.done + 1).unwrap_or(before);
        let all: BTreeSet<&str> = steps.iter().map(|s| s.target).collect();
        let seen = check::targets(&found, [before, after], &all, under_way);
        let cut_off = check::cut_off(&found, before, under_way);
        let _mounted = Mounted::new(self.disk, self.at, "loop,noatime")?;
        let seen = seen?;
        check::history(self.at, self.inputs)?;
        if let Some(step) = under_way.filter(|_| self.does_again) {
            check::again(step, self.at, self.inputs, after, cut_off)?;
        }
        check::undone(self.at, self.inputs, &reference[0], cut_off)?;
        Ok(seen)
    }
}

/// Where everything of a run lies.
struct Place {
    /// The machine's files.
    folder: PathBuf,
    /// The disk before the steps.
    original: PathBuf,
    disk: PathBuf,
    /// What the machine wrote to the disk.
    log: PathBuf,
    /// Where disks are mounted.
    at: PathBuf,
    inputs: PathBuf,
}

impl Place {
    /// Puts the disk there as it was before the steps.
    fn fresh(&self) {
        let (from, to) = (text(&self.original), text(&self.disk));
        run("cp", &["--sparse=always", &from, &to]).unwrap();
    }

    /// Makes a disk and lets a machine do all steps on it. `None` with a visible line
    /// where something for that is missing.
    fn record(&self, kind: &Kind, steps: &[Step]) -> Option<()> {
        kind.make(&self.original).unwrap();
        {
            let Ok(_mounted) = Mounted::new(&self.original, &self.at, "loop,noatime") else {
                eprintln!("skipped: power cuts: no {} can be mounted", kind.filesystem);
                return None;
            };
            fill(&self.at, &self.inputs);
        }
        self.fresh();
        File::create(&self.log).unwrap();
        let cargo = Cargo::new(&self.folder);
        for name in ["agent", "rootfs.jffs2", "boot.tar.zst"] {
            let bytes = fs::read(self.inputs.join(name)).unwrap();
            cargo.file(&format!("in/{name}"), 0o644, &bytes);
        }
        for tool in ["tune2fs", "e2fsck"] {
            let path = power::disk::path_of(tool).unwrap();
            cargo.program(&path, &format!("sbin/{tool}"));
        }
        for name in ["sh", "mount", "umount"] {
            cargo.link(&format!("bin/{name}"), "busybox");
        }
        let script = kind.script(steps);
        let machine = Machine::new(&self.folder, &cargo, kind.filesystem, &script)?;
        let (mut child, told) = machine.start(&self.disk, &self.log);
        let said = wait_for("READY", &told).and_then(|()| wait_for("PASSED", &told));
        child.kill().unwrap();
        child.wait().unwrap();
        said.unwrap();
        Some(())
    }

    /// Copies what a machine wrote.
    fn copy(&self, from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for name in ["original", "log"] {
            let (from, to) = (text(&from.join(name)), text(&to.join(name)));
            run("cp", &["--sparse=always", &from, &to]).unwrap();
        }
    }
}

/// Why something panicked.
fn panicked(why: &(dyn std::any::Any + Send)) -> String {
    let text = why.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| why.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("?"))
}

#[test]
fn what_firstlight_writes_survives_power_cuts() {
    let (replay, cuts) = (power::replay(), power::cuts(5));
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: power cuts, because mounting a disk needs root");
        return;
    }
    let more = ["cc", "mkfs.btrfs", "btrfs", "tune2fs", "strip"];
    if !has_tools() || !more.iter().all(|tool| power::disk::has(tool)) {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let own = |name: &str| folder.path().join(name);
    let place = Place {
        folder: folder.path().to_owned(),
        original: own("original"),
        disk: own("disk"),
        log: own("log"),
        at: own("at"),
        inputs: own("in"),
    };
    fs::create_dir(&place.inputs).unwrap();
    inputs(&place.inputs);
    let steps = steps();
    let named = power::steps();
    let cut_steps: Vec<usize> = (0..steps.len())
        .filter(|n| steps[*n].words.contains(&named))
        .collect();
    let seed = power::seed();
    let words = power::disks();
    let kinds = KINDS.iter().filter(|kind| kind.name().contains(&words));
    let kinds: Vec<&Kind> = kinds.collect();
    let mut tallies: BTreeMap<(String, String), Tally> = BTreeMap::new();
    let (mut looked, mut machines, mut losses) = (0, 0, 0);
    let machines_needed = cuts.div_ceil(MOMENTS) as usize;
    while looked < cuts {
        let kind = kinds[machines * kinds.len() / machines_needed];
        match &replay {
            Some(kept) => place.copy(kept, &place.folder),
            None if place.record(kind, &steps).is_none() => return,
            None => {}
        }
        place.fresh();
        let expected = reference(&place.disk, &place.at, &place.inputs, &steps);
        machines += 1;
        let before = fs::read(&place.original).unwrap();
        let written = fs::read(&place.log).unwrap();
        let written = writes(&written);
        // Behind each mark.
        let marks: Vec<usize> = (0..=steps.len() as u64)
            .map(|n| {
                let place = usize::try_from(FILESYSTEM + n * BLOCK).unwrap();
                let is_mark = |w: &Option<(usize, &[u8])>| w.is_some_and(|(at, _)| at == place);
                written.iter().position(is_mark).unwrap() + 1
            })
            .collect();
        for _ in 0..MOMENTS.min(cuts - looked) {
            let which = power::first() + u64::from(looked);
            let mut dice = Dice(Dice::seed_of(seed, which));
            let number = cut_steps[dice.next(cut_steps.len() as u64) as usize];
            let (from, to) = (marks[number], marks[number + 1]);
            let reported = dice.next(4) == 0;
            let moment = match reported {
                true => to,
                false => from + dice.next((to - from) as u64) as usize,
            };
            let does_again = dice.next(2) == 0;
            let (now, open) = at_moment(&before, &written, moment, &mut dice);
            write_sparse(&place.disk, &now);
            let cut = Moment {
                kind,
                disk: &place.disk,
                at: &place.at,
                inputs: &place.inputs,
                done: number + usize::from(reported),
                does_again,
            };
            let step = &steps[number];
            let tally = tallies.entry((step.writer(), kind.name())).or_default();
            tally.cuts += 1;
            tally.unflushed += usize::from(open > 0);
            tally.reported += usize::from(reported);
            let checked = catch_unwind(AssertUnwindSafe(|| cut.check(&expected, &steps)));
            match checked.unwrap_or_else(|why| Err(panicked(&*why))) {
                // Right behind a mark something else is under way.
                Ok(seen) if !reported => tally.seen.add(seen),
                Ok(_) => {}
                Err(why) => {
                    losses += 1;
                    let when = match reported {
                        true => "just reported",
                        false => "under way",
                    };
                    let kept = power::kept().join(format!("{seed}-{machines}"));
                    power::lost(&format!(
                        "cut {which}, {}, {}, {when}, write {moment} of {}, {open} not flushed, \
                         done again: {does_again}: {why}\n  FIRSTLIGHT_POWER_DISK='{}' \
                         FIRSTLIGHT_POWER_STEP='{named}' FIRSTLIGHT_POWER_SEED={seed} FIRSTLIGHT_POWER_FIRST={which} \
                         FIRSTLIGHT_POWER_CUTS=1 FIRSTLIGHT_POWER_REPLAY={}",
                        kind.name(),
                        step.words,
                        written.len(),
                        kind.name(),
                        kept.display()
                    ));
                    if replay.is_none() && !kept.exists() {
                        place.copy(&place.folder, &kept);
                    }
                }
            }
            looked += 1;
        }
        power::say(&format!("{looked} of {cuts} power cuts, {losses} losses"));
        tell(&tallies);
    }
    power::say(&format!(
        "{machines} machines, seed {seed}: {looked} power cuts, {losses} losses"
    ));
    assert!(
        losses == 0,
        "{losses} losses; see {}",
        power::kept().display()
    );
}
