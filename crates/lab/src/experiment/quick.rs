//! An experiment of an image alone, for who has no experiment's file.

use super::Experiment;
use crate::error::LabError;
use crate::profiles::of_file;
use std::path::{Path, PathBuf};

/// What is booted. Names are as an experiment's file has them, but paths are relative to the
/// working folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quick {
    /// An ext4 image of a root, `debian-minimal`, or `none`: the boot ends in the initramfs.
    pub root: PathBuf,
    /// A kernel image, or `debian`, which it is if none is given.
    pub kernel: Option<PathBuf>,
    /// The folder of that kernel's modules.
    pub modules: Option<PathBuf>,
    /// What ends the boot; `None`: `unit:multi-user.target`, or `init` without a root.
    pub first_light: Option<String>,
    /// The storage profile; `None`: `emmc`, or `none` without a root.
    pub storage: Option<String>,
}

fn not_usable(path: &Path, why: &str) -> LabError {
    LabError::Tree {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}

/// The whole path of a file, as text.
fn absolute(path: &Path) -> Result<String, LabError> {
    let whole = std::fs::canonicalize(path)
        .map_err(|e| not_usable(path, &format!("cannot be opened: {e}")))?;
    let text = whole.to_str().map(str::to_owned);
    text.ok_or_else(|| not_usable(path, "the path is not valid UTF-8"))
}

/// A string of TOML: its escapes are those of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Experiment {
    /// The experiment that boots `quick` on a PC, without variants.
    ///
    /// # Errors
    /// A file is missing, or a name unknown.
    pub fn quick(quick: &Quick) -> Result<Self, LabError> {
        let none = quick.root == Path::new("none");
        let minimal = quick.root == Path::new("debian-minimal");
        if !none && !minimal && !quick.root.is_file() {
            return Err(not_usable(
                &quick.root,
                "no such file; pass an experiment (FILE.toml), an ext4 root image, \
                 `debian-minimal`, or `none` for a boot that ends in the initramfs",
            ));
        }
        let root = match none || minimal {
            true => quick.root.display().to_string(),
            false => absolute(&quick.root)?,
        };
        let kernel = match &quick.kernel {
            Some(path) if path != Path::new("debian") => absolute(path)?,
            _ => "debian".to_owned(),
        };
        let default = if none { "none" } else { "emmc" };
        let storage = quick.storage.as_deref().unwrap_or(default);
        let storage = match of_file(storage) {
            Some((file, Some(own))) => format!("{}#{own}", absolute(Path::new(file))?),
            Some((file, None)) => absolute(Path::new(file))?,
            None => storage.to_owned(),
        };
        let default = if none {
            "init"
        } else {
            "unit:multi-user.target"
        };
        let first_light = quick.first_light.as_deref().unwrap_or(default);
        let mut lines = vec![
            "firstlight_experiment = 1".to_owned(),
            "[base]".to_owned(),
            "machine = \"pc\"".to_owned(),
            "memory_mb = 1024".to_owned(),
            format!("storage = {}", quoted(&storage)),
            format!("kernel = {}", quoted(&kernel)),
            format!("root = {}", quoted(&root)),
            format!("first_light = {}", quoted(first_light)),
            "cmdline = [\"console=ttyS0\", \"nokaslr\", \"panic=-1\", \"tsc=reliable\"]".to_owned(),
            "record = [\"initcalls\"]".to_owned(),
            "ensemble = 2".to_owned(),
        ];
        if let Some(modules) = &quick.modules {
            lines.push(format!("modules = {}", quoted(&absolute(modules)?)));
        }
        let stem = quick.root.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(&format!("{stem}.toml"), &lines.join("\n"))
    }
}
