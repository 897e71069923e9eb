//! `firstlight image info`: what an image is.

use super::args::Info;
use super::mount::{Mounts, Storage};
use super::{json, screen};
use crate::out::Out;
use crate::verbs::flash::open;
use anyhow::{Context, Result, bail};
use image::boot::compression::LIMIT;
use image::boot::cpio::Entry;
use image::boot::info::{Item, Kind, inspect};
use image::boot::kernel::{Content, Payload};
use image::boot::{Part, initramfs};
use std::path::Path;

/// One file, and what it is.
pub struct File {
    pub name: String,
    pub bytes: u64,
    pub items: Vec<Item>,
    /// The entries of archives, with the number of their segment, if they are
    /// wanted.
    pub entries: Option<Vec<(usize, Entry)>>,
    /// What mounting costs.
    pub mounts: Mounts,
}

pub fn run(args: &Info, out: &mut Out) -> Result<()> {
    if args.config {
        return config(args, out);
    }
    let mut files = Vec::new();
    for path in &args.files {
        crate::progress::say(format!("reading {}", path.display()));
        files.push(inspected(path, |name, part, items| {
            file(name, part, items, args.entries, args.storage.as_ref())
        })?);
    }
    crate::progress::clear();
    if out.json {
        return out.text(&json::text(&files));
    }
    out.text(&screen::files(&files, &out.style))
}

/// Gives `with` the name of a file, its bytes, and what they are.
fn inspected<T>(
    path: &Path,
    with: impl FnOnce(String, &Part<'_>, Vec<Item>) -> Result<T>,
) -> Result<T> {
    let name = path.display().to_string();
    let file = open::image(path)?;
    let part = Part::whole(&file).with_context(|| name.clone())?;
    let items = inspect(&part, LIMIT).with_context(|| name.clone())?;
    with(name, &part, items)
}

fn file(
    name: String,
    part: &Part<'_>,
    items: Vec<Item>,
    entries: bool,
    storage: Option<&Storage>,
) -> Result<File> {
    let mut listed = entries.then(Vec::new);
    if let Some(listed) = &mut listed {
        for item in all(&items) {
            if let Kind::Initramfs(_) = item.kind {
                let part = part.part(item.offset, item.size);
                initramfs::read_with(&part, LIMIT, &mut |segment, entry| {
                    listed.push((segment, entry.clone()));
                })
                .with_context(|| name.clone())?;
            }
        }
    }
    Ok(File {
        mounts: Mounts::of(part, &all(&items), storage),
        bytes: part.len(),
        name,
        items,
        entries: listed,
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

/// The packed kernel of an item.
pub fn payload(kind: &Kind) -> Option<&Payload> {
    match kind {
        Kind::ZImage(z) => z.payload.as_ref(),
        Kind::BzImage(_, payload) => payload.as_ref(),
        Kind::Zboot(z) => z.payload.as_ref(),
        Kind::Packed(payload) => Some(payload),
        _ => None,
    }
}

/// What is known of the kernel that an item is, or holds.
pub fn content(kind: &Kind) -> Option<&Content> {
    match kind {
        Kind::Flat(_, content) | Kind::Elf(_, content) => Some(content),
        kind => payload(kind).map(|p| &p.content),
    }
}

/// The kernel's configuration, as `scripts/extract-ikconfig` prints it.
fn config(args: &Info, out: &mut Out) -> Result<()> {
    for path in &args.files {
        inspected(path, |name, _, items| {
            let items = all(&items);
            let mut contents = items.iter().filter_map(|i| content(&i.kind));
            match contents.find_map(|c| c.config.as_deref()) {
                Some(config) => out.bytes(config),
                None => bail!(
                    "{name}: holds no kernel configuration; it is there with CONFIG_IKCONFIG, \
                     else look for /boot/config-*"
                ),
            }
        })?;
    }
    Ok(())
}
