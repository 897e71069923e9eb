//! Kernel images of every form: made here with known content, and Debian's.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]

use firstlight_bootimage::info::{Item, Kind, inspect};
use firstlight_bootimage::kernel::{Content, Inner, Payload};
use proptest::prelude::*;
use rawimage::Part;
use rawimage::compression::{Compression, LIMIT, encode};
use std::path::PathBuf;
use std::process::Command;

const BANNER: &str = "Linux version 6.1.0-test (someone@somewhere) (gcc) #7 SMP";
const CONFIG: &str = "# Automatically generated\nCONFIG_IKCONFIG=y\nCONFIG_LOCALVERSION=\"\"\n";

fn packed(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode(compression, &mut &*bytes, &mut out).unwrap();
    out
}

/// What a kernel unpacks to: an ELF file with a banner and a configuration.
fn kernel() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[18] = 62;
    bytes[24..32].copy_from_slice(&0x100_0000_u64.to_le_bytes());
    let mut state = 7_u32;
    while bytes.len() < 150_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bytes.extend((state >> 24).to_le_bytes());
    }
    bytes.extend(b"Linux version %s\0");
    bytes.extend(BANNER.as_bytes());
    bytes.extend(b"\n\0");
    bytes.extend(b"IKCFG_STIKCFG_ED");
    bytes.extend(b"IKCFG_ST");
    bytes.extend(packed(Compression::Gzip, CONFIG.as_bytes()));
    bytes.extend(b"IKCFG_ED");
    bytes.resize(200_000, 0);
    bytes
}

/// A payload as the kernel's makefiles build it: all but gzip get the unpacked
/// size appended.
fn with_size(compression: Compression, kernel: &[u8]) -> Vec<u8> {
    let mut payload = packed(compression, kernel);
    if compression != Compression::Gzip {
        payload.extend((kernel.len() as u32).to_le_bytes());
    }
    payload
}

fn bzimage(compression: Compression, kernel: &[u8]) -> Vec<u8> {
    let payload = with_size(compression, kernel);
    let mut image = vec![0; 1024 + 700];
    image[0x1f1] = 1;
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x206..0x208].copy_from_slice(&0x020f_u16.to_le_bytes());
    image[0x20e..0x210].copy_from_slice(&0x180_u16.to_le_bytes());
    image[0x211] = 1;
    image[0x214..0x218].copy_from_slice(&0x0010_0000_u32.to_le_bytes());
    image[0x236] = 1;
    image[0x248..0x24c].copy_from_slice(&700_u32.to_le_bytes());
    image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    image[0x258..0x260].copy_from_slice(&0x0100_0000_u64.to_le_bytes());
    image[0x380..0x38a].copy_from_slice(b"6.1.0-test");
    image.extend(payload);
    image.resize(image.len() + 300, 0);
    image
}

fn put(image: &mut [u8], big: bool, at: usize, number: u32) {
    let bytes = if big {
        number.to_be_bytes()
    } else {
        number.to_le_bytes()
    };
    image[at..at + 4].copy_from_slice(&bytes);
}

/// `table` is there since Linux 4.15.
fn zimage(compression: Compression, kernel: &[u8], big: bool, table: bool) -> Vec<u8> {
    let payload = with_size(compression, kernel);
    let mut image = vec![0; 0x4000];
    // The decompressor holds magic numbers too.
    image[0x2000..0x2006].copy_from_slice(&[0xfd, b'7', b'z', b'X', b'Z', 0]);
    image[0x2010..0x2018].copy_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
    image.extend(payload);
    let piggy = image.len() as u32 - 4;
    image.resize(image.len().next_multiple_of(8) + 64, 0);
    let end = image.len() as u32;
    put(&mut image, big, 0x24, 0x016f_2818);
    put(&mut image, big, 0x2c, end);
    put(&mut image, big, 0x30, 0x0403_0201);
    if table {
        put(&mut image, big, 0x34, 0x4545_4545);
        put(&mut image, big, 0x38, 0x1000);
        for (i, number) in [6, 0x5a53_4c4b, piggy, 4096, 0x8000, 65_536, 0]
            .iter()
            .enumerate()
        {
            put(&mut image, big, 0x1000 + 4 * i, *number);
        }
    }
    image
}

fn zboot(compression: Compression, method: &str, kernel: &[u8]) -> Vec<u8> {
    let payload = with_size(compression, kernel);
    let mut image = vec![0; 0x800];
    image[..8].copy_from_slice(b"MZ\0\0zimg");
    let behind = if compression == Compression::Gzip {
        0
    } else {
        4
    };
    put(&mut image, false, 8, 0x800);
    put(&mut image, false, 12, payload.len() as u32 - behind);
    image[24..24 + method.len()].copy_from_slice(method.as_bytes());
    put(&mut image, false, 0x3c, 0x40);
    image[0x40..0x46].copy_from_slice(b"PE\0\0\x64\xaa");
    image.extend(payload);
    image.resize(image.len() + 500, 0);
    image
}

