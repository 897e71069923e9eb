//! The nodes of the log, as they stand on flash (`include/uapi/linux/jffs2.h`).
//!
//! Every node begins with the same twelve bytes, and the next one begins at the
//! next multiple of four:
//!
//! ```text
//! 0  u16 magic 0x1985   2  u16 type   4  u32 total length   8  u32 CRC of 0..8
//! ```
//!
//! One bit of the type, [`ACCURATE`], is cleared in place when a NOR chip's
//! node becomes obsolete. Checksums are made with the bit set.

use rawimage::endian::{Endian, Fields};
use std::fmt;

/// The magic number of every node.
pub const MAGIC: u16 = 0x1985;
/// The bit of a node type that is cleared when the node becomes obsolete.
pub const ACCURATE: u16 = 0x2000;
/// The bits of a node type that say what a kernel does that does not know it.
pub const COMPATIBILITY: u16 = 0xc000;
/// A kernel that does not know the type must refuse to mount.
pub const INCOMPATIBLE: u16 = 0xc000;
/// A kernel that does not know the type must mount read-only.
pub const READ_ONLY_COMPATIBLE: u16 = 0x8000;
/// A kernel that does not know the type must keep the node.
pub const COMPATIBLE_COPY: u16 = 0x4000;
/// A kernel that does not know the type may delete the node.
pub const COMPATIBLE_DELETE: u16 = 0x0000;

/// Types of nodes.
pub mod kind {
    /// A directory entry.
    pub const DIRENT: u16 = 0xe001;
    /// Metadata of an inode, with data or without.
    pub const INODE: u16 = 0xe002;
    /// The first bytes of a block that was erased to its end.
    pub const CLEANMARKER: u16 = 0x2003;
    /// Bytes without meaning.
    pub const PADDING: u16 = 0x2004;
    /// The summary of an erase block.
    pub const SUMMARY: u16 = 0x2006;
    /// An extended attribute.
    pub const XATTR: u16 = 0xe008;
    /// Ties an extended attribute to an inode.
    pub const XREF: u16 = 0xe009;
}

/// Length of the header that all nodes share.
pub const HEADER: usize = 12;
/// Length of an inode node before its data.
pub const INODE: usize = 68;
/// Length of a directory entry before its name.
pub const DIRENT: usize = 40;
/// Length of an extended attribute before its name.
pub const XATTR: usize = 32;
/// Length of a reference to an extended attribute.
pub const XREF: usize = 28;
/// Length of a summary node before its entries.
pub const SUMMARY: usize = 32;

/// The CRC-32 of JFFS2: reflected 0xEDB88320, initial value 0, no final
/// inversion.
#[must_use]
pub fn crc(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(u32::MAX);
    hasher.update(bytes);
    !hasher.finalize()
}

/// `length` rounded up to the next multiple of four, as nodes are.
#[must_use]
pub fn padded(length: u32) -> u64 {
    u64::from(length).next_multiple_of(4)
}

/// Metadata of an inode at one version, with the data that version wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode<'a> {
    /// The inode's number.
    pub ino: u32,
    /// Orders the nodes of one inode: the highest is the newest.
    pub version: u32,
    /// File type and permissions.
    pub mode: u32,
    /// Owner.
    pub uid: u16,
    /// Group.
    pub gid: u16,
    /// Length of the whole file after this write.
    pub isize: u32,
    /// Last access, seconds since 1970.
    pub atime: u32,
    /// Last change of the content, seconds since 1970.
    pub mtime: u32,
    /// Last change of the metadata, seconds since 1970.
    pub ctime: u32,
    /// Where in the file the data goes.
    pub offset: u32,
    /// Length of the data in the file.
    pub dsize: u32,
    /// How the data is compressed; see [`super::decompress`].
    pub compression: u8,
    /// How the user asked for it to be compressed.
    pub user_compression: u8,
    /// Flags; none are defined.
    pub flags: u16,
    /// The data as it stands on flash.
    pub data: &'a [u8],
}

/// A name in a directory at one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dirent<'a> {
    /// The directory.
    pub parent: u32,
    /// Orders the entries of one directory: the highest is the newest.
    pub version: u32,
    /// What the name means from this version on; 0 is "deleted".
    pub ino: u32,
    /// When, seconds since 1970.
    pub mctime: u32,
    /// Type of the file, a `DT_` value.
    pub file_type: u8,
    /// The name, without a terminator.
    pub name: &'a [u8],
}

/// An extended attribute at one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xattr<'a> {
    /// The attribute's number.
    pub xid: u32,
    /// The highest is the newest.
    pub version: u32,
    /// Stands for the first part of the name.
    pub prefix: u8,
    /// The rest of the name, without a terminator.
    pub name: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

