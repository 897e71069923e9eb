//! Treatments of files, as text.

use super::error::FileError;
use super::ext::ExtChange;
use super::kinds::{KINDS, TreatmentKind};
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
    /// `firmware=NAME=VALUE`: a setting of a Raspberry Pi's config.txt.
    Firmware {
        /// Its name.
        name: String,
        /// Its value.
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
    /// `strip-headers=PATH`: programs lose the table of their sections too.
    StripHeaders(String),
    /// `library-=PATH`: a shared library that nothing names goes.
    RemoveLibrary(String),
    /// `library-cut=PATH[,ARCHIVE]`: a shared library keeps what the tree uses of it.
    CutLibrary {
        /// The library.
        path: String,
        /// The object files that it is linked from, on this host; `None`: the compiler's.
        archive: Option<String>,
    },
    /// `dtb-bootdelay=SECONDS`: what U-Boot's own device tree says.
    TreeBootdelay(i32),
    /// `ext=CHANGE`: a change of an ext2, ext3 or ext4 image.
    Ext(ExtChange),
    /// `io-scheduler=DEVICE:NAME`: the I/O scheduler of a device.
    IoScheduler {
        /// Its name in /sys/block, with `*` for any rest.
        device: String,
        /// The scheduler.
        scheduler: String,
    },
    /// `read-ahead=DEVICE:KIB`: how much of a device is read ahead.
    ReadAhead {
        /// Its name in /sys/block, with `*` for any rest.
        device: String,
        /// The window, in KiB.
        kib: u32,
    },
    /// `sysctl=NAME=VALUE`: a setting of the kernel.
    Sysctl {
        /// Its name, with dots.
        name: String,
        /// Its value.
        value: String,
    },
    /// `late-modules=NAME,...`: modules that load after the boot.
    LateModules(Vec<String>),
    /// `cat-pipes=PATH`: scripts start one program less for each `cat FILE |`.
    CatPipes(String),
    /// `start-script=one`: one shell runs all start scripts.
    OneStartScript,
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

impl From<Treatment> for FileTreatment {
    fn from(treatment: Treatment) -> Self {
        match treatment {
            Treatment::Initramfs(method) => Self::Initramfs(method),
            // It was made of such a text.
            Treatment::OfFiles(text) => match Self::parse(&text) {
                Ok(treatment) => treatment,
                Err(_) => Self::Boot(Treatment::OfFiles(text)),
            },
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
        if let Some(rest) = text.strip_prefix("firmware=") {
            let (name, value) = rest.split_once('=').unwrap_or((rest, ""));
            let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
            let is_name = !name.is_empty() && name.chars().all(in_name);
            let is_value = !value.is_empty() && value.chars().all(|c| c.is_ascii_graphic());
            return match is_name && is_value {
                // The firmware reads no more of a line.
                true if rest.len() <= 98 => Ok(Self::Firmware {
                    name: name.to_owned(),
                    value: value.to_owned(),
                }),
                _ => Err(refuse(
                    "write firmware=NAME=VALUE with at most 98 characters, such as \
                     firmware=boot_delay=0",
                )),
            };
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
        if let Some(rest) = text.strip_prefix("strip-headers=") {
            return path(rest).map(Self::StripHeaders);
        }
        if let Some(rest) = text.strip_prefix("library-=") {
            return path(rest).map(Self::RemoveLibrary);
        }
        if let Some(rest) = text.strip_prefix("library-cut=") {
            let (library, archive) = match rest.split_once(',') {
                Some((library, archive)) => (library, Some(archive)),
                None => (rest, None),
            };
            if archive.is_some_and(|a| a.is_empty() || a.chars().any(char::is_control)) {
                return Err(refuse(
                    "write the path of an archive after the comma, such as libfoo_pic.a",
                ));
            }
            return path(library).map(|path| Self::CutLibrary {
                path,
                archive: archive.map(str::to_owned),
            });
        }
        if let Some(rest) = text.strip_prefix("cat-pipes=") {
            return path(rest).map(Self::CatPipes);
        }
        if let Some(change) = text.strip_prefix("ext=") {
            let named = ExtChange::ALL.into_iter().find(|c| c.as_str() == change);
            return named.map(Self::Ext).ok_or_else(|| {
                refuse("write no-journal, extents, dir-index, inline-data or clean")
            });
        }
        if let Some(rest) = text.strip_prefix("io-scheduler=") {
            let (device, scheduler) = rest.split_once(':').unwrap_or((rest, ""));
            return match is_name(device, b"*") && is_name(scheduler, b"-_") {
                true => Ok(Self::IoScheduler {
                    device: device.to_owned(),
                    scheduler: scheduler.to_owned(),
                }),
                false => Err(refuse(
                    "write io-scheduler=DEVICE:NAME, such as mmcblk0:none",
                )),
            };
        }
        if let Some(rest) = text.strip_prefix("read-ahead=") {
            let (device, kib) = rest.split_once(':').unwrap_or((rest, ""));
            let is_number = !kib.starts_with('+');
            let kib = kib.parse().ok().filter(|kib| (1..=1 << 20).contains(kib));
            return match kib.filter(|_| is_number && is_name(device, b"*")) {
                Some(kib) => Ok(Self::ReadAhead {
                    device: device.to_owned(),
                    kib,
                }),
                None => Err(refuse("write read-ahead=DEVICE:KIB, such as mmcblk0:512")),
            };
        }
        if let Some(rest) = text.strip_prefix("sysctl=") {
            let (name, value) = rest.split_once('=').unwrap_or((rest, ""));
            let legal = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
            let is_name = name.contains('.') && name.len() <= 100 && name.bytes().all(legal);
            let is_value = !value.is_empty() && value.len() <= 1_000;
            let printable = |c: char| c == ' ' || c.is_ascii_graphic();
            return match is_name && is_value && value.chars().all(printable) {
                true => Ok(Self::Sysctl {
                    name: name.to_owned(),
                    value: value.to_owned(),
                }),
                false => Err(refuse(
                    "write sysctl=NAME=VALUE, such as vm.dirty_bytes=524288",
                )),
            };
        }
        if let Some(rest) = text.strip_prefix("late-modules=") {
            let names: Vec<String> = rest.split(',').map(str::to_owned).collect();
            let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let is_name = |n: &String| !n.is_empty() && n.chars().all(legal);
            return match rest.len() <= 200 && names.iter().all(is_name) {
                true => Ok(Self::LateModules(names)),
                false => Err(refuse("write names of modules, with commas between them")),
            };
        }
        if let Some(what) = text.strip_prefix("start-script=") {
            return match what {
                "one" => Ok(Self::OneStartScript),
                _ => Err(refuse("write start-script=one")),
            };
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

/// Whether `name` is letters, digits and bytes of `more`, 64 at the most.
fn is_name(name: &str, more: &[u8]) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || more.contains(&b);
    !name.is_empty() && name.len() <= 64 && name.bytes().all(legal)
}

impl fmt::Display for FileTreatment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boot(treatment) => treatment.fmt(f),
            Self::Config { name, value } => write!(f, "config=CONFIG_{name}={value}"),
            Self::Firmware { name, value } => write!(f, "firmware={name}={value}"),
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
            Self::StripHeaders(path) => write!(f, "strip-headers={path}"),
            Self::RemoveLibrary(path) => write!(f, "library-={path}"),
            Self::CutLibrary { path, archive } => {
                let (comma, archive) = match archive {
                    Some(archive) => (",", archive.as_str()),
                    None => ("", ""),
                };
                write!(f, "library-cut={path}{comma}{archive}")
            }
            Self::TreeBootdelay(seconds) => write!(f, "dtb-bootdelay={seconds}"),
            Self::Ext(change) => write!(f, "ext={}", change.as_str()),
            Self::IoScheduler { device, scheduler } => {
                write!(f, "io-scheduler={device}:{scheduler}")
            }
            Self::ReadAhead { device, kib } => write!(f, "read-ahead={device}:{kib}"),
            Self::Sysctl { name, value } => write!(f, "sysctl={name}={value}"),
            Self::LateModules(names) => write!(f, "late-modules={}", names.join(",")),
            Self::CatPipes(path) => write!(f, "cat-pipes={path}"),
            Self::OneStartScript => f.write_str("start-script=one"),
        }
    }
}
