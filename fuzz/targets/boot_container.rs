#![no_main]

use image::boot::{Part, device_tree, fdt::Fdt, fit, info, uimage};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let part = Part::whole(&bytes).unwrap();
    uimage::read(&part).unwrap();
    if let Ok(tree) = Fdt::read(&part) {
        assert_eq!(device_tree::device_tree(&tree).nodes, tree.len());
        fit::from_tree(&part, &tree, true).unwrap();
    }
    fit::find(&part).unwrap();
    if !bytes.is_empty() {
        info::inspect(&part, 1 << 20).unwrap();
    }
});
