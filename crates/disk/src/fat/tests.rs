#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use super::{facts, map};
use crate::facts::State;
use crate::file::File;
use crate::map::{Kind, Map};
use crate::testing::{each_file, noise, tool};
use rawimage::{Part, ReadAt};
use std::fs;
use std::process::Command;

/// An image of 36 clusters of 512 bytes, with 12 bits for each: `KERNEL8.IMG` in clusters 2, 4
/// and 3, `config.txt` by its small letters, and `overlays/disable-bt.d-tbo` by a long name in two parts.
fn by_hand() -> Vec<u8> {
    let mut image = vec![0_u8; 40 * 512];
    let put = |image: &mut Vec<u8>, at: usize, bytes: &[u8]| {
        image[at..at + bytes.len()].copy_from_slice(bytes);
    };
    put(&mut image, 0, &[0xeb, 0x3c, 0x90]);
    // Sectors of 512 bytes, clusters of one, one reserved, two tables, 16 entries in the root,
    // 40 sectors, one for each table.
    put(
        &mut image,
        11,
        &[0, 2, 1, 1, 0, 2, 16, 0, 40, 0, 0xf8, 1, 0],
    );
    put(&mut image, 38, &[0x29, 0x78, 0x56, 0x34, 0x12]);
    put(&mut image, 43, b"NO NAME    FAT12   ");
    put(&mut image, 510, &[0x55, 0xaa]);
    let chains = [
        (0, 0xff8),
        (1, 0xfff),
        (2, 4),
        (3, 0xfff),
        (4, 3),
        (5, 0xfff),
        (6, 0xfff),
        (7, 0xfff),
    ];
    for copy in [512, 1024] {
        for (n, value) in chains {
            let at = copy + n + n / 2;
            let old = u16::from_le_bytes([image[at], image[at + 1]]);
            let new = if n % 2 == 0 {
                old | value
            } else {
                old | value << 4
            };
            put(&mut image, at, &new.to_le_bytes());
        }
    }
    let mut entry = |at: usize, name: &[u8; 11], kind: u8, case: u8, first: u8, size: u32| {
        put(&mut image, at, name);
        image[at + 11] = kind;
        image[at + 12] = case;
        image[at + 26] = first;
        put(&mut image, at + 28, &size.to_le_bytes());
    };
    let root = 1536;
    entry(root, b"BOOTFS     ", 0x08, 0, 0, 0);
    entry(root + 32, b"KERNEL8 IMG", 0x20, 0, 2, 1500);
    entry(root + 64, b"\xe5LD     IMG", 0x20, 0, 9, 1500);
    entry(root + 96, b"CONFIG  TXT", 0x20, 0x18, 5, 5);
    entry(root + 128, b"OVERLAYS   ", 0x10, 0x08, 6, 0);
    let folder = 2048 + 4 * 512;
    entry(folder, b".          ", 0x10, 0, 6, 0);
    entry(folder + 32, b"..         ", 0x10, 0, 0, 0);
    entry(folder + 128, b"DISABL~1DTB", 0x20, 0, 7, 3);
    let sum = b"DISABL~1DTB"
        .iter()
        .fold(0_u8, |s, b| s.rotate_right(1).wrapping_add(*b));
    for (at, number, text) in [(folder + 64, 0x42, "tbo"), (folder + 96, 1, "disable-bt.d")] {
        image[at] = number;
        image[at + 11] = 0x0f;
        image[at + 13] = sum;
        let mut units: Vec<u16> = text.encode_utf16().collect();
        if number != 1 {
            units.push(0);
        }
        units.resize(13, if number == 1 { u16::from(b'-') } else { 0xffff });
        let places = (1..11).chain(14..26).chain(28..32).step_by(2);
        for (place, unit) in places.zip(units) {
            put(&mut image, at + place, &unit.to_le_bytes());
        }
    }
    for (cluster, letter) in [(2, b'a'), (4, b'b'), (3, b'c')] {
        let at = 2048 + (cluster - 2) * 512;
        image[at..at + 512].fill(letter);
    }
    put(&mut image, 2048 + 3 * 512, b"x=yz\n");
    put(&mut image, 2048 + 5 * 512, b"abc");
    image
}

