//! The access list of a boot that was captured.

use super::event::{Event, Kind};
use super::mounts::mounts;
use super::names::identity_of;
use super::recording;
use super::touched::{Pages, Touched};
use crate::error::FileError;
use agent::access::{AccessList, Entry, Identity};
use record::{Access, AccessKind, Nanos, Record};
use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The kernel's number of a device: minor numbers take 20 bits.
const MINOR_BITS: u32 = 20;

/// An access list of a boot.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The list.
    pub list: AccessList,
    /// Files that were read and are not below the root.
    pub nameless: usize,
    /// Whether the capture tells touches of pages, and not only what came into memory.
    pub touches: bool,
}

/// The machine that was captured.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'a> {
    /// As `uname -m` gives it.
    pub name: &'a str,
    /// The size of its pages, bytes: a power of two from 512 to 1 MiB.
    pub page: u32,
}

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The size of a page is impossible.
    #[error("--page takes a power of two from 512 to 1048576, and not {0}")]
    Page(u32),
    /// The capture has no accesses.
    #[error("the capture has no accesses to files: it must be taken with the events filemap:*")]
    NoAccesses,
}

/// Makes the list of a boot, or of what it read from `since` on; the files of the captured
/// system are below `root`.
///
/// # Errors
/// The capture has no accesses, or `root` cannot be read.
pub fn import(
    record: &Record,
    root: &Path,
    machine: Machine<'_>,
    since: Option<Nanos>,
) -> Result<Imported, ImportError> {
    let page = u64::from(machine.page);
    if !(512..=1 << 20).contains(&machine.page) || !machine.page.is_power_of_two() {
        return Err(ImportError::Page(machine.page));
    }
    let touches = record
        .accesses()
        .iter()
        .any(|a| a.kind == AccessKind::Touch);
    let mut touched = Touched::new(page, !touches);
    let later = |a: &&Access| since.is_none_or(|since| a.at >= since);
    for access in record.accesses().iter().filter(later) {
        if let Some((event, is_device)) = event(record, access) {
            touched.take(&event, is_device);
        }
    }
    let device = device_of(&touched).ok_or(ImportError::NoAccesses)?;
    let mut list = AccessList {
        recordings: 1,
        page_bytes: machine.page,
        machine: machine.name.to_owned(),
        title: "boot".to_owned(),
        ..AccessList::default()
    };
    let number = u64::from(device.0) << MINOR_BITS | u64::from(device.1);
    let block = touched
        .files
        .iter()
        .find(|((of, inode), _)| of.0 == 0 && *inode == number);
    // Times count from the first access to the root.
    let of_root = touched.files.iter().filter(|((of, _), _)| *of == device);
    let firsts = of_root.chain(block).filter_map(|(_, p)| p.first.as_ref());
    let zero_us = firsts.map(|f| f.0).min().unwrap_or(0);
    let wanted: HashMap<u64, &Pages> = touched
        .files
        .iter()
        .filter(|((of, _), _)| *of == device)
        .map(|((_, inode), pages)| (*inode, pages))
        .collect();
    let all = wanted.len();
    let found = search(root, wanted)?;
    let nameless = all - found.len();
    for (path, pages) in found {
        let full = root.join(path.strip_prefix("/").unwrap_or(&path));
        let Some(identity) = identity_of(&full) else {
            continue;
        };
        let bytes = path.as_os_str().as_bytes().to_vec();
        push(&mut list, bytes, identity, pages, zero_us);
    }
    if let (Some((_, pages)), Some(identity)) = (block, filesystem(root)) {
        push(&mut list, b"/".to_vec(), identity, pages, zero_us);
    }
    list.entries
        .sort_by(|a, b| (a.is_device(), &a.path).cmp(&(b.is_device(), &b.path)));
    Ok(Imported {
        list,
        nameless,
        touches,
    })
}

/// An access as an event of the page cache, and whether it is to a block device.
fn event<'a>(record: &'a Record, access: &Access) -> Option<(Event<'a>, bool)> {
    let device = access.device?;
    let inode = access.inode?;
    let kind = match access.kind {
        AccessKind::Touch => Kind::Read,
        AccessKind::Fill => Kind::Fill,
        _ => return None,
    };
    let device = (device.major, device.minor);
    // Block devices lie on a filesystem of the kernel's own, whose number has no
    // major, and their inodes are their numbers.
    let is_device = device.0 == 0 && inode >> MINOR_BITS > 0;
    let event = Event {
        kind,
        device,
        inode,
        offset: access.offset,
        bytes: access.bytes,
        at_us: u64::try_from(access.at.0.saturating_add(i64::MAX / 2)).unwrap_or(0) / 1000,
        pid: access.pid.unwrap_or(0),
        program: access.task.map_or("", |t| record.name(t)),
    };
    Some((event, is_device))
}

