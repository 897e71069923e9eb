//! The agent in a root filesystem, so that the system captures its boots: each boot leaves
//! one file.

use crate::busybox;
pub use crate::installation::Error;
use crate::installation::{self, Made, Thing};
use std::fs;
use std::path::Path;

/// The agent, as something that is installed.
const THING: Thing = Thing {
    name: "the agent",
    installed: INSTALLED,
    undo: "firstlight install-agent --undo",
    lines: "",
    leaves: &[],
};

/// What was made, below the root.
pub const INSTALLED: &str = "usr/lib/firstlight-agent/installed";

/// The folder with the last boot's capture, on the target.
pub const CAPTURES: &str = "/var/lib/firstlight-agent";

const AGENT: &str = "usr/lib/firstlight-agent/firstlight-agent";
const COLLECT: &str = "usr/lib/firstlight-agent/collect";
const COLLECT_TEXT: &str = include_str!("target_agent/collect");

const UNIT: &str = "etc/systemd/system/firstlight-agent.service";
const UNIT_LINK: &str = "etc/systemd/system/multi-user.target.wants/firstlight-agent.service";
// A simple service behind the default target: nothing in the boot waits for it.
const UNIT_TEXT: &str = include_str!("target_agent/firstlight-agent.service");

const OPENRC: &str = "etc/init.d/firstlight-agent";
const OPENRC_LINK: &str = "etc/runlevels/default/firstlight-agent";
const OPENRC_TEXT: &str = include_str!("target_agent/openrc");

const SCRIPT: &str = "etc/init.d/S99firstlight-agent";
const SCRIPT_TEXT: &str = include_str!("target_agent/S99firstlight-agent");

const HOOK: &str = "etc/initramfs-tools/hooks/firstlight-agent";
const HOOK_TEXT: &str = include_str!("target_agent/initramfs-tools");

const DRACUT: &str = "usr/lib/dracut/modules.d/95firstlight-agent/module-setup.sh";
const DRACUT_TEXT: &str = include_str!("target_agent/dracut-module-setup.sh");
const DRACUT_CONF: &str = "etc/dracut.conf.d/firstlight-agent.conf";
const DRACUT_CONF_TEXT: &str = "add_dracutmodules+=\" firstlight-agent \"\n";

const MKINITCPIO: &str = "usr/lib/initcpio/install/firstlight-agent";
const MKINITCPIO_TEXT: &str = include_str!("target_agent/mkinitcpio");
const MKINITCPIO_CONF: &str = "etc/mkinitcpio.conf.d/firstlight-agent.conf";
const MKINITCPIO_CONF_TEXT: &str = "HOOKS+=(firstlight-agent)\n";

/// Programs that say what a root is: what starts its services, and for which processor.
const PROGRAMS: [&str; 9] = [
    "usr/lib/systemd/systemd",
    "lib/systemd/systemd",
    "bin/busybox",
    "usr/bin/busybox",
    "usr/bin/env",
    "bin/env",
    "usr/sbin/openrc-run",
    "usr/bin/openrc-run",
    "sbin/openrc-run",
];

/// Files whose content says what starts the scripts of a root.
pub const SCRIPTS: [&str; 2] = ["etc/init.d/rcS", "etc/inittab"];

/// What starts the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A unit of systemd, when the boot has ended.
    Systemd,
    /// A service of OpenRC, as the last one.
    Openrc,
    /// A script in /etc/init.d, for BusyBox, as the last one.
    Busybox,
    /// The kernel, as `init=`: it captures userspace from its first instant.
    Kernel,
    /// The kernel, as `rdinit=`, out of an initramfs of Debian's initramfs-tools.
    InitramfsTools,
    /// The same, out of an initramfs of dracut.
    Dracut,
    /// The same, out of an initramfs of mkinitcpio.
    Mkinitcpio,
}

impl Start {
    /// What the root has: systemd, OpenRC or scripts of BusyBox.
    ///
    /// # Errors
    /// It has none of them.
    pub fn of(root: &Path) -> Result<Self, Error> {
        let has = |path: &str| fs::symlink_metadata(root.join(path)).is_ok();
        if agent::systemd::is_in(root) {
            Ok(Self::Systemd)
        } else if has("sbin/openrc-run") || has("usr/sbin/openrc-run") || has("usr/bin/openrc-run")
        {
            Ok(Self::Openrc)
        } else if has("etc/init.d/rcS") {
            Ok(Self::Busybox)
        } else {
            let why = "has neither systemd nor OpenRC nor /etc/init.d/rcS; say with --start what \
                       starts the agent";
            Err(Error::unfit(root, why))
        }
    }

