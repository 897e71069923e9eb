//! The kernels of an experiment: the one that it names, and those that treatments
//! have built, each packed or not.

use super::bzimage::{self, BzImage};
use crate::artifacts::{Arch, Cache, hash_bytes};
use crate::error::LabError;
use crate::experiment::{Experiment, Kernel};
use crate::files::{HashedFile, read};
use std::fs;
use std::path::{Path, PathBuf};
use treat::{BootSpec, KernelForm};

/// A file that the machine starts.
#[derive(Debug)]
pub struct KernelFile {
    /// The file.
    pub file: HashedFile,
    /// The decompressor's entry, if the kernel unpacks itself; the kernel's.
    pub entries: Vec<u64>,
}

/// A kernel in the forms that variants want.
#[derive(Debug)]
pub struct KernelForms {
    /// What it was built with; empty: it was built before.
    pub build: Vec<String>,
    image: KernelFile,
    /// Unpacked, if a variant wants it so.
    unpacked: Option<KernelFile>,
    /// The folder of its modules.
    pub modules: Option<PathBuf>,
}

impl KernelForms {
    /// All that the variants of `experiment` boot.
    ///
    /// # Errors
    /// If one cannot be had, in one sentence.
    pub fn all(
        experiment: &Experiment,
        cache: &Cache,
        say: &mut dyn FnMut(String),
    ) -> Result<Vec<Self>, LabError> {
        let mut all: Vec<Self> = Vec::new();
        for variant in &experiment.variants {
            let build = &variant.spec.build;
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
                (true, Kernel::File { image, modules }) => (image.clone(), modules.clone()),
            };
            let bytes = read(&path)?;
            let bz = BzImage::parse(&path, &bytes)?;
            let wants = |form| {
                let mut of = experiment
                    .variants
                    .iter()
                    .filter(|v| v.spec.build == *build);
                of.any(|v| v.spec.kernel == form)
            };
            let unpacked = match wants(KernelForm::Uncompressed) {
                true => Some(unpack(&bz, &path, &bytes, cache)?),
                false => None,
            };
            all.push(Self {
                build: build.clone(),
                image: KernelFile {
                    entries: vec![bz.code32_start, bz.preferred_address],
                    file: HashedFile::of(path, &bytes),
                },
                unpacked,
                modules,
            });
        }
        Ok(all)
    }

    /// The file that `spec` boots.
    ///
    /// # Errors
    /// If it is none of a variant's.
    pub fn of<'a>(all: &'a [Self], spec: &BootSpec) -> Result<&'a KernelFile, LabError> {
        let kernel = all.iter().find(|k| k.build == spec.build);
        let file = kernel.and_then(|k| match spec.kernel {
            KernelForm::Image => Some(&k.image),
            KernelForm::Uncompressed => k.unpacked.as_ref(),
        });
        file.ok_or_else(|| LabError::Bug {
            why: "a variant wants a kernel that was not prepared".into(),
        })
    }
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
        file: HashedFile::of(file, &elf),
    })
}
