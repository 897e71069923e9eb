//! A kernel's configuration: `/proc/config.gz`, `/boot/config-*`, `.config`.
//!
//! Options that decide how long a boot takes become facts, `config.CONFIG_HZ`;
//! one that is not set has the value `n`. All options are in [`KernelConfig`],
//! for those who ask for others.
//!
//! Units of the ledger are lines.

use crate::source::{Input, Sniff, Source};
use crate::text;
use crate::unpack::{GZIP_MAGIC, Problem, gunzip};
use record::{NoteKind, Origin, Recorder, Severity};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A kernel's configuration, plain or in gzip.
#[derive(Debug)]
pub struct KernelConfigFile;

const NO_OPTION: NoteKind = NoteKind::new(
    "no_option",
    Severity::Info,
    "Comments and blank lines were skipped.",
);

const BAD_OPTION: NoteKind = NoteKind::new(
    "option_not_understood",
    Severity::DataLoss,
    "These lines are not configuration options. Copy the configuration of the kernel that booted.",
);

const NOT_WHOLE: NoteKind = NoteKind::new(
    "configuration_not_whole",
    Severity::DataLoss,
    "The compressed configuration is truncated, damaged or far too large. Only the part that \
     could be decompressed was read.",
);

/// The most that a configuration is unpacked to, in bytes; real ones are below
/// 400 KiB.
const MOST_BYTES: usize = 8 << 20;

/// Options that decide how long a boot takes, or how well it can be measured.
/// One that ends with `_` stands for all that begin with it.
const KEPT: &[&str] = &[
    "ACPI",
    "ASYMMETRIC_KEY_TYPE",
    "BLK_DEV_INITRD",
    "BLK_DEV_LOOP",
    "BLK_DEV_NBD",
    "BLK_DEV_RAM",
    "BOOTPARAM_",
    "BOOTSTAGE",
    "BOOT_CONFIG",
    "BOOT_PRINTK_DELAY",
    "BTRFS_FS",
    "CC_OPTIMIZE_FOR_",
    "CMDLINE",
    "CMDLINE_",
    "CRYPTO_FIPS",
    "CRYPTO_MANAGER_DISABLE_TESTS",
    "CRYPTO_MANAGER_EXTRA_TESTS",
    "CRAMFS",
    "DEBUG_",
    "DEFERRED_STRUCT_PAGE_INIT",
    "DEFAULT_HOSTNAME",
    "DEVTMPFS",
    "DEVTMPFS_MOUNT",
    "DRM",
    "DYNAMIC_DEBUG",
    "DYNAMIC_FTRACE",
    "EARLY_PRINTK",
    "EMBEDDED",
    "EROFS_FS",
    "EXPERT",
    "EXT4_FS",
    "F2FS_FS",
    "FB",
    "FTRACE",
    "FTRACE_STARTUP_TEST",
    "FTRACE_SYSCALLS",
    "FUNCTION_GRAPH_TRACER",
    "FUNCTION_TRACER",
    "FW_LOADER_USER_HELPER",
    "FW_LOADER_USER_HELPER_FALLBACK",
    "GCOV_KERNEL",
    "HAVE_KERNEL_",
    "HZ",
    "HZ_",
    "IKCONFIG",
    "IKCONFIG_PROC",
    "IMA",
    "INITRAMFS_",
    "IP_PNP",
    "JFFS2_FS",
    "JFFS2_SUMMARY",
    "KALLSYMS",
    "KALLSYMS_ALL",
    "KASAN",
    "KASLR",
    "KCSAN",
    "KERNEL_",
    "KFENCE",
    "KUNIT",
    "LD_DEAD_CODE_DATA_ELIMINATION",
    "LOCALVERSION",
    "LOCKDEP",
    "LOCK_STAT",
    "LOG_",
    "LOGO",
    "LPJ",
    "LTO_",
    "MMC",
    "MODULES",
    "MODULE_COMPRESS",
    "MODULE_COMPRESS_",
    "MODULE_SIG",
    "MODULE_SIG_",
    "MODVERSIONS",
    "MTD",
    "MTD_UBI",
    "MTD_UBI_FASTMAP",
    "NET",
    "NR_CPUS",
    "NVME_CORE",
    "OF",
    "PAGE_POISONING",
    "PCI",
    "PM_DEBUG",
    "PREEMPT",
    "PREEMPT_",
    "PRINTK",
    "PRINTK_",
    "PROBE_",
    "PROC_CONFIG",
    "PROFILING",
    "PROVE_",
    "PSTORE",
    "RAID6_PQ_BENCHMARK",
    "RANDOMIZE_BASE",
    "RANDOM_TRUST_",
    "RCU_",
    "RD_",
    "ROMFS_FS",
    "SATA_AHCI",
    "SCHED_DEBUG",
    "SCHEDSTATS",
    "SCSI",
    "SCSI_SCAN_ASYNC",
    "SECURITY_SELINUX",
    "SERIAL_8250",
    "SERIAL_8250_CONSOLE",
    "SERIAL_8250_RUNTIME_UARTS",
    "SERIAL_EARLYCON",
    "SLUB_DEBUG",
    "SMP",
    "SOUND",
    "SQUASHFS",
    "SQUASHFS_",
    "SYSFS_DEPRECATED",
    "TASKSTATS",
    "TRACING",
    "TRIM_UNUSED_KSYMS",
    "UBIFS_FS",
    "UBIFS_FS_",
    "USB",
    "VT",
    "WERROR",
    "XFS_FS",
    "XIP_KERNEL",
    "XZ_DEC",
    "ZSTD_DECOMPRESS",
];