fn content(image: &[u8], map: &Map, path: &str) -> Option<Vec<u8>> {
    let file = File::open(
        Part::whole(&image).unwrap(),
        map,
        map.find(path.as_bytes())?,
    )?;
    Part::whole(&file).unwrap().read(0, 1 << 20).ok()
}

#[test]
fn files_are_found_by_their_names_and_read_back() {
    let image = by_hand();
    let slice = image.as_slice();
    let volume = Part::whole(&slice).unwrap();
    let found = facts(&volume).unwrap();
    assert_eq!(
        (found.filesystem, found.blocks, found.block_size),
        ("FAT12", 36, 512)
    );
    assert_eq!((found.free_blocks, found.state), (Some(30), State::Clean));
    assert_eq!(found.label, "BOOTFS");
    assert_eq!(found.uuid.as_deref(), Some("1234-5678"));
    let map = map(&volume).unwrap();
    assert_eq!(map.notes, Vec::<String>::new());
    let kernel = content(slice, &map, "/KERNEL8.IMG").unwrap();
    let wanted = [vec![b'a'; 512], vec![b'b'; 512], vec![b'c'; 476]].concat();
    assert!(kernel == wanted);
    assert_eq!(content(slice, &map, "/config.txt").unwrap(), b"x=yz\n");
    let long = "/overlays/disable-bt.d-tbo";
    assert_eq!(content(slice, &map, long).unwrap(), b"abc");
    assert_eq!(map.inodes().len(), 5);
    let mut kinds = Vec::new();
    map.pieces(0, 2048, &mut |e| kinds.push((e.kind, e.len)));
    assert_eq!(
        kinds,
        [
            (Kind::BootBlock, 512),
            (Kind::AllocationTable, 1024),
            (Kind::Directory, 512)
        ]
    );
}

#[test]
fn a_circle_ends_and_is_told() {
    let mut image = by_hand();
    // Cluster 3 leads back to 2; and the folder's only cluster is that of a file.
    for copy in [512, 1024] {
        image[copy + 4] = image[copy + 4] & 0x0f | 2 << 4;
        image[copy + 5] = 0;
    }
    image[1536 + 128 + 26] = 5;
    let slice = image.as_slice();
    let map = map(&Part::whole(&slice).unwrap()).unwrap();
    assert!(
        map.notes.iter().any(|n| n.contains("circle")),
        "{:?}",
        map.notes
    );
    assert!(map.find(b"/overlays").is_some());
    assert_eq!(map.find(b"/overlays/config.txt"), None);
    // A file that is longer than its clusters is not read.
    image[1536 + 32 + 29] = 40;
    let slice = image.as_slice();
    let map = super::map(&Part::whole(&slice).unwrap()).unwrap();
    assert!(
        map.notes.iter().any(|n| n.contains("only 1536 are found")),
        "{:?}",
        map.notes
    );
    assert_eq!(content(slice, &map, "/KERNEL8.IMG"), None);
}

#[test]
fn a_long_name_that_is_not_of_its_file_is_not_believed() {
    let mut image = by_hand();
    image[2048 + 4 * 512 + 64 + 13] ^= 1;
    let slice = image.as_slice();
    let map = map(&Part::whole(&slice).unwrap()).unwrap();
    assert_eq!(
        content(slice, &map, "/overlays/DISABL~1.DTB").unwrap(),
        b"abc"
    );
    assert!(map.notes[0].contains("short names"), "{:?}", map.notes);
}

#[test]
fn wrong_numbers_in_the_boot_sector_are_an_error() {
    for (at, value) in [
        (11, 1),
        (13, 0),
        (13, 3),
        (14, 0),
        (16, 0),
        (19, 3),
        (22, 0),
    ] {
        let mut image = by_hand();
        image[at] = value;
        let slice = image.as_slice();
        assert!(
            map(&Part::whole(&slice).unwrap()).is_err(),
            "byte {at} is {value}"
        );
    }
    for length in (0..20_000).step_by(97) {
        let image = by_hand();
        let slice = &image[..length];
        if let Ok(map) = map(&Part::whole(&slice).unwrap()) {
            let _ = content(slice, &map, "/KERNEL8.IMG");
        }
    }
}

