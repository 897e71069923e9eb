//! Packing and unpacking, against the tools that own the formats.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]

use firstlight_rawimage::Part;
use firstlight_rawimage::compression::{Compression, Decoder, Failure, LIMIT, encode, measure};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

fn packed(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode(compression, &mut &*bytes, &mut out).unwrap();
    out
}

fn unpacked(compression: Compression, bytes: &[u8], limit: u64) -> Result<Vec<u8>, Failure> {
    let part = Part::whole(&bytes).unwrap();
    let mut decoder = Decoder::new(compression, &part, limit)?;
    let mut out = Vec::new();
    decoder.read_to_end(&mut out)?;
    assert_eq!(decoder.produced(), out.len() as u64);
    Ok(out)
}

/// Text with repeats, so that something is packed; longer than a block.
fn sample() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut state = 1_u32;
    while bytes.len() < 300_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        writeln!(bytes, "line {} of a sample", state >> 20).unwrap();
    }
    bytes
}

/// Runs a tool as a filter; `None`, with a line, where it is not installed.
fn filter(tool: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let child = Command::new(tool[0])
        .args(&tool[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("skipped: {} is not there", tool[0]);
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(&input).ok());
    let out = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(out.status.success(), "{tool:?}");
    Some(out.stdout)
}

/// The tools, with the arguments to pack and to unpack.
const TOOLS: [(Compression, &[&str], &[&str]); 8] = [
    (
        Compression::Gzip,
        &["gzip", "-9", "-c"],
        &["gzip", "-d", "-c"],
    ),
    (Compression::Bzip2, &["bzip2", "-c"], &["bzip2", "-d", "-c"]),
    (Compression::Lzma, &["lzma", "-c"], &["lzma", "-d", "-c"]),
    (
        Compression::Xz,
        &["xz", "--check=crc32", "--x86", "--lzma2=dict=32MiB"],
        &["xz", "-d", "-c"],
    ),
    (
        Compression::Lzo,
        &["lzop", "-9", "-c"],
        &["lzop", "-d", "-c"],
    ),
    (
        Compression::Lz4,
        &["lz4", "-l", "-9", "-c"],
        &["lz4", "-d", "-c"],
    ),
    (Compression::Lz4Frame, &["lz4", "-c"], &["lz4", "-d", "-c"]),
    (
        Compression::Zstd,
        &["zstd", "-19", "-c"],
        &["zstd", "-d", "-c"],
    ),
];

#[test]
fn the_tools_and_this_read_each_other() {
    let bytes = sample();
    for (compression, pack, unpack) in TOOLS {
        let Some(theirs) = filter(pack, &bytes) else {
            continue;
        };
        assert_eq!(Compression::detect(&theirs), Some(compression));
        assert_eq!(unpacked(compression, &theirs, LIMIT).unwrap(), bytes);
        let ours = packed(compression, &bytes);
        assert_eq!(Compression::detect(&ours), Some(compression));
        assert_eq!(filter(unpack, &ours).unwrap(), bytes, "{compression}");
    }
}

#[test]
fn a_stream_ends_where_it_ends() {
    let bytes = sample();
    for compression in Compression::ALL {
        if compression == Compression::None {
            continue;
        }
        // What follows is no part of the stream: zeros, or another archive.
        for tail in [&b""[..], &[0; 64], b"070701 and so on, for a while"] {
            let mut stream = packed(compression, &bytes);
            let length = stream.len() as u64;
            stream.extend(tail);
            let image = stream.as_slice();
            let part = Part::whole(&image).unwrap();
            let found = measure(compression, &part, LIMIT).unwrap();
            assert_eq!(found.packed, length, "{compression} before {tail:?}");
            assert_eq!(found.unpacked, bytes.len() as u64);
        }
    }
}

#[test]
fn a_cut_or_damaged_stream_is_no_whole_one() {
    let bytes = sample();
    for compression in Compression::ALL {
        // Nothing tells where the first two end but their end; the reader of
        // the third takes a missing end mark for one.
        if matches!(
            compression,
            Compression::None | Compression::Lz4 | Compression::Lz4Frame
        ) {
            continue;
        }
        let stream = packed(compression, &bytes);
        for cut in [1, 2, 3, 5, 20, 100, stream.len() / 2, stream.len() - 1] {
            assert!(
                unpacked(compression, &stream[..cut], LIMIT).is_err(),
                "{compression} cut at {cut}"
            );
        }
        let mut flipped = stream.clone();
        flipped[stream.len() / 2] ^= 0x10;
        let same = unpacked(compression, &flipped, LIMIT).is_ok_and(|b| b == bytes);
        assert!(!same, "{compression}");
    }
}

#[test]
fn bombs_are_refused() {
    let zeros = vec![0; 3 << 20];
    for compression in Compression::ALL {
        let stream = packed(compression, &zeros);
        let refused = unpacked(compression, &stream, 1 << 20).unwrap_err();
        assert!(
            matches!(refused, Failure::TooLong { limit } if limit == 1 << 20),
            "{compression}: {refused}"
        );
        assert_eq!(unpacked(compression, &stream, 3 << 20).unwrap(), zeros);
    }
    // A dictionary of nearly 4 GiB, and a window of 2 GiB.
    let mut lzma = packed(Compression::Lzma, b"small");
    lzma[1..5].copy_from_slice(&0xc000_0000_u32.to_le_bytes());
    let refused = unpacked(Compression::Lzma, &lzma, LIMIT).unwrap_err();
    assert!(matches!(refused, Failure::TooMuchMemory), "{refused}");
    let zstd = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 1, 0, 0];
    let refused = unpacked(Compression::Zstd, &zstd, LIMIT).unwrap_err();
    assert!(matches!(refused, Failure::TooMuchMemory), "{refused}");
}

#[test]
fn what_is_no_stream_is_not_taken_for_one() {
    for bytes in [
        &b""[..],
        b"BZhx",
        b"070701",
        &[0x5d, 0, 0, 0, 1, 2],
        &[0x1f, 0x8b],
    ] {
        assert_eq!(Compression::detect(bytes), None, "{bytes:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_was_packed_is_unpacked(bytes in proptest::collection::vec(0_u8..8, 0..2000)) {
        for compression in Compression::ALL {
            let stream = packed(compression, &bytes);
            prop_assert_eq!(&stream, &packed(compression, &bytes));
            prop_assert_eq!(unpacked(compression, &stream, LIMIT).unwrap(), bytes.clone());
        }
    }

    #[test]
    fn nothing_panics(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        which in 0_usize..9,
        flip in any::<usize>(),
    ) {
        let compression = Compression::ALL[which];
        unpacked(compression, &bytes, 1 << 16).ok();
        let mut stream = packed(compression, &bytes);
        if !stream.is_empty() {
            let at = flip % stream.len();
            stream[at] ^= 1 << (flip % 8);
            unpacked(compression, &stream, 1 << 16).ok();
            unpacked(compression, &stream[..at], 1 << 16).ok();
        }
    }
}
