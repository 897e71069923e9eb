//! What the console cost: what was written to it, how long its line needs for
//! that, the flush when it was enabled, and how late each line came out.

use crate::phases::Phases;
use crate::place::Place;
use record::{
    Arrival, Clock, ClockKind, Message, Nanos, Origin, Phase, Record, Span, SpanKind, mark,
};
use std::collections::HashMap;

/// A byte on a serial line: a start bit, eight data bits, a stop bit.
const BITS_PER_BYTE: i64 = 10;

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

/// Console log levels without and with `quiet`: messages of a smaller number
/// are written.
pub(crate) const LEVEL_DEFAULT: u8 = 7;
pub(crate) const LEVEL_QUIET: u8 = 4;

/// Rates that consoles have.
pub(crate) const RATES: [i64; 16] = [
    1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600,
    1_000_000, 1_500_000, 2_000_000, 3_000_000, 4_000_000,
];

/// Lines that come later than this wait for the line: it is busy.
const WAITS: Nanos = Nanos(50_000_000);

/// A host that listens is seldom kept from it for longer.
const HOST_STALLS: Nanos = Nanos(300_000_000);

/// A stretch of a busy line of fewer bytes tells no rate.
const FEWEST_BYTES: i64 = 1_000;

/// A flush that takes less is no wait.
const SEEN_FLUSH: Nanos = Nanos(50_000_000);

/// How far a flush is looked back from for the line that names the port.
const LOOK_BACK: usize = 64;

/// A console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Console {
    /// Its device, if a source names it: `ttyS0`.
    pub name: Option<String>,
    /// The rate of its line, if it is known.
    pub rate: Option<Rate>,
    /// What the kernel wrote to it until first light.
    pub kernel: Written,
    /// What others wrote until then, if a host listened.
    pub others: Option<Written>,
    /// The flush of what had been logged before, when it was enabled.
    pub flush: Option<Flush>,
    /// How late its lines came, if a host listened and the kernel stamped them.
    pub delay: Option<Delay>,
}

/// The rate of a serial line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Bits in a second.
    pub baud: i64,
    /// Bits that a byte takes.
    pub bits_per_byte: i64,
    /// Who says so.
    pub from: RateSource,
    /// Whether bytes came no faster than that. If not, the line is an
    /// emulator's and takes no time, or has another rate.
    pub kept: bool,
}

/// Who says what the rate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateSource {
    /// The host that listened set its port so.
    Capture,
    /// The kernel's command line.
    CommandLine,
    /// How fast bytes came while lines waited.
    Arrivals,
    /// How long the flush took when the console was enabled.
    Flush,
}

impl RateSource {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::CommandLine => "command_line",
            Self::Arrivals => "arrivals",
            Self::Flush => "flush",
        }
    }
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

/// What happened when the console was enabled: the kernel wrote all that it had
/// logged, and nothing else went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flush {
    /// The last stamp before it.
    pub start: Nanos,
    /// The stamp of `console [ttyS0] enabled`, or of the line behind it.
    pub end: Nanos,
    /// Whether the kernel's clock ran at the start; if not, the length says
    /// nothing.
    pub measured: bool,
    /// What was written.
    pub written: Written,
    /// The evidence.
    pub place: Place,
}

/// How late lines came: their first character's arrival after their stamp.
///
/// The two clocks are related by the line that came soonest, so that its delay
/// is zero; every delay may be longer by what that line needed itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delay {
    /// How many lines have both times.
    pub lines: usize,
    /// How many of the kernel's lines in its log were never seen on the console:
    /// of too low a level for it, or lost. `None` without a kernel log.
    pub not_on_console: Option<usize>,
    /// The bound of the error; `None` if nothing relates the clocks.
    pub error: Option<Nanos>,
    /// The one in the middle.
    pub median: Nanos,
    /// 19 of 20 are no longer.
    pub most: Nanos,
    /// The longest.
    pub longest: Nanos,
    /// The latest lines, the latest first.
    pub latest: Vec<LateLine>,
}

