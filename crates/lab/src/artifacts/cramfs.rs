//! cramfs images, compressed or to be executed in place.
//!
//! The format is that of Linux: `fs/cramfs/README`,
//! `Documentation/filesystems/cramfs.rst` and `include/uapi/linux/cramfs_fs.h`. The
//! superblock is followed by all folders, then by what is in files and links, in
//! blocks of a page: a table of pointers, each to the end of its block, and the
//! blocks, compressed with zlib.
//!
//! In place (`cramfs:xip`), executables and shared libraries are kept as they are,
//! from a page's beginning, and their pointers are direct. A kernel with
//! `CONFIG_CRAMFS_MTD` (4.15 and later) maps such pages into processes where they lie
//! in the flash, without a copy in memory.
//!
//! The same tree gives the same bytes: cramfs has no times, all belongs to root, the
//! image's edition is 0, and entries are in the order of their names.

use crate::error::{LabError, io_error};
use crate::files::read;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Images are kept under it: it changes with what comes out for the same tree.
pub(super) const EDITION: u32 = 1;

/// `CRAMFS_MAGIC`.
const MAGIC: u32 = 0x28cd_3d45;
const SIGNATURE: &[u8; 16] = b"Compressed ROMFS";
/// The image's name, which has no meaning.
const NAME: &[u8; 16] = b"firstlight\0\0\0\0\0\0";

/// The superblock with the root's inode, and an inode, in bytes.
const SUPERBLOCK: usize = 76;
const INODE: usize = 12;
/// Where the superblock has its checksum.
const CHECKSUM_AT: usize = 32;

/// `CRAMFS_FLAG_FSID_VERSION_2`: the superblock has size, checksum and counts.
const FLAG_VERSION_2: u32 = 1;
/// `CRAMFS_FLAG_SORTED_DIRS`.
const FLAG_SORTED: u32 = 2;
/// `CRAMFS_FLAG_EXT_BLOCK_POINTERS`: the two upper bits of pointers have a meaning.
const FLAG_EXT_BLOCK_POINTERS: u32 = 0x800;

/// `CRAMFS_BLK_FLAG_UNCOMPRESSED`.
const UNCOMPRESSED: u32 = 1 << 31;
/// `CRAMFS_BLK_FLAG_DIRECT_PTR`: the pointer is to the block's beginning, in units of
/// four bytes.
const DIRECT: u32 = 1 << 30;

/// A block: the page of the kernel that mounts it.
const PAGE: usize = 4096;
/// Files and folders are smaller than this (`CRAMFS_SIZE_WIDTH`).
const SIZE_LIMIT: u64 = 1 << 24;
/// Files and folders begin before this (`CRAMFS_OFFSET_WIDTH`, in units of four bytes).
const OFFSET_LIMIT: usize = 1 << 28;
/// `CRAMFS_MAXPATHLEN`: the longest name.
const NAME_LIMIT: usize = 252;

/// Makes `image` of the folder `tree`, of which executables and shared libraries are
/// to be mapped `in_place`.
///
/// # Errors
/// If the tree cannot be read or is beyond what cramfs holds, or the image cannot be
/// written.
pub(super) fn make(tree: &Path, image: &Path, in_place: bool) -> Result<(), LabError> {
    let mut writer = Writer::new(in_place);
    let nodes = writer.folders(tree)?;
    writer.contents(&nodes)?;
    let bytes = writer.finish(nodes.len())?;
    fs::write(image, bytes).map_err(io_error(image, "cannot be written"))
}

/// A file, a folder, a link or a device of the tree.
struct Node {
    path: PathBuf,
    about: Metadata,
    /// Where its inode lies in the image.
    inode: usize,
}

struct Writer {
    in_place: bool,
    image: Vec<u8>,
    /// Where the folders end.
    folders_end: usize,
    /// How many blocks there are of files and links.
    blocks: usize,
    /// Where the contents of files with several names lie, by device and inode.
    shared: HashMap<(u64, u64), usize>,
}

impl Writer {
    fn new(in_place: bool) -> Self {
        Self {
            in_place,
            image: vec![0; SUPERBLOCK],
            folders_end: SUPERBLOCK,
            blocks: 0,
            shared: HashMap::new(),
        }
    }

    /// Writes all folders, those nearer to the root first, with entries that do not yet
    /// say where their contents lie. Gives all that is in the tree, the root first.
    fn folders(&mut self, tree: &Path) -> Result<Vec<Node>, LabError> {
        let mut nodes = vec![Node {
            path: tree.to_owned(),
            about: fs::metadata(tree).map_err(io_error(tree, "cannot be read"))?,
            inode: SUPERBLOCK - INODE,
        }];
        if let Some(root) = nodes.first() {
            self.put_inode(root, 0)?;
        }
        let mut open = VecDeque::from([0]);
        while let Some(folder) = open.pop_front() {
            let Some(Node { path, inode, .. }) = nodes.get(folder) else {
                continue;
            };
            let (path, inode) = (path.clone(), *inode);
            let begin = self.image.len();
            for name in names(&path)? {
                let node = self.entry(path.join(&name), &name)?;
                if node.about.is_dir() {
                    open.push_back(nodes.len());
                }
                nodes.push(node);
            }
            let size = self.image.len() - begin;
            self.place(&path, inode, size as u64, begin)?;
        }
        self.folders_end = self.image.len();
        Ok(nodes)
    }

