//! A capture that grows: a folder beside the file that it becomes.
//!
//! Until it is packed, the folder is a capture of its own: whatever ends this
//! program leaves what was heard until then.

use crate::beside::{self, BesideError};
use crate::error::FileError;
use agent::capture::{MANIFEST, Manifest, Writer};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why a capture could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The system does not let it.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file cannot be written.
    #[error(transparent)]
    Beside(#[from] BesideError),
    /// There is a file of that name.
    #[error("{}: already exists; name a new file", .path.display())]
    There {
        /// The file.
        path: PathBuf,
    },
    /// The name does not say how the capture is packed.
    #[error("{}: unsupported file name; use a name that ends in .tar or .tar.zst", .path.display())]
    Name {
        /// The file.
        path: PathBuf,
    },
    /// An earlier capture of that name did not end.
    #[error(
        "{folder}: remains of an interrupted capture; inspect it with `firstlight show {folder}` \
         and move it away",
        folder = .folder.display()
    )]
    Left {
        /// Its folder.
        folder: PathBuf,
    },
    /// What was captured is there, and could not be packed.
    #[error("{}: {why}; this folder contains the captured data", .folder.display())]
    Unpacked {
        /// Where.
        folder: PathBuf,
        /// Why.
        why: Box<KeepError>,
    },
}

const CANNOT_WRITE: &str = "cannot be written";

/// A capture that is being taken.
#[derive(Debug)]
pub struct Growing {
    out: PathBuf,
    folder: PathBuf,
    manifest: Manifest,
}

impl Growing {
    /// Begins a capture that will be `out`, with this manifest.
    ///
    /// # Errors
    /// If `out` is there or cannot be written, or an earlier one was not packed.
    pub fn begin(out: &Path, manifest: Manifest) -> Result<Self, KeepError> {
        check(out)?;
        let mut folder = out.as_os_str().to_owned();
        folder.push(".part");
        let folder = PathBuf::from(folder);
        if folder.exists() {
            return Err(KeepError::Left { folder });
        }
        fs::create_dir(&folder).map_err(FileError::of(out, CANNOT_WRITE))?;
        let growing = Self {
            out: out.to_owned(),
            folder,
            manifest,
        };
        let json = serde_json::to_vec_pretty(&growing.manifest).map_err(io::Error::from);
        let mut json = json.map_err(FileError::of(out, CANNOT_WRITE))?;
        json.push(b'\n');
        growing.create(MANIFEST)?.write(&json)?;
        Ok(growing)
    }

    /// A file of the capture, to be written.
    ///
    /// # Errors
    /// If it cannot be.
    pub fn create(&self, name: &str) -> Result<Part, KeepError> {
        let path = self.folder.join(name);
        let file = File::create(&path).map_err(FileError::of(&path, CANNOT_WRITE))?;
        Ok(Part { file, path })
    }

    /// The names of the capture's files.
    pub fn files(&self) -> Vec<&str> {
        let sources = self.manifest.sources.iter();
        sources.map(|s| s.file.as_str()).collect()
    }

    /// Packs the capture.
    ///
    /// # Errors
    /// If it cannot be read or written; the folder is there then.
    pub fn pack(self) -> Result<(), KeepError> {
        let fill = |to: &mut dyn Write| -> Result<(), KeepError> {
            let mut tar = Writer::new(to);
            for name in [MANIFEST].into_iter().chain(self.files()) {
                let path = self.folder.join(name);
                let file = File::open(&path).and_then(|f| Ok((f.metadata()?.len(), f)));
                let (length, file) = file.map_err(FileError::of(&path, "cannot be read"))?;
                let copied = tar.copy(name, file, length);
                copied.map_err(FileError::of(&path, "cannot be compressed"))?;
            }
            let done = tar.finish().map(|_| ());
            Ok(done.map_err(FileError::of(&self.out, CANNOT_WRITE))?)
        };
        pack_with(&self.out, fill).map_err(|why| KeepError::Unpacked {
            folder: self.folder.clone(),
            why: Box::new(why),
        })?;
        let removed = fs::remove_dir_all(&self.folder);
        Ok(removed.map_err(FileError::of(&self.folder, "cannot be removed"))?)
    }

    /// Leaves nothing behind: there was nothing to capture.
    pub fn forget(self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// A file that is written.
#[derive(Debug)]
pub struct Part {
    /// The file.
    pub file: File,
    path: PathBuf,
}

impl Part {
    fn write(mut self, bytes: &[u8]) -> Result<(), KeepError> {
        let written = self.file.write_all(bytes);
        Ok(written.map_err(FileError::of(&self.path, CANNOT_WRITE))?)
    }
}

/// Whether `out` can become a capture: it is not there, and its name says how
/// it is packed.
///
/// # Errors
/// If it cannot.
pub fn check(out: &Path) -> Result<(), KeepError> {
    if out.exists() {
        return Err(KeepError::There { path: out.into() });
    }
    if !zstd(out) && out.extension().is_none_or(|e| e != "tar") {
        return Err(KeepError::Name { path: out.into() });
    }
    Ok(())
}

/// Lets `fill` write a capture's tar to `out`.
///
/// # Errors
/// If it cannot be written.
pub fn pack(
    out: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), KeepError> {
    pack_with(out, |to| {
        Ok(fill(to).map_err(FileError::of(out, CANNOT_WRITE))?)
    })
}

fn pack_with(
    out: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), KeepError>,
) -> Result<(), KeepError> {
    let cannot = |why| FileError::of(out, CANNOT_WRITE)(why);
    beside::write(out, |file| {
        if zstd(out) {
            let mut encoder = zstd::Encoder::new(&mut *file, 0).map_err(cannot)?;
            fill(&mut encoder)?;
            encoder.finish().map_err(cannot)?;
            Ok(())
        } else {
            fill(file)
        }
    })
}

fn zstd(out: &Path) -> bool {
    out.to_string_lossy().ends_with(".tar.zst")
}
