//! Access lists as bytes: they come back as they were, and nothing that is wrong
//! with them does harm.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use firstlight_agent::access::{
    AccessList, Entry, Identity, ListError, Range, RangeKind, decode, encode, is_plain, merge,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn identity() -> impl Strategy<Value = Identity> {
    prop_oneof![
        (
            any::<u64>(),
            any::<i64>(),
            0u32..1_000_000_000,
            any::<u64>(),
            any::<u32>()
        )
            .prop_map(
                |(size, mtime_s, mtime_ns, inode, generation)| Identity::File {
                    size,
                    mtime_s,
                    mtime_ns,
                    inode,
                    generation
                }
            ),
        (any::<u64>(), any::<u64>(), any::<u64>())
            .prop_map(|(size, kind, number)| Identity::Device { size, kind, number }),
    ]
}

fn ranges(recordings: u32) -> impl Strategy<Value = Vec<Range>> {
    let one = (
        0u64..1000,
        1u64..5000,
        0u64..1 << 40,
        1..=recordings,
        any::<bool>(),
    );
    prop::collection::vec(one, 0..12).prop_map(|all| {
        let mut end = 0;
        all.into_iter()
            .map(|(gap, pages, first_us, seen, touched)| {
                let page = end + gap;
                end = page + pages;
                let kind = match touched {
                    true => RangeKind::Touched,
                    false => RangeKind::Around,
                };
                Range {
                    page,
                    pages,
                    first_us,
                    seen,
                    kind,
                }
            })
            .collect()
    })
}

fn list() -> impl Strategy<Value = AccessList> {
    (1u32..9, 1usize..4).prop_flat_map(|(recordings, programs)| {
        let entry = (identity(), 0..programs as u32, ranges(recordings));
        let entries = prop::collection::btree_map("(/[a-z.]{1,3}[a-c]){1,4}", entry, 0..20);
        (
            entries,
            prop::collection::vec(".{0,9}", programs),
            any::<u64>(),
            ".{0,20}",
        )
            .prop_map(move |(entries, programs, directories, title)| {
                let mut list = AccessList {
                    recordings,
                    page_bytes: 4096,
                    machine: "x86_64".to_owned(),
                    title,
                    programs,
                    directories,
                    entries: entries
                        .into_iter()
                        .map(|(path, (identity, program, ranges))| Entry {
                            path: path.into_bytes(),
                            identity,
                            program,
                            ranges,
                        })
                        .collect(),
                };
                list.entries
                    .sort_by(|a, b| (a.is_device(), &a.path).cmp(&(b.is_device(), &b.path)));
                list
            })
    })
}