    /// Adds an entry to the folder that is being written.
    fn entry(&mut self, path: PathBuf, name: &OsStr) -> Result<Node, LabError> {
        let failed = || io_error(&path, "cannot be read");
        let about = fs::symlink_metadata(&path).map_err(failed())?;
        if name.len() > NAME_LIMIT {
            let why = format!(
                "its name has {} bytes, but cramfs allows {NAME_LIMIT}; shorten it",
                name.len()
            );
            return Err(tree_error(&path, why));
        }
        let inode = self.image.len();
        let node = Node { path, about, inode };
        let words = name.len().div_ceil(4);
        self.image.resize(inode + INODE, 0);
        self.put_inode(&node, words as u32)?;
        self.image.extend_from_slice(name.as_bytes());
        self.image.resize(inode + INODE + 4 * words, 0);
        Ok(node)
    }

    /// An inode without its place: the mode, what a device is, and how long the name
    /// behind it is, in units of four bytes. User and group are 0.
    fn put_inode(&mut self, node: &Node, name_words: u32) -> Result<(), LabError> {
        let kind = node.about.file_type();
        let device = match kind.is_char_device() || kind.is_block_device() {
            true => device(&node.path, node.about.rdev())?,
            false => 0,
        };
        self.put(node.inode, node.about.mode() & 0xffff);
        self.put(node.inode + 4, device);
        self.put(node.inode + 8, name_words);
        Ok(())
    }

    /// Says in an inode that its `size` bytes begin `at`.
    fn place(&mut self, path: &Path, inode: usize, size: u64, at: usize) -> Result<(), LabError> {
        if size >= SIZE_LIMIT {
            let why = format!(
                "it has {size} bytes, but cramfs allows less than 16 MiB ({SIZE_LIMIT}); remove \
                 it or choose another filesystem"
            );
            return Err(tree_error(path, why));
        }
        if size == 0 {
            return Ok(());
        }
        if at >= OFFSET_LIMIT {
            let why = "it would begin past the first 256 MiB, the limit of cramfs; make the tree \
                smaller or choose another filesystem";
            return Err(tree_error(path, why.to_owned()));
        }
        // Both were checked to fit.
        self.put(inode + 4, size as u32);
        let name_words = self.get(inode + 8);
        self.put(inode + 8, name_words | ((at / 4) as u32) << 6);
        Ok(())
    }

    /// Writes what is in files and links.
    fn contents(&mut self, nodes: &[Node]) -> Result<(), LabError> {
        let (mut plain, mut mapped) = (Vec::new(), Vec::new());
        for node in nodes {
            let kind = node.about.file_type();
            if kind.is_file() && self.in_place && is_mapped(&node.path)? {
                mapped.push(node);
            } else if kind.is_file() || kind.is_symlink() {
                plain.push(node);
            }
        }
        for node in plain {
            self.content(node, Self::compressed)?;
        }
        for node in mapped {
            self.content(node, Self::mappable)?;
        }
        Ok(())
    }

    /// Writes what is in a file or link, as `write` does it, unless it is there already.
    fn content(
        &mut self,
        node: &Node,
        write: fn(&mut Self, &[u8]) -> std::io::Result<()>,
    ) -> Result<(), LabError> {
        let Node { path, about, inode } = node;
        let key = (about.dev(), about.ino());
        if let Some(at) = self.shared.get(&key) {
            return self.place(path, *inode, about.size(), *at);
        }
        let at = self.image.len();
        // Before it is read: what is too large need not fit into memory.
        self.place(path, *inode, about.size(), at)?;
        let failed = || io_error(path, "cannot be read");
        let bytes = match about.is_symlink() {
            true => fs::read_link(path)
                .map(|target| target.into_os_string().into_encoded_bytes())
                .map_err(failed())?,
            false => read(path)?,
        };
        if bytes.len() as u64 != about.size() {
            let why = format!(
                "it had {} bytes, but {} when it was read; try again when no program writes to it",
                about.size(),
                bytes.len()
            );
            return Err(tree_error(path, why));
        }
        write(self, &bytes).map_err(failed())?;
        self.image.resize(self.image.len().next_multiple_of(4), 0);
        if about.nlink() > 1 {
            self.shared.insert(key, at);
        }
        Ok(())
    }

    /// Pointers to the ends of the blocks, and the blocks, compressed.
    fn compressed(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let mut pointer = self.pointers(bytes);
        for block in bytes.chunks(PAGE) {
            let packed = pack(block)?;
            self.image.extend_from_slice(&packed);
            self.put(pointer, self.image.len() as u32);
            pointer += 4;
        }
        Ok(())
    }

