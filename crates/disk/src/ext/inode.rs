//! Inodes of ext2, ext3 and ext4.

use rawimage::FileType;
use rawimage::bytes::{le16, le32};

/// Bits of `i_flags` (`fs/ext4/ext4.h`).
pub(super) mod flag {
    /// Content is encrypted.
    pub const ENCRYPT: u32 = 0x800;
    /// A directory has an index.
    pub const INDEX: u32 = 0x1000;
    /// Content lies in extents.
    pub const EXTENTS: u32 = 0x8_0000;
    /// The inode holds the value of an extended attribute.
    pub const EA_INODE: u32 = 0x20_0000;
    /// Content lies in the inode itself.
    pub const INLINE_DATA: u32 = 0x1000_0000;
}

/// The marker in front of attributes in an inode.
const XATTR_MAGIC: u32 = 0xea02_0000;
/// The number that stands for `system.` in front of a name.
const XATTR_SYSTEM: u8 = 7;

/// An inode as it lies on disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inode<'a> {
    bytes: &'a [u8],
}

impl<'a> Inode<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    fn n16(&self, at: usize) -> u32 {
        u32::from(le16(self.bytes, at).unwrap_or(0))
    }

    fn n32(&self, at: usize) -> u32 {
        le32(self.bytes, at).unwrap_or(0)
    }

    pub(super) fn links(&self) -> u32 {
        self.n16(0x1a)
    }

    pub(super) fn mode(&self) -> u32 {
        self.n16(0)
    }

    pub(super) fn file_type(&self) -> FileType {
        FileType::of_mode(self.mode())
    }

    pub(super) fn size(&self) -> u64 {
        u64::from(self.n32(4)) | u64::from(self.n32(0x6c)) << 32
    }

    pub(super) fn flags(&self) -> u32 {
        self.n32(0x20)
    }

    /// What tells it from others that had its number before.
    pub(super) fn generation(&self) -> u32 {
        self.n32(0x64)
    }

    /// Deletion time; of an inode that was deleted while open, the next one.
    pub(super) fn next_orphan(&self) -> u32 {
        self.n32(0x14)
    }

    /// The block with extended attributes, or 0.
    pub(super) fn xattr_block(&self) -> u64 {
        u64::from(self.n32(0x68)) | u64::from(self.n16(0x76)) << 32
    }

    /// Whether the target of a symbolic link lies in the inode
    /// (`ext4_inode_is_fast_symlink`).
    pub(super) fn is_fast_symlink(&self, block_size: u32) -> bool {
        // i_blocks counts sectors, or blocks with the flag HUGE_FILE (0x40000).
        let blocks = u64::from(self.n32(0x1c)) | u64::from(self.n16(0x74)) << 32;
        let unit = if self.flags() & 0x4_0000 != 0 {
            u64::from(block_size)
        } else {
            512
        };
        let xattr = if self.xattr_block() != 0 {
            u64::from(block_size) / unit
        } else {
            0
        };
        self.size() < 60 && blocks <= xattr
    }

    /// The 60 bytes of block numbers, extents or content.
    pub(super) fn root(&self) -> &'a [u8] {
        self.bytes.get(0x28..0x64).unwrap_or_default()
    }

    /// The content in an attribute `system.data`: what of inline data did not
    /// fit into [`Inode::root`].
    pub(super) fn inline_rest(&self) -> &'a [u8] {
        self.system_data().unwrap_or_default()
    }

    fn system_data(&self) -> Option<&'a [u8]> {
        let entries = self.attribute_area()?;
        let is_data = |e: &Attribute<'_>| e.index == XATTR_SYSTEM && e.name == b"data";
        let entry = attributes(entries).find(is_data)?;
        let value = usize::from(le16(entry.rest, 0)?);
        let size = usize::try_from(le32(entry.rest, 6)?).ok()?;
        entries.get(value..)?.get(..size)
    }

    /// What holds attributes behind the fields of the inode.
    fn attribute_area(&self) -> Option<&'a [u8]> {
        let start = 128 + usize::from(le16(self.bytes, 0x80)?);
        let area = self.bytes.get(start..)?;
        (le32(area, 0)? == XATTR_MAGIC).then(|| area.get(4..))?
    }

    /// The attributes in the inode: the number that stands for the beginning of the name,
    /// and the rest of it.
    pub(super) fn attributes(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        let entries = attributes(self.attribute_area().unwrap_or_default());
        entries.map(|e| (e.index, e.name))
    }
}

/// The attributes in a block of their own.
pub(super) fn block_attributes(block: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let is_one = le32(block, 0) == Some(XATTR_MAGIC);
    let entries = block.get(32..).filter(|_| is_one);
    attributes(entries.unwrap_or_default()).map(|e| (e.index, e.name))
}

/// An entry of a list of attributes.
struct Attribute<'a> {
    index: u8,
    name: &'a [u8],
    /// Behind the length of the name and the index.
    rest: &'a [u8],
}

/// The entries of such a list, to its end or to the first that is damaged.
fn attributes(entries: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    let mut at: usize = 0;
    std::iter::from_fn(move || {
        let [length, index, rest @ ..] = entries.get(at..)?.get(..16)? else {
            return None;
        };
        if *length == 0 && *index == 0 {
            return None;
        }
        let name = entries.get(at + 16..)?.get(..usize::from(*length))?;
        at = at.checked_add((16 + usize::from(*length)).next_multiple_of(4))?;
        Some(Attribute {
            index: *index,
            name,
            rest,
        })
    })
}
