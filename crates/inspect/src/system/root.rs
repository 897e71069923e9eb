//! A root filesystem in a folder: the few files that say how it boots.

mod dynamic;
mod libraries;
mod lookup;

use crate::Error;
use analysis::RootTree;
use lookup::{MOST_TEXT, is_link_on_the_way, names};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// So many files are looked at; a root has some thousand that matter.
const MOST_FILES: usize = 200_000;

/// So deep below the folders of programs: packages have folders of their own.
const DEPTH: usize = 12;

/// Files by name, without the leading slash.
const FILES: [&str; 20] = [
    "boot/cmdline.txt",
    "boot/extlinux/extlinux.conf",
    "boot/firmware/cmdline.txt",
    "boot/loader/loader.conf",
    "boot/syslinux/syslinux.cfg",
    "etc/default/grub",
    "etc/fstab",
    "etc/initramfs-tools/initramfs.conf",
    "etc/inittab",
    "etc/kernel/cmdline",
    "etc/ld.so.conf",
    "etc/preinit",
    "etc/rc",
    "etc/rc.local",
    "etc/systemd/journald.conf",
    "etc/systemd/system.conf",
    "extlinux/extlinux.conf",
    "init",
    "loader/loader.conf",
    "usr/lib/systemd/system/sysinit.target",
];

/// Folders whose files are read too: scripts and units.
const FOLDERS: [&str; 14] = [
    "etc/init.d",
    "etc/rc.d",
    "etc/rc0.d",
    "etc/rc2.d",
    "etc/rc3.d",
    "etc/rc5.d",
    "etc/rcS.d",
    "etc/systemd/system",
    "lib/systemd/system",
    "usr/lib/systemd/system",
    "usr/local/lib/systemd/system",
    "etc/systemd/system/multi-user.target.wants",
    "etc/systemd/system/sysinit.target.wants",
    "etc/systemd/system/basic.target.wants",
];

/// Folders of programs and libraries.
const PROGRAMS: [&str; 10] = [
    "bin",
    "sbin",
    "lib",
    "usr/bin",
    "usr/sbin",
    "usr/lib",
    "usr/libexec",
    "usr/local/bin",
    "usr/local/lib",
    "opt",
];

/// Reads what matters of the root in `folder`. No link is followed.
pub fn read(folder: &Path) -> Result<RootTree, Error> {
    let shown = folder.display().to_string();
    let there = [
        "etc", "usr", "bin", "sbin", "boot", "extlinux", "loader", "init",
    ];
    if !there
        .iter()
        .any(|d| folder.join(d).symlink_metadata().is_ok())
    {
        return Err(Error::unusable(
            &shown,
            "a folder without etc, usr, bin or boot; expected the root of a file system",
        ));
    }
    let mut tree = RootTree {
        source: shown,
        ..RootTree::default()
    };
    for file in FILES {
        one(folder, file, &mut tree)?;
    }
    for inside in FOLDERS {
        // A merged /usr: the same files are found under their real name.
        if is_link_on_the_way(folder, inside) {
            continue;
        }
        for name in names(&folder.join(inside)) {
            one(folder, &format!("{inside}/{name}"), &mut tree)?;
        }
    }
    let mut left = MOST_FILES;
    for inside in PROGRAMS {
        if !is_link_on_the_way(folder, inside) {
            programs(folder, inside, DEPTH, &mut left, &mut tree);
        }
    }
    libraries::name(folder, &mut tree);
    // Of a root that was not looked through nobody knows what is not used.
    if left == 0 {
        tree.libraries.clear();
    }
    Ok(tree)
}

