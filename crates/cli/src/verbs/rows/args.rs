//! The arguments of `rows`.

use crate::args::Reading;
use clap::{Args, ValueHint};
use std::num::NonZeroU64;
use std::path::PathBuf;

/// Which boots, and where their tables go.
#[derive(Debug, Args)]
pub struct Rows {
    /// Captures, logs, folders, and archives (tar) of them; `-` is an archive or a list of paths on
    /// standard input
    #[arg(value_name = "INPUT", required_unless_present = "from_list", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// Read more inputs from a list, one path per line; `-` is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub from_list: Option<PathBuf>,
    /// Folder for boots.parquet and items.parquet
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Start new files (boots-00000.parquet, ...) after N boots or 500,000 items, and print each
    /// pair when it is complete
    #[arg(long, value_name = "N")]
    pub every: Option<NonZeroU64>,
    #[command(flatten)]
    pub reading: Reading,
}
