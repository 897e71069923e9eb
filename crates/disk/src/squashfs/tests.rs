#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

use super::metadata::unpack;
use super::superblock::Superblock;
use crate::map::Kind;
use crate::testing::{each_file, image_of_tree, tool};
use rawimage::Part;
use rawimage::ReadAt;
use std::fs;
use std::path::Path;

/// Every byte of every file, put together from where the map says it lies.
fn reads_back(options: &[&str]) {
    let make = |root: &str, image: &str| {
        let arguments = [&[root, image, "-noappend", "-quiet"], options].concat();
        tool("mksquashfs", &arguments)
    };
    image_of_tree(&make, &check);
}

fn check(root: &Path, slice: &[u8]) {
    let volume = Part::whole(&slice).unwrap();
    let sb = Superblock::read(&volume).unwrap();
    let map = super::map(&volume).unwrap();
    assert_eq!(map.notes, Vec::<String>::new());
    let size = u64::from(sb.block_size);
    let files = each_file(root, &map, &mut |path, _, pieces| {
        let wanted = fs::read(path).unwrap();
        let mut got = vec![0; wanted.len()];
        for p in pieces {
            let mut stored = vec![0; p.len as usize];
            slice.read_exact_at(p.start, &mut stored).unwrap();
            let offset = p.offset.unwrap() as usize;
            if p.is_packed {
                stored = unpack(sb.compressor, &stored, size as usize).unwrap();
            }
            let rest = &wanted[offset..];
            if rest.len() < size as usize && !stored.starts_with(rest) {
                // The end of a file, among others in a fragment.
                let found = memchr::memmem::find(&stored, rest);
                assert!(found.is_some(), "{} is not in its fragment", path.display());
                stored = rest.to_vec();
            }
            let len = stored.len().min(rest.len());
            got[offset..offset + len].copy_from_slice(&stored[..len]);
        }
        assert!(got == wanted, "{} is not what was read", path.display());
    });
    assert!(files > 700);
    // All of the image is somebody's.
    let mut nobodys = Vec::new();
    map.pieces(0, sb.facts.bytes, &mut |e| {
        if e.kind == Kind::Unmapped {
            nobodys.push((e.start, e.len));
        }
    });
    assert_eq!(nobodys, []);
}

#[test]
fn every_file_reads_back_with_every_compressor() {
    for compressor in ["gzip", "lzma", "lzo", "lz4", "xz", "zstd"] {
        reads_back(&["-comp", compressor, "-b", "16384"]);
    }
}

#[test]
fn every_file_reads_back_with_every_layout() {
    for options in [
        &["-no-fragments"][..],
        &["-always-use-fragments", "-b", "4096"],
        &["-b", "256K", "-no-duplicates"],
        &["-noI", "-noD", "-noF"],
        &[
            "-no-exports",
            "-no-xattrs",
            "-comp",
            "xz",
            "-Xdict-size",
            "8192",
        ],
    ] {
        reads_back(options);
    }
}
