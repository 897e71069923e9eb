//! The command line: help, completions and the man page all come from here.

mod capture;
mod lab;
mod treat;

pub use capture::{Capture, CaptureFrom, CaptureSerial, CaptureSsh, duration};
pub use lab::{Lab, LabClassics, LabFindings, LabMounts, LabResolution, LabRun, LabVerb};
pub use treat::{Treat, TreatAs, TreatOn, TreatPlan, TreatUndo, TreatVerb};

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// Shows where every millisecond of a Linux boot goes, says what to change,
/// changes it, and proves that it helped.
#[derive(Debug, Parser)]
#[command(
    name = "firstlight",
    version,
    after_help = "Without a verb: this machine's last boot in one screen.\n\n\
        Example:\n  $ dmesg > boot.log\n  $ firstlight show boot.log\n\n\
        Exit codes: 0 fine, 1 a gate says \"regressed\", 2 could not do it."
)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Option<Verb>,
    #[command(flatten)]
    pub output: Output,
}

/// How results are printed.
#[derive(Debug, Args)]
pub struct Output {
    /// Print one JSON object with a "schema" key
    #[arg(long, global = true)]
    pub json: bool,
    /// When to colour [default: auto]
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

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Phases, milestones, findings and the ledger of one boot
    #[command(after_help = "Example:\n  $ firstlight show dmesg.txt systemd-analyze.txt")]
    Show(Show),
    /// What took longest
    #[command(after_help = "Example:\n  $ firstlight blame --kind initcall --top 20 dmesg.txt")]
    Blame(Blame),
    /// The critical path: what first light waited for, and what shortening it brings
    #[command(after_help = "Example:\n  $ firstlight path boot.tar.zst")]
    Path(Path),
    /// What was asked of block devices, by whom, and how long it took
    #[command(
        after_help = "Example:\n  $ blktrace -d /dev/sda -w 30\n  $ firstlight io sda.blktrace.*"
    )]
    Io(Io),
    /// What changed between two boots, item by item
    #[command(after_help = "Example:\n  $ firstlight diff before.tar.zst after.tar.zst")]
    Diff(Diff),
    /// Several boots: how much each time varies, and what a change made of them
    #[command(
        after_help = "Examples:\n  $ firstlight boots run_*.tar.zst\n  $ firstlight boots before/*.txt --against after/*.txt\n  $ firstlight boots before.csv --against after.csv\n\n\
            A table (.csv, .tsv) has a boot in each row; columns whose names end in _s, _sec, _ms,\n\
            _us or _ns are times."
    )]
    Boots(crate::verbs::boots::args::Boots),
    /// For CI: did the boot get slower, by how much, and what did
    #[command(
        after_help = "Examples:\n  $ firstlight gate base/trials/baseline new/trials/baseline\n  $ firstlight gate before.tar.zst after.tar.zst --allow 50ms\n  $ firstlight gate before.csv after.csv --of Total_Sec\n\n\
            Exit codes: 0 not slower, 1 slower, 2 could not say."
    )]
    Gate(crate::verbs::boots::args::Gate),
    /// One page to look at, in one HTML file
    #[command(
        after_help = "Example:\n  $ firstlight report before.tar.zst after.tar.zst -o boot.html"
    )]
    Report(Report),
    /// The pages of a folder of captures and experiments, for a browser
    #[command(after_help = "Example:\n  $ firstlight serve boots\n\n\
            Only this machine can read them. With --bind 0.0.0.0:7788 others can, who know the\n\
            address that is printed: it holds a token.")]
    Serve(Serve),
    /// A boot for other viewers and for data tools
    #[command(
        after_help = "Example:\n  $ firstlight export boot.tar.zst --to perfetto -o boot.pftrace\n\n\
            perfetto opens in ui.perfetto.dev and in trace_processor; chrome in chrome://tracing;\n\
            parquet in DuckDB, pandas and the like; folded in flame graph tools."
    )]
    Export(Export),
    /// What to change: ranked findings with their evidence and expected saving
    #[command(
        after_help = "Examples:\n  $ firstlight advise dmesg.txt\n  $ firstlight advise boot.tar.zst --image vmlinuz --image rootfs/ --config .config\n  $ firstlight advise --all serial.log"
    )]
    Advise(Advise),
    /// Change files so that a boot is faster, and take it back
    Treat(Treat),
    /// Try treatments in the lab, and keep what helps: the smallest set, with proof
    #[command(
        after_help = "Examples:\n  $ firstlight tune experiments/micro.toml --out micro\n  $ firstlight tune root.img --kernel debian --until unit:multi-user.target --storage sd-card\n  $ firstlight tune none --kernel debian --with cmdline+=quiet"
    )]
    Tune(Tune),
    /// Take a capture
    Capture(Capture),
    /// Boots in the lab: exact, repeatable, compared
    Lab(Lab),
    /// Flash images: check, summarise, list, extract, verify
    Flash(crate::verbs::flash::args::Flash),
    /// Kernels, initramfs archives, device trees: what they are, and packed anew
    Image(crate::verbs::image::args::Image),
    /// What a boot or a program reads: recorded, looked at, read ahead of need
    Prefetch(crate::verbs::prefetch::args::Prefetch),
    /// Cold and warm starts of a program, what it reads, and what reading ahead and another
    /// order on disk bring
    #[command(
        after_help = "Examples:\n  $ sudo firstlight cold -- editor --version\n  \
            $ sudo firstlight cold --runs 20 --prefetch --order -- editor --version\n  \
            $ firstlight cold --on root@board -- editor --version"
    )]
    Cold(crate::verbs::cold::args::Cold),
    /// The whole loop on a real Debian: boot, explain, change, prove
    #[command(after_help = "Example:\n  $ firstlight demo --out demo-boot")]
    Demo(Demo),
    /// Completions for a shell
    #[command(
        after_help = "Example:\n  $ firstlight completions bash > /etc/bash_completion.d/firstlight"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// The manual page
    #[command(after_help = "Example:\n  $ firstlight man | man -l -")]
    Man,
}

