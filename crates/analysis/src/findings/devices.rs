//! Which device of a trace the root lies on, and what kind it is.

use super::view::View;
use record::Device;
use std::collections::BTreeSet;

/// Major numbers of `Documentation/admin-guide/devices.txt`: MMC, MTD blocks, network
/// block devices, and those of SCSI disks.
const MMC: u32 = 179;
const MTD: u32 = 31;
const NBD: u32 = 43;
const SCSI: [(u32, u32); 3] = [(8, 0), (65, 1), (128, 8)];

/// The major number that NVMe disks share with partitions of others
/// (`BLOCK_EXT_MAJOR`).
const EXTENDED: u32 = 259;

/// The name of the root's device without its folder, from the mounts or else from the
/// command line: `sda2`.
pub(super) fn root_name<'a>(view: &'a View<'_>) -> Option<&'a str> {
    let device = view.record.fact("root.device").or(view.value("root"));
    device?.strip_prefix("/dev/")
}

/// The disk that a device of this name is or lies on: `sda2` lies on `sda`.
pub(super) fn is_part_of(name: &str, disk: &str) -> bool {
    let rest = name.strip_prefix(disk).filter(|_| !disk.is_empty());
    rest.is_some_and(|r| r.chars().all(|c| c.is_ascii_digit()))
}

/// Which SCSI disk a name means: `sda` is 0, `sdaa` 26.
fn scsi_index(name: &str) -> Option<u32> {
    let letters = name.strip_prefix("sd")?;
    let letters = letters.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_disk = !letters.is_empty() && letters.len() <= 3;
    let is_disk = is_disk && letters.chars().all(|c| c.is_ascii_lowercase());
    let add = |n: u32, c: u8| n * 26 + u32::from(c - b'a') + 1;
    is_disk.then(|| letters.bytes().fold(0, add) - 1)
}

/// Whether a device of this name lies on this disk; `None`: its number does not tell.
fn lies_on(name: &str, disk: Device) -> Option<bool> {
    if disk.major == EXTENDED {
        return None;
    }
    if let Some(index) = scsi_index(name) {
        // Each major has sixteen disks of sixteen minors.
        let block = SCSI.iter().find_map(|(major, block)| {
            let ahead = disk.major.checked_sub(*major)?;
            let count = if *major == 8 {
                1
            } else {
                7 + u32::from(*major == 128)
            };
            (ahead < count).then_some(block + ahead)
        });
        return Some(block.is_some_and(|b| b * 16 + disk.minor / 16 == index));
    }
    if let Some(rest) = name.strip_prefix("mmcblk") {
        // How many minors a card has depends on the kernel; the first begins at 0.
        return match (disk.major, rest.starts_with("0p") || rest == "0") {
            (MMC, true) => Some(disk.minor < 8),
            (MMC, false) if disk.minor < 8 => Some(false),
            (MMC, false) => None,
            _ => Some(false),
        };
    }
    if let Some(rest) = name.strip_prefix("mtdblock") {
        return Some(disk.major == MTD && rest.parse() == Ok(disk.minor));
    }
    name.starts_with("nbd").then_some(disk.major == NBD)
}

/// The device of the requests that the root lies on: the one that its name maps to, or
/// the only one that there is; and whether its name maps to it.
pub(super) fn root_device(view: &View<'_>) -> Option<(Device, bool)> {
    let all: BTreeSet<Device> = view.record.requests().iter().map(|r| r.device).collect();
    let Some(name) = root_name(view) else {
        return only(all.into_iter()).map(|d| (d, false));
    };
    let is = |wanted: Option<bool>| {
        let all = all.iter().copied();
        only(all.filter(move |d| lies_on(name, *d) == wanted))
    };
    let alone = || is(None).filter(|_| all.len() == 1);
    let mapped = is(Some(true)).map(|d| (d, true));
    mapped.or_else(|| alone().map(|d| (d, false)))
}

fn only(mut all: impl Iterator<Item = Device>) -> Option<Device> {
    let first = all.next()?;
    all.next().is_none().then_some(first)
}

/// The line by which a disk says that it can be pulled out.
pub(super) const REMOVABLE_DISK: &str = "Attached SCSI removable disk";

/// The disk that such a line is of: `sd 6:0:0:0: [sdb] Attached SCSI removable disk`.
pub(super) fn removable_disk(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once('[')?;
    rest.split_once(']').map(|(disk, _)| disk)
}

/// Whether a device is known to have no platters: cards, USB sticks, flash, what the network
/// serves from a memory of its own, and NVMe.
pub(super) fn turns_not(view: &View<'_>, device: Device) -> bool {
    let is_nvme = || {
        let root = root_name(view).is_some_and(|n| n.starts_with("nvme"));
        root || view.said(NVME).next().is_some()
    };
    match device.major {
        MMC | MTD | NBD => true,
        // A trace of requests names whole disks, which others are not of this number.
        EXTENDED => is_nvme(),
        // A disk in a case says that it is none that can be pulled out.
        _ => view.said(REMOVABLE_DISK).any(|line| {
            removable_disk(line.text).is_some_and(|disk| lies_on(disk, device) == Some(true))
        }),
    }
}

/// The line by which the driver of NVMe finds a disk.
pub(super) const NVME: &str = "nvme nvme";

#[cfg(test)]
mod tests {
    use super::{is_part_of, lies_on, removable_disk};
    use record::Device;

    #[test]
    fn a_stick_says_its_name() {
        let line = "sd 6:0:0:0: [sdb] Attached SCSI removable disk";
        assert_eq!(removable_disk(line), Some("sdb"));
        assert_eq!(removable_disk("sd 6:0:0:0: [sdb"), None);
    }

    #[test]
    fn names_map_to_the_numbers_of_their_disks() {
        let on = |name: &str, major: u32, minor: u32| lies_on(name, Device { major, minor });
        assert_eq!(on("sda2", 8, 0), Some(true));
        assert_eq!(on("sda2", 8, 16), Some(false));
        assert_eq!(on("sdb", 8, 17), Some(true));
        assert_eq!(on("sdq1", 65, 0), Some(true));
        assert_eq!(on("sdaa", 65, 160), Some(true));
        assert_eq!(on("mmcblk0p2", 179, 0), Some(true));
        assert_eq!(on("mmcblk0p2", 179, 8), Some(false));
        assert_eq!(on("mmcblk1p2", 179, 8), None);
        assert_eq!(on("mmcblk0p2", 8, 0), Some(false));
        assert_eq!(on("mtdblock3", 31, 3), Some(true));
        assert_eq!(on("sda2", 259, 0), None);
        assert_eq!(on("vda1", 254, 0), None);
        for odd in ["sd", "sdA", "sd1", "sdaaaaaaaaaa", ""] {
            assert_eq!(on(odd, 8, 0), None, "{odd}");
        }
    }

    #[test]
    fn a_partition_is_part_of_its_disk() {
        assert!(is_part_of("sda2", "sda") && is_part_of("sda", "sda"));
        assert!(!is_part_of("sdaa1", "sda") && !is_part_of("sda2", "sdb"));
        assert!(!is_part_of("7", ""));
    }
}