/// The device that most files are on.
fn device_of(touched: &Touched) -> Option<(u32, u32)> {
    let mut counts: HashMap<(u32, u32), u64> = HashMap::new();
    for (device, _) in touched.files.keys().filter(|(d, _)| d.0 != 0) {
        *counts.entry(*device).or_default() += 1;
    }
    counts.into_iter().max_by_key(|c| (c.1, c.0)).map(|c| c.0)
}

/// The paths of files, by their inodes, in the filesystem at `root`; from there,
/// beginning with `/`.
fn search<'a>(
    root: &Path,
    mut wanted: HashMap<u64, &'a Pages>,
) -> Result<Vec<(PathBuf, &'a Pages)>, FileError> {
    let meta = fs::metadata(root).map_err(FileError::of(root, "cannot be read"))?;
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("/")];
    while let Some(folder) = folders.pop()
        && !wanted.is_empty()
    {
        let place = root.join(folder.strip_prefix("/").unwrap_or(&folder));
        for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = folder.join(entry.file_name());
            if kind.is_dir() {
                if entry.metadata().is_ok_and(|m| m.dev() == meta.dev()) {
                    folders.push(path);
                }
            } else if kind.is_file()
                && let Some(pages) = wanted.remove(&entry.ino())
            {
                found.push((path, pages));
            }
        }
    }
    Ok(found)
}

fn push(list: &mut AccessList, path: Vec<u8>, identity: Identity, pages: &Pages, zero_us: u64) {
    let length = match identity {
        Identity::File { size, .. } | Identity::Device { size, .. } => size,
    };
    let ranges = pages.ranges(length.div_ceil(u64::from(list.page_bytes)), zero_us, &[]);
    if ranges.is_empty() || !agent::access::is_plain(&path) {
        return;
    }
    let program = pages.first.as_ref().map_or("", |(_, name)| name);
    let known = list.programs.iter().position(|p| p == program);
    let number = known.unwrap_or_else(|| {
        list.programs.push(program.to_owned());
        list.programs.len() - 1
    });
    list.entries.push(Entry {
        path,
        identity,
        program: u32::try_from(number).unwrap_or(u32::MAX),
        ranges,
    });
}

/// The filesystem at `root`, as the prefetcher will know it again.
fn filesystem(root: &Path) -> Option<Identity> {
    let mounts = mounts().ok()?;
    let device = fs::metadata(root).ok()?.dev();
    let device = (rustix::fs::major(device), rustix::fs::minor(device));
    let mount = mounts.iter().find(|m| m.device == device)?;
    recording::filesystem(mount)
}

#[cfg(test)]
mod tests {
    use super::{Machine, import};
    use record::{Access, AccessKind, ClockKind, Device, Nanos, Origin, Recorder, When};
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn an_application_has_a_list_of_what_was_read_since_it_began() {
        let root = tempfile::tempdir().unwrap();
        let mut recorder = Recorder::new();
        let source = recorder.source("trace.dat", "ftrace");
        let clock = recorder.clock("counter", ClockKind::Counter, 1);
        for (name, ms) in [("boot", 10), ("application", 30)] {
            let file = root.path().join(name);
            fs::write(&file, [7; 8192]).unwrap();
            recorder.access(Access {
                kind: AccessKind::Touch,
                device: Some(Device { major: 8, minor: 1 }),
                inode: Some(fs::metadata(&file).unwrap().ino()),
                path: None,
                offset: 0,
                bytes: 8192,
                at: Nanos(ms * 1_000_000),
                took: When::UNKNOWN,
                pid: None,
                task: None,
                origin: Origin { source, offset: 0 },
                clock,
            });
        }
        let record = recorder.finish();
        let machine = Machine {
            name: "x86_64",
            page: 4096,
        };
        let of = |since: Option<i64>| {
            let made = import(&record, root.path(), machine, since.map(Nanos)).unwrap();
            let paths = made.list.entries.iter().filter(|e| !e.is_device());
            paths
                .map(|e| String::from_utf8_lossy(&e.path).into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(of(None), ["/application", "/boot"]);
        assert_eq!(of(Some(20_000_000)), ["/application"]);
        let made = import(&record, root.path(), machine, Some(Nanos(20_000_000))).unwrap();
        let first = made.list.entries.iter().map(|e| e.first_us()).min();
        assert_eq!(
            first,
            Some(0),
            "times count from the first access that is kept"
        );
    }
}
