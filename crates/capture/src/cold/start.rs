//! One start of the program.

use agent::access::AccessList;
use agent::prefetch::{Settings, play};
use agent::sys::{Usage, children_usage};
use record::Nanos;
use std::process::{Command, ExitStatus};
use std::time::Instant;
use std::{fs, io};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    /// Nothing is in memory.
    Cold,
    /// All is, from the start before.
    Warm,
    /// Nothing is, and a prefetcher starts with the program.
    Prefetch,
    /// Nothing is, and its files lie one behind the other.
    Order,
    /// Both.
    OrderPrefetch,
}

impl Case {
    /// The word of every output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::Prefetch => "prefetch",
            Self::Order => "order",
            Self::OrderPrefetch => "order_prefetch",
        }
    }

    /// Whether a prefetcher starts with the program.
    pub const fn reads_ahead(self) -> bool {
        matches!(self, Self::Prefetch | Self::OrderPrefetch)
    }
}

/// What one start took.
#[derive(Debug)]
pub struct Measured {
    /// From before it was started to after its end.
    pub time: Nanos,
    /// How it ended.
    pub status: ExitStatus,
    /// What it used.
    pub usage: Usage,
    /// How long some task of the machine waited for storage meanwhile; `None`
    /// where the kernel does not count it.
    pub storage_wait_ns: Option<u64>,
}

/// Why a start could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program cannot be started.
    #[error("{program}: cannot start: {why}")]
    Start {
        /// The program.
        program: String,
        /// What the system says.
        why: io::Error,
    },
    /// The program cannot be waited for.
    #[error("waiting for the program failed: {why}")]
    Wait {
        /// What the system says.
        why: io::Error,
    },
    /// The list cannot be played.
    #[error("cannot apply the list: {why}")]
    Play {
        /// What the system says.
        why: io::Error,
    },
}

impl StartError {
    /// For `map_err`: this command cannot be started.
    pub(super) fn of(command: &Command) -> impl FnOnce(io::Error) -> Self + use<> {
        let program = command.get_program().to_string_lossy().into_owned();
        move |why| Self::Start { program, why }
    }

    pub(super) fn wait(why: io::Error) -> Self {
        Self::Wait { why }
    }
}

/// Starts the program once, with a prefetcher beside it if there is a list.
///
/// # Errors
/// If it cannot be started, or the list cannot be played.
pub fn once(
    mut command: Command,
    list: Option<&AccessList>,
    settings: &Settings,
) -> Result<Measured, StartError> {
    let (before, waited) = (children_usage(), storage_wait_ns());
    let cannot_start = StartError::of(&command);
    std::thread::scope(|scope| {
        let begun = Instant::now();
        // Its own thread: the idle I/O priority is not for the program.
        let ahead = list.map(|list| scope.spawn(|| play(list, settings)));
        let child = command.spawn();
        let mut child = child.map_err(cannot_start)?;
        let status = child.wait().map_err(StartError::wait)?;
        let time = begun.elapsed();
        if let Some(ahead) = ahead
            && let Ok(played) = ahead.join()
        {
            played.map_err(|why| StartError::Play { why })?;
        }
        let after = children_usage();
        Ok(Measured {
            time: Nanos(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)),
            status,
            usage: Usage {
                processor_ns: after.processor_ns - before.processor_ns,
                major_faults: after.major_faults - before.major_faults,
                read_bytes: after.read_bytes - before.read_bytes,
            },
            storage_wait_ns: storage_wait_ns().zip(waited).map(|(a, b)| a - b.min(a)),
        })
    })
}

/// How long some task waited for storage since the machine started: the first
/// total of `/proc/pressure/io` (`Documentation/accounting/psi.rst`), which
/// counts in microseconds.
fn storage_wait_ns() -> Option<u64> {
    let text = fs::read_to_string("/proc/pressure/io").ok()?;
    let some = text.lines().find(|l| l.starts_with("some "))?;
    let total = some.split(' ').find_map(|w| w.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1000)
}
