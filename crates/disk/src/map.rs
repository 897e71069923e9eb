//! The finished map: intervals in order of place, and who they belong to.

use crate::facts::Facts;
use crate::names::Names;

/// What lies in a piece of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// Nobody's: free, or behind the end.
    Unmapped = 0,
    /// Content of a file.
    File,
    /// Names in a directory.
    Directory,
    /// The target of a symbolic link.
    Symlink,
    /// A superblock, or a copy of it.
    Superblock,
    /// What lies before the first block: room for a boot loader.
    BootBlock,
    /// Descriptors of block groups, or a copy of them.
    GroupDescriptors,
    /// Room for descriptors of groups that growing may bring.
    ReservedDescriptors,
    /// Which blocks, or which inodes, are used.
    Bitmap,
    /// Inodes.
    InodeTable,
    /// Where a file's content lies: extents.
    ExtentTree,
    /// Where a file's content lies: block numbers, as ext2 and ext3 keep them.
    IndirectBlock,
    /// Extended attributes.
    Xattr,
    /// The journal.
    Journal,
    /// Block numbers of the inode that keeps room for growing.
    ResizeInode,
    /// Blocks that are known to be bad.
    BadBlocks,
    /// Quotas.
    Quota,
    /// The list of files that are deleted and still open.
    OrphanFile,
    /// What keeps a filesystem from being mounted twice.
    Mmp,
    /// Partitions of a disk.
    PartitionTable,
    /// Ends of several files, packed together.
    Fragment,
    /// Where fragments lie.
    FragmentTable,
    /// The names in all directories.
    DirectoryTable,
    /// Where an inode of a number lies.
    ExportTable,
    /// Owners and groups.
    IdTable,
    /// How the compressor was set.
    CompressorOptions,
    /// Which cluster follows which (FAT).
    AllocationTable,
}

impl Kind {
    /// Every kind, in the order of their numbers.
    const ALL: [Self; 27] = [
        Self::Unmapped,
        Self::File,
        Self::Directory,
        Self::Symlink,
        Self::Superblock,
        Self::BootBlock,
        Self::GroupDescriptors,
        Self::ReservedDescriptors,
        Self::Bitmap,
        Self::InodeTable,
        Self::ExtentTree,
        Self::IndirectBlock,
        Self::Xattr,
        Self::Journal,
        Self::ResizeInode,
        Self::BadBlocks,
        Self::Quota,
        Self::OrphanFile,
        Self::Mmp,
        Self::PartitionTable,
        Self::Fragment,
        Self::FragmentTable,
        Self::DirectoryTable,
        Self::ExportTable,
        Self::IdTable,
        Self::CompressorOptions,
        Self::AllocationTable,
    ];

    /// One word, for programs; it stays the same.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unmapped => "unmapped",
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
            Self::Superblock => "superblock",
            Self::BootBlock => "boot_block",
            Self::GroupDescriptors => "group_descriptors",
            Self::ReservedDescriptors => "reserved_group_descriptors",
            Self::Bitmap => "bitmap",
            Self::InodeTable => "inode_table",
            Self::ExtentTree => "extent_tree",
            Self::IndirectBlock => "indirect_block",
            Self::Xattr => "xattr",
            Self::Journal => "journal",
            Self::ResizeInode => "resize_inode",
            Self::BadBlocks => "bad_blocks",
            Self::Quota => "quota",
            Self::OrphanFile => "orphan_file",
            Self::Mmp => "mmp",
            Self::PartitionTable => "partition_table",
            Self::Fragment => "fragment",
            Self::FragmentTable => "fragment_table",
            Self::DirectoryTable => "directory_table",
            Self::ExportTable => "export_table",
            Self::IdTable => "id_table",
            Self::CompressorOptions => "compressor_options",
            Self::AllocationTable => "allocation_table",
        }
    }

    /// Whether a piece of it lies at a place in a file: the offset means
    /// something.
    const fn has_offset(self) -> bool {
        matches!(
            self,
            Self::File
                | Self::Directory
                | Self::Symlink
                | Self::Journal
                | Self::Quota
                | Self::OrphanFile
        )
    }
}

/// Bit of [`Interval::start_and_kind`]: the piece is packed, so a byte in it
/// is no byte of the file.
const PACKED: u64 = 1 << 63;
/// Positions have so many bits, in units: more than any image.
const POSITION_BITS: u32 = 56;

/// A piece of an image that belongs to one owner. 24 bytes: there are millions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    start_and_kind: u64,
    /// Where in the file it lies: in units, or in bytes if it is packed.
    offset: u64,
    /// How many units, at least one.
    len: u32,
    /// Its inode, or 0.
    inode: u32,
}

