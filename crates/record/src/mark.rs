//! The names of the marks that every source and analysis agrees on.
//!
//! A source may add marks of other names. These are the ones that phases,
//! milestones and zero are made of.

/// Power came on, or the processor left reset.
pub const POWER_ON: &str = "power-on";
/// A hardware counter read zero. It is believed to have run since reset.
pub const COUNTER_START: &str = "counter-start";
/// Zero of the record's clock, where no mark is known.
pub const CLOCK_START: &str = "clock-start";
/// The kernel image's own decompressor began.
pub const DECOMPRESSION_START: &str = "decompression-start";
/// The first instruction of the decompressed kernel.
pub const KERNEL_ENTRY: &str = "kernel-entry";
/// Zero of the clock that stamps kernel messages.
pub const KERNEL_CLOCK_START: &str = "kernel-clock-start";
/// The kernel's `Linux version` line.
pub const KERNEL_START: &str = "kernel-start";
/// The kernel changed to its final clock source.
pub const CLOCKSOURCE_SWITCH: &str = "clocksource-switch";
/// The real console was enabled, and the log so far flushed to it.
pub const CONSOLE_ENABLED: &str = "console-enabled";
/// A root filesystem was mounted.
pub const ROOT_MOUNTED: &str = "root-mounted";
/// The kernel freed its initialisation memory: it is done.
pub const MEMORY_FREED: &str = "memory-freed";
/// The kernel started the first program.
pub const INIT_STARTED: &str = "init-started";
/// The first program of an initramfs started.
pub const INITRD_START: &str = "initrd-start";
/// The first program of the root filesystem started.
pub const USERSPACE_START: &str = "userspace-start";
/// The first line that userspace wrote into the kernel log.
pub const FIRST_USERSPACE_LINE: &str = "first-userspace-line";
/// systemd said its version: it runs.
pub const SYSTEMD_STARTED: &str = "systemd-started";
/// systemd said `Startup finished`.
pub const STARTUP_FINISHED: &str = "startup-finished";
/// The mark that ends the boot.
pub const FIRST_LIGHT: &str = "first-light";
