//! Everything that one screen, or one page, says about a boot.

use crate::blame::{Blame, BlameKind, blame_with};
use crate::clocks::{ClockRow, KernelClock, clocks, kernel_clock};
use crate::console::{Console, console};
use crate::facts::{FactRow, facts};
use crate::findings::{Finding, findings_for};
use crate::ledger::{Ledger, ledger};
use crate::phases::{Options, Phases, phases_with};
use crate::readings::{Readings, readings};
use crate::summary::{Summary, summary};
use crate::unknown::{Unknown, unknown};
use record::{Nanos, Record};

/// A boot, explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    /// Its parts.
    pub phases: Phases,
    /// Where nothing is known, the longest stretch first.
    pub unknown: Vec<Unknown>,
    /// Up to when it was looked for such stretches: the end of the boot, or less of a log that
    /// does not say when the boot ended.
    pub unknown_until: Nanos,
    /// Counts and sums.
    pub summary: Summary,
    /// What took longest, one for each kind that occurs (phases excepted).
    pub longest: Vec<(BlameKind, Blame)>,
    /// What could be better.
    pub findings: Vec<Finding>,
    /// What the console cost; `None` if there was none, as far as the record knows.
    pub console: Option<Console>,
    /// What was lost, doubtful or ignored.
    pub ledger: Ledger,
    /// The clocks that its sources read.
    pub clocks: Vec<ClockRow>,
    /// The time before the kernel's clock; `None` if no input tells it.
    pub kernel_clock: Option<KernelClock>,
    /// Periodic readings.
    pub readings: Vec<Readings>,
    /// What holds for the whole boot.
    pub facts: Vec<FactRow>,
    /// The kernel command line, if a source holds it.
    pub cmdline: Option<String>,
    /// The kernel's version, if a source holds it.
    pub kernel: Option<String>,
    /// The machine, if a source holds it.
    pub machine: Option<String>,
}

/// Explains a boot; `top` limits the rows of each kind, 0 gives all.
#[must_use]
pub fn boot(record: &Record, options: &Options, top: usize) -> Boot {
    let phases = phases_with(record, options);
    let summary = summary(record);
    let longest = summary.kinds.iter().map(|k| {
        let rows = blame_with(record, &phases, Some(k.kind), top);
        (k.kind, rows)
    });
    let fact = |key| record.fact(key).map(str::to_owned);
    Boot {
        longest: longest.collect(),
        findings: findings_for(record, &phases),
        console: console(record, &phases, top),
        ledger: ledger(record),
        clocks: clocks(record),
        kernel_clock: kernel_clock(record, &phases),
        readings: readings(record),
        facts: facts(record),
        cmdline: fact("kernel.cmdline"),
        kernel: fact("kernel.version"),
        machine: fact("machine"),
        unknown: unknown(record, &phases),
        unknown_until: phases.booted(record),
        phases,
        summary,
    }
}
