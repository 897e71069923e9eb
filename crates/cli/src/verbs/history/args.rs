//! The arguments of `history`.

use crate::args::{Outputs, Reading};
use crate::verbs::boots::args::allowance;
use analysis::Allowance;
use clap::{Args, Subcommand, ValueHint};
use history::At;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct History {
    #[command(subcommand)]
    pub verb: HistoryVerb,
}

#[derive(Debug, Subcommand)]
pub enum HistoryVerb {
    /// Add boots of a commit, a release or a date to a store
    #[command(
        after_help = "Examples:\n  $ firstlight history add boots.history boot.tar.zst --commit $(git rev-parse HEAD) --at $(git log -1 --format=%ct)\n  \
            $ firstlight history add boots.history run/*.log --release 1.10\n\n\
            The store is a plain folder. Files are only added, so two branches merge without conflict."
    )]
    Add(HistoryAdd),
    /// Find change points, and fail if the last one is a regression
    #[command(
        after_help = "Examples:\n  $ firstlight history check boots.history\n  \
            $ firstlight history check boots.csv --of kernel_ms --junit history.xml\n\n\
            A table (.csv, .tsv) has one commit or boot per row, oldest first. Columns whose names end\n\
            in _s, _sec, _ms, _us or _ns are durations; a column commit, release or date names the rows.\n\n\
            Exit codes: 0 fine, 1 the last change point is a regression, 2 cannot tell."
    )]
    Check(HistoryCheck),
    /// Show a history, or write its trend page
    #[command(after_help = "Example:\n  $ firstlight history show boots.history -o trend.html")]
    Show(HistoryShow),
    /// Add a remark on an entry, or accept the change there
    #[command(
        after_help = "Example:\n  $ firstlight history annotate boots.history --entry 4f1c2d --accept \"new display driver, wanted\""
    )]
    Annotate(HistoryAnnotate),
}

#[derive(Debug, Args)]
pub struct HistoryAdd {
    /// Folder of the history; made if it does not exist
    #[arg(value_name = "STORE", value_hint = ValueHint::DirPath)]
    pub store: PathBuf,
    /// Boots: a capture or a raw file each, a folder of captures, or a table
    /// [default: this machine's last boot]
    #[arg(value_name = "BOOT", value_hint = ValueHint::AnyPath)]
    pub boots: Vec<PathBuf>,
    /// Commit that was booted
    #[arg(long, value_name = "ID")]
    pub commit: Option<String>,
    /// Release that was booted; 1.9 comes before 1.10
    #[arg(long, value_name = "NAME")]
    pub release: Option<String>,
    /// Place in the history: a date, seconds since 1970, or a build number
    /// [default: now, or the place of the release]
    #[arg(long, value_name = "DATE|NUMBER", value_parser = At::parse)]
    pub at: Option<At>,
    /// Machine that was booted [default: as the capture says]
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Record the SHA-256 digest of this configuration file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
}

/// Which history, and what is judged in it.
#[derive(Debug, Args)]
pub struct Judged {
    /// Folder of a history, or a table
    #[arg(value_name = "STORE|TABLE", value_hint = ValueHint::AnyPath)]
    pub input: PathBuf,
    /// Judge another time than first light: a phase, item or column
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,
    /// Judge boots of this machine [default: that of the newest entry]
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Do not fail for a regression of up to this size
    #[arg(long, value_name = "PERCENT|TIME", value_parser = allowance)]
    pub allow: Option<Allowance>,
    /// Exit with 2 unless a step of this size is visible
    #[arg(long, value_name = "PERCENT|TIME", value_parser = allowance)]
    pub see: Option<Allowance>,
}

#[derive(Debug, Args)]
pub struct HistoryCheck {
    #[command(flatten)]
    pub judged: Judged,
    #[command(flatten)]
    pub outputs: Outputs,
}

#[derive(Debug, Args)]
pub struct HistoryShow {
    #[command(flatten)]
    pub judged: Judged,
    /// Write the trend page (HTML, one file) to FILE
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct HistoryAnnotate {
    /// Folder of the history
    #[arg(value_name = "STORE", value_hint = ValueHint::DirPath)]
    pub store: PathBuf,
    /// Entry: its commit, release or date, as `history check` prints it
    #[arg(long, value_name = "NAME")]
    pub entry: String,
    /// Accept the change at this entry, and say why
    #[arg(long, value_name = "REASON", required_unless_present_any = ["text", "reject"], conflicts_with_all = ["text", "reject"])]
    pub accept: Option<String>,
    /// Withdraw an acceptance, and say why
    #[arg(long, value_name = "REASON", conflicts_with = "text")]
    pub reject: Option<String>,
    /// Only add a remark
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
    /// Only for this time [default: all]
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,
}
