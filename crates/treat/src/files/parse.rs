//! Treatments of files, as text.

use super::error::FileError;
use crate::treatment::Treatment;
use rawimage::Compression;
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
        form: "cmdline+=PARAMETER",
        example: "cmdline+=quiet",
        what: "adds a kernel parameter to the kernel command line",
        targets: CMDLINE,
        risk: "depends on the parameter; see the finding that recommends it",
        then: "run `update-grub` if /etc/default/grub was changed; run `kernel-install` if \
            /etc/kernel/cmdline was changed",
        in_lab: true,
    },
    TreatmentKind {
        form: "cmdline-=PARAMETER",
        example: "cmdline-=initcall_debug",
        what: "removes a kernel parameter from the kernel command line",
        targets: CMDLINE,
        risk: "the effect of the parameter is lost",
        then: "run `update-grub` if /etc/default/grub was changed; run `kernel-install` if \
            /etc/kernel/cmdline was changed",
        in_lab: true,
    },
    TreatmentKind {
        form: "mask=UNIT",
        example: "mask=e2scrub_reap.service",
        what: "keeps systemd from starting a unit",
        targets: &["root tree"],
        risk: "the function of the unit is lost, and units that require it fail",
        then: "",
        in_lab: true,
    },
    TreatmentKind {
        form: "journald=volatile",
        example: "journald=volatile",
        what: "keeps the systemd journal in memory with a drop-in",
        targets: &["root tree"],
        risk: "log messages are lost at power-off and reboot",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "fstab=FOLDER:+OPTION | :-OPTION | :pass=N",
        example: "fstab=/:+noatime",
        what: "changes the mount options or fsck pass of a file system",
        targets: &["root tree", "/etc/fstab"],
        risk: "the protection that the option or check gave is lost",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "menu-timeout=SECONDS",
        example: "menu-timeout=0",
        what: "sets the timeout of a boot menu",
        targets: &[
            "root tree",
            "/etc/default/grub",
            "extlinux.conf",
            "loader.conf",
        ],
        risk: "with a timeout of 0, other entries can be chosen only by holding a key down",
        then: "run `update-grub` if /etc/default/grub was changed",
        in_lab: false,
    },
    TreatmentKind {
        form: "config=CONFIG_NAME=VALUE",
        example: "config=CONFIG_RAID6_PQ_BENCHMARK=n",
        what: "sets an option in a kernel configuration or in a configuration fragment",
        targets: &[".config", "*.cfg", "defconfig"],
        risk: "depends on the option; the kernel must be rebuilt",
        then: "run `make olddefconfig` and rebuild the kernel",
        in_lab: false,
    },
    TreatmentKind {
        form: "env=NAME=VALUE",
        example: "env=bootdelay=0",
        what: "sets a variable in a U-Boot environment and updates the checksum",
        targets: &["U-Boot environment image"],
        risk: "a wrong value can keep the board from booting",
        then: "write the image to the board",
        in_lab: true,
    },
    TreatmentKind {
        form: "env-=NAME",
        example: "env-=preboot",
        what: "removes a variable from a U-Boot environment and updates the checksum",
        targets: &["U-Boot environment image"],
        risk: "a missing variable can keep the board from booting",
        then: "write the image to the board",
        in_lab: true,
    },
    TreatmentKind {
        form: "initramfs=METHOD",
        example: "initramfs=lz4",
        what: "recompresses an initramfs: none, gzip, xz, lzma, bzip2, lzo, lz4 or zstd",
        targets: &["initramfs image"],
        risk: "the kernel must support the compression (`CONFIG_RD_LZ4=y` for lz4)",
        then: "",
        in_lab: true,
    },
    TreatmentKind {
        form: "initramfs-modules=most|dep|list",
        example: "initramfs-modules=dep",
        what: "sets which modules Debian includes in the initramfs",
        targets: &["root tree", "initramfs.conf"],
        risk: "with `dep`, the disk boots only on machines with the same hardware",
        then: "run `update-initramfs -u`",
        in_lab: false,
    },
    TreatmentKind {
        form: "jffs2=summaries",
        example: "jffs2=summaries",
        what: "rewrites a JFFS2 image with a summary in each full erase block",
        targets: &["JFFS2 image"],
        risk: "the image grows by a few percent; only kernels with CONFIG_JFFS2_SUMMARY use the \
            summaries",
        then: "write the image to the board",
        in_lab: false,
    },
    TreatmentKind {
        form: "ubi-skip-check=VOLUME",
        example: "ubi-skip-check=rootfs",
        what: "lets the kernel open a static UBI volume without checking its data first",
        targets: &["UBI image"],
        risk: "a damaged or half-written volume is noticed only when its data is read",
        then: "write the image to the board",
        in_lab: false,
    },
    TreatmentKind {
        form: "uimage-load=ADDRESS",
        example: "uimage-load=0x80007fc0",
        what: "sets the load address of a legacy image (uImage) to where U-Boot loads the file, \
            so that the kernel is not copied",
        targets: &["uImage"],
        risk: "the kernel must be able to run at this address; a zImage can in the first 128 MiB \
            of memory",
        then: "in U-Boot, load the file to this address and start it with `bootm`",
        in_lab: false,
    },
    TreatmentKind {
        form: "dtb-bootdelay=SECONDS",
        example: "dtb-bootdelay=-2",
        what: "sets /config/bootdelay in U-Boot's own device tree, which overrides the variable",
        targets: &["device tree with /config/bootdelay"],
        risk: "with 0, only a key already pressed stops the boot; with -2, nothing does",
        then: "write the device tree to where U-Boot loads it from",
        in_lab: false,
    },
    TreatmentKind {
        form: "strip=PATH",
        example: "strip=usr/bin",
        what: "strips symbols and debug information from a program or from all programs in a \
            folder",
        targets: &["root tree"],
        risk: "debuggers, profilers and core dumps no longer show function names",
        then: "",
        in_lab: false,
    },
    TreatmentKind {
        form: "library-=PATH",
        example: "library-=usr/lib/libm.so.6",
        what: "removes a shared library and its links if no file in the tree refers to it",
        targets: &["root tree"],
        risk: "a program that builds the library's name at run time does not find it; the package \
            manager reports the file as missing",
        then: "run `ldconfig` if the root has an ld.so.cache",
        in_lab: false,
    },
    TreatmentKind {
        form: "kernel=uncompressed",
        example: "kernel=uncompressed",
        what: "boots an uncompressed kernel",
        targets: &["lab"],
        risk: "the image is two to eight times as large, which costs storage and load time",
        then: "on a board, build the kernel without compression",
        in_lab: true,
    },
    TreatmentKind {
        form: "ubi-fastmap=on",
        example: "ubi-fastmap=on",
        what: "lets UBI keep a fastmap: adds `ubi.fm_autoconvert=1`, and sets the fifth field of \
            each `ubi.mtd=`",
        targets: CMDLINE,
        risk: "a few erase blocks; needs CONFIG_MTD_UBI_FASTMAP; a kernel without the fifth field \
            of `ubi.mtd=` does not attach the device",
        then: "boot once and shut down cleanly: the next boot uses the fastmap",
        in_lab: true,
    },
    TreatmentKind {
        form: "modules=unsigned",
        example: "modules=unsigned",
        what: "removes the signatures of the modules in the initramfs",
        targets: &["lab"],
        risk: "tampered modules are loaded too, and the kernel marks itself tainted; where \
            signatures are enforced (Secure Boot, `module.sig_enforce`), no module is loaded and \
            the root device is not found",
        then: "on Debian, add an initramfs-tools hook that runs `strip --strip-debug` on each \
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
                .ok_or_else(|| refuse("write config=CONFIG_NAME=VALUE"))?;
            let name = name.strip_prefix("CONFIG_").unwrap_or(name);
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(legal) {
                return Err(refuse(
                    "the option name may contain only letters, digits and `_`",
                ));
            }
            let quoted = value.len() >= 2 && value.starts_with('"') && value.ends_with('"');
            let number = value.strip_prefix("0x").unwrap_or(value);
            let number = !number.is_empty() && number.chars().all(|c| c.is_ascii_hexdigit());
            let plain = matches!(value, "y" | "m" | "n") || number || quoted;
            if !plain || value.chars().any(char::is_control) {
                return Err(refuse(
                    "the value must be y, m, n, a number or a string in double quotes",
                ));
            }
            return Ok(Self::Config {
                name: name.to_owned(),
                value: value.to_owned(),
            });
        }
        if let Some(rest) = text.strip_prefix("fstab=") {
            let (folder, change) = rest.rsplit_once(':').ok_or_else(|| {
                refuse(
                    "write fstab=FOLDER:+OPTION, fstab=FOLDER:-OPTION or \
                    fstab=FOLDER:pass=N",
                )
            })?;
            let option = |o: &str| {
                let legal = |c: char| c.is_ascii_graphic() && c != ',' && c != '#';
                match !o.is_empty() && o.chars().all(legal) {
                    true => Ok(o.to_owned()),
                    false => Err(refuse(
                        "a mount option must not contain blanks, commas or `#`",
                    )),
                }
            };
            let change = if let Some(o) = change.strip_prefix('+') {
                FstabChange::Add(option(o)?)
            } else if let Some(o) = change.strip_prefix('-') {
                FstabChange::Remove(option(o)?)
            } else if let Some(n) = change.strip_prefix("pass=") {
                let n = n
                    .parse()
                    .map_err(|_| refuse("the pass must be a number from 0 to 255"))?;
                FstabChange::Pass(n)
            } else {
                return Err(refuse("write +OPTION, -OPTION or pass=N after the colon"));
            };
            if folder.is_empty() || folder.contains(char::is_whitespace) {
                return Err(refuse("write the mount point before the colon"));
            }
            return Ok(Self::Fstab {
                folder: folder.to_owned(),
                change,
            });
        }
        if let Some(kind) = text.strip_prefix("journald=") {
            return match kind {
                "volatile" => Ok(Self::JournalInMemory),
                _ => Err(refuse("write journald=volatile")),
            };
        }
        if let Some(seconds) = text.strip_prefix("menu-timeout=") {
            let seconds = seconds.parse().ok().filter(|s| *s <= 3_600);
            return seconds
                .map(Self::MenuTimeout)
                .ok_or_else(|| refuse("write whole seconds from 0 to 3600"));
        }
        if let Some(kind) = text.strip_prefix("initramfs-modules=") {
            return match kind {
                "most" | "dep" | "list" => Ok(Self::InitramfsModules(kind.to_owned())),
                _ => Err(refuse("write most, dep or list")),
            };
        }
        if let Some(method) = text.strip_prefix("initramfs=") {
            return crate::initramfs::method(method)
                .map(Self::Initramfs)
                .ok_or_else(|| refuse("write none, gzip, bzip2, lzma, xz, lzo, lz4 or zstd"));
        }
        if let Some(what) = text.strip_prefix("jffs2=") {
            return match what {
                "summaries" => Ok(Self::JffsSummaries),
                _ => Err(refuse("write jffs2=summaries")),
            };
        }
        if let Some(volume) = text.strip_prefix("ubi-skip-check=") {
            // The kernel's limit of a volume's name.
            return match !volume.is_empty() && volume.len() <= 127 {
                true => Ok(Self::UbiSkipCheck(volume.to_owned())),
                false => Err(refuse("write the name or ID of a volume")),
            };
        }
        if let Some(address) = text.strip_prefix("uimage-load=") {
            let digits = address.strip_prefix("0x").unwrap_or("");
            let address = u32::from_str_radix(digits, 16).ok();
            return address
                .filter(|_| !digits.starts_with('+'))
                .map(Self::UimageLoad)
                .ok_or_else(|| refuse("write a 32-bit address, such as 0x80007fc0"));
        }
        let path = |path: &str| {
            let path = path.trim_matches('/');
            let parts = || path.split('/');
            let plain = parts().all(|p| !matches!(p, "" | "." | ".."));
            let legal = path.len() <= LONGEST_PATH && !path.chars().any(char::is_control);
            match plain && legal {
                true => Ok(path.to_owned()),
                false => Err(refuse(
                    "write a path in the tree without `.` and `..`, such as \
                    usr/bin",
                )),
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
                .ok_or_else(|| refuse("write -2, -1 or whole seconds from 0 to 3600"));
        }
        match Treatment::parse(text) {
            Ok(treatment) => Ok(Self::Boot(treatment)),
            Err(crate::treatment::TreatError::Unknown { .. }) => Err(refuse(
                "no such treatment; `firstlight treat list` shows all",
            )),
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
