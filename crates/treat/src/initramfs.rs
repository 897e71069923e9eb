//! Treatments of the initramfs that a machine is handed: its packing, its modules.

use crate::spec::BootSpec;
use rawimage::Compression;

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
            format!("the initramfs is already compressed with {name}: nothing changes")
        }
        Some(before) => format!(
            "the initramfs is compressed with {name} instead of {}",
            before.name()
        ),
        None => format!("the initramfs is compressed with {name}"),
    }
}

/// One sentence about `modules=unsigned`.
pub(crate) fn plan_unsigned(spec: &BootSpec) -> String {
    match spec.initramfs.unsigned {
        true => "the modules in the initramfs are already unsigned: nothing changes",
        false => {
            "the modules in the initramfs lose their signatures, so the kernel no longer \
            verifies them"
        }
    }
    .to_owned()
}
