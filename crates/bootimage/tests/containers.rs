//! Legacy images, FIT images and device trees, against mkimage and dtc.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]

use firstlight_bootimage::fdt::{Error, Fdt, Node};
use firstlight_bootimage::fit::{self, Check, Fit};
use firstlight_bootimage::uimage::{self, Uimage, Xip};
use firstlight_bootimage::{Compression, Part, device_tree, info};
use proptest::prelude::*;
use std::path::Path;
use std::process::Command;

fn corpus(name: &str) -> Vec<u8> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/boot/");
    std::fs::read(Path::new(root).join(name)).unwrap()
}

/// Runs a tool in a folder; what it printed, or `None`, with a line, where it
/// is not installed.
fn run(folder: &Path, tool: &str, args: &[&str]) -> Option<String> {
    let Ok(out) = Command::new(tool).args(args).current_dir(folder).output() else {
        eprintln!("skipped: {tool} is not there");
        return None;
    };
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{tool} {args:?}: {said}");
    Some(String::from_utf8(out.stdout).unwrap())
}

fn uimage(image: &[u8]) -> Uimage {
    uimage::read(&Part::whole(&image).unwrap())
        .unwrap()
        .unwrap()
}

fn fit(image: &[u8]) -> Fit {
    fit::read(&Part::whole(&image).unwrap()).unwrap()
}

fn tree(image: &[u8]) -> Result<Fdt, Error> {
    Fdt::read(&Part::whole(&image).unwrap())
}

#[test]
fn what_mkimage_writes_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (kernel, second) = (vec![7; 5001], vec![9; 300]);
    std::fs::write(path.join("kernel"), &kernel).unwrap();
    std::fs::write(path.join("second"), &second).unwrap();
    for (arch, os, kind, compression) in [
        ("arm", "linux", "kernel", "none"),
        ("arm64", "linux", "kernel", "gzip"),
        ("mips", "linux", "kernel", "lzma"),
        ("powerpc", "linux", "kernel", "bzip2"),
        ("riscv", "u-boot", "firmware", "lz4"),
        ("x86_64", "linux", "kernel_noload", "zstd"),
        ("arm", "linux", "ramdisk", "lzo"),
    ] {
        let args = [
            "-A",
            arch,
            "-O",
            os,
            "-T",
            kind,
            "-C",
            compression,
            "-a",
            "80008000",
            "-e",
            "80008040",
            "-n",
            "A name of exactly 32 characters.",
            "-d",
            "kernel",
            "out",
        ];
        if run(path, "mkimage", &args).is_none() {
            return;
        }
        let bytes = std::fs::read(path.join("out")).unwrap();
        let image = uimage(&bytes);
        assert_eq!(
            (image.arch(), image.os(), image.kind()),
            (arch.into(), os.into(), kind.into())
        );
        let wanted = match compression {
            "lz4" => Compression::Lz4Frame,
            name => Compression::from_name(name).unwrap(),
        };
        assert_eq!(image.compression(), Some(wanted));
        assert_eq!((image.load, image.entry), (0x8000_8000, 0x8000_8040));
        assert_eq!(image.name, "A name of exactly 32 characters.");
        assert_eq!(image.size as usize, kernel.len());
        assert!(image.header_is_right);
        assert_eq!(image.data_is_right, Some(true));
        // What mkimage itself says of it.
        let listed = run(path, "mkimage", &["-l", "out"]).unwrap();
        assert!(listed.contains("Load Address: 80008000"), "{listed}");
    }
    // Where U-Boot looks for the parts, the kernel's data begins behind the
    // header and the list of lengths.
    let args = [
        "-A",
        "arm",
        "-O",
        "linux",
        "-T",
        "multi",
        "-C",
        "none",
        "-a",
        "80008000",
        "-e",
        "80008000",
        "-n",
        "multi",
        "-d",
        "kernel:second",
        "out",
    ];
    run(path, "mkimage", &args).unwrap();
    let bytes = std::fs::read(path.join("out")).unwrap();
    let image = uimage(&bytes);
    assert_eq!(image.parts, [(76, 5001), (5080, 300)]);
    assert_eq!(bytes[76..76 + 5001], kernel);
    assert_eq!(bytes[5080..5380], second);
    assert_eq!(
        image.xip(),
        Xip::At {
            address: 0x8000_8000 - 76
        }
    );
}

#[test]
fn where_to_load_so_that_nothing_is_moved() {
    let mut image = uimage(&corpus("uImage"));
    assert_eq!(
        image.xip(),
        Xip::At {
            address: 0x8000_7fc0
        }
    );
    image.compression = 1;
    assert_eq!(image.xip(), Xip::Compressed);
    image.compression = 0;
    image.load = 63;
    assert_eq!(image.xip(), Xip::TooLow);
    image.kind = 14;
    assert_eq!(image.xip(), Xip::NeverMoved);
    image.kind = 3;
    assert_eq!(image.xip(), Xip::NotAKernel);
}