/// A line and how late it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateLine {
    /// What it says; empty for an initcall's.
    pub text: String,
    /// When the kernel stamped it.
    pub stamped: Nanos,
    /// When its first character arrived.
    pub arrived: Nanos,
    /// The difference.
    pub delay: Nanos,
    /// The evidence: the line in the console's log.
    pub place: Place,
}

/// What the console cost; `None` if there was none, as far as the record knows.
/// `top` limits the latest lines, 0 gives all.
#[must_use]
pub fn console(record: &Record, phases: &Phases, top: usize) -> Option<Console> {
    let end = phases.end();
    let cmdline = record.fact("kernel.cmdline").unwrap_or("");
    let told = serial_console(cmdline);
    let lines = lines(record);
    let rate = rate(record, told.as_ref(), &lines);
    let virtual_time = phases.clock == Some(ClockKind::Virtual);
    let rate = rate.filter(|_| !virtual_time);
    let flush = flush(record, cmdline).map(|(name, mut flush)| {
        flush.written.time = rate.as_ref().and_then(|r| r.time(flush.written.bytes));
        (name, flush)
    });
    let name = flush.as_ref().map(|f| f.0.clone());
    let name = name.or_else(|| told.as_ref().map(|t| t.device.to_owned()));
    if lines.is_empty() && name.is_none() {
        return None;
    }
    let in_time = |l: &&Line<'_>| l.arrival.first <= end;
    let (kernel, others) = if lines.is_empty() {
        (logged(record, cmdline, end), None)
    } else {
        // Without any stamp, what came while the kernel was alone is the kernel's.
        let stamped = lines.iter().any(|l| l.stamped.is_some());
        let (from, to) = kernel_alone(record, phases);
        let is_kernels = |l: &Line<'_>| match stamped {
            true => l.stamped.is_some(),
            false => from <= l.arrival.first && l.arrival.first < to,
        };
        let of = |kernel: bool| {
            let lines = lines.iter().filter(in_time);
            let lines = lines.filter(|l| is_kernels(l) == kernel);
            lines.fold(Written::default(), |mut sum, l| {
                sum.lines += 1;
                sum.bytes = sum.bytes.saturating_add(i64::from(l.arrival.bytes));
                sum
            })
        };
        (of(true), Some(of(false)))
    };
    let timed = |mut w: Written| {
        w.time = rate.as_ref().and_then(|r| r.time(w.bytes));
        w
    };
    Some(Console {
        name,
        rate,
        kernel: timed(kernel),
        others: others.map(timed),
        flush: flush.map(|f| f.1),
        delay: delay(record, &lines, top),
    })
}

/// From when to when nobody but the kernel writes to the console: from its start
/// until it frees its memory or starts a program.
pub(crate) fn kernel_alone(record: &Record, phases: &Phases) -> (Nanos, Nanos) {
    let rows = &phases.phases;
    let Some(kernel) = rows.iter().find(|p| p.name >= Phase::Kernel) else {
        return (Nanos::ZERO, Nanos::ZERO);
    };
    let programs = rows.iter().find(|p| p.name > Phase::Kernel);
    let end = programs.map_or(phases.end(), |p| p.start);
    let freed = record.mark(mark::MEMORY_FREED).map(|m| m.at);
    let freed = freed.filter(|at| *at > kernel.start);
    (kernel.start, freed.map_or(end, |at| at.min(end)))
}

impl Rate {
    fn time(&self, bytes: i64) -> Option<Nanos> {
        let time = line_time(bytes, self.bits_per_byte, self.baud);
        self.kept.then_some(time)
    }
}

fn line_time(bytes: i64, bits: i64, baud: i64) -> Nanos {
    let bits = i128::from(bytes) * i128::from(bits) * 1_000_000_000;
    Nanos(i64::try_from(bits / i128::from(baud.max(1))).unwrap_or(i64::MAX))
}

/// The rate of the console's line, as the best source has it.
pub(crate) fn line_rate(record: &Record) -> Option<Rate> {
    let cmdline = record.fact("kernel.cmdline").unwrap_or("");
    rate(record, serial_console(cmdline).as_ref(), &lines(record))
}

