//! The kernels of an experiment: the one that it names, and those that treatments
//! have built, each packed or not.

use super::bzimage::{self, BzImage};
use crate::artifacts::{Arch, Cache, hash_bytes};
use crate::emulated::{KernelFile, Kernels};
use crate::error::LabError;
use crate::experiment::{Experiment, Kernel};
use crate::files::{HashedFile, read};
use std::fs;
use std::path::{Path, PathBuf};
use treat::KernelForm;

/// A kernel, and the folder of its modules.
#[derive(Debug)]
pub struct WithModules {
    /// What it was built with; empty: it was built before.
    pub build: Vec<String>,
    /// Its forms.
    pub kernels: Kernels,
    /// Its modules, if it has some.
    pub modules: Option<PathBuf>,
}

/// All that the variants of `experiment` boot: the baseline's first.
///
/// # Errors
/// If one cannot be had, in one sentence.
pub fn all(
    experiment: &Experiment,
    cache: &Cache,
    say: &mut dyn FnMut(String),
) -> Result<Vec<WithModules>, LabError> {
    let mut all: Vec<WithModules> = Vec::new();
    let plain = Vec::new();
    let builds = experiment.variants.iter().map(|v| &v.spec.build);
    for build in [&plain].into_iter().chain(builds) {
        if all.iter().any(|k| k.build == *build) {
            continue;
        }
        let (path, modules) = match (build.is_empty(), &experiment.base.kernel) {
            (false, _) => {
                let kernel = cache.pc_kernel(build, say)?;
                (kernel.image, Some(kernel.modules))
            }
            (true, Kernel::Debian) => {
                let kernel = cache.debian_kernel(Arch::X86_64, say)?;
                (kernel.image, Some(kernel.modules))
            }
            (true, Kernel::File { image, modules, .. }) => (image.clone(), modules.clone()),
            (true, Kernel::Built { .. }) => return Err(Kernel::not_built()),
        };
        let bytes = read(&path)?;
        let bz = BzImage::parse(&path, &bytes)?;
        let mut of = experiment
            .variants
            .iter()
            .filter(|v| v.spec.build == *build);
        let unpacked = match of.any(|v| v.spec.kernel != KernelForm::Image) {
            true => Some(unpack(&bz, &path, &bytes, cache)?),
            false => None,
        };
        all.push(WithModules {
            build: build.clone(),
            kernels: Kernels {
                image: KernelFile {
                    file: HashedFile::of(path, &bytes),
                    form: KernelForm::Image,
                    entries: vec![bz.code32_start, bz.preferred_address],
                },
                unpacked,
                built: Vec::new(),
            },
            modules,
        });
    }
    Ok(all)
}

/// The kernel proper, unpacked into the cache.
fn unpack(bz: &BzImage, path: &Path, image: &[u8], cache: &Cache) -> Result<KernelFile, LabError> {
    let file = cache.path(&format!("vmlinux/{}", hash_bytes(image)));
    let elf = match fs::read(&file) {
        Ok(elf) => elf,
        Err(_) => {
            let elf = bz.unpack(path, image)?;
            cache.write(&file, &elf)?;
            elf
        }
    };
    Ok(KernelFile {
        entries: vec![bzimage::pvh_entry(path, &elf)?],
        form: KernelForm::Uncompressed,
        file: HashedFile::of(file, &elf),
    })
}
