//! The command line of `firstlight cold`.

use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Cold {
    /// How many times each case is run [default: 10]
    #[arg(
        long,
        value_name = "N",
        default_value = "10",
        hide_default_value = true
    )]
    pub runs: NonZeroU32,
    /// A third case: cold, and what the program needs is read ahead while it starts
    #[arg(long)]
    pub prefetch: bool,
    /// Another case: cold, and the files that it needs lie one behind the other in the
    /// order of need. They are moved on their ext4 for as long as that is measured, and
    /// then put back where they lay
    #[arg(long)]
    pub order: bool,
    /// Move only what lies below this folder
    #[arg(long, value_name = "FOLDER", requires = "order", value_hint = ValueHint::DirPath)]
    pub below: Option<PathBuf>,
    /// The access list for that [default: one that is recorded now]
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub list: Option<PathBuf>,
    /// Evict only the files that the program has open or mapped, and drop no caches:
    /// what a user who is not root gets
    #[arg(long, conflicts_with_all = ["prefetch", "order"])]
    pub evict: bool,
    /// Measure on this host, which is reached by ssh: this program is copied there, and
    /// removed afterwards
    #[arg(long, value_name = "HOST")]
    pub on: Option<String>,
    /// The `ssh` program and its options, for the shell
    #[arg(
        long,
        value_name = "CMD",
        default_value = "ssh",
        hide_default_value = true,
        requires = "on"
    )]
    pub ssh: String,
    /// The program to copy, for a host of another kind: firstlight built for that
    #[arg(long, value_name = "FILE", requires = "on", value_hint = ValueHint::FilePath)]
    pub program: Option<PathBuf>,
    /// Go on when the program fails
    #[arg(long)]
    pub ignore_failure: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}
