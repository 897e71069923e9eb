//! Images that boot loaders read, as targets look at them.

use bootimage::branches::Branches;
use bootimage::treatment::{load_uimage_at, set_tree_bootdelay};
use bootimage::{Part, device_tree, fdt::Fdt, fit, info, uimage};

/// What must hold of what a boot loader reads, whatever its bytes.
pub fn look(bytes: &[u8]) {
    let part = Part::whole(&bytes).unwrap();
    uimage::read(&part).unwrap();
    if let Ok(tree) = Fdt::read(&part) {
        assert_eq!(device_tree::device_tree(&tree).nodes, tree.len());
        fit::from_tree(&part, &tree, true).unwrap();
    }
    // A tree that is read as a whole is written as what means the same.
    if let Ok(tree) = Branches::read(bytes) {
        assert_eq!(Branches::read(&tree.bytes()).unwrap(), tree);
    }
    fit::find(&part).unwrap();
    // What is changed is taken back to the byte, and read as what was asked for.
    let to = 0x8200_0000;
    if let Ok(done) = load_uimage_at(bytes, to) {
        let written = done.bytes.as_slice();
        let found = uimage::read(&Part::whole(&written).unwrap()).unwrap();
        assert_eq!(found.unwrap().xip(), uimage::Xip::At { address: to });
        let mut back = done.bytes.clone();
        done.undo.unwrap().apply(&mut back).unwrap();
        assert_eq!(back, bytes);
    }
    if let Ok(done) = set_tree_bootdelay(bytes, -2) {
        let written = done.bytes.as_slice();
        let tree = Fdt::read(&Part::whole(&written).unwrap()).unwrap();
        assert_eq!(device_tree::bootdelay(&tree), Some(-2));
        let mut back = done.bytes.clone();
        done.undo.unwrap().apply(&mut back).unwrap();
        assert_eq!(back, bytes);
    }
    if !bytes.is_empty() {
        info::inspect(&part, 1 << 20).unwrap();
    }
}
