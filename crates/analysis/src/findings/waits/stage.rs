//! What firmware and loaders take long for, as their own records and lines show it.

use super::worth;
use crate::findings::evidence::Evidence;
use crate::findings::found::Found;
use crate::findings::loader;
use crate::findings::subject::subject;
use crate::findings::text::waits as text;
use crate::findings::view::{Line, View, transfer};
use record::{Nanos, Phase, Span, SpanKind};

/// How many are told.
const MOST: usize = 4;

/// Of a stage between two marks of a loader's own. It may have one delay in it that can go, or be
/// all delay: its length does not say which.
const OF_STAGE: (i64, i64, i64) = (10, 80, 100);

/// Of a time in which a loader wrote nothing.
const OF_SILENCE: (i64, i64, i64) = (40, 90, 100);

/// Of a read. Its bytes have to come from somewhere, but they can be fewer or come faster.
const OF_READ: (i64, i64, i64) = (10, 50, 95);

/// The same of one that is so slow that the storage cannot be the reason. What it is longer
/// than a slow card would take is expected to go, and at most what it is longer than usual.
const OF_SLOW_READ: (i64, i64, i64) = (40, 80, 95);

/// How much slower than flash or a card usually is such a read is.
const SLOWER: u64 = 10;

/// The last lines of loaders: what comes next is the kernel's, which may unpack itself.
const HANDOVER: [&str; 2] = ["Starting kernel ...", "Uncompressing Linux"];

/// The mark that U-Boot makes at zero.
const RESET: &str = "reset";

/// Before U-Boot relocates itself it does little; with its caches off that little takes so
/// long.
const BEFORE_RELOCATION: Nanos = Nanos::from_millis(300);

/// Stages and silences before the kernel, the longest first.
pub(in crate::findings) fn stages(view: &View<'_>) -> Vec<Found> {
    let least = worth(view).min(Nanos::from_millis(500));
    let mut all: Vec<(Nanos, Found)> = timed(view, least);
    all.extend(silences(view, least));
    all.extend(reads(view, least));
    all.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    all.into_iter().take(MOST).map(|(_, found)| found).collect()
}

/// The stages that a loader timed itself, and the commands that it timed. What was added up
/// over several stages lies in others.
fn timed(view: &View<'_>, least: Nanos) -> Vec<(Nanos, Found)> {
    let format = |s: &Span| view.record.source(s.origin.source).map(|i| i.format);
    let is_stage = |s: &&Span| match format(s) {
        Some("bootstage" | "serial") => s.start.is_some(),
        Some("console") => true,
        _ => false,
    };
    let spans = view.record.spans().iter();
    let stages = spans.filter(|s| s.kind == SpanKind::Stage).filter(is_stage);
    let found = stages.filter_map(|span| {
        let time = span.duration().filter(|t| *t >= least)?;
        let name = view.record.name(span.name);
        if let Some((bytes, what)) = text::read_of(name) {
            let evidence = view.evidence(text::span(name, time), span.origin);
            return Some((time, read(bytes, what, time, evidence)));
        }
        let (what, names) = match name.split_once(" -> ") {
            // What runs before the loader's own first mark is not the loader.
            Some((RESET, _)) => (text::BEFORE_LOADER.to_owned(), vec![RESET]),
            Some((from, to)) => (text::between(from, to), vec![to, from]),
            None => (text::command(name), vec![name]),
        };
        let early = name.starts_with("board_init_f -> ") && time >= BEFORE_RELOCATION;
        let why = if early {
            text::EARLY_WHY
        } else {
            text::STAGE_WHY
        };
        let (low, expected, high) = OF_STAGE;
        let found = Found::new()
            .title(text::stage(what, time))
            .why(why)
            .evidence([view.evidence(text::span(name, time), span.origin)])
            .parts(time, low, expected, high)
            .within(time)
            .names(names)
            .names(early.then_some("dcache"));
        Some((time, found))
    });
    found.collect()
}

