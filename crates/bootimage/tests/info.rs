//! What a file is called, and what is said of damage in it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod barebox;

use barebox::{barebox, crc};
use firstlight_bootimage::Part;
use firstlight_bootimage::branches::Branches;
use firstlight_bootimage::info::{Error, Item, Kind, inspect};

fn corpus(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/");
    std::fs::read(format!("{path}{name}")).unwrap()
}

fn all(image: &[u8]) -> Vec<Item> {
    inspect(&Part::whole(&image).unwrap(), 1 << 20).unwrap()
}

fn one(image: &[u8]) -> Item {
    let mut items = all(image);
    assert_eq!(items.len(), 1);
    items.remove(0)
}

fn says(item: &Item, words: &str) -> bool {
    item.notes.iter().any(|n| n.contains(words))
}

/// A legacy image with right checksums (U-Boot's `include/image.h`): an ARM Linux kernel that is
/// not compressed.
fn uimage(data: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 64];
    header[..4].copy_from_slice(&[0x27, 0x05, 0x19, 0x56]);
    header[12..16].copy_from_slice(&(data.len() as u32).to_be_bytes());
    header[24..28].copy_from_slice(&crc(data).to_be_bytes());
    header[28..32].copy_from_slice(&[5, 2, 2, 0]);
    let sum = crc(&header);
    header[4..8].copy_from_slice(&sum.to_be_bytes());
    [&header, data].concat()
}

#[test]
fn each_file_has_its_word() {
    let mut flat = vec![0; 4096];
    // arm64 (Documentation/arch/arm64/booting.rst): the magic number, and the length of the image.
    flat[56..60].copy_from_slice(b"ARM\x64");
    flat[16..24].copy_from_slice(&4096_u64.to_le_bytes());
    let mut android = b"ANDROID!".to_vec();
    android.resize(4096, 0);
    let mut gzip = corpus("kernel-config/config.gz");
    for (image, word) in [
        (corpus("boot/uImage"), "uimage"),
        (corpus("boot/board.itb"), "fit"),
        (corpus("boot/board.dtb"), "device-tree"),
        (corpus("boot/initrd.img"), "initramfs"),
        (corpus("flash/environment.bin"), "u-boot-environment"),
        (
            [vec![0xff; 4096], barebox()].concat(),
            "barebox-environment",
        ),
        (gzip.clone(), "compressed"),
        (flat.clone(), "kernel-image"),
        (android, "android-boot"),
        (b"hsqs".to_vec(), "other"),
    ] {
        assert_eq!(one(&image).kind.name(), word);
    }
    let flat = one(&flat);
    assert!(says(&flat, "the kernel is not compressed"));
    assert!(flat.kind.content().is_some() && flat.kind.payload().is_none());
    // What is packed is a kernel only by its content, and this has none of its own.
    let packed = one(&gzip);
    let payload = packed.kind.payload().unwrap();
    assert_eq!(payload.failure, None);
    assert!(payload.content.banner.is_none());
    assert_eq!(packed.kind.content(), Some(&payload.content));
    gzip.truncate(gzip.len() / 2);
    assert!(says(&one(&gzip), "the data cannot be decompressed"));
    let tree = one(&corpus("boot/board.dtb"));
    assert!(tree.kind.payload().is_none() && tree.kind.content().is_none());
    assert!(says(&tree, "overrides `bootdelay`"), "{:?}", tree.notes);
    let why = inspect(&Part::whole(&&[][..]).unwrap(), 1).unwrap_err();
    assert!(matches!(why, Error::Empty));
    assert_eq!(why.to_string(), "the file is empty");
}

#[test]
fn damage_of_a_legacy_image_is_said() {
    let whole = uimage(b"some kernel that is no kernel at all");
    let item = one(&whole);
    assert!(
        !says(&item, "checksum") && !says(&item, "truncated"),
        "{:?}",
        item.notes
    );
    let damaged = |at: usize| {
        let mut image = whole.clone();
        image[at] ^= 1;
        one(&image)
    };
    // The load address, a byte of the data, and the end.
    assert!(says(&damaged(16), "the header checksum is wrong"));
    assert!(says(&damaged(70), "the data checksum is wrong"));
    let cut = one(&whole[..80]);
    assert!(
        says(&cut, "it should have 100 bytes but has 80"),
        "{:?}",
        cut.notes
    );
    // The header says that nothing has to be decompressed.
    let packed = one(&uimage(&corpus("kernel-config/config.gz")));
    assert!(says(&packed, "its data is compressed, so it cannot run"));
}

#[test]
fn damage_of_trees_and_environments_is_said() {
    let mut tree = corpus("boot/board.dtb");
    tree.truncate(300);
    let item = one(&tree);
    assert!(
        matches!(item.kind, Kind::Foreign(_)) && item.notes.len() == 1,
        "{item:?}"
    );
    assert!(says(
        &one(&corpus("boot/signed.itb")),
        "the image is signed"
    ));
    // A byte of the data behind the tree, of the first image: text.
    let mut fit = corpus("boot/board.itb");
    let Kind::Fit(found) = one(&fit).kind else {
        unreachable!("a FIT image")
    };
    let (start, _) = found.images[0].data.unwrap();
    fit[start as usize + 10] ^= 1;
    let item = one(&fit);
    assert!(
        says(&item, "so U-Boot refuses the image"),
        "{:?}",
        item.notes
    );
    let short = one(&fit[..start as usize + 10]);
    assert!(
        says(&short, "extends past the end of the file"),
        "{:?}",
        short.notes
    );

    // Both kinds of environments in one file, in order of place.
    let mut other = barebox();
    let last = other.len() - 4;
    other[last] ^= 1;
    let image = [
        vec![0xff; 4096],
        other,
        vec![0xff; 4000],
        corpus("flash/environment.bin"),
    ];
    let items = all(&image.concat());
    let words: Vec<&str> = items.iter().map(|i| i.kind.name()).collect();
    assert_eq!(words, ["barebox-environment", "u-boot-environment"]);
    assert!(says(&items[0], "so Barebox refuses the environment"));
    assert_eq!((items[0].offset, items[1].size), (4096, 4096));
}

#[test]
fn a_tree_is_changed_where_its_names_lead() {
    let first = corpus("boot/board.dtb");
    let mut tree = Branches::read(&first).unwrap();
    let name = tree.root.children[0].name.clone();
    assert_eq!(tree.root.child(&name), Some(&tree.root.children[0]));
    assert_eq!(tree.root.child("no-such-node"), None);
    let nowhere = ["config".to_owned(), "no-such-node".to_owned()];
    assert_eq!(tree.root.at(&nowhere), None);
    assert_eq!(tree.root.at_mut(&nowhere), None);
    let path = ["config".to_owned()];
    let config = tree.root.at_mut(&path).unwrap();
    let (_, delay) = config
        .properties
        .iter_mut()
        .find(|(n, _)| n == "bootdelay")
        .unwrap();
    *delay = 9_u32.to_be_bytes().to_vec();
    tree.reserved = vec![(0x8000_0000, 0x10_0000), (1 << 40, 4096)];
    tree.boot_processor = 3;
    let again = Branches::read(&tree.bytes()).unwrap();
    assert_eq!(again, tree);
    let config = again.root.at(&path).unwrap();
    assert_eq!(config.property("bootdelay"), Some(&[0, 0, 0, 9][..]));
    assert_eq!(config.property("bootcmd-none"), None);
}
