//! What a file is, with the entries of its archives and the cost of its mounts.

use crate::error::{Error, Of};
use crate::mounting::{Mounts, OfBlock, On};
use crate::open;
use crate::whole::{Item, Kind, inspect};
use bootimage::cpio::Entry;
use bootimage::{info, initramfs};
use rawimage::Part;
use rawimage::compression::LIMIT;
use std::path::Path;

/// One file, and what it is.
#[derive(Clone, Debug)]
pub struct Contents {
    /// Its path.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// What it is, in order of place.
    pub items: Vec<Item>,
    /// The entries of archives, with the number of their segment, if they are wanted.
    pub entries: Option<Vec<(usize, Entry)>>,
    /// What mounting costs.
    pub mounts: Mounts,
}

/// What is wanted of a file.
pub struct Wanted<'a> {
    /// The entries of archives.
    pub entries: bool,
    /// The storage of its filesystems, if the user named one.
    pub storage: Option<On<'a>>,
    /// What a mount on a block device costs.
    pub of_block: &'a OfBlock<'a>,
}

/// Looks into the file at `path`.
///
/// # Errors
/// It cannot be read, or is empty.
pub fn contents(path: &Path, wanted: &Wanted<'_>) -> Result<Contents, Error> {
    let name = path.display().to_string();
    let file = open::image(path)?;
    let part = Part::whole(&file).of(&name)?;
    let items = inspect(&part, LIMIT).of(&name)?;
    let mut listed = wanted.entries.then(Vec::new);
    if let Some(listed) = &mut listed {
        for item in all(&items) {
            if let Kind::Boot(info::Kind::Initramfs(_)) = item.kind {
                let part = part.part(item.offset, item.size);
                initramfs::read_with(&part, LIMIT, &mut |segment, entry| {
                    listed.push((segment, entry.clone()));
                })
                .of(&name)?;
            }
        }
    }
    Ok(Contents {
        mounts: Mounts::of(&part, &all(&items), wanted.storage, wanted.of_block),
        bytes: part.len(),
        name,
        items,
        entries: listed,
    })
}

/// The configuration of the kernel in the file at `path`, as `scripts/extract-ikconfig`
/// prints it.
///
/// # Errors
/// It cannot be read, or holds none.
pub fn kernel_config(path: &Path) -> Result<Vec<u8>, Error> {
    let name = path.display().to_string();
    let file = open::image(path)?;
    let part = Part::whole(&file).of(&name)?;
    let items = inspect(&part, LIMIT).of(&name)?;
    let items = all(&items);
    let mut contents = items.iter().filter_map(|i| i.kind.boot()?.content());
    let config = contents.find_map(|c| c.config.clone());
    config.ok_or_else(|| {
        let why = "holds no kernel configuration; it is there with CONFIG_IKCONFIG, else look for \
                   /boot/config-*";
        Error::unusable(&name, why)
    })
}

/// Items, and those in them.
fn all(items: &[Item]) -> Vec<&Item> {
    let mut flat = Vec::new();
    for item in items {
        flat.push(item);
        flat.extend(all(&item.inside));
    }
    flat
}
