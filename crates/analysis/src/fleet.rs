//! One boot as a row of a table of many boots, and its items as rows of another.

use crate::boot_kind::{BootKind, boot_kind};
use crate::boots::TimeKind;
use crate::history::EntryTimes;
use crate::ledger::ledger;
use crate::phases::{Options, Phases, phases_with};
use crate::row::BlameKind;
use crate::spans;
use crate::stable_name::canonical;
use record::{ClockKind, Nanos, Phase, Record, Severity};
use std::collections::BTreeMap;

/// The most items that one boot brings into a table; the longest are kept. A traced
/// desktop has some thousands.
pub const MOST_ITEMS: usize = 20_000;

/// No boot takes a day. Longer times come from a clock that jumped, or from a log that
/// does not begin with the boot.
pub const LONGEST_BOOT: Nanos = Nanos(86_400_000_000_000);

/// What a row says of the boot as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStatus {
    /// The time of first light is known.
    Ok,
    /// Nothing says when the boot ended.
    NoFirstLight,
    /// A time in it cannot be true.
    Implausible,
    /// The input could not be read as a boot.
    Bad,
}

impl RowStatus {
    /// The word used in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NoFirstLight => "no-first-light",
            Self::Implausible => "implausible",
            Self::Bad => "bad",
        }
    }
}

/// What is known of a boot besides its record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetSource {
    /// A hash of the content of its files, in hexadecimal.
    pub boot_id: String,
    /// Where it was read: a path, or a path and a member.
    pub source: String,
    /// The size of what was read, bytes.
    pub bytes: u64,
    /// When its newest file was written, nanoseconds since 1970.
    pub written: Option<i64>,
}

/// A boot in one row. Times are on the boot's clock, from its zero mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetRow {
    /// Whether its numbers can be used.
    pub status: RowStatus,
    /// Why they cannot, or not all of them.
    pub reason: Option<String>,
    /// The time of day at zero, in nanoseconds since 1970, as the kernel read it from the
    /// clock of the machine; `None` if no input says it.
    pub at: Option<i64>,
    /// What the input says of the machine.
    pub machine: Option<String>,
    /// The kernel's version.
    pub kernel: Option<String>,
    /// What the clock counts; `None` if nothing carries a time.
    pub clock: Option<&'static str>,
    /// The mark at time zero.
    pub zero: String,
    /// What kind of boot it was, as far as its messages say.
    pub boot_kind: BootKind,
    /// When the boot ended.
    pub first_light: Option<Nanos>,
    /// The length of each phase.
    pub phases: Vec<(Phase, Nanos)>,
    /// Notes of lost and doubtful data by kind, each with its count.
    pub doubts: BTreeMap<String, u64>,
    /// What took time, in the order of start.
    pub items: Vec<FleetItem>,
}

/// Something that took time in a boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetItem {
    /// What kind of thing.
    pub kind: BlameKind,
    /// Its name without what changes from boot to boot.
    pub name: String,
    /// Its name in this boot.
    pub raw_name: String,
    /// When it began.
    pub start: Option<Nanos>,
    /// Its duration.
    pub duration: Nanos,
}

impl FleetRow {
    /// The row of an input that could not be read.
    #[must_use]
    pub fn bad(reason: String) -> Self {
        Self {
            status: RowStatus::Bad,
            reason: Some(reason),
            at: None,
            machine: None,
            kernel: None,
            clock: None,
            zero: String::new(),
            boot_kind: BootKind::Unknown,
            first_light: None,
            phases: Vec::new(),
            doubts: BTreeMap::new(),
            items: Vec::new(),
        }
    }
}

/// The row of a boot, with its items.
#[must_use]
pub fn fleet_row(record: &Record, options: &Options) -> FleetRow {
    let phases = phases_with(record, options);
    let mut row = FleetRow {
        status: RowStatus::Ok,
        reason: None,
        at: time_of_day(record),
        machine: record.fact("machine").map(str::to_owned),
        kernel: record.fact("kernel.version").map(str::to_owned),
        clock: phases.clock.map(ClockKind::as_str),
        zero: phases.zero.clone(),
        boot_kind: boot_kind(record),
        first_light: phases.first_light.as_ref().map(|f| f.at),
        phases: lengths(&phases),
        doubts: doubts(record),
        items: Vec::new(),
    };
    row.add_items(record);
    row.judge();
    row
}

/// A boot of which only times are kept, as in a history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetTimes {
    /// When it was, in nanoseconds since 1970.
    pub at: Option<i64>,
    /// The machine.
    pub machine: Option<String>,
    /// The kernel's version.
    pub kernel: Option<String>,
    /// What the clock counts.
    pub clock: Option<ClockKind>,
    /// The mark at time zero.
    pub zero: String,
    /// Its times.
    pub times: EntryTimes,
}

fn lengths(phases: &Phases) -> Vec<(Phase, Nanos)> {
    let length = |p: &crate::PhaseRow| (p.name, p.end - p.start);
    phases.phases.iter().map(length).collect()
}

fn doubts(record: &Record) -> BTreeMap<String, u64> {
    let notes = ledger(record).by_kind().notes;
    let serious = notes.into_iter().filter(|n| n.severity >= Severity::Doubt);
    serious.map(|n| (n.kind, n.count)).collect()
}

