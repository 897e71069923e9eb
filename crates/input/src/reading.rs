//! How inputs are read.

use analysis::Options;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Takes sentences for the user, such as which files of a folder were left out.
pub type Say<'a> = dyn Fn(String) + 'a;

/// How inputs are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The mark, unit or text of a log line that ends the boot.
    pub first_light: Option<String>,
    /// Which boot of a log that holds several, counted from 1; the last without it.
    pub boot: Option<NonZeroUsize>,
    /// A file (TOML) with more firmware and loader stages for serial logs.
    pub stages: Option<PathBuf>,
}

impl Reading {
    /// The same for the analyses.
    #[must_use]
    pub fn options(&self) -> Options {
        Options {
            first_light: self.first_light.clone(),
        }
    }
}
