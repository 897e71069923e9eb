//! Treatments of files, as text.

use super::FileError;
use crate::Treatment;
use image::boot::Compression;
use std::fmt;

/// A treatment of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileTreatment {
    /// One that the lab takes, too: `cmdline+=`, `cmdline-=`, `mask=`, `env=`,
    /// `env-=`, `kernel=`.
    Boot(Treatment),
    /// `config=CONFIG_NAME=VALUE`: an option of a kernel's configuration.
    Config {
        /// Its name without `CONFIG_`.
        name: String,
        /// `y`, `m`, `n`, a number, or a text in quotes.
        value: String,
    },
    /// `fstab=FOLDER:+OPTION`, `fstab=FOLDER:-OPTION`, `fstab=FOLDER:pass=N`.
    Fstab {
        /// Where it is mounted.
        folder: String,
        /// What becomes of it.
        change: FstabChange,
    },
    /// `journald=volatile`: the journal stays in memory.
    JournalInMemory,
    /// `menu-timeout=SECONDS`: how long a boot menu waits.
    MenuTimeout(u32),
    /// `initramfs=METHOD`: the initramfs is packed in another way.
    Initramfs(Compression),
    /// `initramfs-modules=dep`: what Debian's initramfs holds.
    InitramfsModules(String),
    /// `jffs2=summaries`: every full erase block gets a summary.
    JffsSummaries,
    /// `ubi-skip-check=VOLUME`: a static volume is not read when it is opened.
    UbiSkipCheck(String),
    /// `uimage-load=ADDRESS`: a kernel runs where the file is loaded to.
    UimageLoad(u32),
    /// `strip=PATH`: programs lose what only debuggers read.
    Strip(String),
    /// `library-=PATH`: a shared library that nothing names goes.
    RemoveLibrary(String),
    /// `dtb-bootdelay=SECONDS`: what U-Boot's own device tree says.
    TreeBootdelay(i32),
}

/// A change of a line of /etc/fstab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FstabChange {
    /// The option is added.
    Add(String),
    /// The option is taken away.
    Remove(String),
    /// The last field, the pass of fsck, becomes this.
    Pass(u8),
}

/// A kind of treatment, for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreatmentKind {
    /// How it is written: `cmdline+=WORD`.
    pub form: &'static str,
    /// One that can be used as it stands.
    pub example: &'static str,
    /// What it does.
    pub what: &'static str,
    /// What it works on.
    pub targets: &'static [&'static str],
    /// What it costs.
    pub risk: &'static str,
    /// What must be done by hand for it to take effect; empty: nothing.
    pub then: &'static str,
    /// Whether the lab and `tune` take it.
    pub in_lab: bool,
}

const CMDLINE: &[&str] = &[
    "root tree",
    "/boot/cmdline.txt",
    "/etc/default/grub",
    "/etc/kernel/cmdline",
    "extlinux.conf",
    "loader/entries/*.conf",
];

