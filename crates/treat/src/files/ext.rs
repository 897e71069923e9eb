//! Changes of ext2, ext3 and ext4 images by their own tools, tune2fs and e2fsck; what these
//! have no command for is done by the room of disks, and checked by e2fsck.
//!
//! The tools work on a copy in memory that has no name on the disk. The image itself is
//! replaced only by a copy that e2fsck found clean. The tools are told the image's own time
//! instead of the clock's, so that the same image gives the same bytes.

use super::images::{ImageError, NewImage, protected};
use rawimage::Part;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::process::Command;

/// A change of an ext2, ext3 or ext4 image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtChange {
    /// The journal goes.
    NoJournal,
    /// Files are mapped by extents, those that are there as well.
    Extents,
    /// Directories get an index.
    DirIndex,
    /// Small files lie in their inodes.
    InlineData,
    /// The journal is replayed and errors are repaired, as a mount and fsck would.
    Clean,
}

impl ExtChange {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::NoJournal,
        Self::Extents,
        Self::DirIndex,
        Self::InlineData,
        Self::Clean,
    ];

    /// The word in the treatment's text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoJournal => "no-journal",
            Self::Extents => "extents",
            Self::DirIndex => "dir-index",
            Self::InlineData => "inline-data",
            Self::Clean => "clean",
        }
    }

    /// What tune2fs is told to set or take away; `None` if it has no command for the change.
    const fn feature(self) -> Option<&'static str> {
        match self {
            Self::NoJournal => Some("^has_journal"),
            Self::Extents => Some("extent"),
            Self::DirIndex => Some("dir_index"),
            Self::InlineData | Self::Clean => None,
        }
    }

    /// What e2fsck does besides looking.
    const fn check(self) -> &'static [&'static str] {
        match self {
            Self::Extents => &["-f", "-y", "-E", "bmap2extent"],
            Self::DirIndex => &["-f", "-y", "-D"],
            Self::NoJournal | Self::InlineData | Self::Clean => &["-f", "-y"],
        }
    }
}

/// Where the superblock lies, how long it is, and where in it are its magic number, the time
/// of its last write, its state, and its features. Source: `struct ext2_super_block` of
/// e2fsprogs' `ext2_fs.h`.
const SUPERBLOCK: std::ops::Range<usize> = 1_024..2_048;
const WRITTEN: usize = 0x30;
const MAGIC: usize = 0x38;
const STATE: usize = 0x3a;
const COMPATIBLE: usize = 0x5c;
const INCOMPATIBLE: usize = 0x60;
/// `EXT2_VALID_FS` and `EXT2_ERROR_FS`.
const VALID: u16 = 1;
const ERRORS: u16 = 2;
/// `EXT3_FEATURE_COMPAT_HAS_JOURNAL`, `EXT2_FEATURE_COMPAT_DIR_INDEX`.
const HAS_JOURNAL: u32 = 4;
const DIR_INDEX: u32 = 0x20;
/// `EXT3_FEATURE_INCOMPAT_RECOVER`, `EXT3_FEATURE_INCOMPAT_EXTENTS`,
/// `EXT4_FEATURE_INCOMPAT_INLINE_DATA`.
const RECOVER: u32 = 4;
const EXTENTS: u32 = 0x40;
const INLINE_DATA: u32 = 0x8000;

/// What a superblock says.
#[derive(Clone, Copy)]
struct Superblock {
    written: u32,
    state: u16,
    compatible: u32,
    incompatible: u32,
}

impl Superblock {
    fn read(image: &[u8]) -> Option<Self> {
        let block = image.get(SUPERBLOCK)?;
        let short = |at: usize| Some(u16::from_le_bytes(*block.get(at..)?.first_chunk()?));
        let long = |at: usize| Some(u32::from_le_bytes(*block.get(at..)?.first_chunk()?));
        (short(MAGIC)? == 0xef53).then_some(Self {
            written: long(WRITTEN)?,
            state: short(STATE)?,
            compatible: long(COMPATIBLE)?,
            incompatible: long(INCOMPATIBLE)?,
        })
    }

    fn is_dirty(self) -> bool {
        self.state & VALID == 0 || self.state & ERRORS != 0 || self.incompatible & RECOVER != 0
    }

    /// Whether the superblock alone says that there is nothing to do.
    fn is(self, change: ExtChange) -> bool {
        match change {
            ExtChange::NoJournal => self.compatible & HAS_JOURNAL == 0,
            ExtChange::Clean => !self.is_dirty(),
            // Files and directories that are older than the feature lack it.
            ExtChange::Extents | ExtChange::DirIndex | ExtChange::InlineData => false,
        }
    }

    fn has_feature(self, change: ExtChange) -> bool {
        match change {
            ExtChange::NoJournal => self.compatible & HAS_JOURNAL == 0,
            ExtChange::Extents => self.incompatible & EXTENTS != 0,
            ExtChange::DirIndex => self.compatible & DIR_INDEX != 0,
            ExtChange::InlineData => self.incompatible & INLINE_DATA != 0,
            ExtChange::Clean => true,
        }
    }
}

