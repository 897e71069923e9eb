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

/// A stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp<'a> {
    id: u64,
    us: u64,
    name: &'a str,
}

/// ` 10:start of ramstage      1,234,567 (890)`, of `-t`. Names may leave no
/// room before the number.
fn table_row(line: &str) -> Option<Stamp<'_>> {
    let (id, rest) = line.trim_start().split_once(':')?;
    let id = id.parse().ok()?;
    let rest = rest.trim_end();
    let rest = match rest.rsplit_once(" (") {
        Some((before, since)) if since.strip_suffix(')').and_then(grouped).is_some() => before,
        _ => rest,
    };
    let name = rest.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',');
    let us = grouped(rest.strip_prefix(name)?)?;
    let name = name.trim();
    (!name.is_empty()).then_some(Stamp { id, us, name })
}

/// `ID, time, time since the one before, name`, apart by tabs, of `-T`.
fn plain_row(line: &str) -> Option<Stamp<'_>> {
    let mut fields = line.splitn(4, '\t');
    let id = fields.next()?.trim().parse().ok()?;
    let us = fields.next()?.parse().ok()?;
    let _since: u64 = fields.next()?.parse().ok()?;
    let name = fields.next()?.trim();
    (!name.is_empty()).then_some(Stamp { id, us, name })
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
        for line in text::lines(head).take(200) {
            let line = text::lossy(line.bytes);
            if line.trim().is_empty() {
                continue;
            }
            all += 1;
            let title = line.ends_with(" entries total:") || line.starts_with("Total Time: ");
            let stacked = stack_row(&line).is_some();
            stamped |= title || stacked || plain_row(&line).is_some();
            rows += usize::from(title || stacked);
            rows += usize::from(table_row(&line).is_some() || plain_row(&line).is_some());
        }
        match rows * 2 > all {
            true if stamped && rows > 1 => Sniff::Yes,
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

struct List {
    source: SourceId,
    /// Id, microseconds, name, place.
    stamps: Vec<(u64, u64, String, Origin)>,
    entries: Option<usize>,
}

impl List {
    fn line(&mut self, line: &str, offset: u64, recorder: &mut Recorder) {
        let source = self.source;
        let origin = Origin { source, offset };
        if let Some(stamp) = plain_row(line).or_else(|| table_row(line)) {
            let name = stamp.name.to_owned();
            self.stamps.push((stamp.id, stamp.us, name, origin));
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
            let header = total.is_some() || line.is_empty() || line.starts_with("Total Time: ");
            recorder.skipped(origin, if header { &HEADER } else { &OTHER_LINE });
        }
    }

    fn finish(mut self, recorder: &mut Recorder) {
        let Some((_, _, _, first)) = self.stamps.first() else {
            return;
        };
        let first = *first;
        // The list has an entry of its own for the start of the counter.
        let missing = self.entries.map(|n| n.saturating_sub(self.stamps.len()));
        if let Some(missing @ 1..) = missing {
            recorder.note_many(first, &FEWER_ENTRIES, missing as u64, String::new);
        }
        self.stamps.sort_by_key(|s| s.1);
        let clock = self.clock(first, recorder);
        let mut before: Option<(u64, &str)> = None;
        for (id, us, name, origin) in &self.stamps {
            recorder.mark(clock, name, ns(*us), phase(*id), *origin);
            if let Some(before) = before.replace((*us, name)) {
                step(clock, before, (*us, name), *origin, recorder);
            }
        }
    }

    /// The clock of the stamps, and what is at its zero.
    fn clock(&self, origin: Origin, recorder: &mut Recorder) -> ClockId {
        if self.stamps.iter().all(|s| s.1 > 0) {
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
    use super::{plain_row, stack_row, table_row};

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
            ("1:2", None),
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
}
