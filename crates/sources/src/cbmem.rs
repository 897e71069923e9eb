//! coreboot's time stamps, as `cbmem -t`, `-T` and `-S` print them.
//!
//! Units of the ledger are lines.

use crate::bootstage::{COUNTER, clock, ns, step};
use crate::source::{Input, Sniff, Source};
use crate::text;
use record::{
    ClockId, ClockKind, NoteKind, Origin, Phase, Recorder, Severity, SourceId, SpanKind, mark,
};

/// `cbmem` text.
///
/// Stages of coreboot begin the firmware's stages, the payload the loader's
/// phase. Between two stamps lies a stage of its own. Stamps are of the
/// processor's counter, unless some were taken before it ran (by another
/// processor of the chip), which moves zero.
#[derive(Debug)]
pub struct Cbmem;

const HEADER: NoteKind = NoteKind::new(
    "header",
    Severity::Info,
    "The entry count, the total and blank lines were skipped.",
);

const OTHER_LINE: NoteKind = NoteKind::new(
    "unrecognized_line",
    Severity::Doubt,
    "These lines are not in cbmem's format.",
);

const FEWER_ENTRIES: NoteKind = NoteKind::new(
    "entries_missing",
    Severity::DataLoss,
    "The list has fewer entries than its first line announces. Run `cbmem -t` again.",
);

const MOVED_ZERO: NoteKind = NoteKind::new(
    "zero_moved",
    Severity::Doubt,
    "Some timestamps predate the CPU's counter, so cbmem counts from the oldest one. These times \
     cannot be aligned with the kernel's.",
);

const ONLY_LENGTHS: NoteKind = NoteKind::new(
    "only_lengths",
    Severity::Info,
    "`cbmem -S` prints durations without timestamps. Use `cbmem -t`.",
);

const ROWS_LEFT_OUT: NoteKind = NoteKind::new(
    "rows_left_out",
    Severity::DataLoss,
    "A row gives another time since the row before it than the list does, so rows were left out \
     between the two. What took the time in between is not known.",
);

/// What stands for rows that were left out.
const LEFT_OUT: &str = "rows left out";

/// What the total line begins with.
const TOTAL: &str = "Total Time: ";

/// Both numbers of a row are rounded.
const ROUNDING: u64 = 2;

/// A stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp<'a> {
    id: u64,
    us: u64,
    /// The time since the row before, where the row has it.
    since: Option<u64>,
    name: &'a str,
}

impl Stamp<'_> {
    /// Whether a row alone shows that it is of such a list: it has both numbers, and names the
    /// begin or end of something.
    fn is_cbmems(&self) -> bool {
        const BEGINS: [&str; 4] = ["start of ", "starting to ", "end of ", "finished "];
        let is_time = self
            .since
            .is_some_and(|since| 0 < since && since <= self.us);
        let is_known = known_name(self.id) == Some(self.name);
        is_time && (is_known || BEGINS.iter().any(|b| self.name.starts_with(b)))
    }
}

/// ` 10:start of ramstage      1,234,567 (890)`, of `-t`. Names may leave no
/// room before the number, and the first versions printed none.
fn table_row(line: &str) -> Option<Stamp<'_>> {
    let (id, rest) = line.trim_start().split_once(':')?;
    let id = id.parse().ok()?;
    let rest = rest.trim_end();
    let since = rest.rsplit_once(" (").and_then(|(before, since)| {
        let since = since.strip_suffix(')').and_then(grouped)?;
        Some((before, since))
    });
    let (rest, since) = match since {
        Some((before, since)) => (before, Some(since)),
        None => (rest, None),
    };
    let name = rest.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',');
    let us = grouped(rest.strip_prefix(name)?)?;
    let name = match name.trim() {
        "" => known_name(id)?,
        name => name,
    };
    let stamp = Stamp {
        id,
        us,
        since,
        name,
    };
    Some(stamp)
}

