//! What the values of keys may be, and what they mean.

/// The unit of block device sizes in sysfs, in bytes.
pub const SECTOR_BYTES: u64 = 512;

/// At most 80 characters of what was found, for a message.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

pub(super) fn number(v: &str) -> Option<u64> {
    v.parse().ok()
}

pub(super) fn size(v: &str) -> Option<u64> {
    number(v).filter(|n| *n > 0 && n.is_multiple_of(SECTOR_BYTES))
}

/// What the key `root` says.
pub(super) enum RootKind {
    None,
    Memory,
    Device,
    Initramfs,
}

pub(super) fn root_kind(v: &str) -> Option<RootKind> {
    match v {
        "none" => Some(RootKind::None),
        "pmem" => Some(RootKind::Memory),
        "device" => Some(RootKind::Device),
        "initramfs" => Some(RootKind::Initramfs),
        _ => None,
    }
}

pub(super) fn address(v: &str, unit: u64) -> Option<u64> {
    number(v).filter(|n| n.is_multiple_of(unit))
}

pub(super) fn word(v: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_graphic() && c != '/';
    (!v.is_empty() && v.chars().all(plain)).then(|| v.to_owned())
}

pub(super) fn absolute(v: &str) -> Option<String> {
    v.starts_with('/').then(|| v.to_owned())
}
