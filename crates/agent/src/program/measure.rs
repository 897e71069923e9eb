//! Readings of storage and processor. Nothing is written, and nothing is computed.
#![allow(unsafe_code)] // Additions of which the compiler must not take one away.

use firstlight_agent::readings::{Device, Parallel, Read, Readings, SMALL};
use rustix::fs::{Mode, OFlags, SeekFrom, fstat, major, minor, open, seek};
use rustix::io::pread;
use std::error::Error;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::Instant;

/// How many additions a reading has.
const ADDITIONS: u64 = 16_000_000;

/// How often the processor is measured.
const REPEATS: usize = 5;

/// How many small reads at random places.
const SMALL_READS: u64 = 200;

/// How long the reads in sequence are, in bytes, and how many there are.
const LARGE: u64 = 1 << 20;
const LARGE_READS: u64 = 32;

/// How many threads read at once, and how often each.
const THREADS: u32 = 8;
const READS_EACH: u64 = 32;

/// The unit of direct reads: no device in use has larger sectors.
const ALIGN: usize = 4096;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Measures, and prints the readings.
///
/// # Errors
/// If the device cannot be read past the page cache.
pub fn run(path: &str) -> Result<()> {
    let (direct, device) = opened(path)?;
    let mut readings = Readings {
        arch: std::env::consts::ARCH.to_owned(),
        kernel: rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned(),
        additions: (0..REPEATS).filter_map(|_| additions()).collect(),
        ..Readings::default()
    };
    let mut buffer = Buffer::new();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for _ in 0..SMALL_READS {
        let at = chance.place(device.bytes, SMALL);
        readings.reads.push(read(&direct, &mut buffer, at, SMALL)?);
    }
    let long = LARGE * LARGE_READS;
    let mut at = chance.place(device.bytes, long.min(device.bytes));
    let fits = LARGE_READS.min(device.bytes / LARGE);
    for _ in 0..fits {
        readings.reads.push(read(&direct, &mut buffer, at, LARGE)?);
        at += LARGE;
    }
    readings.parallel.push(parallel(path, device.bytes)?);
    readings.device = Some(device);
    Ok(io::stdout().write_all(readings.to_string().as_bytes())?)
}

/// The device or file, opened past the page cache.
fn opened(path: &str) -> Result<(OwnedFd, Device)> {
    let direct = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    let wrong = |why: rustix::io::Errno| {
        format!(
            "{path}: cannot be read past the page cache: {why}; name a block device such as \
             /dev/mmcblk0"
        )
    };
    let file = open(path, direct, Mode::empty()).map_err(wrong)?;
    let bytes = seek(&file, SeekFrom::End(0)).map_err(wrong)?;
    if bytes < SMALL {
        return Err(format!("{path}: has {bytes} bytes, fewer than one read").into());
    }
    let number = fstat(&file).map_err(wrong)?.st_rdev;
    let sys = format!("/sys/dev/block/{}:{}", major(number), minor(number));
    // A partition has the queue of its disk.
    let queue = |name: &str| {
        let places = [
            format!("{sys}/queue/{name}"),
            format!("{sys}/../queue/{name}"),
        ];
        let mut texts = places
            .iter()
            .filter_map(|p| std::fs::read_to_string(Path::new(p)).ok());
        texts.next().map(|t| t.trim().to_owned())
    };
    let scheduler = queue("scheduler").and_then(|all| {
        let chosen = all.split(['[', ']']).nth(1);
        chosen.map(str::to_owned)
    });
    let device = Device {
        path: path.to_owned(),
        bytes,
        rotational: queue("rotational").map(|r| r == "1"),
        read_ahead_kb: queue("read_ahead_kb").and_then(|n| n.parse().ok()),
        nr_requests: queue("nr_requests").and_then(|n| n.parse().ok()),
        scheduler,
    };
    Ok((file, device))
}

/// Memory at an address that direct reads take.
struct Buffer(Vec<u8>);

impl Buffer {
    fn new() -> Self {
        Self(vec![0; LARGE as usize + ALIGN])
    }

    fn part(&mut self, bytes: u64) -> Option<&mut [u8]> {
        let start = self.0.as_ptr().align_offset(ALIGN);
        self.0
            .get_mut(start..start.checked_add(usize::try_from(bytes).ok()?)?)
    }
}

fn read(file: &impl AsFd, buffer: &mut Buffer, at: u64, bytes: u64) -> Result<Read> {
    let part = buffer.part(bytes).ok_or("the buffer is too small")?;
    let begun = Instant::now();
    pread(file, part, at)?;
    Ok(Read {
        bytes,
        ns: ns_since(begun),
    })
}

fn ns_since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Small reads by several threads.
fn parallel(path: &str, bytes: u64) -> Result<Parallel> {
    let files: Result<Vec<OwnedFd>> = (0..THREADS).map(|_| Ok(opened(path)?.0)).collect();
    let files = files?;
    let begun = Instant::now();
    let failed = thread::scope(|scope| {
        let all: Vec<_> = (0u64..)
            .zip(&files)
            .map(|(n, file)| {
                scope.spawn(move || {
                    let mut buffer = Buffer::new();
                    let mut chance = Chance(n * 2 + 1);
                    (0..READS_EACH).any(|_| {
                        let at = chance.place(bytes, SMALL);
                        read(file, &mut buffer, at, SMALL).is_err()
                    })
                })
            })
            .collect();
        all.into_iter().any(|t| t.join().unwrap_or(true))
    });
    let ns = ns_since(begun);
    if failed {
        return Err(format!("{path}: a read by one of {THREADS} threads failed").into());
    }
    Ok(Parallel {
        bytes: SMALL,
        threads: THREADS,
        reads: u64::from(THREADS) * READS_EACH,
        ns,
    })
}

/// Places that a device cannot foresee (xorshift64).
struct Chance(u64);

impl Chance {
    fn place(&mut self, bytes: u64, length: u64) -> u64 {
        for _ in 0..3 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
        }
        let places = bytes.saturating_sub(length) / SMALL + 1;
        self.0 % places * SMALL
    }
}

/// Additions of which each waits for the one before: a cycle each on every processor in use.
/// Nothing on a processor without instructions of its own below.
fn additions() -> Option<(u64, u64)> {
    let begun = Instant::now();
    let mut sum = 0_usize;
    for _ in 0..ADDITIONS / 16 {
        // SAFETY: only one register changes, and the flags.
        #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
        unsafe {
            std::arch::asm!(
                ".rept 16", "add {0}, 1", ".endr",
                inout(reg) sum, options(nomem, nostack)
            );
        }
        // SAFETY: only one register changes.
        #[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
        unsafe {
            std::arch::asm!(
                ".rept 16", "add {0}, {0}, #1", ".endr",
                inout(reg) sum, options(nomem, nostack)
            );
        }
        // SAFETY: only one register changes.
        #[cfg(any(target_arch = "riscv64", target_arch = "riscv32"))]
        unsafe {
            std::arch::asm!(
                ".rept 16", "addi {0}, {0}, 1", ".endr",
                inout(reg) sum, options(nomem, nostack)
            );
        }
    }
    let ns = ns_since(begun);
    (sum > 0).then_some((ADDITIONS, ns))
}