/// Every kind of treatment there is.
pub const KINDS: &[TreatmentKind] = &[
    TreatmentKind {
        form: "cmdline+=WORD",
        example: "cmdline+=quiet",
        what: "adds a word to the kernel command line",
        targets: CMDLINE,
        risk: "what the word does; see the finding that recommends it",
        then: "update-grub, if the word went to /etc/default/grub; kernel-install, if to \
               /etc/kernel/cmdline",
        in_lab: true,
    },
    TreatmentKind {
        form: "cmdline-=WORD",
        example: "cmdline-=initcall_debug",
        what: "takes a word from the kernel command line",
        targets: CMDLINE,
        risk: "what the word did is no longer done",
        then: "as for cmdline+=",
        in_lab: true,
    },
    TreatmentKind {
        form: "mask=UNIT",
        example: "mask=e2scrub_reap.service",
        what: "keeps systemd from starting a unit",
        targets: &["root tree"],
        risk: "what the unit does is no longer done, and units that require it fail",
        then: "",
        in_lab: true,
    },
    TreatmentKind {
        form: "journald=volatile",
        example: "journald=volatile",
        what: "keeps systemd's journal in memory, by a drop-in",
        targets: &["root tree"],
        risk: "messages are lost when power goes",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "fstab=FOLDER:+OPTION | :-OPTION | :pass=N",
        example: "fstab=/:+noatime",
        what: "changes how a file system is mounted",
        targets: &["root tree", "/etc/fstab"],
        risk: "what the option protected",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "menu-timeout=SECONDS",
        example: "menu-timeout=0",
        what: "sets how long a boot menu waits",
        targets: &[
            "root tree",
            "/etc/default/grub",
            "extlinux.conf",
            "loader.conf",
        ],
        risk: "another entry can only be chosen with a key that is held down",
        then: "update-grub, if /etc/default/grub was changed",
        in_lab: false,
    },
    TreatmentKind {
        form: "config=CONFIG_NAME=VALUE",
        example: "config=CONFIG_RAID6_PQ_BENCHMARK=n",
        what: "sets an option of a kernel's configuration, or of a fragment of one",
        targets: &[".config", "*.cfg", "defconfig"],
        risk: "what the option does; the kernel must be built anew",
        then: "make olddefconfig, and build the kernel",
        in_lab: false,
    },
    TreatmentKind {
        form: "env=NAME=VALUE",
        example: "env=bootdelay=0",
        what: "sets a variable of a U-Boot environment, with its checksum",
        targets: &["U-Boot environment image"],
        risk: "a wrong variable keeps the board from booting",
        then: "write the image to the board",
        in_lab: true,
    },
    TreatmentKind {
        form: "env-=NAME",
        example: "env-=preboot",
        what: "takes a variable out of a U-Boot environment",
        targets: &["U-Boot environment image"],
        risk: "a missing variable keeps the board from booting",
        then: "write the image to the board",
        in_lab: true,
    },
    TreatmentKind {
        form: "initramfs=METHOD",
        example: "initramfs=lz4",
        what: "packs an initramfs anew: none, gzip, xz, lzma, bzip2, lzo, lz4 or zstd",
        targets: &["initramfs image"],
        risk: "the kernel must be able to unpack it (CONFIG_RD_LZ4, ...)",
        then: "",
        in_lab: true,
    },
    TreatmentKind {
        form: "initramfs-modules=most|dep|list",
        example: "initramfs-modules=dep",
        what: "sets which modules Debian puts into an initramfs",
        targets: &["root tree", "initramfs.conf"],
        risk: "with `dep` the disk boots only on machines like this one",
        then: "update-initramfs -u",
        in_lab: false,
    },
    TreatmentKind {
        form: "jffs2=summaries",
        example: "jffs2=summaries",
        what: "packs a JFFS2 image anew, with a summary in each full erase block",
        targets: &["JFFS2 image"],
        risk: "the image grows by a few per cent; the kernel needs CONFIG_JFFS2_SUMMARY to gain",
        then: "write the image to the board",
        in_lab: false,
    },
    TreatmentKind {
        form: "ubi-skip-check=VOLUME",
        example: "ubi-skip-check=rootfs",
        what: "lets the kernel open a static UBI volume without reading all of it first",
        targets: &["UBI image"],
        risk: "a damaged or half-written volume is found only by what reads it",
        then: "write the image to the board",
        in_lab: false,
    },
    TreatmentKind {
        form: "uimage-load=ADDRESS",
        example: "uimage-load=0x80007fc0",
        what: "makes a legacy image run where U-Boot loads the file to, so that nothing is moved",
        targets: &["uImage"],
        risk: "the kernel must be able to run there, which a zImage is in the first 128 MiB of memory",
        then: "load the file to that address in U-Boot, and `bootm` it",
        in_lab: false,
    },
    TreatmentKind {
        form: "dtb-bootdelay=SECONDS",
        example: "dtb-bootdelay=-2",
        what: "sets /config/bootdelay of U-Boot's own device tree, which comes before the variable",
        targets: &["device tree with /config/bootdelay"],
        risk: "with 0 the prompt is reached only by a key that is pressed already, with -2 not at all",
        then: "write the device tree to where U-Boot has it",
        in_lab: false,
    },
    TreatmentKind {
        form: "strip=PATH",
        example: "strip=usr/bin",
        what: "takes symbols and debugging data from a program, or from all in a folder",
        targets: &["root tree"],
        risk: "debuggers, profilers and core dumps know no names of functions any more",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "library-=PATH",
        example: "library-=usr/lib/libm.so.6",
        what: "takes a shared library and its links away, if no file of the tree names it",
        targets: &["root tree"],
        risk: "a program whose library's name is put together while it runs does not find it; \
               a package manager misses the file",
        then: "ldconfig, if the root has an ld.so.cache",
        in_lab: false,
    },
    TreatmentKind {
        form: "kernel=uncompressed",
        example: "kernel=uncompressed",
        what: "boots the kernel unpacked",
        targets: &["lab"],
        risk: "an image three to five times as large, to be stored and loaded",
        then: "on a board: build the kernel without compression",
        in_lab: true,
    },
    TreatmentKind {
        form: "modules=unsigned",
        example: "modules=unsigned",
        what: "boots with modules in the initramfs whose signatures were cut off",
        targets: &["lab"],
        risk: "a changed module is loaded all the same; where signatures are enforced (Secure \
               Boot, module.sig_enforce) none of them is loaded, and the disk is not found; the \
               kernel says that it is tainted",
        then: "on Debian: a hook of initramfs-tools that calls `strip --strip-debug` for each \
               module in $DESTDIR",
        in_lab: true,
    },
];