fn look(image: &[u8]) -> Item {
    let mut items = inspect(&Part::whole(&image).unwrap(), LIMIT).unwrap();
    assert_eq!(items.len(), 1);
    items.remove(0)
}

fn payload(kind: &Kind) -> &Payload {
    match kind {
        Kind::ZImage(z) => z.payload.as_ref(),
        Kind::BzImage(_, payload) => payload.as_ref(),
        Kind::Zboot(z) => z.payload.as_ref(),
        Kind::Packed(payload) => Some(payload),
        _ => None,
    }
    .unwrap()
}

fn is_right(payload: &Payload, compression: Compression, length: usize) {
    assert_eq!(payload.compression, compression);
    assert_eq!(payload.unpacked, Some(length as u64), "{compression}");
    assert_eq!(payload.failure, None);
    is_known(&payload.content);
}

fn is_known(content: &Content) {
    assert_eq!(content.banner.as_deref(), Some(BANNER));
    assert_eq!(content.config.as_deref(), Some(CONFIG.as_bytes()));
    assert!(matches!(content.inner, Inner::Elf(elf) if elf.entry == 0x100_0000));
}

/// Those that Linux builds kernels with.
const USED: [Compression; 7] = [
    Compression::Gzip,
    Compression::Bzip2,
    Compression::Lzma,
    Compression::Xz,
    Compression::Lzo,
    Compression::Lz4,
    Compression::Zstd,
];

#[test]
fn every_kernel_is_read_in_every_compression() {
    let kernel = kernel();
    for compression in USED {
        let image = bzimage(compression, &kernel);
        let item = look(&image);
        is_right(payload(&item.kind), compression, kernel.len());
        assert_eq!(payload(&item.kind).stated, Some(kernel.len() as u64));
        let Kind::BzImage(header, _) = &item.kind else {
            panic!("{item:?}");
        };
        assert_eq!((header.protocol, header.is_64), (0x020f, true));
        assert_eq!(header.version.as_deref(), Some("6.1.0-test"));
        assert!(item.notes.is_empty());
        for big in [false, true] {
            for table in [false, true] {
                let image = zimage(compression, &kernel, big, table);
                let item = look(&image);
                let found = payload(&item.kind);
                is_right(found, compression, kernel.len());
                assert_eq!(found.offset, 0x4000, "{compression} {big} {table}");
                let Kind::ZImage(header) = &item.kind else {
                    panic!("{item:?}");
                };
                assert_eq!(
                    (header.is_big_endian, header.size),
                    (big, image.len() as u64)
                );
                assert_eq!(header.bss_size, table.then_some(4096));
            }
        }
        let method = match compression {
            Compression::Xz => "xzkern",
            Compression::Zstd => "zstd22",
            other => other.name(),
        };
        let image = zboot(compression, method, &kernel);
        let item = look(&image);
        is_right(payload(&item.kind), compression, kernel.len());
        assert_eq!(payload(&item.kind).stated, Some(kernel.len() as u64));
        assert!(matches!(&item.kind, Kind::Zboot(z) if z.arch == "arm64" && z.method == method));
        // Packed as a whole, as arm64 does; U-Boot reads the last one only.
        for compression in [compression, Compression::Lz4Frame] {
            let image = packed(compression, &kernel);
            is_right(payload(&look(&image).kind), compression, kernel.len());
        }
    }
    let Kind::Elf(elf, content) = look(&kernel).kind else {
        panic!("an ELF file");
    };
    assert_eq!(elf.arch(), "x86_64");
    is_known(&content);
}

#[test]
fn a_device_tree_behind_a_zimage_is_found() {
    let mut image = zimage(Compression::Gzip, &kernel(), false, true);
    let end = image.len() as u64;
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/boot/board.dtb");
    let dtb = std::fs::read(root).unwrap();
    image.extend(&dtb);
    let item = look(&image);
    assert_eq!(item.inside.len(), 1);
    assert_eq!(item.inside[0].offset, end);
    assert!(matches!(&item.inside[0].kind, Kind::DeviceTree(d) if d.bootargs.is_some()));
    assert_eq!(item.size, image.len() as u64);
}

