//! The command line of `firstlight prefetch`.

use clap::{Args, Subcommand, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct Prefetch {
    #[command(subcommand)]
    pub verb: PrefetchVerb,
}

#[derive(Debug, Subcommand)]
pub enum PrefetchVerb {
    /// Run a program and record what it and its children read, to the page
    #[command(
        after_help = "Example:\n  $ sudo firstlight prefetch record -o editor.list -- editor --version\n\n\
        While it runs, the whole machine reads without read-ahead; before, its caches are dropped.\n\
        All settings come back when it ends, however it ends."
    )]
    Record(Record),
    /// What a list would read, and in how many requests
    #[command(after_help = "Example:\n  $ firstlight prefetch plan editor.list")]
    Plan(Plan),
    /// One list of several recordings, with how often each range was needed
    #[command(
        after_help = "Example:\n  $ firstlight prefetch merge -o boot.list monday.list tuesday.list"
    )]
    Merge(Merge),
    /// Restores settings when a recording is killed
    #[command(hide = true)]
    Guard {
        /// What was changed
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct Record {
    /// The list to write
    #[arg(short, long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Do not drop caches first: pages that are in memory hide touches
    #[arg(long)]
    pub keep_cache: bool,
    /// Record for TIME at most, and leave the program running: 30, 500ms, 2min
    #[arg(long = "for", value_name = "TIME", value_parser = crate::args::duration)]
    pub limit: Option<Duration>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct Plan {
    /// The list
    #[arg(value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub list: PathBuf,
    /// Where the files are: the folder that is `/` for the list
    #[arg(long, value_name = "DIR", default_value = "/", value_hint = ValueHint::DirPath)]
    pub root: PathBuf,
    /// Only ranges that this part of the recordings needed, 0 to 1
    #[arg(
        long,
        value_name = "PART",
        default_value_t = 0.0,
        hide_default_value = true
    )]
    pub stable: f64,
    /// How many files the screen shows; 0 for all [default: 20]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        hide_default_value = true
    )]
    pub top: usize,
}

#[derive(Debug, Args)]
pub struct Merge {
    /// The list to write
    #[arg(short, long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// The recordings, the oldest first
    #[arg(required = true, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub lists: Vec<PathBuf>,
}