impl FleetRow {
    /// The row of a boot of which only times are kept: its items have no start.
    #[must_use]
    pub fn of_times(boot: &FleetTimes) -> Self {
        let mut row = Self {
            status: RowStatus::Ok,
            reason: None,
            at: boot.at,
            machine: boot.machine.clone(),
            kernel: boot.kernel.clone(),
            clock: boot.clock.map(ClockKind::as_str),
            zero: boot.zero.clone(),
            ..Self::bad(String::new())
        };
        for (kind, name, time) in &boot.times {
            match kind {
                TimeKind::FirstLight => row.first_light = Some(*time),
                TimeKind::Phase(phase) => row.phases.push((*phase, *time)),
                TimeKind::Item(kind) if *time >= Nanos::ZERO => row.items.push(FleetItem {
                    kind: *kind,
                    name: name.clone(),
                    raw_name: name.clone(),
                    start: None,
                    duration: *time,
                }),
                _ => {}
            }
        }
        row.cut_and_order();
        row.judge();
        row
    }

    fn add_items(&mut self, record: &Record) {
        let plausible = |d: Nanos| d >= Nanos::ZERO && d <= LONGEST_BOOT;
        let mut nonsense = 0;
        for span in spans::distinct(record).iter() {
            let Some(duration) = span.duration() else {
                continue;
            };
            if !plausible(duration) {
                nonsense += 1;
                continue;
            }
            let raw = record.name(span.name);
            self.items.push(FleetItem {
                kind: span.kind.into(),
                name: canonical(raw),
                raw_name: raw.to_owned(),
                start: span.start,
                duration,
            });
        }
        if nonsense > 0 {
            self.doubts.insert("implausible_items".to_owned(), nonsense);
        }
        self.cut_and_order();
    }

    /// Keeps the longest items, in the order of their start.
    fn cut_and_order(&mut self) {
        if let Some(cut) = self.items.len().checked_sub(MOST_ITEMS).filter(|n| *n > 0) {
            self.items.sort_by_key(|i| std::cmp::Reverse(i.duration));
            self.items.truncate(MOST_ITEMS);
            self.doubts.insert("items_cut".to_owned(), cut as u64);
        }
        self.items
            .sort_by(|a, b| (a.start, a.kind, &a.name).cmp(&(b.start, b.kind, &b.name)));
    }

    /// Sets the status by what is there.
    fn judge(&mut self) {
        let phases = self.phases.iter().map(|p| (p.0.as_str(), p.1));
        let mut times = self
            .first_light
            .map(|t| ("first light", t))
            .into_iter()
            .chain(phases);
        let beyond = times.find(|(_, t)| *t < Nanos::ZERO || *t > LONGEST_BOOT);
        if self.clock.is_none() {
            self.status = RowStatus::Bad;
            self.reason = Some("nothing in the input has a time".to_owned());
        } else if let Some((what, time)) = beyond {
            let seconds = time.get() / 1_000_000_000;
            self.status = RowStatus::Implausible;
            self.reason = Some(format!(
                "{what} takes {seconds} s, more than the {} s that a boot may take: the clock \
                 jumped, or the log does not begin with the boot",
                LONGEST_BOOT.get() / 1_000_000_000
            ));
        } else if self.first_light.is_none() {
            self.status = RowStatus::NoFirstLight;
            self.reason = Some("no input says when the boot ended".to_owned());
        }
    }
}

/// The time of day at zero: the kernel's message of its real-time clock driver names the
/// seconds since 1970 in brackets, "setting system clock to 2026-01-02T03:04:05 UTC
/// (1767323045)", since Linux 2.6 (drivers/rtc/class.c, before it drivers/rtc/hctosys.c).
fn time_of_day(record: &Record) -> Option<i64> {
    record.messages().iter().find_map(|message| {
        let text = record.text(message);
        let (_, said) = text.split_once("setting system clock to ")?;
        let (_, seconds) = said.rsplit_once('(')?;
        let seconds: i64 = seconds.strip_suffix(')')?.parse().ok()?;
        let at = seconds.checked_mul(1_000_000_000)?;
        at.checked_sub(message.at?.get())
    })
}

#[cfg(test)]
mod tests {
    use super::{RowStatus, fleet_row};
    use crate::phases::Options;
    use record::{ClockKind, Origin, Phase, Recorder, SpanKind};

    fn recorded(ends: i64, message: &str) -> record::Record {
        let mut recorder = Recorder::new();
        let source = recorder.source("dmesg.txt", "kernel-log");
        let clock = recorder.clock("printk", ClockKind::Printk, 1_000);
        let origin = Origin { source, offset: 0 };
        recorder.mark(clock, "kernel-start", 0, Some(Phase::Kernel), origin);
        recorder.mark(clock, "first-light", ends, None, origin);
        let name = recorder.name("session-7.scope");
        let unit = recorder.span_of(clock, SpanKind::Unit, name, origin);
        recorder.span(unit.start(Some(1_000)).end(Some(5_000)));
        recorder.message(clock, Some(2_000_000_000), None, message, origin);
        recorder.finish()
    }

    #[test]
    fn a_row_has_the_time_of_day_and_canonical_names() {
        let text = "rtc_cmos 00:01: setting system clock to 2026-01-02T03:04:05 UTC (1767323045)";
        let row = fleet_row(&recorded(3_000_000_000, text), &Options::default());
        assert_eq!(row.status, RowStatus::Ok);
        assert_eq!(row.at, Some(1_767_323_043_000_000_000));
        assert_eq!(row.items.len(), 1);
        assert_eq!(row.items[0].name, "session-*.scope");
        assert_eq!(row.items[0].raw_name, "session-7.scope");
        assert_eq!(row.first_light.map(record::Nanos::get), Some(3_000_000_000));
    }

    #[test]
    fn a_boot_of_ten_days_is_implausible() {
        let row = fleet_row(&recorded(864_000_000_000_000, ""), &Options::default());
        assert_eq!(row.status, RowStatus::Implausible);
        let reason = row.reason.unwrap_or_default();
        assert!(reason.contains("first light takes 864000 s"), "{reason}");
    }
}