/// The image after `change`.
pub(super) fn treated(bytes: &[u8], change: ExtChange) -> Result<NewImage, ImageError> {
    let Some(before) = Superblock::read(bytes) else {
        return Err(ImageError::Other(
            "not an ext2, ext3 or ext4 file system; pass the image of one, not of a whole disk",
        ));
    };
    if let Some(why) = protected(bytes) {
        return Err(ImageError::Protected(why));
    }
    if before.is(change) {
        return Ok(NewImage::same(bytes));
    }
    if before.is_dirty() && change != ExtChange::Clean {
        return Err(ImageError::Other(
            "the file system is not clean; apply `ext=clean` first",
        ));
    }
    let inline = match change {
        ExtChange::InlineData => Some(with_inline_data(bytes, before)?),
        _ => None,
    };
    if matches!(inline, Some((_, 0))) {
        return Ok(NewImage::same(bytes));
    }
    let start = inline.as_ref().map_or(bytes, |(bytes, _)| bytes);
    let copy = Copy::of(start, before.written)?;
    if let Some(feature) = change.feature().filter(|_| !before.has_feature(change)) {
        copy.run("tune2fs", &["-O", feature], 0)?;
    }
    // 1: errors were corrected, which is what it is for; 2: on a mounted root, reboot.
    copy.run("e2fsck", change.check(), 3)?;
    copy.run("e2fsck", &["-f", "-n"], 0)?;
    let new = copy.bytes()?;
    let Some(after) = Superblock::read(&new) else {
        return Err(ImageError::NotAccepted("no superblock is left".into()));
    };
    if after.is_dirty() || !after.has_feature(change) {
        let why = "the feature was not changed, or the file system is not clean";
        return Err(ImageError::NotAccepted(why.into()));
    }
    // The superblock counts checks; nothing else changed if there was nothing to do.
    let rest =
        |image: &[u8]| [image.get(..1_024), image.get(2_048..)].map(|p| p.map(<[u8]>::to_vec));
    let same = after.compatible == before.compatible
        && after.incompatible == before.incompatible
        && rest(bytes) == rest(&new);
    if same && change != ExtChange::Clean {
        return Ok(NewImage::same(bytes));
    }
    let description = match change {
        ExtChange::InlineData => {
            let count = inline.map_or(0, |(_, count)| count);
            return Ok(NewImage {
                bytes: new,
                description: vec![format!(
                    "{count} small files lie in their inodes, so each is read without a block \
                     of its own; boot loaders without `inline_data` cannot read this file system"
                )],
            });
        }
        ExtChange::NoJournal => {
            "the journal is removed, so a write is made once and no journal is \
            replayed; after a power cut the file system must be checked"
        }
        ExtChange::Extents => {
            "files are mapped by extents, also those that are there, so mapping \
            blocks are no longer read"
        }
        ExtChange::DirIndex => {
            "directories of more than one block get an index, so a name is found \
            without reading all blocks"
        }
        ExtChange::Clean => {
            "the journal is replayed and errors are repaired, so the next mount \
            does neither"
        }
    };
    Ok(NewImage {
        bytes: new,
        description: vec![description.to_owned()],
    })
}

/// The image with small files in their inodes, and how many that changes. The blocks that they
/// leave still count as used.
fn with_inline_data(bytes: &[u8], found: Superblock) -> Result<(Vec<u8>, u64), ImageError> {
    if found.incompatible & EXTENTS == 0 {
        return Err(ImageError::Other(
            "the file system has no extents; apply `ext=extents` first",
        ));
    }
    let volume = Part::whole(&bytes)?;
    let map = disk::ext::map(&volume).map_err(disk::ext::arrange::ArrangeError::from)?;
    let mut edited = disk::Edited::new(volume, map.facts.block_size);
    let count = disk::ext::inline::move_inline(&mut edited, &map)?;
    let mut new = bytes.to_vec();
    for (at, block) in edited.changes() {
        let room = usize::try_from(at).ok().and_then(|at| new.get_mut(at..));
        if let Some(room) = room.and_then(|r| r.get_mut(..block.len())) {
            room.copy_from_slice(block);
        }
    }
    Ok((new, count))
}

/// A copy of an image that only this process has.
struct Copy {
    file: File,
    /// The image's own time, in seconds.
    time: u32,
}

impl Copy {
    fn of(bytes: &[u8], time: u32) -> Result<Self, ImageError> {
        let fd = memfd_create("firstlight-ext", MemfdFlags::CLOEXEC)
            .map_err(|e| ImageError::from(std::io::Error::from(e)))?;
        let mut file = File::from(fd);
        file.write_all(bytes)?;
        Ok(Self {
            file,
            // 0 means the clock to these tools.
            time: time.max(1),
        })
    }

    /// Runs a tool of e2fsprogs on it. Exit codes whose bits are all in `fine` are success.
    fn run(&self, tool: &'static str, arguments: &[&str], fine: i32) -> Result<(), ImageError> {
        let path = format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd());
        let time = self.time.to_string();
        let folders = std::env::var("PATH").unwrap_or_default();
        let run = Command::new(tool)
            .args(arguments)
            .arg(&path)
            .env("PATH", format!("{folders}:/usr/sbin:/sbin"))
            .env("LC_ALL", "C")
            .envs(["E2FSCK_TIME", "E2FSPROGS_FAKE_TIME", "SOURCE_DATE_EPOCH"].map(|k| (k, &time)))
            .output();
        let done = run.map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                ImageError::Tool(format!("{tool} is not installed; install e2fsprogs"))
            }
            _ => ImageError::Tool(format!("{tool} cannot be run: {e}")),
        })?;
        if done.status.code().is_some_and(|code| code & !fine == 0) {
            return Ok(());
        }
        let said = [done.stderr, done.stdout].concat();
        let said = String::from_utf8_lossy(&said).replace(&path, "the image");
        let lines = said.lines().map(str::trim).filter(|l| !l.is_empty());
        // Its first line is its version.
        let why = lines.filter(|l| !l.starts_with(tool)).find(|l| l.len() > 3);
        Err(ImageError::Tool(format!(
            "{tool} failed: {}",
            why.unwrap_or("it gave no reason")
        )))
    }

    fn bytes(mut self) -> Result<Vec<u8>, ImageError> {
        let mut bytes = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
