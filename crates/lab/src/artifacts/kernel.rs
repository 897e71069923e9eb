//! Debian's kernel package, unpacked.

use super::Cache;
use crate::error::{LabError, io_error};
use crate::tools::Tool;
use std::fs;
use std::path::{Path, PathBuf};

/// The package that depends on the newest kernel.
const NEWEST: &str = "linux-image-amd64";

/// A kernel of Debian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebianKernel {
    /// Its release: `6.1.0-56-amd64`.
    pub release: String,
    /// The bzImage.
    pub image: PathBuf,
    /// The folder of its modules.
    pub modules: PathBuf,
}

pub(super) fn get(cache: &Cache, say: &mut dyn FnMut(String)) -> Result<DebianKernel, LabError> {
    let place = cache.path("kernel");
    if let Some(kernel) = newest_in(&place) {
        return Ok(kernel);
    }
    let making = cache.make("kernel")?;
    if let Some(kernel) = newest_in(&place) {
        return Ok(kernel);
    }
    let package = newest_package()?;
    say(format!("fetching Debian's kernel package {package}"));
    let folder = making.folder.path();
    let (download, tree) = (folder.join("deb"), folder.join("tree"));
    for new in [&download, &tree] {
        fs::create_dir(new).map_err(io_error(new, "cannot be made"))?;
    }
    let why = "the kernel is fetched with it";
    Tool::new("apt-get", "apt", why)
        .args(["download", &package])
        .folder(&download)
        .run()?;
    let deb = only_file(&download)?;
    let why = "the kernel package is unpacked with it";
    Tool::new("dpkg-deb", "dpkg", why)
        .args(["-x".as_ref(), deb.as_os_str(), tree.as_os_str()])
        .run()?;
    let release = package.trim_start_matches("linux-image-");
    let why = "it finds out which module needs which";
    Tool::new("depmod", "kmod", why)
        .args(["-b".as_ref(), tree.as_os_str(), release.as_ref()])
        .run()?;
    fs::create_dir_all(&place).map_err(io_error(&place, "cannot be made"))?;
    let whole = place.join(release);
    fs::rename(&tree, &whole).map_err(io_error(&whole, "cannot be put in place"))?;
    newest_in(&place).ok_or_else(|| LabError::Kernel {
        path: whole,
        why: format!("the package {package} holds no boot/vmlinuz-{release} with its modules"),
    })
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

/// The package that the newest kernel is in.
fn newest_package() -> Result<String, LabError> {
    let said = Tool::new("apt-cache", "apt", "the kernel is found with it")
        .args(["depends", NEWEST])
        .run();
    let said = said.map_err(|e| no_package(&e.to_string()))?;
    let said = String::from_utf8_lossy(&said);
    dependency(&said).ok_or_else(|| no_package("it names no kernel"))
}

fn no_package(why: &str) -> LabError {
    LabError::ToolFailed {
        what: format!("apt-cache depends {NEWEST}"),
        detail: format!(
            "{why}; run `apt-get update`, or name a kernel of your own in the experiment \
             (`kernel = \"FILE\"`, `modules = \"FOLDER\"`)"
        ),
    }
}

fn dependency(said: &str) -> Option<String> {
    let packages = said
        .lines()
        .filter_map(|l| l.trim().strip_prefix("Depends: "));
    let mut kernels = packages.filter(|p| p.starts_with("linux-image-"));
    kernels.next().map(str::to_owned)
}

fn only_file(folder: &Path) -> Result<PathBuf, LabError> {
    let failed = || io_error(folder, "cannot be listed");
    let mut entries = fs::read_dir(folder).map_err(failed())?;
    let first = entries.next().transpose().map_err(failed())?;
    let file = first.map(|e| e.path());
    file.ok_or_else(|| LabError::ToolFailed {
        what: "apt-get download".into(),
        detail: "it left no file".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::{dependency, newest_in};
    use std::fs;

    #[test]
    fn the_kernels_package_is_read_from_apts_answer() {
        let said = "linux-image-amd64\n  Depends: linux-image-6.1.0-56-amd64\n  Suggests: x\n";
        assert_eq!(
            dependency(said).as_deref(),
            Some("linux-image-6.1.0-56-amd64")
        );
        assert_eq!(dependency("linux-image-amd64\n"), None);
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
