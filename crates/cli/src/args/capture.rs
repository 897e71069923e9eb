//! The arguments of `capture`.

use capture::serial::port;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct Capture {
    #[command(subcommand)]
    pub from: CaptureFrom,
}

#[derive(Debug, Subcommand)]
pub enum CaptureFrom {
    /// Capture this machine's last boot: kernel log, systemd, state
    #[command(after_help = "Example:\n  $ sudo firstlight capture here -o boot.tar.zst")]
    Here {
        /// Capture to write; .tar or .tar.zst
        #[arg(short, long, value_name = "FILE", default_value = "boot.tar.zst", value_hint = ValueHint::FilePath)]
        out: PathBuf,
    },
    /// Switch a board off and on, and capture that boot: console, power, proof, state
    #[command(
        after_help = "Example:\n  $ firstlight capture board boards/bench.toml -o boot.tar.zst\n\n\
            Exit code 2: the boot did not reach first light, or the board was reset."
    )]
    Board(CaptureBoard),
    /// Listen to a console, and timestamp both ends of every line
    #[command(after_help = "Examples:\n  \
            $ firstlight capture serial /dev/ttyUSB0 --power-cycle 'uhubctl -a cycle' --end-on 'login: $'\n  \
            $ firstlight capture serial --exec 'qemu-system-arm ... -serial stdio' --end-on 'login: $' --end-after 60\n\n\
            Exit code 2: the end pattern was not seen, or the board was reset more often than expected.")]
    Serial(Box<CaptureSerial>),
    /// Capture another machine's boot over ssh; leaves nothing there
    #[command(after_help = "Examples:\n  \
            $ firstlight capture ssh root@board -o last-boot.tar.zst\n  \
            $ firstlight capture ssh board --reboot --dry-run")]
    Ssh(CaptureSsh),
}

#[derive(Debug, Args)]
pub struct CaptureBoard {
    /// The board: its power, console, first light and proof
    #[arg(value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Capture to write; .tar or .tar.zst
    #[arg(short, long, value_name = "FILE", default_value = "boot.tar.zst", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub struct CaptureSsh {
    /// Host as for ssh; log in as root, or as a user with passwordless sudo
    #[arg(value_name = "HOST", value_hint = ValueHint::Hostname)]
    pub host: String,
    /// Reboot the host, and capture that boot
    #[arg(long)]
    pub reboot: bool,
    /// Print the plan, but change nothing on the host
    #[arg(long)]
    pub dry_run: bool,
    /// Only remove what an interrupted capture left on the host
    #[arg(long, conflicts_with = "reboot")]
    pub clean: bool,
    /// Capture to write; .tar or .tar.zst
    #[arg(short, long, value_name = "FILE", default_value = "boot.tar.zst", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Wait up to TIME for the host to come back, and again for its boot to finish
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5min")]
    pub wait: Duration,
    /// ssh command with your own options
    #[arg(long, value_name = "CMD", default_value = "ssh", value_hint = ValueHint::CommandString)]
    pub ssh: String,
    /// Agent for the host's processor [default: the one of this program]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub agent: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct CaptureSerial {
    /// Serial port, unix:PATH, tcp:HOST:PORT, rfc2217://HOST:PORT, named pipe, - (standard input),
    /// or a growing file
    #[arg(value_name = "INPUT", required_unless_present = "exec", value_hint = ValueHint::AnyPath)]
    pub input: Option<OsString>,
    /// Start CMD and listen to its output, such as QEMU's `-serial stdio`
    #[arg(long, value_name = "CMD", conflicts_with = "input", value_hint = ValueHint::CommandString)]
    pub exec: Option<String>,
    /// Capture to write; .tar or .tar.zst
    #[arg(short, long, value_name = "FILE", default_value = "boot.tar.zst", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Do not print lines, only the result
    #[arg(short, long)]
    pub quiet: bool,
    /// Wait up to TIME for INPUT to appear: 30, 500ms, 2min
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0", hide_default_value = true)]
    pub wait: Duration,
    #[command(flatten, next_help_heading = "Patterns")]
    pub patterns: Patterns,
    #[command(flatten, next_help_heading = "Power")]
    pub power: Power,
    #[command(flatten, next_help_heading = "Serial line")]
    pub line: Line,
}

/// What is looked for, anywhere in a line, also in one that has no end yet.
#[derive(Debug, Args)]
pub struct Patterns {
    /// Restart the clock at every line that matches REGEX
    #[arg(long, value_name = "REGEX")]
    pub reset_on: Option<String>,
    /// Resets that a good boot has; with more, first light is that of another boot: exit code 2
    #[arg(long, value_name = "N", default_value_t = 1, requires = "reset_on")]
    pub resets: usize,
    /// End the boot at the first match of REGEX: first light
    #[arg(long, value_name = "REGEX")]
    pub end_on: Option<String>,
    /// Listen for at most TIME: 30, 500ms, 2min
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub end_after: Option<Duration>,
    /// Set a mark at every match of REGEX; repeatable
    #[arg(long, value_name = "NAME=REGEX")]
    pub mark: Vec<String>,
}

/// Commands for the shell that switch the board's power.
#[derive(Debug, Args)]
pub struct Power {
    /// Run CMD when ready to listen; the clock starts at its end
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString)]
    pub power_on: Option<String>,
    /// The same, for a CMD that switches power off and on
    #[arg(long, value_name = "CMD", conflicts_with = "power_on", value_hint = ValueHint::CommandString)]
    pub power_cycle: Option<String>,
    /// Run CMD at the end
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString)]
    pub power_off: Option<String>,
}

/// How a serial port is driven.
#[derive(Debug, Args)]
pub struct Line {
    /// Bits per second, any number
    #[arg(short, long, value_name = "N", default_value_t = 115_200, value_parser = clap::value_parser!(u32).range(1..))]
    pub baud: u32,
    /// Data bits
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(5..=8))]
    pub bits: u8,
    /// Parity bit
    #[arg(long, default_value = "none")]
    pub parity: Parity,
    /// Stop bits
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub stop: u8,
    /// Flow control: by RTS and CTS, or by XON and XOFF
    #[arg(long, default_value = "none")]
    pub flow: Flow,
}

/// The parity bit.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Parity {
    /// There is none.
    None,
    /// It makes the number of ones even.
    Even,
    /// It makes the number of ones odd.
    Odd,
    /// It is always one.
    Mark,
    /// It is always zero.
    Space,
}

impl From<Parity> for port::Parity {
    fn from(parity: Parity) -> Self {
        match parity {
            Parity::None => Self::None,
            Parity::Even => Self::Even,
            Parity::Odd => Self::Odd,
            Parity::Mark => Self::Mark,
            Parity::Space => Self::Space,
        }
    }
}

/// Flow control.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Flow {
    /// No flow control.
    None,
    /// The lines RTS and CTS.
    Hard,
    /// The characters XON and XOFF.
    Soft,
}

impl From<Flow> for port::Flow {
    fn from(flow: Flow) -> Self {
        match flow {
            Flow::None => Self::None,
            Flow::Hard => Self::Hard,
            Flow::Soft => Self::Soft,
        }
    }
}

/// A length of time: seconds, or with a unit.
pub fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let factor = match unit {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("expected seconds, or a number with ms, s, min or h".into()),
    };
    let number: f64 = number.parse().map_err(|_| "expected a number")?;
    Duration::try_from_secs_f64(number * factor).map_err(|e| e.to_string())
}
