//! What helps where the kernel says nothing beside the line of a well-known driver.

use super::text::driver_remedies as text;

/// What lines of one cause contain, and what helps against it.
pub(super) struct Remedy {
    lines: &'static [&'static str],
    pub why: &'static str,
    /// Parameters and drivers that it is about.
    pub names: &'static [&'static str],
}

/// From the kernel's own documentation, and what cured published boots. The first that fits
/// holds.
const REMEDIES: [Remedy; 14] = [
    Remedy {
        lines: &["dev fd0", "floppy0:", "floppy: "],
        why: text::FLOPPY,
        names: &["floppy", "modprobe.blacklist"],
    },
    Remedy {
        lines: &["tpm tpm0", "tpm_tis", "tpm_crb"],
        why: text::TPM,
        names: &["TPM", "tpm_tis.interrupts"],
    },
    Remedy {
        lines: &["ACPI Error", "ACPI BIOS Error", "ACPI Exception"],
        why: text::ACPI,
        names: &["ACPI"],
    },
    Remedy {
        lines: &["md: Waiting for all devices", "raid=noautodetect"],
        why: text::MD,
        names: &["raid", "CONFIG_MD_AUTODETECT"],
    },
    Remedy {
        lines: &["Image not found (code", "suspend/resume device"],
        why: super::text::remedies::RESUME,
        names: &["resume", "noresume"],
    },
    Remedy {
        lines: &[
            "flip_done timed out",
            "commit wait timed out",
            "vblank wait timed out",
        ],
        why: text::DISPLAY,
        names: &["video", "drm"],
    },
    Remedy {
        lines: &[
            "COMRESET failed",
            "link is slow to respond",
            "qc timeout",
            "NODEV after polling",
            "SRST failed",
        ],
        why: text::DISK,
        names: &["ata"],
    },
    Remedy {
        lines: &["BTRFS info", "BTRFS: device", "BTRFS warning"],
        why: text::BTRFS,
        names: &["btrfs", "space_cache", "block-group-tree"],
    },
    Remedy {
        lines: &["timeout, completion polled", "nvme nvme0: I/O"],
        why: text::NVME,
        names: &["nvme", "pcie_aspm"],
    },
    Remedy {
        lines: &["mei_me "],
        why: text::MANAGEMENT_ENGINE,
        names: &["mei_me", "modprobe.blacklist"],
    },
    Remedy {
        lines: &[
            "device descriptor read",
            "not accepting address",
            "unable to enumerate USB",
        ],
        why: text::USB,
        names: &["USB"],
    },
    Remedy {
        lines: &["IRQ probe failed"],
        why: text::IDE,
        names: &["noprobe", "ide_core.noprobe"],
    },
    Remedy {
        lines: &["xenbus_probe_frontend: "],
        why: text::XEN,
        names: &["xenbus"],
    },
    Remedy {
        lines: &["megaraid_sas ", "mpt2sas", "mpt3sas", "hpsa ", "aacraid"],
        why: text::RAID_CONTROLLER,
        names: &[],
    },
];

/// What helps against a silence beside a line.
pub(super) fn remedy(line: &str) -> Option<&'static Remedy> {
    let fits = |r: &&Remedy| r.lines.iter().any(|text| line.contains(text));
    REMEDIES.iter().find(fits)
}