#[test]
fn both_checksums_are_checked() {
    let whole = corpus("uImage");
    let mut header = whole.clone();
    header[40] ^= 1;
    let image = uimage(&header);
    assert!(!image.header_is_right);
    assert_eq!(image.data_is_right, Some(true));
    let mut data = whole.clone();
    data[1000] ^= 1;
    assert_eq!(uimage(&data).data_is_right, Some(false));
    assert_eq!(uimage(&whole[..whole.len() - 1]).data_is_right, None);
    let short = &whole[..63];
    assert!(
        uimage::read(&Part::whole(&short).unwrap())
            .unwrap()
            .is_none()
    );
}

/// Every node and property, as `fdtget` prints them.
fn is_as_fdtget_says(folder: &Path, node: Node<'_>, path: &str) {
    let lines = |args: &[&str]| -> Option<Vec<String>> {
        let text = run(folder, "fdtget", args)?;
        Some(text.lines().map(str::to_owned).collect())
    };
    let Some(children) = lines(&["-l", "tree", path]) else {
        return;
    };
    let ours: Vec<&str> = node.children().map(|c| c.name()).collect();
    assert_eq!(ours, children, "{path}");
    let properties = lines(&["-p", "tree", path]).unwrap();
    let ours: Vec<&str> = node.properties().iter().map(|p| p.name.as_str()).collect();
    assert_eq!(ours, properties, "{path}");
    for property in node.properties().iter().filter(|p| p.length > 0) {
        let Some(value) = property.value() else {
            continue;
        };
        let theirs = lines(&["-t", "bx", "tree", path, &property.name]).unwrap();
        let ours: Vec<String> = value.iter().map(|b| format!("{b:x}")).collect();
        assert_eq!(ours.join(" "), theirs[0], "{path} {}", property.name);
    }
    for child in node.children() {
        let below = format!("{}/{}", path.trim_end_matches('/'), child.name());
        is_as_fdtget_says(folder, child, &below);
    }
}

#[test]
fn trees_are_as_fdtget_says() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["board.dtb", "board.itb", "signed.itb"] {
        let bytes = corpus(name);
        std::fs::write(folder.path().join("tree"), &bytes).unwrap();
        is_as_fdtget_says(folder.path(), tree(&bytes).unwrap().root(), "/");
    }
}

#[test]
fn a_board_is_read() {
    let tree = tree(&corpus("board.dtb")).unwrap();
    let board = device_tree::device_tree(&tree);
    assert_eq!(board.model.as_deref(), Some("Example Board"));
    assert_eq!(board.compatible, ["example,board", "example,soc"]);
    assert_eq!(device_tree::bootdelay(&tree), Some(-2));
    let stages: Vec<_> = board
        .bootstage
        .iter()
        .map(|s| (s.name.as_str(), s.us, s.is_accumulated))
        .collect();
    assert_eq!(stages, [("main_loop", 20_364, false), ("dm_r", 1871, true)]);
    assert!(!board.is_overlay);
}

