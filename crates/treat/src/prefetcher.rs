//! The prefetcher in a root filesystem, and out of it again.

use crate::busybox;
pub use crate::installation::Error;
use crate::installation::{self, Made, Thing};
use agent::access::{AccessList, encode};
use std::fs;
use std::path::Path;

/// The prefetcher, as something that is installed.
const THING: Thing = Thing {
    name: "the prefetcher",
    installed: "usr/lib/firstlight/installed",
    undo: "firstlight prefetch uninstall",
    lines: START_TEXT,
    leaves: &[LIST, MEMORY, "usr/lib/firstlight/memory.new"],
};

const AGENT: &str = "usr/lib/firstlight/firstlight-agent";
const LIST: &str = "usr/lib/firstlight/boot.list";

/// What the prefetcher itself leaves: whether it helped.
const MEMORY: &str = "usr/lib/firstlight/memory";

const UNIT: &str = "etc/systemd/system/firstlight-prefetch.service";
const UNIT_LINK: &str = "etc/systemd/system/sysinit.target.wants/firstlight-prefetch.service";
const UNIT_TEXT: &str = "\
[Unit]
Description=Read ahead what the boot needs
Documentation=man:firstlight(1)
DefaultDependencies=no
ConditionPathExists=/usr/lib/firstlight/boot.list

[Service]
Type=simple
ExecStart=/usr/lib/firstlight/firstlight-agent prefetch /usr/lib/firstlight/boot.list --memory /usr/lib/firstlight/memory --quiet
IOSchedulingClass=idle
";

const SCRIPT: &str = "etc/init.d/S00firstlight";
const SCRIPT_TEXT: &str = "\
#!/bin/sh
# Reads ahead what the boot needs; the boot does not wait for it.
[ \"$1\" = start ] || exit 0
/usr/lib/firstlight/firstlight-agent prefetch /usr/lib/firstlight/boot.list \\
    --memory /usr/lib/firstlight/memory --quiet &
";

/// What starts it where one script starts everything.
const START_TEXT: &str = "\
# Firstlight reads ahead what the boot needs; the boot does not wait for it.
/usr/lib/firstlight/firstlight-agent prefetch /usr/lib/firstlight/boot.list --memory /usr/lib/firstlight/memory --quiet &
";

const HOOK: &str = "etc/initramfs-tools/hooks/firstlight";
const HOOK_TEXT: &str = "\
#!/bin/sh
# Puts the prefetcher and its list into the initramfs.
[ \"$1\" = prereqs ] && exit 0
. /usr/share/initramfs-tools/hook-functions
copy_file binary /usr/lib/firstlight/firstlight-agent /sbin/firstlight-agent
copy_file list /usr/lib/firstlight/boot.list /etc/firstlight.list
";

const BOTTOM: &str = "etc/initramfs-tools/scripts/init-bottom/firstlight";
const BOTTOM_TEXT: &str = "\
#!/bin/sh
# Reads ahead what the boot needs, from the moment the root is there.
[ \"$1\" = prereqs ] && exit 0
/sbin/firstlight-agent prefetch /etc/firstlight.list --root \"$rootmnt\" --enter --quiet &
";

/// What starts the prefetcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    /// A unit of systemd.
    Systemd,
    /// A script in /etc/init.d, for BusyBox and its like.
    Busybox,
    /// An initramfs of Debian's initramfs-tools.
    Initramfs,
}

/// Installs the program that `agent` gives in `root`, with a list if there is one; what starts it is
/// what the root has, if `init` does not say. The changes, a sentence each; with
/// `dry_run` nothing is changed.
///
/// # Errors
/// It is installed already, the root does not say what starts its services, a file is
/// in the way, or the system says.
pub fn install<E: From<Error>>(
    root: &Path,
    agent: impl FnOnce() -> Result<Vec<u8>, E>,
    list: Option<&AccessList>,
    init: Option<Init>,
    dry_run: bool,
) -> Result<Vec<String>, E> {
    let init = match init {
        Some(init) => init,
        None => init_of(root)?,
    };
    installation::is_new(&THING, root)?;
    let with = match init {
        Init::Busybox => Some(busybox::starts_scripts(root).map_err(Error::from)?),
        _ => None,
    };
    let all = things(&agent()?, list, init, with);
    let mut lines = installation::install(&THING, root, &all, dry_run)?;
    if init == Init::Initramfs {
        lines.push(
            "afterwards: `update-initramfs -u` on the target makes the initramfs anew".into(),
        );
    }
    Ok(lines)
}

/// What is to be made. `scripts`: whether the first script of BusyBox starts others.
fn things(agent: &[u8], list: Option<&AccessList>, init: Init, scripts: Option<bool>) -> Vec<Made> {
    let file = |path, bytes: &[u8], mode| Made::File {
        path,
        bytes: bytes.to_vec(),
        mode,
    };
    let mut all = vec![file(AGENT, agent, 0o755)];
    all.extend(list.map(|l| file(LIST, &encode(l), 0o644)));
    match init {
        Init::Systemd => {
            all.push(file(UNIT, UNIT_TEXT.as_bytes(), 0o644));
            all.push(Made::Link {
                path: UNIT_LINK,
                to: "/etc/systemd/system/firstlight-prefetch.service",
            });
        }
        Init::Busybox if scripts == Some(false) => all.push(Made::Lines {
            path: busybox::RCS,
            text: START_TEXT,
        }),
        Init::Busybox => all.push(file(SCRIPT, SCRIPT_TEXT.as_bytes(), 0o755)),
        Init::Initramfs => {
            all.push(file(HOOK, HOOK_TEXT.as_bytes(), 0o755));
            all.push(file(BOTTOM, BOTTOM_TEXT.as_bytes(), 0o755));
        }
    }
    all
}

/// What starts the services of a root.
fn init_of(root: &Path) -> Result<Init, Error> {
    let has = |path: &str| fs::symlink_metadata(root.join(path)).is_ok();
    if agent::systemd::is_in(root) {
        Ok(Init::Systemd)
    } else if has("etc/init.d/rcS") {
        Ok(Init::Busybox)
    } else {
        let why =
            "has neither systemd nor /etc/init.d/rcS; say with --init what starts its services";
        Err(Error::unfit(root, why))
    }
}

/// Takes the installation in `root` back. The changes, a sentence each; with `dry_run`
/// nothing is changed.
///
/// # Errors
/// Nothing is installed there, what was installed cannot be understood, or the system
/// says.
pub fn uninstall(root: &Path, dry_run: bool) -> Result<Vec<String>, Error> {
    installation::uninstall(&THING, root, dry_run)
}
