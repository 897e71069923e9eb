//! What a kernel log shows of flash that was read: how long it took, and how large it is.

use super::storage::mount_of;
use super::view::{Line, View};
use record::Nanos;

/// Lines behind the mount of a JFFS2: of a root, and of any by a kernel with CONFIG_JFFS2_FS_XATTR.
pub(super) const JFFS2_MOUNTED: [&str; 2] = [
    "VFS: Mounted root (jffs2",
    "jffs2_build_xattr_subsystem: complete",
];

/// How long this boot took to mount a JFFS2: nothing else was said meanwhile.
pub(super) fn jffs2_mounted<'a>(view: &'a View<'_>) -> Option<(Line<'a>, Nanos)> {
    longest(view, &JFFS2_MOUNTED)
}

/// Lines behind the first opening of a volume as a block device: when it is made, or when the root
/// is mounted from it.
pub(super) const UBI_OPENED: [&str; 2] = ["created from ubi", "VFS: Mounted root (squashfs"];

/// How long this boot took to open a static volume: nothing else was said meanwhile.
pub(super) fn ubi_opened<'a>(view: &'a View<'_>) -> Option<(Line<'a>, Nanos)> {
    view.said(UBI_OPENED[0]).next()?;
    longest(view, &UBI_OPENED)
}

/// Whether a time that a log shows may be that of what takes so long on the chip that is assumed.
/// Others are an eighth of it, where a line fell into it, or as long as four, where programs were
/// silent before it.
pub(super) fn is_like(took: Nanos, assumed_ns: u64) -> bool {
    let took = u64::try_from(took.0).unwrap_or_default();
    took >= assumed_ns / 8 && took <= assumed_ns.saturating_mul(4)
}

/// The one of these lines before which nothing was said for longest.
fn longest<'a>(view: &'a View<'_>, lines: &[&str]) -> Option<(Line<'a>, Nanos)> {
    let found = lines.iter().filter_map(|text| mount_of(view, text));
    found.max_by_key(|(_, time)| *time)
}

/// What stands before the list of a chip's partitions.
pub(super) const PARTITIONS: &str = "MTD partitions on ";

/// Bytes of the partition that the root is on, or of the only one.
pub(super) fn partition(view: &View<'_>) -> Option<u64> {
    let lists = view.said(PARTITIONS);
    let sizes = lists.flat_map(|list| {
        let lines = view.after(&list).map_while(|line| size(line.text));
        lines.collect::<Vec<_>>()
    });
    let sizes: Vec<u64> = sizes.collect();
    let root = view.value("root").unwrap_or_default();
    let number = root.strip_prefix("/dev/").unwrap_or(root);
    let number = number
        .strip_prefix("mtdblock")
        .or(number.strip_prefix("mtd"));
    match (
        number.and_then(|n| n.parse::<usize>().ok()),
        sizes.as_slice(),
    ) {
        (Some(n), _) => sizes.get(n).copied(),
        (None, [only]) => Some(*only),
        _ => None,
    }
}

/// `0x000000000000-0x000008000000 : "rootfs"`.
fn size(line: &str) -> Option<u64> {
    let (range, _) = line.split_once(" : \"")?;
    let (from, to) = range.split_once('-')?;
    let address = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    address(to)?.checked_sub(address(from)?).filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn a_partition_is_as_large_as_its_end_is_behind_its_begin() {
        let of = |range: &str| size(&format!("{range} : \"root\""));
        assert_eq!(of("0x000000100000-0x000008000000"), Some(0x7f0_0000));
        for bad in ["0x10-0x10", "0x20-0x10", "10-20", "0x10", ""] {
            assert_eq!(of(bad), None, "{bad}");
        }
        assert_eq!(size("0x0-0x10"), None);
    }
}
