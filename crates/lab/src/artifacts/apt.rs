//! Debian packages, fetched without being installed.
//!
//! Packages of the host's own architecture come by the host's lists. For another
//! one apt gets a root of its own: `dpkg --add-architecture` would change the
//! host for good. Mirrors and keys are the host's.

use super::Arch;
use crate::error::{LabError, io_error};
use crate::tools::Tool;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The folder need not be open to apt's own user, and a user namespace of one user has no
/// other.
const AS_IT_IS: &str = "APT::Sandbox::User=root";

/// apt, for packages of one architecture.
#[derive(Debug)]
pub struct Apt {
    /// Options; for a foreign architecture they make it look at its own root.
    options: Vec<String>,
    /// What went wrong with the lists, if something did: with another mirror's
    /// list the package may still be found.
    trouble: Option<String>,
}

/// Debian's name for an architecture.
pub const fn debian(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "amd64",
        Arch::Aarch64 => "arm64",
        Arch::Armv7 => "armhf",
        Arch::Armv5 => "armel",
        Arch::Riscv64 => "riscv64",
    }
}

impl Apt {
    /// apt for `architecture`, by Debian's name. If that is not the host's own, the lists are fetched into
    /// `folder`, which is made; `say` is told so.
    ///
    /// # Errors
    /// If the folder cannot be created, or apt is missing.
    pub fn open(
        architecture: &str,
        folder: &Path,
        say: &mut dyn FnMut(String),
    ) -> Result<Self, LabError> {
        let host = Arch::of_machine(std::env::consts::ARCH).map(debian);
        if host == Some(architecture) {
            return Ok(Self {
                options: vec!["-o".to_owned(), AS_IT_IS.to_owned()],
                trouble: None,
            });
        }
        Self::apart(architecture, folder, say)
    }

    /// The same with a root of its own in any case, in which nothing is installed.
    ///
    /// # Errors
    /// If the folder cannot be created, or apt is missing.
    pub fn apart(
        architecture: &str,
        folder: &Path,
        say: &mut dyn FnMut(String),
    ) -> Result<Self, LabError> {
        for part in ["state", "lists/partial", "cache/archives/partial"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).map_err(io_error(&part, "cannot be created"))?;
        }
        let status = folder.join("status");
        File::create(&status).map_err(io_error(&status, "cannot be written"))?;
        let arch = architecture;
        let path = |part: &str| folder.join(part).display().to_string();
        let options = [
            format!("APT::Architecture={arch}"),
            format!("APT::Architectures::={arch}"),
            format!("Dir::State={}", path("state")),
            format!("Dir::State::lists={}", path("lists")),
            format!("Dir::State::status={}", path("status")),
            format!("Dir::Cache={}", path("cache")),
            AS_IT_IS.to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
        ];
        let options = options.into_iter().flat_map(|o| ["-o".to_owned(), o]);
        let mut apt = Self {
            options: options.collect(),
            trouble: None,
        };
        say(format!("fetching the Debian package lists for {arch}"));
        match apt.get(&["update"], None) {
            Err(missing @ LabError::MissingTool { .. }) => return Err(missing),
            Err(e) => apt.trouble = Some(e.to_string()),
            Ok(()) => {}
        }
        Ok(apt)
    }

    /// The package of the newest kernel, on which `newest` depends.
    ///
    /// # Errors
    /// If the lists have no such package.
    pub fn kernel_package(&self, newest: &str) -> Result<String, LabError> {
        let said = Tool::new("apt-cache", "apt", "find the kernel package")
            .args(&self.options)
            .args(["depends", newest])
            .run();
        let found = said.map_err(|e| e.to_string()).and_then(|said| {
            let said = String::from_utf8_lossy(&said);
            dependency(&said).ok_or_else(|| "the package lists no kernel".to_owned())
        });
        found.map_err(|why| LabError::ToolFailed {
            what: format!("apt-cache depends {newest}"),
            detail: format!(
                "{}{why}; run `apt-get update` or set your own kernel in the experiment (`kernel \
                 = \"FILE\"`, `modules = \"FOLDER\"`)",
                self.trouble
                    .as_ref()
                    .map_or(String::new(), |t| format!("{t}; "))
            ),
        })
    }

    /// Fetches `package` into the empty folder `to`; gives its file.
    ///
    /// # Errors
    /// If it cannot be fetched.
    pub fn download(&self, package: &str, to: &Path) -> Result<PathBuf, LabError> {
        self.get(&["download", package], Some(to))?;
        let failed = || io_error(to, "cannot be listed");
        let mut entries = fs::read_dir(to).map_err(failed())?;
        let first = entries.next().transpose().map_err(failed())?;
        first.map(|e| e.path()).ok_or_else(|| LabError::ToolFailed {
            what: "apt-get download".into(),
            detail: "it downloaded no file".into(),
        })
    }

    /// Fetches `packages` and all that they depend on into the folder `to`, as an apt that
    /// stands apart: gives their files, in the order of their names.
    ///
    /// # Errors
    /// If one cannot be fetched.
    pub fn download_all(&self, packages: &[String], to: &Path) -> Result<Vec<PathBuf>, LabError> {
        let partial = to.join("partial");
        fs::create_dir_all(&partial).map_err(io_error(&partial, "cannot be created"))?;
        let archives = format!("Dir::Cache::archives={}", to.display());
        let mut words = vec![
            "install",
            "--download-only",
            "--yes",
            "--no-install-recommends",
        ];
        words.extend(["-o", archives.as_str(), "-o", "Debug::NoLocking=1", "--"]);
        words.extend(packages.iter().map(String::as_str));
        self.get(&words, None)?;
        let failed = || io_error(to, "cannot be listed");
        let mut all = Vec::new();
        for entry in fs::read_dir(to).map_err(failed())? {
            all.push(entry.map_err(failed())?.path());
        }
        all.retain(|path| path.extension().is_some_and(|e| e == "deb"));
        all.sort();
        Ok(all)
    }

    fn get(&self, words: &[&str], folder: Option<&Path>) -> Result<(), LabError> {
        let mut tool = Tool::new("apt-get", "apt", "fetch packages")
            .args(&self.options)
            .args(words);
        if let Some(folder) = folder {
            tool = tool.folder(folder);
        }
        tool.run().map(|_| ())
    }
}

fn dependency(said: &str) -> Option<String> {
    let packages = said
        .lines()
        .filter_map(|l| l.trim().strip_prefix("Depends: "));
    let mut kernels = packages.filter(|p| p.starts_with("linux-image-"));
    kernels.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::dependency;

    #[test]
    fn the_kernels_package_is_read_from_apts_answer() {
        let said = "linux-image-amd64\n  Depends: linux-image-6.1.0-56-amd64\n  Suggests: x\n";
        assert_eq!(
            dependency(said).as_deref(),
            Some("linux-image-6.1.0-56-amd64")
        );
        assert_eq!(dependency("linux-image-amd64\n"), None);
    }
}
