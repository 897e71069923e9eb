//! One start of the program.

use agent::access::AccessList;
use agent::prefetch::{Settings, play};
use agent::sys::{Usage, children_usage};
use anyhow::{Context, Result};
use record::Nanos;
use std::fs;
use std::process::{Command, ExitStatus};
use std::time::Instant;

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
    pub time: Nanos,
    pub status: ExitStatus,
    pub usage: Usage,
    pub storage_wait_ns: Option<u64>,
}

/// Starts the program once, with a prefetcher beside it if there is a list.
pub fn once(
    mut command: Command,
    list: Option<&AccessList>,
    settings: &Settings,
) -> Result<Measured> {
    let (before, waited) = (children_usage(), storage_wait_ns());
    let program = command.get_program().to_string_lossy().into_owned();
    std::thread::scope(|scope| {
        let begun = Instant::now();
        // Its own thread: the idle I/O priority is not for the program.
        let ahead = list.map(|list| scope.spawn(|| play(list, settings)));
        let child = command.spawn();
        let mut child = child.with_context(|| format!("{program}: cannot be started"))?;
        let status = child.wait().context("the program cannot be waited for")?;
        let time = begun.elapsed();
        if let Some(ahead) = ahead
            && let Ok(played) = ahead.join()
        {
            played.context("the list cannot be played")?;
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
