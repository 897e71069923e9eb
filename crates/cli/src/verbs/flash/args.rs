//! What `firstlight flash` takes.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Flash {
    #[command(subcommand)]
    pub verb: FlashVerb,
}

#[derive(Debug, Subcommand)]
pub enum FlashVerb {
    /// What is in each erase block, what is wrong, and how long a mount takes
    #[command(after_help = "Example:\n  $ firstlight flash check rootfs.jffs2")]
    Check(Check),
}

#[derive(Debug, Args)]
pub struct Check {
    /// A JFFS2 image, a dump of a chip, or an MTD device
    #[arg(value_name = "IMAGE|/dev/mtdN", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
}
