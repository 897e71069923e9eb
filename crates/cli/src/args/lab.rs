//! The arguments of `lab`.

use crate::size;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use lab::{LabError, Shared};
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
    /// Boot one prepared trial, on any host with the same emulator
    #[command(
        after_help = "Example:\n  $ firstlight lab run experiments/smoke.toml --prepare --out smoke\n  $ firstlight lab trial smoke/jobs/baseline-0.json --out smoke/jobs/baseline-0.tar.zst\n  $ firstlight lab run experiments/smoke.toml --out smoke"
    )]
    Trial(LabTrial),
    /// Run published boot-time experiments again, and compare
    #[command(
        after_help = "Examples:\n  $ firstlight lab classics --list\n  $ firstlight lab classics quiet --out quiet"
    )]
    Classics(LabClassics),
    /// Measure mounts in exact time, and compare them with the predictions of `image info`
    #[command(
        after_help = "Example:\n  $ firstlight lab mounts experiments/mount-cost/block.toml --out mounts"
    )]
    Mounts(LabMounts),
    /// Plant known causes, and compare expected with measured savings
    #[command(
        after_help = "Example:\n  $ firstlight lab findings experiments/findings --out proof --markdown"
    )]
    Findings(LabFindings),
    /// Estimate the false-alarm rate and the smallest detectable change from a run of identical variants
    #[command(
        after_help = "Example:\n  $ firstlight lab run experiments/resolution.toml --out resolution\n  $ firstlight lab resolution resolution --changed delay-0.05-percent,delay-0.2-percent,delay-1-percent"
    )]
    Resolution(LabResolution),
    /// Check what this host can run, and list what is missing
    #[command(
        after_help = "Examples:\n  $ firstlight lab doctor\n  $ firstlight lab doctor --board boards/bench.toml"
    )]
    Doctor(LabDoctor),
    /// Put a board's baseline back after a run that was cut off
    #[command(after_help = "Example:\n  $ firstlight lab restore --board boards/bench.toml")]
    Restore(LabRestore),
}

#[derive(Debug, Args)]
pub struct LabDoctor {
    /// Check this board instead: its commands, console and lock; changes nothing
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub board: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct LabRestore {
    /// Board to restore
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub board: PathBuf,
}

/// Who boots, and who may know the results.
#[derive(Debug, Args)]
pub struct Hosts {
    /// Take results of exact trials from DIR or s3://BUCKET/PREFIX and keep new ones there, for
    /// other runs and hosts
    #[arg(long, value_name = "PLACE", value_hint = ValueHint::DirPath)]
    pub shared: Option<String>,
    /// Boot one in N shared results again and compare digests (0: never)
    #[arg(long, value_name = "N", default_value_t = lab::AUDIT_EVERY)]
    pub audit: u32,
    /// After the run, remove the oldest shared results beyond SIZE, such as 10GiB [default: keep
    /// all]
    #[arg(long, value_name = "SIZE", requires = "shared", value_parser = size::parse)]
    pub shared_limit: Option<u64>,
    /// Boot on a cluster, whose nodes must see the output folder
    #[arg(long, value_name = "CLUSTER", value_enum)]
    pub on: Option<Cluster>,
    /// Pass this option to `sbatch`, as in --sbatch=--partition=fast; repeatable
    #[arg(
        long,
        value_name = "OPTION",
        requires = "on",
        allow_hyphen_values = true
    )]
    pub sbatch: Vec<String>,
    /// Boot N trials in each task of the cluster [default: as many as take 30 s]
    #[arg(long, value_name = "N", requires = "on")]
    pub batch: Option<std::num::NonZeroUsize>,
    /// Boot each trial with COMMAND, which contains {plan} and {out} and may contain {inputs}
    #[arg(long, value_name = "COMMAND", conflicts_with = "on")]
    pub submit: Option<String>,
}

/// What manages a cluster.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Cluster {
    Slurm,
}

/// A CI system whose jobs are described.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Ci {
    Github,
    Gitlab,
}

impl Hosts {
    /// The same for the lab, with `jobs` boots at once.
    ///
    /// # Errors
    /// If shared results cannot be where they are said to be.
    pub fn hosts(&self, jobs: Option<std::num::NonZeroUsize>) -> Result<lab::Hosts, LabError> {
        let mut shared = self.shared.as_deref().map(Shared::named).transpose()?;
        if let Some(shared) = &mut shared {
            shared.audit_every = self.audit;
            shared.limit_bytes = self.shared_limit;
        }
        let on = match (&self.on, &self.submit) {
            (Some(Cluster::Slurm), _) => lab::On::Slurm(lab::Slurm {
                sbatch: self.sbatch.clone(),
                batch: self.batch.map(Into::into),
            }),
            (None, Some(command)) => lab::On::Command(command.clone()),
            (None, None) => lab::On::Host,
        };
        Ok(lab::Hosts { jobs, shared, on })
    }
}

