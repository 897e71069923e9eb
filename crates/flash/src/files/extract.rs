//! Files out of an image, into something that takes them.

use super::{Attribute, Device, Entry, Failure, FileType, Files, Name, NameFault, Piece, Visit};
use std::collections::BTreeMap;
use std::io;

/// Takes the files of an image, in the order of the walk.
///
/// Paths are relative, and no part of them is `..`; a directory comes before
/// what is in it.
pub trait Sink {
    /// Makes a directory; not called for the root.
    ///
    /// # Errors
    /// Ends the extraction.
    fn directory(&mut self, entry: &Entry) -> io::Result<()>;

    /// Begins a file. Its bytes follow; what is not written is zero.
    ///
    /// # Errors
    /// Ends the extraction.
    fn file(&mut self, entry: &Entry) -> io::Result<()>;

    /// Writes to the file that was begun.
    ///
    /// # Errors
    /// Ends the extraction.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// Ends the extraction.
    fn symlink(&mut self, entry: &Entry, target: &[u8]) -> io::Result<()>;

    /// Makes another name for a file that was made at `original`.
    ///
    /// # Errors
    /// Ends the extraction.
    fn hard_link(&mut self, entry: &Entry, original: &[u8]) -> io::Result<()>;

    /// Makes a pipe, a socket, or a device. `false` if it was not to be made.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] and [`io::ErrorKind::Unsupported`]
    /// are told and passed over; others end the extraction.
    fn special(&mut self, entry: &Entry, device: Option<Device>) -> io::Result<bool>;

    /// Gives metadata to what was made: a file after its last byte, a directory
    /// after all that is in it.
    ///
    /// # Errors
    /// As for [`Sink::special`].
    fn metadata(&mut self, entry: &Entry, attributes: &[Attribute]) -> io::Result<()>;
}

/// Something that is not as it was in the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotExtracted {
    /// The path.
    pub path: Vec<u8>,
    /// What.
    pub why: Why,
}

/// Why something is not as it was in the image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The name is no good.
    Name(Name, NameFault),
    /// So many bytes of the file could not be had, and are zero.
    Data(u64, Failure),
    /// So many bytes of the file are in no node, and are zero.
    Gap(u64),
    /// The link or device is damaged, or of no known type.
    Damaged,
    /// It is a device, and devices were not asked for.
    Device,
    /// The sink could not make it.
    NotMade(io::ErrorKind),
    /// The sink could not give it all of its metadata.
    Metadata(io::ErrorKind),
}

impl Why {
    /// Whether the image is at fault, and not the rights of the user.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        !matches!(self, Self::Device | Self::NotMade(_) | Self::Metadata(_))
    }

    /// A name for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Name(..) => "name",
            Self::Data(..) => "data",
            Self::Gap(_) => "gap",
            Self::Damaged => "damaged",
            Self::Device | Self::NotMade(_) => "not_made",
            Self::Metadata(_) => "metadata",
        }
    }
}

/// What was extracted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Directories, the root among them.
    pub directories: u64,
    /// Regular files.
    pub files: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Further names of files.
    pub hard_links: u64,
    /// Pipes, sockets and devices.
    pub specials: u64,
    /// Bytes of files that were written.
    pub bytes: u64,
    /// What is not as it was.
    pub not: Vec<NotExtracted>,
}

/// Hands all files to `sink`.
///
/// # Errors
/// The image cannot be read, or the sink cannot go on.
pub fn extract<F: Files + ?Sized>(
    filesystem: &F,
    sink: &mut dyn Sink,
) -> Result<Extracted, F::Error> {
    let mut done = Extracted::default();
    // The first path of each file with several names.
    let mut originals: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    for visit in filesystem.tree() {
        match visit? {
            Visit::Fault(path, name, fault) => done.not.push(NotExtracted {
                path,
                why: Why::Name(name, fault),
            }),
            Visit::Leave(entry) => metadata(filesystem, sink, &entry, &mut done)?,
            Visit::Entry(entry) => {
                let ino = entry.stat.ino;
                if let Some(original) = originals.get(&ino) {
                    sink.hard_link(&entry, original).map_err(F::failed)?;
                    done.hard_links += 1;
                    continue;
                }
                let made = one(filesystem, sink, &entry, &mut done)?;
                if made && entry.stat.links > 1 && entry.stat.file_type != FileType::Directory {
                    originals.insert(ino, entry.path);
                }
            }
        }
    }
    Ok(done)
}