impl Interval {
    /// `None` if `start` is out of all bounds.
    pub(super) fn new(start: u64, len: u32, kind: Kind, inode: u32, offset: u64) -> Option<Self> {
        let end = start.checked_add(u64::from(len))?;
        (end >> POSITION_BITS == 0 && len > 0).then_some(Self {
            start_and_kind: start | (u64::from(kind as u8) << POSITION_BITS),
            offset,
            len,
            inode,
        })
    }

    pub(super) fn packed(mut self) -> Self {
        self.start_and_kind |= PACKED;
        self
    }

    pub(super) fn start(&self) -> u64 {
        self.start_and_kind & ((1 << POSITION_BITS) - 1)
    }

    pub(super) fn end(&self) -> u64 {
        self.start() + u64::from(self.len)
    }

    pub(super) fn is_packed(&self) -> bool {
        self.start_and_kind & PACKED != 0
    }

    pub(super) fn kind(&self) -> Kind {
        let number = (self.start_and_kind >> POSITION_BITS) & 0x7f;
        let number = usize::try_from(number).unwrap_or(0);
        Kind::ALL.get(number).copied().unwrap_or(Kind::Unmapped)
    }

    pub(super) fn inode(&self) -> u32 {
        self.inode
    }

    /// Makes it longer by what follows it directly, in the image and in the
    /// file; `false` if `next` does not.
    pub(super) fn join(&mut self, next: &Self) -> bool {
        let tags = !((1 << POSITION_BITS) - 1);
        let same = self.start_and_kind & tags == next.start_and_kind & tags
            && !self.is_packed()
            && self.inode == next.inode
            && self.end() == next.start();
        let follows = !self.kind().has_offset()
            || self.offset.checked_add(u64::from(self.len)) == Some(next.offset);
        match self.len.checked_add(next.len) {
            Some(len) if same && follows => {
                self.len = len;
                true
            }
            _ => false,
        }
    }

    /// The part of it from `start` on, which lies in it.
    pub(super) fn from(&self, start: u64) -> Option<Self> {
        let skipped = start.checked_sub(self.start())?;
        let skipped_len = u32::try_from(skipped).ok()?;
        let len = self.len.checked_sub(skipped_len).filter(|l| *l > 0)?;
        let offset = match self.is_packed() {
            true => self.offset,
            false => self.offset.saturating_add(skipped),
        };
        Some(Self {
            start_and_kind: self.start_and_kind.saturating_add(skipped),
            offset,
            len,
            inode: self.inode,
        })
    }

    /// The first `len` units of it.
    pub(super) fn first(&self, len: u64) -> Option<Self> {
        let len = u32::try_from(len.min(u64::from(self.len))).ok()?;
        (len > 0).then_some(Self { len, ..*self })
    }
}

/// A file, a directory or something else with an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// Its number.
    pub number: u32,
    /// Its length in bytes.
    pub size: u64,
    /// What its content is.
    pub kind: Kind,
}

/// A piece of a filesystem, and what it is: all in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins, from the start of the filesystem.
    pub start: u64,
    /// How many bytes.
    pub len: u64,
    /// What lies there.
    pub kind: Kind,
    /// Whose it is.
    pub inode: Option<u32>,
    /// Where in that file it lies; for packed data, where in the file that
    /// begins which is packed there.
    pub offset: Option<u64>,
    /// The data is packed: a byte of it is no byte of the file.
    pub is_packed: bool,
}

/// Who owns which block of a filesystem.
#[derive(Debug)]
pub struct Map {
    /// What is known of the filesystem as such.
    pub facts: Facts,
    /// What is doubtful in it, a sentence each.
    pub notes: Vec<String>,
    /// Bytes of a unit.
    pub(super) unit: u64,
    /// In order, without overlaps.
    pub(super) intervals: Vec<Interval>,
    /// What shares its place with one of the intervals, in order of place.
    pub(super) shared: Vec<Interval>,
    /// No piece of `shared` is longer, in units.
    pub(super) longest_shared: u64,
    /// Content is read in pieces of so many bytes: blocks, or what is packed.
    pub(super) block: u64,
    /// In order of number.
    pub(super) inodes: Vec<Inode>,
    pub(super) names: Names,
}

impl Map {
    fn extent(&self, interval: &Interval) -> Extent {
        let kind = interval.kind();
        let offset = match interval.is_packed() {
            true => interval.offset,
            false => interval.offset.saturating_mul(self.unit),
        };
        Extent {
            start: interval.start().saturating_mul(self.unit),
            len: u64::from(interval.len).saturating_mul(self.unit),
            kind,
            inode: (interval.inode != 0).then_some(interval.inode),
            offset: kind.has_offset().then_some(offset),
            is_packed: interval.is_packed(),
        }
    }