/// How long a serial line needs for some bytes, without parity.
pub(crate) fn plain_line_time(bytes: i64, baud: i64) -> Nanos {
    line_time(bytes, BITS_PER_BYTE, baud)
}

/// How long a console that takes `baud` held up the kernel, as far as its stamps show: each
/// line, a time and its bytes, needs the line for some time, and the next one cannot come
/// before that unless it waits as well. What waits when the kernel is silent is written then.
pub(crate) fn held_up(lines: impl Iterator<Item = (Nanos, i64)>, end: Nanos, baud: i64) -> Nanos {
    let baud = i128::from(baud.max(1));
    // In bits times nanoseconds in a second, so that nothing is rounded on the way.
    let (mut held, mut waiting) = (0_i128, 0_i128);
    let mut last: Option<Nanos> = None;
    let write = |waiting: &mut i128, gap: Nanos| {
        let written = (*waiting).min(i128::from(gap.0.max(0)) * baud);
        *waiting -= written;
        written
    };
    for (at, bytes) in lines {
        held += write(&mut waiting, last.map_or(Nanos::ZERO, |l| at - l));
        waiting += i128::from(bytes) * i128::from(BITS_PER_BYTE) * 1_000_000_000;
        last = Some(last.map_or(at, |l| l.max(at)));
    }
    held += write(&mut waiting, last.map_or(Nanos::ZERO, |l| end - l));
    Nanos(i64::try_from(held / baud).unwrap_or(i64::MAX))
}

/// A serial console of the command line.
pub(crate) struct Told<'a> {
    /// The whole word.
    pub word: &'a str,
    /// `ttyS0`.
    pub device: &'a str,
    /// Its rate, if the word has one.
    pub baud: Option<i64>,
}

/// `console=ttyS0,115200n8`; the kernel's screen `tty0` is no serial line.
pub(crate) fn serial_console(cmdline: &str) -> Option<Told<'_>> {
    let mut consoles = cmdline.split_whitespace().filter_map(|word| {
        let (device, options) = match word.strip_prefix("console=")?.split_once(',') {
            Some((device, options)) => (device, options),
            None => (word.strip_prefix("console=")?, ""),
        };
        is_serial(device).then_some(())?;
        let digits = options
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(options.len());
        let baud = options.get(..digits).and_then(|d| d.parse().ok());
        let baud = baud.filter(|b| *b > 0);
        Some(Told { word, device, baud })
    });
    consoles.next()
}

/// `ttyS0`, `ttyAMA0`, `ttymxc1`: drivers of UARTs name their lines in capitals, but for
/// `imx`. Not `tty0`, nor what has no line, such as `ttysclp0` of a mainframe, `hvc0` of a
/// hypervisor, or the network behind a gadget's `ttyGS0`.
fn is_serial(device: &str) -> bool {
    let kind = device.strip_prefix("tty");
    kind.is_some_and(|kind| {
        let is_uart = kind.starts_with(|c: char| c.is_ascii_uppercase()) || kind.starts_with("mxc");
        is_uart && !kind.starts_with("GS")
    })
}

/// The console log level that a command line sets.
pub(crate) fn level(cmdline: &str) -> u8 {
    let flag = |word: &str| word.replace('-', "_") == "ignore_loglevel";
    if cmdline.split_whitespace().any(flag) {
        return u8::MAX;
    }
    let words = cmdline.split_whitespace();
    let level = words.fold(LEVEL_DEFAULT, |level, word| match word {
        "quiet" => LEVEL_QUIET,
        "debug" => 10,
        _ => match word.strip_prefix("loglevel=").map(str::parse) {
            Some(Ok(level)) => level,
            _ => level,
        },
    });
    level.max(1)
}

/// A line that arrived, with what is known of it elsewhere.
struct Line<'a> {
    arrival: &'a Arrival,
    /// When the kernel stamped it: on the line itself, or in its log.
    stamped: Option<Nanos>,
    text: &'a str,
}

