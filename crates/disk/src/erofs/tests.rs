#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

use crate::testing::{each_file, image_of_tree, tool};
use rawimage::Part;
use rawimage::ReadAt;
use std::fs;
use std::path::Path;

/// Every byte of every file, put together from where the map says it lies.
fn reads_back(options: &[&str]) {
    let make = |root: &str, image: &str| {
        tool(
            "mkfs.erofs",
            &[&["--quiet"], options, &[image, root]].concat(),
        )
    };
    image_of_tree(&make, &check);
}

fn check(root: &Path, slice: &[u8]) {
    let volume = Part::whole(&slice).unwrap();
    let map = super::map(&volume).unwrap();
    assert_eq!(map.notes, Vec::<String>::new());
    let files = each_file(root, &map, &mut |path, _, pieces| {
        let wanted = fs::read(path).unwrap();
        let mut got = vec![0; wanted.len()];
        let ends: Vec<usize> = pieces
            .iter()
            .skip(1)
            .map(|p| p.offset.unwrap() as usize)
            .chain([wanted.len()])
            .collect();
        for (p, end) in pieces.iter().zip(ends) {
            let len = p.len.min(slice.len() as u64 - p.start);
            let mut stored = vec![0; len as usize];
            slice.read_exact_at(p.start, &mut stored).unwrap();
            let offset = p.offset.unwrap() as usize;
            let rest = &wanted[offset..end];
            if p.is_packed && !stored.starts_with(rest) {
                // LZ4 ends with the cluster: zeros are in front of it.
                let from = stored.iter().position(|b| *b != 0).unwrap_or(0);
                // What is packed may go further than it is used, and zeros may
                // follow it: what counts is what comes out.
                let mut out = vec![0; 4 << 20];
                lz4_flex::block::decompress_into(&stored[from..], &mut out).ok();
                stored = out;
            }
            let len = stored.len().min(rest.len());
            got[offset..offset + len].copy_from_slice(&stored[..len]);
        }
        assert!(got == wanted, "{} is not what was read", path.display());
    });
    assert!(files > 700);
}

#[test]
fn every_file_reads_back() {
    for options in [
        &[][..],
        &["-E", "noinline_data"],
        &["-E", "force-inode-extended"],
        &["--chunksize=4096"],
        &["--chunksize=65536", "-E", "force-chunk-indexes"],
    ] {
        reads_back(options);
    }
}

#[test]
fn every_packed_file_reads_back() {
    for options in [
        &["-zlz4"][..],
        &["-zlz4hc", "-C65536"],
        &["-zlz4", "-E", "legacy-compress"],
        &["-zlz4", "-C16384", "-E", "legacy-compress"],
        &["-zlz4", "-E", "ztailpacking"],
        &["-zlz4", "-C65536", "-E", "ztailpacking"],
    ] {
        reads_back(options);
    }
}

/// Smaller blocks than pages: an entry of the index still has room for 12 bits.
#[test]
fn packed_files_in_small_blocks_read_back() {
    for options in [
        &["-zlz4", "-b512"][..],
        &["-zlz4hc", "-b1024"],
        &["-zlz4", "-b2048"],
        &["-zlz4", "-b2048", "-C8192"],
        &["-zlz4", "-b1024", "-E", "legacy-compress"],
    ] {
        reads_back(options);
    }
}
