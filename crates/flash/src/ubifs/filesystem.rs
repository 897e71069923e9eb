//! The files that the kernel would see, the journal replayed.

use super::Error;
use super::index::{BLOCK, Damage, Index, Leaf, dirent_name, key, node};
use super::inspect::superblock;
use super::journal::Journal;
use super::lebs::Lebs;
use super::master;
use super::node::kind;
use super::superblock::Superblock;
use crate::files::{Attribute, Device, Failure, FileType, Files, Name, Piece, Pieces, Stat};
use crate::inflate::Inflater;
use rawimage::ReadAt;
use rawimage::endian::{Endian, Fields};
use std::cell::RefCell;

/// The inode of the root directory.
pub const ROOT: u32 = 1;
/// The flag of an inode that is the value of an extended attribute.
const ATTRIBUTE: u32 = 0x20;
/// The flag of an inode that is encrypted.
const ENCRYPTED: u32 = 0x40;
/// Length of an inode before its data.
const INODE: usize = 160;
/// Length of a data node before its data.
const DATA: usize = 48;

/// A UBIFS filesystem.
pub struct Filesystem<'a> {
    lebs: Lebs<'a>,
    superblock: Superblock,
    index: Index,
    journal: Journal,
    decompressor: RefCell<Decompressor>,
}

/// An inode's fields that are of use here.
struct Inode {
    stat: Stat,
    flags: u32,
    data: Vec<u8>,
}

impl Inode {
    fn parse(ino: u32, node: &[u8]) -> Option<Self> {
        let mut f = Fields::new(Endian::Little, node);
        f.bytes(48)?;
        let (size, atime, ctime, mtime) = (f.u64()?, f.u64()?, f.u64()?, f.u64()?);
        f.bytes(12)?;
        let (links, uid, gid, mode, flags) = (f.u32()?, f.u32()?, f.u32()?, f.u32()?, f.u32()?);
        let length = f.u32()? as usize;
        Some(Self {
            stat: Stat {
                ino,
                file_type: FileType::of_mode(mode),
                mode,
                uid,
                gid,
                size,
                atime: atime.cast_signed(),
                mtime: mtime.cast_signed(),
                ctime: ctime.cast_signed(),
                links,
            },
            flags,
            data: node.get(INODE..)?.get(..length)?.to_vec(),
        })
    }
}

impl<'a> Filesystem<'a> {
    /// Opens the filesystem in a volume, or in what `mkfs.ubifs` wrote: reads
    /// its index and its journal.
    ///
    /// # Errors
    /// There is none, its master node or its journal is lost, or it cannot be
    /// read.
    pub fn open(image: &'a dyn ReadAt) -> Result<Self, Error> {
        let superblock = superblock(image)?;
        let lebs = Lebs::new(image, superblock.leb_size)?;
        let state = master::find(&lebs, superblock.min_io)?;
        let (master, recover) = match state {
            master::State::Good(master) => (master, master.is_dirty()),
            master::State::Recovered(master, _) => (master, true),
            master::State::Lost => return Err(Error::NoMaster),
        };
        let (index, journal) = Index::read(&lebs, &superblock, &master, recover)?;
        if let Some(broken) = journal.broken {
            return Err(Error::Journal(broken));
        }
        Ok(Self {
            lebs,
            superblock,
            index,
            journal,
            decompressor: RefCell::default(),
        })
    }

    /// Its superblock.
    #[must_use]
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Its journal, which was replayed.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Parts of the index that could not be read; what they lead to is missing.
    #[must_use]
    pub fn damage(&self) -> &[Damage] {
        &self.index.damage
    }

    /// All inodes, ascending. Extended attributes have inodes, too.
    pub fn inodes(&self) -> impl Iterator<Item = u32> {
        self.index.inodes()
    }

    /// Whether an inode is the value of an extended attribute.
    pub(super) fn is_attribute(&self, ino: u32) -> Result<bool, Error> {
        Ok(self.inode(ino)?.is_some_and(|i| i.flags & ATTRIBUTE != 0))
    }

    fn inode(&self, ino: u32) -> Result<Option<Inode>, Error> {
        let Some(leaf) = self.index.of(ino, key::INODE).first() else {
            return Ok(None);
        };
        let node = node(&self.lebs, leaf, kind::INODE)?;
        let mut inode = node.and_then(|n| Inode::parse(ino, &n));
        if let (Some(inode), Some(size)) = (&mut inode, self.index.sizes.get(&ino)) {
            inode.stat.size = *size;
        }
        Ok(inode)
    }

    /// The names of one type that belong to an inode, with what they lead to and
    /// their type.
    fn names(&self, ino: u32, wanted: u32, kind: u8) -> Result<Vec<(Vec<u8>, u32, u8)>, Error> {
        let mut names = Vec::new();
        for leaf in self.index.of(ino, wanted) {
            let Some(node) = node(&self.lebs, leaf, kind)? else {
                continue;
            };
            let fields = (|| {
                let mut f = Fields::new(Endian::Little, node.get(40..)?);
                let target = u32::try_from(f.u64()?).ok()?;
                f.u8()?;
                Some((dirent_name(&node)?.to_vec(), target, f.u8()?))
            })();
            names.extend(fields.filter(|(_, target, _)| *target != 0));
        }
        names.sort();
        Ok(names)
    }

