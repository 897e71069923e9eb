//! Checksums, and a signature over them.

use super::files::quietly;
use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The file of all checksums, as `sha256sum --check` reads it.
pub(super) const NAME: &str = "SHA256SUMS";

/// The SHA-256 of a file, in hexadecimal digits.
///
/// # Errors
/// If it cannot be read.
pub fn of(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    Ok(Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }))
}

/// Writes the checksums of all files in `dist`.
///
/// # Errors
/// If a file cannot be read or written.
pub fn write(dist: &Path) -> Result<()> {
    let mut names: Vec<String> = fs::read_dir(dist)?
        .flatten()
        .filter(|e| e.path().is_file())
        .filter_map(|e| e.file_name().into_string().ok())
        .filter(|name| !name.starts_with(NAME))
        .collect();
    names.sort();
    let mut text = String::new();
    for name in names {
        writeln!(text, "{}  {name}", of(&dist.join(&name))?)?;
    }
    fs::write(dist.join(NAME), text).context(NAME)
}

/// Signs the checksums with a key of `gpg`, in its folder `home` or else the user's.
pub fn sign(dist: &Path, key: &str, home: Option<&Path>) -> Result<()> {
    let mut gpg = Command::new("gpg");
    if let Some(home) = home {
        gpg.env("GNUPGHOME", home);
    }
    gpg.current_dir(dist).args([
        "--batch",
        "--yes",
        "--armor",
        "--detach-sign",
        "--local-user",
        key,
        NAME,
    ]);
    quietly(&mut gpg).map(|_| ())
}
