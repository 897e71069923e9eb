//! The arguments of `treat`. Lists of verbs look alike everywhere: each verb has its
//! own help and examples.

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Treat {
    #[command(subcommand)]
    pub verb: TreatVerb,
}

#[derive(Debug, Subcommand)]
pub enum TreatVerb {
    /// List every kind of treatment; with TARGET, those applied to it
    #[command(
        after_help = "Examples:\n  $ firstlight treat list\n  $ firstlight treat list rootfs/"
    )]
    List {
        /// Root tree or file
        #[arg(value_name = "TARGET", value_hint = ValueHint::AnyPath)]
        target: Option<PathBuf>,
    },
    /// Print the exact change of a treatment, its cost, and how to undo it
    #[command(
        after_help = "Examples:\n  $ firstlight treat plan cmdline+=quiet rootfs/\n  $ firstlight treat plan mask=e2scrub_reap.service rootfs/ --as diff\n  $ firstlight treat plan config=CONFIG_KERNEL_LZ4=y .config --as buildroot"
    )]
    Plan(TreatPlan),
    /// Apply a treatment; a crash leaves the old state or the new one
    #[command(
        after_help = "Example:\n  $ firstlight treat apply cmdline+=quiet rootfs/\n\nThe journal is in the folder TARGET.firstlight beside the target."
    )]
    Apply(TreatOn),
    /// Undo the last treatment, or TREATMENT, to the byte
    #[command(
        after_help = "Examples:\n  $ firstlight treat undo cmdline+=quiet rootfs/\n  $ firstlight treat undo rootfs/\n  $ firstlight treat undo --all rootfs/"
    )]
    Undo(TreatUndo),
}

/// A treatment and its target.
#[derive(Debug, Args)]
pub struct TreatChange {
    /// Treatment, as `advise` and `treat list` print it
    #[arg(value_name = "TREATMENT")]
    pub treatment: String,
    /// Folder of a root, or a file
    #[arg(value_name = "TARGET", value_hint = ValueHint::AnyPath)]
    pub target: PathBuf,
}

#[derive(Debug, Args)]
pub struct TreatPlan {
    #[command(flatten)]
    pub change: TreatChange,
    /// Print only the change, in the form of another tool
    #[arg(long = "as", value_name = "FORM", conflicts_with = "json")]
    pub form: Option<TreatAs>,
}

/// A tool that takes a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TreatAs {
    /// A plain diff, for `patch` and `git apply`
    Diff,
    /// Buildroot
    Buildroot,
    /// Yocto
    Yocto,
    /// Debian
    Debian,
    /// U-Boot prompt
    Setenv,
}

#[derive(Debug, Args)]
pub struct TreatOn {
    #[command(flatten)]
    pub change: TreatChange,
    /// Apply only if the target still matches this plan (`plan --json`)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub planned: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct TreatUndo {
    /// TARGET, or TREATMENT and TARGET
    #[arg(value_name = "[TREATMENT] TARGET", required = true, num_args = 1..=2, value_hint = ValueHint::AnyPath)]
    pub what: Vec<OsString>,
    /// Undo all treatments, the last one first
    #[arg(long)]
    pub all: bool,
}
