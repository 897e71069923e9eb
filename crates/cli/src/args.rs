//! Arguments that several verbs share.

mod capture;
mod lab;
mod treat;

pub use capture::{Capture, CaptureBoard, CaptureFrom, CaptureSerial, CaptureSsh, duration};
pub use lab::{
    Ci, Hosts, Lab, LabClassics, LabDoctor, LabFindings, LabMounts, LabResolution, LabRun,
    LabTrial, LabVerb,
};
pub use treat::{Treat, TreatAs, TreatOn, TreatPlan, TreatUndo, TreatVerb};

use analysis::Options;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// How results are printed.
#[derive(Debug, Args)]
pub struct Output {
    /// Print one JSON object with a "schema" key
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use color [default: auto]
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    pub color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

/// The evidence of one boot.
#[derive(Debug, Args)]
pub struct Inputs {
    /// A capture, or raw files of one boot, recognized by content; `-` is standard input
    /// [default: this machine's last boot]
    #[arg(value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
}

/// Boots before and after a change.
#[derive(Debug, Args)]
pub struct Compared {
    /// Before the change: captures, raw files, or folders of them; `-` is standard input
    /// [default: this machine's last boot]
    #[arg(value_name = "BASE", value_hint = ValueHint::AnyPath)]
    pub base: Vec<PathBuf>,
    /// After the change
    #[arg(long, required = true, value_name = "NEW", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub against: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
}

/// How inputs are read.
#[derive(Clone, Debug, Default, Args)]
pub struct Reading {
    /// End the boot at the mark or unit TEXT, or at the first log line that contains it
    #[arg(long, value_name = "TEXT")]
    pub first_light: Option<String>,
    /// Read boot N of a log that holds several, counted from 1 [default: the last]
    #[arg(long, value_name = "N")]
    pub boot: Option<std::num::NonZeroUsize>,
    /// Read more firmware and loader stages for serial logs from FILE (TOML)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub stages: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Tune {
    /// Experiment (FILE.toml), ext4 image of a root, `debian-minimal`, or `none` for a boot that
    /// ends in the initramfs
    #[arg(value_name = "EXPERIMENT|IMAGE", value_hint = ValueHint::AnyPath)]
    pub what: PathBuf,
    /// Kernel of an IMAGE: a file, or `debian`
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub kernel: Option<PathBuf>,
    /// Folder of that kernel's modules
    #[arg(long, value_name = "DIR", requires = "kernel", value_hint = ValueHint::DirPath)]
    pub modules: Option<PathBuf>,
    /// First light of an IMAGE: init, unit:NAME, kmsg:TEXT, file:PATH, listen:PORT,
    /// accept:PORT, http:PORT/PAGE, ...
    #[arg(long, value_name = "WHAT")]
    pub until: Option<String>,
    /// Storage profile of an IMAGE [default: emmc]
    #[arg(long, value_name = "PROFILE")]
    pub storage: Option<String>,
    /// Also try this treatment; repeatable
    #[arg(long, value_name = "TREATMENT")]
    pub with: Vec<String>,
    /// Never try this treatment; repeatable
    #[arg(long, value_name = "TREATMENT")]
    pub without: Vec<String>,
    /// Treatments to try that nobody named: `product` leaves out those that weaken a product's
    /// security, `lab` tries all
    #[arg(long, value_name = "POLICY", default_value = "product")]
    pub policy: TunePolicy,
    /// Try at most N treatments, the most promising ones [default: 24]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 24,
        hide_default_value = true
    )]
    pub tries: usize,
    /// Keep the smallest set with at least this share (in percent) of the best saving
    #[arg(long, value_name = "PERCENT", default_value_t = 95, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub enough: u8,
    /// Leave out only N of the best set in turn: the least promising findings first, named
    /// treatments last; the shares of the others are not measured [default: all]
    #[arg(long, value_name = "N")]
    pub leave_out: Option<usize>,
    /// Boots of each set [default: the experiment's, 2 for an IMAGE]
    #[arg(long, value_name = "K")]
    pub ensemble: Option<std::num::NonZeroU32>,
    /// Number of parallel boots [default: by processors and memory]
    #[arg(long, value_name = "N")]
    pub jobs: Option<std::num::NonZeroUsize>,
    #[command(flatten)]
    pub hosts: Hosts,
    /// Write trials and results to DIR; an interrupted run resumes there [default: NAME.tune]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Try first what saves most in the lab: the output folder of `tune` or `lab run` there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub forecast: Option<PathBuf>,
    /// On a board: stop after N power cycles; the same command continues
    #[arg(long, value_name = "N")]
    pub limit_cycles: Option<u64>,
    /// On a board: search nothing, but put the baseline back and boot it
    #[arg(long, conflicts_with = "dry_run")]
    pub undo: bool,
    /// Print the planned treatments and their duration, but boot nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What the search may try by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TunePolicy {
    /// Nothing that takes a protection away
    Product,
    /// Everything that findings recommend
    Lab,
}

