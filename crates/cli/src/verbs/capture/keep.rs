//! A capture that grows: a folder beside the file that it becomes.
//!
//! Until it is packed, the folder is a capture of its own: whatever ends this
//! program leaves what was heard until then.

use crate::beside;
use agent::capture::{MANIFEST, Manifest, Writer};
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A capture that is being taken.
pub struct Growing {
    out: PathBuf,
    folder: PathBuf,
    manifest: Manifest,
}

impl Growing {
    /// Begins a capture that will be `out`, with this manifest.
    pub fn begin(out: &Path, manifest: Manifest) -> Result<Self> {
        let shown = out.display();
        check(out)?;
        let mut folder = out.as_os_str().to_owned();
        folder.push(".part");
        let folder = PathBuf::from(folder);
        if folder.exists() {
            let folder = folder.display();
            bail!(
                "{folder}: is what is left of a capture that did not end; look at it with \
                 `firstlight show {folder}`, and move it away"
            );
        }
        fs::create_dir(&folder).with_context(|| format!("{shown}: cannot be written"))?;
        let growing = Self {
            out: out.to_owned(),
            folder,
            manifest,
        };
        let mut json = serde_json::to_vec_pretty(&growing.manifest)?;
        json.push(b'\n');
        growing.create(MANIFEST)?.write(&json)?;
        Ok(growing)
    }

    /// A file of the capture, to be written.
    pub fn create(&self, name: &str) -> Result<Part> {
        let path = self.folder.join(name);
        let file = File::create(&path);
        let file = file.with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(Part { file, path })
    }

    /// The names of the capture's files.
    pub fn files(&self) -> Vec<&str> {
        let sources = self.manifest.sources.iter();
        sources.map(|s| s.file.as_str()).collect()
    }

    /// Packs the capture.
    pub fn pack(self) -> Result<()> {
        let open = |name: &str| {
            let path = self.folder.join(name);
            let file = File::open(&path).and_then(|f| Ok((f.metadata()?.len(), f)));
            file.with_context(|| format!("{}: cannot be read", path.display()))
        };
        let fill = |to: &mut dyn Write| -> Result<()> {
            let mut tar = Writer::new(to);
            for name in [MANIFEST].into_iter().chain(self.files()) {
                let (length, file) = open(name)?;
                tar.copy(name, file, length)?;
            }
            tar.finish()?;
            Ok(())
        };
        pack(&self.out, fill)
            .with_context(|| format!("what was captured is in {}", self.folder.display()))?;
        fs::remove_dir_all(&self.folder)
            .with_context(|| format!("{}: cannot be removed", self.folder.display()))
    }

    /// Leaves nothing behind: there was nothing to capture.
    pub fn forget(self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// A file that is written.
pub struct Part {
    pub file: File,
    path: PathBuf,
}

impl Part {
    fn write(mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.with_context(|| format!("{}: cannot be written", self.path.display()))
    }
}

/// Whether `out` can become a capture: it is not there, and its name says how
/// it is packed.
pub fn check(out: &Path) -> Result<()> {
    let shown = out.display();
    if out.exists() {
        bail!("{shown}: is there already; name a file that is not");
    }
    if !zstd(out) && out.extension().is_none_or(|e| e != "tar") {
        bail!("{shown}: a capture is a .tar or a .tar.zst; name it so");
    }
    Ok(())
}

/// Lets `fill` write a capture's tar to `out`.
pub fn pack(out: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    beside::write(out, |file| {
        if zstd(out) {
            let mut encoder = zstd::Encoder::new(&mut *file, 0)?;
            fill(&mut encoder)?;
            encoder.finish()?;
            Ok(())
        } else {
            fill(file)
        }
    })
}

fn zstd(out: &Path) -> bool {
    out.to_string_lossy().ends_with(".tar.zst")
}
