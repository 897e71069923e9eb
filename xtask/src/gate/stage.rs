//! The stage's folder, its summary, and the programs that it calls.

use crate::root;
use crate::runner::Summary;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The stage so far.
pub struct Stage {
    /// Where all of it is written.
    pub folder: PathBuf,
    /// What passed, failed and was skipped.
    pub summary: Summary,
    /// Only bisections with one of these in their names; all if there is none.
    pub filter: Vec<String>,
}

/// The program as it was built, with these arguments.
///
/// # Errors
/// It cannot be started.
pub fn firstlight(args: &[&str]) -> Result<Output> {
    let output = Command::new(root().join("target/debug/firstlight"))
        .args(args)
        .current_dir(root())
        .stdin(Stdio::null())
        .output();
    output.context("firstlight could not be started")
}

impl Stage {
    /// Counts a check.
    pub fn judge(&mut self, name: &str, result: Result<()>) {
        match result {
            Ok(()) => {
                eprintln!("    ok      {name}");
                self.summary.passed += 1;
            }
            Err(why) => self.summary.failed.push(format!("gate: {name}: {why:#}")),
        }
    }

    /// Counts a check that cannot be done here.
    pub fn skip(&mut self, name: &str, why: &str) {
        self.summary.skipped.push(format!("gate: {name}: {why}"));
    }

    /// A program that is on the path, or that the package managers of others installed into the
    /// stage's folder.
    pub fn tool(&self, name: &str) -> PathBuf {
        let own = ["venv/bin", "bin"].map(|folder| self.folder.join(folder).join(name));
        own.into_iter()
            .find(|p| p.is_file())
            .unwrap_or_else(|| name.into())
    }
}

/// Copies a folder.
///
/// # Errors
/// Something in it cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let place = to.join(path.file_name().unwrap_or_default());
        match path.is_dir() {
            true => copy(&path, &place)?,
            false => fs::copy(&path, &place).map(drop)?,
        }
    }
    Ok(())
}

/// Whether a program ends well; what it prints is dropped.
pub fn quiet(call: &mut Command) -> bool {
    let call = call
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    call.status().is_ok_and(|s| s.success())
}