impl Reading {
    /// The same, for the room that reads inputs.
    pub fn chosen(&self) -> input::Reading {
        input::Reading {
            first_light: self.first_light.clone(),
            boot: self.boot,
            stages: self.stages.clone(),
        }
    }

    /// The same for the analyses.
    pub fn options(&self) -> Options {
        self.chosen().options()
    }
}

/// Images that name the files behind block requests.
#[derive(Debug, Default, Args)]
pub struct Images {
    /// Name the file of each request by this image, device or mounted folder; a second one belongs to
    /// the second boot
    #[arg(long = "image", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub images: Vec<PathBuf>,
    /// Start of the image on the traced device, in sectors of 512 bytes [default: 0]
    #[arg(
        long,
        value_name = "SECTOR",
        default_value_t = 0,
        hide_default_value = true,
        requires = "images"
    )]
    pub base: u64,
    /// Device of the image, as in 8:0 [default: the one with the most requests]
    #[arg(long, value_name = "MAJOR:MINOR", requires = "images")]
    pub device: Option<String>,
}

impl Images {
    /// The same, for the room that reads them.
    pub fn chosen(&self) -> inspect::owners::Images<'_> {
        inspect::owners::Images {
            images: &self.images,
            base: self.base,
            device: self.device.as_deref(),
        }
    }
}

#[cfg(feature = "serve")]
#[derive(Debug, Args)]
pub struct Serve {
    /// Folder to serve; nothing outside it is read
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7788")]
    pub bind: std::net::SocketAddr,
}

#[derive(Debug, Args)]
pub struct Demo {
    /// Write captures and the page to DIR
    #[arg(long, value_name = "DIR", default_value = "firstlight-demo", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Also boot every recommended change alone, and measure each
    #[arg(long)]
    pub each: bool,
}

/// Files for the programs that show results.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Outputs")]
pub struct Outputs {
    /// Write a Markdown report for a pull request to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub markdown: Option<PathBuf>,
    /// Write JUnit XML (GitLab, Jenkins) to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub junit: Option<PathBuf>,
    /// Write SARIF 2.1.0 (GitHub code scanning) to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub sarif: Option<PathBuf>,
    /// Write TAP version 13 to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub tap: Option<PathBuf>,
    /// Write Prometheus text metrics to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub prometheus: Option<PathBuf>,
    /// Write a KCIDB 5.3 report to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kcidb: Option<PathBuf>,
    /// Write Bencher Metric Format JSON to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub bencher: Option<PathBuf>,
    /// Write JSON for github-action-benchmark (customSmallerIsBetter) to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub benchmark: Option<PathBuf>,
    /// Write a badge (SVG) to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub badge: Option<PathBuf>,
    /// Print GitHub annotations, and append a report to the job summary if
    /// GITHUB_STEP_SUMMARY is set
    #[arg(long)]
    pub github: bool,
}

/// Takes one of these words, for what stands beside it.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    words: &'static [(&'static str, T)],
) -> impl clap::builder::TypedValueParser<Value = T> {
    use clap::builder::TypedValueParser as _;
    clap::builder::PossibleValuesParser::new(words.iter().map(|w| w.0)).try_map(|word| {
        let found = words.iter().find(|w| w.0 == word);
        found.map(|w| w.1).ok_or("no such word")
    })
}