/// Ties an extended attribute to an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xref {
    /// The inode.
    pub ino: u32,
    /// The attribute.
    pub xid: u32,
    /// The highest is the newest; odd means "removed".
    pub sequence: u32,
}

/// What a node holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// Metadata and data of an inode.
    Inode(Inode<'a>),
    /// A directory entry.
    Dirent(Dirent<'a>),
    /// An extended attribute.
    Xattr(Xattr<'a>),
    /// A reference to an extended attribute.
    Xref(Xref),
    /// A clean marker.
    Cleanmarker,
    /// Padding.
    Padding,
    /// A summary; its own checksums are not checked here.
    Summary,
    /// A type that this program does not know.
    Unknown(u16),
}

/// A node whose checksums are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// Its length, not padded.
    pub length: u32,
    /// Whether it was marked as obsolete in place.
    pub obsolete: bool,
    /// What it holds.
    pub content: Content<'a>,
}

/// Why there is no node at some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No magic number.
    Magic,
    /// The header's checksum is wrong, or there is no room for a header.
    HeaderCrc,
    /// The header is right, but the node would run past the end of its block.
    Overrun {
        /// Its length.
        length: u32,
    },
    /// The header is right, but the lengths in the node contradict each other.
    Length {
        /// Its length.
        length: u32,
    },
    /// The checksum of the fixed part is wrong.
    NodeCrc {
        /// Its length.
        length: u32,
    },
    /// The checksum of the data is wrong.
    DataCrc {
        /// Its length.
        length: u32,
    },
    /// The checksum of the name is wrong.
    NameCrc {
        /// Its length.
        length: u32,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => write!(f, "no magic number 0x1985"),
            Self::HeaderCrc => write!(f, "wrong header checksum"),
            Self::Overrun { length } => write!(
                f,
                "its {length} bytes extend past the end of the erase block"
            ),
            Self::Length { length } => {
                write!(
                    f,
                    "the length fields in its {length} bytes contradict each other"
                )
            }
            Self::NodeCrc { .. } => write!(f, "wrong node checksum"),
            Self::DataCrc { .. } => write!(f, "wrong data checksum"),
            Self::NameCrc { .. } => write!(f, "wrong name checksum"),
        }
    }
}

/// The header of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type, with [`ACCURATE`] set.
    pub kind: u16,
    /// Whether [`ACCURATE`] was cleared.
    pub obsolete: bool,
    /// The node's length, not padded.
    pub length: u32,
}

impl Header {
    /// Reads and checks the twelve bytes at the front of `bytes`.
    ///
    /// # Errors
    /// [`Fault::Magic`] or [`Fault::HeaderCrc`].
    pub fn parse(endian: Endian, bytes: &[u8]) -> Result<Self, Fault> {
        let mut fields = Fields::new(endian, bytes);
        if fields.u16() != Some(MAGIC) {
            return Err(Fault::Magic);
        }
        let rest = (|| Some((fields.u16()?, fields.u32()?, fields.u32()?)))();
        let (raw, length, header_crc) = rest.ok_or(Fault::HeaderCrc)?;
        let kind = raw | ACCURATE;
        if header_crc != crc(&header_bytes(endian, kind, length)) {
            return Err(Fault::HeaderCrc);
        }
        Ok(Self {
            kind,
            obsolete: raw & ACCURATE == 0,
            length,
        })
    }
}

/// The first eight bytes of a node.
pub(crate) fn header_bytes(endian: Endian, kind: u16, length: u32) -> [u8; 8] {
    let [a, b] = endian.put16(MAGIC);
    let [c, d] = endian.put16(kind);
    let [e, f, g, h] = endian.put32(length);
    [a, b, c, d, e, f, g, h]
}

/// All twelve bytes of a header, checksum included.
pub(crate) fn header(endian: Endian, kind: u16, length: u32) -> [u8; HEADER] {
    let first = header_bytes(endian, kind, length);
    let mut all = [0; HEADER];
    all[..8].copy_from_slice(&first);
    all[8..].copy_from_slice(&endian.put32(crc(&first)));
    all
}

impl<'a> Node<'a> {
    /// Reads and checks the node at the front of `bytes`, which end where its
    /// erase block ends.
    ///
    /// # Errors
    /// What is wrong with it; there is nothing at all to say about the bytes
    /// if it is [`Fault::Magic`].
    pub fn parse(endian: Endian, bytes: &'a [u8]) -> Result<Self, Fault> {
        let header = Header::parse(endian, bytes)?;
        let length = header.length;
        let whole = usize::try_from(length).ok().and_then(|n| bytes.get(..n));
        let Some(whole) = whole else {
            return Err(Fault::Overrun { length });
        };
        if whole.len() < HEADER {
            return Err(Fault::Length { length });
        }
        let content = match header.kind {
            kind::INODE => Content::Inode(Inode::parse(endian, header, whole)?),
            kind::DIRENT => Content::Dirent(Dirent::parse(endian, header, whole)?),
            kind::XATTR => Content::Xattr(Xattr::parse(endian, header, whole)?),
            kind::XREF => Content::Xref(Xref::parse(endian, header, whole)?),
            kind::CLEANMARKER => Content::Cleanmarker,
            kind::PADDING => Content::Padding,
            kind::SUMMARY => Content::Summary,
            other => Content::Unknown(other),
        };
        Ok(Self {
            length,
            obsolete: header.obsolete,
            content,
        })
    }
}