    /// Calls `each` for the pieces of `len` bytes from `start` on, in order and
    /// without gaps: what is nobody's is a piece too.
    pub fn pieces(&self, start: u64, len: u64, each: &mut dyn FnMut(Extent)) {
        let end = start.saturating_add(len);
        let mut at = start;
        let unit = start.checked_div(self.unit).unwrap_or(0);
        let first = self.intervals.partition_point(|i| i.end() <= unit);
        for interval in self.intervals.get(first..).unwrap_or_default() {
            if at >= end {
                return;
            }
            let mut extent = self.extent(interval);
            if extent.start >= end {
                break;
            }
            if extent.start > at {
                each(unmapped(at, extent.start - at));
                at = extent.start;
            }
            let skipped = at - extent.start;
            let piece_end = extent.start.saturating_add(extent.len).min(end);
            if !extent.is_packed {
                extent.offset = extent.offset.map(|o| o.saturating_add(skipped));
            }
            extent.start = at;
            extent.len = piece_end.saturating_sub(at);
            at = piece_end;
            each(extent);
        }
        if at < end {
            each(unmapped(at, end - at));
        }
    }

    /// Every piece that belongs to somebody, in order of place.
    pub fn extents(&self) -> impl Iterator<Item = Extent> + '_ {
        self.intervals.iter().map(|i| self.extent(i))
    }

    /// Where the content of `inodes` lies: for each of them, in the order of
    /// the file. What several files share is there for each of them.
    #[must_use]
    pub fn extents_of(&self, inodes: &[u32]) -> Vec<Vec<Extent>> {
        let mut order: Vec<(u32, usize)> = inodes.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let mut found = vec![Vec::new(); inodes.len()];
        let mut all = self.intervals.iter().chain(&self.shared);
        all.by_ref().for_each(|interval| {
            let extent = self.extent(interval);
            if extent.offset.is_none() || interval.inode == 0 {
                return;
            }
            let first = order.partition_point(|(i, _)| *i < interval.inode);
            let same = order.get(first..).unwrap_or_default();
            for (_, place) in same.iter().take_while(|(i, _)| *i == interval.inode) {
                if let Some(list) = found.get_mut(*place) {
                    list.push(extent);
                }
            }
        });
        for list in &mut found {
            list.sort_by_key(|e| (e.offset, e.start));
        }
        found
    }

    /// The files that share a piece of `len` bytes from byte `start` on with its
    /// owner: the ends of files in a fragment, and files with equal blocks.
    #[must_use]
    pub fn sharers(&self, start: u64, len: u64) -> Vec<u32> {
        let unit = start.checked_div(self.unit).unwrap_or(0);
        let end = start.saturating_add(len).div_ceil(self.unit.max(1));
        let first = self
            .shared
            .partition_point(|i| i.start().saturating_add(self.longest_shared) <= unit);
        let shared = self.shared.get(first..).unwrap_or_default();
        let mut inodes: Vec<u32> = shared
            .iter()
            .take_while(|i| i.start() < end)
            .filter(|i| i.end() > unit)
            .map(|i| i.inode)
            .collect();
        inodes.sort_unstable();
        inodes.dedup();
        inodes
    }

    /// Everything that has an inode, in order of number.
    #[must_use]
    pub fn inodes(&self) -> &[Inode] {
        &self.inodes
    }

    /// One inode.
    #[must_use]
    pub fn inode(&self, number: u32) -> Option<&Inode> {
        let at = self.inodes.binary_search_by_key(&number, |i| i.number);
        self.inodes.get(at.ok()?)
    }

    /// The path of an inode from the root on, `/etc/fstab`; of several, that
    /// of the name that was found first. `None` if no name leads to it.
    #[must_use]
    pub fn path(&self, inode: u32) -> Option<Vec<u8>> {
        self.names.path(inode)
    }

    /// How many names are in a directory.
    #[must_use]
    pub fn names_in(&self, directory: u32) -> usize {
        self.names.count(directory)
    }

    /// The inode of a path; symbolic links are followed.
    #[must_use]
    pub fn find(&self, path: &[u8]) -> Option<u32> {
        self.names.find(path)
    }
}

/// A piece that is nobody's.
pub(super) fn unmapped(start: u64, len: u64) -> Extent {
    Extent {
        start,
        len,
        kind: Kind::Unmapped,
        inode: None,
        offset: None,
        is_packed: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_numbered_in_order() {
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            let interval = Interval::new(5, 1, kind, 0, 0).unwrap().packed();
            assert_eq!((interval.kind(), interval.start()), (kind, 5));
        }
    }

    /// Outputs of older versions are read by programs that know these words.
    #[test]
    fn the_words_of_kinds_stay() {
        assert_eq!(
            Kind::ALL.map(Kind::word).join(" "),
            "unmapped file directory symlink superblock boot_block group_descriptors \
             reserved_group_descriptors bitmap inode_table extent_tree indirect_block xattr \
             journal resize_inode bad_blocks quota orphan_file mmp partition_table fragment \
             fragment_table directory_table export_table id_table compressor_options \
             allocation_table"
        );
    }
}
