//! `firstlight image order`: an order of access in the form that an image
//! builder takes.

use super::args::{Builder, Order as Args};
use super::list::paths;
use crate::beside;
use crate::out::Out;
use anyhow::{Result, bail};
use std::collections::HashSet;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The highest and the lowest rank of `mksquashfs -sort`.
const RANKS: (i64, i64) = (32_767, -32_768);

/// A path that is left out, and why.
type Skipped = (Vec<u8>, &'static str);

/// What was made, and what not.
struct Made {
    text: Vec<u8>,
    files: u64,
    skipped: Vec<Skipped>,
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    if args.builder == Builder::Ext4 {
        return super::arrange::run(args, out);
    }
    let list = paths(&args.list)?;
    let made = match args.builder {
        Builder::Mksquashfs => mksquashfs(&list, args.root.as_deref()),
        Builder::Tar | Builder::Cpio | Builder::Ext4 => archive(&list, args)?,
    };
    if made.files == 0 {
        bail!("{}: no file of it can be put in order", args.list.display());
    }
    if let Some(path) = &args.out {
        beside::write(path, |f| Ok(f.write_all(&made.text)?))?;
    }
    if out.json {
        let skipped = made.skipped.iter().map(|(path, reason)| {
            serde_json::json!({ "path": String::from_utf8_lossy(path), "reason": reason })
        });
        return out.text(&views::json::text(&serde_json::json!({
            "schema": "firstlight.image.order/1",
            "for": args.builder.word(),
            "out": args.out.as_ref().map(|o| o.to_string_lossy()),
            "files": made.files,
            "skipped": skipped.collect::<Vec<_>>(),
        })));
    }
    for (path, reason) in &made.skipped {
        anstream::eprintln!("firstlight: {}: {reason}", String::from_utf8_lossy(path));
    }
    match args.out {
        Some(_) => Ok(()),
        None => out.bytes(&made.text),
    }
}

/// A path without the slash in front.
fn relative(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|b| *b != b'/').unwrap_or(path.len());
    path.get(start..).unwrap_or_default()
}

/// What of a list is there once, and is a file below the root.
fn chosen(
    list: &[Vec<u8>],
    root: Option<&Path>,
    folders_too: bool,
) -> (Vec<Vec<u8>>, Vec<Skipped>) {
    let (mut good, mut skipped) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for path in list {
        let name = relative(path);
        if !seen.insert(name.to_vec()) {
            continue;
        }
        let unsafe_part = |p: &[u8]| matches!(p, b".." | b"." | b"");
        let reason = if name.split(|b| *b == b'/').any(unsafe_part) {
            Some("it is no plain path")
        } else if let Some(root) = root {
            let full = root.join(std::ffi::OsStr::from_bytes(name));
            match std::fs::symlink_metadata(full) {
                Ok(about) if about.is_dir() && !folders_too => Some("it is a folder"),
                Ok(_) => None,
                Err(_) => Some("it is not there"),
            }
        } else {
            None
        };
        match reason {
            Some(reason) => skipped.push((path.clone(), reason)),
            None => good.push(name.to_vec()),
        }
    }
    (good, skipped)
}

/// A list for `-sort`: a name below the source folder, a blank, a rank. The
/// highest rank lies first in the image.
fn mksquashfs(list: &[Vec<u8>], root: Option<&Path>) -> Made {
    let (good, mut skipped) = chosen(list, root, false);
    let (high, low) = RANKS;
    let span = usize::try_from(high - low).unwrap_or(0);
    // More files than ranks share ranks: neighbours do.
    let step = good.len().div_ceil(span + 1).max(1);
    let mut text = Vec::new();
    let mut files = 0;
    for (number, name) in good.iter().enumerate() {
        // The list is read as words, and a blank ends a name unless it is
        // escaped; a line break cannot be written.
        if name.contains(&b'\n') {
            skipped.push((name.clone(), "mksquashfs takes no line break in a name"));
            continue;
        }
        for byte in name {
            if matches!(byte, b' ' | b'\t' | b'\\') {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        let rank = high - i64::try_from(number / step).unwrap_or(0);
        text.extend_from_slice(format!(" {rank}\n").as_bytes());
        files += 1;
    }
    Made {
        text,
        files,
        skipped,
    }
}

/// The names of an archive, in order: for `tar --no-recursion -T` and for
/// `cpio -o`. Folders come before what is in them, the files of the list
/// before all others.
fn archive(list: &[Vec<u8>], args: &Args) -> Result<Made> {
    let Some(root) = args.root.as_deref() else {
        bail!(
            "--for {} needs --root FOLDER: the archive holds all of it, the files of the list first",
            args.builder.word()
        );
    };
    let (good, mut skipped) = chosen(list, Some(root), true);
    let separator = if args.null { b'\0' } else { b'\n' };
    let mut text = Vec::new();
    let mut written = HashSet::new();
    let mut files = 0;
    let mut put = |name: &[u8], text: &mut Vec<u8>| {
        // The folders on the way, first.
        let ends = name.iter().enumerate().filter(|(_, b)| **b == b'/');
        let parents: Vec<&[u8]> = ends.filter_map(|(at, _)| name.get(..at)).collect();
        for part in parents.into_iter().chain([name]) {
            if written.insert(part.to_vec()) {
                text.extend_from_slice(part);
                text.push(separator);
            }
        }
    };
    for name in &good {
        if separator == b'\n' && name.contains(&b'\n') {
            skipped.push((name.clone(), "a line break is in its name; say --null"));
            continue;
        }
        put(name, &mut text);
        files += 1;
    }
    for name in everything(root)? {
        if separator == b'\n' && name.contains(&b'\n') {
            skipped.push((name, "a line break is in its name; say --null"));
            continue;
        }
        put(&name, &mut text);
    }
    Ok(Made {
        text,
        files,
        skipped,
    })
}

/// All names below a folder, in byte order; links are not followed.
fn everything(root: &Path) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let mut folders = vec![Vec::new()];
    while let Some(folder) = folders.pop() {
        let full = root.join(std::ffi::OsStr::from_bytes(&folder));
        let entries = std::fs::read_dir(&full)
            .map_err(|e| anyhow::anyhow!("{}: cannot be listed: {e}", full.display()))?;
        for entry in entries {
            let entry = entry?;
            let mut name = folder.clone();
            if !name.is_empty() {
                name.push(b'/');
            }
            name.extend_from_slice(entry.file_name().as_bytes());
            if entry.file_type()?.is_dir() {
                folders.push(name.clone());
            }
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}