fn one(root: &Path, inside: &str, tree: &mut RootTree) -> Result<(), Error> {
    let path = root.join(inside);
    let shown = path.display().to_string();
    let parent = inside.rsplit_once('/').map_or("", |(p, _)| p);
    if !parent.is_empty() && is_link_on_the_way(root, parent) {
        return Ok(());
    }
    let Ok(about) = path.symlink_metadata() else {
        return Ok(());
    };
    if about.is_symlink() {
        let to = fs::read_link(&path).map_err(|e| Error::io(&shown, "cannot be read", e))?;
        let to = to.to_string_lossy().into_owned();
        tree.links.insert(inside.to_owned(), to);
    } else if about.is_file() && about.len() <= MOST_TEXT {
        let bytes = fs::read(&path).map_err(|e| Error::io(&shown, "cannot be read", e))?;
        // Programs begin otherwise, and are no scripts.
        if !bytes.contains(&0) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            tree.texts.insert(inside.to_owned(), text);
        }
    }
    Ok(())
}

fn programs(root: &Path, inside: &str, depth: usize, left: &mut usize, tree: &mut RootTree) {
    for name in names(&root.join(inside)) {
        let Some(rest) = left.checked_sub(1) else {
            return;
        };
        *left = rest;
        let path = format!("{inside}/{name}");
        let Ok(about) = root.join(&path).symlink_metadata() else {
            continue;
        };
        if about.is_symlink() && is_applet(&root.join(&path)) {
            tree.applets.insert(path);
        } else if about.is_dir() && depth > 0 && name != "debug" && name != "modules" {
            programs(root, &path, depth - 1, left, tree);
        } else if about.is_file() {
            libraries::note(root, &path, tree);
            if let Some(found) = dynamic::read(&root.join(&path)) {
                tree.dynamic.insert(path.clone(), found);
            }
            if let Some(bytes) = not_loaded(&root.join(&path)) {
                tree.unstripped.insert(path, bytes);
            }
        }
    }
}

/// Whether a link leads to a BusyBox: `busybox`, or one of several, as `busybox.nosuid`.
fn is_applet(link: &Path) -> bool {
    let to = fs::read_link(link).unwrap_or_default();
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    name == "busybox" || name.starts_with("busybox.")
}

/// How many bytes of an ELF file hold the symbols and the debugging data that
/// `strip` removes; `None` if it is none, or has none.
///
/// Layout: System V ABI, "ELF header" and "Sections".
fn not_loaded(path: &Path) -> Option<u64> {
    let mut file = File::open(path).ok()?;
    let mut head = [0_u8; 64];
    file.read_exact(&mut head).ok()?;
    if !head.starts_with(b"\x7fELF") || head[5] != 1 {
        return None;
    }
    let wide = head[4] == 2;
    let number = |bytes: &[u8], at: usize, size: usize| -> Option<u64> {
        let field = bytes.get(at..at.checked_add(size)?)?;
        Some(field.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
    };
    let (table, entry, count) = match wide {
        true => (
            number(&head, 40, 8)?,
            number(&head, 58, 2)?,
            number(&head, 60, 2)?,
        ),
        false => (
            number(&head, 32, 4)?,
            number(&head, 46, 2)?,
            number(&head, 48, 2)?,
        ),
    };
    let size = usize::try_from(entry.checked_mul(count)?).ok()?;
    if entry < 40 || size > 1 << 20 {
        return None;
    }
    file.seek(SeekFrom::Start(table)).ok()?;
    let mut sections = vec![0; size];
    file.read_exact(&mut sections).ok()?;
    const SYMBOLS: u64 = 2;
    const LOADED: u64 = 2;
    let mut total = 0_u64;
    let mut symbols = false;
    for section in sections.chunks_exact(usize::try_from(entry).ok()?) {
        let kind = number(section, 4, 4)?;
        let (flags, length) = match wide {
            true => (number(section, 8, 8)?, number(section, 32, 8)?),
            false => (number(section, 8, 4)?, number(section, 20, 4)?),
        };
        symbols |= kind == SYMBOLS;
        // What is not loaded, and no note of the linker's or bare name.
        if flags & LOADED == 0 && matches!(kind, 1..=3) {
            total = total.saturating_add(length);
        }
    }
    (symbols && total > 4_096).then_some(total)
}
