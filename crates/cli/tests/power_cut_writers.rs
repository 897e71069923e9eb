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
use std::path::Path;

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
    let mut all = vec![power::state::states(at)];
    for step in steps {
        let words = step.at(&text(at), &format!("{}/", text(inputs)));
        check::firstlight(&words, inputs).unwrap();
        all.push(power::state::states(at));
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
        eprintln!(
            "{writer} ({options}): {cuts} cuts, {unflushed} with unflushed writes, {reported} \
             just reported; under way: {} old, {} new, {} between, {} temporary files",
            seen.old, seen.new, seen.between, seen.left
        );
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
        let found = power::state::states(self.at);
        drop(mounted);
        self.kind.check(self.disk)?;
        let under_way = steps.get(self.done);
        let before = &reference[self.done];
        let after = reference.get(self.done + 1).unwrap_or(before);
        let all: BTreeSet<&str> = steps.iter().map(|s| s.target).collect();
        let seen = check::targets(&found, [before, after], &all, under_way);
        let _mounted = Mounted::new(self.disk, self.at, "loop,noatime")?;
        let seen = seen?;
        check::history(self.at, self.inputs)?;
        if let Some(step) = under_way.filter(|_| self.does_again) {
            check::again(step, self.at, self.inputs, after)?;
        }
        check::undone(self.at, self.inputs, &reference[0])?;
        Ok(seen)
    }
}

#[test]
fn what_firstlight_writes_survives_power_cuts() {
    let cuts = power::cuts(5);
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
    let (original, disk, log, at, given) = (
        own("original"),
        own("disk"),
        own("log"),
        own("at"),
        own("in"),
    );
    fs::create_dir(&given).unwrap();
    inputs(&given);
    let steps = steps();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut tallies: BTreeMap<(String, String), Tally> = BTreeMap::new();
    let mut losses = Vec::new();
    let (mut looked, mut machines) = (0, 0);
    let machines_needed = cuts.div_ceil(MOMENTS) as usize;
    while looked < cuts {
        let kind = &KINDS[machines * KINDS.len() / machines_needed];
        kind.make(&original).unwrap();
        {
            let Ok(_mounted) = Mounted::new(&original, &at, "loop,noatime") else {
                eprintln!("skipped: power cuts: no {} can be mounted", kind.filesystem);
                return;
            };
            fill(&at, &given);
        }
        let fresh = || run("cp", &["--sparse=always", &text(&original), &text(&disk)]).unwrap();
        fresh();
        let expected = reference(&disk, &at, &given, &steps);
        fresh();
        File::create(&log).unwrap();
        let cargo = Cargo::new(folder.path());
        for name in ["agent", "rootfs.jffs2", "boot.tar.zst"] {
            cargo.file(
                &format!("in/{name}"),
                0o644,
                &fs::read(given.join(name)).unwrap(),
            );
        }
        for tool in ["tune2fs", "e2fsck"] {
            cargo.program(
                &power::disk::path_of(tool).unwrap(),
                &format!("sbin/{tool}"),
            );
        }
        cargo.link("bin/sh", "busybox");
        let script = kind.script(&steps);
        let Some(machine) = Machine::new(folder.path(), &cargo, kind.filesystem, &script) else {
            return;
        };
        let (mut child, told) = machine.start(&disk, &log);
        let said = wait_for("READY", &told).and_then(|()| wait_for("PASSED", &told));
        child.kill().unwrap();
        child.wait().unwrap();
        said.unwrap();
        machines += 1;
        let before = fs::read(&original).unwrap();
        let written = fs::read(&log).unwrap();
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
            let number = dice.next(steps.len() as u64) as usize;
            let (from, to) = (marks[number], marks[number + 1]);
            let reported = dice.next(4) == 0;
            let moment = match reported {
                true => to,
                false => from + dice.next((to - from) as u64) as usize,
            };
            let (now, open) = at_moment(&before, &written, moment, &mut dice);
            write_sparse(&disk, &now);
            let moment = Moment {
                kind,
                disk: &disk,
                at: &at,
                inputs: &given,
                done: number + usize::from(reported),
                does_again: dice.next(2) == 0,
            };
            let step = &steps[number];
            let tally = tallies.entry((step.writer(), kind.name())).or_default();
            tally.cuts += 1;
            tally.unflushed += usize::from(open > 0);
            tally.reported += usize::from(reported);
            match moment.check(&expected, &steps) {
                // Right behind a mark something else is under way.
                Ok(seen) if !reported => tally.seen.add(seen),
                Ok(_) => {}
                Err(why) => {
                    let when = if reported {
                        "just reported"
                    } else {
                        "under way"
                    };
                    let loss = format!("{}, {}, {when}: {why}", kind.name(), step.words);
                    eprintln!("{loss}");
                    losses.push(loss);
                }
            }
            looked += 1;
        }
        eprintln!("{looked} of {cuts} power cuts, {} losses", losses.len());
        tell(&tallies);
    }
    eprintln!(
        "{machines} machines, {looked} power cuts, {} losses",
        losses.len()
    );
    assert!(losses.is_empty(), "{} losses", losses.len());
}