#[derive(Debug, Args)]
pub struct LabTrial {
    /// Plan of the trial, as `lab run --prepare` writes it; `-` is standard input
    #[arg(value_name = "PLAN.json", value_hint = ValueHint::FilePath)]
    pub plan: PathBuf,
    /// Write the result to this file; `-` is standard output
    #[arg(long, value_name = "RESULT.tar.zst", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Also look for inputs in DIR/sha256, after the cache and the folder of the plan
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub inputs: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct LabRun {
    /// Experiment to run
    #[arg(value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub experiment: PathBuf,
    /// Write trials and results to DIR; an interrupted run resumes there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Use this storage profile for the root instead of the experiment's
    #[arg(long, value_name = "PROFILE")]
    pub storage: Option<String>,
    /// Boot each variant twice and compare digests
    #[arg(long)]
    pub check_exact: bool,
    /// Boots of each variant, each with its own neutral perturbation [default: the experiment's]
    #[arg(long, value_name = "K")]
    pub ensemble: Option<std::num::NonZeroU32>,
    /// Number of parallel boots [default: number of cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<std::num::NonZeroUsize>,
    /// On a board: stop after N power cycles; the same command continues
    #[arg(long, value_name = "N")]
    pub limit_cycles: Option<u64>,
    /// Print the planned boots and their duration, but boot nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Skip the extra boot of each variant that measures the cost of recording
    #[arg(long)]
    pub no_recording_cost: bool,
    #[command(flatten)]
    pub hosts: Hosts,
    /// Only write the plans of all boots into the folder `jobs` of DIR, for other hosts
    #[arg(long, conflicts_with_all = ["dry_run", "on", "submit"])]
    pub prepare: bool,
    /// Write the plans as --prepare does, and print the jobs in the form of this CI system
    #[arg(long, value_name = "CI", value_enum, conflicts_with_all = ["dry_run", "on", "submit"])]
    pub matrix: Option<Ci>,
    /// Print the table as CSV
    #[arg(long, conflicts_with_all = ["json", "dry_run"])]
    pub csv: bool,
    /// Print the table as Markdown
    #[arg(long, conflicts_with_all = ["json", "csv", "dry_run"])]
    pub markdown: bool,
}

#[derive(Debug, Args)]
pub struct LabMounts {
    /// Images, and how they are mounted
    #[arg(required = true, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Write consoles to DIR, in one folder per file; an interrupted run resumes there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Print the tables as Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

#[derive(Debug, Args)]
pub struct LabResolution {
    /// Output folder of `lab run`
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub run: PathBuf,
    /// Variants with a real change; all others are identical
    #[arg(long, value_name = "VARIANT", value_delimiter = ',')]
    pub changed: Vec<String>,
    /// Report how often delays of these sizes are found, in percent of the boot
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
    /// Files of planted causes, or folders of them
    #[arg(required = true, value_name = "FILE.toml|DIR", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Write boots to DIR, in one folder per file; an interrupted run resumes there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Number of parallel boots if a cause is an experiment [default: 1]
    #[arg(long, value_name = "N", default_value = "1", hide_default_value = true)]
    pub jobs: std::num::NonZeroUsize,
    /// Print the table as Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

#[derive(Debug, Args)]
pub struct LabClassics {
    /// Names of the experiments to run, or a file of your own in the same form
    #[arg(value_name = "ID|FILE.toml", required_unless_present_any = ["list", "all"])]
    pub ids: Vec<String>,
    /// List them: published figures, and which run here
    #[arg(long, conflicts_with_all = ["all", "ids", "out"])]
    pub list: bool,
    /// Run all that this host can run; takes hours
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
    /// Write results to DIR; an interrupted run resumes there
    #[arg(long, value_name = "DIR", required_unless_present = "list", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Number of parallel boots if a result is an experiment [default: 1]
    #[arg(long, value_name = "N", default_value = "1", hide_default_value = true)]
    pub jobs: std::num::NonZeroUsize,
    #[command(flatten)]
    pub hosts: Hosts,
    /// Print the results as Markdown
    #[arg(long, conflicts_with_all = ["json", "list"])]
    pub markdown: bool,
}
