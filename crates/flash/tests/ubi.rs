//! UBI images: those of `ubinize`, and damaged ones.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]
mod common;

use common::ubi::{Chip, DATA_OFFSET, ERASE_SIZE, LEB_SIZE, record, static_vid, vid};
use common::{Random, cases, has, run};
use firstlight_flash::jffs2::{Oob, Spare};
use firstlight_flash::ubi::header::Vid;
use firstlight_flash::ubi::table::{AUTORESIZE, SKIP_CHECK};
use firstlight_flash::ubi::{
    Device, Error, Image, LAYOUT_VOLUME, Options, Report, What, check, skip_check,
};
use proptest::prelude::*;
use rawimage::ReadAt;
use rawimage::foreign::Foreign;
use std::fs;
use std::path::Path;

fn look(bytes: &[u8]) -> Report {
    check(&bytes, &Options::default()).unwrap()
}

/// The reasons to refuse an image.
fn refusals(bytes: &[u8]) -> Vec<&'static str> {
    let report = look(bytes);
    let refusing = report.problems.iter().filter(|p| p.what.refuses());
    refusing.map(|p| p.what.name()).collect()
}

/// Two volumes, the second one static with three blocks of data.
fn chip() -> Chip {
    let mut chip = Chip::new(40);
    chip.tables(&[(0, record("rootfs", 1, 8)), (1, record("boot", 2, 4))]);
    for leb in 0..5 {
        chip.put(10 + leb, &vid(0, leb as u32, 20 + leb as u64), b"content");
    }
    for (leb, data) in static_data().iter().enumerate() {
        chip.put(20 + leb, &static_vid(1, leb as u32, 3, data), data);
    }
    chip
}

fn static_data() -> [Vec<u8>; 3] {
    [vec![1; LEB_SIZE], vec![2; LEB_SIZE], vec![3; 100]]
}

#[test]
fn an_image_is_told_as_it_is() {
    let report = look(&chip().bytes);
    assert_eq!(report.refusal(), None);
    assert_eq!(report.problems, []);
    assert_eq!(report.map, "LL--------00000-----111-----------------");
    assert_eq!(report.layout.leb_size() as usize, LEB_SIZE);
    assert_eq!(report.image_sequence, Some(77));
    assert_eq!(report.tables, ["good", "good"]);
    let erases = report.erases;
    assert_eq!((erases.min, erases.mean, erases.max), (0, 19, 39));
    assert_eq!(erases.histogram, [10, 30, 0, 0, 0, 0]);
    let boot = &report.volumes[1];
    assert_eq!(
        (boot.id, boot.mapped, boot.bytes),
        (1, 3, 2 * LEB_SIZE as u64 + 100)
    );
    assert!(
        boot.check
            .as_ref()
            .is_some_and(|c| c.wrong.is_empty() && c.missing == 0)
    );
    assert!(boot.open_ns > 0);
}

#[test]
fn a_volume_reads_as_its_blocks_in_order() {
    let chip = chip();
    let bytes = chip.bytes.as_slice();
    let image = Image::open(&bytes, &Options::default()).unwrap();
    let (id, record) = image.find("boot").unwrap();
    let volume = image.volume(id, record);
    let mut read = vec![0; volume.length().unwrap() as usize];
    volume.read_exact_at(0, &mut read).unwrap();
    assert_eq!(read, static_data().concat());
    let mut middle = [0; 20];
    volume
        .read_exact_at(LEB_SIZE as u64 - 10, &mut middle)
        .unwrap();
    assert_eq!(middle[..10], [1; 10]);
    assert_eq!(middle[10..], [2; 10]);
    assert!(
        volume
            .read_exact_at(read.len() as u64 - 1, &mut middle)
            .is_err()
    );
    // A hole reads as erased.
    let mut chip = chip;
    chip.put(12, &vid(0, 7, 99), b"far");
    let bytes = chip.bytes.as_slice();
    let image = Image::open(&bytes, &Options::default()).unwrap();
    let (id, record) = image.find("0").unwrap();
    let volume = image.volume(id, record);
    assert_eq!(volume.length().unwrap(), 8 * LEB_SIZE as u64);
    volume
        .read_exact_at(2 * LEB_SIZE as u64, &mut middle)
        .unwrap();
    assert_eq!(middle, [0xff; 20]);
}