/// What arrived, by time. A line without a stamp is looked for in the kernel log
/// by its text, if that occurs once on both sides.
fn lines(record: &Record) -> Vec<Line<'_>> {
    let arrivals = record.arrivals();
    let Some(source) = arrivals.first().map(|a| a.origin.source) else {
        return Vec::new();
    };
    let of_console: Vec<&Message> = record
        .messages()
        .iter()
        .filter(|m| m.origin.source == source)
        .collect();
    let in_log = once(record, |m| m.origin.source != source);
    let on_console = once(record, |m| m.origin.source == source);
    let mut lines: Vec<Line<'_>> = Vec::with_capacity(arrivals.len());
    for arrival in arrivals {
        // Messages are sorted by evidence; that of a line begins in the line.
        let from = of_console.partition_point(|m| m.origin < arrival.origin);
        let within = |m: &&&Message| {
            let past = m.origin.offset.saturating_sub(arrival.origin.offset);
            past < u64::from(arrival.bytes).saturating_add(STAMPS)
        };
        let text = of_console.get(from).filter(within);
        let text = text.map_or("", |m| record.text(m));
        let found = || {
            on_console.get(text)?.as_ref()?;
            *in_log.get(text)?
        };
        lines.push(Line {
            arrival,
            stamped: arrival.stamped.or_else(found),
            text,
        });
    }
    lines
}

/// What a host puts before a line takes no more than this.
const STAMPS: u64 = 80;

/// The texts of some messages, with the time of those that occur once.
fn once(record: &Record, wanted: impl Fn(&Message) -> bool) -> HashMap<&str, Option<Nanos>> {
    let mut texts: HashMap<&str, Option<Nanos>> = HashMap::new();
    for message in record.messages().iter().filter(|m| wanted(m)) {
        let text = record.text(message);
        if let (Some(at), true) = (message.at, text.len() >= 12) {
            texts
                .entry(text)
                .and_modify(|t| *t = None)
                .or_insert(Some(at));
        }
    }
    texts
}

/// The rate: as the host set its port, as the kernel was told, or as fast as
/// bytes came while lines waited.
fn rate(record: &Record, told: Option<&Told<'_>>, lines: &[Line<'_>]) -> Option<Rate> {
    let number = |key| record.fact(key).and_then(|v| v.parse::<i64>().ok());
    let set = |baud, from| Rate {
        baud,
        bits_per_byte: number("serial.bits_per_byte").unwrap_or(BITS_PER_BYTE),
        from,
        kept: from != RateSource::CommandLine || keeps(lines, baud),
    };
    let captured = number("serial.baud").filter(|b| *b > 0);
    captured
        .map(|baud| set(baud, RateSource::Capture))
        .or_else(|| Some(set(told?.baud?, RateSource::CommandLine)))
        .or_else(|| Some(set(busy_rate(lines)?, RateSource::Arrivals)))
        .or_else(|| Some(set(flushed(record)?.baud?, RateSource::Flush)))
}

/// The flush of a serial console that is as long as its bytes need at some rate.
pub(crate) struct Flushed {
    /// When it began and ended.
    pub from: Nanos,
    pub to: Nanos,
    /// What the kernel had logged before.
    bytes: i64,
    /// The rate that a console has and that fits; `None` if the length shows none.
    pub baud: Option<i64>,
    /// The line that says that the console was enabled.
    pub place: Place,
}

impl Flushed {
    /// How long the flush took for as many logged bytes: what is not shown for its level
    /// takes nothing, here as there.
    pub fn time_of(&self, bytes: i64) -> Nanos {
        let ns = i128::from(bytes) * i128::from((self.to - self.from).0);
        let ns = ns / i128::from(self.bytes.max(1));
        Nanos(i64::try_from(ns).unwrap_or(i64::MAX))
    }
}

/// The flush that the kernel's log shows, if it was long enough to be seen.
pub(crate) fn flushed(record: &Record) -> Option<Flushed> {
    let cmdline = record.fact("kernel.cmdline").unwrap_or("");
    if record.clock().is_some_and(|c| c.kind == ClockKind::Virtual) {
        return None;
    }
    let (_, flush) = flush(record, cmdline).filter(|(_, f)| f.measured)?;
    let length = flush.end - flush.start;
    (length >= SEEN_FLUSH).then_some(Flushed {
        from: flush.start,
        to: flush.end,
        bytes: flush.written.bytes,
        baud: flush_rate(flush.written.bytes, length),
        place: flush.place,
    })
}