#[test]
fn fit_images_are_checked_wherever_their_data_lies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for name in ["board.dtb", "initrd.img"] {
        std::fs::write(path.join(name), corpus(name)).unwrap();
    }
    let its = "/dts-v1/; / { description = \"x\"; images {
        a { data = /incbin/(\"board.dtb\"); type = \"flat_dt\"; compression = \"none\";
            hash-1 { algo = \"crc32\"; }; hash-2 { algo = \"sha1\"; };
            hash-3 { algo = \"sha256\"; }; hash-4 { algo = \"sha384\"; };
            hash-5 { algo = \"sha512\"; }; hash-6 { algo = \"md5\"; }; };
        b { data = /incbin/(\"initrd.img\"); type = \"ramdisk\"; compression = \"none\";
            hash { algo = \"crc32\"; uboot-ignore = <1>; }; };
        }; configurations { default = \"c\"; c { fdt = \"a\"; ramdisk = \"b\"; }; }; };";
    std::fs::write(path.join("in.its"), its).unwrap();
    for more in [
        &[][..],
        &["-E"],
        &["-E", "-p", "0x2000"],
        &["-E", "-B", "0x1000"],
    ] {
        let args = [more, &["-f", "in.its", "out"]].concat();
        if run(path, "mkimage", &args).is_none() {
            return;
        }
        let mut bytes = std::fs::read(path.join("out")).unwrap();
        let found = fit(&bytes);
        // mkimage fills up, to a multiple of 4 or of what -B says.
        let end = found
            .end
            .next_multiple_of(if more.contains(&"-B") { 0x1000 } else { 4 });
        assert_eq!(end, bytes.len() as u64, "{more:?}");
        let checks: Vec<Check> = found.images[0].hashes.iter().map(|h| h.check).collect();
        let mut wanted = [Check::Right; 6];
        wanted[5] = Check::NotChecked;
        assert_eq!(checks, wanted, "{more:?}");
        let second = &found.images[1].hashes[0];
        assert_eq!((second.check, second.is_ignored), (Check::Right, true));
        assert_eq!(found.images[0].is_external, !more.is_empty());
        assert!(!found.is_signed());
        let (start, length) = found.images[0].data.unwrap();
        let data = &bytes[start as usize..(start + length) as usize];
        assert_eq!(data, corpus("board.dtb"));
        bytes[start as usize] ^= 1;
        let checks: Vec<Check> = fit(&bytes).images[0]
            .hashes
            .iter()
            .map(|h| h.check)
            .collect();
        wanted[..5].fill(Check::Wrong);
        assert_eq!(checks, wanted);
    }
}

#[test]
fn a_signed_fit_image_is_known_wherever_it_lies() {
    let signed = corpus("signed.itb");
    let found = fit(&signed);
    assert!(found.is_signed());
    let signature = &found.configurations[0].signatures[0];
    assert_eq!(signature.algorithm, "sha256,rsa2048");
    assert!(signature.has_value);
    let mut image = vec![0xff; 3 << 20];
    for at in [4, 0x1000, (1 << 20) - 8, 2 << 20] {
        image.fill(0xff);
        image[at..at + signed.len()].copy_from_slice(&signed);
        let all = fit::find(&Part::whole(&image.as_slice()).unwrap()).unwrap();
        assert_eq!(all.len(), 1, "{at}");
        assert_eq!(all[0].0, at as u64);
        assert!(all[0].1.is_signed());
    }
}

/// A tree of tokens: what a hostile one may hold.
fn made(structure: &[u8], strings: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let total = 40 + 16 + structure.len() + strings.len();
    for number in [
        0xd00d_feed_u32,
        total as u32,
        56,
        56 + structure.len() as u32,
        40,
        17,
        16,
        0,
        strings.len() as u32,
        structure.len() as u32,
    ] {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend([0; 16]);
    bytes.extend(structure);
    bytes.extend(strings);
    bytes
}

fn tokens(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|t| t.to_be_bytes()).collect()
}

#[test]
fn hostile_trees_are_refused() {
    let deep: Vec<u32> = std::iter::repeat_n([1, 0], 100_000).flatten().collect();
    let wide: Vec<u32> = [1, 0]
        .into_iter()
        .chain(std::iter::repeat_n([1, 0, 2], 70_000).flatten())
        .collect();
    for (structure, part) in [
        (tokens(&deep), "too many or too deep"),
        (tokens(&wide), "too many or too deep"),
        (
            tokens(&[1, 0, 3, u32::MAX, 0, 2, 9]),
            "extends past the structure block",
        ),
        (tokens(&[1, 0, 3, 4, u32::MAX, 0, 2, 9]), "no name"),
        (tokens(&[1, 0, 2, 2, 9]), "has not begun"),
        (tokens(&[1, 0, 9]), "inside a node"),
        (tokens(&[1, 0, 2, 1, 0, 2, 9]), "second root"),
        (tokens(&[3, 0, 0]), "a property outside a node"),
        (tokens(&[1, 0, 7]), "unknown token"),
        (tokens(&[1, 0, 2]), "has no end token"),
    ] {
        let said = tree(&made(&structure, b"name\0")).unwrap_err().to_string();
        assert!(said.contains(part), "{said}");
    }
    let whole = corpus("board.dtb");
    assert!(matches!(
        tree(&whole[..whole.len() - 1]),
        Err(Error::Cut { .. })
    ));
    assert!(matches!(tree(&whole[..39]), Err(Error::Cut { .. })));
    assert!(matches!(tree(&whole[1..]), Err(Error::Magic)));
    // Values are not kept in memory for ever.
    let mut values = tokens(&[1, 0]);
    for _ in 0..20_000 {
        values.extend(tokens(&[3, 4096, 0]));
        values.extend([0x41; 4096]);
    }
    values.extend(tokens(&[2, 9]));
    let tree = tree(&made(&values, b"name\0")).unwrap();
    let kept = tree
        .root()
        .properties()
        .iter()
        .filter(|p| p.value().is_some());
    assert_eq!(kept.count(), (32 << 20) / 4096);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_panics(
        which in 0_usize..4,
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut image = corpus(["uImage", "board.itb", "signed.itb", "board.dtb"][which]);
        for (at, value) in flips {
            // Mostly in the part that says what is where.
            let end = image.len().min(1200);
            let at = at.index(end);
            image[at] = value;
        }
        let cut = 1 + cut.index(image.len());
        for image in [&image[..], &image[..cut]] {
            let part = Part::whole(&image).unwrap();
            info::inspect(&part, 1 << 20).unwrap();
            fit::find(&part).unwrap();
        }
    }

    #[test]
    fn any_tokens_are_read_or_refused(
        all in proptest::collection::vec(prop_oneof![0_u32..10, any::<u32>()], 0..60),
        names in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        if let Ok(tree) = tree(&made(&tokens(&all), &names)) {
            prop_assert_eq!(device_tree::device_tree(&tree).nodes, tree.len());
        }
    }
}