    /// What is left to do on the target, a sentence each.
    const fn afterwards(self) -> &'static [&'static str] {
        const RDINIT: &str = "add `rdinit=/sbin/firstlight-agent \
                              firstlight.out=/var/lib/firstlight-agent/boot.tar` to the kernel \
                              command line";
        match self {
            Self::Systemd | Self::Openrc | Self::Busybox => {
                &["each boot leaves its capture in /var/lib/firstlight-agent/boot.tar"]
            }
            Self::Kernel => &[
                "afterwards: add `init=/usr/lib/firstlight-agent/firstlight-agent \
                 firstlight.out=/var/lib/firstlight-agent/boot.tar` to the kernel command line",
            ],
            Self::InitramfsTools => &[
                "afterwards: run `update-initramfs -u` on the target",
                RDINIT,
            ],
            Self::Dracut => &["afterwards: run `dracut --force` on the target", RDINIT],
            Self::Mkinitcpio => &[
                "afterwards: run `mkinitcpio -P` on the target",
                "add `rdinit=/usr/bin/firstlight-agent \
                 firstlight.out=/var/lib/firstlight-agent/boot.tar` to the kernel command line",
            ],
        }
    }
}

/// Installs the program `agent` in `root`. The changes, a sentence each; with `dry_run`
/// nothing is changed.
///
/// # Errors
/// It is installed already, nothing would start it, a file is in the way, or the system
/// says.
pub fn install(
    root: &Path,
    agent: &[u8],
    start: Start,
    dry_run: bool,
) -> Result<Vec<String>, Error> {
    installation::is_new(&THING, root)?;
    if start == Start::Busybox && !busybox::starts_scripts(root).unwrap_or(false) {
        let why = "starts no /etc/init.d/S* scripts, so nothing would start the agent at the end \
                   of the boot; use --start kernel";
        return Err(Error::unfit(&root.join(busybox::RCS), why));
    }
    let mut lines = installation::install(&THING, root, &things(agent, start), dry_run)?;
    lines.extend(start.afterwards().iter().map(|l| (*l).to_owned()));
    Ok(lines)
}

/// What is to be made.
fn things(agent: &[u8], start: Start) -> Vec<Made> {
    let file = |path, text: &[u8], mode| Made::File {
        path,
        bytes: text.to_vec(),
        mode,
    };
    let script = |path, text: &str| file(path, text.as_bytes(), 0o755);
    let plain = |path, text: &str| file(path, text.as_bytes(), 0o644);
    let link = |path, to| Made::Link { path, to };
    let collect = || script(COLLECT, COLLECT_TEXT);
    let mut all = vec![file(AGENT, agent, 0o755)];
    all.extend(match start {
        Start::Kernel => Vec::new(),
        Start::Systemd => vec![
            collect(),
            plain(UNIT, UNIT_TEXT),
            link(UNIT_LINK, "/etc/systemd/system/firstlight-agent.service"),
        ],
        Start::Openrc => vec![
            collect(),
            script(OPENRC, OPENRC_TEXT),
            link(OPENRC_LINK, "/etc/init.d/firstlight-agent"),
        ],
        Start::Busybox => vec![collect(), script(SCRIPT, SCRIPT_TEXT)],
        Start::InitramfsTools => vec![script(HOOK, HOOK_TEXT)],
        Start::Dracut => vec![
            script(DRACUT, DRACUT_TEXT),
            plain(DRACUT_CONF, DRACUT_CONF_TEXT),
        ],
        Start::Mkinitcpio => vec![
            plain(MKINITCPIO, MKINITCPIO_TEXT),
            plain(MKINITCPIO_CONF, MKINITCPIO_CONF_TEXT),
        ],
    });
    all
}