#[test]
fn each_reason_to_refuse_is_told() {
    type Damage<'a> = &'a dyn Fn(&mut Chip);
    let damages: [(&str, Damage); 14] = [
        ("version", &|c| {
            let mut header = c.block(5)[..64].to_vec();
            header[4] = 2;
            let sum = firstlight_flash::ubi::crc(&header[..60]);
            header[60..].copy_from_slice(&sum.to_be_bytes());
            c.block(5)[..64].copy_from_slice(&header);
        }),
        ("erase_counter", &|c| c.ec(5, 1 << 31)),
        ("vid_header", &|c| {
            c.put(
                5,
                &Vid {
                    copy: 2,
                    ..vid(0, 7, 9)
                },
                b"",
            );
        }),
        ("inconsistent", &|c| {
            c.put(23, &static_vid(1, 2, 4, &[2; LEB_SIZE]), &[2; LEB_SIZE]);
            c.block(22)[512..].fill(0xff);
        }),
        ("same_sequence", &|c| c.put(5, &vid(0, 1, 21), b"")),
        ("rejected", &|c| {
            let unknown = Vid {
                compatibility: 5,
                ..vid(0x7fff_f00f, 0, 3)
            };
            c.put(5, &unknown, b"");
        }),
        ("too_many_corrupted", &|c| {
            for block in 30..38 {
                c.put(block, &vid(0, 7, 9), b"x");
                c.block(block)[512] = 0;
            }
        }),
        ("no_table", &|c| {
            c.block(0)[512..].fill(0xff);
            c.block(1)[512..].fill(0xff);
        }),
        ("both_tables_broken", &|c| {
            c.block(0)[DATA_OFFSET] ^= 1;
            c.block(1)[DATA_OFFSET] ^= 1;
        }),
        ("record", &|c| c.tables(&[(0, record("rootfs", 9, 8))])),
        ("same_name", &|c| {
            c.tables(&[(0, record("x", 1, 8)), (1, record("x", 2, 4))]);
        }),
        ("two_autoresize", &|c| {
            let resized = |mut r: firstlight_flash::ubi::table::Record| {
                r.flags = AUTORESIZE;
                r
            };
            let both = [
                (0, resized(record("a", 1, 8))),
                (1, resized(record("b", 2, 4))),
            ];
            c.tables(&both);
        }),
        ("volume_contradicts", &|c| {
            c.tables(&[(0, record("rootfs", 1, 3)), (1, record("boot", 2, 4))]);
        }),
        ("image_sequence", &|c| {
            let mut header = c.block(5)[..64].to_vec();
            header[27] ^= 1;
            let sum = firstlight_flash::ubi::crc(&header[..60]);
            header[60..].copy_from_slice(&sum.to_be_bytes());
            c.block(5)[..64].copy_from_slice(&header);
        }),
    ];
    for (name, damage) in damages {
        let mut chip = chip();
        damage(&mut chip);
        assert_eq!(refusals(&chip.bytes), [name]);
        assert!(look(&chip.bytes).refusal().is_some());
    }
}

#[test]
fn what_a_power_cut_leaves_is_no_reason_to_refuse() {
    let mut chip = chip();
    // Half erased: neither header; and only the erase counter's gone.
    chip.block(30)[..600].fill(0);
    chip.block(31)[..64].fill(0);
    // An identifier header that was not finished, without data.
    chip.put(32, &vid(0, 6, 90), b"");
    chip.block(32)[512 + 40] ^= 1;
    // A logical block that was written anew, and a copy that was not finished.
    chip.put(33, &vid(0, 2, 91), b"newer");
    let half = Vid {
        copy: 1,
        data_size: 7,
        data_crc: 1,
        ..vid(0, 3, 92)
    };
    chip.put(34, &half, b"conten");
    let good = Vid {
        data_crc: firstlight_flash::ubi::crc(b"content"),
        ..half
    };
    chip.put(35, &Vid { leb: 4, ..good }, b"content");
    let report = look(&chip.bytes);
    assert_eq!(report.refusal(), None);
    assert_eq!(&report.map[10..15], "00~0~");
    assert_eq!(&report.map[30..36], "xxx0~0");
    let bytes = chip.bytes.as_slice();
    let image = Image::open(&bytes, &Options::default()).unwrap();
    let where_is = |leb: u32| image.blocks.of_volume(0)[leb as usize].block;
    assert_eq!((where_is(2), where_is(3), where_is(4)), (33, 13, 35));
}