/// The times in which firmware and loader wrote nothing.
fn silences(view: &View<'_>, least: Nanos) -> Vec<(Nanos, Found)> {
    let kernel = view.phases.phases.iter().find(|p| p.name >= Phase::Kernel);
    let until = kernel.map_or(view.phases.end(), |p| p.start);
    // A capture of the lab has the loader's lines apart.
    let is_serial = |l: &Line<'_>| {
        let source = view.record.source(l.message.origin.source);
        source.is_some_and(|s| matches!(s.format, "serial" | "loader-console"))
    };
    let mut found = Vec::new();
    for at in 0..view.record.messages().len() {
        let Some(line) = view.line(at) else { break };
        let Some(from) = line.message.at.filter(|t| *t < until) else {
            continue;
        };
        // Other rules tell of these; and behind its last line the loader is no more.
        let is_last = HANDOVER.iter().any(|text| line.text.contains(text));
        if !is_serial(&line) || loader::is_told(line.text) || is_last {
            continue;
        }
        let Some(next) = view.after(&line).find(|l| l.message.at.is_some()) else {
            continue;
        };
        let silence = next.message.at.unwrap_or(from).min(until) - from;
        let silence = silence - view.record.coarse_step(line.message);
        if silence < least || is_timed(view, from, silence) {
            continue;
        }
        let quote = view.quote(&line);
        // The next line may say that it was a read.
        let is_silence = |time: Nanos| (time - silence).get().abs() <= silence.get() / 5;
        if let Some((bytes, time)) = read_in(&next).filter(|r| is_silence(r.1)) {
            let time = time.min(silence);
            found.push((silence, read(bytes, None, time, view.quote(&next))));
            continue;
        }
        let (low, expected, high) = OF_SILENCE;
        let one = Found::new()
            .title(text::quiet(silence, &quote.text))
            .why(text::QUIET_WHY)
            .evidence([quote, view.quote(&next)])
            .parts(silence, low, expected, high)
            .within(silence)
            .names(subject(line.text));
        found.push((silence, one));
    }
    found
}

/// Whether the loader timed what it did in a silence, or most of it.
fn is_timed(view: &View<'_>, from: Nanos, silence: Nanos) -> bool {
    let mut stages = view.record.spans().iter();
    stages.any(|s| {
        let both = s.start.zip(s.end).filter(|_| s.kind == SpanKind::Stage);
        let common = both.map(|(start, end)| end.min(from + silence) - start.max(from));
        common.is_some_and(|t| t.0 >= silence.0 / 100 * MOST_OF_SILENCE)
    })
}

/// From this part on it is most of it, in percent.
const MOST_OF_SILENCE: i64 = 80;

/// What U-Boot prints of a read: `18370568 bytes read in 11689 ms (1.5 MiB/s)`.
pub(in crate::findings) const READ: &str = " bytes read in ";

/// The format of which a source tells the reads as stages.
const CONSOLE: &str = "console";

/// Reads that a loader timed itself in a log in which its lines have no stamps.
fn reads(view: &View<'_>, least: Nanos) -> Vec<(Nanos, Found)> {
    let lines = view.said(READ).filter(|l| l.message.at.is_none());
    let lines = lines.filter(|l| {
        let source = view.record.source(l.message.origin.source);
        source.is_some_and(|s| s.format != CONSOLE)
    });
    let found = lines.filter_map(|line| {
        let (bytes, time) = read_in(&line)?;
        (time >= least).then(|| (time, read(bytes, None, time, view.quote(&line))))
    });
    found.collect()
}

/// What a line says of a read: how many bytes, and how long it took.
fn read_in<'a>(line: &Line<'a>) -> Option<(&'a str, Nanos)> {
    let ms = i64::try_from(line.number(READ)?).ok()?;
    let bytes = line.text.split(READ).next()?.rsplit(' ').next()?;
    Some((bytes, Nanos(ms.checked_mul(1_000_000)?)))
}

/// A read of `bytes` that took `time`.
fn read(bytes: &str, what: Option<&str>, time: Nanos, evidence: Evidence) -> Found {
    let count = bytes.parse::<u64>().ok().filter(|_| time > Nanos::ZERO);
    let slow = loader::USUAL_RATE / SLOWER;
    let excess = count.map(|b| {
        (
            time - transfer(b, slow),
            time - transfer(b, loader::USUAL_RATE),
        )
    });
    let excess = excess.filter(|(of_slow, _)| *of_slow > Nanos::ZERO);
    let part = |percent: i64| Nanos(time.0 / 100 * percent);
    let (low, expected, high) = match excess {
        Some((of_slow, of_usual)) => {
            let (low, expected, high) = OF_SLOW_READ;
            let expected = part(expected).max(of_slow);
            (part(low), expected, part(high).max(of_usual))
        }
        None => {
            let (low, expected, high) = OF_READ;
            (part(low), part(expected), part(high))
        }
    };
    let rate = count.map(|b| b as f64 * 1e3 / time.get() as f64);
    Found::new()
        .title(text::stage(text::read(bytes, what), time))
        .why(text::read_why(rate))
        .evidence([evidence])
        .saving(low, expected, high)
        .within(time)
        .names(["read"])
        .names(what)
}
