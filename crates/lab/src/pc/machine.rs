//! What every boot of the machine `pc` has in common.

use crate::emulator::{PC_ROMS, Program};

/// The emulator.
pub const QEMU: Program = Program {
    name: "qemu-system-x86_64",
    package: "qemu-system-x86",
    roms: PC_ROMS,
};

/// What every boot has in common. A part of every fingerprint: who changes it
/// changes all digests.
///
/// `hpet=off`: with ticks from QEMU's HPET the kernel's clock runs half as fast
/// again as the counter until the kernel changes to the counter, and stays
/// 145 ms ahead. Without it the two agree to 6 ms.
pub const MACHINE: &str = "-M q35,nvdimm=on,hpet=off -smp 1 -nodefaults -no-user-config \
    -nographic -no-reboot -monitor none -rtc base=2026-01-01,clock=vm";

/// The persistent memory for the payload, in bytes.
pub(super) const OUT_BYTES: u64 = 64 << 20;
