//! What was measured, compared.

use agent::access::AccessList;
use analysis::{Start, start_case, start_difference};
use capture::cold::evict::Eviction;
use capture::cold::start::{Case, Measured};
use inspect::reads::Mount;
use std::collections::BTreeMap;
use views::json::{self, Document as _};

/// Starts of a program that were measured.
#[derive(Debug)]
pub(super) struct Starts<'a> {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How many starts of each case were asked for.
    pub runs: u32,
    /// How its files were taken out of memory.
    pub eviction: &'a Eviction,
    /// The starts of each case, in their order.
    pub measured: &'a BTreeMap<Case, Vec<Measured>>,
    /// What the program reads, if it is known.
    pub list: Option<&'a AccessList>,
    /// The files that were put elsewhere for some of the starts.
    pub moved: Vec<json::ColdMoved>,
    /// What the user should know of the measurement.
    pub notes: Vec<String>,
}

impl Starts<'_> {
    /// The report; `None`: there are no cold and warm starts to compare.
    #[must_use]
    pub fn report(self) -> Option<json::Cold> {
        let starts = |case: Case| -> Option<Vec<Start>> {
            let all = self.measured.get(&case)?.iter();
            let all = all.map(|m| Start {
                time: m.time,
                processor_ns: m.usage.processor_ns,
                read_bytes: m.usage.read_bytes,
                major_faults: m.usage.major_faults,
                storage_wait_ns: m.storage_wait_ns,
            });
            Some(all.collect())
        };
        let cases = self.measured.keys().map(|case| {
            let figures = start_case(case.as_str(), &starts(*case)?)?;
            Some(json::ColdCase::of(&figures))
        });
        let cases: Option<Vec<_>> = cases.collect();
        let minus = |a: Case, b: Case| {
            let difference = start_difference(&starts(a)?, &starts(b)?)?;
            Some(json::ColdBounds::of(difference))
        };
        Some(json::Cold {
            schema: json::Cold::SCHEMA.to_owned(),
            host: None,
            command: self.command,
            runs: self.runs,
            eviction: self.eviction.as_str().to_owned(),
            cases: cases?,
            cold_costs: minus(Case::Cold, Case::Warm)?,
            prefetch_saves: minus(Case::Cold, Case::Prefetch),
            order_saves: minus(Case::Cold, Case::Order),
            order_prefetch_saves: minus(Case::Cold, Case::OrderPrefetch),
            moved: self.moved,
            reads: self.list.map(reads),
            notes: self.notes,
        })
    }
}

/// A list in figures.
fn reads(list: &AccessList) -> json::ColdReads {
    let mounts = capture::accesses::mounts::mounts().unwrap_or_default();
    let mounts = mounts.into_iter().map(|m| Mount {
        place: m.place,
        kind: m.kind,
        device: m.source,
    });
    json::ColdReads::of(&inspect::reads::reads(list, &mounts.collect::<Vec<_>>()))
}
