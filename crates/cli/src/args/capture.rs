//! The arguments of `capture`.

use clap::{Args, Subcommand, ValueHint};
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
        /// The capture to write; .tar or .tar.zst
        #[arg(short, long, value_name = "FILE", default_value = "boot.tar.zst", value_hint = ValueHint::FilePath)]
        out: PathBuf,
    },
    /// Listen to a console, and stamp both ends of every line
    #[command(after_help = "Examples:\n  \
            $ firstlight capture serial /dev/ttyUSB0 --power-cycle 'uhubctl -a cycle' --end-on 'login: $'\n  \
            $ firstlight capture serial --exec 'qemu-system-arm ... -serial stdio' --end-on 'login: $' --end-after 60\n\n\
            Exit code 2: the end pattern was not seen.")]
    Serial(Box<CaptureSerial>),
    /// Capture another machine's boot by ssh; nothing is left there
    #[command(after_help = "Examples:\n  \
            $ firstlight capture ssh root@board -o last-boot.tar.zst\n  \
            $ firstlight capture ssh board --reboot --dry-run")]
    Ssh(CaptureSsh),
}

#[derive(Debug, Args)]
pub struct CaptureSsh {
    /// The host, as ssh takes it: root, or a user with sudo without a password
    #[arg(value_name = "HOST", value_hint = ValueHint::Hostname)]
    pub host: String,
    /// Restart the host, and capture that boot
    #[arg(long)]
    pub reboot: bool,
    /// Only print what would be done on the host
    #[arg(long)]
    pub dry_run: bool,
    /// Remove what a capture left that did not end, and do nothing else
    #[arg(long, conflicts_with = "reboot")]
    pub clean: bool,
    /// The capture to write; .tar or .tar.zst
    #[arg(short, long, value_name = "FILE", default_value = "boot.tar.zst", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// How long the host may take to come back, and then to finish its boot
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5min")]
    pub wait: Duration,
    /// The ssh program with options of your own
    #[arg(long, value_name = "CMD", default_value = "ssh", value_hint = ValueHint::CommandString)]
    pub ssh: String,
    /// The agent for the host's processor [default: the one that came with this program]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub agent: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct CaptureSerial {
    /// A serial port, unix:PATH, tcp:HOST:PORT, a named pipe, - (standard input), or a file that grows
    #[arg(value_name = "INPUT", required_unless_present = "exec", value_hint = ValueHint::AnyPath)]
    pub input: Option<OsString>,
    /// Start CMD and listen to what it prints, such as QEMU's `-serial stdio`
    #[arg(long, value_name = "CMD", conflicts_with = "input", value_hint = ValueHint::CommandString)]
    pub exec: Option<String>,
    /// The capture to write; .tar or .tar.zst
    #[arg(short, long, value_name = "FILE", default_value = "boot.tar.zst", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Print no lines, only what was captured
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
    /// Times count from where REGEX fits; where it fits again, they begin anew
    #[arg(long, value_name = "REGEX")]
    pub reset_on: Option<String>,
    /// The boot ends where REGEX fits: first light
    #[arg(long, value_name = "REGEX")]
    pub end_on: Option<String>,
    /// Listen for TIME at most: 30, 500ms, 2min
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub end_after: Option<Duration>,
    /// Mark each place where REGEX fits; may be given more than once
    #[arg(long, value_name = "NAME=REGEX")]
    pub mark: Vec<String>,
}

/// Commands for the shell that switch the board's power.
#[derive(Debug, Args)]
pub struct Power {
    /// Run CMD when all is ready to listen; times count from its end
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString)]
    pub power_on: Option<String>,
    /// The same, for a CMD that switches off and on
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
    pub parity: crate::serial::port::Parity,
    /// Stop bits
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub stop: u8,
    /// Flow control: by RTS and CTS, or by XON and XOFF
    #[arg(long, default_value = "none")]
    pub flow: crate::serial::port::Flow,
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
