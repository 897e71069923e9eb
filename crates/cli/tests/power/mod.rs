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

/// So many cuts are made: by default `few`.
pub fn cuts(few: u32) -> u32 {
    let cuts = std::env::var("FIRSTLIGHT_POWER_CUTS").ok();
    cuts.and_then(|n| n.parse().ok()).unwrap_or(few)
}

/// Numbers that look random, the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below.max(1)
    }
}