#[test]
fn a_damaged_copy_of_the_table_is_told_and_the_other_one_taken() {
    for copy in 0..2 {
        let mut chip = chip();
        chip.block(copy)[DATA_OFFSET + 200] ^= 1;
        let report = look(&chip.bytes);
        assert_eq!(report.refusal(), None);
        assert_eq!(report.volumes.len(), 2);
        let told = What::TableCopy { copy: copy as u32 };
        assert_eq!(report.problems[0].what, told);
    }
    let mut chip = chip();
    let other = common::ubi::table(&[(0, record("other", 1, 8))]);
    chip.put(1, &vid(LAYOUT_VOLUME, 1, 1), &other);
    let report = look(&chip.bytes);
    assert_eq!(report.problems[0].what, What::TablesDiffer);
    assert_eq!(report.volumes[0].record.name(), b"rootfs");
}

#[test]
fn damage_to_static_volumes_is_told() {
    let mut chip = chip();
    chip.block(21)[DATA_OFFSET + 5] ^= 1;
    chip.block(22)[512..].fill(0xff);
    let report = look(&chip.bytes);
    let checked = report.volumes[1].check.clone().unwrap();
    assert_eq!((checked.missing, checked.wrong), (1, vec![1]));
    let told: Vec<_> = report
        .problems
        .iter()
        .map(|p| (p.block, p.what.name()))
        .collect();
    assert_eq!(told, [(None, "missing_blocks"), (Some(21), "data_crc")]);
    assert_eq!(report.refusal(), None);
}

#[test]
fn the_flag_is_set_and_cleared_in_both_copies() {
    let chip = chip();
    let bytes = chip.bytes.as_slice();
    let options = Options::default();
    let mut with = Vec::new();
    let done = skip_check(&bytes, "boot", true, &options, &mut with).unwrap();
    let place = (DATA_OFFSET + 172) as u64;
    assert_eq!(done.places, [place, place + ERASE_SIZE as u64]);
    assert!(!done.was_so);
    assert_eq!(done.bytes, 2 * LEB_SIZE as u64 + 100);
    let report = look(&with);
    assert_eq!(report.tables, ["good", "good"]);
    assert_eq!(report.volumes[1].record.flags, SKIP_CHECK);
    assert_eq!(report.volumes[1].open_ns, 0);
    // Nothing else changed.
    let changed = with.iter().zip(bytes).filter(|(a, b)| a != b).count();
    assert!(changed <= 10, "{changed} bytes changed");
    let mut without = Vec::new();
    skip_check(&with.as_slice(), "1", false, &options, &mut without).unwrap();
    assert_eq!(without, chip.bytes);
    let mut again = Vec::new();
    let done = skip_check(&with.as_slice(), "boot", true, &options, &mut again).unwrap();
    assert!(done.was_so && again == with);

    let mut none = Vec::new();
    let refused = |volume: &str, none: &mut Vec<u8>| {
        skip_check(&bytes, volume, true, &options, none).unwrap_err()
    };
    assert!(matches!(refused("rootfs", &mut none), Error::NotStatic(_)));
    let said = refused("x", &mut none).to_string();
    assert_eq!(said, "no volume `x`; known volumes: rootfs, boot");
    assert!(none.is_empty());
}