/// Every path that [`install`] looks at or makes, and the folders above: what a mirror of a
/// root needs.
#[must_use]
pub fn paths() -> Vec<&'static str> {
    const ALL: [Start; 7] = [
        Start::Systemd,
        Start::Openrc,
        Start::Busybox,
        Start::Kernel,
        Start::InitramfsTools,
        Start::Dracut,
        Start::Mkinitcpio,
    ];
    let seen = PROGRAMS.into_iter().chain(SCRIPTS).chain([INSTALLED]);
    let made = ALL
        .into_iter()
        .flat_map(|start| things(&[], start))
        .map(|made| made.path());
    let mut all = std::collections::BTreeSet::new();
    for path in seen.chain(made) {
        all.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
        all.insert(path);
    }
    // Folders sort before what is in them.
    all.into_iter().collect()
}

/// The paths of what is installed in `root`, the list itself first.
///
/// # Errors
/// If nothing is installed there.
pub fn installed_in(root: &Path) -> Result<Vec<String>, Error> {
    let path = root.join(INSTALLED);
    let text = fs::read_to_string(&path).map_err(Error::io(&path, "cannot be read"))?;
    let made = text.lines().filter_map(|line| match line.split_once(' ')? {
        ("file", rest) => Some(rest.split_once(' ')?.1.to_owned()),
        ("link", path) => Some(path.to_owned()),
        _ => None,
    });
    Ok([INSTALLED.to_owned()].into_iter().chain(made).collect())
}

/// Takes the agent out of `root`. The changes, a sentence each; with `dry_run` nothing is
/// changed. Captures stay.
///
/// # Errors
/// It is not installed there, what was installed cannot be understood, or the system says.
pub fn uninstall(root: &Path, dry_run: bool) -> Result<Vec<String>, Error> {
    installation::uninstall(&THING, root, dry_run)
}

/// The processor that a root is for, as `uname -m` names it, by the first program of it that
/// is an ELF file: `e_machine` and, on ARM, the float bits of `e_flags` (ELF for the Arm
/// architecture, section 5.2).
#[must_use]
pub fn machine_of(root: &Path) -> Option<&'static str> {
    PROGRAMS.iter().find_map(|program| {
        let path = root.join(program);
        // A link may lead out of the root.
        if !fs::symlink_metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut header = [0; 52];
        let mut file = fs::File::open(path).ok()?;
        std::io::Read::read_exact(&mut file, &mut header).ok()?;
        machine(&header)
    })
}