impl From<Treatment> for FileTreatment {
    fn from(treatment: Treatment) -> Self {
        match treatment {
            Treatment::Initramfs(method) => Self::Initramfs(method),
            other => Self::Boot(other),
        }
    }
}

impl FileTreatment {
    /// Reads a treatment from its text.
    ///
    /// # Errors
    /// If the text names none, or one that cannot be.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let refuse = |why: &str| FileError::Form {
            treatment: text.chars().take(80).collect(),
            why: why.to_owned(),
        };
        if let Some(rest) = text.strip_prefix("config=") {
            let (name, value) = rest
                .split_once('=')
                .ok_or_else(|| refuse("expected config=CONFIG_NAME=VALUE"))?;
            let name = name.strip_prefix("CONFIG_").unwrap_or(name);
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(legal) {
                return Err(refuse("an option has a name of letters, digits and `_`"));
            }
            let quoted = value.len() >= 2 && value.starts_with('"') && value.ends_with('"');
            let number = value.strip_prefix("0x").unwrap_or(value);
            let number = !number.is_empty() && number.chars().all(|c| c.is_ascii_hexdigit());
            let plain = matches!(value, "y" | "m" | "n") || number || quoted;
            if !plain || value.chars().any(char::is_control) {
                return Err(refuse(
                    "a value is y, m, n, a number, or a text in double quotes",
                ));
            }
            return Ok(Self::Config {
                name: name.to_owned(),
                value: value.to_owned(),
            });
        }
        if let Some(rest) = text.strip_prefix("fstab=") {
            let (folder, change) = rest
                .rsplit_once(':')
                .ok_or_else(|| refuse("expected fstab=FOLDER:+OPTION, :-OPTION or :pass=N"))?;
            let option = |o: &str| {
                let legal = |c: char| c.is_ascii_graphic() && c != ',' && c != '#';
                match !o.is_empty() && o.chars().all(legal) {
                    true => Ok(o.to_owned()),
                    false => Err(refuse("an option has no blanks, commas or `#`")),
                }
            };
            let change = if let Some(o) = change.strip_prefix('+') {
                FstabChange::Add(option(o)?)
            } else if let Some(o) = change.strip_prefix('-') {
                FstabChange::Remove(option(o)?)
            } else if let Some(n) = change.strip_prefix("pass=") {
                let n = n.parse().map_err(|_| refuse("a pass is 0, 1 or 2"))?;
                FstabChange::Pass(n)
            } else {
                return Err(refuse(
                    "expected +OPTION, -OPTION or pass=N behind the colon",
                ));
            };
            if folder.is_empty() || folder.contains(char::is_whitespace) {
                return Err(refuse(
                    "expected the folder that the file system is mounted on",
                ));
            }
            return Ok(Self::Fstab {
                folder: folder.to_owned(),
                change,
            });
        }
        if let Some(kind) = text.strip_prefix("journald=") {
            return match kind {
                "volatile" => Ok(Self::JournalInMemory),
                _ => Err(refuse("expected journald=volatile")),
            };
        }
        if let Some(seconds) = text.strip_prefix("menu-timeout=") {
            let seconds = seconds.parse().ok().filter(|s| *s <= 3_600);
            return seconds
                .map(Self::MenuTimeout)
                .ok_or_else(|| refuse("expected whole seconds"));
        }
        if let Some(kind) = text.strip_prefix("initramfs-modules=") {
            return match kind {
                "most" | "dep" | "list" => Ok(Self::InitramfsModules(kind.to_owned())),
                _ => Err(refuse("expected most, dep or list")),
            };
        }
        if let Some(method) = text.strip_prefix("initramfs=") {
            return crate::initramfs::method(method)
                .map(Self::Initramfs)
                .ok_or_else(|| refuse("expected none, gzip, bzip2, lzma, xz, lzo, lz4 or zstd"));
        }
        if let Some(what) = text.strip_prefix("jffs2=") {
            return match what {
                "summaries" => Ok(Self::JffsSummaries),
                _ => Err(refuse("expected jffs2=summaries")),
            };
        }
        if let Some(volume) = text.strip_prefix("ubi-skip-check=") {
            // The kernel's limit of a volume's name.
            return match !volume.is_empty() && volume.len() <= 127 {
                true => Ok(Self::UbiSkipCheck(volume.to_owned())),
                false => Err(refuse("expected the name or the number of a volume")),
            };
        }
        if let Some(address) = text.strip_prefix("uimage-load=") {
            let digits = address.strip_prefix("0x").unwrap_or("");
            let address = u32::from_str_radix(digits, 16).ok();
            return address
                .filter(|_| !digits.starts_with('+'))
                .map(Self::UimageLoad)
                .ok_or_else(|| refuse("expected an address of 32 bits, such as 0x80007fc0"));
        }
        let path = |path: &str| {
            let path = path.trim_matches('/');
            let parts = || path.split('/');
            let plain = parts().all(|p| !matches!(p, "" | "." | ".."));
            let legal = path.len() <= LONGEST_PATH && !path.chars().any(char::is_control);
            match plain && legal {
                true => Ok(path.to_owned()),
                false => Err(refuse("expected a plain path in the tree, such as usr/bin")),
            }
        };
        if let Some(rest) = text.strip_prefix("strip=") {
            return path(rest).map(Self::Strip);
        }
        if let Some(rest) = text.strip_prefix("library-=") {
            return path(rest).map(Self::RemoveLibrary);
        }
        if let Some(seconds) = text.strip_prefix("dtb-bootdelay=") {
            let seconds = seconds.parse().ok().filter(|s| (-2..=3_600).contains(s));
            return seconds
                .map(Self::TreeBootdelay)
                .ok_or_else(|| refuse("expected whole seconds, 0, -1 or -2"));
        }
        match Treatment::parse(text) {
            Ok(treatment) => Ok(Self::Boot(treatment)),
            Err(crate::TreatError::Unknown { .. }) => {
                Err(refuse("it is not one that `firstlight treat list` shows"))
            }
            Err(e) => Err(e.into()),
        }
    }

    /// What holds for all treatments of its kind.
    #[must_use]
    pub fn kind(&self) -> &'static TreatmentKind {
        let text = self.to_string();
        let word = |t: &TreatmentKind| {
            let end = t.form.find('=').map_or(t.form.len(), |e| e + 1);
            t.form.get(..end).is_some_and(|w| text.starts_with(w))
        };
        // Every treatment is of a kind: a test holds the two lists together.
        let first = KINDS.first();
        KINDS.iter().find(|k| word(k)).or(first).unwrap_or(&NOTHING)
    }
}

