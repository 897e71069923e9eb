//! The arguments of `bisect`.

use crate::args::Hosts;
use crate::verbs::boots::args::allowance;
use analysis::Allowance;
use clap::{Args, Subcommand, ValueHint};
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Bisect {
    #[command(subcommand)]
    pub verb: BisectVerb,
}

#[derive(Debug, Subcommand)]
pub enum BisectVerb {
    /// Bisect two kernel command lines
    #[command(
        after_help = "Example:\n  $ firstlight bisect cmdline before.cmdline after.cmdline --experiment boot.toml"
    )]
    Cmdline(BisectCmdline),
    /// Bisect two kernel configurations
    #[command(
        after_help = "Example:\n  $ firstlight bisect config before.config after.config --make './build-kernel \"$1\" \"$2\"'"
    )]
    Config(BisectConfig),
    /// Bisect two compiled device trees
    #[command(
        after_help = "Example:\n  $ firstlight bisect devicetree before.dtb after.dtb --experiment boot.toml"
    )]
    Devicetree(BisectDevicetree),
    /// Bisect two lists of packages
    #[command(
        after_help = "Example:\n  $ firstlight bisect packages 1.9.manifest 1.10.manifest --make './build-image \"$1\" \"$2\"'"
    )]
    Packages(BisectPackages),
    /// Bisect the files of two root trees or images
    #[command(
        after_help = "Example:\n  $ firstlight bisect image rootfs-1.9/ rootfs-1.10/ --experiment boot.toml"
    )]
    Image(BisectImage),
    /// Bisect git commits with a script that measures a boot
    #[command(
        after_help = "Example:\n  $ firstlight bisect run --good v1.9 --bad HEAD -- ./measure-boot\n\n\
            The last line of the script's output is a time (`1.234 s`, `56.7 ms`), or the path of a\n\
            capture or log. Exit code 125 skips a commit. The script runs in a work tree of its own."
    )]
    Run(BisectRun),
}

/// How a search goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub struct Search {
    /// Search only if the boot times differ by at least this size [default: 0.5%; 1% in real time]
    #[arg(long, value_name = "PERCENT|TIME", value_parser = allowance)]
    pub see: Option<Allowance>,
    /// Accept a wrong answer with this probability, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    pub error: f64,
    /// Boot each set at most N times [default: 6; 40 in real time]
    #[arg(long, value_name = "N")]
    pub most: Option<NonZeroUsize>,
    /// Write trials to DIR; an interrupted run resumes there [default: firstlight-bisect; for `run`,
    /// in the .git folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Print the differences, but boot nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// What is booted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Boots")]
pub struct InLab {
    /// Machine, storage and all else that both systems share [default: a small PC with Debian's
    /// kernel; for `devicetree`, QEMU's 32-bit ARM board]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub experiment: Option<PathBuf>,
    /// Number of parallel boots [default: by processors]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    pub hosts: Hosts,
}

#[derive(Debug, Args)]
pub struct BisectCmdline {
    /// First command line: a file, or the text itself
    #[arg(value_name = "FIRST")]
    pub first: String,
    /// Second command line
    #[arg(value_name = "SECOND")]
    pub second: String,
    #[command(flatten)]
    pub lab: InLab,
    #[command(flatten)]
    pub search: Search,
}

#[derive(Debug, Args)]
pub struct BisectConfig {
    /// First configuration
    #[arg(value_name = "FIRST", value_hint = ValueHint::FilePath)]
    pub first: PathBuf,
    /// Second configuration
    #[arg(value_name = "SECOND", value_hint = ValueHint::FilePath)]
    pub second: PathBuf,
    /// Shell command that builds the kernel image `$2` from the configuration `$1` [default: the
    /// lab builds Debian's source]
    #[arg(long, value_name = "COMMAND")]
    pub make: Option<String>,
    #[command(flatten)]
    pub lab: InLab,
    #[command(flatten)]
    pub search: Search,
}

#[derive(Debug, Args)]
pub struct BisectDevicetree {
    /// First device tree (.dtb)
    #[arg(value_name = "FIRST", value_hint = ValueHint::FilePath)]
    pub first: PathBuf,
    /// Second device tree
    #[arg(value_name = "SECOND", value_hint = ValueHint::FilePath)]
    pub second: PathBuf,
    #[command(flatten)]
    pub lab: InLab,
    #[command(flatten)]
    pub search: Search,
}

#[derive(Debug, Args)]
pub struct BisectPackages {
    /// First list, one package per line: `dpkg-query -W`, `dpkg -l`, a Yocto manifest
    #[arg(value_name = "FIRST", value_hint = ValueHint::FilePath)]
    pub first: PathBuf,
    /// Second list
    #[arg(value_name = "SECOND", value_hint = ValueHint::FilePath)]
    pub second: PathBuf,
    /// Shell command that builds the ext4 root image `$2` from the list `$1`
    #[arg(long, value_name = "COMMAND")]
    pub make: String,
    #[command(flatten)]
    pub lab: InLab,
    #[command(flatten)]
    pub search: Search,
}

#[derive(Debug, Args)]
pub struct BisectImage {
    /// First root: a folder, or an image that the kernel can mount
    #[arg(value_name = "FIRST", value_hint = ValueHint::AnyPath)]
    pub first: PathBuf,
    /// Second root
    #[arg(value_name = "SECOND", value_hint = ValueHint::AnyPath)]
    pub second: PathBuf,
    /// First light without --experiment [default: the kernel message `firstlight-mark done`]
    #[arg(long, value_name = "WHAT", conflicts_with = "experiment")]
    pub until: Option<String>,
    #[command(flatten)]
    pub lab: InLab,
    #[command(flatten)]
    pub search: Search,
}

#[derive(Debug, Args)]
pub struct BisectRun {
    /// Older commit with the old boot time
    #[arg(long, value_name = "COMMIT")]
    pub good: String,
    /// Newer commit with the new boot time
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    pub bad: String,
    /// Script with its arguments
    #[arg(required = true, last = true, value_name = "SCRIPT")]
    pub script: Vec<String>,
    #[command(flatten)]
    pub search: Search,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().unwrap_or(f64::NAN);
    match number > 0.0 && number <= 20.0 {
        true => Ok(number),
        false => Err(format!(
            "expected a percentage from 0.001 to 20, found `{text}`"
        )),
    }
}