/// What mtools writes in each form of FAT reads back, with files in pieces and holes between;
/// and what it says is free is free.
#[test]
fn what_mtools_writes_reads_back() {
    for (bits, size, sectors) in [("12", "3900K", 2), ("16", "3900K", 1), ("32", "34M", 1)] {
        let dir = tempfile::tempdir().unwrap();
        let (root, image) = (dir.path().join("tree"), dir.path().join("image"));
        let deep = root.join("Überlays of boards/deep/er");
        fs::create_dir_all(&deep).unwrap();
        let i = image.to_str().unwrap();
        let run = |name: &str, args: &[&str]| tool(name, &[&["-i", i], args].concat());
        let made = tool("truncate", &["-s", size, i])
            && tool(
                "mkfs.vfat",
                &["-F", bits, "-n", "BOOTFS", "-s", &sectors.to_string(), i],
            );
        if !made {
            return;
        }
        // Every other file goes again, so that what comes next lies in pieces.
        for n in 0..60 {
            let path = dir.path().join(format!("small {n}"));
            fs::write(&path, noise(n, 30_000)).unwrap();
            if !run("mcopy", &[path.to_str().unwrap(), "::/"]) {
                return;
            }
            if n % 2 == 1 {
                fs::copy(&path, root.join(format!("small {n}"))).unwrap();
            }
        }
        for n in (0..60).step_by(2) {
            assert!(run("mdel", &[&format!("::/small {n}")]));
        }
        for (n, size) in [0, 1, 511, 512, 513, 9_000, 200_000, 700_001]
            .into_iter()
            .enumerate()
        {
            let names = [
                format!("f{n}"),
                format!("KERNEL{n}.IMG"),
                format!("a name of some length {n}.dtb"),
            ];
            for (k, name) in names.iter().enumerate() {
                let folder = if k == 2 { &deep } else { &root };
                fs::write(folder.join(name), noise(n as u64, size)).unwrap();
            }
        }
        let shown = |p: &std::path::Path| p.to_str().unwrap().to_owned();
        let mut names: Vec<String> = fs::read_dir(&root)
            .unwrap()
            .map(|e| shown(&e.unwrap().path()))
            .collect();
        names.retain(|n| !n.contains("small"));
        names.sort();
        let mut arguments: Vec<&str> = vec!["-s"];
        arguments.extend(names.iter().map(String::as_str));
        arguments.push("::/");
        assert!(run("mcopy", &arguments));
        let bytes = fs::read(&image).unwrap();
        let slice = bytes.as_slice();
        let volume = Part::whole(&slice).unwrap();
        let map = map(&volume).unwrap();
        assert_eq!(map.notes, Vec::<String>::new());
        let mut pieces = 0;
        let count = each_file(&root, &map, &mut |path, number, extents| {
            let file = File::open(volume, &map, number).unwrap();
            let wanted = fs::read(path).unwrap();
            let mut got = vec![0; wanted.len()];
            file.read_exact_at(0, &mut got).unwrap();
            assert!(got == wanted, "{}", path.display());
            pieces = pieces.max(extents.len());
        });
        assert_eq!(count, 30 + 24);
        // With 32 bits mtools goes on behind the last cluster that it gave.
        assert!(pieces > 20 || bits == "32", "{pieces}");
        assert_eq!(map.facts.filesystem, format!("FAT{bits}"));
        let said = Command::new("mdir")
            .args(["-i", i, "::/"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let line = said.lines().find_map(|l| l.strip_suffix(" bytes free"));
        let free: u64 = line
            .unwrap()
            .chars()
            .filter(char::is_ascii_digit)
            .fold(0, |n, c| n * 10 + u64::from(c as u8 - b'0'));
        assert_eq!(map.facts.free_blocks.map(|n| n * 512 * sectors), Some(free));
        assert_eq!(map.facts.label, "BOOTFS");
        eprintln!("FAT{bits}: {count} files, one in {pieces} pieces, {free} bytes free");
    }
}