/// The checksum of a node's first `count` bytes, as if it were not obsolete.
fn node_crc(endian: Endian, header: Header, whole: &[u8], count: usize) -> Option<u32> {
    if !header.obsolete {
        return Some(crc(whole.get(..count)?));
    }
    let mut hasher = crc32fast::Hasher::new_with_initial(u32::MAX);
    hasher.update(&header_bytes(endian, header.kind, header.length));
    hasher.update(whole.get(8..count)?);
    Some(!hasher.finalize())
}

impl<'a> Inode<'a> {
    fn parse(endian: Endian, header: Header, whole: &'a [u8]) -> Result<Self, Fault> {
        let length = header.length;
        let (node, data_crc, crc_found, csize) =
            Self::fields(endian, whole).ok_or(Fault::Length { length })?;
        if node_crc(endian, header, whole, 60) != Some(crc_found) {
            return Err(Fault::NodeCrc { length });
        }
        if node.data.len() < csize as usize {
            return Err(Fault::Length { length });
        }
        if crc(node.data) != data_crc {
            return Err(Fault::DataCrc { length });
        }
        Ok(node)
    }

    fn fields(endian: Endian, whole: &'a [u8]) -> Option<(Self, u32, u32, u32)> {
        let mut f = Fields::new(endian, whole);
        f.bytes(HEADER)?;
        let (ino, version, mode) = (f.u32()?, f.u32()?, f.u32()?);
        let (uid, gid) = (f.u16()?, f.u16()?);
        let (isize, atime, mtime, ctime) = (f.u32()?, f.u32()?, f.u32()?, f.u32()?);
        let (offset, csize, dsize) = (f.u32()?, f.u32()?, f.u32()?);
        let (compression, user_compression, flags) = (f.u8()?, f.u8()?, f.u16()?);
        let (data_crc, node_crc) = (f.u32()?, f.u32()?);
        let rest = f.rest();
        let data = rest.get(..csize as usize).unwrap_or(&[]);
        let node = Self {
            ino,
            version,
            mode,
            uid,
            gid,
            isize,
            atime,
            mtime,
            ctime,
            offset,
            dsize,
            compression,
            user_compression,
            flags,
            data,
        };
        Some((node, data_crc, node_crc, csize))
    }

    /// The node's bytes on flash, not padded.
    ///
    /// # Panics
    /// Never: data of 4 GiB and more is cut.
    #[must_use]
    pub fn bytes(&self, endian: Endian) -> Vec<u8> {
        let csize = u32::try_from(self.data.len()).unwrap_or(u32::MAX - 128);
        let data = self.data.get(..csize as usize).unwrap_or(self.data);
        let mut out = header(endian, kind::INODE, csize + 68).to_vec();
        for v in [self.ino, self.version, self.mode] {
            out.extend(endian.put32(v));
        }
        out.extend(endian.put16(self.uid));
        out.extend(endian.put16(self.gid));
        let times = [self.isize, self.atime, self.mtime, self.ctime];
        for v in times.into_iter().chain([self.offset, csize, self.dsize]) {
            out.extend(endian.put32(v));
        }
        out.extend([self.compression, self.user_compression]);
        out.extend(endian.put16(self.flags));
        let node_crc = crc(&out);
        out.extend(endian.put32(crc(data)));
        out.extend(endian.put32(node_crc));
        out.extend(data);
        out
    }
}

impl<'a> Dirent<'a> {
    fn parse(endian: Endian, header: Header, whole: &'a [u8]) -> Result<Self, Fault> {
        let length = header.length;
        let (node, nsize, node_found, name_found) =
            Self::fields(endian, whole).ok_or(Fault::Length { length })?;
        if node_crc(endian, header, whole, 32) != Some(node_found) {
            return Err(Fault::NodeCrc { length });
        }
        if node.name.len() < usize::from(nsize) {
            return Err(Fault::Length { length });
        }
        if crc(node.name) != name_found {
            return Err(Fault::NameCrc { length });
        }
        Ok(node)
    }

