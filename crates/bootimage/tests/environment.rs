//! Environments, against the tools of U-Boot.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]

use firstlight_bootimage::environment::{
    Change, Data, Endian, Environment, Error, Found, Header, Options, Scheme, find, patch,
};
use proptest::prelude::*;
use rawimage::Part;
use std::path::Path;
use std::process::{Command, Output};

const TEXT: &[(&str, &str)] = &[
    ("baudrate", "115200"),
    ("bootargs", "console=ttyAMA0 root=/dev/mtdblock3"),
    (
        "bootcmd",
        "nand read 0x80008000 0x80000 0x800000; bootm 0x80008000",
    ),
    ("bootdelay", "3"),
];

fn copy(size: usize, flags: Option<u8>, endian: Endian, pad: u8, text: &[(&str, &str)]) -> Vec<u8> {
    let mut data: Vec<u8> = text
        .iter()
        .flat_map(|(name, value)| format!("{name}={value}\0").into_bytes())
        .collect();
    data.push(0);
    data.resize(size - 4 - usize::from(flags.is_some()), pad);
    let mut bytes = endian.put32(crc32fast::hash(&data)).to_vec();
    bytes.extend(flags);
    bytes.extend(data);
    bytes
}

fn look(image: &[u8], options: &Options) -> Result<Found, Error> {
    find(&Part::whole(&image).unwrap(), options)
}

fn one(image: &[u8]) -> Environment {
    let found = look(image, &Options::default()).unwrap();
    assert_eq!(found.environments.len(), 1);
    found.environments.into_iter().next().unwrap()
}

fn changed(image: &[u8], options: &Options, changes: &[&str]) -> Result<Vec<u8>, Error> {
    let found = look(image, options)?;
    let changes: Vec<Change> = changes
        .iter()
        .map(|c| match c.strip_prefix('-') {
            Some(name) => Change::parse_unset(name),
            None => Change::parse_set(c),
        })
        .collect::<Result<_, _>>()?;
    let part = Part::whole(&image).unwrap();
    let patch = patch(&part, &found.environments[0], &changes)?;
    let mut out = image.to_vec();
    patch.apply(&mut out).unwrap();
    let mut copied = Vec::new();
    patch.copy(&part, &mut copied).unwrap();
    assert_eq!(copied, out);
    patch.inverse().apply(&mut copied).unwrap();
    assert_eq!(copied, image);
    Ok(out)
}

/// At a place that is no multiple of 512, among much that looks like names: a size that is
/// given must not make each of those cost a checksum of all of it.
#[test]
fn a_given_size_does_not_end_the_search_early() {
    const SIZE: usize = 131_072;
    let mut image = b"\x01\x02\x03\x04ab=c".repeat(40_000);
    let first = copy(SIZE, Some(1), Endian::Little, 0, TEXT);
    let second = copy(SIZE, Some(2), Endian::Little, 0, TEXT);
    let at = 40_000 * 8 - 33;
    image.truncate(at);
    image.extend([first, second].concat());
    image.extend(b"\x01\x02\x03\x04ab=c".repeat(10_000));
    let options = Options {
        size: Some(SIZE as u64),
        ..Options::default()
    };
    let found = look(&image, &options).unwrap();
    assert_eq!((found.gave_up, found.environments.len()), (None, 1));
    let places = found.environments[0].copies.iter().map(|c| c.offset);
    let wanted = [at as u64, (at + SIZE) as u64];
    assert_eq!(places.collect::<Vec<_>>(), wanted);
    let after = changed(&image, &options, &["bootdelay=0"]).unwrap();
    assert_eq!(after.len(), image.len());
}

