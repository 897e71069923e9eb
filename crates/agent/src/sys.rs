//! The few calls that need `unsafe`, each with its reason.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The processor's counter, if this kind of processor has one that programs may
/// read: the TSC on x86-64, CNTVCT on arm64.
#[must_use]
pub fn counter() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_lfence, _rdtsc};
        // SAFETY: every x86-64 processor has both instructions, and they touch
        // no memory. The fence keeps the reading from moving ahead.
        Some(unsafe {
            _mm_lfence();
            _rdtsc()
        })
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: Linux lets programs read CNTVCT_EL0; nothing is written.
        unsafe {
            std::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack));
        }
        Some(ticks)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    None
}

/// The counter's ticks per second, if the processor itself says them.
#[must_use]
pub fn counter_hz() -> Option<u64> {
    #[cfg(target_arch = "aarch64")]
    {
        let hz: u64;
        // SAFETY: Linux lets programs read CNTFRQ_EL0; nothing is written.
        unsafe {
            std::arch::asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nostack, nomem));
        }
        Some(hz).filter(|hz| *hz > 0)
    }
    #[cfg(not(target_arch = "aarch64"))]
    None
}

/// Puts the calling thread before all ordinary ones.
///
/// # Errors
/// If the caller may not do so.
pub fn run_in_real_time(priority: i32) -> io::Result<()> {
    let param = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: `param` outlives the call, which only reads it.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What is asked of the kernel's network block device: the numbers of
/// `linux/nbd.h`.
#[derive(Clone, Copy, Debug)]
pub enum Nbd {
    /// Use this socket.
    SetSocket = 0xab00,
    /// The size of a block, in bytes.
    SetBlockSize = 0xab01,
    /// Serve requests until the socket closes.
    DoIt = 0xab03,
    /// The size of the device, in blocks.
    SetSizeBlocks = 0xab07,
    /// What the server can do.
    SetFlags = 0xab0a,
}

/// One request to `/dev/nbd0`.
///
/// # Errors
/// If the kernel refuses.
pub fn nbd(device: impl AsFd, ask: Nbd, value: u64) -> io::Result<()> {
    let device = device.as_fd().as_raw_fd();
    // SAFETY: all five take a plain number and no pointer, so the kernel
    // touches no memory of this program.
    match unsafe { libc::ioctl(device, ask as _, value) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Whether the erase block at this byte of an MTD device is marked as bad.
///
/// # Errors
/// If the kernel cannot say: it is no MTD device, or the byte is past its end.
pub fn is_bad_block(device: impl AsFd, offset: i64) -> io::Result<bool> {
    // `MEMGETBADBLOCK` of `mtd/mtd-abi.h`: _IOW('M', 11, __kernel_loff_t). Some
    // architectures write "from the program" as 4 in three bits, not 1 in two.
    const MEMGETBADBLOCK: u32 = if cfg!(any(
        target_arch = "mips",
        target_arch = "mips64",
        target_arch = "powerpc",
        target_arch = "powerpc64",
        target_arch = "sparc64"
    )) {
        0x8008_4d0b
    } else {
        0x4008_4d0b
    };
    let device = device.as_fd().as_raw_fd();
    // SAFETY: the call reads eight bytes at the pointer, and `offset` has them
    // and outlives it.
    match unsafe { libc::ioctl(device, MEMGETBADBLOCK as _, &raw const offset) } {
        0 => Ok(false),
        1.. => Ok(true),
        // NOR has no bad blocks.
        _ => match io::Error::last_os_error() {
            e if e.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
            e => Err(e),
        },
    }
}
