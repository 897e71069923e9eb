//! The files of an image, as a list shows them.

use crate::files::{Attribute, Device, Entry, FileType, Files, NameFault, Stat, Visit};
use crate::{jffs2, ubifs};

/// Files of an image.
#[derive(Clone, Debug)]
pub struct Listing {
    /// `jffs2` or `ubifs`.
    pub filesystem: &'static str,
    /// In the order of the walk.
    pub files: Vec<Listed>,
    /// Paths that are no good, and why.
    pub faults: Vec<(Vec<u8>, NameFault)>,
}

/// A file of an image.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The path; empty for the root.
    pub path: Vec<u8>,
    /// Its metadata.
    pub stat: Stat,
    /// Where a symbolic link leads; `None` if it is damaged, or no link.
    pub target: Option<Vec<u8>>,
    /// The numbers of a device; `None` if it is damaged, or no device.
    pub device: Option<Device>,
    /// Extended attributes, sorted by name.
    pub attributes: Vec<Attribute>,
    /// Its nodes in JFFS2, in the order in which the kernel replays them, if they were
    /// asked for.
    pub nodes: Option<Vec<jffs2::Write>>,
}

impl Listing {
    /// The files of a JFFS2 image, `wanted` and below; with their nodes, if `nodes`.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn jffs2(
        filesystem: &jffs2::Filesystem,
        wanted: &[u8],
        nodes: bool,
    ) -> Result<Self, jffs2::Error> {
        let mut listing = Self::of("jffs2", filesystem, wanted)?;
        for file in listing.files.iter_mut().filter(|_| nodes) {
            file.nodes = Some(filesystem.history(file.stat.ino)?);
        }
        Ok(listing)
    }

    /// The files of a UBIFS image, `wanted` and below.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn ubifs(filesystem: &ubifs::Filesystem, wanted: &[u8]) -> Result<Self, ubifs::Error> {
        Self::of("ubifs", filesystem, wanted)
    }

    /// Whether there is nothing of what was wanted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.faults.is_empty()
    }

    fn of<F: Files>(name: &'static str, filesystem: &F, wanted: &[u8]) -> Result<Self, F::Error> {
        let wanted = relative(wanted);
        let mut listing = Self {
            filesystem: name,
            files: Vec::new(),
            faults: Vec::new(),
        };
        for visit in filesystem.tree() {
            match visit? {
                Visit::Entry(entry) if is_wanted(&entry.path, wanted) => {
                    listing.files.push(file(filesystem, entry)?);
                }
                Visit::Fault(folder, name, fault) => {
                    let mut path = folder;
                    if !path.is_empty() {
                        path.push(b'/');
                    }
                    path.extend(&name.name);
                    if is_wanted(&path, wanted) {
                        listing.faults.push((path, fault));
                    }
                }
                Visit::Entry(_) | Visit::Leave(_) => {}
            }
        }
        Ok(listing)
    }
}

/// A path as it is in an image: one on the target begins with a slash.
#[must_use]
pub fn relative(path: &[u8]) -> &[u8] {
    let path = path.trim_ascii();
    let path = path.strip_prefix(b".").unwrap_or(path);
    let start = path.iter().position(|b| *b != b'/');
    let path = path.get(start.unwrap_or(path.len())..);
    let path = path.unwrap_or_default();
    path.strip_suffix(b"/").unwrap_or(path)
}

/// Whether a path is the one that is wanted, or below it.
fn is_wanted(path: &[u8], wanted: &[u8]) -> bool {
    match path.strip_prefix(wanted) {
        Some(rest) => wanted.is_empty() || rest.is_empty() || rest.starts_with(b"/"),
        None => false,
    }
}

fn file<F: Files>(filesystem: &F, entry: Entry) -> Result<Listed, F::Error> {
    let stat = entry.stat;
    // A damaged link or device is listed; `verify` says what is wrong with it.
    let target = match stat.file_type {
        FileType::Symlink => filesystem.link_target(stat.ino)?,
        _ => None,
    };
    let device = match stat.file_type {
        FileType::BlockDevice | FileType::CharacterDevice => filesystem.device(stat.ino)?,
        _ => None,
    };
    Ok(Listed {
        path: entry.path,
        stat,
        target,
        device,
        attributes: filesystem.attributes(stat.ino)?,
        nodes: None,
    })
}

#[cfg(test)]
mod tests {
    use super::{is_wanted, relative};

    #[test]
    fn a_folder_is_not_what_begins_alike() {
        assert!(is_wanted(b"etc/passwd", b"etc"));
        assert!(is_wanted(b"etc", b"etc"));
        assert!(is_wanted(b"etc", b""));
        assert!(!is_wanted(b"etcetera", b"etc"));
    }

    #[test]
    fn a_path_is_wanted_however_it_is_written() {
        for path in [&b"etc"[..], b"/etc", b"./etc", b"etc/", b"//etc/"] {
            assert_eq!(relative(path), b"etc");
        }
        for path in [&b""[..], b".", b"/", b"./"] {
            assert_eq!(relative(path), b"");
        }
    }
}
