//! The files that the kernel would see.
//!
//! JFFS2 is a log: the newest version of a name, and of each piece of a file,
//! counts, wherever it is on the chip. A name is deleted by a newer entry that
//! leads to inode 0.

use super::check::Spare;
use super::content::Reader;
use super::decompress::Decompressor;
use super::detect::{self, LARGEST};
use super::error::Error;
use super::index::{DirentAt, Index, InodeAt, Place, Window};
use super::loss::Lost;
use super::node::{Content, Inode, Xattr};
use super::oob::{Oob, Stripped};
use crate::files::{Attribute, Device, FileType, Files, Name, Pieces, Stat};
use crate::transfer::TransferError;
use rawimage::ReadAt;
use rawimage::endian::{Endian, Fields};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The inode of the root directory.
pub const ROOT: u32 = 1;

/// What is known about an image before it is read.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// Size of an erase block, bytes; `None` finds it.
    pub erase_size: Option<u32>,
    /// Byte order; `None` finds it.
    pub endian: Option<Endian>,
    /// Spare bytes.
    pub spare: Spare,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            erase_size: None,
            endian: None,
            spare: Spare::Detect,
        }
    }
}

/// One step of an inode's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Orders the steps.
    pub version: u32,
    /// Where the node is in the image.
    pub place: u64,
    /// Where in the file it writes.
    pub offset: u32,
    /// How many bytes of the file it writes.
    pub length: u32,
    /// Bytes on flash.
    pub stored: u32,
    /// How they are compressed; see
    /// [`decompress::name`](super::decompress::name).
    pub compression: u8,
    /// The file's length afterwards.
    pub size: u32,
}

/// A JFFS2 filesystem. It holds a few words for each node, and reads the rest
/// from the image when asked.
pub struct Filesystem<'a> {
    pub(super) image: Source<'a>,
    endian: Endian,
    erase_size: u32,
    pub(super) index: Index,
    /// The inode of each name, sorted.
    links: Vec<u32>,
    /// Where metadata is read through.
    window: RefCell<Window>,
    /// What files are read through.
    reader: RefCell<Reader>,
}

/// How much is read at once where single nodes are asked for.
const METADATA_WINDOW: u64 = 16 * 1024;
/// An image, with or without spare bytes.
pub(super) enum Source<'a> {
    Plain(&'a dyn ReadAt),
    Stripped(Stripped<'a>),
}

impl Source<'_> {
    pub fn get(&self) -> &dyn ReadAt {
        match self {
            Self::Plain(image) => *image,
            Self::Stripped(stripped) => stripped,
        }
    }
}

impl<'a> Filesystem<'a> {
    /// Reads all nodes once.
    ///
    /// # Errors
    /// It is not JFFS2, or it cannot be read.
    pub fn open(image: &'a dyn ReadAt, options: &OpenOptions) -> Result<Self, Error> {
        let length = image.length().map_err(TransferError::Length)?;
        let found = detect::endian(image).map_err(TransferError::Length)?;
        let endian = match (options.endian, found) {
            (_, None) => return Err(super::check::not_jffs2(image, length)?),
            (Some(given), Some(found)) if given != found => {
                return Err(Error::WrongEndian { given, found });
            }
            (_, Some(found)) => found,
        };
        let oob = match options.spare {
            Spare::Detect => Oob::detect(image, endian),
            Spare::None => None,
            Spare::Given(oob) => Some(oob.checked()?),
        };
        let image = match oob {
            Some(oob) => Source::Stripped(Stripped { image, oob }),
            None => Source::Plain(image),
        };
        let erase_size = match options.erase_size {
            Some(given) if !(4096..=LARGEST).contains(&given) || !given.is_multiple_of(4) => {
                return Err(Error::ImpossibleEraseSize { given });
            }
            Some(given) => given,
            None => {
                let found =
                    detect::erase_size(image.get(), endian).map_err(TransferError::Length)?;
                let whole = u32::try_from(length.next_multiple_of(4096)).ok();
                // A small image that does not show its erase size is read as one block.
                let whole = whole.filter(|whole| *whole <= LARGEST);
                let found = found.map(|f| f.bytes).or(whole);
                found.ok_or(Error::UnknownEraseSize)?
            }
        };
        let index = Index::build(image.get(), endian, erase_size)?;
        let mut filesystem = Self {
            image,
            endian,
            erase_size,
            index,
            links: Vec::new(),
            window: RefCell::new(Window::new(endian, METADATA_WINDOW)),
            reader: RefCell::new(Reader::new(endian)),
        };
        filesystem.settle()?;
        Ok(filesystem)
    }

