//! Disks with partitions, and filesystems that are only known by name.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use firstlight_disk::{
    Disk, Error, File, Kind, Part, Piece, ReadAt, State, Table, facts, partitions,
};

/// An ext4 filesystem of 64 KiB; debugfs says that the file 18, `/d/f6`, has 3698 bytes in the
/// blocks of 1 KiB from 30 to 33 and begins with the numbers 6, 13 and 20, a line each; that the
/// root has three names and `/d` seven; and that the file 21 has a hole.
fn ext4() -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/images/plain.img");
    std::fs::read(path).unwrap()
}

const SECTOR: usize = 512;

/// A disk of 200 KiB with an MBR, and these partitions: first sector, how many, content.
fn disk(partitions: &[(usize, usize, &[u8])]) -> Vec<u8> {
    let mut disk = vec![0; 400 * SECTOR];
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    for (number, (first, count, content)) in partitions.iter().enumerate() {
        let entry = &mut disk[446 + 16 * number..][..16];
        entry[4] = 0x83;
        entry[8..12].copy_from_slice(&(*first as u32).to_le_bytes());
        entry[12..16].copy_from_slice(&(*count as u32).to_le_bytes());
        disk[first * SECTOR..][..content.len()].copy_from_slice(content);
    }
    disk
}

fn open(image: &[u8], only: Option<u32>) -> Result<Disk, Error> {
    Disk::open(&Part::whole(&image as &dyn ReadAt).unwrap(), only)
}

/// All of an image: where each piece begins, how long it is, what it is, and in which partition.
fn pieces(disk: &Disk, len: u64) -> Vec<(u64, u64, Kind, Option<u32>)> {
    let mut all = Vec::new();
    disk.pieces(0, len, &mut |piece: Piece<'_>| {
        let extent = piece.extent;
        let partition = piece.volume.and_then(|v| v.partition);
        all.push((extent.start, extent.len, extent.kind, partition));
    });
    all
}

#[test]
fn each_partition_is_mapped_or_says_why_not() {
    let ext4 = ext4();
    let image = disk(&[(8, 128, &ext4), (200, 10, b"BZh9"), (300, 10, b"-rom1fs-")]);
    let disk = open(&image, None).unwrap();
    assert_eq!((disk.table, disk.partitions.len()), (Some(Table::Mbr), 3));
    let maps: Vec<_> = disk
        .maps()
        .map(|(v, m)| (v.partition, m.facts.filesystem))
        .collect();
    assert_eq!(maps, [(Some(1), "ext4")]);
    let why = |at: usize| disk.volumes[at].map.as_ref().unwrap_err().to_string();
    assert!(why(1).contains("begins bzip2 data"), "{}", why(1));
    assert!(
        why(1).ends_with("; decompress it first (bunzip2)"),
        "{}",
        why(1)
    );
    assert!(
        why(2).starts_with("mapping romfs is not supported"),
        "{}",
        why(2)
    );

    // Each byte is told of once, in order: the table, a gap, the filesystem, and so on.
    let all = pieces(&disk, image.len() as u64);
    let mut end = 0;
    for (start, len, ..) in &all {
        assert_eq!(*start, end);
        end += len;
    }
    assert_eq!(end, image.len() as u64);
    assert_eq!(all[0], (0, 512, Kind::PartitionTable, None));
    assert_eq!(all[1], (512, 7 * 512, Kind::Unmapped, None));
    let file = all.iter().find(|p| p.2 == Kind::File).unwrap();
    assert_eq!(file.3, Some(1));
    let second: Vec<_> = all.iter().filter(|p| p.3 == Some(2)).collect();
    assert_eq!(second, [&(200 * 512, 10 * 512, Kind::Unmapped, Some(2))]);
    let last = (310 * 512, 90 * 512, Kind::Unmapped, None);
    assert_eq!(all.last(), Some(&last));

    // One of them alone is an image of its own.
    let only = open(&image, Some(1)).unwrap();
    assert_eq!((only.table, only.volumes.len()), (None, 1));
    assert_eq!((only.volumes[0].start, only.volumes[0].len), (0, 64 << 10));
    for (image, number, there) in [
        (&image, 7, "no partition 7; pass one of 1, 2, 3"),
        (
            &ext4,
            1,
            "no partition 1; the image has no partition table, so pass none",
        ),
    ] {
        let why = open(image, Some(number)).unwrap_err();
        assert_eq!(why.to_string(), there);
    }
    let part = |image| Part::whole(image as &dyn ReadAt).unwrap();
    let whole = image.as_slice();
    let (table, named) = partitions(&part(&whole)).unwrap().unwrap();
    assert_eq!((table, named.len()), (Table::Mbr, 3));
    let alone = ext4.as_slice();
    assert_eq!(partitions(&part(&alone)).unwrap(), None);
}

