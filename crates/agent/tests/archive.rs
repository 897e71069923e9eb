//! Captures as tars: what is written is read, and what is not ours is refused.
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use firstlight_agent::capture::{CaptureError, Limits, Member, manifest, read_tar, write_tar};
use proptest::prelude::*;
use std::io::{self, Read};
use tar::{EntryType, Header};

fn tar_of(members: &[Member]) -> Vec<u8> {
    let mut tar = Vec::new();
    write_tar(&mut tar, members).unwrap();
    tar
}

fn read(tar: &[u8]) -> Result<Vec<Member>, CaptureError> {
    read_tar(tar, Limits::default())
}

/// One header with the bytes of `name` as they are.
fn header(name: &[u8], kind: EntryType, size: u64) -> Vec<u8> {
    let mut h = Header::new_gnu();
    h.as_mut_bytes()[..name.len()].copy_from_slice(name);
    h.set_entry_type(kind);
    h.set_size(size);
    h.set_mode(0o644);
    h.set_cksum();
    h.as_bytes().to_vec()
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        members in proptest::collection::btree_map("[a-z]{1,9}(/[a-z.]{0,120}[a-z]){0,2}", any::<Vec<u8>>(), 0..6)
    ) {
        let members: Vec<Member> = members.into_iter().collect();
        prop_assert_eq!(read(&tar_of(&members)).unwrap(), members);
    }

    #[test]
    fn no_bytes_make_it_panic(flips in proptest::collection::vec((0usize..3000, any::<u8>()), 0..9), cut in 0usize..3500) {
        let mut tar = tar_of(&[("a".into(), vec![1; 700]), ("b".repeat(150), vec![2; 9])]);
        for (at, byte) in flips {
            tar[at] = byte;
        }
        tar.truncate(cut);
        let _ = read(&tar);
    }
}

#[test]
fn the_same_members_give_the_same_bytes() {
    let members = [("manifest.json".into(), vec![1]), ("kmsg".into(), vec![])];
    assert_eq!(tar_of(&members), tar_of(&members));
}

#[test]
fn names_outside_the_capture_are_refused() {
    for name in [
        "/etc/passwd",
        "../up",
        "a/../../up",
        "a//b",
        "a/./b",
        "..",
        "",
        "a\\..\\b",
    ] {
        let tar = header(name.as_bytes(), EntryType::Regular, 0);
        assert!(
            matches!(read(&tar), Err(CaptureError::Name { .. })),
            "{name}"
        );
        assert!(
            write_tar(io::sink(), &[(name.into(), vec![])]).is_err(),
            "{name}"
        );
    }
    let harmless = header(b"./kmsg", EntryType::Regular, 0);
    assert_eq!(read(&harmless).unwrap(), [("kmsg".to_owned(), vec![])]);
}

#[test]
fn a_long_name_cannot_smuggle_a_path() {
    let mut gnu = header(b"long", EntryType::GNULongName, 6);
    gnu.extend(b"../up\0");
    gnu.resize(1024, 0);
    gnu.extend(header(b"short", EntryType::Regular, 0));
    assert!(matches!(read(&gnu), Err(CaptureError::Name { .. })));

    let mut pax = header(b"pax", EntryType::XHeader, 14);
    pax.extend(b"14 path=../up\n");
    pax.resize(1024, 0);
    pax.extend(header(b"short", EntryType::Regular, 0));
    assert!(matches!(read(&pax), Err(CaptureError::Name { .. })));
}

#[test]
fn links_and_devices_are_refused_and_folders_skipped() {
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
        EntryType::GNULongLink,
    ] {
        let tar = header(b"kmsg", kind, 0);
        assert!(
            matches!(read(&tar), Err(CaptureError::Kind { .. })),
            "{kind:?}"
        );
    }
    assert!(read(&header(b"kmsg", EntryType::GNUSparse, 0)).is_err());
    let folder = header(b"proc/", EntryType::Directory, 0);
    assert_eq!(read(&folder).unwrap(), []);
}