    /// Byte order.
    #[must_use]
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// Size of an erase block, bytes.
    #[must_use]
    pub fn erase_size(&self) -> u32 {
        self.erase_size
    }

    /// Layout of the spare bytes, if there are any.
    #[must_use]
    pub fn oob(&self) -> Option<Oob> {
        match &self.image {
            Source::Plain(_) => None,
            Source::Stripped(stripped) => Some(stripped.oob),
        }
    }

    /// What the kernel would not use, by reason.
    #[must_use]
    pub fn lost(&self) -> &[Lost] {
        &self.index.lost
    }

    /// Where the first node is that makes the kernel refuse the image, or mount
    /// it read-only, because it does not know its type.
    #[must_use]
    pub fn unknown_node(&self) -> Option<(u64, u16)> {
        self.index.unknown
    }

    /// All inode numbers that have a node, ascending.
    pub fn inodes(&self) -> impl Iterator<Item = u32> {
        let groups = self.index.inodes.chunk_by(|a, b| a.ino == b.ino);
        groups.filter_map(|group| group.first()).map(|n| n.ino)
    }

    /// Calls `with` with a node.
    fn at<T>(&self, place: Place, with: impl FnOnce(Content) -> T) -> Result<T, Error> {
        let mut window = self.window.borrow_mut();
        let node = window.node(self.image.get(), place)?;
        Ok(with(node.content))
    }

    /// Keeps of each name in each directory the newest entry, and of these the
    /// ones that lead somewhere; counts the names of each inode.
    fn settle(&mut self) -> Result<(), Error> {
        let dirents = std::mem::take(&mut self.index.dirents);
        let mut kept: Vec<DirentAt> = Vec::new();
        let same_hash = |a: &DirentAt, b: &DirentAt| (a.parent, a.hash) == (b.parent, b.hash);
        for group in dirents.chunk_by(same_hash) {
            if let [only] = group {
                kept.push(*only);
                continue;
            }
            // Different names may have one hash.
            let mut newest: BTreeMap<Vec<u8>, DirentAt> = BTreeMap::new();
            for dirent in group {
                self.at(dirent.at, |content| {
                    if let Content::Dirent(node) = content {
                        newest.insert(node.name.to_vec(), *dirent);
                    }
                })?;
            }
            kept.extend(newest.into_values());
        }
        kept.retain(|d| d.ino != 0);
        self.index.dirents = kept;
        self.links = self.reachable_links();
        Ok(())
    }

    /// The inode of each name that can be reached from the root, sorted. The
    /// kernel removes directories without a name, and the names in them.
    fn reachable_links(&self) -> Vec<u32> {
        let mut links = Vec::new();
        let mut reached = BTreeSet::from([ROOT]);
        let mut to_do = vec![ROOT];
        while let Some(directory) = to_do.pop() {
            for dirent in self.index.directory(directory) {
                links.push(dirent.ino);
                let is_directory = !self.index.directory(dirent.ino).is_empty();
                if is_directory && reached.insert(dirent.ino) {
                    to_do.push(dirent.ino);
                }
            }
        }
        links.sort_unstable();
        links
    }