/// For each page of each path: in how many recordings, and whether touched.
fn pages(list: &AccessList) -> BTreeMap<(Vec<u8>, u64), (u32, RangeKind)> {
    let mut pages = BTreeMap::new();
    for entry in &list.entries {
        for range in &entry.ranges {
            for page in range.page..range.end() {
                pages.insert((entry.path.clone(), page), (range.seen, range.kind));
            }
        }
    }
    pages
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_list_comes_back(list in list()) {
        prop_assert_eq!(decode(&encode(&list)).unwrap(), list);
    }

    #[test]
    fn a_list_that_is_cut_short_is_told(list in list()) {
        let bytes = encode(&list);
        for end in 0..bytes.len() {
            prop_assert!(decode(&bytes[..end]).is_err(), "cut to {}", end);
        }
    }

    #[test]
    fn a_flipped_bit_is_told(list in list(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut bytes = encode(&list);
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        prop_assert!(decode(&bytes).is_err(), "byte {} bit {}", at, bit);
    }

    /// Behind a right checksum, too, nothing panics and nothing grows.
    #[test]
    fn wrong_fields_do_no_harm(list in list(), at in any::<prop::sample::Index>(), byte: u8) {
        let mut bytes = encode(&list);
        let start = bytes.iter().position(|b| *b == b'\n').unwrap() + 9;
        let at = start + at.index(bytes.len() - start);
        bytes[at] = byte;
        let crc = firstlight_agent::access::checksum(&bytes[start..]);
        bytes[start - 4..start].copy_from_slice(&crc.to_le_bytes());
        if let Ok(list) = decode(&bytes) {
            prop_assert!(list.entries.iter().all(|e| is_plain(&e.path)));
            prop_assert_eq!(encode(&list).len(), encode(&decode(&encode(&list)).unwrap()).len());
        }
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
        let mut file = b"firstlight-access-list 1\n".to_vec();
        file.extend((bytes.len() as u32).to_le_bytes());
        file.extend(firstlight_agent::access::checksum(&bytes).to_le_bytes());
        file.extend(&bytes);
        let _ = decode(&file);
    }

    /// A page of the merged list was needed in as many recordings as it was.
    #[test]
    fn merging_counts_pages(a in ranges(1), b in ranges(1)) {
        let of = |ranges: &[Range]| AccessList {
            recordings: 1,
            page_bytes: 4096,
            entries: vec![Entry {
                path: b"/f".to_vec(),
                identity: Identity::File {
                    size: 1 << 40, mtime_s: 1, mtime_ns: 2, inode: 3, generation: 4,
                },
                program: 0,
                ranges: ranges.to_vec(),
            }],
            programs: vec!["p".to_owned()],
            ..AccessList::default()
        };
        let lists = [of(&a), of(&b)];
        let merged = merge(&lists);
        prop_assert_eq!(merged.recordings, 2);
        let (a, b) = (pages(&lists[0]), pages(&lists[1]));
        let both = pages(&merged);
        let all: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
        prop_assert_eq!(both.len(), all.len());
        for key in all {
            let (a, b) = (a.get(key), b.get(key));
            let seen = a.map_or(0, |p| p.0) + b.map_or(0, |p| p.0);
            let kind = a.into_iter().chain(b).map(|p| p.1).max().unwrap();
            prop_assert_eq!(both[key], (seen, kind));
        }
        prop_assert_eq!(decode(&encode(&merged)).unwrap(), merged);
    }
}

fn one(path: &str, mtime_s: i64, page: u64) -> AccessList {
    AccessList {
        recordings: 1,
        page_bytes: 4096,
        machine: "x86_64".to_owned(),
        programs: vec!["p".to_owned()],
        entries: vec![Entry {
            path: path.into(),
            identity: Identity::File {
                size: 1 << 20,
                mtime_s,
                mtime_ns: 0,
                inode: 1,
                generation: 1,
            },
            program: 0,
            ranges: vec![Range {
                page,
                pages: 1,
                first_us: 7,
                seen: 1,
                kind: RangeKind::Touched,
            }],
        }],
        ..AccessList::default()
    }
}

#[test]
fn a_path_that_leaves_the_root_is_refused() {
    for path in [
        "/../etc/passwd",
        "/a/../b",
        "a",
        "/a//b",
        "/a/./b",
        "/a/",
        "",
        "/a\0b",
    ] {
        let error = decode(&encode(&one(path, 1, 0))).unwrap_err();
        assert!(matches!(error, ListError::Path { .. }), "{path}: {error}");
    }
    assert!(decode(&encode(&one("/..a/b", 1, 0))).is_ok());
}

#[test]
fn a_newer_list_is_told_by_its_version() {
    let text = b"firstlight-access-list 2\nwhatever comes then";
    assert_eq!(decode(text), Err(ListError::Newer { found: 2 }));
    assert_eq!(decode(b"#!/bin/sh\n"), Err(ListError::Another));
}

#[test]
fn of_a_file_that_changed_only_the_newest_content_counts() {
    let merged = merge(&[one("/f", 1, 5), one("/f", 2, 9)]);
    let ranges = &merged.entries[0].ranges;
    assert_eq!((merged.recordings, ranges.len()), (2, 1));
    assert_eq!((ranges[0].page, ranges[0].seen), (9, 1));
}

#[test]
fn pieces_end_with_the_file() {
    let mut list = one("/f", 1, 0);
    list.entries[0].ranges[0].pages = 1000;
    assert_eq!(
        list.entries[0].pieces(RangeKind::Touched, 4096),
        [(0, 1 << 20)]
    );
}
