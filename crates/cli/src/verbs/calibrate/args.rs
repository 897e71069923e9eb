//! Arguments of `firstlight calibrate`.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Calibrate {
    #[command(subcommand)]
    pub verb: CalibrateVerb,
}

#[derive(Debug, Subcommand)]
pub enum CalibrateVerb {
    /// Make a storage profile and settings of the lab from readings of a board
    #[command(
        after_help = "Example:\n  $ ssh board firstlight-agent measure /dev/mmcblk0 >readings\n  \
            $ firstlight calibrate board readings --name bench --console boot.tar.zst --out bench"
    )]
    Board(CalibrateBoard),
    /// Compare the lab's forecasts with a board's results of the same variants
    #[command(after_help = "Example:\n  $ firstlight calibrate compare lab-out board-out")]
    Compare(CalibrateCompare),
}

#[derive(Debug, Args)]
pub struct CalibrateBoard {
    /// Output of `firstlight-agent measure DEVICE` on the board; `-`: standard input
    #[arg(value_name = "READINGS", value_hint = ValueHint::FilePath)]
    pub readings: PathBuf,
    /// Name of the board and of its storage profile
    #[arg(long, value_name = "NAME", default_value = "board")]
    pub name: String,
    /// Capture of the board's console, which tells the rate of the line
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::AnyPath)]
    pub console: Option<PathBuf>,
    /// Write storage.toml, lab.toml and calibration.json to DIR
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub struct CalibrateCompare {
    /// Output folder of the experiment in the lab
    #[arg(value_name = "LAB", value_hint = ValueHint::DirPath)]
    pub lab: PathBuf,
    /// Output folder of the same variants on the board
    #[arg(value_name = "BOARD", value_hint = ValueHint::DirPath)]
    pub board: PathBuf,
    /// Print Markdown
    #[arg(long)]
    pub markdown: bool,
}
