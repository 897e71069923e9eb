//! JFFS2 images of nodes that the fuzzer chooses, and what is seen in one.

use arbitrary::Arbitrary;
use flash::files::{Attribute, Device, Entry, Extracted, Sink, extract};
use flash::jffs2::node::{self, Dirent, Xattr, Xref, crc};
use flash::jffs2::{Endian, Filesystem, OpenOptions};
use std::io;

/// The smallest erase size that there is.
pub const ERASE_SIZE: usize = 8192;

/// Makes the checksums of all nodes right, so that the fuzzer gets past them.
pub fn mend(bytes: &mut [u8], endian: Endian) {
    let is_big = endian == Endian::Big;
    let n16 = |n: &[u8], at: usize| {
        let two = [n[at], n[at + 1]];
        usize::from(if is_big {
            u16::from_be_bytes(two)
        } else {
            u16::from_le_bytes(two)
        })
    };
    let n32 = |n: &[u8], at: usize| {
        let four = [n[at], n[at + 1], n[at + 2], n[at + 3]];
        (if is_big {
            u32::from_be_bytes(four)
        } else {
            u32::from_le_bytes(four)
        }) as usize
    };
    // Over which bytes, and where it stands.
    let seal = |n: &mut [u8], from: usize, length: usize, place: usize| {
        let summed = n.get(from..).and_then(|n| n.get(..length));
        if let Some(sum) = summed.map(crc)
            && let Some(place) = n.get_mut(place..place + 4)
        {
            place.copy_from_slice(&endian.put32(sum));
        }
    };
    let mut at = 0;
    while at + 12 <= bytes.len() {
        let n = &mut bytes[at..];
        at += 4;
        if n16(n, 0) != 0x1985 {
            continue;
        }
        seal(n, 0, 8, 8);
        match n16(n, 2) {
            0xe001 if n.len() >= 40 => {
                seal(n, 40, usize::from(n[28]), 36);
                seal(n, 0, 32, 32);
            }
            0xe002 if n.len() >= 68 => {
                seal(n, 68, n32(n, 48), 60);
                seal(n, 0, 60, 64);
            }
            0xe008 if n.len() >= 32 => {
                seal(n, 32, usize::from(n[21]) + 1 + n16(n, 22), 24);
                seal(n, 0, 28, 28);
            }
            0xe009 => seal(n, 0, 24, 24),
            0x2006 if n.len() >= 32 => {
                seal(n, 32, n32(n, 4).saturating_sub(32), 24);
                seal(n, 0, 24, 28);
            }
            _ => {}
        }
    }
}

/// A name: those that lead out of a folder are as likely as others.
#[derive(Debug, Arbitrary)]
pub enum Name {
    Parent,
    Here,
    Absolute,
    Through(u8),
    One(u8),
    Any(Vec<u8>),
}

impl Name {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Parent => b"..".to_vec(),
            Self::Here => b".".to_vec(),
            Self::Absolute => b"/tmp/outside".to_vec(),
            Self::Through(c) => vec![b'a' + c % 4, b'/', b'x'],
            Self::One(c) => vec![b'a' + c % 4],
            Self::Any(any) => any.iter().copied().take(254).collect(),
        }
    }
}

/// What stands in a block.
#[derive(Debug, Arbitrary)]
pub enum Made {
    Inode {
        ino: u8,
        version: u8,
        file_type: u8,
        size: u16,
        offset: u16,
        unpacked: Option<u16>,
        compression: u8,
        data: Vec<u8>,
    },
    Dirent {
        parent: u8,
        version: u8,
        ino: u8,
        file_type: u8,
        name: Name,
    },
    Xattr {
        xid: u8,
        version: u8,
        prefix: u8,
        name: Name,
        value: Vec<u8>,
    },
    Xref {
        ino: u8,
        xid: u8,
        sequence: u8,
    },
    /// A node of which only the header is right.
    Other {
        kind: u8,
        length: u8,
    },
    Erased(u8),
    Garbage(Vec<u8>),
}

/// Few inodes, so that nodes meet.
fn inode(number: u8) -> u32 {
    u32::from(number % 6)
}

fn file_type(number: u8) -> u8 {
    // Directories, files and links before what is seldom.
    [4, 8, 10, 4, 8, 10, 1, 2, 6, 12, 0, 15][usize::from(number % 12)]
}