    /// One piece of a file.
    fn piece(
        &self,
        leaf: &Leaf,
        length: u64,
        start: u64,
        pieces: &mut Pieces,
    ) -> Result<(), Error> {
        let mut decompressor = match self.decompressor.try_borrow_mut() {
            Ok(decompressor) => decompressor,
            // Called by what takes the pieces of another file.
            Err(_) => return Err(Error::Nested),
        };
        let found = node(&self.lebs, leaf, kind::DATA)?;
        let data = match &found {
            Some(node) => decompressor.run(node),
            None => Err(Failure::Damaged),
        };
        let mut give = |at, piece| pieces(at, piece).map_err(Error::Write);
        match data {
            Ok(data) => {
                let there = usize::try_from(length)
                    .unwrap_or(usize::MAX)
                    .min(data.len());
                let data = data.get(..there).unwrap_or_default();
                if !data.is_empty() {
                    give(start, Piece::Data(data))?;
                }
                let rest = length - data.len() as u64;
                if rest > 0 {
                    give(start + data.len() as u64, Piece::Zeros(rest))?;
                }
                Ok(())
            }
            Err(why) => give(start, Piece::Lost(length, why)),
        }
    }
}

/// The type of a directory entry.
fn of_dirent(value: u8) -> FileType {
    match value {
        0 => FileType::File,
        1 => FileType::Directory,
        2 => FileType::Symlink,
        3 => FileType::BlockDevice,
        4 => FileType::CharacterDevice,
        5 => FileType::Fifo,
        6 => FileType::Socket,
        _ => FileType::Unknown,
    }
}

impl Files for Filesystem<'_> {
    type Error = Error;

    fn failed(error: std::io::Error) -> Error {
        Error::Write(error)
    }

    fn root(&self) -> u32 {
        ROOT
    }

    fn stat(&self, ino: u32) -> Result<Option<Stat>, Error> {
        Ok(self.inode(ino)?.map(|i| i.stat))
    }

    fn directory(&self, ino: u32) -> Result<Vec<Name>, Error> {
        let names = self.names(ino, key::DIRENT, kind::DIRENT)?.into_iter();
        Ok(names
            .map(|(name, ino, file_type)| Name {
                name,
                ino,
                file_type: of_dirent(file_type),
            })
            .collect())
    }

    fn link_target(&self, ino: u32) -> Result<Option<Vec<u8>>, Error> {
        let inode = self
            .inode(ino)?
            .filter(|i| i.stat.file_type == FileType::Symlink && i.flags & ENCRYPTED == 0);
        Ok(inode.map(|i| {
            let end = i.data.iter().position(|b| *b == 0);
            i.data
                .get(..end.unwrap_or(i.data.len()))
                .unwrap_or_default()
                .to_vec()
        }))
    }

    fn device(&self, ino: u32) -> Result<Option<Device>, Error> {
        let inode = self.inode(ino)?.filter(|i| i.stat.file_type.is_device());
        Ok(inode.and_then(|i| {
            let mut f = Fields::new(Endian::Little, &i.data);
            match i.data.len() {
                4 => f.u32().map(Device::of_new),
                // `huge_encode_dev` is the same where both are small.
                8 => f
                    .u64()
                    .and_then(|n| u32::try_from(n).ok())
                    .map(Device::of_new),
                _ => None,
            }
        }))
    }

    fn attributes(&self, ino: u32) -> Result<Vec<Attribute>, Error> {
        let mut attributes = Vec::new();
        for (name, target, _) in self.names(ino, key::XATTR, kind::XATTR)? {
            if let Some(inode) = self.inode(target)? {
                let value = inode.data;
                attributes.push(Attribute { name, value });
            }
        }
        Ok(attributes)
    }

    fn read(&self, ino: u32, pieces: &mut Pieces) -> Result<(), Error> {
        let Some(inode) = self.inode(ino)? else {
            return Ok(());
        };
        let size = inode.stat.size;
        let is_encrypted = inode.flags & ENCRYPTED != 0;
        let mut at = 0;
        for leaf in self.index.of(ino, key::DATA) {
            let start = u64::from(leaf.key.1 & key::MASK) * BLOCK;
            if start >= size {
                break;
            }
            if start < at {
                continue;
            }
            if start > at {
                pieces(at, Piece::Zeros(start - at)).map_err(Error::Write)?;
            }
            let length = BLOCK.min(size - start);
            if is_encrypted {
                let lost = Piece::Lost(length, Failure::Encrypted);
                pieces(start, lost).map_err(Error::Write)?;
            } else {
                self.piece(leaf, length, start, pieces)?;
            }
            at = start + length;
        }
        if at < size {
            pieces(at, Piece::Zeros(size - at)).map_err(Error::Write)?;
        }
        Ok(())
    }
}

/// Decompresses data nodes.
#[derive(Default)]
struct Decompressor(Inflater);

impl Decompressor {
    /// The data of a node.
    fn run<'d>(&'d mut self, node: &'d [u8]) -> Result<&'d [u8], Failure> {
        let fields = (|| {
            let mut f = Fields::new(Endian::Little, node.get(40..)?);
            Some((f.u32()? as usize, f.u16()?, node.get(DATA..)?))
        })();
        let (size, kind, data) = fields.ok_or(Failure::Damaged)?;
        if size as u64 > BLOCK {
            return Err(Failure::Damaged);
        }
        if kind == 0 {
            return data.get(..size).ok_or(Failure::Corrupt);
        }
        self.0.clear(size);
        let length = match kind {
            1 => lzokay::decompress::decompress(data, &mut self.0.out).ok(),
            2 => self.0.inflate(data),
            3 => zstd::bulk::decompress_to_buffer(data, &mut self.0.out).ok(),
            other => return Err(Failure::Unsupported(other, None)),
        };
        if length == Some(size) {
            Ok(&self.0.out)
        } else {
            Err(Failure::Corrupt)
        }
    }
}