#[test]
fn of_partitions_that_overlap_each_byte_is_told_of_once() {
    let image = disk(&[(8, 100, b"?"), (50, 30, b"?"), (90, 40, b"?")]);
    let disk = open(&image, None).unwrap();
    let all = pieces(&disk, 200 * 512);
    let seen: Vec<_> = all.iter().map(|p| (p.0 / 512, p.1 / 512, p.3)).collect();
    assert_eq!(
        seen,
        [
            (0, 1, None),
            (1, 7, None),
            (8, 100, Some(1)),
            (108, 22, Some(3)),
            (130, 70, None)
        ]
    );
    // A part of it that begins in one, and one that is behind all.
    let mut some = Vec::new();
    disk.pieces(100 * 512, 10 * 512, &mut |p| {
        some.push((p.extent.start / 512, p.extent.len / 512))
    });
    assert_eq!(some, [(100, 8), (108, 2)]);
}

#[test]
fn what_cannot_be_mapped_yet_is_named() {
    let cases: [(usize, &[u8], &str); 6] = [
        (0, b"UBI#", "UBIFS"),
        (0, &[0x45, 0x3d, 0xcd, 0x28], "cramfs"),
        (0, b"-rom1fs-", "romfs"),
        (1024, &[0x10, 0x20, 0xf5, 0xf2], "f2fs"),
        (0, b"XFSB", "xfs"),
        (0x1_0040, b"_BHRfS_M", "btrfs"),
    ];
    for (at, magic, name) in cases {
        let mut image = vec![0; 0x1_1000];
        image[at..at + magic.len()].copy_from_slice(magic);
        let why = open(&image, None).unwrap_err();
        assert!(
            matches!(&why, Error::NotYet { what } if what.contains(name)),
            "{why}"
        );
        let slice = image.as_slice();
        let part = Part::whole(&slice as &dyn ReadAt).unwrap();
        assert_eq!(facts(&part).unwrap(), None, "{name}");
    }
    let why = open(&[0; 4096], None).unwrap_err();
    assert!(matches!(why, Error::Unknown { at: 0, .. }), "{why}");
}

#[test]
fn a_file_is_read_from_its_pieces_and_not_beyond() {
    let image = ext4();
    let slice = image.as_slice();
    let part = Part::whole(&slice as &dyn ReadAt).unwrap();
    let disk = Disk::open(&part, None).unwrap();
    let (_, map) = disk.maps().next().unwrap();
    let file = File::open(part, map, 18).unwrap();
    assert_eq!(map.path(18).as_deref(), Some(&b"/d/f6"[..]));
    assert_eq!(
        (file.length().unwrap(), file.start()),
        (3698, Some(30 << 10))
    );
    let mut front = [0; 8];
    file.read_exact_at(0, &mut front).unwrap();
    assert_eq!(&front, b"6\n13\n20\n");
    let mut end = [0; 10];
    file.read_exact_at(3688, &mut end).unwrap();
    assert_eq!(end, image[(30 << 10) + 3688..][..10]);
    for (offset, len) in [(3689, 10), (u64::MAX, 1)] {
        let why = file.read_exact_at(offset, &mut end[..len]).unwrap_err();
        assert_eq!(why.kind(), std::io::ErrorKind::UnexpectedEof);
    }
    // A directory, a link in its inode, a file with a hole, and what is not there.
    assert!(
        [2, 19, 21, 99]
            .iter()
            .all(|n| File::open(part, map, *n).is_none())
    );
    assert_eq!(
        (map.names_in(2), map.names_in(12), map.names_in(18)),
        (3, 7, 0)
    );
    assert_eq!(map.find(b"/d/f6"), Some(18));
    assert_eq!(map.facts.state, State::Clean);
    assert!(!map.facts.is_fat());
}

#[test]
fn how_a_filesystem_was_left_has_a_word_and_a_name() {
    for (state, word, name) in [
        (State::Clean, "clean", "clean"),
        (
            State::NeedsRecovery,
            "needs_recovery",
            "journal must be replayed",
        ),
        (State::NotClean, "not_clean", "not cleanly unmounted"),
        (State::Errors, "errors", "found errors"),
        (State::ReadOnly, "read_only", "by design"),
    ] {
        assert_eq!(state.word(), word);
        assert!(state.name().contains(name), "{word}");
    }
}
