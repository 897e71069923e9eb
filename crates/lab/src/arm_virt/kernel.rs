//! The kernel of an ARM board, in the forms that an experiment wants.

use super::flash::{Kind, legacy_image};
use super::image::{self, KernelImage};
use crate::artifacts::{Cache, hash_bytes};
use crate::emulated::{KernelFile, Kernels};
use crate::error::LabError;
use crate::experiment::{ArmArch, Experiment};
use crate::files::HashedFile;
use std::fs;
use std::path::Path;
use treat::KernelForm;

/// The kernel image `bytes`, which are the file at `path`, on a board whose memory
/// begins at `ram`, in the forms that the variants of `experiment` want. `entered`
/// is where a loader enters the image; `None`: QEMU starts it.
///
/// # Errors
/// If it is no kernel for this board, or cannot be unpacked.
pub fn kernels(
    experiment: &Experiment,
    (arch, ram): (ArmArch, u64),
    (path, bytes): (&Path, &[u8]),
    entered: Option<u64>,
    cache: &Cache,
) -> Result<Kernels, LabError> {
    let header = KernelImage::parse((arch, ram), path, bytes)?;
    let wants = |form| experiment.variants.iter().any(|v| v.spec.kernel == form);
    let unpacked = match wants(KernelForm::Uncompressed) {
        true => Some(unpack(arch, &header, path, bytes, cache)?),
        false => None,
    };
    let entry = entered.unwrap_or(header.loaded_by_qemu);
    let entries = [Some(entry), header.unpacked];
    Ok(Kernels {
        image: KernelFile {
            file: HashedFile::of(path.to_owned(), bytes),
            form: KernelForm::Image,
            entries: entries.into_iter().flatten().collect(),
        },
        unpacked,
        built: Vec::new(),
    })
}

/// The kernel proper as a legacy image, unpacked into the cache.
fn unpack(
    arch: ArmArch,
    header: &KernelImage,
    path: &Path,
    bytes: &[u8],
    cache: &Cache,
) -> Result<KernelFile, LabError> {
    let unfit = || LabError::Kernel {
        path: path.to_owned(),
        why: "it does not state the address of the decompressed kernel, so it cannot be booted \
            uncompressed; use Linux 4.15 or later"
            .into(),
    };
    let address = header.unpacked.ok_or_else(unfit)?;
    // The header of a legacy image has the address.
    let name = format!("vmlinux/{}-legacy-{address:x}", hash_bytes(bytes));
    let file = cache.path(&name);
    let image = match fs::read(&file) {
        Ok(image) => image,
        Err(_) => {
            let kernel = image::unpack(path, bytes)?;
            let image = legacy_image(arch, Kind::Kernel(address), &kernel);
            cache.write(&file, &image)?;
            image
        }
    };
    Ok(KernelFile {
        file: HashedFile::of(file, &image),
        form: KernelForm::Uncompressed,
        entries: vec![address],
    })
}