impl Made {
    fn bytes(&self, endian: Endian) -> Vec<u8> {
        match self {
            Self::Inode {
                ino,
                version,
                file_type: kind,
                size,
                offset,
                unpacked,
                compression,
                data,
            } => node::Inode {
                ino: inode(*ino),
                version: u32::from(*version),
                mode: u32::from(file_type(*kind)) << 12 | 0o755,
                uid: 0,
                gid: 0,
                isize: u32::from(*size),
                atime: 0,
                mtime: 1,
                ctime: 2,
                offset: u32::from(*offset),
                dsize: unpacked.map_or(data.len() as u32, u32::from),
                compression: compression % 10,
                user_compression: 0,
                flags: 0,
                data,
            }
            .bytes(endian),
            Self::Dirent {
                parent,
                version,
                ino,
                file_type: kind,
                name,
            } => Dirent {
                parent: inode(*parent),
                version: u32::from(*version),
                ino: inode(*ino),
                mctime: 3,
                file_type: file_type(*kind),
                name: &name.bytes(),
            }
            .bytes(endian),
            Self::Xattr {
                xid,
                version,
                prefix,
                name,
                value,
            } => Xattr {
                xid: inode(*xid),
                version: u32::from(*version),
                prefix: *prefix,
                name: &name.bytes(),
                value,
            }
            .bytes(endian),
            Self::Xref { ino, xid, sequence } => Xref {
                ino: inode(*ino),
                xid: inode(*xid),
                sequence: u32::from(*sequence),
            }
            .bytes(endian),
            Self::Other { kind, length } => {
                let kinds = [
                    0x2003, 0x2004, 0x2006, 0x2abc, 0x6abc, 0xaabc, 0xeabc, 0xe001,
                ];
                let kind: u16 = kinds[usize::from(kind % 8)];
                let length = u32::from(*length).max(12);
                let mut bytes = [endian.put16(0x1985), endian.put16(kind)].concat();
                bytes.extend(endian.put32(length));
                let sum = crc(&bytes);
                bytes.extend(endian.put32(sum));
                bytes.resize(length as usize, 0xff);
                bytes
            }
            Self::Erased(words) => vec![0xff; usize::from(*words) * 4],
            Self::Garbage(bytes) => bytes.clone(),
        }
    }
}

/// An image in the making.
#[derive(Debug, Arbitrary)]
pub struct Image {
    pub big: bool,
    /// What is in each block, and whether it was made obsolete, as on NOR flash.
    blocks: Vec<Vec<(Made, u8)>>,
    patches: Vec<(u16, u8)>,
    cut: u8,
}

impl Image {
    pub fn endian(&self) -> Endian {
        match self.big {
            true => Endian::Big,
            false => Endian::Little,
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let endian = self.endian();
        let mut image = Vec::new();
        for made in self.blocks.iter().take(8) {
            let mut block: Vec<u8> = Vec::new();
            for (made, obsolete) in made {
                let mut bytes = made.bytes(endian);
                // Seldom, or most of an image would be dead.
                let upper = if self.big { 2 } else { 3 };
                if let (true, Some(byte)) = (*obsolete > 0xe0, bytes.get_mut(upper)) {
                    *byte &= !0x20;
                }
                if block.len() + bytes.len() > ERASE_SIZE {
                    break;
                }
                block.extend(bytes);
                block.resize(block.len().next_multiple_of(4), 0xff);
            }
            block.resize(ERASE_SIZE, 0xff);
            image.extend(block);
        }
        for (at, value) in &self.patches {
            if let Some(byte) = image.get_mut(usize::from(*at)) {
                *byte = *value;
            }
        }
        image.truncate(image.len().saturating_sub(usize::from(self.cut)));
        image
    }
}

/// All that extraction hands out, in its order.
#[derive(Debug, Default, PartialEq)]
pub struct Seen {
    steps: Vec<Step>,
    done: Option<Extracted>,
}

#[derive(Debug, PartialEq)]
enum Step {
    Made(Entry, Option<Device>, Vec<u8>),
    Bytes(u64, Vec<u8>),
    Metadata(Entry, Vec<Attribute>),
}

/// What is in an image; `None` if it cannot be opened.
pub fn look(image: &[u8], endian: Endian) -> Option<Seen> {
    let options = OpenOptions {
        erase_size: Some(ERASE_SIZE as u32),
        endian: Some(endian),
        ..OpenOptions::default()
    };
    let filesystem = Filesystem::open(&image, &options).ok()?;
    let mut seen = Seen::default();
    let done = extract(&filesystem, &mut seen).unwrap();
    seen.done = Some(done);
    Some(seen)
}

impl Seen {
    fn made(&mut self, entry: &Entry, device: Option<Device>, to: &[u8]) -> io::Result<()> {
        self.steps
            .push(Step::Made(entry.clone(), device, to.to_vec()));
        Ok(())
    }
}

impl Sink for Seen {
    fn directory(&mut self, entry: &Entry) -> io::Result<()> {
        self.made(entry, None, &[])
    }
    fn file(&mut self, entry: &Entry) -> io::Result<()> {
        self.made(entry, None, &[])
    }
    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.steps.push(Step::Bytes(offset, bytes.to_vec()));
        Ok(())
    }
    fn symlink(&mut self, entry: &Entry, target: &[u8]) -> io::Result<()> {
        self.made(entry, None, target)
    }
    fn hard_link(&mut self, entry: &Entry, original: &[u8]) -> io::Result<()> {
        self.made(entry, None, original)
    }
    fn special(&mut self, entry: &Entry, device: Option<Device>) -> io::Result<bool> {
        self.made(entry, device, &[]).map(|()| true)
    }
    fn metadata(&mut self, entry: &Entry, attributes: &[Attribute]) -> io::Result<()> {
        self.steps
            .push(Step::Metadata(entry.clone(), attributes.to_vec()));
        Ok(())
    }
}