/// What coreboot calls an entry (`timestamp_serialized.h`): the first versions of `cbmem`
/// printed the number alone.
fn known_name(id: u64) -> Option<&'static str> {
    let name = match id {
        0 => "1st timestamp",
        1 => "start of romstage",
        2 => "before RAM initialization",
        3 => "after RAM initialization",
        4 => "end of romstage",
        5 => "start of verified boot",
        6 => "end of verified boot",
        8 => "starting to load ramstage",
        9 => "finished loading ramstage",
        10 => "start of ramstage",
        11 => "start of bootblock",
        12 => "end of bootblock",
        13 => "starting to load romstage",
        14 => "finished loading romstage",
        30 => "device enumeration",
        40 => "device configuration",
        50 => "device enable",
        60 => "device initialization",
        70 => "device setup done",
        75 => "cbmem post",
        80 => "write tables",
        90 => "starting to load payload",
        98 => "ACPI wake jump",
        99 => "selfboot jump",
        1_000 => "depthcharge start",
        1_001 => "RO parameter init",
        1_002 => "RO vboot init",
        1_003 => "RO vboot select firmware",
        1_004 => "RO vboot select&load kernel",
        1_010 => "RW vboot select&load kernel",
        1_020 => "vboot select&load kernel",
        1_100 => "finished vboot kernel verification",
        1_101 => "jumping to kernel",
        _ => return None,
    };
    Some(name)
}

/// `ID, time, time since the one before, name`, apart by tabs, of `-T`.
fn plain_row(line: &str) -> Option<Stamp<'_>> {
    let mut fields = line.splitn(4, '\t');
    let id = fields.next()?.trim().parse().ok()?;
    let us = fields.next()?.parse().ok()?;
    let _since: u64 = fields.next()?.parse().ok()?;
    let name = fields.next()?.trim();
    (!name.is_empty()).then_some(Stamp {
        id,
        us,
        since: None,
        name,
    })
}

/// `TS_A -> TS_B;TS_C 123`, of `-S`: the stages that enclose it, and a length.
fn stack_row(line: &str) -> Option<(&str, u64)> {
    let (path, us) = line.trim().rsplit_once(' ')?;
    let known = |part: &str| {
        let mut names = part.split(" -> ");
        names.all(|n| n.starts_with("TS_") || n == "UNKNOWN")
    };
    let stage = path.rsplit(';').next()?;
    path.split(';')
        .all(known)
        .then_some((stage, us.parse().ok()?))
}

/// A number with commas.
fn grouped(text: &str) -> Option<u64> {
    let digit = |c: char| c.is_ascii_digit();
    if !text.starts_with(digit) || !text.ends_with(digit) {
        return None;
    }
    let mut value = 0_u64;
    for c in text.chars().filter(|c| *c != ',') {
        let digit = c.to_digit(10)?;
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    Some(value)
}

/// The phase that begins at a stamp of this id (`timestamp_serialized.h`).
fn phase(id: u64) -> Option<Phase> {
    match id {
        // Start of bootblock, verified boot, romstage, postcar, ramstage.
        11 | 5 | 1 | 100 | 10 => Some(Phase::Firmware),
        // Jump into the payload; start of depthcharge.
        99 | 1_000 => Some(Phase::Loader),
        // The payload jumps into the kernel.
        1_101 => Some(Phase::Decompression),
        _ => None,
    }
}

impl Source for Cbmem {
    fn name(&self) -> &'static str {
        "cbmem"
    }

    fn description(&self) -> &'static str {
        "coreboot timestamps: `cbmem -t` or `cbmem -T`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let (mut rows, mut all) = (0_usize, 0_usize);
        let mut stamped = false;
        let mut before: Option<u64> = None;
        let mut is_sure = false;
        for line in text::lines(head).take(200) {
            let line = text::lossy(line.bytes);
            if line.trim().is_empty() {
                continue;
            }
            all += 1;
            let title = line.ends_with(" entries total:") || line.trim().starts_with(TOTAL);
            let stacked = stack_row(&line).is_some();
            stamped |= title || stacked || plain_row(&line).is_some();
            rows += usize::from(title || stacked);
            let row = table_row(&line);
            is_sure |= row
                .as_ref()
                .is_some_and(|row| row.is_cbmems() && line.contains(','));
            rows += usize::from(row.is_some() || plain_row(&line).is_some());
            // Rows that were quoted without their title still count on from each other.
            stamped |= row.is_some_and(|row| {
                let since = before.replace(row.us).and_then(|b| row.us.checked_sub(b));
                let both = since.zip(row.since);
                both.is_some_and(|(gap, since)| since > 0 && gap.abs_diff(since) < ROUNDING)
            });
        }
        match rows * 2 > all {
            true if stamped && rows > 1 => Sniff::Yes,
            // Of a list somebody may quote the one row that took long.
            true if is_sure && all == 1 => Sniff::Yes,
            _ => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let mut list = List {
            source,
            stamps: Vec::new(),
            entries: None,
        };
        for line in text::lines(input.bytes) {
            let words = text::lossy(line.bytes);
            list.line(words.trim_end(), line.offset, recorder);
        }
        list.finish(recorder);
    }
}

