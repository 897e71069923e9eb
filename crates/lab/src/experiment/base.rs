//! What all variants of an experiment share.

use super::device::Device;
use super::kernel::Kernel;
use super::mode::Mode;
use super::platform::Platform;
use super::recording::Recording;
use super::root::Root;
use agent::config::FirstLight;
use std::num::NonZeroU32;
use std::path::PathBuf;
use storage::Profile;
use treat::CommandLine;

/// What all variants share.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    /// What it boots on.
    pub platform: Platform,
    /// How time passes.
    pub mode: Mode,
    /// The memory of the machine, in MiB.
    pub memory_mb: u32,
    /// An instruction takes 2 to the power of this many nanoseconds.
    pub cpu_shift: u8,
    /// What the root appears to lie on.
    pub storage: Profile,
    /// The kernel.
    pub kernel: Kernel,
    /// A device tree in place of the machine's own: `arm-virt` without loader, `arm9`.
    pub device_tree: Option<PathBuf>,
    /// What is on the machine's bus beside its own devices: `pc`, `arm-virt`.
    pub devices: Vec<Device>,
    /// The root filesystem.
    pub root: Root,
    /// The kernel command line of the baseline, with the words that recording
    /// needs.
    pub cmdline: CommandLine,
    /// What is recorded, and by which of these words.
    pub recording: Recording,
    /// What ends the boot.
    pub first_light: FirstLight,
    /// A trial whose console shows a later time, in seconds of the kernel's
    /// clock, is ended.
    pub limit_virtual_s: Option<u32>,
    /// A trial that takes longer, in seconds of the host, is ended.
    pub limit_wall_s: u32,
    /// How many boots each variant gets, if nobody says otherwise.
    pub ensemble: NonZeroU32,
}
