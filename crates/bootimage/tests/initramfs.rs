//! Chains of archives, against cpio and against what they were made of.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]

use firstlight_bootimage::initramfs::{
    Initramfs, RepackError, fingerprint, read, read_with, repack,
};
use proptest::prelude::*;
use rawimage::Part;
use rawimage::compression::{Compression, LIMIT, encode};
use std::io::Write;
use std::process::{Command, Stdio};

/// An entry to make: name, mode, content.
type Made<'a> = (&'a str, u32, &'a [u8]);

fn archive(entries: &[Made<'_>], checked: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let end: &[Made<'_>] = &[("TRAILER!!!", 0, b"")];
    for (i, (name, mode, content)) in entries.iter().chain(end).enumerate() {
        out.extend(if checked { b"070702" } else { b"070701" });
        let sum = content.iter().map(|b| u32::from(*b)).sum();
        let fields = [
            i as u32 + 1,
            *mode,
            0,
            0,
            1,
            1_700_000_000,
            content.len() as u32,
            0,
            0,
            5,
            1,
            name.len() as u32 + 1,
            if checked { sum } else { 0 },
        ];
        for field in fields {
            out.extend(format!("{field:08x}").as_bytes());
        }
        out.extend(name.as_bytes());
        out.push(0);
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(*content);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    out
}

const EARLY: &[Made<'_>] = &[
    ("kernel", 0o040_755, b""),
    ("kernel/x86", 0o040_755, b""),
    ("kernel/x86/microcode", 0o040_755, b""),
    (
        "kernel/x86/microcode/GenuineIntel.bin",
        0o100_644,
        b"microcode",
    ),
];
const MAIN: &[Made<'_>] = &[
    (".", 0o040_755, b""),
    ("init", 0o100_755, b"#!/bin/sh\n"),
    ("dev/console", 0o020_600, b""),
    ("bin/sh", 0o120_777, b"busybox"),
    ("empty", 0o100_644, b""),
];

fn packed(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode(compression, &mut &*bytes, &mut out).unwrap();
    out
}

fn look(image: &[u8]) -> Initramfs {
    read(&Part::whole(&image).unwrap(), LIMIT).unwrap()
}

fn print(image: &[u8]) -> [u8; 32] {
    fingerprint(&Part::whole(&image).unwrap(), LIMIT).unwrap()
}

fn repacked(image: &[u8], compression: Compression) -> Result<Vec<u8>, RepackError> {
    let mut out = Vec::new();
    let done = repack(&Part::whole(&image).unwrap(), compression, LIMIT, &mut out)?;
    assert_eq!(done.bytes, out.len() as u64);
    Ok(out)
}

const USED: [Compression; 8] = [
    Compression::None,
    Compression::Gzip,
    Compression::Bzip2,
    Compression::Lzma,
    Compression::Xz,
    Compression::Lzo,
    Compression::Lz4,
    Compression::Zstd,
];

#[test]
fn a_chain_is_read_as_the_kernel_does() {
    let early = archive(EARLY, false);
    for compression in USED {
        // With zeros between the parts, as mkinitramfs and dracut have them.
        for zeros in [0, 4, 512 - early.len() % 512] {
            let mut image = early.clone();
            image.resize(image.len() + zeros, 0);
            let second = image.len() as u64;
            image.extend(packed(compression, &archive(MAIN, true)));
            let found = look(&image);
            assert!(found.is_whole(), "{compression} {zeros}: {found:?}");
            assert_eq!(found.segments.len(), 2);
            let [first, main] = &found.segments[..] else {
                panic!("two segments");
            };
            assert_eq!((first.offset, first.padding), (0, zeros as u64));
            assert_eq!((first.size, first.count()), (early.len() as u64, 4));
            assert!(first.is_only_early && first.early.len() == 1);
            assert_eq!((main.offset, main.compression), (second, compression));
            assert_eq!(main.unpacked, archive(MAIN, true).len() as u64);
            assert_eq!(main.count(), 5);
            assert_eq!(main.entries[&'c'], 1);
            assert_eq!(main.content, 17);
            assert_eq!(found.end, image.len() as u64);
        }
    }
}

#[test]
fn archives_in_one_stream_are_counted_together() {
    let mut stream = archive(MAIN, false);
    stream.resize(stream.len().next_multiple_of(512), 0);
    stream.extend(archive(EARLY, false));
    stream.resize(stream.len().next_multiple_of(512), 0);
    let image = packed(Compression::Gzip, &stream);
    let found = look(&image);
    assert_eq!((found.segments.len(), found.count()), (1, 9));
    // Microcode in there is not found early.
    assert!(
        found.problems[0].contains("is compressed"),
        "{:?}",
        found.problems
    );
    // Plain, it is two archives; what it unpacks to is the same.
    let plain = repacked(&image, Compression::None).unwrap();
    assert_eq!(look(&plain).segments.len(), 2);
    assert_eq!(print(&plain), print(&image));
}

/// Linux does not ask for the entry that ends an archive, and some builders leave it out.
#[test]
fn an_archive_without_its_last_entry_is_packed_anew() {
    let whole = archive(MAIN, false);
    let open = &whole[..whole.len() - 124];
    let padded = [open, &[0; 512]].concat();
    let chain = [
        &padded[..],
        &packed(Compression::Gzip, &archive(MAIN, false)),
    ]
    .concat();
    for (image, segments) in [(open, 1), (&padded[..], 1), (&chain[..], 2)] {
        let found = look(image);
        assert_eq!(found.segments.len(), segments);
        assert!(
            found.is_whole() && found.segments[0].is_open_ended,
            "{found:?}"
        );
        assert_eq!(found.segments[0].size, open.len() as u64);
        let gzip = repacked(image, Compression::Gzip).unwrap();
        assert_eq!(print(&gzip), print(image));
    }
    // What follows and is nothing that Linux unpacks stays wrong.
    let junk = [open, b"junk"].concat();
    assert!(look(&junk).segments[0].problem.is_some());
}

#[test]
fn what_is_wrong_is_told() {
    let whole = archive(MAIN, false);
    let told = |image: &[u8]| {
        let found = look(image);
        let problem = found.segments.first().and_then(|s| s.problem.clone());
        problem
            .or(found.problems.first().cloned())
            .unwrap_or_default()
    };
    assert!(told(&whole[..whole.len() - 124]).contains("without the entry TRAILER!!!"));
    assert!(told(&whole[..250]).contains("inside an entry"));
    let mut wrong = whole.clone();
    wrong[116 + 8] = b'x';
    assert!(
        told(&wrong).contains("invalid hexadecimal number"),
        "{}",
        told(&wrong)
    );
    let mut wrong = whole.clone();
    wrong[116..122].copy_from_slice(b"070707");
    assert!(told(&wrong).contains("old cpio format"));
    let mut wrong = archive(MAIN, true);
    let at = wrong.windows(4).position(|w| w == b"#!/b").unwrap();
    wrong[at] = b'X';
    assert!(
        told(&wrong).contains("checksum of init is wrong"),
        "{}",
        told(&wrong)
    );
    // An absurd length of a name, and of a content.
    let mut wrong = whole.clone();
    wrong[94..102].copy_from_slice(b"ffffffff");
    assert!(told(&wrong).contains("4294967295"));
    let mut wrong = whole.clone();
    wrong[54..62].copy_from_slice(b"ffffffff");
    assert!(told(&wrong).contains("inside an entry"));
    let mut junk = whole.clone();
    junk.extend(b"junk");
    assert!(told(&junk).contains("begins neither"));
    let gz = packed(Compression::Gzip, &whole);
    assert!(told(&gz[..gz.len() - 3]).contains("truncated"));
    for image in [&junk[..], &gz[..gz.len() - 3], b""] {
        assert!(repacked(image, Compression::Zstd).is_err());
    }
    assert!(matches!(
        repacked(&whole, Compression::Lz4Frame),
        Err(RepackError::NotForLinux(_))
    ));
}

#[test]
fn bombs_are_refused() {
    let zeros = vec![0; 8 << 20];
    let bomb = packed(
        Compression::Zstd,
        &archive(&[("zeros", 0o100_644, &zeros)], false),
    );
    let image = bomb.as_slice();
    let part = Part::whole(&image).unwrap();
    let found = read(&part, 1 << 20).unwrap();
    let problem = found.segments[0].problem.as_deref().unwrap();
    assert!(
        problem.contains("more than the limit of 1048576 bytes"),
        "{problem}"
    );
    assert!(repack(&part, Compression::Gzip, 1 << 20, &mut Vec::new()).is_err());
}

#[test]
fn cpio_lists_the_same() {
    let image = archive(MAIN, false);
    let child = Command::new("cpio")
        .args(["-t", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("skipped: cpio is not there");
        return;
    };
    child.stdin.take().unwrap().write_all(&image).unwrap();
    let theirs = child.wait_with_output().unwrap().stdout;
    let mut ours = Vec::new();
    read_with(
        &Part::whole(&image.as_slice()).unwrap(),
        LIMIT,
        &mut |_, e| {
            ours.extend(&e.name);
            ours.push(b'\n');
        },
    )
    .unwrap();
    assert_eq!(ours, theirs);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Packed in any way and in any way again, an initramfs unpacks to the same.
    #[test]
    fn entries_stay_whatever_is_done(
        contents in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..6),
        first in 0_usize..8,
        second in 0_usize..8,
        third in 0_usize..8,
        early in any::<bool>(),
        checked in any::<bool>(),
    ) {
        let made: Vec<Made<'_>> = contents.iter().map(|c| ("some/name", 0o100_644, &c[..])).collect();
        let mut image = if early { archive(EARLY, false) } else { Vec::new() };
        for part in [&made[..], MAIN] {
            image.resize(image.len().next_multiple_of(4), 0);
            image.extend(packed(USED[first], &archive(part, checked)));
            image.extend([0; 4]);
        }
        let before = print(&image);
        let once = repacked(&image, USED[second]).unwrap();
        prop_assert_eq!(print(&once), before);
        let twice = repacked(&once, USED[third]).unwrap();
        prop_assert_eq!(print(&twice), before);
        prop_assert!(look(&twice).is_whole());
        prop_assert_eq!(look(&twice).count(), look(&image).count());
        if early {
            let length = archive(EARLY, false).len();
            prop_assert_eq!(&twice[..length], &image[..length]);
        }
    }

    #[test]
    fn nothing_panics(
        which in 0_usize..8,
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut image = archive(EARLY, false);
        image.extend(packed(USED[which], &archive(MAIN, true)));
        for (at, value) in flips {
            let at = at.index(image.len());
            image[at] = value;
        }
        let cut = cut.index(image.len());
        for image in [&image[..], &image[..cut]] {
            let part = Part::whole(&image).unwrap();
            let found = read(&part, 1 << 20).unwrap();
            prop_assert!(found.end <= part.len());
            repack(&part, Compression::None, 1 << 20, &mut Vec::new()).ok();
            fingerprint(&part, 1 << 20).ok();
        }
    }
}