/// A stamp that was read.
struct Entry {
    id: u64,
    us: u64,
    since: Option<u64>,
    name: String,
    origin: Origin,
}

struct List {
    source: SourceId,
    stamps: Vec<Entry>,
    entries: Option<usize>,
}

impl List {
    fn line(&mut self, line: &str, offset: u64, recorder: &mut Recorder) {
        let source = self.source;
        let origin = Origin { source, offset };
        if let Some(stamp) = plain_row(line).or_else(|| table_row(line)) {
            let name = stamp.name.to_owned();
            self.stamps.push(Entry {
                id: stamp.id,
                us: stamp.us,
                since: stamp.since,
                name,
                origin,
            });
            recorder.took(source);
        } else if let Some((stage, us)) = stack_row(line) {
            recorder.note(origin, &ONLY_LENGTHS, String::new);
            let clock = clock(recorder);
            let name = recorder.name(stage);
            let span = recorder.span_of(clock, SpanKind::Stage, name, origin);
            recorder.span(span.reported(Some(ns(us))));
            recorder.took(source);
        } else {
            let total = line.strip_suffix(" entries total:");
            self.entries = self.entries.or(total.and_then(|n| n.trim().parse().ok()));
            let header = total.is_some() || line.is_empty() || line.trim().starts_with(TOTAL);
            recorder.skipped(origin, if header { &HEADER } else { &OTHER_LINE });
        }
    }

    fn finish(mut self, recorder: &mut Recorder) {
        let Some(first) = self.stamps.first().map(|s| s.origin) else {
            return;
        };
        // The list has an entry of its own for the start of the counter.
        let missing = self.entries.map(|n| n.saturating_sub(self.stamps.len()));
        if let Some(missing @ 1..) = missing {
            recorder.note_many(first, &FEWER_ENTRIES, missing as u64, String::new);
        }
        self.stamps.sort_by_key(|s| s.us);
        let clock = self.clock(first, recorder);
        let mut before: Option<(u64, &str)> = None;
        for entry in &self.stamps {
            let here = (entry.us, entry.name.as_str());
            recorder.mark(
                clock,
                &entry.name,
                ns(entry.us),
                phase(entry.id),
                entry.origin,
            );
            // A row that says how long ago the one before was tells where rows are missing.
            let left_out = entry.since.and_then(|since| {
                let from = entry.us.checked_sub(since)?;
                let earlier = before.map_or(0, |b| b.0);
                let is_first = before.is_none() && since == 0;
                (!is_first && from > earlier + ROUNDING).then_some((from, LEFT_OUT))
            });
            if let (Some(before), Some(left_out)) = (before, left_out) {
                recorder.note(entry.origin, &ROWS_LEFT_OUT, String::new);
                step(clock, before, left_out, entry.origin, recorder);
            }
            if let Some(before) = left_out.or(before) {
                step(clock, before, here, entry.origin, recorder);
            }
            before = Some(here);
        }
    }