/// The evidence of one boot.
#[derive(Debug, Args)]
pub struct Inputs {
    /// A capture, or any raw files of one boot: they are recognised by content
    #[arg(required = true, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
}

/// How inputs are read.
#[derive(Clone, Debug, Default, Args)]
pub struct Reading {
    /// The boot ends with the first log line that contains TEXT
    #[arg(long, value_name = "TEXT")]
    pub first_light: Option<String>,
    /// More firmware and loader stages to know in serial logs (TOML)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub stages: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Show {
    #[command(flatten)]
    pub inputs: Inputs,
}

#[derive(Debug, Args)]
pub struct Blame {
    #[command(flatten)]
    pub inputs: Inputs,
    /// Only this kind
    #[arg(long)]
    pub kind: Option<Kind>,
    /// How many rows; 0 for all [default: 20]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        hide_default_value = true
    )]
    pub top: usize,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Probes that were put off, device by device
    #[arg(long, conflicts_with_all = ["kind", "csv"])]
    pub deferrals: bool,
    /// The longest silences: times between one line of the logs and the next
    #[arg(long, conflicts_with_all = ["kind", "csv", "deferrals", "functions", "by"])]
    pub gaps: bool,
    /// The functions of a kernel function trace (function_graph, KFT, kd)
    #[arg(long, conflicts_with_all = ["kind", "deferrals"])]
    pub functions: bool,
    /// Sum initcalls by part of the kernel
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["kind", "csv", "deferrals", "functions"])]
    pub by: Option<By>,
    /// What the functions are sorted by [default: time]
    #[arg(
        long,
        value_name = "COLUMN",
        requires = "functions",
        conflicts_with = "tree"
    )]
    pub sort: Option<FunctionColumn>,
    /// Functions below the ones that called them
    #[arg(long, requires = "functions")]
    pub tree: bool,
}

/// What calls are summed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Where their source is: drivers/usb, kernel/trace
    Subsystem,
}

/// A column of the table of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FunctionColumn {
    Function,
    Count,
    Time,
    Average,
    Local,
    MaxSub,
    MsCount,
}

#[derive(Debug, Args)]
pub struct Path {
    #[command(flatten)]
    pub inputs: Inputs,
    /// Print short items one by one, too
    #[arg(long)]
    pub all: bool,
    /// Tell the userspace process by process where tasks were traced, not unit by unit
    #[arg(long)]
    pub processes: bool,
}

