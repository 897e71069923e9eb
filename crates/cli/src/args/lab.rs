//! The arguments of `lab`.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Lab {
    #[command(subcommand)]
    pub verb: LabVerb,
}

#[derive(Debug, Subcommand)]
pub enum LabVerb {
    /// Run an experiment: boot its variants and compare them
    #[command(
        after_help = "Examples:\n  $ firstlight lab run experiments/smoke.toml --check-exact --out smoke\n  $ firstlight lab run experiments/u-boot.toml --dry-run --out u-boot"
    )]
    Run(LabRun),
    /// Published boot-time results, run again here
    #[command(
        after_help = "Examples:\n  $ firstlight lab classics --list\n  $ firstlight lab classics quiet --out quiet"
    )]
    Classics(LabClassics),
    /// Mount images in exact time, beside what `image info` says that it costs
    #[command(
        after_help = "Example:\n  $ firstlight lab mounts experiments/mount-cost/block.toml --out mounts"
    )]
    Mounts(LabMounts),
    /// Plant causes, and compare what findings expect with what their treatments bring
    #[command(
        after_help = "Example:\n  $ firstlight lab findings experiments/findings --out proof --markdown"
    )]
    Findings(LabFindings),
    /// What a run whose variants are alike says of false alarms, and of what is found
    #[command(
        after_help = "Example:\n  $ firstlight lab run experiments/resolution.toml --out resolution\n  $ firstlight lab resolution resolution --changed delay-0.05-percent,delay-0.2-percent,delay-1-percent"
    )]
    Resolution(LabResolution),
    /// What this host can run, and what is missing
    #[command(after_help = "Example:\n  $ firstlight lab doctor")]
    Doctor,
}

#[derive(Debug, Args)]
pub struct LabRun {
    /// The experiment
    #[arg(value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub experiment: PathBuf,
    /// Where trials and results go; an interrupted run resumes there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// What the root appears to lie on, whatever the experiment says: a storage profile
    #[arg(long, value_name = "PROFILE")]
    pub storage: Option<String>,
    /// Boot each variant a second time and compare digests
    #[arg(long)]
    pub check_exact: bool,
    /// Innocent perturbations per variant [default: as the experiment says]
    #[arg(long, value_name = "K")]
    pub ensemble: Option<std::num::NonZeroU32>,
    /// Boots at once [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<std::num::NonZeroUsize>,
    /// Print what would be booted and how long it would take; boot nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not boot each variant once more without what the experiment records
    #[arg(long)]
    pub no_recording_cost: bool,
    /// Print the table as CSV
    #[arg(long, conflicts_with_all = ["json", "dry_run"])]
    pub csv: bool,
    /// Print the table as Markdown
    #[arg(long, conflicts_with_all = ["json", "csv", "dry_run"])]
    pub markdown: bool,
}

#[derive(Debug, Args)]
pub struct LabMounts {
    /// Which images, and how they are mounted
    #[arg(required = true, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Where the boots' consoles go, a folder for each file; an interrupted run resumes there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Print the tables as Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

#[derive(Debug, Args)]
pub struct LabResolution {
    /// The output folder of `lab run`
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub run: PathBuf,
    /// Variants that change something; all others are alike
    #[arg(long, value_name = "VARIANT", value_delimiter = ',')]
    pub changed: Vec<String>,
    /// Delays, in percent of the boot, of which it is said how often they are found
    #[arg(
        long,
        value_name = "PERCENT",
        value_delimiter = ',',
        default_value = "0.05,0.2,1,2",
        value_parser = percent
    )]
    pub delays: Vec<f64>,
    /// Print the tables as Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

/// A percentage that a boot can be late by.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|n: &f64| n.is_finite() && (0.0..=1000.0).contains(n));
    number.ok_or_else(|| "expected a number from 0 to 1000".to_owned())
}

#[derive(Debug, Args)]
pub struct LabFindings {
    /// Planted causes, or folders of them
    #[arg(required = true, value_name = "FILE.toml|DIR", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Where the boots go, a folder for each file; an interrupted run resumes there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Boots at once, where a cause is an experiment [default: one]
    #[arg(long, value_name = "N", default_value = "1", hide_default_value = true)]
    pub jobs: std::num::NonZeroUsize,
    /// Print the table as Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

#[derive(Debug, Args)]
pub struct LabClassics {
    /// Which to run, by name; or a file of your own, in the same form
    #[arg(value_name = "ID|FILE.toml", required_unless_present_any = ["list", "all"])]
    pub ids: Vec<String>,
    /// List them: what was published, and which run here
    #[arg(long, conflicts_with_all = ["all", "ids", "out"])]
    pub list: bool,
    /// Run all that run here, which takes hours
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
    /// Where results go; an interrupted run resumes there
    #[arg(long, value_name = "DIR", required_unless_present = "list", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Boots at once, where a result is an experiment [default: one]
    #[arg(long, value_name = "N", default_value = "1", hide_default_value = true)]
    pub jobs: std::num::NonZeroUsize,
    /// Print the results as Markdown
    #[arg(long, conflicts_with_all = ["json", "list"])]
    pub markdown: bool,
}
