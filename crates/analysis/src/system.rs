//! What is known of a system beside its boot: the kernel's configuration, the
//! images that are booted, the files of the root. Plain facts, filled in by
//! whoever can open files; each says where it stands.

use crate::place::Place;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a system beside its boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemFacts {
    /// The kernel's configuration.
    pub config: Option<KernelConfig>,
    /// What boot and flash images are.
    pub images: Vec<ImageFact>,
    /// The root filesystem.
    pub root: Option<RootTree>,
    /// The command line that a boot partition gives the kernel.
    pub cmdline: Option<CommandLine>,
    /// Where initcalls come from, if a kernel's source was looked into.
    pub drivers: Vec<DriverSource>,
}

/// A kernel command line in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// Its text.
    pub text: String,
    /// Where it stands.
    pub place: Place,
}

/// Where an initcall comes from in a kernel's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverSource {
    /// The function.
    pub function: String,
    /// Where the initcall is declared.
    pub place: Place,
    /// The option that builds its file, without `CONFIG_`.
    pub option: Option<String>,
    /// Whether that option can be a module.
    pub is_tristate: bool,
    /// The module.
    pub module: Option<String>,
    /// Waits in the same file that state their time, the longest first.
    pub waits: Vec<DriverWait>,
    /// The module's parameters.
    pub parameters: Vec<String>,
}

/// A wait in a driver's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverWait {
    /// How long, in microseconds.
    pub us: u64,
    /// Whether the processor is kept busy meanwhile (`mdelay`), or sleeps (`msleep`).
    pub is_busy: bool,
    /// Its line.
    pub text: String,
    /// Where it stands.
    pub place: Place,
}

/// A kernel configuration: `.config`, `/boot/config-*`, `/proc/config`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelConfig {
    /// Where it comes from.
    pub source: String,
    options: BTreeMap<String, (String, u64)>,
}

impl KernelConfig {
    /// Reads the text of a configuration. Lines that are none of its forms are
    /// left out.
    #[must_use]
    pub fn parse(source: &str, text: &str) -> Self {
        let mut options = BTreeMap::new();
        let mut offset = 0_u64;
        for line in text.split_inclusive('\n') {
            let at = offset;
            offset = offset.saturating_add(line.len() as u64);
            let line = line.trim();
            let unset = line.strip_prefix("# ").and_then(|l| {
                let name = l.strip_suffix(" is not set")?;
                Some((name, "n"))
            });
            let Some((name, value)) = unset.or_else(|| line.split_once('=')) else {
                continue;
            };
            if let Some(name) = name.strip_prefix("CONFIG_") {
                let value = value.trim_matches('"').to_owned();
                options.insert(name.to_owned(), (value, at));
            }
        }
        Self {
            source: source.to_owned(),
            options,
        }
    }

    /// How many options it states.
    #[must_use]
    pub fn len(&self) -> usize {
        self.options.len()
    }

    /// Whether it states nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.options.is_empty()
    }

    /// The value of an option, without `CONFIG_` and quotes; `n` where it says
    /// that it is not set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(|(value, _)| value.as_str())
    }

    /// Whether an option is built in.
    #[must_use]
    pub fn is_built_in(&self, name: &str) -> bool {
        self.get(name) == Some("y")
    }

    /// Where an option stands.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<Place> {
        let (_, offset) = self.options.get(name)?;
        Some(Place {
            source: self.source.clone(),
            offset: *offset,
        })
    }

    /// The options that are built in, by name.
    pub fn built_in(&self) -> impl Iterator<Item = &str> {
        let built_in = self.options.iter().filter(|(_, (value, _))| value == "y");
        built_in.map(|(name, _)| name.as_str())
    }
}

/// What an image is, or something in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFact {
    /// Where it stands.
    pub place: Place,
    /// What it is.
    pub what: ImageKind,
}

/// What an image is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// A kernel that unpacks itself.
    Kernel {
        /// How it is packed: `gzip`, `xz`, ..., `none`.
        compression: String,
        /// Its packed size in bytes.
        packed: u64,
        /// Its size in memory in bytes.
        unpacked: u64,
        /// Whether it carries a signature.
        signed: bool,
        /// Bytes in memory of the names of its variables, with what goes with each; `None` if
        /// its symbols are not found.
        variable_names: Option<u64>,
        /// Bytes in memory of a compressed initramfs that is a part of it; `None` if none is
        /// found.
        initramfs: Option<u64>,
    },
    /// An initramfs.
    Initramfs {
        /// How it is packed.
        compression: String,
        /// Its packed size in bytes.
        packed: u64,
        /// Its unpacked size in bytes.
        unpacked: u64,
        /// How many files it holds.
        entries: u64,
    },
    /// The modules of the kernel in an initramfs.
    InitramfsModules {
        /// Their names as `/proc/modules` gives them, and their bytes.
        modules: BTreeMap<String, u64>,
        /// The size of the whole archive, unpacked, in bytes.
        unpacked: u64,
    },
    /// A filesystem for a disk.
    Filesystem(Filesystem),
    /// A FIT image.
    Fit {
        /// Whether a configuration or an image of it is signed.
        signed: bool,
        /// The algorithm of each hash, and the bytes that it covers.
        hashes: Vec<(String, u64)>,
    },
    /// A legacy U-Boot image.
    Uimage {
        /// The size of its data in bytes.
        size: u64,
        /// Whether its kernel is packed: then it is unpacked and not moved.
        packed: bool,
    },
    /// An environment of U-Boot.
    Environment {
        /// Its variables.
        variables: BTreeMap<String, String>,
        /// What could be changed: the variable, its new value, why, what it
        /// costs, and the time that it saves where the environment shows it.
        proposals: Vec<EnvironmentProposal>,
    },
    /// The programs of a cramfs.
    Cramfs {
        /// Bytes of executable files that are packed.
        packed: u64,
        /// Bytes of those that can be executed where they lie.
        in_place: u64,
    },
    /// A JFFS2 filesystem.
    Jffs2 {
        /// Bytes of its executable files, as they are unpacked.
        programs: u64,
        /// Erase blocks that hold nodes.
        used_blocks: u64,
        /// Of those, the ones with a valid summary.
        summarised: u64,
        /// What summaries in all of them would save a mount, in nanoseconds,
        /// on the chip that is assumed.
        saves_ns: u64,
        /// How long that chip takes to mount it as it is, in nanoseconds.
        mount_ns: u64,
        /// Of that, each erase block that nothing was written to, in nanoseconds.
        erased_ns: u64,
        /// Bytes of an erase block.
        erase_size: u64,
        /// How many of them the image has.
        blocks: u64,
    },
    /// A UBI image.
    Ubi {
        /// How many erase blocks it has.
        blocks: u64,
        /// What a fastmap would save when it attaches, in nanoseconds.
        fastmap_saves_ns: u64,
        /// Bytes in static volumes that are checked in full when opened.
        checked_bytes: u64,
        /// How long those checks take, in nanoseconds.
        checked_ns: u64,
        /// The ID of the only such volume; `None`: there are none or several.
        checked_volume: Option<u32>,
    },
}