/// The longest path that Linux takes (`PATH_MAX`).
const LONGEST_PATH: usize = 4_095;

const NOTHING: TreatmentKind = TreatmentKind {
    form: "",
    example: "",
    what: "",
    targets: &[],
    risk: "",
    then: "",
    in_lab: false,
};

impl fmt::Display for FileTreatment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boot(treatment) => treatment.fmt(f),
            Self::Config { name, value } => write!(f, "config=CONFIG_{name}={value}"),
            Self::Fstab { folder, change } => match change {
                FstabChange::Add(o) => write!(f, "fstab={folder}:+{o}"),
                FstabChange::Remove(o) => write!(f, "fstab={folder}:-{o}"),
                FstabChange::Pass(n) => write!(f, "fstab={folder}:pass={n}"),
            },
            Self::JournalInMemory => f.write_str("journald=volatile"),
            Self::MenuTimeout(n) => write!(f, "menu-timeout={n}"),
            Self::Initramfs(method) => write!(f, "initramfs={}", method.name()),
            Self::InitramfsModules(kind) => write!(f, "initramfs-modules={kind}"),
            Self::JffsSummaries => f.write_str("jffs2=summaries"),
            Self::UbiSkipCheck(volume) => write!(f, "ubi-skip-check={volume}"),
            Self::UimageLoad(address) => write!(f, "uimage-load={address:#010x}"),
            Self::Strip(path) => write!(f, "strip={path}"),
            Self::RemoveLibrary(path) => write!(f, "library-={path}"),
            Self::TreeBootdelay(seconds) => write!(f, "dtb-bootdelay={seconds}"),
        }
    }
}
