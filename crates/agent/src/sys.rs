//! The few calls that need `unsafe`, each with its reason.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

/// All of a file that the kernel makes up as it is read.
///
/// Not [`std::fs::read`], whose first read asks for 32 bytes: some of these files
/// (tracefs' `header_page`) end after the first read, however short it was, and
/// of others each read begins anew.
///
/// # Errors
/// If it cannot be read.
pub fn read_kernel_file(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut all = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(all),
            Ok(n) => all.extend_from_slice(piece.get(..n).unwrap_or_default()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// The board's counter, if [`use_board_counter`] named one; or else the
/// processor's, if this kind of processor has one that programs may read: the TSC
/// on x86-64, CNTVCT on arm64, and on 32-bit ARM where the kernel says that there
/// is one, and `time` on RISC-V.
#[must_use]
pub fn counter() -> Option<u64> {
    board_counter().or_else(own_counter)
}

/// The processor's counter.
fn own_counter() -> Option<u64> {
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
    #[cfg(all(target_arch = "arm", has_barriers))]
    {
        if !has_generic_timer() {
            return None;
        }
        let (low, high): (u32, u32);
        // SAFETY: there is a generic timer, and Linux lets programs read its
        // virtual counter; nothing is written.
        unsafe {
            std::arch::asm!("isb", "mrrc p15, 1, {}, {}, c14", out(reg) low, out(reg) high,
                options(nostack));
        }
        Some(u64::from(high) << 32 | u64::from(low))
    }
    #[cfg(target_arch = "riscv64")]
    {
        let ticks: u64;
        // SAFETY: Linux lets programs read `time` on every machine that it runs on; nothing
        // is written. The fence keeps the reading from moving ahead.
        unsafe {
            std::arch::asm!("fence", "rdtime {}", out(reg) ticks, options(nostack));
        }
        Some(ticks)
    }
    #[cfg(not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        all(target_arch = "arm", has_barriers)
    )))]
    None
}

/// Whether a hypervisor may set what [`counter`] reads, as the processor says: on x86, by
/// leaf 1 of CPUID, but for QEMU's own emulation, whose counter runs from reset.
#[must_use]
pub fn has_hypervisor() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;
        const PRESENT: u32 = 1 << 31;
        // "TCGT", in the lowest of twelve letters.
        const EMULATION: u32 = u32::from_le_bytes(*b"TCGT");
        let present = __cpuid(1).ecx & PRESENT != 0;
        present && __cpuid(0x4000_0000).ebx != EMULATION
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The ticks per second of the TSC by leaf 0x15 of CPUID, which newer processors of Intel
/// have (Software Developer's Manual, volume 3, "Determining the Processor Base Frequency").
#[cfg(target_arch = "x86_64")]
fn tsc_hz() -> Option<u64> {
    use std::arch::x86_64::{__cpuid, __get_cpuid_max};
    const LEAF: u32 = 0x15;
    if __get_cpuid_max(0).0 < LEAF {
        return None;
    }
    let leaf = __cpuid(LEAF);
    let hz = u64::from(leaf.ecx).checked_mul(u64::from(leaf.ebx))?;
    hz.checked_div(u64::from(leaf.eax)).filter(|hz| *hz > 0)
}

/// What a processor without a register for it has as the rate of its counter: the property
/// `timebase-frequency` of the device tree, of four or eight bytes.
#[cfg(any(target_arch = "riscv64", test))]
fn timebase_hz(property: &[u8]) -> Option<u64> {
    if !matches!(property.len(), 4 | 8) {
        return None;
    }
    let hz = property.iter().fold(0, |n, b| n << 8 | u64::from(*b));
    Some(hz).filter(|hz| *hz > 0)
}

/// Whether this processor has the generic timer of later ARMv7 cores: without it
/// the instructions that read it are undefined. The kernel says so by the event
/// stream that only this timer makes (`HWCAP_EVTSTRM` of `asm/hwcap.h`).
#[cfg(all(target_arch = "arm", has_barriers))]
fn has_generic_timer() -> bool {
    const HWCAP_EVTSTRM: libc::c_ulong = 1 << 21;
    // SAFETY: it reads the words that the kernel gave to this process, and
    // touches no memory of the caller.
    let hwcap = unsafe { libc::getauxval(libc::AT_HWCAP) };
    hwcap & HWCAP_EVTSTRM != 0
}

