//! What a kernel's log says was written to a console.

use super::cmdline::{LEVEL_DEFAULT, LEVEL_QUIET, level};
use record::{Message, Nanos, Origin, Record, Span, SpanKind};

/// What the kernel adds to each text on the console: `[    1.234567] ` and the
/// carriage return and line feed.
pub(crate) const PER_LINE: i64 = 17;

/// What ends a line on the console of a kernel that stamps nothing: a carriage return and a
/// line feed.
const LINE_END: i64 = 2;

/// What the lines of a source had beside their texts when they were written to the console.
/// Messages without any time came from a kernel that does not stamp them.
pub(crate) fn per_line(record: &Record, source: &[Message]) -> i64 {
    let info = source.first().and_then(|m| record.source(m.origin.source));
    let stamped = match info {
        Some(info) if info.format == "serial" => {
            record.arrivals().iter().any(|a| a.stamped.is_some())
        }
        _ => source.iter().any(|m| m.at.is_some()),
    };
    if stamped { PER_LINE } else { LINE_END }
}

/// Lines on a console.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// How many lines.
    pub lines: u64,
    /// How many bytes, stamps and line ends included.
    pub bytes: i64,
    /// How long the line needs for them; `None` if its rate is not known or not
    /// kept, and in virtual time, where the line has none.
    pub time: Option<Nanos>,
}

/// What a kernel log says was written to the console until `end`.
pub(super) fn logged(record: &Record, cmdline: &str, end: Nanos) -> Written {
    let level = level(cmdline);
    let mut best = Written::default();
    // Of all logs the one that saw most.
    for source in by_source(record) {
        let written = written(record, source, level, |m| m.at.is_none_or(|at| at <= end));
        if written.bytes > best.bytes {
            best = written;
        }
    }
    if level > LEVEL_DEFAULT {
        let (lines, bytes) = of_calls(record, end);
        best.lines += lines;
        best.bytes = best.bytes.saturating_add(bytes);
    }
    best
}

/// The lines and bytes that `initcall_debug` writes until `end`. They are no
/// messages: `calling  F+0x0/0x58 @ 1`, `initcall F+0x0/0x58 returned 0 after 12
/// usecs`, and `probe of D returned 0 after 12 usecs`.
pub(crate) fn of_calls(record: &Record, end: Nanos) -> (u64, i64) {
    let (mut lines, mut bytes) = (0_u64, 0_i64);
    let before = |s: &&Span| s.start.or(s.end).is_none_or(|at| at <= end);
    for span in record.spans().iter().filter(before) {
        let name = i64::try_from(record.name(span.name).len()).unwrap_or(0);
        let (of_span, length) = match span.kind {
            SpanKind::Initcall => (2, 2 * (name + PER_LINE) + 66),
            SpanKind::Probe => (1, name + PER_LINE + 36),
            _ => continue,
        };
        lines += of_span;
        bytes = bytes.saturating_add(length);
    }
    (lines, bytes)
}

/// Messages are sorted by evidence, so those of a source stand together.
pub(super) fn by_source(record: &Record) -> impl Iterator<Item = &[Message]> {
    let of_source = |a: &Message, b: &Message| a.origin.source == b.origin.source;
    record.messages().chunk_by(of_source).filter(|source| {
        let info = source.first().and_then(|m| record.source(m.origin.source));
        info.is_some_and(|i| i.format == "kernel-log")
    })
}

/// Which lines of a source are the kernel's. Where others have stamps, one with
/// neither stamp nor level is a loader's or a program's; where none has, it is
/// those from the kernel's first words until it frees its memory.
pub(crate) fn kernels<'a>(
    record: &'a Record,
    source: &'a [Message],
) -> impl Fn(&Message) -> bool + 'a {
    let stamped = source.iter().any(|m| m.at.is_some());
    let of_source = |o: &Origin| source.first().is_some_and(|m| m.origin.source == o.source);
    let mut facts = record.facts().iter();
    let version = facts.find(|f| record.name(f.key) == "kernel.version");
    let first = version.map(|f| f.origin).filter(of_source);
    let frees = |m: &&Message| {
        let text = record.text(m);
        text.starts_with("Freeing unused kernel") || text.starts_with("Freeing init memory")
    };
    // Where there are stamps, nothing is looked for in the texts.
    let last = (!stamped).then(|| source.iter().find(frees)).flatten();
    let last = last.map(|m| m.origin);
    move |m| match stamped {
        true => m.at.is_some() || m.level.is_some(),
        false => first.is_none_or(|first| first <= m.origin) && last.is_none_or(|l| m.origin <= l),
    }
}

/// What of some messages a console of this log level shows. A log without
/// levels is taken to hold what `quiet` would keep off.
pub(super) fn written(
    record: &Record,
    messages: &[Message],
    level: u8,
    wanted: impl Fn(&Message) -> bool,
) -> Written {
    let mut sum = Written::default();
    let kernels = kernels(record, messages);
    let per_line = per_line(record, messages);
    for message in messages.iter().filter(|m| kernels(m) && wanted(m)) {
        let length = i64::try_from(record.text(message).len()).unwrap_or(i64::MAX);
        if message.level.unwrap_or(LEVEL_QUIET) < level {
            sum.lines += 1;
            sum.bytes = sum.bytes.saturating_add(length.saturating_add(per_line));
        }
    }
    sum
}