/// Whether the fact `config.<option>` is made of an option: `CONFIG_HZ`.
#[must_use]
pub fn is_kept(option: &str) -> bool {
    let Some(name) = option.strip_prefix("CONFIG_") else {
        return false;
    };
    let kept = |k: &&str| name == *k || (k.ends_with('_') && name.starts_with(*k));
    KEPT.iter().any(kept)
}

/// All options of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelConfig {
    options: BTreeMap<String, String>,
}

impl KernelConfig {
    /// Reads a configuration, plain or in gzip. Lines that are no options are
    /// passed over.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let (bytes, _) = unpacked(bytes, MOST_BYTES);
        let lines = text::lines(&bytes);
        let pairs = lines.filter_map(|l| match line(l.bytes) {
            Line::Option(name, value) => Some((
                text::lossy(name).into_owned(),
                text::lossy(value).into_owned(),
            )),
            _ => None,
        });
        Self {
            options: pairs.collect(),
        }
    }

    /// The value of an option, such as `CONFIG_HZ`: `y`, `m`, a number, a text
    /// without its quotation marks, or `n` if the file says that it is not set.
    /// `None` if the file does not have it.
    #[must_use]
    pub fn get(&self, option: &str) -> Option<&str> {
        self.options.get(option).map(String::as_str)
    }

    /// Whether an option is built in, or set to anything but a module.
    #[must_use]
    pub fn is_builtin(&self, option: &str) -> bool {
        self.get(option) == Some("y")
    }

    /// Every option that the file has, by name, with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// Whether there is no option at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.options.is_empty()
    }
}

/// What a line is.
enum Line<'a> {
    Option(&'a [u8], &'a [u8]),
    /// `# Linux/x86 6.1.0 Kernel Configuration`.
    Version(&'a [u8]),
    Comment,
    Bad,
}

fn line(bytes: &[u8]) -> Line<'_> {
    let bytes = bytes.trim_ascii();
    if let Some(comment) = bytes.strip_prefix(b"#") {
        let comment = comment.trim_ascii();
        if let Some(name) = comment.strip_suffix(b" is not set")
            && is_option(name)
        {
            return Line::Option(name, b"n");
        }
        let version = comment
            .strip_suffix(b"Kernel Configuration")
            .or_else(|| comment.strip_suffix(b"kernel configuration"));
        return match version.map(<[u8]>::trim_ascii) {
            Some(version) if version.starts_with(b"Linux") => Line::Version(version),
            _ => Line::Comment,
        };
    }
    if bytes.is_empty() {
        return Line::Comment;
    }
    let Some(at) = memchr::memchr(b'=', bytes) else {
        return Line::Bad;
    };
    let (name, value) = bytes.split_at(at);
    let value = value.get(1..).unwrap_or_default();
    if !is_option(name) {
        return Line::Bad;
    }
    let plain = value
        .strip_prefix(b"\"")
        .and_then(|v| v.strip_suffix(b"\""));
    Line::Option(name, plain.unwrap_or(value))
}