/// The ticks per second of [`counter`], if they are known: those of the board's,
/// or what the processor itself says.
#[must_use]
pub fn counter_hz() -> Option<u64> {
    if let Some(board) = BOARD_COUNTER.get() {
        return Some(board.hz);
    }
    #[cfg(target_arch = "aarch64")]
    {
        let hz: u64;
        // SAFETY: Linux lets programs read CNTFRQ_EL0; nothing is written.
        unsafe {
            std::arch::asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nostack, nomem));
        }
        Some(hz).filter(|hz| *hz > 0)
    }
    #[cfg(all(target_arch = "arm", has_barriers))]
    {
        if !has_generic_timer() {
            return None;
        }
        let hz: u32;
        // SAFETY: there is a generic timer, and where Linux lets programs read
        // its counter it lets them read CNTFRQ too; nothing is written.
        unsafe {
            std::arch::asm!("mrc p15, 0, {}, c14, c0, 0", out(reg) hz, options(nostack, nomem));
        }
        Some(u64::from(hz)).filter(|hz| *hz > 0)
    }
    #[cfg(target_arch = "riscv64")]
    {
        const RATE: &str = "/proc/device-tree/cpus/timebase-frequency";
        timebase_hz(&read_kernel_file(RATE).ok()?)
    }
    #[cfg(not(any(
        target_arch = "aarch64",
        target_arch = "riscv64",
        all(target_arch = "arm", has_barriers)
    )))]
    None
}

/// The ticks per second of [`counter`] by the processor's own word, where the kernel may have
/// measured a better one.
#[must_use]
pub fn nominal_hz() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        tsc_hz()
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// A counter of the board: a register of 32 bits that counts from reset.
struct BoardCounter {
    page: Mapped,
    /// Where in the page: a multiple of four.
    offset: usize,
    hz: u64,
}

// SAFETY: the register is only read, which threads may do at once.
unsafe impl Sync for BoardCounter {}

static BOARD_COUNTER: std::sync::OnceLock<BoardCounter> = std::sync::OnceLock::new();

/// From now on [`counter`] reads the register at the physical address `at` of
/// `memory`, which counts from reset at `hz`, even if the processor has a counter.
///
/// # Errors
/// If `at` is no multiple of 4, or `memory` cannot be mapped there.
pub fn use_board_counter(memory: impl AsFd, at: u64, hz: u64) -> io::Result<()> {
    const PAGE: u64 = 4096;
    if !at.is_multiple_of(4) {
        return Err(io::Error::other("the address is not a multiple of 4"));
    }
    let page = Mapped::read_only(memory, at / PAGE * PAGE, PAGE as usize)?;
    let offset = usize::try_from(at % PAGE).map_err(io::Error::other)?;
    // It is set once in a process.
    let _ = BOARD_COUNTER.set(BoardCounter { page, offset, hz });
    Ok(())
}

/// The board's counter, if there is one. It starts again every 2^32 ticks; how
/// often it has done so, the kernel's clock says, which began at most half as many
/// ticks after reset.
fn board_counter() -> Option<u64> {
    let BoardCounter { page, offset, hz } = BOARD_COUNTER.get()?;
    // SAFETY: the register lies within the page that is mapped, at a multiple of
    // four bytes: `use_board_counter` looked.
    let low = u64::from(unsafe { page.start.add(*offset).cast::<u32>().read_volatile() });
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let [s, ns] = [now.tv_sec, now.tv_nsec].map(|n| u64::try_from(n).unwrap_or(0));
    let parts = ns.saturating_mul(*hz) / 1_000_000_000;
    let ticks = s.saturating_mul(*hz).saturating_add(parts);
    // The register is ahead of the clock by the time before the kernel.
    let again = ticks.saturating_add(1 << 31).saturating_sub(low) >> 32;
    Some((again << 32) + low)
}

/// Puts the calling thread before all ordinary ones.
///
/// # Errors
/// If the caller may not do so.
pub fn run_in_real_time(priority: i32) -> io::Result<()> {
    // By its number: musl's own function only says that it is not there. The
    // kernel's `struct sched_param` is one int.
    let priority: libc::c_int = priority;
    let (call, this) = (libc::SYS_sched_setscheduler, 0);
    // SAFETY: `priority` outlives the call, which only reads it.
    match unsafe { libc::syscall(call, this, libc::SCHED_FIFO, &raw const priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the I/O of all others go before this thread's, or not, where the I/O scheduler
/// knows priorities (`ioprio_set(2)`).
///
/// # Errors
/// If the kernel refuses.
pub fn idle_io(idle: bool) -> io::Result<()> {
    // Of `linux/ioprio.h`: for one process, 0 for the caller; the class stands
    // above 13 bits of level.
    const IOPRIO_WHO_PROCESS: libc::c_int = 1;
    const IOPRIO_CLASS_IDLE: libc::c_int = 3;
    // None: as its nice value says, which is what all others have.
    const IOPRIO_CLASS_NONE: libc::c_int = 0;
    let class = match idle {
        true => IOPRIO_CLASS_IDLE,
        false => IOPRIO_CLASS_NONE,
    };
    // SAFETY: three plain numbers; no memory is touched.
    let done = unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, class << 13) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What this process's children used, and theirs, as far as they were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time on a processor, in nanoseconds.
    pub processor_ns: u64,
    /// Page faults that waited for storage.
    pub major_faults: u64,
    /// Bytes that were read from storage on their behalf.
    pub read_bytes: u64,
}

/// The children's usage (`getrusage(2)`).
#[must_use]
pub fn children_usage() -> Usage {
    // SAFETY: a structure of plain numbers, for which zero is a value; the kernel
    // fills it in, and it outlives the call.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        if libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut used) != 0 {
            return Usage::default();
        }
        used
    };
    // C's long has 32 or 64 bits.
    let number = |n: i128| u64::try_from(n).unwrap_or(0);
    let micros = |t: libc::timeval| {
        let seconds = number(t.tv_sec.into());
        seconds * 1_000_000 + number(t.tv_usec.into())
    };
    Usage {
        processor_ns: (micros(used.ru_utime) + micros(used.ru_stime)) * 1000,
        major_faults: number(used.ru_majflt.into()),
        // The kernel counts in units of 512 bytes.
        read_bytes: number(used.ru_inblock.into()) * 512,
    }
}

