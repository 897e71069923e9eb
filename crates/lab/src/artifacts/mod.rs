//! Kernels and roots that the lab makes or fetches once and keeps.

mod agent;
mod apt;
mod busybox;
mod cramfs;
mod ext4;
mod filesystem;
mod folder;
mod kernel;
mod linux;
mod listing;
mod packages;
mod root;
mod tree;

pub use crate::arch::Arch;
pub use crate::cache::{Cache, hash_bytes};
pub use agent::{agent_program, no_agent};
pub use filesystem::Form;
pub use kernel::DebianKernel;
pub use linux::{
    BuiltKernel, KernelConfig, fragment as kernel_fragment, missing as linux_missing,
    pc_build_missing,
};
pub use tree::Tree;

use crate::error::LabError;
use std::path::PathBuf;

/// What trees are filled with.
#[derive(Clone, Debug)]
pub struct Programs {
    /// A static busybox.
    pub busybox: PathBuf,
    /// Debian's name of the architecture of it and of packages.
    pub architecture: &'static str,
}

impl Cache {
    /// Debian's own kernel package for `arch` as it is: unpacked from the cache,
    /// or fetched.
    ///
    /// # Errors
    /// If it has to be fetched and that fails.
    pub fn debian_kernel(
        &self,
        arch: Arch,
        say: &mut dyn FnMut(String),
    ) -> Result<DebianKernel, LabError> {
        kernel::get(self, arch, say)
    }

    /// Debian's static busybox for an architecture, by Debian's name of it: from
    /// the cache, or fetched.
    ///
    /// # Errors
    /// If it has to be fetched and that fails.
    pub fn busybox(
        &self,
        architecture: &str,
        say: &mut dyn FnMut(String),
    ) -> Result<PathBuf, LabError> {
        busybox::get(self, architecture, say)
    }

    /// What trees of a machine of Debian's `architecture` are filled with.
    ///
    /// # Errors
    /// If it has to be fetched and that fails.
    pub fn programs(
        &self,
        architecture: &'static str,
        say: &mut dyn FnMut(String),
    ) -> Result<Programs, LabError> {
        Ok(Programs {
            busybox: self.busybox(architecture, say)?,
            architecture,
        })
    }

    /// An ext4 image of a minimal Debian with systemd: from the cache, or made.
    ///
    /// # Errors
    /// If it has to be made and that fails.
    pub fn debian_minimal_root(&self, say: &mut dyn FnMut(String)) -> Result<PathBuf, LabError> {
        let kernel = self.debian_kernel(Arch::X86_64, say)?;
        root::get(self, &kernel, say)
    }
}

/// Debian's kernel for `arch`, if it is in the cache.
#[must_use]
pub fn cached_kernel(arch: Arch) -> Option<DebianKernel> {
    kernel::newest_in(&Cache::place().join(kernel::folder(arch)))
}

/// The minimal Debian for the kernel in the cache, if it is there too.
#[must_use]
pub fn cached_root() -> Option<PathBuf> {
    let root = root::place(&Cache::in_place(), &cached_kernel(Arch::X86_64)?);
    root.is_file().then_some(root)
}
