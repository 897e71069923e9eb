//! The boot time report of TI's processor SDK: what U-Boot's bootstage, the kernel and a
//! microcontroller beside it recorded, as `boot_time_report` prints it.
//!
//! Units of the ledger are lines.

use crate::bootstage::{COUNTER, ns, step};
use crate::source::{Input, Sniff, Source};
use crate::text;
use record::{ClockId, ClockKind, NoteKind, Origin, Phase, Recorder, Severity, SourceId, mark};

/// `boot_time_report` text.
///
/// The summary tells when U-Boot took over from its first stage, when it jumped into the
/// kernel, when the kernel made its first record, and when it made its last one. The rows
/// below are marks; a microcontroller's are of the same counter.
#[derive(Debug)]
pub struct TiReport;

const FRAME: NoteKind = NoteKind::new(
    "frame",
    Severity::Info,
    "Lines, titles and blank lines of the report contain no times.",
);

const OTHER_LINE: NoteKind = NoteKind::new(
    "unrecognized_line",
    Severity::Doubt,
    "These lines are not in the report's format.",
);

const NO_TIME: NoteKind = NoteKind::new(
    "no_time",
    Severity::Doubt,
    "These times are not a boot's: the report computes them from records that were missing.",
);

/// What the report is called, behind the name of the host.
const TITLE: &str = "Boot Time Report";

/// The titles of its two lists.
const RECORDS: &str = "Bootloader and Kernel Boot Records";
const OF_MCU: &str = "MCU Boot Records";

/// How its frame is drawn.
const FRAMES: [&str; 2] = ["----------", "+---------"];

/// Times are in milliseconds.
const STEP_NS: u64 = 1_000_000;

/// No boot takes a day; a difference below zero is printed as 49 days.
const LONGEST_MS: u64 = 86_400_000;

/// A line of the summary, in the order of the boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    PowerOn,
    Spl,
    UBoot,
    Handoff,
    Kernel,
    Total,
}

/// How the lines of the summary begin; case differs between its forms.
const PARTS: [(&str, Part); 6] = [
    ("device power", Part::PowerOn),
    ("spl time", Part::Spl),
    ("u-boot time", Part::UBoot),
    ("kernel handoff time", Part::Handoff),
    ("kernel time", Part::Kernel),
    ("total boot time", Part::Total),
];

/// A line of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row<'a> {
    Frame,
    /// A list begins; whether it is the microcontroller's.
    List(bool),
    Summary(Part, u64),
    /// A record, and when it was made, in milliseconds.
    Record(&'a str, u64),
    Other,
}

fn row(line: &str) -> Row<'_> {
    let text = line.trim();
    if text.is_empty() || text.ends_with(TITLE) || FRAMES.iter().any(|f| text.starts_with(f)) {
        return Row::Frame;
    }
    if text == RECORDS || text == OF_MCU {
        return Row::List(text == OF_MCU);
    }
    if let Some((name, times)) = text.split_once(" = ") {
        return record(name.trim(), times).unwrap_or(Row::Other);
    }
    let Some((name, time)) = text.split_once(':') else {
        return Row::Other;
    };
    let name = name.trim().to_ascii_lowercase();
    let part = PARTS.iter().find(|(head, _)| name.starts_with(head));
    match part.zip(millis(time)) {
        Some(((_, part), ms)) => Row::Summary(*part, ms),
        None => Row::Other,
    }
}

/// `843 ms (+  0 ms)`, behind the name of the record.
fn record<'a>(name: &'a str, times: &str) -> Option<Row<'a>> {
    let (at, since) = times.trim().split_once(" (+")?;
    millis(since.strip_suffix(')')?)?;
    let is_name = !name.is_empty();
    millis(at)
        .filter(|_| is_name)
        .map(|ms| Row::Record(name, ms))
}

/// `843 ms`.
fn millis(text: &str) -> Option<u64> {
    text.trim().strip_suffix("ms")?.trim_end().parse().ok()
}

impl Source for TiReport {
    fn name(&self) -> &'static str {
        "ti-report"
    }

    fn description(&self) -> &'static str {
        "boot time report of TI's processor SDK: `boot_time_report`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let (mut known, mut records, mut other) = (0_usize, 0_usize, 0_usize);
        for line in text::lines(head).take(200) {
            match row(&text::lossy(line.bytes)) {
                Row::Frame => {}
                Row::Summary(..) | Row::List(_) => known += 1,
                Row::Record(..) => records += 1,
                Row::Other => other += 1,
            }
        }
        match (known, records) {
            (2.., 1..) if known + records > other => Sniff::Yes,
            _ => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let mut reader = Reader::new(source, recorder);
        for line in text::lines(input.bytes) {
            let offset = line.offset;
            let origin = Origin { source, offset };
            reader.line(&text::lossy(line.bytes), origin, recorder);
        }
        reader.finish(recorder);
    }
}