#[test]
fn any_size_is_found_in_any_form() {
    for size in [
        101,
        512,
        1000,
        1024,
        4096,
        5000,
        8192,
        12_345,
        0x1f000,
        65_536,
        0x40000,
        1 << 20,
    ] {
        let few = &TEXT[..if size < 512 { 1 } else { 4 }];
        for endian in Endian::BOTH {
            for flags in [None, Some(0), Some(1), Some(97), Some(255)] {
                for pad in [0, 0xff] {
                    let image = copy(size, flags, endian, pad, few);
                    let found = one(&image);
                    let active = found.active().unwrap();
                    assert_eq!(active.size, size as u64, "{endian} {flags:?} {pad}");
                    assert_eq!(active.endian, Some(endian));
                    assert_eq!(active.header, flags.map_or(Header::Plain, Header::Flags));
                    assert_eq!(found.data().unwrap().variables().len(), few.len());
                }
            }
        }
    }
}

#[test]
fn it_is_found_anywhere_in_a_larger_image() {
    let environment = copy(8192, None, Endian::Little, 0xff, TEXT);
    for at in [
        0x60000,
        0x4_0000 + 512,
        0x12345,
        (4 << 20) - 100,
        (4 << 20) - 512,
        5 << 20,
    ] {
        for fill in [0, 0xff] {
            let mut image = vec![fill; 6 << 20];
            image[at..at + 8192].copy_from_slice(&environment);
            let found = one(&image);
            assert_eq!(found.active().unwrap().offset, at as u64);
            assert_eq!(found.active().unwrap().size, 8192);
        }
    }
    // In noise that is full of equals signs.
    let mut noise: Vec<u8> = (0..300_000_u32)
        .map(|i| b"a=b;c=d "[(i.wrapping_mul(2_654_435_761) >> 13) as usize % 8])
        .collect();
    noise[100_001..100_001 + 8192].copy_from_slice(&environment);
    assert_eq!(one(&noise).active().unwrap().offset, 100_001);
}

#[test]
fn what_lies_behind_the_list_may_be_anything() {
    let mut image = copy(16_384, None, Endian::Little, 0, TEXT);
    for (i, byte) in image[2000..].iter_mut().enumerate() {
        *byte = (i * 7) as u8;
    }
    let crc = crc32fast::hash(&image[4..]);
    image[..4].copy_from_slice(&crc.to_le_bytes());
    assert_eq!(one(&image).active().unwrap().size, 16_384);
}

#[test]
fn of_two_copies_the_right_one_is_active() {
    // What U-Boot takes: `env/common.c`, and for the first two `env/flash.c`.
    for (flags, active) in [
        ([1, 0], 0),
        ([0, 1], 1),
        ([1, 1], 0),
        ([4, 5], 1),
        ([5, 4], 0),
        ([255, 0], 1),
        ([0, 255], 0),
        ([254, 255], 1),
    ] {
        let image: Vec<u8> = flags
            .iter()
            .flat_map(|f| copy(8192, Some(*f), Endian::Little, 0, TEXT))
            .collect();
        assert_eq!(one(&image).active, active, "{flags:?}");
    }
}

#[test]
fn a_change_goes_to_the_other_copy_and_the_old_one_stays() {
    for (flags, scheme, wanted) in [
        ([1, 1], None, [1, 2]),
        ([1, 2], None, [3, 2]),
        ([255, 0], None, [1, 0]),
        ([254, 255], None, [0, 255]),
        ([1, 0], None, [0, 1]),
        ([1, 0], Some(Scheme::Serial), [1, 2]),
        ([1, 1], Some(Scheme::Boolean), [0, 1]),
    ] {
        let image: Vec<u8> = flags
            .iter()
            .flat_map(|f| copy(8192, Some(*f), Endian::Little, 0, TEXT))
            .collect();
        let options = Options {
            scheme,
            ..Options::default()
        };
        let out = changed(&image, &options, &["bootdelay=0", "-baudrate"]).unwrap();
        assert_eq!([out[4], out[8196]], wanted, "{flags:?} {scheme:?}");
        let found = look(&out, &options).unwrap();
        let environment = &found.environments[0];
        let old = 1 - environment.active;
        assert_eq!(
            out[old * 8192 + 5..][..8187],
            image[old * 8192 + 5..][..8187]
        );
        let data = environment.data().unwrap();
        assert_eq!(data.text("bootdelay").as_deref(), Some("0"));
        assert_eq!(data.text("baudrate"), None);
        // Read as serial numbers, the new copy is active as well: a board that
        // counts sees the change even where NOR flash was guessed.
        assert_eq!(
            Scheme::Serial.active([out[4], out[8196]]),
            environment.active
        );
    }
}

