//! What could be better: advice with its evidence and its expected saving.
//!
//! A finding is reported if it may save more than one part in
//! [`PARTS`] of the boot. Some have no number, because nothing in the record
//! gives one: they are reported for what they are.

mod console;
mod kernel;
mod probes;
mod units;

use crate::phases::{Phases, phases};
use crate::place::Place;
use record::{ClockKind, Fact, Nanos, Origin, Record, Span, SpanKind};

/// Below one percent of the boot a finding is not worth reading.
const PARTS: i64 = 100;

/// How many pieces of evidence a finding shows.
const SHOWN: usize = 3;

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What it says.
    pub text: String,
    /// Where it stands.
    pub place: Place,
}

/// A piece of advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which advice: `crypto-self-tests`, ...
    pub id: &'static str,
    /// What it is, in a few words.
    pub title: String,
    /// Why it takes time, in a sentence or two.
    pub why: String,
    /// What in the record says so.
    pub evidence: Vec<Evidence>,
    /// What following it may save, from the least to the most; `None` if
    /// nothing in the record says how much.
    pub saving: Option<(Nanos, Nanos)>,
    /// What following it costs.
    pub cost: String,
    /// The treatment that does it, as the lab takes it; `None` if there is
    /// nothing that the lab could do by itself.
    pub treatment: Option<String>,
}

/// What could be better in a boot, the largest saving first.
#[must_use]
pub fn findings(record: &Record) -> Vec<Finding> {
    findings_for(record, &phases(record))
}

/// [`findings`], with phases that are already known.
#[must_use]
pub fn findings_for(record: &Record, phases: &Phases) -> Vec<Finding> {
    let start = phases.phases.first().map_or(Nanos::ZERO, |p| p.start);
    let view = View {
        record,
        phases,
        total: phases.end() - start.min(Nanos::ZERO),
        cmdline: record
            .facts()
            .iter()
            .find(|f| record.name(f.key) == "kernel.cmdline"),
    };
    let mut found = Vec::new();
    found.extend(kernel::crypto_self_tests(&view));
    found.extend(kernel::certificates(&view));
    found.extend(kernel::instrumentation(&view));
    found.extend(kernel::decompression(&view));
    found.extend(console::messages(&view));
    found.extend(console::initcall_debug(&view));
    found.extend(probes::deferrals(&view));
    found.extend(units::on_the_chain(&view));
    found.retain(|f| {
        f.saving
            .is_none_or(|(_, high)| high.0 > view.total.0 / PARTS)
    });
    found.sort_by_key(|f| {
        // The most first; of equals the surer one; those without a number last.
        let saving = f.saving.map(|(low, high)| (high, low));
        (std::cmp::Reverse(saving), f.id, f.title.clone())
    });
    found
}

/// A record as the rules see it.
struct View<'a> {
    record: &'a Record,
    phases: &'a Phases,
    /// The length of the boot.
    total: Nanos,
    cmdline: Option<&'a Fact>,
}

impl View<'_> {
    fn is_virtual(&self) -> bool {
        self.phases.clock == Some(ClockKind::Virtual)
    }

    /// The kernel command line; empty if it is not known.
    fn cmdline(&self) -> &str {
        self.cmdline.map_or("", |f| self.record.name(f.value))
    }

    /// The words of the kernel command line.
    fn words(&self) -> impl Iterator<Item = &str> {
        self.cmdline().split_whitespace()
    }

    /// Whether the command line sets this flag. Dashes and underscores are the
    /// same to the kernel.
    fn has_flag(&self, flag: &str) -> bool {
        let same = |a: &str| a.replace('-', "_") == flag.replace('-', "_");
        self.words().any(|w| match w.split_once('=') {
            Some((name, value)) => same(name) && !matches!(value, "0" | "n" | "N" | "off"),
            None => same(w),
        })
    }

    fn evidence(&self, text: String, origin: Origin) -> Evidence {
        Evidence {
            text,
            place: Place::of(self.record, origin),
        }
    }

    fn cmdline_evidence(&self, text: &str) -> Option<Evidence> {
        let fact = self.cmdline?;
        Some(self.evidence(format!("command line: {text}"), fact.origin))
    }

    /// The initcalls that `wanted` picks by function name and that ended before
    /// first light, the longest first.
    fn initcalls(&self, wanted: impl Fn(&str) -> bool) -> Vec<(&str, Nanos, &Span)> {
        let end = self.phases.end();
        let initcalls = self.record.spans().iter().filter(|s| {
            s.kind == SpanKind::Initcall && s.start.or(s.end).is_none_or(|at| at <= end)
        });
        let mut picked: Vec<(&str, Nanos, &Span)> = initcalls
            .filter_map(|s| Some((self.record.name(s.name), s.duration()?, s)))
            .filter(|(name, time, _)| *time > Nanos::ZERO && wanted(function(name)))
            .collect();
        picked.sort_by_key(|(_, time, s)| (std::cmp::Reverse(*time), s.origin));
        picked
    }

    /// The evidence for the longest of some initcalls.
    fn initcall_evidence(&self, initcalls: &[(&str, Nanos, &Span)]) -> Vec<Evidence> {
        let shown = initcalls.iter().take(SHOWN);
        shown
            .map(|(name, time, s)| self.evidence(format!("{name} took {time}"), s.origin))
            .collect()
    }
}

/// `fuse_init` of `fuse_init+0x0/0x1b0 [fuse]`.
fn function(name: &str) -> &str {
    let end = name.find(['+', ' ']).unwrap_or(name.len());
    name.get(..end).unwrap_or(name)
}

fn sum<'a>(times: impl Iterator<Item = &'a Nanos>) -> Nanos {
    times.fold(Nanos::ZERO, |a, b| a + *b)
}
