//! The command line of `firstlight cold`.

use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Cold {
    /// Number of runs of each case [default: 10]
    #[arg(
        long,
        value_name = "N",
        default_value = "10",
        hide_default_value = true
    )]
    pub runs: NonZeroU32,
    /// Add a case: cold, with prefetch while the program starts
    #[arg(long)]
    pub prefetch: bool,
    /// Add a case: cold, with the program's files contiguous on their ext4, in the order
    /// of need. The files are moved for the measurement and then restored to their
    /// original places
    #[arg(long)]
    pub order: bool,
    /// Move only files below this folder
    #[arg(long, value_name = "FOLDER", requires = "order", value_hint = ValueHint::DirPath)]
    pub below: Option<PathBuf>,
    /// Access list to use [default: record one now]
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub list: Option<PathBuf>,
    /// Evict only the files that the program opens or maps, instead of dropping all
    /// caches; the default without root
    #[arg(long, conflicts_with_all = ["prefetch", "order"])]
    pub evict: bool,
    /// Measure on this host over ssh: copies this program there and removes it
    /// afterwards
    #[arg(long, value_name = "HOST")]
    pub on: Option<String>,
    /// ssh command with its options, for the shell
    #[arg(
        long,
        value_name = "CMD",
        default_value = "ssh",
        hide_default_value = true,
        requires = "on"
    )]
    pub ssh: String,
    /// Copy this build of firstlight, for a host with another architecture
    #[arg(long, value_name = "FILE", requires = "on", value_hint = ValueHint::FilePath)]
    pub program: Option<PathBuf>,
    /// Continue when the program fails
    #[arg(long)]
    pub ignore_failure: bool,
    /// Program and its arguments
    #[arg(last = true, required = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}
