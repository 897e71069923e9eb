//! Running packagers, and writing files.

use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a command and fails with its last words.
///
/// # Errors
/// If it cannot be started or fails.
pub fn quietly(command: &mut Command) -> Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{name} could not be started"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim_end();
        let from = said.char_indices().rev().nth(2000).map_or(0, |(i, _)| i);
        bail!(
            "{name} failed: {}\n{}",
            output.status,
            said.get(from..).unwrap_or(said)
        );
    }
    Ok(output.stdout)
}

/// Copies a file with these permissions; its folders are made.
pub(super) fn place(from: &Path, to: &Path, mode: u32) -> Result<()> {
    let bytes = fs::read(from).with_context(|| from.display().to_string())?;
    put(to, &bytes, mode)
}

/// Writes a file with these permissions; its folders are made.
pub(super) fn put(to: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::write(to, bytes).with_context(|| to.display().to_string())?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode))?;
    Ok(())
}
