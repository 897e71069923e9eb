//! What the checks of packages share.

use crate::release::{Programs, Release, quietly};
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What came of one check.
pub(super) enum Outcome {
    Passed,
    Skipped(String),
}

/// What the checks share.
pub(super) struct Bench {
    pub(super) release: Release,
    pub(super) programs: Programs,
    /// A folder that is kept from one run to the next.
    pub(super) kept: PathBuf,
}

pub(super) fn skip(why: impl Into<String>) -> Result<Outcome> {
    Ok(Outcome::Skipped(why.into()))
}

/// Whether a program can be started.
pub(super) fn has(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .is_ok()
}

pub(super) fn is_root() -> bool {
    quietly(Command::new("id").arg("-u")).is_ok_and(|out| out == b"0\n")
}

impl Bench {
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.release.dist.join(name)
    }

    pub(super) fn packaging(&self, name: &str) -> PathBuf {
        self.release.source.join("packaging").join(name)
    }

    pub(super) fn version(&self) -> &str {
        &self.release.version.number
    }
}

pub(super) fn expect_words(said: &[u8], words: &str) -> Result<()> {
    let said = String::from_utf8_lossy(said);
    match said.contains(words) {
        true => Ok(()),
        false => bail!(
            "`{words}` is not in:\n{}",
            said.chars().take(2000).collect::<String>()
        ),
    }
}