#[test]
fn a_copy_without_its_other_is_not_changed() {
    let mut image = vec![0xff; 65_536];
    image[8192..16_384].copy_from_slice(&copy(8192, Some(7), Endian::Big, 0, TEXT));
    let refused = changed(&image, &Options::default(), &["bootdelay=0"]).unwrap_err();
    assert!(refused.to_string().contains("pass its offset"), "{refused}");
    let options = Options {
        redundant: Some(0x8000),
        ..Options::default()
    };
    let out = changed(&image, &options, &["bootdelay=0"]).unwrap();
    assert_eq!(out[8192..16_384], image[8192..16_384]);
    assert_eq!(out[0x8004], 8);
    let found = one(&out);
    assert_eq!((found.copies.len(), found.active), (2, 1));
    for wrong in [0x2800, 65_000, 8192] {
        let options = Options {
            redundant: Some(wrong),
            ..Options::default()
        };
        assert!(look(&image, &options).is_err());
    }
    // By itself, it is changed in place.
    let alone = copy(8192, Some(7), Endian::Big, 0, TEXT);
    let out = changed(&alone, &Options::default(), &["bootdelay=0"]).unwrap();
    assert_eq!(out[4], 7);
    assert_eq!(
        one(&out).data().unwrap().text("bootdelay").as_deref(),
        Some("0")
    );
}

#[test]
fn a_wrong_one_gets_a_sentence() {
    let mut image = copy(8192, None, Endian::Little, 0xff, TEXT);
    image[100] ^= 1;
    let said = |options: &Options| look(&image, options).unwrap_err().to_string();
    assert_eq!(
        said(&Options::default()),
        "no U-Boot environment in 8192 bytes"
    );
    let given = Options {
        offset: Some(0),
        size: Some(8192),
        ..Options::default()
    };
    let said = said(&given);
    assert!(
        said.contains("expected checksum") && said.contains("expected"),
        "{said}"
    );
    for (offset, size) in [
        (8192, 8192),
        (u64::MAX, 8192),
        (0, 8193),
        (0, 0),
        (0, u64::MAX),
    ] {
        let options = Options {
            offset: Some(offset),
            size: Some(size),
            ..Options::default()
        };
        assert!(look(&image, &options).is_err());
    }
}

#[test]
fn two_environments_are_told_apart_by_their_place() {
    let mut image = copy(4096, None, Endian::Little, 0xff, TEXT);
    image.extend(copy(8192, None, Endian::Little, 0, &TEXT[..2]));
    let found = look(&image, &Options::default()).unwrap();
    assert_eq!(found.environments.len(), 2);
    let options = Options {
        offset: Some(4096),
        ..Options::default()
    };
    assert_eq!(look(&image, &options).unwrap().environments.len(), 1);
    let out = changed(&image, &options, &["bootdelay=0"]).unwrap();
    assert_eq!(out[..4096], image[..4096]);
}

#[test]
fn what_only_looks_like_many_does_not_take_for_ever() {
    let forms: [&[u8]; 4] = [
        b"a=b\0",
        b"a=b\0\0",
        b"xxxxxa=b\0\0\xff\xff\xff",
        b"aaaaaaaaaaaaaaa=",
    ];
    for form in forms {
        let image: Vec<u8> = form.iter().copied().cycle().take(3 << 20).collect();
        assert!(look(&image, &Options::default()).is_err());
    }
}

