//! Debian's kernel package, unpacked.

use super::apt::{Apt, debian};
use super::{Arch, Cache};
use crate::error::{LabError, io_error};
use crate::tools::Tool;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The package that depends on the newest kernel. Debian's kernels for ARMv5 and RISC-V run
/// on none of the lab's machines.
const fn newest(arch: Arch) -> Option<&'static str> {
    match arch {
        Arch::X86_64 => Some("linux-image-amd64"),
        Arch::Aarch64 => Some("linux-image-arm64"),
        Arch::Armv7 => Some("linux-image-armmp"),
        Arch::Armv5 | Arch::Riscv64 => None,
    }
}

/// A kernel of Debian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebianKernel {
    /// Its release: `6.1.0-56-amd64`.
    pub release: String,
    /// The kernel image, as the architecture has it: bzImage, Image, zImage.
    pub image: PathBuf,
    /// The folder of its modules.
    pub modules: PathBuf,
}

/// The cache's folder for kernels of `arch`.
pub(super) const fn folder(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "kernel",
        Arch::Aarch64 => "kernel-arm64",
        Arch::Armv7 => "kernel-armhf",
        Arch::Armv5 => "kernel-armel",
        Arch::Riscv64 => "kernel-riscv64",
    }
}

pub(super) fn get(
    cache: &Cache,
    arch: Arch,
    say: &mut dyn FnMut(String),
) -> Result<DebianKernel, LabError> {
    let newest = newest(arch).ok_or_else(|| LabError::Bug {
        why: format!("a Debian kernel for {arch}, which no machine of the lab boots"),
    })?;
    let place = cache.path(folder(arch));
    if let Some(kernel) = newest_in(&place) {
        return Ok(kernel);
    }
    let making = cache.make(folder(arch))?;
    if let Some(kernel) = newest_in(&place) {
        return Ok(kernel);
    }
    let working = making.folder.path();
    let apt = Apt::open(debian(arch), &working.join("apt"), say)?;
    let package = apt.kernel_package(newest)?;
    say(format!("fetching the Debian kernel package {package}"));
    let (download, tree) = (working.join("deb"), working.join("tree"));
    for new in [&download, &tree] {
        fs::create_dir(new).map_err(io_error(new, "cannot be created"))?;
    }
    let deb = apt.download(&package, &download)?;
    let why = "unpack the kernel package";
    Tool::new("dpkg-deb", "dpkg", why)
        .args(["-x".as_ref(), deb.as_os_str(), tree.as_os_str()])
        .run()?;
    join_usr(&tree)?;
    let release = package.trim_start_matches("linux-image-");
    let why = "find the dependencies of kernel modules";
    Tool::new("depmod", "kmod", why)
        .args(["-b".as_ref(), tree.as_os_str(), release.as_ref()])
        .run()?;
    fs::create_dir_all(&place).map_err(io_error(&place, "cannot be created"))?;
    let whole = place.join(release);
    fs::rename(&tree, &whole).map_err(io_error(&whole, "cannot be moved into place"))?;
    newest_in(&place).ok_or_else(|| LabError::Kernel {
        path: whole,
        why: format!("the package {package} contains no boot/vmlinuz-{release} with its modules"),
    })
}

/// Makes `lib` in a package's tree lead to `usr/lib`, where Debian 13 and newer have the
/// modules. depmod reads `lib`.
fn join_usr(tree: &Path) -> Result<(), LabError> {
    let lib = tree.join("lib");
    match lib.exists() || !tree.join("usr/lib/modules").is_dir() {
        true => Ok(()),
        false => symlink("usr/lib", &lib).map_err(io_error(&lib, "cannot be created")),
    }
}

/// The newest kernel that was unpacked earlier: what was measured on one kernel
/// is not to be compared with another that came by an update.
pub(super) fn newest_in(place: &Path) -> Option<DebianKernel> {
    let entries = fs::read_dir(place).ok()?;
    let mut releases: Vec<String> = entries
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .collect();
    releases.sort_by_key(|r| numbers(r));
    releases.into_iter().rev().find_map(|release| {
        let tree = place.join(&release);
        let kernel = DebianKernel {
            image: tree.join("boot").join(format!("vmlinuz-{release}")),
            modules: tree.join("lib/modules").join(&release),
            release,
        };
        let there = kernel.image.is_file() && kernel.modules.join("modules.dep").is_file();
        there.then_some(kernel)
    })
}

/// The numbers of a release, so that 6.1.0-9 comes before 6.1.0-56.
fn numbers(release: &str) -> Vec<u64> {
    let parts = release.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|n| n.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{join_usr, newest_in};
    use std::fs;

    #[test]
    fn modules_are_found_in_packages_of_either_layout() {
        for (layout, leads) in [("lib/modules", false), ("usr/lib/modules", true)] {
            let tree = tempfile::tempdir().unwrap();
            fs::create_dir_all(tree.path().join(layout).join("6.12")).unwrap();
            join_usr(tree.path()).unwrap();
            assert!(tree.path().join("lib/modules/6.12").is_dir(), "{layout}");
            assert_eq!(tree.path().join("lib").is_symlink(), leads, "{layout}");
        }
    }

    #[test]
    fn the_newest_whole_kernel_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        for (release, whole) in [
            ("6.1.0-9-amd64", true),
            ("6.1.0-56-amd64", true),
            ("6.1.0-57-amd64", false),
        ] {
            let tree = folder.path().join(release);
            let modules = tree.join("lib/modules").join(release);
            fs::create_dir_all(&modules).unwrap();
            fs::create_dir_all(tree.join("boot")).unwrap();
            fs::write(tree.join("boot").join(format!("vmlinuz-{release}")), "").unwrap();
            if whole {
                fs::write(modules.join("modules.dep"), "").unwrap();
            }
        }
        let newest = newest_in(folder.path()).unwrap();
        assert_eq!(newest.release, "6.1.0-56-amd64");
        assert_eq!(newest_in(&folder.path().join("none")), None);
    }
}