/// The rate of a flush. A log also has lines that a console does not show: the bytes are at
/// most a third too many, and stamps are rounded.
fn flush_rate(bytes: i64, length: Nanos) -> Option<i64> {
    if bytes < FEWEST_BYTES || length <= Nanos::ZERO {
        return None;
    }
    let bits = i128::from(bytes) * i128::from(BITS_PER_BYTE) * 1_000_000_000;
    let bits = i64::try_from(bits / i128::from(length.get())).ok()?;
    let fits = |rate: &&i64| bits >= **rate - **rate / 20 && bits <= **rate + **rate / 3;
    RATES.iter().rev().find(fits).copied()
}

/// Whether lines came no faster than a rate lets them, but for what a host that
/// was busy elsewhere stamps too late.
fn keeps(lines: &[Line<'_>], baud: i64) -> bool {
    let mut ahead = Nanos::ZERO;
    for pair in lines.windows(2) {
        let [a, b] = pair else { continue };
        let needs = plain_line_time(i64::from(a.arrival.bytes), baud);
        ahead = (ahead + needs - (b.arrival.first - a.arrival.first)).max(Nanos::ZERO);
        if ahead > HOST_STALLS {
            return false;
        }
    }
    true
}

/// The rate of the longest stretch of lines that all waited: the line was busy.
fn busy_rate(lines: &[Line<'_>]) -> Option<i64> {
    let waits = |l: &Line<'_>| l.stamped.is_some_and(|s| l.arrival.first - s > WAITS);
    let mut longest: Option<(Nanos, i64)> = None;
    for stretch in lines.chunk_by(|a, b| waits(a) && waits(b)) {
        let [before @ .., last] = stretch else {
            continue;
        };
        let Some(first) = before.first() else {
            continue;
        };
        let bytes = before
            .iter()
            .fold(0, |sum, l| sum + i64::from(l.arrival.bytes));
        let time = last.arrival.first - first.arrival.first;
        if bytes >= FEWEST_BYTES && longest.is_none_or(|l| l.0 < time) {
            longest = Some((time, bytes));
        }
    }
    let (time, bytes) = longest.filter(|l| l.0 > Nanos::ZERO)?;
    let bits = i128::from(bytes) * i128::from(BITS_PER_BYTE) * 1_000_000_000;
    let bits = i64::try_from(bits / i128::from(time.get())).ok()?;
    // The nearest rate that is not slower, but for the stamps' error: a line is
    // never faster than its rate. One that is half idle was not busy.
    let rate = RATES.into_iter().find(|r| *r + r / 33 >= bits)?;
    (bits * 10 >= rate * 7).then_some(rate)
}

/// What a kernel log says was written to the console until `end`.
fn logged(record: &Record, cmdline: &str, end: Nanos) -> Written {
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
fn by_source(record: &Record) -> impl Iterator<Item = &[Message]> {
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
fn written(
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

/// The flush of the first serial console that was enabled, and its name.
///
/// `register_console()` writes the whole log to a new console. Most kernels log only then
/// that it is enabled; where that line comes first (seen with 6.6 on arm64), the flush lies
/// behind it. A console that takes over from a boot console writes nothing again.
fn flush(record: &Record, cmdline: &str) -> Option<(String, Flush)> {
    let level = level(cmdline);
    let log = by_source(record).max_by_key(|s| s.len())?;
    let mut boot_console = false;
    let (at, name) = log.iter().enumerate().find_map(|(at, message)| {
        let text = record.text(message);
        let (kind, name, state) = console_state(text)?;
        boot_console |= kind == "bootconsole" && state == "enabled";
        let enabled = kind == "console" && state == "enabled" && is_serial(name);
        enabled.then_some((at, name))
    })?;
    let enabled = log.get(at)?;
    let end = enabled.at?;
    let before = log.get(..at)?;
    if boot_console || before.is_empty() {
        return None;
    }
    // The port's own line stands just before, but others log meanwhile.
    let port = |m: &&Message| {
        let text = record.text(m);
        let rest = text.split(name).nth(1);
        rest.is_some_and(|r| r.starts_with(" at MMIO") || r.starts_with(" at I/O"))
    };
    let port = before.iter().rev().take(LOOK_BACK).find(port);
    let last = || before.iter().rev().find(|m| m.at.is_some());
    let start = port.or_else(last)?.at?;
    let zero = record.mark(mark::KERNEL_CLOCK_START).map(|m| m.at);
    let written = written(record, before, level, |_| true);
    let rest = log.get(at..)?.get(1..)?;
    let next = rest.iter().find_map(|m| m.at).unwrap_or(end);
    let is_behind = end - start < SEEN_FLUSH && flush_rate(written.bytes, next - end).is_some();
    let (start, end) = match is_behind {
        true => (end, next),
        false => (start, end),
    };
    let flush = Flush {
        start,
        end,
        measured: start < end && zero.is_none_or(|zero| zero < start),
        written,
        place: Place::of(record, enabled.origin),
    };
    Some((name.to_owned(), flush))
}

/// `printk: legacy console [ttyS0] enabled`: which kind, its name, its state.
fn console_state(text: &str) -> Option<(&'static str, &str, &str)> {
    let (before, rest) = text.split_once("console [")?;
    let (name, state) = rest.split_once("] ")?;
    let kind = if before.ends_with("boot") {
        "bootconsole"
    } else {
        "console"
    };
    Some((kind, name, state.trim_end()))
}

/// How late lines came.
fn delay(record: &Record, lines: &[Line<'_>], top: usize) -> Option<Delay> {
    let mut late: Vec<(Nanos, &Line<'_>)> = lines
        .iter()
        .filter_map(|l| Some((l.arrival.first - l.stamped?, l)))
        .collect();
    late.sort_by_key(|(delay, l)| (std::cmp::Reverse(*delay), l.arrival.origin));
    let longest = late.first()?.0;
    let of = |part: usize| {
        // From the longest on: the rest of a hundred parts are no longer.
        let at = late.len().saturating_mul(100 - part) / 100;
        late.get(at).map_or(longest, |l| l.0)
    };
    let error = |kind: ClockKind| {
        let clocks = record.clocks().iter();
        clocks
            .filter(|c| c.kind == kind)
            .find_map(|c: &Clock| c.error_ns)
    };
    let errors = error(ClockKind::Wall).zip(error(ClockKind::Printk));
    let error = errors.map(|(a, b)| Nanos(i64::try_from(a.saturating_add(b)).unwrap_or(i64::MAX)));
    let count = if top == 0 { late.len() } else { top };
    let latest = late.iter().take(count).map(|(delay, l)| LateLine {
        text: l.text.to_owned(),
        stamped: l.arrival.first - *delay,
        arrived: l.arrival.first,
        delay: *delay,
        place: Place::of(record, l.arrival.origin),
    });
    Some(Delay {
        lines: late.len(),
        not_on_console: not_on_console(record, lines),
        error,
        median: of(50),
        most: of(95),
        longest,
        latest: latest.collect(),
    })
}

/// How many lines of the kernel log, stamped while the console was watched,
/// never came out on it.
fn not_on_console(record: &Record, lines: &[Line<'_>]) -> Option<usize> {
    let log = by_source(record).max_by_key(|s| s.len())?;
    let stamps = || lines.iter().filter_map(|l| l.stamped);
    let (first, last) = (stamps().min()?, stamps().max()?);
    let mut on_console: HashMap<(&str, Option<Nanos>), usize> = HashMap::new();
    for line in lines.iter().filter(|l| !l.text.is_empty()) {
        *on_console.entry((line.text, line.stamped)).or_default() += 1;
    }
    let mut missing = 0;
    for message in log {
        let text = record.text(message);
        if text.is_empty() || message.at.is_none_or(|at| at < first || at > last) {
            continue;
        }
        match on_console.get_mut(&(text, message.at)) {
            Some(left) if *left > 0 => *left -= 1,
            _ => missing += 1,
        }
    }
    Some(missing)
}