/// Makes one file; says whether it was made.
fn one<F: Files + ?Sized>(
    filesystem: &F,
    sink: &mut dyn Sink,
    entry: &Entry,
    done: &mut Extracted,
) -> Result<bool, F::Error> {
    let ino = entry.stat.ino;
    let not = |done: &mut Extracted, why| {
        let path = entry.path.clone();
        done.not.push(NotExtracted { path, why });
    };
    match entry.stat.file_type {
        FileType::Directory => {
            if !entry.path.is_empty() {
                sink.directory(entry).map_err(F::failed)?;
            }
            done.directories += 1;
            // Its metadata comes when all is in it.
            return Ok(true);
        }
        FileType::File => {
            sink.file(entry).map_err(F::failed)?;
            let mut bytes = 0;
            let mut lost = None;
            let mut gap = 0;
            filesystem.read(ino, &mut |offset, piece| {
                match piece {
                    Piece::Data(data) => {
                        bytes += data.len() as u64;
                        sink.write(offset, data)?;
                    }
                    Piece::Zeros(_) => {}
                    Piece::Gap(count) => gap += count,
                    Piece::Lost(count, why) => {
                        let (all, _) = lost.get_or_insert((0, why));
                        *all += count;
                    }
                }
                Ok(())
            })?;
            if let Some((bytes, why)) = lost {
                not(done, Why::Data(bytes, why));
            }
            if gap > 0 {
                not(done, Why::Gap(gap));
            }
            done.files += 1;
            done.bytes += bytes;
        }
        FileType::Symlink => match filesystem.link_target(ino)? {
            Some(target) if !target.is_empty() => {
                sink.symlink(entry, &target).map_err(F::failed)?;
                done.symlinks += 1;
            }
            _ => {
                not(done, Why::Damaged);
                return Ok(false);
            }
        },
        FileType::Unknown => {
            not(done, Why::Damaged);
            return Ok(false);
        }
        FileType::BlockDevice | FileType::CharacterDevice => match filesystem.device(ino)? {
            Some(device) => return special(filesystem, sink, entry, Some(device), done),
            None => {
                not(done, Why::Damaged);
                return Ok(false);
            }
        },
        FileType::Fifo | FileType::Socket => {
            return special(filesystem, sink, entry, None, done);
        }
    }
    metadata(filesystem, sink, entry, done)?;
    Ok(true)
}

fn special<F: Files + ?Sized>(
    filesystem: &F,
    sink: &mut dyn Sink,
    entry: &Entry,
    device: Option<Device>,
    done: &mut Extracted,
) -> Result<bool, F::Error> {
    match sink.special(entry, device) {
        Ok(true) => {
            done.specials += 1;
            metadata(filesystem, sink, entry, done)?;
            Ok(true)
        }
        Ok(false) => {
            let path = entry.path.clone();
            let why = Why::Device;
            done.not.push(NotExtracted { path, why });
            Ok(false)
        }
        Err(e) if passes(&e) => {
            let path = entry.path.clone();
            let why = Why::NotMade(e.kind());
            done.not.push(NotExtracted { path, why });
            Ok(false)
        }
        Err(e) => Err(F::failed(e)),
    }
}

fn metadata<F: Files + ?Sized>(
    filesystem: &F,
    sink: &mut dyn Sink,
    entry: &Entry,
    done: &mut Extracted,
) -> Result<(), F::Error> {
    let attributes = filesystem.attributes(entry.stat.ino)?;
    match sink.metadata(entry, &attributes) {
        Ok(()) => Ok(()),
        Err(e) if passes(&e) => {
            let path = entry.path.clone();
            let why = Why::Metadata(e.kind());
            done.not.push(NotExtracted { path, why });
            Ok(())
        }
        Err(e) => Err(F::failed(e)),
    }
}

fn passes(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported
    )
}