    /// The clock of the stamps, and what is at its zero.
    fn clock(&self, origin: Origin, recorder: &mut Recorder) -> ClockId {
        if self.stamps.iter().all(|s| s.us > 0) {
            let clock = clock(recorder);
            recorder.mark(clock, mark::POWER_ON, 0, Some(Phase::Firmware), origin);
            recorder.note(origin, &COUNTER, String::new);
            clock
        } else {
            recorder.note(origin, &MOVED_ZERO, String::new);
            recorder.clock("cbmem", ClockKind::Counter, 1_000)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cbmem, plain_row, stack_row, table_row};
    use crate::{Input, Recorder, Sniff, Source};

    #[test]
    fn one_row_alone_is_a_list_if_it_names_a_stage() {
        let sniff = |line: &str| Cbmem.sniff(line.as_bytes());
        let row = "  17:finished LZ4 decompress (ignore for x86)   2,345,678 (310,007)\n";
        assert_eq!(sniff(row), Sniff::Yes);
        for other in [
            "3:finished 12 (5)\n",
            "12:30:start of talk 1,000\n",
            "1:a 1,000 (5)\n",
        ] {
            assert_eq!(sniff(other), Sniff::No, "{other}");
        }
    }

    #[test]
    fn rows_of_every_form_are_read() {
        let row = |line: &str| {
            let stamp = table_row(line).or_else(|| plain_row(line));
            stamp.map(|s| (s.id, s.us, s.name.to_owned()))
        };
        let of = |id, us, name: &str| Some((id, us, name.to_owned()));
        for (line, expected) in [
            (
                "   0:1st timestamp                                     26,416",
                of(0, 26_416, "1st timestamp"),
            ),
            (
                "  10:start of ramstage              1,234,567 (890)",
                of(10, 1_234_567, "start of ramstage"),
            ),
            (
                " 508:finished verifying body signature (RSA)123 (1,000)",
                of(508, 123, "finished verifying body signature (RSA)"),
            ),
            (
                "1000:depthcharge start 5",
                of(1_000, 5, "depthcharge start"),
            ),
            (
                "99\t5532057\t410\tselfboot jump",
                of(99, 5_532_057, "selfboot jump"),
            ),
            ("no: row", None),
            (
                "  70:4,221,044 (1,060,677)",
                of(70, 4_221_044, "device setup done"),
            ),
            ("7:2", None),
            ("x:name 3", None),
            ("1:name ,3", None),
        ] {
            assert_eq!(row(line), expected, "{line}");
        }
        assert_eq!(
            stack_row(
                "TS_ROMSTAGE_START -> TS_ROMSTAGE_END;TS_INITRAM_START -> TS_INITRAM_END 123"
            ),
            Some(("TS_INITRAM_START -> TS_INITRAM_END", 123))
        );
        assert_eq!(stack_row("main;foo 123"), None);
    }

    /// Rows as the first versions of `cbmem` printed them: the names are those of coreboot's
    /// `timestamp_serialized.h`. A number that it does not have is no row.
    #[test]
    fn rows_without_names_get_those_of_coreboot() {
        let names = [
            (0, "1st timestamp"),
            (11, "start of bootblock"),
            (12, "end of bootblock"),
            (5, "start of verified boot"),
            (6, "end of verified boot"),
            (13, "starting to load romstage"),
            (14, "finished loading romstage"),
            (1, "start of romstage"),
            (2, "before RAM initialization"),
            (3, "after RAM initialization"),
            (4, "end of romstage"),
            (8, "starting to load ramstage"),
            (9, "finished loading ramstage"),
            (10, "start of ramstage"),
            (30, "device enumeration"),
            (40, "device configuration"),
            (50, "device enable"),
            (60, "device initialization"),
            (70, "device setup done"),
            (75, "cbmem post"),
            (80, "write tables"),
            (90, "starting to load payload"),
            (98, "ACPI wake jump"),
            (99, "selfboot jump"),
            (1_000, "depthcharge start"),
            (1_001, "RO parameter init"),
            (1_002, "RO vboot init"),
            (1_003, "RO vboot select firmware"),
            (1_004, "RO vboot select&load kernel"),
            (1_010, "RW vboot select&load kernel"),
            (1_020, "vboot select&load kernel"),
            (1_100, "finished vboot kernel verification"),
            (1_101, "jumping to kernel"),
        ];
        let mut log = format!("{} entries total:\n\n", names.len());
        for (at, (id, _)) in names.iter().enumerate() {
            log += &format!("{id:4}:{} (1,000)\n", (at + 1) * 1_000);
        }
        log += "   7:50,000 (1,000)\n";
        let mut recorder = Recorder::new();
        let input = Input {
            name: "cbmem",
            bytes: log.as_bytes(),
        };
        Cbmem.read(input, &mut recorder);
        let record = recorder.finish();
        for (_, name) in names {
            assert!(record.mark(name).is_some(), "{name}");
        }
        // Two lines of the title, and the row of a number that is none.
        let read = &record.sources()[0];
        assert_eq!((read.events, read.noted), (names.len() as u64, 3));
    }
}
