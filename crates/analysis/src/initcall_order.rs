//! Which initcalls lie between two lines of a kernel's log, by the order that all kernels have.
//!
//! The kernel runs its built-in initcalls by level (`include/linux/init.h`), and those of a
//! level in the order of linking, which is that of the folders in its top `Kbuild`. So a line
//! whose initcall is known tells how far the kernel has come.

/// The levels, in order.
const LEVELS: [&str; 9] = [
    "core",
    "postcore",
    "arch",
    "subsys",
    "fs",
    "rootfs",
    "device",
    "late",
    "late_sync",
];

/// The folders of the kernel's source, in the order of linking.
const FOLDERS: [&str; 14] = [
    "init", "arch", "kernel", "certs", "mm", "fs", "ipc", "security", "crypto", "block", "lib",
    "drivers", "sound", "net",
];

/// How a line begins that an initcall writes, its level and its folder. Not in the list are
/// lines whose initcall had another level in an older kernel, such as those of quotas, huge
/// pages, the VGA arbiter and the audit's socket.
const LINES: [(&str, &str, &str); 36] = [
    ("NET: Registered PF_NETLINK", "core", "net"),
    ("NET: Registered protocol family 16", "core", "net"),
    ("ACPI: Interpreter enabled", "subsys", "drivers"),
    ("SCSI subsystem initialized", "subsys", "drivers"),
    ("libata version ", "subsys", "drivers"),
    (
        "usbcore: registered new interface driver usbfs",
        "subsys",
        "drivers",
    ),
    ("Bluetooth: Core ver", "subsys", "net"),
    ("clocksource: Switched to clocksource", "fs", "kernel"),
    ("Switched to clocksource", "fs", "kernel"),
    ("pnp: PnP ACPI init", "fs", "drivers"),
    ("NET: Registered PF_INET protocol", "fs", "net"),
    ("NET: Registered protocol family 2", "fs", "net"),
    ("NET: Registered PF_UNIX", "fs", "net"),
    ("NET: Registered protocol family 1", "fs", "net"),
    ("Trying to unpack rootfs", "rootfs", "init"),
    ("Unpacking initramfs", "rootfs", "init"),
    // The kernel's English is not ours.
    (
        concat!("Initi", "alise system trusted keyrings"),
        "device",
        "certs",
    ),
    ("workingset: timestamp_bits", "device", "mm"),
    ("zbud: loaded", "device", "mm"),
    ("squashfs: version", "device", "fs"),
    ("fuse: init (API", "device", "fs"),
    ("SGI XFS with", "device", "fs"),
    ("Key type asymmetric registered", "device", "crypto"),
    ("Block layer SCSI generic (bsg)", "device", "block"),
    ("io scheduler ", "device", "block"),
    ("Serial: 8250/16550 driver", "device", "drivers"),
    ("NET: Registered PF_INET6", "device", "net"),
    ("NET: Registered protocol family 10", "device", "net"),
    ("NET: Registered PF_PACKET", "device", "net"),
    ("NET: Registered protocol family 17", "device", "net"),
    ("Loading compiled-in X.509 certificates", "late", "certs"),
    ("Key type .fscrypt registered", "late", "fs"),
    ("Key type encrypted registered", "late", "security"),
    ("evm: HMAC attrs", "late", "security"),
    ("clk: Disabling unused clocks", "late_sync", "drivers"),
    ("ALSA device list:", "late_sync", "sound"),
];

/// A level and a folder, by their places in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    level: usize,
    folder: usize,
}

/// How far the kernel has come when it writes this line; `None` of lines that do not tell.
pub(crate) fn position(line: &str) -> Option<Position> {
    let (_, level, folder) = LINES.iter().find(|(head, ..)| starts(line, head))?;
    Some(Position {
        level: LEVELS.iter().position(|l| l == level)?,
        folder: FOLDERS.iter().position(|f| f == folder)?,
    })
}

/// Whether a line begins so, and a number in it goes no further.
fn starts(line: &str, head: &str) -> bool {
    let rest = line.strip_prefix(head);
    let is_digit = |b: Option<&u8>| b.is_some_and(u8::is_ascii_digit);
    rest.is_some_and(|r| !(is_digit(head.as_bytes().last()) && is_digit(r.as_bytes().first())))
}

/// The folder that has too much in it to be a name.
const DRIVERS: &str = "drivers";

/// The initcalls between two positions, if they are of one level and of one folder that is a
/// name.
pub(crate) fn folder(from: Position, to: Position) -> Option<String> {
    let is_name = FOLDERS.get(from.folder).is_some_and(|f| *f != DRIVERS);
    (from == to && is_name).then(|| stretch(from, to)).flatten()
}

/// Which initcalls run between two positions, in words; `None` if they are not in order.
pub(crate) fn stretch(from: Position, to: Position) -> Option<String> {
    if from > to {
        return None;
    }
    let name = |p: Position| Some((*LEVELS.get(p.level)?, *FOLDERS.get(p.folder)?));
    let ((first, from_folder), (last, to_folder)) = (name(from)?, name(to)?);
    Some(match (first == last, from_folder == to_folder) {
        (true, true) => format!("{first} initcalls in {from_folder}/"),
        (true, false) => format!("{first} initcalls from {from_folder}/ to {to_folder}/"),
        _ => format!("initcalls from {first} ({from_folder}/) to {last} ({to_folder}/)"),
    })
}

#[cfg(test)]
mod tests {
    use super::{FOLDERS, LEVELS, LINES, position, stretch};

    #[test]
    fn each_line_has_a_level_and_a_folder_and_they_are_in_order() {
        let all: Vec<_> = LINES.iter().map(|(head, ..)| position(head)).collect();
        assert!(all.iter().all(Option::is_some));
        assert!(all.is_sorted(), "{all:?}");
        assert_eq!((LEVELS[0], FOLDERS[13]), ("core", "net"));
    }

    #[test]
    fn a_stretch_is_told_by_levels_and_folders() {
        let between = |a, b| stretch(position(a)?, position(b)?);
        let unpack = "Trying to unpack rootfs image as initramfs...";
        assert_eq!(
            between(unpack, "Initialise system trusted keyrings").as_deref(),
            Some("initcalls from rootfs (init/) to device (certs/)")
        );
        assert_eq!(
            between(
                "workingset: timestamp_bits=14",
                "Key type asymmetric registered"
            )
            .as_deref(),
            Some("device initcalls from mm/ to crypto/")
        );
        assert_eq!(
            between(
                "io scheduler noop registered",
                "io scheduler bfq registered"
            )
            .as_deref(),
            Some("device initcalls in block/")
        );
        assert_eq!(between("ALSA device list:", unpack), None);
    }

    #[test]
    fn a_number_goes_no_further() {
        let inet = position("NET: Registered protocol family 2");
        assert!(inet.is_some());
        assert_eq!(position("NET: Registered protocol family 28"), None);
        let netlink = position("NET: Registered protocol family 16");
        assert_ne!(netlink, position("NET: Registered protocol family 1"));
        assert_eq!(position("a line of a driver"), None);
    }
}
