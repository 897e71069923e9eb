#![no_main]

use image::blocks::ext::arrange::{Arrangement, Wanted, arrange};
use image::blocks::ext::map;
use image::blocks::{Kind, Map};
use image::boot::Part;
use std::ops::Range;

/// A whole filesystem of 64 blocks.
const WHOLE: &[u8] = include_bytes!("../../corpus/disk/small.ext4");

#[derive(Debug, arbitrary::Arbitrary)]
enum Need {
    Content { inode: u8, offset: u16, len: u16 },
    Tree { inode: u8 },
    Place { start: u16, len: u16 },
}

impl Need {
    fn wanted(&self) -> Wanted {
        match *self {
            Self::Content { inode, offset, len } => Wanted::Content {
                inode: u32::from(inode % 24),
                offset: u64::from(offset),
                len: u64::from(len),
            },
            Self::Tree { inode } => Wanted::Tree {
                inode: u32::from(inode % 24),
            },
            Self::Place { start, len } => Wanted::Place {
                start: u64::from(start),
                len: u64::from(len),
            },
        }
    }
}

fn range(bytes: &[u8], start: u64, len: u64) -> Range<usize> {
    let (start, end) = (start as usize, (start + len) as usize);
    assert!(end <= bytes.len(), "outside of the image");
    start..end
}

/// The image as it is after that.
fn done(bytes: &[u8], done: &Arrangement) -> Vec<u8> {
    let mut new = bytes.to_vec();
    for (from, to, len) in &done.copies {
        let copied = bytes[range(bytes, *from, *len)].to_vec();
        new[range(bytes, *to, *len)].copy_from_slice(&copied);
    }
    for (at, what) in &done.writes {
        new[range(bytes, *at, what.len() as u64)].copy_from_slice(what);
    }
    new
}

/// The content of each file and directory, block by block.
fn content(bytes: &[u8], map: &Map) -> Vec<(u32, u64, Vec<u8>)> {
    let mut all = Vec::new();
    for extent in map.extents() {
        let (Kind::File | Kind::Directory, Some(inode), Some(offset)) =
            (extent.kind, extent.inode, extent.offset)
        else {
            continue;
        };
        for block in (0..extent.len).step_by(1024) {
            let at = (extent.start + block) as usize;
            if let Some(block_bytes) = bytes.get(at..at + 1024) {
                all.push((inode, offset + block, block_bytes.to_vec()));
            }
        }
    }
    all.sort();
    all
}

libfuzzer_sys::fuzz_target!(|input: (Vec<Need>, Vec<(u16, u8)>)| {
    let (needs, patches) = input;
    let mut bytes = WHOLE.to_vec();
    for (at, value) in &patches {
        bytes[usize::from(*at)] ^= value;
    }
    let image = bytes.as_slice();
    let part = Part::whole(&image).unwrap();
    let Ok(before) = map(&part) else {
        return;
    };
    let wanted: Vec<Wanted> = needs.iter().map(Need::wanted).collect();
    let Ok(arrangement) = arrange(&part, &before, &wanted) else {
        return;
    };
    let after = done(&bytes, &arrangement);
    let after_image = after.as_slice();
    let after_map = map(&Part::whole(&after_image).unwrap()).unwrap();
    // Of a damaged filesystem only that it is laid out within itself.
    if before.notes.is_empty() && patches.is_empty() {
        assert_eq!(after_map.notes, before.notes);
        assert!(content(&after, &after_map) == content(&bytes, &before));
    }
});