    /// The names in a directory that lead somewhere, sorted.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn directory(&self, ino: u32) -> Result<Vec<Name>, Error> {
        let mut names = Vec::new();
        for dirent in self.index.directory(ino) {
            let name = self.at(dirent.at, |content| match content {
                Content::Dirent(node) => Some(Name {
                    name: node.name.to_vec(),
                    ino: node.ino,
                    file_type: FileType::of_dirent(node.file_type),
                }),
                _ => None,
            })?;
            names.extend(name);
        }
        names.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }

    /// How many names lead to an inode, counted from the root on.
    #[must_use]
    pub fn links(&self, ino: u32) -> u32 {
        let start = self.links.partition_point(|i| *i < ino);
        let rest = self.links.get(start..).unwrap_or_default();
        u32::try_from(rest.partition_point(|i| *i == ino)).unwrap_or(u32::MAX)
    }

    /// Metadata of an inode; `None` if there is no such inode.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn stat(&self, ino: u32) -> Result<Option<Stat>, Error> {
        let Some(newest) = self.index.inode(ino).last() else {
            // The kernel makes up a root that was never written.
            return Ok((ino == ROOT).then(|| made_up_root(self.links(ROOT))));
        };
        self.at(newest.at, |content| match content {
            Content::Inode(node) => Some(Stat {
                ino,
                file_type: FileType::of_mode(node.mode),
                mode: node.mode,
                uid: node.uid.into(),
                gid: node.gid.into(),
                size: node.isize.into(),
                atime: node.atime.into(),
                mtime: node.mtime.into(),
                ctime: node.ctime.into(),
                links: self.links(ino),
            }),
            _ => None,
        })
    }

    /// The nodes of an inode in the order in which the kernel replays them.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn history(&self, ino: u32) -> Result<Vec<Write>, Error> {
        let mut history = Vec::new();
        for node in self.index.inode(ino) {
            let write = self.at(node.at, |content| match content {
                Content::Inode(inode) => Some(write_of(node, &inode)),
                _ => None,
            })?;
            history.extend(write);
        }
        Ok(history)
    }

    /// Reads a file from front to end: every byte of it is in one piece.
    ///
    /// # Errors
    /// The image cannot be read, or what `pieces` says, as [`TransferError::Write`].
    /// Data that cannot be had is a
    /// [`Piece::Lost`](crate::files::Piece::Lost).
    pub fn read(&self, ino: u32, pieces: &mut Pieces) -> Result<(), Error> {
        let image = self.image.get();
        match self.reader.try_borrow_mut() {
            Ok(mut reader) => reader.file(image, &self.index, ino, pieces),
            // Called by what takes the pieces of another file.
            Err(_) => Reader::new(self.endian).file(image, &self.index, ino, pieces),
        }
    }

    /// Where a symbolic link leads.
    ///
    /// # Errors
    /// It is not a symbolic link, it is damaged, or the image cannot be read.
    pub fn link_target(&self, ino: u32) -> Result<Vec<u8>, Error> {
        let wanted = "a readable symbolic link";
        let is_link = |stat: &Stat| stat.file_type == FileType::Symlink;
        self.stat(ino)?
            .filter(is_link)
            .ok_or(Error::NotThat { ino, wanted })?;
        let mut target = self.small(ino, wanted)?;
        // What the kernel sees ends at a NUL.
        if let Some(end) = target.iter().position(|b| *b == 0) {
            target.truncate(end);
        }
        Ok(target)
    }

    /// The numbers of a device.
    ///
    /// # Errors
    /// It is not a device, it is damaged, or the image cannot be read.
    pub fn device(&self, ino: u32) -> Result<Device, Error> {
        let wanted = "a readable device node";
        let stat = self.stat(ino)?.filter(|s| s.file_type.is_device());
        stat.ok_or(Error::NotThat { ino, wanted })?;
        let data = self.small(ino, wanted)?;
        let mut fields = Fields::new(self.endian, &data);
        match data.len() {
            2 => fields.u16().map(Device::of_old),
            4 => fields.u32().map(Device::of_new),
            _ => None,
        }
        .ok_or(Error::NotThat { ino, wanted })
    }

    /// The data of the newest node that has any: a link's target, a device's
    /// numbers.
    fn small(&self, ino: u32, wanted: &'static str) -> Result<Vec<u8>, Error> {
        let mut decompressor = Decompressor::default();
        for node in self.index.inode(ino).iter().rev() {
            let data = self.at(node.at, |content| match content {
                Content::Inode(inode) if !inode.data.is_empty() => {
                    let (kind, data) = (inode.compression, inode.data);
                    // Old versions of mkfs.jffs2 leave the length of these out.
                    if inode.dsize == 0 {
                        return Some(Ok(data.to_vec()));
                    }
                    let found = decompressor.run(kind, data, inode.dsize);
                    Some(found.map(<[u8]>::to_vec))
                }
                _ => None,
            })?;
            if let Some(data) = data {
                return data.map_err(|_| Error::NotThat { ino, wanted });
            }
        }
        Err(Error::NotThat { ino, wanted })
    }

    /// The extended attributes of an inode, sorted by name. Those with an
    /// unknown prefix have it as a number.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn attributes(&self, ino: u32) -> Result<Vec<Attribute>, Error> {
        let references = self.index.references(ino);
        if references.is_empty() {
            return Ok(Vec::new());
        }
        // By name: a new value is a new attribute, and what it replaces is not
        // taken away on flash.
        let mut found: BTreeMap<Vec<u8>, (u32, Vec<u8>)> = BTreeMap::new();
        for group in references.chunk_by(|a, b| a.xid == b.xid) {
            // An odd sequence number takes the attribute away.
            let Some(newest) = group.last().filter(|x| x.sequence & 1 == 0) else {
                continue;
            };
            let Some(datum) = self.index.attribute(newest.xid) else {
                continue;
            };
            let attribute = self.at(datum.at, |content| match content {
                Content::Xattr(node) => Some(attribute(&node)),
                _ => None,
            })?;
            let Some(Attribute { name, value }) = attribute else {
                continue;
            };
            match found.get(&name) {
                Some((sequence, _)) if *sequence > newest.sequence => {}
                _ => {
                    found.insert(name, (newest.sequence, value));
                }
            }
        }
        let found = found.into_iter();
        Ok(found
            .map(|(name, (_, value))| Attribute { name, value })
            .collect())
    }

    /// Attributes that an inode refers to, and that are not there.
    pub(super) fn missing_attributes(&self, ino: u32) -> Vec<u32> {
        let groups = self.index.references(ino).chunk_by(|a, b| a.xid == b.xid);
        let newest = groups.filter_map(|group| group.last());
        newest
            .filter(|x| x.sequence & 1 == 0 && self.index.attribute(x.xid).is_none())
            .map(|x| x.xid)
            .collect()
    }
}

