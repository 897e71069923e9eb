//! What the tests of power cuts share: a machine whose disk keeps what is written with
//! its flushes, the disk at a moment of that, and what is on it.
//!
//! The disk at a moment is what was written until then, and the disk's own cache is lost
//! besides: of what came after the last flush any part is there, down to single blocks of
//! 4 KiB. Those are whole, as on a disk whose sectors are as long: ext4 does not survive
//! half a superblock, whoever writes it.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, says what it skips, and does not use all of this"
)]

pub mod disk;
pub mod log;
pub mod machine;
pub mod state;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

/// What the environment says of a run.
fn setting(name: &str) -> Option<String> {
    std::env::var(format!("FIRSTLIGHT_POWER_{name}")).ok()
}

/// So many cuts are made: by default `few`.
pub fn cuts(few: u32) -> u32 {
    setting("CUTS").and_then(|n| n.parse().ok()).unwrap_or(few)
}

/// What the moments of a run are drawn from.
pub fn seed() -> u64 {
    let seed = setting("SEED").and_then(|n| n.parse().ok());
    seed.unwrap_or(0x9e37_79b9_7f4a_7c15).max(1)
}

/// What is in the names of the disks that are looked at.
pub fn disks() -> String {
    setting("DISK").unwrap_or_default()
}

/// What is in the words of the steps in which the power goes.
pub fn steps() -> String {
    setting("STEP").unwrap_or_default()
}

/// The number of the first cut.
pub fn first() -> u64 {
    setting("FIRST").and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// The folder of a machine whose writes were kept: cuts are made in these.
pub fn replay() -> Option<PathBuf> {
    setting("REPLAY").map(PathBuf::from)
}

/// Where losses are written down, and what they were seen in.
pub fn kept() -> PathBuf {
    let folder = setting("KEEP").map(PathBuf::from);
    folder.unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("power-cuts"))
}

/// Says a line at once, whatever the harness does with what a test says.
pub fn say(line: &str) {
    let mut err = std::io::stderr();
    writeln!(err, "{line}").unwrap();
}

/// Says what was lost, and writes it down, before anything else is done.
pub fn lost(line: &str) {
    say(line);
    fs::create_dir_all(kept()).unwrap();
    let mut options = File::options();
    let file = options.create(true).append(true);
    let mut file = file.open(kept().join("losses.txt")).unwrap();
    writeln!(file, "{line}").unwrap();
    file.sync_all().unwrap();
}

/// Numbers that look random, the same in every run.
pub struct Dice(pub u64);

impl Dice {
    /// Those of a cut: a seed of its own, by splitmix64.
    pub fn seed_of(seed: u64, cut: u64) -> u64 {
        let mut z = seed.wrapping_add((cut + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).max(1)
    }

    pub fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below.max(1)
    }
}
