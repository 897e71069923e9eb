//! Lines of the root's /etc/fstab, and which of them asks for a device that systemd waits for.

use super::view::View;
use crate::system::RootTree;

/// The lines that are no comments: the file, the line's first byte in it, the line, its fields.
pub(super) fn lines(
    tree: &RootTree,
) -> impl Iterator<Item = (&str, usize, &str, Vec<&str>)> + use<'_> {
    let all = tree.lines(|path| path == "etc/fstab");
    let said = all.filter(|(_, _, line)| !line.trim_start().starts_with('#'));
    said.map(|(path, at, line)| (path, at, line, line.split_whitespace().collect()))
}

/// What stands for a folder of /dev/disk in /etc/fstab (`fstab(5)`).
const TAGS: [(&str, &str); 4] = [
    ("UUID=", "by-uuid"),
    ("LABEL=", "by-label"),
    ("PARTUUID=", "by-partuuid"),
    ("PARTLABEL=", "by-partlabel"),
];

/// The folder that the root's /etc/fstab mounts the device of the unit `unit` on: the unit as
/// systemd names it, or the device's path.
pub(super) fn folder_of<'a>(view: &View<'a>, unit: &str) -> Option<&'a str> {
    let wanted = path_of(unit)?;
    let tree = view.system.root.as_ref()?;
    lines(tree).find_map(|(_, _, _, fields)| {
        let (device, folder) = (fields.first()?, *fields.get(1)?);
        let is_it = folder.starts_with('/') && folder != "/" && named(device) == wanted;
        is_it.then_some(folder)
    })
}

/// The path of a device, as a field of /etc/fstab names it.
fn named(field: &str) -> String {
    let tag = TAGS.iter().find_map(|(tag, folder)| {
        let name = field.strip_prefix(tag)?.trim_matches('"');
        Some(format!("/dev/disk/{folder}/{name}"))
    });
    tag.unwrap_or_else(|| field.to_owned())
}

/// `/dev/disk/by-uuid/1-2` of `dev-disk-by\x2duuid-1\x2d2.device` (`systemd-escape --path`).
fn path_of(unit: &str) -> Option<String> {
    if unit.starts_with('/') {
        return Some(unit.to_owned());
    }
    let name = unit.strip_suffix(".device")?;
    let mut path = Vec::from(b"/");
    let mut rest = name.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        match (first, behind) {
            (b'-', _) => path.push(b'/'),
            (b'\\', [b'x', a, b, behind @ ..]) => {
                let digits = [*a, *b];
                let digits = std::str::from_utf8(&digits).ok()?;
                path.push(u8::from_str_radix(digits, 16).ok()?);
                rest = behind;
            }
            _ => path.push(*first),
        }
    }
    String::from_utf8(path).ok()
}

#[cfg(test)]
mod tests {
    use super::{named, path_of};

    #[test]
    fn a_unit_and_a_line_name_the_same_device() {
        for (unit, field) in [
            ("dev-sdb1.device", "/dev/sdb1"),
            ("/dev/disk/by-label/data", "LABEL=data"),
            ("dev-disk-by\\x2duuid-ab\\x2d12.device", "UUID=ab-12"),
            ("dev-disk-by\\x2duuid-ab\\x2d12.device", "UUID=\"ab-12\""),
            (
                "dev-disk-by\\x2dpartlabel-my\\x20disk.device",
                "/dev/disk/by-partlabel/my disk",
            ),
            ("dev-disk-by\\x2dpartuuid-7.device", "PARTUUID=7"),
        ] {
            assert_eq!(
                path_of(unit).as_deref(),
                Some(named(field).as_str()),
                "{unit}"
            );
        }
        for unit in ["data.mount", "dev-x\\xzz.device", "dev-\\xff.device"] {
            assert_eq!(path_of(unit), None, "{unit}");
        }
    }
}