/// What was asked for, or nothing if it is damaged.
fn if_there<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotThat { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

impl Files for Filesystem<'_> {
    type Error = Error;

    fn failed(error: std::io::Error) -> Error {
        TransferError::Write(error).into()
    }

    fn root(&self) -> u32 {
        ROOT
    }

    fn stat(&self, ino: u32) -> Result<Option<Stat>, Error> {
        self.stat(ino)
    }

    fn directory(&self, ino: u32) -> Result<Vec<Name>, Error> {
        self.directory(ino)
    }

    fn link_target(&self, ino: u32) -> Result<Option<Vec<u8>>, Error> {
        if_there(self.link_target(ino))
    }

    fn device(&self, ino: u32) -> Result<Option<Device>, Error> {
        if_there(self.device(ino))
    }

    fn attributes(&self, ino: u32) -> Result<Vec<Attribute>, Error> {
        self.attributes(ino)
    }

    fn read(&self, ino: u32, pieces: &mut Pieces) -> Result<(), Error> {
        self.read(ino, pieces)
    }
}

fn attribute(node: &Xattr) -> Attribute {
    let mut name = match node.prefix {
        1 => b"user.".to_vec(),
        2 => b"security.".to_vec(),
        3 => b"system.posix_acl_access".to_vec(),
        4 => b"system.posix_acl_default".to_vec(),
        5 => b"trusted.".to_vec(),
        other => format!("{other}.").into_bytes(),
    };
    name.extend(node.name);
    let value = node.value.to_vec();
    Attribute { name, value }
}

/// What the kernel shows as root where the image has no node of it.
fn made_up_root(links: u32) -> Stat {
    Stat {
        ino: ROOT,
        file_type: FileType::Directory,
        mode: 0o040_755,
        uid: 0,
        gid: 0,
        size: 0,
        atime: 0,
        mtime: 0,
        ctime: 0,
        links,
    }
}

pub(super) fn write_of(node: &InodeAt, inode: &Inode) -> Write {
    Write {
        version: node.version,
        place: u64::from(node.at) * 4,
        offset: inode.offset,
        length: inode.dsize,
        stored: u32::try_from(inode.data.len()).unwrap_or(u32::MAX),
        compression: inode.compression,
        size: inode.isize,
    }
}
