//! Something recognised in a file.

use ::disk::{Facts, Partition, Table};
use bootimage::info;
use rawimage::Endian;

/// Something recognised.
#[derive(Clone, Debug)]
pub struct Item {
    /// Where it begins, bytes from the start of the file.
    pub offset: u64,
    /// How many bytes it takes there.
    pub size: u64,
    /// What it is.
    pub kind: Kind,
    /// What is worth saying about it, a sentence each.
    pub notes: Vec<String>,
    /// What is in it, where it is not compressed.
    pub inside: Vec<Item>,
    /// Of a boot partition: the files that say how the system boots.
    pub files: Vec<BootFile>,
    /// Of packed data: what it is, with its article, if that is known.
    pub packed: Option<String>,
}

impl From<info::Item> for Item {
    fn from(found: info::Item) -> Self {
        Self {
            offset: found.offset,
            size: found.size,
            kind: Kind::Boot(found.kind),
            notes: found.notes,
            inside: found.inside.into_iter().map(Self::from).collect(),
            files: Vec::new(),
            packed: None,
        }
    }
}

/// What a file of a boot partition is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A kernel, or a FIT image that holds one.
    Kernel,
    /// An initramfs.
    Initramfs,
    /// All device trees.
    DeviceTree,
    /// All overlays of device trees.
    Overlay,
    /// The command line of the kernel.
    CommandLine,
    /// config.txt of a Raspberry Pi.
    Firmware,
    /// The menu of extlinux, which U-Boot reads.
    Menu,
    /// An environment of U-Boot.
    Environment,
    /// A script of U-Boot.
    Script,
}

impl Role {
    /// The word used in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Initramfs => "initramfs",
            Self::DeviceTree => "device-tree",
            Self::Overlay => "overlay",
            Self::CommandLine => "command-line",
            Self::Firmware => "firmware",
            Self::Menu => "menu",
            Self::Environment => "environment",
            Self::Script => "script",
        }
    }
}

/// A file of a boot partition that says how the system boots.
#[derive(Clone, Debug)]
pub struct BootFile {
    /// Its path; of several, that of the first.
    pub path: String,
    /// Its number in the map of the partition.
    pub(crate) number: u32,
    /// What it is for.
    pub role: Role,
    /// How many files these are.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether it is what is booted, as far as the partition says it.
    pub is_used: bool,
    /// The command line that the kernel gets, and where it stands in the file.
    pub cmdline: Option<(String, u64)>,
    /// What it is.
    pub items: Vec<Item>,
}

/// What something is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// What a boot loader reads, or what is only recognised.
    Boot(info::Kind),
    /// A JFFS2 filesystem.
    Jffs2 {
        /// Its byte order.
        endian: Endian,
        /// The size of an erase block, if the image shows it.
        erase_size: Option<u32>,
    },
    /// A filesystem of a disk.
    Filesystem(Facts),
    /// A disk with partitions.
    Disk(Table, Vec<Partition>),
}

impl Kind {
    /// The word used in every output.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Boot(kind) => kind.name(),
            Self::Jffs2 { .. } => "jffs2",
            Self::Filesystem(_) => "filesystem",
            Self::Disk(..) => "disk",
        }
    }

    /// As a boot image.
    #[must_use]
    pub const fn boot(&self) -> Option<&info::Kind> {
        match self {
            Self::Boot(kind) => Some(kind),
            _ => None,
        }
    }
}
