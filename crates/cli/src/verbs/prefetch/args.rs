//! The command line of `firstlight prefetch`.

use clap::{Args, Subcommand, ValueEnum, ValueHint};
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
    /// Record the pages that a program and its children read
    #[command(
        after_help = "Example:\n  $ sudo firstlight prefetch record -o editor.list -- editor --version\n\n\
        While it runs, the whole machine reads without read-ahead; before, its caches are dropped.\n\
        All settings come back when it ends, however it ends."
    )]
    Record(Record),
    /// Make an access list from a capture with filemap:* events
    #[command(
        after_help = "Example:\n  $ firstlight prefetch import boot.tar --root /mnt/image -o boot.list"
    )]
    Import(Import),
    /// Show what a list would read, and in how many requests
    #[command(after_help = "Example:\n  $ firstlight prefetch plan editor.list")]
    Plan(Plan),
    /// Merge recordings into one list, with how often each range was needed
    #[command(
        after_help = "Example:\n  $ firstlight prefetch merge -o boot.list monday.list tuesday.list"
    )]
    Merge(Merge),
    /// Read a list into the page cache now
    #[command(after_help = "Example:\n  $ firstlight prefetch replay editor.list")]
    Replay(Replay),
    /// Simulate the I/O waits of a boot with and without prefetch
    #[command(
        after_help = "Example:\n  $ firstlight prefetch simulate editor.list --storage sd-card"
    )]
    Simulate(Simulate),
    /// Install the prefetcher and a list into a root filesystem
    #[command(
        after_help = "Example:\n  $ sudo firstlight prefetch install /mnt/image --list boot.list --dry-run"
    )]
    Install(Install),
    /// Uninstall the prefetcher and restore the root
    #[command(after_help = "Example:\n  $ sudo firstlight prefetch uninstall /mnt/image")]
    Uninstall(Uninstall),
    /// Restores settings when a recording is killed
    #[command(hide = true)]
    Guard {
        /// Settings to restore
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct Record {
    /// List to write
    #[arg(short, long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Keep the page cache; accesses to cached pages then stay unseen
    #[arg(long)]
    pub keep_cache: bool,
    /// Record for at most TIME and leave the program running: 30, 500ms, 2min
    #[arg(long = "for", value_name = "TIME", value_parser = crate::args::duration)]
    pub limit: Option<Duration>,
    /// Program and its arguments
    #[arg(last = true, required = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// An access list, and the root that its paths start from.
#[derive(Debug, Args)]
pub struct OnRoot {
    /// List
    #[arg(value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub list: PathBuf,
    /// Folder that is `/` for the list
    #[arg(long, value_name = "DIR", default_value = "/", value_hint = ValueHint::DirPath)]
    pub root: PathBuf,
}

#[derive(Debug, Args)]
pub struct Plan {
    #[command(flatten)]
    pub on: OnRoot,
    /// Use only ranges that this share of the recordings needed, 0 to 1
    #[arg(
        long,
        value_name = "PART",
        default_value_t = 0.0,
        hide_default_value = true
    )]
    pub stable: f64,
    /// Number of files on the screen; 0 for all [default: 20]
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
    /// List to write
    #[arg(short, long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Recordings, the oldest first
    #[arg(required = true, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub lists: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Replay {
    #[command(flatten)]
    pub on: OnRoot,
    /// Read in the order of need instead of device order
    #[arg(long)]
    pub need_order: bool,
}

#[derive(Debug, Args)]
pub struct Import {
    /// Capture or kernel trace
    #[arg(required = true, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// Root of the captured system's files: `/`, or its mounted image
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub root: PathBuf,
    /// List to write
    #[arg(short, long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Keep only files read since this unit began to start: the list of one application
    #[arg(long, value_name = "UNIT")]
    pub since: Option<String>,
    /// Architecture of the captured machine (`uname -m`)
    #[arg(long, value_name = "NAME", default_value = std::env::consts::ARCH)]
    pub machine: String,
    /// Page size of the captured machine, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    pub page: u32,
}

#[derive(Debug, Args)]
pub struct Simulate {
    /// List; record it on storage without latency, so that its times contain only work
    #[arg(value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub list: PathBuf,
    /// Storage profile of the lab; repeatable [default: all]
    #[arg(long, value_name = "PROFILE")]
    pub storage: Vec<String>,
    /// Folder with the files, laid out as they will be
    #[arg(long, value_name = "DIR", default_value = "/", value_hint = ValueHint::DirPath)]
    pub root: PathBuf,
    /// ext4 image with the files instead of a folder; its inode tables and a new layout
    /// are then simulated, too
    #[arg(long, value_name = "IMAGE", conflicts_with = "root", value_hint = ValueHint::FilePath)]
    pub image: Option<PathBuf>,
    /// Add the CPU time of reading in the lab, at 1 GIPS
    #[arg(long)]
    pub in_lab: bool,
}

/// What starts the prefetcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Init {
    /// A unit of systemd
    Systemd,
    /// A script in /etc/init.d, for BusyBox and its like
    Busybox,
    /// An initramfs of Debian's initramfs-tools
    Initramfs,
}

#[derive(Debug, Args)]
pub struct Install {
    /// Root filesystem
    #[arg(value_name = "ROOT", value_hint = ValueHint::DirPath)]
    pub root: PathBuf,
    /// List; can also be copied to /usr/lib/firstlight/boot.list later
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub list: Option<PathBuf>,
    /// What starts the prefetcher [default: what the root has]
    #[arg(long)]
    pub init: Option<Init>,
    /// Print the plan, but change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct Uninstall {
    /// Root filesystem
    #[arg(value_name = "ROOT", value_hint = ValueHint::DirPath)]
    pub root: PathBuf,
    /// Print the plan, but change nothing
    #[arg(long)]
    pub dry_run: bool,
}