/// A filesystem for a disk, in what its layout costs a boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filesystem {
    /// Which: `ext4`, `squashfs`, `erofs`.
    pub filesystem: String,
    /// What it uses, by the names that its own tools give: `has_journal`.
    pub features: Vec<String>,
    /// Bytes in use.
    pub used: u64,
    /// Blocks that hold nothing but the numbers of other blocks.
    pub indirect_blocks: u64,
    /// Directories of more than a few blocks without an index.
    pub unindexed: Vec<Directory>,
}

/// A directory of a filesystem.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Directory {
    /// From the root on: `/var/spool`.
    pub path: String,
    /// Its own bytes, those of its names.
    pub bytes: u64,
    /// How many names are in it.
    pub names: u64,
}

/// A change to a U-Boot environment that could save time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentProposal {
    /// The variable.
    pub name: String,
    /// Its new value.
    pub value: String,
    /// What it brings.
    pub why: String,
    /// What it costs.
    pub cost: String,
    /// The time that it saves in nanoseconds, where the environment shows it.
    pub saves_ns: Option<u64>,
    /// The bytes that are read in vain, where the change reads less.
    pub surplus_bytes: Option<u64>,
}

/// Files of a root filesystem that say how it boots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootTree {
    /// Where it is.
    pub source: String,
    /// Text files, by path without the leading slash.
    pub texts: BTreeMap<String, String>,
    /// Symbolic links and where they lead.
    pub links: BTreeMap<String, String>,
    /// Programs and libraries that carry symbols or debugging data that
    /// running them does not need: path, and the bytes that could go.
    pub unstripped: BTreeMap<String, u64>,
    /// Shared libraries in the folders where the dynamic linker looks, by path.
    pub libraries: BTreeMap<String, Library>,
    /// The files that contain the name of a library, by that name: programs, libraries
    /// and settings.
    pub mentions: BTreeMap<String, BTreeSet<String>>,
    /// Programs and libraries that are relocated when they start, by path.
    pub dynamic: BTreeMap<String, Dynamic>,
    /// Symbolic links to a BusyBox, which takes their names for those of its applets.
    pub applets: BTreeSet<String>,
}

/// What has to be done for a program or library before its own first line: its dynamic
/// section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dynamic {
    /// The names of the libraries that it needs.
    pub needed: Vec<String>,
    /// Relocations that need no symbol, those of `packed` left out.
    pub relative: u64,
    /// Relocations that need no symbol, packed in `.relr.dyn`.
    pub packed: u64,
    /// Relocations of data that look up a symbol.
    pub symbolic: u64,
    /// Calls into other files, each of which looks up a symbol: at the start, or when it
    /// is made first.
    pub calls: u64,
    /// Whether its calls are bound at the start.
    pub binds_now: bool,
    /// Whether it has the hash table that refuses most names at once.
    pub has_gnu_hash: bool,
    /// Where its dynamic section lies in the file.
    pub offset: u64,
}

/// A shared library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Library {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its file's name, and those of the links beside it that lead to it.
    pub names: BTreeSet<String>,
}

impl RootTree {
    /// The place of a byte in one of its files.
    #[must_use]
    pub fn place(&self, path: &str, offset: usize) -> Place {
        Place {
            source: format!("{}/{path}", self.source.trim_end_matches('/')),
            offset: offset as u64,
        }
    }

    /// The lines of its files that `wanted` picks by path: path, offset, line.
    pub fn lines<'a>(
        &'a self,
        wanted: impl Fn(&str) -> bool + 'a,
    ) -> impl Iterator<Item = (&'a str, usize, &'a str)> {
        let files = self.texts.iter().filter(move |(path, _)| wanted(path));
        files.flat_map(|(path, text)| {
            let mut offset = 0;
            text.split_inclusive('\n').map(move |line| {
                let at = offset;
                offset += line.len();
                (path.as_str(), at, line.trim_end_matches(['\n', '\r']))
            })
        })
    }
}
