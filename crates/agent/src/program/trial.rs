//! A trial's configuration and memory.

use crate::job::MEMORY;
use firstlight_agent::config::{self, AgentConfig};
use rustix::fs::{major, minor};
use std::error::Error;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The trial's configuration.
pub fn config(path: &str) -> Result<AgentConfig, Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    Ok(AgentConfig::parse(&text)?)
}

/// Where a trial's memory is: the host keeps it in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// A block device of the kernel: persistent memory.
    Block(PathBuf),
    /// The memory of a PCI device, by its file in sysfs; it can only be mapped.
    Mapped(PathBuf),
    /// Physical memory from this address on, which the kernel does not use.
    Physical(u64),
}

impl Memory {
    /// The memory whose file is `path`, as [`Self::path`] gave it.
    pub fn at(path: PathBuf) -> Self {
        match path.starts_with("/dev") {
            true => Self::Block(path),
            false => Self::Mapped(path),
        }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Block(path) | Self::Mapped(path) => path,
            Self::Physical(_) => Path::new(MEMORY),
        }
    }

    /// Major and minor number of its block device, if it is one.
    pub fn device(&self) -> io::Result<Option<(u32, u32)>> {
        let Self::Block(path) = self else {
            return Ok(None);
        };
        let number = fs::metadata(path)?.rdev();
        Ok(Some((major(number), minor(number))))
    }
}

/// The memory that has `size` bytes. Drivers come up in their own time, so it is
/// waited for.
pub fn memory_of(size: u64) -> Result<Memory, Box<dyn Error>> {
    let found = wait(Duration::from_secs(10), || {
        persistent(size)
            .map(Memory::Block)
            .or_else(|| shared(size).map(Memory::Mapped))
    });
    found.ok_or_else(|| {
        format!(
            "no memory of {size} bytes appeared within 10 s, neither persistent memory nor a \
             shared PCI device; check that machine and configuration agree on the size and that \
             nd_pmem is loaded"
        )
        .into()
    })
}

/// The block device of a piece of persistent memory.
fn persistent(size: u64) -> Option<PathBuf> {
    let devices = fs::read_dir("/sys/block").ok()?;
    devices.flatten().find_map(|device| {
        let name = device.file_name().into_string().ok()?;
        let sectors = fs::read_to_string(device.path().join("size")).ok()?;
        let bytes = sectors.trim().parse::<u64>().ok()? * config::SECTOR_BYTES;
        let path = Path::new("/dev").join(&name);
        (name.starts_with("pmem") && bytes == size && path.exists()).then_some(path)
    })
}

/// Vendor and device of QEMU's `ivshmem` (docs/specs/ivshmem-spec.txt): its
/// memory is the third of its base addresses.
const IVSHMEM: (&str, &str) = ("0x1af4", "0x1110");

/// The file of a shared memory device, switched on. Its memory is as large as
/// the least power of two that holds `size` bytes.
fn shared(size: u64) -> Option<PathBuf> {
    let devices = fs::read_dir("/sys/bus/pci/devices").ok()?;
    devices.flatten().find_map(|device| {
        let folder = device.path();
        let is = |file: &str, what: &str| {
            fs::read_to_string(folder.join(file)).is_ok_and(|t| t.trim() == what)
        };
        if !is("vendor", IVSHMEM.0) || !is("device", IVSHMEM.1) {
            return None;
        }
        let resources = fs::read_to_string(folder.join("resource")).ok()?;
        if length(resources.lines().nth(2)?)? != size.checked_next_power_of_two()? {
            return None;
        }
        // No driver has it, so nobody has switched it on.
        fs::write(folder.join("enable"), "1").ok()?;
        // With write combining it is mapped as memory, not as registers.
        let names = ["resource2_wc", "resource2"];
        names
            .map(|n| folder.join(n))
            .into_iter()
            .find(|p| p.exists())
    })
}

/// The length of a line of `resource`: first address, last address, flags.
fn length(line: &str) -> Option<u64> {
    let number = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let mut words = line.split_whitespace();
    let (first, last) = (number(words.next()?)?, number(words.next()?)?);
    last.checked_sub(first)?.checked_add(1)
}

/// Asks again and again, at most for `limit`.
pub fn wait<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if begin.elapsed() > limit {
            return None;
        }
        sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::length;

    #[test]
    fn the_length_of_a_resource_is_read() {
        let line = "0x0000000010000000 0x0000000013ffffff 0x000000000014220c";
        assert_eq!(length(line), Some(64 << 20));
        assert_eq!(length("0x0 0xffffffffffffffff 0x0"), None);
        assert_eq!(length("0x2 0x1 0x0"), None);
        assert_eq!(length("what"), None);
    }
}