/// Runs a tool; `None`, with a line, where it is not installed.
fn run(tool: &str, args: &[&str]) -> Option<Output> {
    match Command::new(tool).args(args).output() {
        Ok(out) => Some(out),
        Err(_) => {
            eprintln!(
                "skipped: {tool} (Debian packages u-boot-tools, libubootenv-tool) is not there"
            );
            None
        }
    }
}

fn text_file(folder: &Path) -> String {
    let path = folder.join("env.txt");
    let lines: Vec<String> = TEXT.iter().map(|(n, v)| format!("{n}={v}\n")).collect();
    std::fs::write(&path, lines.concat()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_mkenvimage_writes_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = text_file(folder.path());
    let out = folder.path().join("env.bin");
    let out = out.to_str().unwrap();
    for size in ["4096", "8192", "20000", "65536", "262144"] {
        for more in [
            &[][..],
            &["-r"],
            &["-b"],
            &["-r", "-b"],
            &["-p", "0"],
            &["-p", "42", "-r"],
        ] {
            let args = [&["-s", size, "-o", out], more, &[&text]].concat();
            let Some(made) = run("mkenvimage", &args) else {
                return;
            };
            assert!(made.status.success());
            let image = std::fs::read(out).unwrap();
            let found = one(&image);
            let active = found.active().unwrap();
            assert_eq!(active.size.to_string(), size);
            assert_eq!(active.endian == Some(Endian::Big), more.contains(&"-b"));
            assert_eq!(active.header.flags().is_some(), more.contains(&"-r"));
            let variables = found.data().unwrap().variables();
            let wanted: Vec<_> = TEXT
                .iter()
                .map(|(n, v)| (n.as_bytes(), v.as_bytes()))
                .collect();
            let read: Vec<_> = variables
                .iter()
                .map(|v| (&v.name[..], &v.value[..]))
                .collect();
            assert_eq!(read, wanted);
        }
    }
}

/// What `fw_printenv` says of an image.
fn printed(folder: &Path, image: &[u8], places: &[usize], size: usize) -> Option<Vec<String>> {
    let file = folder.join("flash.bin");
    std::fs::write(&file, image).unwrap();
    let config = config(folder, &file, places, size);
    let out = run("fw_printenv", &["-c", &config])?;
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let text = String::from_utf8(out.stdout).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    Some(lines)
}

fn config(folder: &Path, file: &Path, places: &[usize], size: usize) -> String {
    let config = folder.join("fw_env.config");
    let lines: Vec<String> = places
        .iter()
        .map(|at| format!("{} {at:#x} {size:#x}\n", file.display()))
        .collect();
    std::fs::write(&config, lines.concat()).unwrap();
    config.to_str().unwrap().to_owned()
}

fn known(data: &Data) -> Vec<String> {
    let mut lines: Vec<String> = data
        .variables()
        .iter()
        .map(|v| {
            let text = |b: &[u8]| String::from_utf8(b.to_vec()).unwrap();
            format!("{}={}", text(&v.name), text(&v.value))
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn fw_printenv_reads_what_is_written_and_the_other_way_round() {
    let folder = tempfile::tempdir().unwrap();
    let changes = [
        "bootdelay=-2",
        "new=some \"thing\" $here",
        "-baudrate",
        "bootcmd=run x; y",
    ];
    for places in [&[0x400][..], &[0, 0x8000], &[0x1_0000, 0x3_0000]] {
        let size = 0x2000;
        let flags = (places.len() == 2).then_some(1);
        let mut image = vec![0xff; 0x4_0000];
        for at in places {
            let one = copy(size, flags, Endian::Little, 0xff, TEXT);
            image[*at..*at + size].copy_from_slice(&one);
        }
        for _ in 0..4 {
            // Ours, read by the tool.
            let ours = changed(&image, &Options::default(), &changes).unwrap();
            let Some(lines) = printed(folder.path(), &ours, places, size) else {
                return;
            };
            assert_eq!(lines, known(one(&ours).data().unwrap()));
            // The tool's, read by us: the same copy is active, with the same
            // flags, and the other one is the same to the byte.
            let file = folder.path().join("flash.bin");
            std::fs::write(&file, &image).unwrap();
            let config = config(folder.path(), &file, places, size);
            let script = folder.path().join("script");
            let lines: Vec<String> = changes
                .iter()
                .map(|c| match c.strip_prefix('-') {
                    Some(name) => format!("{name}=\n"),
                    None => format!("{c}\n"),
                })
                .collect();
            std::fs::write(&script, lines.concat()).unwrap();
            let script = script.to_str().unwrap();
            let Some(set) = run("fw_setenv", &["-c", &config, "-s", script]) else {
                return;
            };
            assert!(
                set.status.success(),
                "{}",
                String::from_utf8_lossy(&set.stderr)
            );
            let theirs = std::fs::read(&file).unwrap();
            let (a, b) = (one(&ours), one(&theirs));
            assert_eq!(known(a.data().unwrap()), known(b.data().unwrap()));
            assert_eq!(a.active, b.active);
            let headers = |e: &Environment| e.copies.iter().map(|c| c.header).collect::<Vec<_>>();
            assert_eq!(headers(&a), headers(&b));
            image = theirs;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Bytes that look like environments, cut and flipped.
    #[test]
    fn nothing_panics(
        size in 64_usize..3000,
        flags in proptest::option::of(any::<u8>()),
        before in 0_usize..2000,
        cut in 0_usize..6000,
        flip in any::<usize>(),
        offset in proptest::option::of(0_u64..5000),
        given in proptest::option::of(0_u64..5000),
    ) {
        let mut image = vec![0x41; before];
        image.extend(copy(size.max(200), flags, Endian::Big, 0, TEXT));
        let at = flip % image.len();
        image[at] ^= 1 << (flip % 8);
        image.truncate(cut);
        let options = Options { offset, size: given, redundant: offset, scheme: None };
        for options in [options, Options::default(), Options { redundant: None, ..options }] {
            if let Ok(found) = look(&image, &options) {
                for environment in &found.environments {
                    let part = Part::whole(&&image[..]).map(|_| ());
                    prop_assert!(part.is_ok());
                    prop_assert!(environment.data().is_some());
                }
            }
        }
    }

    /// An environment is found wherever it lies, and a change leaves all else
    /// as it was.
    #[test]
    fn it_is_found_and_changed_anywhere(
        size in (100_usize..2000).prop_map(|n| n * 4),
        at in 0_usize..40,
        redundant in any::<bool>(),
        flags in any::<u8>(),
        big in any::<bool>(),
    ) {
        let endian = if big { Endian::Big } else { Endian::Little };
        let at = at * 512;
        let mut image = vec![0x5a; 0x1_0000];
        let flag = redundant.then_some(flags);
        image[at..at + size].copy_from_slice(&copy(size, flag, endian, 0, TEXT));
        let second = 0x8000 + at;
        if redundant {
            let other = copy(size, Some(flags.wrapping_add(1)), endian, 0, TEXT);
            image[second..second + size].copy_from_slice(&other);
        }
        let found = one(&image);
        let newest = if redundant { second } else { at };
        prop_assert_eq!(found.active().unwrap().offset, newest as u64);
        let out = changed(&image, &Options::default(), &["bootdelay=-2"]).unwrap();
        let again = one(&out);
        prop_assert_eq!(again.active().unwrap().offset, at as u64);
        let value = again.data().unwrap().text("bootdelay");
        prop_assert_eq!(value.as_deref(), Some("-2"));
        let old = found.data().unwrap().with(&[]).unwrap();
        prop_assert_eq!(old.bytes(), found.data().unwrap().bytes());
        // All else.
        let mut rest = out.clone();
        rest[at..at + size].copy_from_slice(&image[at..at + size]);
        if again.scheme == Some(Scheme::Boolean) {
            rest[second + 4] = image[second + 4];
        }
        prop_assert!(rest == image);
    }
}