fn is_option(name: &[u8]) -> bool {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    name.strip_prefix(b"CONFIG_")
        .is_some_and(|n| !n.is_empty() && n.iter().all(plain))
}

/// The bytes of a configuration, and whether they are all.
fn unpacked(bytes: &[u8], most: usize) -> (Cow<'_, [u8]>, Option<Problem>) {
    if !bytes.starts_with(GZIP_MAGIC) {
        return (Cow::Borrowed(bytes), None);
    }
    let unpacked = gunzip(bytes, most);
    (Cow::Owned(unpacked.bytes), unpacked.problem)
}

/// How many lines are looked at to know the format.
const SNIFF_LINES: usize = 60;

impl Source for KernelConfigFile {
    fn name(&self) -> &'static str {
        "kernel-config"
    }

    fn description(&self) -> &'static str {
        "kernel configuration: `/proc/config.gz`, `/boot/config-*` or `.config`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let (text, _) = unpacked(head, crate::source::SNIFF_BYTES);
        let (mut options, mut bad) = (0_usize, 0_usize);
        for l in text::lines(&text).take(SNIFF_LINES) {
            match line(l.bytes) {
                Line::Option(..) => options += 1,
                Line::Version(_) => options += 2,
                Line::Bad => bad += 1,
                Line::Comment => {}
            }
        }
        match options {
            _ if bad * 4 > options => Sniff::No,
            3.. => Sniff::Yes,
            1..3 => Sniff::Maybe,
            0 => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let origin = |offset| Origin { source, offset };
        let (bytes, problem) = unpacked(input.bytes, MOST_BYTES);
        if problem.is_some() {
            recorder.note(origin(0), &NOT_WHOLE, String::new);
        }
        let packed = matches!(bytes, Cow::Owned(_));
        let (mut builtin, mut modules) = (0_u64, 0_u64);
        for l in text::lines(&bytes) {
            // Evidence in a packed file is the file.
            let origin = origin(if packed { 0 } else { l.offset });
            match line(l.bytes) {
                Line::Option(name, value) => {
                    builtin += u64::from(value == b"y");
                    modules += u64::from(value == b"m");
                    let name = text::lossy(name);
                    if is_kept(&name) {
                        recorder.fact(&format!("config.{name}"), &text::lossy(value), origin);
                    }
                    recorder.took(source);
                }
                Line::Version(version) => {
                    recorder.fact("config.version", &text::lossy(version), origin);
                    recorder.took(source);
                }
                Line::Comment => recorder.skipped(origin, &NO_OPTION),
                Line::Bad => recorder.skipped(origin, &BAD_OPTION),
            }
        }
        for (key, count) in [("config.builtin", builtin), ("config.modules", modules)] {
            recorder.fact(key, &count.to_string(), origin(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KernelConfig, is_kept};

    #[test]
    fn options_are_found() {
        let config = KernelConfig::parse(
            b"#\n# Linux/arm 6.1.0 Kernel Configuration\n#\nCONFIG_HZ=250\r\n\
              # CONFIG_PRINTK_TIME is not set\nCONFIG_LOCALVERSION=\"-a=b\"\nCONFIG_EXT4_FS=m\n\
              CONFIG_ARM=y\nnonsense\n",
        );
        assert_eq!(config.get("CONFIG_HZ"), Some("250"));
        assert_eq!(config.get("CONFIG_PRINTK_TIME"), Some("n"));
        assert_eq!(config.get("CONFIG_LOCALVERSION"), Some("-a=b"));
        assert!(config.is_builtin("CONFIG_ARM") && !config.is_builtin("CONFIG_EXT4_FS"));
        assert_eq!(config.get("CONFIG_NET"), None);
        assert_eq!(config.iter().count(), 5);
        assert!(KernelConfig::parse(b"").is_empty());
    }

    #[test]
    fn prefixes_keep_families() {
        for kept in ["CONFIG_HZ", "CONFIG_HZ_250", "CONFIG_KERNEL_ZSTD"] {
            assert!(is_kept(kept), "{kept}");
        }
        for other in ["CONFIG_HZX", "HZ", "CONFIG_SND_HDA", "CONFIG_NETFILTER"] {
            assert!(!is_kept(other), "{other}");
        }
    }
}
