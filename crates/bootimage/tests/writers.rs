//! What is written reads back as what it was, and can be taken back.

#![allow(clippy::unwrap_used, reason = "a test")]
use firstlight_bootimage::branches::Branches;
use firstlight_bootimage::treatment::{load_uimage_at, set_tree_bootdelay};
use firstlight_bootimage::{Part, device_tree, fdt::Fdt, uimage};
use proptest::prelude::*;

fn corpus(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/boot/");
    std::fs::read(format!("{path}{name}")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A legacy image that is loaded elsewhere, and U-Boot's own delay.
    #[test]
    fn addresses_and_delays_are_read_back_and_taken_back(address: u32, delay: i32) {
        let image = corpus("uImage");
        if let Ok(done) = load_uimage_at(&image, address) {
            let written = done.bytes.as_slice();
            let found = uimage::read(&Part::whole(&written).unwrap()).unwrap().unwrap();
            prop_assert_eq!(found.xip(), uimage::Xip::At { address });
            prop_assert_eq!(&done.bytes[64..], &image[64..]);
            let mut back = done.bytes.clone();
            done.undo.unwrap().apply(&mut back).unwrap();
            prop_assert_eq!(&back, &image);
        } else {
            // Only where there is no room for the image behind its header.
            prop_assert!(address > u32::MAX - 0x10000);
        }
        let tree = corpus("board.dtb");
        let done = set_tree_bootdelay(&tree, delay).unwrap();
        let written = done.bytes.as_slice();
        let read = Fdt::read(&Part::whole(&written).unwrap()).unwrap();
        prop_assert_eq!(device_tree::bootdelay(&read), Some(i64::from(delay)));
        let mut back = done.bytes.clone();
        done.undo.unwrap().apply(&mut back).unwrap();
        prop_assert_eq!(&back, &tree);
    }
}

/// A tree that is read as a whole and written again has the same nodes and values, and `dtc`
/// prints the same of both.
#[test]
fn a_whole_tree_is_written_as_it_was_read() {
    let folder = tempfile::tempdir().unwrap();
    // A FIT image is a tree with values of many kilobytes.
    for name in ["board.dtb", "board.itb", "../bootstage/tree.dtb"] {
        let first = corpus(name);
        let tree = Branches::read(&first).unwrap();
        let written = tree.bytes();
        assert_eq!(Branches::read(&written).unwrap(), tree, "{name}");
        assert_eq!(Branches::read(&written).unwrap().bytes(), written, "{name}");
        let text = |file: &str, bytes: &[u8]| {
            let path = folder.path().join(file);
            std::fs::write(&path, bytes).unwrap();
            let dtc = std::process::Command::new("dtc")
                .args(["-q", "-q", "-I", "dtb", "-O", "dts"])
                .arg(&path)
                .output();
            dtc.ok().map(|out| (out.status.success(), out.stdout))
        };
        let (before, after) = (text("first", &first), text("written", &written));
        assert_eq!(before, after, "{name}");
        // Data may follow the tree, whose own length stands in its header.
        let own = u32::from_be_bytes(first[4..8].try_into().unwrap()) as usize;
        for cut in [0, 39, 60, own / 2] {
            assert!(Branches::read(&first[..cut]).is_err(), "{name} to {cut}");
        }
    }
}
