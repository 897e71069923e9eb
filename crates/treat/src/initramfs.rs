//! Treatments of the initramfs that a machine is handed: its packing, its modules.

use crate::BootSpec;
use image::boot::Compression;

/// What is done about the initramfs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Initramfs {
    /// How it is packed; `None`: as it was.
    pub packing: Option<Compression>,
    /// Whether its modules lose their signatures.
    pub unsigned: bool,
}

/// The treatment that takes signatures away, as text.
pub(crate) const UNSIGNED: &str = "modules=unsigned";

/// How Linux can have it packed.
pub(crate) fn method(name: &str) -> Option<Compression> {
    Compression::from_name(name).filter(|c| c.is_read_by_linux())
}

/// One sentence about an `initramfs=`.
pub(crate) fn plan_packing(method: Compression, spec: &BootSpec) -> String {
    let name = method.name();
    match spec.initramfs.packing {
        Some(before) if before == method => {
            format!("the initramfs is already packed by {name}: nothing changes")
        }
        Some(before) => format!(
            "the initramfs is packed by {name}, not by {}",
            before.name()
        ),
        None => format!("the initramfs is packed by {name}"),
    }
}

/// One sentence about `modules=unsigned`.
pub(crate) fn plan_unsigned(spec: &BootSpec) -> String {
    match spec.initramfs.unsigned {
        true => "the modules in the initramfs have no signatures already: nothing changes",
        false => "the modules in the initramfs lose their signatures, which are no longer checked",
    }
    .to_owned()
}
