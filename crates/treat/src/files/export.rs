//! A treatment in the form that a build system takes.

use super::parse::{FileTreatment, FstabChange};
use crate::shell::{escaped, in_quotes, quoted};
use crate::treatment::Treatment;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// A build system, or a tool, that a treatment is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Buildroot: a fragment of its configuration, and files of an overlay.
    Buildroot,
    /// Yocto: what goes into `local.conf` or an image's `bbappend`.
    Yocto,
    /// Debian: drop-ins and commands.
    Debian,
    /// U-Boot: lines for its prompt.
    Setenv,
}

impl Form {
    /// The word of the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Buildroot => "buildroot",
            Self::Yocto => "yocto",
            Self::Debian => "debian",
            Self::Setenv => "setenv",
        }
    }
}

/// The treatment in that form; `None` if there is none.
#[must_use]
pub fn export(treatment: &FileTreatment, form: Form) -> Option<String> {
    match form {
        Form::Buildroot => buildroot(treatment),
        Form::Yocto => yocto(treatment),
        Form::Debian => debian(treatment),
        Form::Setenv => setenv(treatment),
    }
}

/// A file with its content, for a shell.
fn file(path: &str, content: &str) -> String {
    format!(
        "mkdir -p {0}\ncat >{path} <<'END'\n{content}END\n",
        path.rsplit_once('/').map_or(".", |p| p.0)
    )
}

/// A text as a part of a name, so that several treatments do not take each other's
/// file or function: where it is not the text itself, a part of its digest follows.
fn slug(text: &str, between: char) -> String {
    let plain = text.chars().map(|c| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_lowercase(),
        false => between,
    });
    let mut slug: String = plain.take(LONGEST_SLUG).collect();
    if slug != text {
        slug.push(between);
        for byte in Sha256::digest(text).iter().take(DIGEST_BYTES) {
            let _ = write!(slug, "{byte:02x}");
        }
    }
    slug
}

/// Of so many treatments as a system has, no two are alike in 32 bits of a digest.
const DIGEST_BYTES: usize = 4;

/// Names of files may have 255 bytes.
const LONGEST_SLUG: usize = 200;

fn config_line(name: &str, value: &str) -> String {
    match value {
        "n" => format!("# CONFIG_{name} is not set\n"),
        value => format!("CONFIG_{name}={value}\n"),
    }
}

/// The script for sed, in quotes.
fn fstab_sed(folder: &str, change: &FstabChange) -> String {
    let place = sed_literal(folder, "\\/.*[]^$");
    let line = format!("/^[^#][^ \\t]*[ \\t]\\+{place}[ \\t]/");
    in_quotes(&match change {
        FstabChange::Add(o) => {
            let o = sed_literal(o, "\\/&");
            format!("{line}s/^\\(\\([^ \\t]*[ \\t]\\+\\)\\{{3\\}}[^ \\t]*\\)/\\1,{o}/")
        }
        FstabChange::Remove(o) => {
            let o = sed_literal(o, "\\/.*[]^$");
            format!("{line}s/\\([ \\t,]\\){o}\\([ \\t,]\\)/\\1defaults\\2/")
        }
        FstabChange::Pass(n) => format!("{line}s/[0-9][ \\t]*$/{n}/"),
    })
}

/// A text in a script for sed, with a backslash before each of `special`.
fn sed_literal(text: &str, special: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for c in text.chars() {
        if special.contains(c) {
            literal.push('\\');
        }
        literal.push(c);
    }
    literal
}

const VOLATILE: &str = "[Journal]\nStorage=volatile\n";

fn buildroot(treatment: &FileTreatment) -> Option<String> {
    let overlay = "board/firstlight/overlay";
    Some(match treatment {
        FileTreatment::Boot(Treatment::AddWord(word)) => format!(
            "# In the kernel's configuration fragment (BR2_LINUX_KERNEL_CONFIG_FRAGMENT_FILES):\n\
             # EXTEND (32-bit ARM, RISC-V) or BOOL (x86, MIPS) adds the parameter to those of\n\
             # the boot loader. arm64 supports neither: set the parameter in the boot loader.\n\
             CONFIG_CMDLINE_BOOL=y\nCONFIG_CMDLINE_EXTEND=y\n\
             CONFIG_CMDLINE=\"{}\"\n",
            word.replace('\\', "\\\\").replace('"', "\\\"")
        ),
        FileTreatment::Boot(Treatment::Mask(unit)) => format!(
            "# BR2_ROOTFS_OVERLAY=\"{overlay}\"\nmkdir -p {overlay}/etc/systemd/system\n\
             ln -sf /dev/null {}\n",
            quoted(&format!("{overlay}/etc/systemd/system/{unit}"))
        ),
        FileTreatment::Boot(Treatment::SetVariable { name, value }) => {
            format!("# In BR2_PACKAGE_HOST_UBOOT_TOOLS_ENVIMAGE_SOURCE:\n{name}={value}\n")
        }
        FileTreatment::Config { name, value } => format!(
            "# In a file of BR2_LINUX_KERNEL_CONFIG_FRAGMENT_FILES:\n{}",
            config_line(name, value)
        ),
        FileTreatment::JournalInMemory => file(
            &format!("{overlay}/etc/systemd/journald.conf.d/50-firstlight.conf"),
            VOLATILE,
        ),
        FileTreatment::Fstab { folder, change } => format!(
            "# In BR2_ROOTFS_POST_BUILD_SCRIPT:\nsed -i {} \"$TARGET_DIR/etc/fstab\"\n",
            fstab_sed(folder, change)
        ),
        FileTreatment::Initramfs(method) => format!(
            "# BR2_TARGET_ROOTFS_CPIO=y\nBR2_TARGET_ROOTFS_CPIO_{}=y\n",
            method.name().to_ascii_uppercase()
        ),
        _ => return None,
    })
}