#[test]
fn what_is_wrong_with_a_kernel_is_told() {
    let kernel = kernel();
    let whole = bzimage(Compression::Xz, &kernel);
    let cut = look(&whole[..whole.len() - 5000]);
    assert!(cut.notes[0].contains("truncated"), "{:?}", cut.notes);
    let mut damaged = whole.clone();
    damaged[20_000] ^= 0x55;
    let damaged = look(&damaged);
    assert!(damaged.notes[0].contains("damaged"), "{:?}", damaged.notes);
    let mut wrong = whole.clone();
    let at = wrong.len() - 304;
    wrong[at..at + 4].copy_from_slice(&5_u32.to_le_bytes());
    assert!(look(&wrong).notes[0].contains("states 5 bytes"));
    let cut = zimage(Compression::Gzip, &kernel, false, true);
    let cut = look(&cut[..cut.len() - 10_000]);
    assert!(
        cut.notes.iter().any(|n| n.contains("truncated")),
        "{:?}",
        cut.notes
    );
    let mut bad = kernel.clone();
    let mark = bad.windows(8).rposition(|w| w == b"IKCFG_ST").unwrap();
    bad[mark + 20] ^= 0xff;
    let note = look(&bzimage(Compression::Zstd, &bad)).notes;
    assert!(note[0].contains("configuration"), "{note:?}");
}

/// A configuration lies across the steps in which a kernel is read.
#[test]
fn a_configuration_is_found_wherever_it_lies() {
    let marked = [
        &b"IKCFG_ST"[..],
        &packed(Compression::Gzip, CONFIG.as_bytes()),
        b"IKCFG_ED",
    ]
    .concat();
    for at in [
        0,
        (1 << 20) - 4,
        1 << 20,
        (2 << 20) - 50,
        (2 << 20) + 1,
        (3 << 20) - 7,
    ] {
        let mut kernel = vec![0x41; (3 << 20) + 500];
        kernel[..4].copy_from_slice(b"\x7fELF");
        kernel[4..7].copy_from_slice(&[1, 1, 1]);
        let at = at.max(64);
        kernel.splice(at..at + marked.len(), marked.iter().copied());
        let item = look(&kernel);
        let Kind::Elf(_, content) = &item.kind else {
            panic!("{item:?}");
        };
        assert_eq!(content.config.as_deref(), Some(CONFIG.as_bytes()), "{at}");
    }
}

fn debian(name: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("FIRSTLIGHT_CACHE").map(PathBuf::from);
    let kernels = cache.map(|c| c.join("kernel"));
    let releases = kernels.and_then(|k| std::fs::read_dir(k).ok());
    let mut releases = releases.into_iter().flatten().flatten();
    let found = releases.find_map(|r| {
        let release = r.file_name().into_string().ok()?;
        let path = r.path().join(format!("boot/{name}-{release}"));
        path.exists().then_some(path)
    });
    if found.is_none() {
        eprintln!("skipped: no Debian kernel in FIRSTLIGHT_CACHE");
    }
    found
}

#[test]
fn debians_kernel_unpacks_to_what_xz_says() {
    let Some(path) = debian("vmlinuz") else {
        return;
    };
    let image = std::fs::read(path).unwrap();
    let item = look(&image);
    let found = payload(&item.kind);
    assert_eq!(found.compression, Compression::Xz);
    assert_eq!(found.unpacked, found.stated);
    let end = (found.offset + found.packed) as usize;
    let folder = tempfile::tempdir().unwrap();
    let packed = folder.path().join("kernel.xz");
    std::fs::write(&packed, &image[found.offset as usize..end]).unwrap();
    let listed = Command::new("xz")
        .args(["--robot", "--list"])
        .arg(&packed)
        .output();
    let Ok(listed) = listed else {
        eprintln!("skipped: xz is not there");
        return;
    };
    let text = String::from_utf8(listed.stdout).unwrap();
    let totals = text.lines().find(|l| l.starts_with("totals")).unwrap();
    let fields: Vec<&str> = totals.split('\t').collect();
    assert_eq!(fields[3].parse(), Ok(found.packed));
    assert_eq!(fields[4].parse().ok(), found.unpacked);
    let banner = found.content.banner.as_deref().unwrap();
    assert!(
        banner.starts_with("Linux version 6.") && banner.contains("Debian"),
        "{banner}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn nothing_panics(
        which in 0_usize..3,
        compression in 0_usize..7,
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        early in proptest::collection::vec((0_usize..0x280, any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let kernel = &kernel()[..20_000];
        let compression = USED[compression];
        let mut image = match which {
            0 => bzimage(compression, kernel),
            1 => zimage(compression, kernel, flips.len() % 2 == 0, early.len() % 2 == 0),
            _ => zboot(compression, "xzkern", kernel),
        };
        for (at, value) in &early {
            image[*at] = *value;
        }
        for (at, value) in &flips {
            let at = at.index(image.len());
            image[at] ^= value;
        }
        if !flips.is_empty() {
            image.truncate(cut.index(image.len()).max(1));
        }
        inspect(&Part::whole(&image.as_slice()).unwrap(), 1 << 20).unwrap();
    }
}
