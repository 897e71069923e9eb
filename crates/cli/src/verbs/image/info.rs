//! `firstlight image info`: what an image is.

use super::args::Info;
use super::file::File;
use super::mount::{Mounts, Storage};
use super::{json, screen};
use crate::out::Out;
use anyhow::{Context, Result, bail};
use bootimage::{Part, info, initramfs};
use inspect::open;
use inspect::whole::{Item, Kind, inspect};
use rawimage::compression::LIMIT;
use std::path::Path;

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
            if let Kind::Boot(info::Kind::Initramfs(_)) = item.kind {
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

/// The kernel's configuration, as `scripts/extract-ikconfig` prints it.
fn config(args: &Info, out: &mut Out) -> Result<()> {
    for path in &args.files {
        inspected(path, |name, _, items| {
            let items = all(&items);
            let mut contents = items.iter().filter_map(|i| i.kind.boot()?.content());
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