struct Reader {
    source: SourceId,
    clock: ClockId,
    /// The lines of the summary.
    summary: Vec<(Part, u64, Origin)>,
    /// Whether the list is the microcontroller's, and its records so far.
    is_mcu: bool,
    records: Vec<(u64, String, Origin)>,
}

impl Reader {
    fn new(source: SourceId, recorder: &mut Recorder) -> Self {
        Self {
            source,
            clock: recorder.clock("counter", ClockKind::Counter, STEP_NS),
            summary: Vec::new(),
            is_mcu: false,
            records: Vec::new(),
        }
    }

    fn line(&mut self, line: &str, origin: Origin, recorder: &mut Recorder) {
        let skipped = match row(line) {
            Row::Frame => Some(&FRAME),
            Row::List(is_mcu) => {
                self.list_ends(recorder);
                self.is_mcu = is_mcu;
                Some(&FRAME)
            }
            Row::Other => Some(&OTHER_LINE),
            Row::Summary(_, ms) | Row::Record(_, ms) if ms > LONGEST_MS => Some(&NO_TIME),
            Row::Summary(part, ms) => {
                self.summary.push((part, ms, origin));
                None
            }
            Row::Record(name, ms) => {
                self.record(name, ms, origin, recorder);
                None
            }
        };
        match skipped {
            Some(kind) => recorder.skipped(origin, kind),
            None => recorder.took(self.source),
        }
    }

    fn record(&mut self, name: &str, ms: u64, origin: Origin, recorder: &mut Recorder) {
        let name = match self.is_mcu && !name.starts_with("MCU") {
            true => format!("MCU: {name}"),
            false => name.to_owned(),
        };
        let us = ms.saturating_mul(1_000);
        recorder.mark(self.clock, &name, ns(us), None, origin);
        self.records.push((us, name, origin));
    }

    /// What lay between the records of a list. They stand in the order in which U-Boot numbers
    /// them, not in that of their times.
    fn list_ends(&mut self, recorder: &mut Recorder) {
        let mut records = std::mem::take(&mut self.records);
        records.sort_by_key(|r| r.0);
        let later = records.iter().skip(1);
        for ((from, before, _), (to, after, origin)) in records.iter().zip(later) {
            if from < to {
                step(self.clock, (*from, before), (*to, after), *origin, recorder);
            }
        }
    }

    /// The parts of the boot, each from the end of the one before it.
    fn finish(mut self, recorder: &mut Recorder) {
        self.list_ends(recorder);
        let of = |part: Part| self.summary.iter().find(|s| s.0 == part);
        let Some((_, spl, first)) = of(Part::Spl) else {
            return;
        };
        let mut mark = |name: &str, ms: u64, phase: Option<Phase>, origin: Origin| {
            let us = ms.saturating_mul(1_000);
            recorder.mark(self.clock, name, ns(us), phase, origin);
        };
        let power = of(Part::PowerOn).map_or(*first, |p| p.2);
        mark(mark::POWER_ON, 0, None, power);
        mark("SPL", 0, Some(Phase::Loader), *first);
        mark("U-Boot", *spl, Some(Phase::Loader), *first);
        let mut at = *spl;
        for (part, name, phase) in [
            (Part::UBoot, mark::KERNEL_ENTRY, Some(Phase::Kernel)),
            (Part::Handoff, "first-kernel-record", None),
        ] {
            let Some((_, ms, origin)) = of(part) else {
                break;
            };
            at = at.saturating_add(*ms);
            mark(name, at, phase, *origin);
        }
        if let Some((_, total, origin)) = of(Part::Total).filter(|t| t.1 >= at && t.1 > 0) {
            mark(mark::FIRST_LIGHT, *total, None, *origin);
        }
        recorder.note(power, &COUNTER, String::new);
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Row, row};

    #[test]
    fn lines_of_both_forms_are_known() {
        for (line, expected) in [
            ("SPL Time\t\t: 843 ms", Row::Summary(Part::Spl, 843)),
            (
                "Device Power Up Time         : 0 ms ",
                Row::Summary(Part::PowerOn, 0),
            ),
            ("U-BOOT Time : 12 ms", Row::Summary(Part::UBoot, 12)),
            (
                "Kernel handoff time\t: 462 ms",
                Row::Summary(Part::Handoff, 462),
            ),
            ("Kernel Time\t\t: 9 ms", Row::Summary(Part::Kernel, 9)),
            (
                "BOOTSTAGE_START_UBOOT_F        =    843 ms (+  0 ms)",
                Row::Record("BOOTSTAGE_START_UBOOT_F", 843),
            ),
            ("                 MCU Boot Records ", Row::List(true)),
            ("          evm Boot Time Report ", Row::Frame),
            ("+--------------------+", Row::Frame),
            ("SPL Time : soon", Row::Other),
            ("NAME = 5 ms", Row::Other),
            ("NAME = 5 ms (+x ms)", Row::Other),
            ("random words: 5 ms", Row::Other),
        ] {
            assert_eq!(row(line), expected, "{line}");
        }
    }
}