#[test]
fn a_stated_device_is_held_against_the_image() {
    let device = |min_io, subpage| Device {
        min_io,
        subpage,
        vid_offset: None,
        erase_size: None,
        blocks: None,
    };
    let chip = chip();
    let with = |device: Device| {
        let options = Options {
            device: Some(device),
            ..Options::default()
        };
        check(&chip.bytes.as_slice(), &options)
    };
    assert_eq!(with(device(2048, 512)).unwrap().refusal(), None);
    assert_eq!(
        with(device(2048, 2048)).unwrap().refusal().unwrap(),
        "bad VID header offset 512, expected 2048"
    );
    assert!(matches!(
        with(device(1000, 512)),
        Err(Error::ImpossibleDevice(_))
    ));
    let small = Device {
        blocks: Some(39),
        ..device(2048, 512)
    };
    assert!(with(small).unwrap().refusal().is_some());
    // 12 for volumes, and 4 that UBI keeps.
    for (blocks, fits) in [(16, true), (15, false)] {
        let options = Options {
            chip_blocks: Some(blocks),
            ..Options::default()
        };
        let report = check(&chip.bytes.as_slice(), &options).unwrap();
        assert_eq!(report.refusal().is_none(), fits, "{blocks}");
    }
}

#[test]
fn what_is_not_ubi_gets_one_clear_sentence() {
    let mut squashfs = vec![0; 4096];
    squashfs[..4].copy_from_slice(b"hsqs");
    let cases: [(&[u8], &str); 3] = [
        (b"", "no UBI header in 0 bytes; pass a UBI image"),
        (
            &squashfs,
            "no UBI header in 4096 bytes, which look like a squashfs image; pass a UBI image",
        ),
        (
            &Chip::new(1).bytes,
            "cannot detect the erase block size; pass the one of the flash chip",
        ),
    ];
    for (bytes, expected) in cases {
        let error = check(&bytes, &Options::default()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let tiny = Options {
        erase_size: Some(1024),
        ..Options::default()
    };
    let error = check(&chip().bytes.as_slice(), &tiny).unwrap_err();
    assert!(matches!(error, Error::ImpossibleEraseSize { .. }));
}

/// A tree, its UBIFS and a squashfs-like blob, and an image of both.
fn ubinize(
    folder: &Path,
    erase_kib: u32,
    min_io: u32,
    subpage: u32,
    flags: &str,
) -> Option<Vec<u8>> {
    let path = |name: &str| folder.join(name).display().to_string();
    let config = format!(
        "[boot]\nmode=ubi\nimage={}\nvol_id=0\nvol_type=static\nvol_name=boot\n\
         vol_size=600KiB\n{flags}\n[data]\nmode=ubi\nvol_id=4\nvol_type=dynamic\n\
         vol_name=data\nvol_size=400KiB\nvol_alignment={}\n",
        path("blob"),
        if erase_kib == 16 { 1 } else { min_io }
    );
    fs::write(path("ubi.ini"), config).unwrap();
    let words = format!("-Q 1234 -m {min_io} -s {subpage} -p {erase_kib}KiB");
    let mut args: Vec<String> = words.split(' ').map(str::to_owned).collect();
    args.extend(["-o".to_owned(), path("image"), path("ubi.ini")]);
    run("ubinize", &args)?;
    Some(fs::read(path("image")).unwrap())
}

#[test]
fn images_of_ubinize_are_read_and_patched_as_it_makes_them() {
    if !has("ubinize") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(5);
    let blob: Vec<u8> = (0..500_000).map(|_| random.next() as u8).collect();
    fs::write(folder.path().join("blob"), &blob).unwrap();
    for (erase_kib, min_io, subpage) in [
        (128, 2048, 512),
        (128, 2048, 2048),
        (256, 4096, 1024),
        (16, 512, 256),
        (64, 1, 1),
    ] {
        let make = |flags| ubinize(folder.path(), erase_kib, min_io, subpage, flags);
        let plain = make("").unwrap();
        let skipping = make("vol_flags=skip-check").unwrap();
        let options = Options {
            device: Some(Device {
                min_io,
                subpage,
                vid_offset: None,
                erase_size: Some(erase_kib * 1024),
                blocks: None,
            }),
            ..Options::default()
        };
        let report = check(&plain.as_slice(), &options).unwrap();
        assert_eq!(report.refusal(), None);
        assert_eq!(report.problems, []);
        assert_eq!(report.image_sequence, Some(1234));
        let boot = &report.volumes[0];
        assert_eq!(boot.bytes, blob.len() as u64);
        assert_eq!(boot.check.as_ref().unwrap().wrong, [0; 0]);
        assert_eq!(boot.content, Some(Foreign::Unknown));
        let mut patched = Vec::new();
        skip_check(&plain.as_slice(), "boot", true, &options, &mut patched).unwrap();
        assert!(patched == skipping, "{erase_kib} KiB, {min_io}, {subpage}");

        // The same image as a dump with spare bytes.
        if min_io >= 512 {
            let spare = min_io / 32;
            let mut dump = Vec::new();
            for page in plain.chunks(min_io as usize) {
                dump.extend(page);
                dump.extend(vec![0xff; spare as usize]);
            }
            let found = check(&dump.as_slice(), &Options::default()).unwrap();
            let page = min_io;
            assert_eq!(found.layout.oob, Some(Oob { page, spare }));
            assert_eq!(found.map, report.map);
            assert_eq!(found.volumes[0].check, boot.check);
            let spare = Options {
                spare: Spare::Detect,
                ..Options::default()
            };
            let refused = skip_check(&dump.as_slice(), "boot", true, &spare, &mut Vec::new());
            assert!(matches!(refused, Err(Error::SpareBytes)));
        }
    }
}

#[test]
fn no_damage_makes_it_panic() {
    let good = chip().bytes;
    let mut random = Random::new(99);
    for _ in 0..cases(60, 20_000) {
        let mut bytes = good.clone();
        for _ in 0..1 + random.below(8) {
            let block = random.below(40) as usize * ERASE_SIZE;
            let at = match random.below(4) {
                0 => random.below(64),
                1 => 512 + random.below(64),
                2 => DATA_OFFSET as u64 + random.below(1000),
                _ => random.below(ERASE_SIZE as u64),
            };
            bytes[block + at as usize] ^= 1 << random.below(8);
        }
        // Make the headers' checksums right, so that their fields count.
        for block in bytes.chunks_mut(ERASE_SIZE) {
            for at in [0, 512] {
                if random.one_in(2) {
                    let sum = firstlight_flash::ubi::crc(&block[at..at + 60]);
                    block[at + 60..at + 64].copy_from_slice(&sum.to_be_bytes());
                }
            }
        }
        if random.one_in(4) {
            bytes.truncate(random.below(bytes.len() as u64) as usize);
        }
        everything(&bytes);
    }
}

fn everything(bytes: &[u8]) {
    let image = &bytes;
    for erase_size in [None, Some(ERASE_SIZE as u32)] {
        let options = Options {
            erase_size,
            ..Options::default()
        };
        if let Ok(report) = check(image, &options) {
            assert_eq!(report.map.len() as u64, report.blocks);
            let counted: u64 = report.states.iter().map(|(_, n)| n).sum();
            assert_eq!(counted, report.blocks);
            for problem in &report.problems {
                assert!(!problem.what.to_string().is_empty());
                assert!(!problem.what.advice().is_empty());
            }
            let mut out = Vec::new();
            if skip_check(image, "boot", true, &options, &mut out).is_ok() {
                assert_eq!(out.len(), bytes.len());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_bytes_are_looked_at(mut bytes in proptest::collection::vec(any::<u8>(), 0..9000), magic: bool) {
        if magic && bytes.len() > 2200 {
            bytes[..4].copy_from_slice(b"UBI#");
            bytes[512..516].copy_from_slice(b"UBI!");
        }
        everything(&bytes);
    }

    #[test]
    fn a_cut_off_image_is_looked_at(length in 0_usize..40 * ERASE_SIZE) {
        everything(&chip().bytes[..length]);
    }
}
