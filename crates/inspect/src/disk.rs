//! Who owns block N: from an image, a device, or a folder where a filesystem
//! is mounted.

use crate::error::{Content, Error, Of};
use crate::open;
use ::disk::{Disk, Kind, Mounted};
use agent::extents::extents;
use rawimage::Part;
use rustix::fs::{Mode, OFlags};
use std::collections::HashSet;
use std::fs::{self, File, FileType, Metadata};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// No file has more pieces that are looked at.
const MOST_EXTENTS: usize = 1 << 20;

/// Maps what is at `path`; with `partition`, that partition of it.
///
/// # Errors
/// It cannot be read or mapped.
pub fn map(path: &Path, partition: Option<u32>) -> Result<Disk, Error> {
    let shown = path.display().to_string();
    if path.is_dir() {
        if partition.is_some() {
            return Err(Error::Choice(format!(
                "{shown} is a folder, which has no partitions; --partition is for disks"
            )));
        }
        mounted(path).of(&shown)
    } else {
        let file = open::image(path)?;
        let part = Part::whole(&file).of(&shown)?;
        Disk::open(&part, partition).of(&shown)
    }
}

/// The name of a filesystem by the number that `statfs` gives it
/// (`linux/magic.h`).
const fn name(magic: u64) -> &'static str {
    match magic {
        0xef53 => "ext2, ext3 or ext4",
        0x5846_5342 => "xfs",
        0xf2f5_2010 => "f2fs",
        _ => "a filesystem",
    }
}

/// Maps the filesystem that is mounted at `root`, or the part of it below.
fn mounted(root: &Path) -> Result<Disk, Content> {
    let meta = fs::metadata(root)?;
    let device = meta.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    // Devices without a disk of their own: overlays, memory, the network; and
    // btrfs, which says places in its own address space.
    if major == 0 {
        return Err(Content::Lacks(
            "its filesystem is on no block device of its own (it is btrfs, an overlay, in memory \
             or on the network), so the kernel does not say where its files lie"
                .to_owned(),
        ));
    }
    let of = rustix::fs::statfs(root).map_err(std::io::Error::from)?;
    let block = u32::try_from(of.f_bsize).unwrap_or(4096);
    let bytes = u64::from(block).saturating_mul(of.f_blocks);
    // Counts leave out what the filesystem needs itself: the device is longer.
    let bytes = device_bytes(major, minor).unwrap_or(0).max(bytes);
    #[expect(clippy::cast_sign_loss, reason = "a magic number of 32 bits")]
    let magic = of.f_type as u64 & 0xffff_ffff;
    let mut map = Mounted::new(name(magic), bytes, block, meta.ino());
    map.note(
        "of a mounted filesystem only the content of files and folders is known; its device or \
         its image tells metadata too"
            .to_owned(),
    );
    if let Some(sector) = read_number(&format!("/sys/dev/block/{major}:{minor}/start")) {
        map.note(format!(
            "places are those on {major}:{minor}, which begins at sector {sector} of its disk: \
             --base {sector} is for requests of the whole disk"
        ));
    }
    walk(root, &meta, &mut map)?;
    Ok(Disk::of_map(bytes, map.finish()))
}

fn read_number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn device_bytes(major: u32, minor: u32) -> Option<u64> {
    read_number(&format!("/sys/dev/block/{major}:{minor}/size"))?.checked_mul(512)
}

/// Everything below `root` on its device. What cannot be read is counted.
fn walk(root: &Path, meta: &Metadata, map: &mut Mounted) -> Result<(), Content> {
    let mut unread = 0_u64;
    // A file with several names lies where it lies once.
    let mut linked = HashSet::new();
    let mut folders = vec![(root.to_owned(), meta.ino())];
    while let Some((folder, inode)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if folder == root => return Err(e.into()),
            Err(_) => {
                unread += 1;
                continue;
            }
        };
        // Few filesystems say it of folders.
        lies(&folder, inode, Kind::Directory, map).ok();
        for entry in entries {
            let found = entry.and_then(|entry| Ok((entry.metadata()?, entry)));
            let Ok((of, entry)) = found else {
                unread += 1;
                continue;
            };
            if of.dev() != meta.dev() {
                continue;
            }
            let (path, number) = (entry.path(), of.ino());
            map.name(inode, entry.file_name().as_bytes(), number);
            let kind = kind(of.file_type());
            if of.nlink() > 1 && !of.is_dir() && !linked.insert(number) {
                continue;
            }
            map.inode(number, of.size(), kind);
            if kind == Kind::Directory {
                folders.push((path, number));
            } else if of.is_symlink() {
                if let Ok(target) = fs::read_link(&path) {
                    map.target(number, target.as_os_str().as_bytes());
                }
            } else if of.is_file()
                && let Err(e) = lies(&path, number, kind, map)
            {
                if e.kind() == ErrorKind::Unsupported || e.raw_os_error() == Some(libc::ENOTTY) {
                    return Err(Content::Lacks(format!(
                        "its filesystem does not say where its files lie (FS_IOC_FIEMAP: {e}); give \
                         its image or its device"
                    )));
                }
                unread += 1;
            }
        }
    }
    if unread > 0 {
        map.note(format!("{unread} files or folders could not be looked at"));
    }
    Ok(())
}

fn kind(of: FileType) -> Kind {
    if of.is_dir() {
        Kind::Directory
    } else if of.is_symlink() {
        Kind::Symlink
    } else {
        Kind::File
    }
}

/// Says where the content of a file lies.
fn lies(path: &Path, inode: u64, kind: Kind, map: &mut Mounted) -> std::io::Result<()> {
    // A pipe that came in the meantime is not waited for, a link not followed.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    for e in extents(&file, 0, u64::MAX, MOST_EXTENTS)? {
        map.extent(inode, kind, e.physical, e.bytes, e.offset);
    }
    Ok(())
}