#[test]
fn limits_hold_before_a_byte_is_read() {
    let large = header(b"kmsg", EntryType::Regular, 10 << 30);
    let error = read(&large).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the capture is too large: its size of one member is 10737418240 at `kmsg`, above the limit of 268435456; capture again with less data"
    );
    let limits = Limits {
        total_bytes: 100,
        ..Limits::default()
    };
    let two = tar_of(&[("a".into(), vec![0; 60]), ("b".into(), vec![0; 60])]);
    assert!(matches!(
        read_tar(&two[..], limits),
        Err(CaptureError::TooLarge {
            found: 120,
            limit: 100,
            ..
        })
    ));
    let few = Limits {
        members: 1,
        ..Limits::default()
    };
    assert!(matches!(
        read_tar(&two[..], few),
        Err(CaptureError::TooLarge { .. })
    ));
    let name = header(b"long", EntryType::GNULongName, 1 << 30);
    assert!(matches!(read(&name), Err(CaptureError::TooLarge { .. })));
}

/// A pax extension that says `key=value` about the member behind it.
fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let records: String = records
        .iter()
        .map(|(key, value)| {
            // The length counts its own digits; these records have two.
            let length = key.len() + value.len() + 5;
            format!("{length} {key}={value}\n")
        })
        .collect();
    let mut tar = header(b"PaxHeaders/0", EntryType::XHeader, records.len() as u64);
    tar.extend(records.as_bytes());
    tar.resize(1024, 0);
    tar
}

#[test]
fn a_size_in_a_pax_extension_is_named() {
    let mut large = pax(&[("path", "trace.dat"), ("size", "10737418240")]);
    large.extend(header(b"trace.dat", EntryType::Regular, 0));
    assert_eq!(
        read(&large).unwrap_err().to_string(),
        "the capture is too large: its size of one member is 10737418240 at `trace.dat`, above the limit of 268435456; capture again with less data"
    );
    let mut small = pax(&[("size", "5000")]);
    small.extend(header(b"kmsg", EntryType::Regular, 5000));
    assert_eq!(
        read(&small).unwrap_err().to_string(),
        "the capture member `PaxHeaders/0` uses a pax size extension, which is not supported; repack the capture with `tar --format=gnu`"
    );
}

#[test]
fn a_capture_that_ends_early_is_cut() {
    let tar = tar_of(&[("kmsg".into(), vec![1; 1000])]);
    let error = read(&tar[..900]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the capture is truncated: `kmsg` should have 1000 bytes but has 388; capture or copy it again"
    );
    assert!(matches!(
        read(b"\x7fELF and so on"),
        Err(CaptureError::NotTar { .. })
    ));
}

#[test]
fn zeros_without_end_are_an_empty_tar() {
    assert_eq!(
        read_tar(io::repeat(0).take(4 << 30), Limits::default()).unwrap(),
        []
    );
}

#[test]
fn a_name_twice_is_refused() {
    let mut tar = header(b"kmsg", EntryType::Regular, 0);
    tar.extend(header(b"./kmsg", EntryType::Regular, 0));
    assert!(matches!(read(&tar), Err(CaptureError::Twice { .. })));
}

#[test]
fn the_manifest_comes_first_and_says_its_version() {
    let with = |name: &str, json: &str| manifest(&[(name.into(), json.as_bytes().to_vec())]);
    let good = r#"{"firstlight_capture":1,"taken_by":"x"}"#;
    assert_eq!(with("manifest.json", good).unwrap().taken_by, "x");
    let error = with("kmsg", good).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not a capture: it begins with `kmsg` instead of `manifest.json`; repack it with `manifest.json` first"
    );
    assert!(matches!(
        manifest(&[]),
        Err(CaptureError::NoManifest { .. })
    ));
    let later = r#"{"firstlight_capture":2,"taken_by":"x"}"#;
    assert!(matches!(
        with("manifest.json", later),
        Err(CaptureError::Version { found: 2 })
    ));
    assert!(matches!(
        with("manifest.json", "{}"),
        Err(CaptureError::Manifest(_))
    ));
}
