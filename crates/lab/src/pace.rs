//! How the time of a machine passes.

use serde::{Deserialize, Serialize};
use std::fs::File;

/// How the time of a machine passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// An instruction takes 2 to the power of this many nanoseconds.
    Counted(u8),
    /// As it does on the host.
    Real(Accelerator),
}

/// What executes the instructions of a machine in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accelerator {
    /// QEMU translates them.
    Tcg,
    /// The host's processor itself does.
    Kvm,
}

impl Accelerator {
    /// The fastest one that the host has for machines of the architecture `arch`,
    /// as [`std::env::consts::ARCH`] names it.
    #[must_use]
    pub fn best(arch: &str) -> Self {
        let usable = || File::options().read(true).write(true).open("/dev/kvm");
        match arch == std::env::consts::ARCH && usable().is_ok() {
            true => Self::Kvm,
            false => Self::Tcg,
        }
    }
}
