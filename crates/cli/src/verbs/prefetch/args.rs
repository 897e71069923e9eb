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
    /// Run a program and record what it and its children read, to the page
    #[command(
        after_help = "Example:\n  $ sudo firstlight prefetch record -o editor.list -- editor --version\n\n\
        While it runs, the whole machine reads without read-ahead; before, its caches are dropped.\n\
        All settings come back when it ends, however it ends."
    )]
    Record(Record),
    /// The list of a boot that was captured with the events filemap:*
    #[command(
        after_help = "Example:\n  $ firstlight prefetch import boot.tar --root /mnt/image -o boot.list"
    )]
    Import(Import),
    /// What a list would read, and in how many requests
    #[command(after_help = "Example:\n  $ firstlight prefetch plan editor.list")]
    Plan(Plan),
    /// One list of several recordings, with how often each range was needed
    #[command(
        after_help = "Example:\n  $ firstlight prefetch merge -o boot.list monday.list tuesday.list"
    )]
    Merge(Merge),
    /// Read ahead now what a list names
    #[command(after_help = "Example:\n  $ firstlight prefetch replay editor.list")]
    Replay(Replay),
    /// What a list's owner would wait for a device, with and without reading ahead
    #[command(
        after_help = "Example:\n  $ firstlight prefetch simulate editor.list --storage sd-card"
    )]
    Simulate(Simulate),
    /// Put the prefetcher and a list into a root filesystem: it runs at each boot
    #[command(
        after_help = "Example:\n  $ sudo firstlight prefetch install /mnt/image --list boot.list --dry-run"
    )]
    Install(Install),
    /// Take it out again: the root is as it was
    #[command(after_help = "Example:\n  $ sudo firstlight prefetch uninstall /mnt/image")]
    Uninstall(Uninstall),
    /// Restores settings when a recording is killed
    #[command(hide = true)]
    Guard {
        /// What was changed
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct Record {
    /// The list to write
    #[arg(short, long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Do not drop caches first: pages that are in memory hide touches
    #[arg(long)]
    pub keep_cache: bool,
    /// Record for TIME at most, and leave the program running: 30, 500ms, 2min
    #[arg(long = "for", value_name = "TIME", value_parser = crate::args::duration)]
    pub limit: Option<Duration>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct Plan {
    /// The list
    #[arg(value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub list: PathBuf,
    /// Where the files are: the folder that is `/` for the list
    #[arg(long, value_name = "DIR", default_value = "/", value_hint = ValueHint::DirPath)]
    pub root: PathBuf,
    /// Only ranges that this part of the recordings needed, 0 to 1
    #[arg(
        long,
        value_name = "PART",
        default_value_t = 0.0,
        hide_default_value = true
    )]
    pub stable: f64,
    /// How many files the screen shows; 0 for all [default: 20]
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
    /// The list to write
    #[arg(short, long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// The recordings, the oldest first
    #[arg(required = true, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub lists: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Replay {
    /// The list
    #[arg(value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub list: PathBuf,
    /// Where the files are: the folder that is `/` for the list
    #[arg(long, value_name = "DIR", default_value = "/", value_hint = ValueHint::DirPath)]
    pub root: PathBuf,
    /// Read in the order of need, not as things lie on the device
    #[arg(long)]
    pub need_order: bool,
}

#[derive(Debug, Args)]
pub struct Import {
    /// A capture, or a kernel trace
    #[arg(required = true, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// Where the files of the captured system are: `/`, or its mounted image
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub root: PathBuf,
    /// The list to write
    #[arg(short, long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// The captured machine, as its `uname -m` says it
    #[arg(long, value_name = "NAME", default_value = std::env::consts::ARCH)]
    pub machine: String,
    /// The length of its pages, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    pub page: u32,
}

#[derive(Debug, Args)]
pub struct Simulate {
    /// The list: recorded where storage cost no time, its times are those of the work
    #[arg(value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub list: PathBuf,
    /// A storage profile of the lab; may be repeated [default: all]
    #[arg(long, value_name = "PROFILE")]
    pub storage: Vec<String>,
    /// Where the files are, and lie as they will
    #[arg(long, value_name = "DIR", default_value = "/", value_hint = ValueHint::DirPath)]
    pub root: PathBuf,
    /// An ext4 image that has the files, in place of a folder: then the inode tables are
    /// known, and how it would be laid out
    #[arg(long, value_name = "IMAGE", conflicts_with = "root", value_hint = ValueHint::FilePath)]
    pub image: Option<PathBuf>,
    /// Add the processor time that reading takes in the lab, at 1 GIPS
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
    /// The initramfs that Debian's initramfs-tools make
    Initramfs,
}

#[derive(Debug, Args)]
pub struct Install {
    /// The root filesystem
    #[arg(value_name = "ROOT", value_hint = ValueHint::DirPath)]
    pub root: PathBuf,
    /// The list; it can be put into /usr/lib/firstlight/boot.list later, too
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub list: Option<PathBuf>,
    /// What starts it [default: what the root has]
    #[arg(long)]
    pub init: Option<Init>,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct Uninstall {
    /// The root filesystem
    #[arg(value_name = "ROOT", value_hint = ValueHint::DirPath)]
    pub root: PathBuf,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}