fn yocto(treatment: &FileTreatment) -> Option<String> {
    Some(match treatment {
        FileTreatment::Boot(Treatment::AddWord(word)) => {
            format!(
                "# In local.conf or the machine's configuration:\nAPPEND:append = \" {word}\"\n"
            )
        }
        FileTreatment::Boot(Treatment::RemoveWord(word)) => {
            format!("# In local.conf or the machine's configuration:\nAPPEND:remove = \"{word}\"\n")
        }
        FileTreatment::Boot(Treatment::Mask(unit)) => {
            let name = format!("firstlight_mask_{}", slug(unit, '_'));
            format!(
                "# In the image's bbappend:\nROOTFS_POSTPROCESS_COMMAND += \"{name}; \"\n\
                 {name}() {{\n    ln -sf /dev/null \
                 ${{IMAGE_ROOTFS}}${{sysconfdir}}/systemd/system/{}\n}}\n",
                quoted(unit)
            )
        }
        FileTreatment::Config { name, value } => format!(
            "# linux-yocto_%.bbappend:\nFILESEXTRAPATHS:prepend := \"${{THISDIR}}/files:\"\n\
             SRC_URI += \"file://firstlight.cfg\"\n\n# files/firstlight.cfg:\n{}",
            config_line(name, value)
        ),
        FileTreatment::JournalInMemory => format!(
            "# systemd-conf_%.bbappend:\ndo_install:append() {{\n    install -d \
             ${{D}}${{sysconfdir}}/systemd/journald.conf.d\n    printf '{}' \
             >${{D}}${{sysconfdir}}/systemd/journald.conf.d/50-firstlight.conf\n}}\n",
            VOLATILE.replace('\n', "\\n")
        ),
        FileTreatment::Fstab { folder, change } => format!(
            "# base-files_%.bbappend:\ndo_install:append() {{\n    sed -i {} \
             ${{D}}${{sysconfdir}}/fstab\n}}\n",
            fstab_sed(folder, change)
        ),
        FileTreatment::Initramfs(method) => {
            format!(
                "INITRAMFS_FSTYPES = \"cpio.{}\"\n",
                match method.name() {
                    "gzip" => "gz",
                    "zstd" => "zst",
                    other => other,
                }
            )
        }
        _ => return None,
    })
}

fn debian(treatment: &FileTreatment) -> Option<String> {
    Some(match treatment {
        FileTreatment::Boot(Treatment::AddWord(word)) => {
            let line = format!(
                "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT {}\"\n",
                escaped(word)
            );
            format!(
                "{}update-grub\n",
                file(
                    &format!("/etc/default/grub.d/50-firstlight-{}.cfg", slug(word, '-')),
                    &line
                )
            )
        }
        FileTreatment::Boot(Treatment::Mask(unit)) => {
            format!("systemctl mask {}\n", quoted(unit))
        }
        FileTreatment::Boot(Treatment::SetVariable { name, value }) => {
            format!("fw_setenv {} {}\n", quoted(name), in_quotes(value))
        }
        FileTreatment::Boot(Treatment::RemoveVariable(name)) => {
            format!("fw_setenv {}\n", quoted(name))
        }
        FileTreatment::JournalInMemory => {
            file("/etc/systemd/journald.conf.d/50-firstlight.conf", VOLATILE)
        }
        FileTreatment::MenuTimeout(n) => {
            let line = format!("GRUB_TIMEOUT={n}\n");
            format!(
                "{}update-grub\n",
                file("/etc/default/grub.d/50-firstlight-timeout.cfg", &line)
            )
        }
        FileTreatment::InitramfsModules(kind) => {
            let line = format!("MODULES={kind}\n");
            format!(
                "{}update-initramfs -u\n",
                file("/etc/initramfs-tools/conf.d/firstlight-modules", &line)
            )
        }
        FileTreatment::Initramfs(method) => {
            let line = format!("COMPRESS={}\n", method.name());
            format!(
                "{}update-initramfs -u\n",
                file("/etc/initramfs-tools/conf.d/firstlight-compress", &line)
            )
        }
        FileTreatment::Fstab { folder, change } => {
            format!("sed -i {} /etc/fstab\n", fstab_sed(folder, change))
        }
        _ => return None,
    })
}

fn setenv(treatment: &FileTreatment) -> Option<String> {
    Some(match treatment {
        FileTreatment::Boot(Treatment::AddWord(word)) => {
            format!(
                "setenv bootargs \"${{bootargs}} {}\"\nsaveenv\n",
                escaped(word)
            )
        }
        FileTreatment::Boot(Treatment::Mask(unit)) => {
            format!(
                "setenv bootargs \"${{bootargs}} systemd.mask={}\"\nsaveenv\n",
                escaped(unit)
            )
        }
        FileTreatment::Boot(Treatment::SetVariable { name, value }) => {
            format!("setenv {} {}\nsaveenv\n", quoted(name), in_quotes(value))
        }
        FileTreatment::Boot(Treatment::RemoveVariable(name)) => {
            format!("setenv {}\nsaveenv\n", quoted(name))
        }
        _ => return None,
    })
}