    /// Direct pointers, and the pages as they are. Behind the last one is nothing but
    /// zeros, without which Linux does not map it.
    ///
    /// If a file's last block is a whole page, Linux 6.1 takes its length for 0
    /// (`cramfs_read_folio`) and reads zeros: that block is compressed.
    fn mappable(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let mut pointer = self.pointers(bytes);
        let packed = match bytes.len() % PAGE {
            0 => bytes.len().saturating_sub(PAGE),
            _ => bytes.len(),
        };
        let (pages, last) = bytes.split_at(packed);
        if !last.is_empty() {
            let packed = pack(last)?;
            let at = self.image.len();
            self.put(pointer + pages.len() / PAGE * 4, direct(at));
            // A page that is packed is never much longer than one that is not.
            self.image.extend((packed.len() as u16).to_le_bytes());
            self.image.extend_from_slice(&packed);
        }
        self.image
            .resize(self.image.len().next_multiple_of(PAGE), 0);
        for page in pages.chunks(PAGE) {
            let at = self.image.len();
            self.put(pointer, UNCOMPRESSED | direct(at));
            pointer += 4;
            self.image.extend_from_slice(page);
            self.image.resize(at + PAGE, 0);
        }
        Ok(())
    }

    /// Makes room for the pointers to the blocks of `bytes`, and says where.
    fn pointers(&mut self, bytes: &[u8]) -> usize {
        let at = self.image.len();
        let blocks = bytes.len().div_ceil(PAGE);
        self.blocks += blocks;
        self.image.resize(at + 4 * blocks, 0);
        at
    }

    /// The superblock, and zeros to the end of a page.
    fn finish(mut self, files: usize) -> Result<Vec<u8>, LabError> {
        // Mapped, Linux reads an entry with the longest name (`cramfs_lookup`), and all
        // of it zeros if that goes over the end.
        let least = self.folders_end + INODE + NAME_LIMIT;
        let end = self.image.len().max(least).next_multiple_of(PAGE);
        self.image.resize(end, 0);
        let mut flags = FLAG_VERSION_2 | FLAG_SORTED;
        if self.in_place {
            flags |= FLAG_EXT_BLOCK_POINTERS;
        }
        self.put(0, MAGIC);
        self.put(4, end as u32);
        self.put(8, flags);
        self.put_bytes(16, SIGNATURE);
        self.put(CHECKSUM_AT + 8, self.blocks as u32);
        self.put(CHECKSUM_AT + 12, files as u32);
        self.put_bytes(CHECKSUM_AT + 16, NAME);
        let checksum = crc32fast::hash(&self.image);
        self.put(CHECKSUM_AT, checksum);
        Ok(self.image)
    }

    fn put(&mut self, at: usize, word: u32) {
        self.put_bytes(at, &word.to_le_bytes());
    }

    fn put_bytes(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.image.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn get(&self, at: usize) -> u32 {
        let bytes = self.image.get(at..at + 4).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }
}

fn tree_error(path: &Path, why: String) -> LabError {
    LabError::Tree {
        path: path.to_owned(),
        why,
    }
}

/// The names in a folder, in the order of their bytes.
fn names(folder: &Path) -> Result<Vec<OsString>, LabError> {
    let failed = || io_error(folder, "cannot be listed");
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed())? {
        names.push(entry.map_err(failed())?.file_name());
    }
    names.sort();
    Ok(names)
}

/// A device's number as cramfs has it: eight bits of major number, eight of minor.
fn device(path: &Path, number: u64) -> Result<u32, LabError> {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    match (u8::try_from(major), u8::try_from(minor)) {
        (Ok(major), Ok(minor)) => Ok(u32::from(major) << 8 | u32::from(minor)),
        _ => {
            let why = format!(
                "it is device {major}:{minor}, but cramfs allows numbers up to 255:255; remove \
                 it, because the kernel creates devices itself (devtmpfs)"
            );
            Err(tree_error(path, why))
        }
    }
}

/// Whether a file is one that processes map: an ELF file that is executable or shared
/// (`ET_EXEC`, `ET_DYN`), and no object or kernel module. As the image itself, it has
/// the little end first.
fn is_mapped(path: &Path) -> Result<bool, LabError> {
    const ELF: &[u8] = b"\x7fELF";
    const ET_EXEC: [u8; 2] = [2, 0];
    const ET_DYN: [u8; 2] = [3, 0];
    const TYPE_ENDS: u64 = 18;
    let failed = || io_error(path, "cannot be read");
    let mut header = Vec::new();
    let file = fs::File::open(path).map_err(failed())?;
    file.take(TYPE_ENDS)
        .read_to_end(&mut header)
        .map_err(failed())?;
    let kind = header.get(16..);
    Ok(header.starts_with(ELF) && [ET_EXEC, ET_DYN].iter().any(|k| kind == Some(k)))
}

/// The pointer to a block that begins `at`.
fn direct(at: usize) -> u32 {
    DIRECT | (at / 4) as u32
}

fn pack(block: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(block)?;
    encoder.finish()
}

#[cfg(test)]
mod tests;
