//! What is to be measured, and what is told meanwhile.

use agent::access::AccessList;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Cold {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Starts of each case.
    pub runs: NonZeroU32,
    /// Whether a prefetcher is a case.
    pub prefetch: bool,
    /// Whether the program's files, one behind the other, are a case. They are moved for it
    /// and put back.
    pub order: bool,
    /// Only files below this folder are moved.
    pub below: Option<PathBuf>,
    /// What the program reads; `None`: it is recorded, where that can be done.
    pub list: Option<AccessList>,
    /// Whether only the program's own files are taken out of memory, as without root.
    pub evict: bool,
    /// Whether a start that fails counts too.
    pub ignore_failure: bool,
}

/// What is told while it is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColdEvent {
    /// What is being done now.
    Now(String),
    /// A sentence that the user should keep.
    Line(String),
}

impl Cold {
    /// The program, not yet started. Its output would be a part of what is measured.
    pub(super) fn start(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// The program and its arguments.
    pub(super) fn words(&self) -> Vec<String> {
        let all = std::iter::once(&self.program).chain(&self.arguments);
        all.map(|w| w.to_string_lossy().into_owned()).collect()
    }
}
