//! Inodes of ext2, ext3 and ext4.

use super::checksum::put;
use rawimage::FileType;
use rawimage::bytes::{le16, le32};

/// Bits of `i_flags` (`fs/ext4/ext4.h`).
pub(super) mod flag {
    /// Content is encrypted.
    pub const ENCRYPT: u32 = 0x800;
    /// Content passes through the journal.
    pub const JOURNAL_DATA: u32 = 0x4000;
    /// A directory has an index.
    pub const INDEX: u32 = 0x1000;
    /// `i_blocks` counts blocks, not sectors.
    pub const HUGE_FILE: u32 = 0x4_0000;
    /// Content lies in extents.
    pub const EXTENTS: u32 = 0x8_0000;
    /// Content is protected by a tree of hashes.
    pub const VERITY: u32 = 0x10_0000;
    /// The inode holds the value of an extended attribute.
    pub const EA_INODE: u32 = 0x20_0000;
    /// Content lies in the inode itself.
    pub const INLINE_DATA: u32 = 0x1000_0000;
}

/// The marker in front of attributes in an inode.
const XATTR_MAGIC: u32 = 0xea02_0000;
/// The number that stands for `system.` in front of a name.
const XATTR_SYSTEM: u8 = 7;
/// The rest of the name of the attribute that holds inline data.
const SYSTEM_DATA: &[u8] = b"data";

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
        self.size() < 60 && self.blocks() <= self.xattr_blocks(block_size)
    }

    /// What the inode says that it takes on disk: sectors of 512 bytes, or blocks with the
    /// flag [`flag::HUGE_FILE`].
    fn blocks(&self) -> u64 {
        u64::from(self.n32(0x1c)) | u64::from(self.n16(0x74)) << 32
    }

    /// The part of [`Inode::blocks`] that holds attributes.
    fn xattr_blocks(&self, block_size: u32) -> u64 {
        let unit = match self.flags() & flag::HUGE_FILE {
            0 => 512,
            _ => u64::from(block_size),
        };
        match self.xattr_block() {
            0 => 0,
            _ => u64::from(block_size) / unit,
        }
    }

    /// The inode with `content` in it, in place of what said where the content lies. Its sum
    /// is not renewed. `None`: it has no room for that, or its attributes are damaged.
    ///
    /// The first 60 bytes lie where block numbers did, the rest is the value of the attribute
    /// `system.data`, which is there in any case (`ext4_create_inline_data` in
    /// `fs/ext4/inline.c`).
    pub(super) fn with_inline_data(&self, content: &[u8], block_size: u32) -> Option<Vec<u8>> {
        let (head, rest) = content.split_at(content.len().min(60));
        let mut bytes = self.bytes.to_vec();
        let start = 128 + usize::from(le16(self.bytes, 0x80)?);
        let area = self.bytes.get(start.checked_add(4)?..)?;
        // Entries grow from the front, values from the back.
        let mut end = 0;
        let mut least = area.len();
        if le32(self.bytes, start) == Some(XATTR_MAGIC) {
            for entry in attributes(area) {
                end += entry_size(entry.name);
                let value = usize::from(le16(entry.rest, 0)?);
                // A value in an inode of its own, or none, takes no room here.
                if le32(entry.rest, 2)? == 0 && le32(entry.rest, 6)? > 0 {
                    least = least.min(value);
                }
            }
            // What ends the list.
            if le32(area, end)? != 0 {
                return None;
            }
        } else {
            put(&mut bytes, start, &XATTR_MAGIC.to_le_bytes());
            put(&mut bytes, start + 4, &vec![0; area.len()]);
        }
        let behind = end + entry_size(SYSTEM_DATA);
        let value = least.checked_sub(rest.len().next_multiple_of(4))?;
        if value < behind + 4 {
            return None;
        }
        let stated = if rest.is_empty() { 0 } else { value };
        let [a, b] = u16::try_from(stated).ok()?.to_le_bytes();
        let [c, d, e, f] = u32::try_from(rest.len()).ok()?.to_le_bytes();
        // The length of the name, what it begins with, where the value lies, in no other
        // inode, how long it is, and no hash.
        let length = u8::try_from(SYSTEM_DATA.len()).ok()?;
        let entry = [
            length,
            XATTR_SYSTEM,
            a,
            b,
            0,
            0,
            0,
            0,
            c,
            d,
            e,
            f,
            0,
            0,
            0,
            0,
        ];
        let at = start + 4;
        put(&mut bytes, at + end, &entry);
        put(&mut bytes, at + end + 16, SYSTEM_DATA);
        put(&mut bytes, at + behind, &[0; 4]);
        put(&mut bytes, at + value, &vec![0; least - value]);
        put(&mut bytes, at + value, rest);
        put(&mut bytes, 0x28, &[0; 60]);
        put(&mut bytes, 0x28, head);
        let flags = self.flags() & !flag::EXTENTS | flag::INLINE_DATA;
        put(&mut bytes, 0x20, &flags.to_le_bytes());
        let [a, b, c, d, e, f, ..] = self.xattr_blocks(block_size).to_le_bytes();
        put(&mut bytes, 0x1c, &[a, b, c, d]);
        put(&mut bytes, 0x74, &[e, f]);
        Some(bytes)
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
        let is_data = |e: &Attribute<'_>| e.index == XATTR_SYSTEM && e.name == SYSTEM_DATA;
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

/// Bytes of an entry with this name, its value left out.
fn entry_size(name: &[u8]) -> usize {
    (16 + name.len()).next_multiple_of(4)
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
        at = at.checked_add(entry_size(name))?;
        Some(Attribute {
            index: *index,
            name,
            rest,
        })
    })
}
