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
    /// The access list for that [default: one that is recorded now]
    #[arg(long, value_name = "LIST", requires = "prefetch", value_hint = ValueHint::FilePath)]
    pub list: Option<PathBuf>,
    /// Evict only the files that the program has open or mapped, and drop no caches:
    /// what a user who is not root gets
    #[arg(long, conflicts_with = "prefetch")]
    pub evict: bool,
    /// Go on when the program fails
    #[arg(long)]
    pub ignore_failure: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}