fn machine(header: &[u8; 52]) -> Option<&'static str> {
    // Little-endian ELF.
    if !header.starts_with(b"\x7fELF") || header[5] != 1 {
        return None;
    }
    // EF_ARM_ABI_FLOAT_HARD, in the second byte of e_flags.
    let is_hard_float = header[37] & 0x04 != 0;
    match (u16::from_le_bytes([header[18], header[19]]), header[4]) {
        (62, 2) => Some("x86_64"),
        (183, 2) => Some("aarch64"),
        (243, 2) => Some("riscv64"),
        (40, 1) if is_hard_float => Some("armv7l"),
        (40, 1) => Some("armv5tel"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;
    use std::collections::BTreeMap;
    use std::os::unix::fs::MetadataExt;
    use std::path::PathBuf;

    const ALL: [Start; 7] = [
        Start::Systemd,
        Start::Openrc,
        Start::Busybox,
        Start::Kernel,
        Start::InitramfsTools,
        Start::Dracut,
        Start::Mkinitcpio,
    ];

    /// Every path below a folder, with bytes or the target of a link, mode and time.
    fn tree(root: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, i64)> {
        let mut all = BTreeMap::new();
        let mut open = vec![root.to_owned()];
        while let Some(path) = open.pop() {
            let meta = fs::symlink_metadata(&path).unwrap();
            let bytes = if meta.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else if meta.is_dir() {
                open.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            all.insert(path, (bytes, meta.mode(), meta.mtime()));
        }
        all
    }

    fn root() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for folder in ["etc/init.d", "etc/systemd/system", "usr/lib/systemd"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let script = "#!/bin/sh\nfor i in /etc/init.d/S??*; do $i start; done\n";
        fs::write(root.path().join("etc/init.d/rcS"), script).unwrap();
        root
    }

    #[test]
    fn what_comes_goes_again() {
        for start in ALL {
            let root = root();
            let before = tree(root.path());
            let planned = install(root.path(), b"agent", start, true).unwrap();
            assert_eq!(
                tree(root.path()),
                before,
                "{start:?}: a plan changes nothing"
            );
            let done = install(root.path(), b"agent", start, false).unwrap();
            assert_eq!(planned, done);
            assert_eq!(fs::read(root.path().join(AGENT)).unwrap(), b"agent");
            let again = install(root.path(), b"agent", start, false).unwrap_err();
            assert!(
                again.to_string().contains("install-agent --undo"),
                "{again}"
            );
            uninstall(root.path(), false).unwrap();
            assert_eq!(tree(root.path()), before, "{start:?}");
        }
    }

    #[test]
    fn what_was_cut_off_before_it_was_written_down_goes_too() {
        for start in ALL {
            let root = root();
            fs::create_dir_all(
                root.path()
                    .join(INSTALLED)
                    .parent()
                    .unwrap()
                    .parent()
                    .unwrap(),
            )
            .unwrap();
            let before = tree(root.path());
            // A folder with half of the note, and the times of before around it.
            let own = root.path().join(INSTALLED).parent().unwrap().to_owned();
            let around = fs::metadata(own.parent().unwrap()).unwrap();
            fs::create_dir(&own).unwrap();
            fs::write(own.join(".firstlight-installed.new"), "half").unwrap();
            let times = fs::FileTimes::new().set_modified(around.modified().unwrap());
            let around = fs::File::open(own.parent().unwrap()).unwrap();
            around.set_times(times).unwrap();
            install(root.path(), b"agent", start, false).unwrap();
            uninstall(root.path(), false).unwrap();
            assert_eq!(tree(root.path()), before, "{start:?}");
        }
    }

    #[test]
    fn scripts_are_shell() {
        for start in ALL {
            for made in things(b"", start) {
                let Made::File { path, bytes, .. } = made else {
                    continue;
                };
                if !bytes.starts_with(b"#!") {
                    continue;
                }
                let file = tempfile::NamedTempFile::new().unwrap();
                fs::write(file.path(), &bytes).unwrap();
                // Both know the shell's words; functions of OpenRC and dracut are no syntax.
                let parsed = std::process::Command::new("sh")
                    .arg("-n")
                    .arg(file.path())
                    .status()
                    .unwrap();
                assert!(parsed.success(), "{path}");
            }
        }
    }

    #[test]
    fn a_script_that_starts_no_others_is_refused() {
        let root = root();
        fs::write(root.path().join("etc/init.d/rcS"), "#!/bin/sh\nmount -a\n").unwrap();
        let refused = install(root.path(), b"", Start::Busybox, false).unwrap_err();
        assert!(refused.to_string().contains("--start kernel"), "{refused}");
    }

    #[test]
    fn what_starts_the_services_is_found() {
        let root = root();
        assert_eq!(Start::of(root.path()).unwrap(), Start::Busybox);
        fs::create_dir(root.path().join("sbin")).unwrap();
        fs::write(root.path().join("sbin/openrc-run"), "").unwrap();
        assert_eq!(Start::of(root.path()).unwrap(), Start::Openrc);
        fs::write(root.path().join("usr/lib/systemd/systemd"), "").unwrap();
        assert_eq!(Start::of(root.path()).unwrap(), Start::Systemd);
        let empty = tempfile::tempdir().unwrap();
        assert!(Start::of(empty.path()).is_err());
    }

    #[test]
    fn the_processor_is_read_from_a_program() {
        let root = root();
        assert_eq!(machine_of(root.path()), None);
        let mut elf = [0; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x01\x01");
        elf[18] = 40;
        let said = |elf: &[u8]| {
            fs::write(root.path().join("usr/lib/systemd/systemd"), elf).unwrap();
            machine_of(root.path())
        };
        assert_eq!(said(&elf), Some("armv5tel"));
        elf[37] = 0x04;
        assert_eq!(said(&elf), Some("armv7l"));
        (elf[4], elf[18]) = (2, 243);
        assert_eq!(said(&elf), Some("riscv64"));
        assert_eq!(said(&elf[..20]), None);
        elf[18] = 3;
        assert_eq!(said(&elf), None);
    }
}