    fn fields(endian: Endian, whole: &'a [u8]) -> Option<(Self, u8, u32, u32)> {
        let mut f = Fields::new(endian, whole);
        f.bytes(HEADER)?;
        let (parent, version, ino, mctime) = (f.u32()?, f.u32()?, f.u32()?, f.u32()?);
        let (nsize, file_type, _unused) = (f.u8()?, f.u8()?, f.u16()?);
        let (node_crc, name_crc) = (f.u32()?, f.u32()?);
        let name = f.rest().get(..usize::from(nsize)).unwrap_or(&[]);
        let node = Self {
            parent,
            version,
            ino,
            mctime,
            file_type,
            name,
        };
        Some((node, nsize, node_crc, name_crc))
    }

    /// The node's bytes on flash, not padded. A name is cut at 255 bytes.
    #[must_use]
    pub fn bytes(&self, endian: Endian) -> Vec<u8> {
        let nsize = u8::try_from(self.name.len()).unwrap_or(u8::MAX);
        let name = self.name.get(..usize::from(nsize)).unwrap_or(self.name);
        let mut out = header(endian, kind::DIRENT, u32::from(nsize) + 40).to_vec();
        for v in [self.parent, self.version, self.ino, self.mctime] {
            out.extend(endian.put32(v));
        }
        out.extend([nsize, self.file_type, 0, 0]);
        let node_crc = crc(&out);
        out.extend(endian.put32(node_crc));
        out.extend(endian.put32(crc(name)));
        out.extend(name);
        out
    }
}

impl<'a> Xattr<'a> {
    fn parse(endian: Endian, header: Header, whole: &'a [u8]) -> Result<Self, Fault> {
        let length = header.length;
        let bad = Fault::Length { length };
        let mut f = Fields::new(endian, whole);
        let fixed = (|| {
            f.bytes(HEADER)?;
            let ids = (f.u32()?, f.u32()?);
            Some((ids, f.u8()?, f.u8()?, f.u16()?, f.u32()?, f.u32()?))
        })();
        let ((xid, version), prefix, name_len, value_len, data_crc, node_found) =
            fixed.ok_or(bad)?;
        if node_crc(endian, header, whole, 28) != Some(node_found) {
            return Err(Fault::NodeCrc { length });
        }
        let (name_len, value_len) = (usize::from(name_len), usize::from(value_len));
        let data = f.bytes(name_len + 1 + value_len).ok_or(bad)?;
        if crc(data) != data_crc {
            return Err(Fault::DataCrc { length });
        }
        Ok(Self {
            xid,
            version,
            prefix,
            name: data.get(..name_len).ok_or(bad)?,
            value: data.get(name_len + 1..).ok_or(bad)?,
        })
    }

    /// The node's bytes on flash, not padded. Name and value are cut at 255 and
    /// 65,535 bytes.
    #[must_use]
    pub fn bytes(&self, endian: Endian) -> Vec<u8> {
        let name_len = u8::try_from(self.name.len()).unwrap_or(u8::MAX);
        let value_len = u16::try_from(self.value.len()).unwrap_or(u16::MAX);
        let mut data = self.name[..usize::from(name_len)].to_vec();
        data.push(0);
        data.extend(&self.value[..usize::from(value_len)]);
        let length = 33 + u32::from(name_len) + u32::from(value_len);
        let mut out = header(endian, kind::XATTR, length).to_vec();
        out.extend(endian.put32(self.xid));
        out.extend(endian.put32(self.version));
        out.extend([self.prefix, name_len]);
        out.extend(endian.put16(value_len));
        out.extend(endian.put32(crc(&data)));
        let node_crc = crc(&out);
        out.extend(endian.put32(node_crc));
        out.extend(data);
        out
    }
}

impl Xref {
    fn parse(endian: Endian, header: Header, whole: &[u8]) -> Result<Self, Fault> {
        let length = header.length;
        let mut f = Fields::new(endian, whole);
        let fixed = (|| {
            f.bytes(HEADER)?;
            Some((f.u32()?, f.u32()?, f.u32()?, f.u32()?))
        })();
        let (ino, xid, sequence, node_found) = fixed.ok_or(Fault::Length { length })?;
        if node_crc(endian, header, whole, 24) != Some(node_found) {
            return Err(Fault::NodeCrc { length });
        }
        Ok(Self { ino, xid, sequence })
    }

    /// The node's bytes on flash.
    #[must_use]
    pub fn bytes(&self, endian: Endian) -> Vec<u8> {
        let mut out = header(endian, kind::XREF, 28).to_vec();
        for v in [self.ino, self.xid, self.sequence] {
            out.extend(endian.put32(v));
        }
        let node_crc = crc(&out);
        out.extend(endian.put32(node_crc));
        out
    }
}

/// Whether a node is one that only a filesystem can hold, and no accident.
pub(crate) fn is_evidence(node: &Node) -> bool {
    matches!(
        node.content,
        Content::Inode(_) | Content::Dirent(_) | Content::Xattr(_) | Content::Xref(_)
    )
}