/// Starts reading a piece of a file into the page cache (`readahead(2)`).
///
/// # Errors
/// If it cannot be read.
pub fn readahead(file: impl AsFd, offset: u64, bytes: usize) -> io::Result<()> {
    let offset = i64::try_from(offset).map_err(io::Error::other)?;
    // SAFETY: plain numbers; the file is open for as long as the call takes.
    match unsafe { libc::readahead(file.as_fd().as_raw_fd(), offset, bytes) } {
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
    let value = libc::c_ulong::try_from(value)
        .map_err(|_| io::Error::other("the device exceeds the address space of this processor"))?;
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

/// Reads spare bytes of an MTD device, as they are: `buffer` is filled from those
/// of the page at `offset` on.
///
/// # Errors
/// If the kernel cannot say: it is no MTD device, or it has no spare bytes.
pub fn read_spare(device: impl AsFd, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    // `struct mtd_oob_buf64` of `mtd/mtd-abi.h`.
    #[repr(C)]
    struct OobBuffer {
        start: u64,
        pad: u32,
        length: u32,
        pointer: u64,
    }
    // `MEMREADOOB64`: _IOWR('M', 22, struct mtd_oob_buf64), alike everywhere.
    const MEMREADOOB64: u32 = 0xc018_4d16;
    let mut wanted = OobBuffer {
        start: offset,
        pad: 0,
        length: u32::try_from(buffer.len()).unwrap_or(u32::MAX),
        pointer: buffer.as_mut_ptr() as u64,
    };
    let device = device.as_fd().as_raw_fd();
    // SAFETY: the call reads and writes the 24 bytes of `wanted`, and writes at
    // most `length` bytes at its pointer, which are those of `buffer`.
    match unsafe { libc::ioctl(device, MEMREADOOB64 as _, &raw mut wanted) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Memory of a device, mapped into this process.
#[derive(Debug)]
pub struct Mapped {
    start: *mut u8,
    length: usize,
}

// SAFETY: the memory is this value's alone until it is dropped, whichever thread
// has it.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Maps the first `length` bytes of `file`, shared with whoever else maps it.
    ///
    /// # Errors
    /// If the file cannot be mapped so far.
    pub fn new(file: impl AsFd, length: usize) -> io::Result<Self> {
        Self::at(file, 0, length)
    }

    /// Maps `length` bytes of `file` from the byte `offset` on, a multiple of the
    /// size of a page; else as [`Self::new`].
    ///
    /// # Errors
    /// If the file cannot be mapped there.
    pub fn at(file: impl AsFd, offset: u64, length: usize) -> io::Result<Self> {
        use rustix::mm::ProtFlags;
        Self::map(file, offset, length, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// As [`Self::at`], but never to be written to.
    fn read_only(file: impl AsFd, offset: u64, length: usize) -> io::Result<Self> {
        Self::map(file, offset, length, rustix::mm::ProtFlags::READ)
    }

    fn map(
        file: impl AsFd,
        offset: u64,
        length: usize,
        access: rustix::mm::ProtFlags,
    ) -> io::Result<Self> {
        use rustix::mm::{MapFlags, mmap};
        // SAFETY: the kernel chooses a place where nothing lies.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                access,
                MapFlags::SHARED,
                file,
                offset,
            )?
        };
        Ok(Self {
            start: start.cast(),
            length,
        })
    }

    /// The memory.
    pub const fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is this long and lives as long as `self`, which is
        // borrowed for as long as the slice. It is ordinary memory of the
        // emulator, which no other process of this machine maps.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: this is what `new` mapped, and nobody has a slice of it now.
        // If it fails, the mapping stays until the process ends.
        let _ = unsafe { rustix::mm::munmap(self.start.cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::timebase_hz;

    #[test]
    fn the_rate_of_a_device_tree_has_four_or_eight_bytes() {
        assert_eq!(timebase_hz(&[0, 0x98, 0x96, 0x80]), Some(10_000_000));
        assert_eq!(
            timebase_hz(&[0, 0, 0, 0, 0, 0x98, 0x96, 0x80]),
            Some(10_000_000)
        );
        assert_eq!(timebase_hz(&[0, 0, 0, 0]), None);
        assert_eq!(timebase_hz(&[1, 2, 3]), None);
        assert_eq!(timebase_hz(&[]), None);
    }
}