#[derive(Debug, Args)]
pub struct Advise {
    /// A capture, or any raw files of one boot: they are recognised by content
    #[arg(
        required_unless_present_any = ["image", "config"],
        value_name = "INPUT",
        value_hint = ValueHint::AnyPath
    )]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
    /// What is booted: a kernel, an initramfs, a FIT, flash, disk or U-Boot image, or the folder of a
    /// root; may be repeated
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub image: Vec<PathBuf>,
    /// The kernel's configuration: .config, /boot/config-*, config.gz, or a kernel that holds it
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Say of each finding that does not apply why, too
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct Tune {
    /// An experiment (FILE.toml), an ext4 image of a root, `debian-minimal`, or `none`: the boot
    /// ends in the initramfs
    #[arg(value_name = "EXPERIMENT|IMAGE", value_hint = ValueHint::AnyPath)]
    pub what: PathBuf,
    /// The kernel of an IMAGE: a file, or `debian`
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub kernel: Option<PathBuf>,
    /// The folder of that kernel's modules
    #[arg(long, value_name = "DIR", requires = "kernel", value_hint = ValueHint::DirPath)]
    pub modules: Option<PathBuf>,
    /// What ends the boot of an IMAGE: init, unit:NAME, kmsg:TEXT, file:PATH, listen:PORT,
    /// accept:PORT, http:PORT/PAGE, ...
    #[arg(long, value_name = "WHAT")]
    pub until: Option<String>,
    /// The storage profile of an IMAGE [default: emmc]
    #[arg(long, value_name = "PROFILE")]
    pub storage: Option<String>,
    /// Try this treatment too; may be repeated
    #[arg(long, value_name = "TREATMENT")]
    pub with: Vec<String>,
    /// Try at most N treatments, those that promise most [default: 24]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 24,
        hide_default_value = true
    )]
    pub tries: usize,
    /// How much of the saving the kept set has at least, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 95, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub enough: u8,
    /// Leave out only N of the best set in turn: the findings that promise least, and last what
    /// was named; what the others are worth is not measured then [default: all of them]
    #[arg(long, value_name = "N")]
    pub leave_out: Option<usize>,
    /// Boots of each set [default: as the experiment says, 2 for an IMAGE]
    #[arg(long, value_name = "K")]
    pub ensemble: Option<std::num::NonZeroU32>,
    /// Boots at once [default: as many as the machine has processors and memory for]
    #[arg(long, value_name = "N")]
    pub jobs: Option<std::num::NonZeroUsize>,
    /// Where trials and results go; an interrupted run resumes there [default: NAME.tune]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Print what would be tried and what that takes; boot nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct Io {
    #[command(flatten)]
    pub inputs: Inputs,
    /// How many processes and files the screen shows; 0 for all [default: 10]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        hide_default_value = true
    )]
    pub top: usize,
    #[command(flatten)]
    pub images: Images,
    /// Print every request as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Write a picture, too: where on the device, when, and how long it took
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,
    /// Write the same picture as PNG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub png: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Kind {
    Initcall,
    Probe,
    Unit,
    Process,
    File,
    Stage,
    Phase,
}

#[derive(Debug, Args)]
pub struct Diff {
    /// The boot before
    #[arg(value_hint = ValueHint::AnyPath)]
    pub a: PathBuf,
    /// The boot after
    #[arg(value_hint = ValueHint::AnyPath)]
    pub b: PathBuf,
    /// An older boot, to know what an item takes as a rule; may be repeated
    #[arg(long, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub history: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Debug, Args)]
pub struct Report {
    #[command(flatten)]
    pub inputs: Inputs,
    /// The second boot, to compare with: a capture, or a raw file; may be repeated for its raw files
    #[arg(long, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub beside: Vec<PathBuf>,
    #[command(flatten)]
    pub images: Images,
    /// The page to write
    #[arg(short, long, value_name = "FILE", default_value = "boot.html", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
}

/// What says whose the requests of a boot are.
#[derive(Debug, Default, Args)]
pub struct Images {
    /// The image, device or mounted folder that was read, to name the file of each request; a second one is that of the second boot
    #[arg(long = "image", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub images: Vec<PathBuf>,
    /// Where the image begins on the device that was traced, in sectors of 512 bytes
    #[arg(
        long,
        value_name = "SECTOR",
        default_value_t = 0,
        hide_default_value = true,
        requires = "images"
    )]
    pub base: u64,
    /// The device that the image is of, as in 8:0 [default: the one with the most requests]
    #[arg(long, value_name = "MAJOR:MINOR", requires = "images")]
    pub device: Option<String>,
}

#[derive(Debug, Args)]
pub struct Serve {
    /// The folder; nothing outside it is read
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Where to listen; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7788")]
    pub bind: std::net::SocketAddr,
}

#[derive(Debug, Args)]
pub struct Export {
    #[command(flatten)]
    pub inputs: Inputs,
    /// The format
    #[arg(long, value_name = "FORMAT")]
    pub to: ExportFormat,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Perfetto's protocol buffers
    Perfetto,
    /// The JSON of Chrome's tracing page
    Chrome,
    /// Every event, a line each
    Csv,
    /// Every event, in columns
    Parquet,
    /// One picture: load, processes, calls
    Svg,
    /// A picture of initcalls and probes over the kernel's time
    Bootgraph,
    /// A picture of processors and disks over time, and the tree of processes
    Bootchart,
    /// Stacks and their weights, a line each
    Folded,
}

impl ExportFormat {
    /// The word of the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto",
            Self::Chrome => "chrome",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Svg => "svg",
            Self::Bootgraph => "bootgraph",
            Self::Bootchart => "bootchart",
            Self::Folded => "folded",
        }
    }
}

#[derive(Debug, Args)]
pub struct Demo {
    /// Where captures and the page go
    #[arg(long, value_name = "DIR", default_value = "firstlight-demo", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
}
