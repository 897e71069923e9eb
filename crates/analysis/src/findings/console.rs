//! What writing to the console costs.

use super::evidence::Evidence;
use super::found::Found;
use super::text::console as text;
use super::view::{Line, View};
use crate::console::{
    LEVEL_QUIET, RateSource, console_state, flushed, held_up, kernel_alone, kernels, level,
    line_rate, of_calls, per_line, plain_line_time, serial_console,
};
use record::{Message, Nanos, Phase, Span, SpanKind};

/// The rate that is assumed if the command line gives none. A faster line
/// makes the estimate smaller, so it errs on the safe side.
const ASSUMED_BAUD: i64 = 115_200;

/// The least part of the line time that `quiet` saves. Some of it overlaps
/// with other work where a console has a thread or a queue of its own.
const SURE_PART: i64 = 2;

/// What lines weigh on a console.
#[derive(Default)]
struct Weight {
    lines: i64,
    bytes: i64,
    /// How long the kernel talked in the source that they are from; `None` without times.
    window: Option<Nanos>,
    /// How long the stamps of a kernel's log let a console hold it up; `None`: they tell
    /// nothing.
    held: Option<Nanos>,
    /// How many of the bytes an early console had written before the kernel's clock ran.
    before_clock: i64,
    /// The first of them.
    first: Option<Evidence>,
}

/// What the kernel's lines that `wanted` picks weigh on a console of this rate: of all
/// sources that saw them the one that saw most.
fn weigh(view: &View<'_>, baud: i64, wanted: impl Fn(&Message) -> bool) -> Weight {
    let mut best = Weight::default();
    for source in messages_by_source(view) {
        let (start, end) = kernel_talks(view, source);
        let kernels = kernels(view.record, source);
        let per_line = per_line(view.record, source);
        let timed = source.iter().any(|m| m.at.is_some());
        let picked = source.iter().filter(|m| {
            let text = view.record.text(m);
            kernels(m)
                && m.at.is_none_or(|at| start <= at && at <= end)
                && !text.trim().is_empty()
                && wanted(m)
        });
        let length = |m: &Message| {
            let text = i64::try_from(view.record.text(m).len()).unwrap_or(i64::MAX);
            text.saturating_add(per_line)
        };
        let picked: Vec<(&Message, i64)> = picked.map(|m| (m, length(m))).collect();
        let bytes = picked.iter().fold(0_i64, |sum, l| sum.saturating_add(l.1));
        if bytes <= best.bytes {
            continue;
        }
        let lines = i64::try_from(picked.len()).unwrap_or(i64::MAX);
        let is_log = source
            .first()
            .is_some_and(|m| view.is_kernel_log(m.origin.source));
        let early = early_console(view, source);
        let is_before = |m: &Message| early.is_some_and(|at| m.at == Some(at));
        let before = picked.iter().filter(|(m, _)| is_before(m));
        let stamped = picked.iter().filter(|(m, _)| !is_before(m));
        let stamped = stamped.filter_map(|(m, bytes)| Some((m.at?, *bytes)));
        best = Weight {
            lines,
            bytes,
            window: timed.then_some(end - start),
            held: (timed && is_log).then(|| held_up(stamped, end, baud)),
            before_clock: before.fold(0, |sum, l| sum.saturating_add(l.1)),
            first: picked.first().map(|(m, _)| {
                let text: String = view.record.text(m).chars().take(60).collect();
                view.evidence(text::first_line(lines, text), m.origin)
            }),
        };
    }
    best
}

/// The stamp of all lines before the kernel's clock runs, where an early console is there by
/// then: it writes each at once, so that they do not wait for a time that has a stamp.
fn early_console(view: &View<'_>, source: &[Message]) -> Option<Nanos> {
    let timed = source.iter().find_map(|m| Some((m, m.at?)));
    // Coarse stamps are equal while the clock runs, too.
    let (_, first) = timed.filter(|(m, _)| view.record.coarse_step(m) == Nanos::ZERO)?;
    let mut stopped = source
        .iter()
        .take_while(|m| m.at.is_none_or(|at| at == first));
    let is_early = |m: &Message| {
        let state = console_state(view.record.text(m));
        state.is_some_and(|(kind, _, state)| kind == "bootconsole" && state == "enabled")
    };
    stopped.any(is_early).then_some(first)
}

/// When the messages of a source are the kernel's: in a kernel log from its
/// first one to first light; on a serial line, where everybody writes, only
/// while the kernel is alone.
fn kernel_talks(view: &View<'_>, source: &[Message]) -> (Nanos, Nanos) {
    let info = source
        .first()
        .and_then(|m| view.record.source(m.origin.source));
    if info.is_some_and(|i| i.format != "kernel-log") {
        return kernel_alone(view.record, view.phases);
    }
    let rows = &view.phases.phases;
    let start = rows.iter().find(|p| p.name >= Phase::Kernel);
    let start = start.map_or(Nanos::ZERO, |p| p.start);
    (start, view.phases.end())
}

/// Messages are sorted by evidence, so those of a source stand together.
fn messages_by_source<'a>(view: &'a View<'_>) -> impl Iterator<Item = &'a [Message]> {
    view.record
        .messages()
        .chunk_by(|a, b| a.origin.source == b.origin.source)
}

/// The kernel writes all its messages to a serial line, and waits for it.
pub(super) fn messages(view: &View<'_>) -> Option<Found> {
    let level = level(view.cmdline());
    let console = serial_console(view.cmdline());
    // A board may name its console in the device tree: then the flush shows that it has one.
    let flushed = flushed(view.record).filter(|f| f.baud.is_some() && !view.is_virtual());
    if level <= LEVEL_QUIET || (console.is_none() && flushed.is_none()) {
        return None;
    }
    let rate = line_rate(view.record);
    // A command line that is not the log's own tells it, too.
    let told = console.as_ref().and_then(|c| c.baud);
    let baud = rate.map_or(told.unwrap_or(ASSUMED_BAUD), |r| r.baud);
    let weight = weigh(view, baud, |m| {
        let l = m.level.unwrap_or(LEVEL_QUIET);
        l < level && l >= LEVEL_QUIET
    });
    let (lines, bytes) = (weight.lines, weight.bytes);
    if lines == 0 {
        return None;
    }
    let word = console.and_then(|c| view.cmdline_evidence(c.word));
    let flush = flushed.as_ref().map(|f| Evidence {
        text: text::flush(f.to - f.from),
        place: f.place.clone(),
    });
    let mut evidence: Vec<Evidence> = word.into_iter().chain(flush).collect();
    evidence.extend(weight.first);
    let time = plain_line_time(bytes, baud);
    let emulated = rate.is_some_and(|r| !r.kept);
    let why = if emulated {
        text::emulated_why(lines, bytes, baud, time)
    } else if view.is_virtual() {
        text::virtual_why(lines, bytes, baud, time)
    } else {
        let assumed = match rate.map(|r| r.from) {
            None if told.is_none() => text::ASSUMED,
            Some(RateSource::Flush) => text::FLUSHED,
            None | Some(_) => "",
        };
        text::messages_why(lines, bytes, time, baud, assumed)
    };
    let found = Found::new()
        .why(why)
        .evidence(evidence)
        .treatment("cmdline+=quiet");
    let measurable = !view.is_virtual() && !emulated;
    // What an early console wrote before the clock ran goes too, but no stamp shows it.
    let stamped = plain_line_time(bytes - weight.before_clock, baud);
    Some(match measurable {
        // The kernel waits for a UART byte by byte, so all of it goes, but no more than what
        // the stamps leave room for.
        true => match weight.held {
            Some(held) if held < Nanos(stamped.0 / SURE_PART) => waited(found, stamped, Some(held)),
            Some(held) => {
                let all = stamped.min(held);
                let seen = flushed.map_or(all, |f| f.time_of(bytes).min(all));
                let unseen = time - stamped;
                let mut found = found.saving(Nanos(all.0 / SURE_PART), seen, all + unseen);
                if unseen > Nanos::ZERO {
                    found.more.push_str(&text::before_clock(unseen));
                }
                match weight.window {
                    Some(window) => found.within(window),
                    None => found,
                }
            }
            None => waited(found, time, weight.window),
        },
        false => found,
    })
}

/// A shorter time before a console is there may be anything.
const SHORTEST_FLUSH: Nanos = Nanos::from_millis(300);

/// Of the time before the line that a serial console is there: what was logged until then is
/// written to it. Published boots with `quiet` lose 99 % of it.
const OF_FLUSH: (i64, i64, i64) = (50, 95, 100);

/// The kernel writes what it has logged to a console that is there now. Where the log's start
/// is lost, its rate and the lines behind it are not known.
pub(super) fn flush(view: &View<'_>) -> Option<Found> {
    if view.is_virtual() || level(view.cmdline()) <= LEVEL_QUIET {
        return None;
    }
    let lines = view.said(ENABLED).filter(|l| l.text.ends_with(" enabled"));
    let is_serial = |l: &Line<'_>| !is_screen(l.text) && !l.text.contains("bootconsole");
    let held = lines
        .filter(is_serial)
        .filter_map(|l| Some((held(view, &l)?, l)));
    let (time, line) = held.max_by_key(|(time, l)| (*time, std::cmp::Reverse(l.at)))?;
    if time < SHORTEST_FLUSH {
        return None;
    }
    let (low, expected, high) = OF_FLUSH;
    let name = line.behind(ENABLED).and_then(|rest| rest.split_once(']'));
    Some(
        Found::new()
            .names(name.map(|(console, _)| format!("console={console}")))
            .why(text::flush_why(time))
            .evidence([view.quote(&line)])
            .treatment("cmdline+=quiet")
            .parts(time, low, expected, high)
            .within(time),
    )
}

/// Whether a line is of a virtual terminal, `tty0`, `tty1`: a screen.
fn is_screen(line: &str) -> bool {
    let terminal = line.split_once("[tty").map(|(_, rest)| rest);
    terminal.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// What the kernel says of a console: `printk: console [ttyS0] enabled`.
pub(super) const ENABLED: &str = "console [";

/// How long nothing was said before the line of a console, nor an initcall began.
fn held(view: &View<'_>, line: &Line<'_>) -> Option<Nanos> {
    let at = line.message.at?;
    let is_around = |s: &&Span| s.start.is_some_and(|t| t <= at) && s.end.is_some_and(|t| t >= at);
    let spans = view.record.spans().iter().filter(is_around);
    let calls = spans.filter(|s| s.kind == SpanKind::Initcall);
    let began = calls.filter_map(|s| s.start).max().map(|t| at - t);
    match (view.silence_before(line), began) {
        (Some(silence), Some(began)) => Some(silence.min(began)),
        (silence, began) => silence.or(began),
    }
}

/// `initcall_debug` writes two lines for each initcall.
pub(super) fn initcall_debug(view: &View<'_>) -> Option<Found> {
    // Its lines are of level 7: they only cost where they reach the console.
    if !view.has_flag("initcall_debug") || level(view.cmdline()) <= 7 {
        return None;
    }
    let console = serial_console(view.cmdline())?;
    let calls = view.initcalls(|_| true).len();
    let (lines, bytes) = of_calls(view.record, view.phases.end());
    if calls == 0 || lines == 0 {
        return None;
    }
    let baud = console.baud.unwrap_or(ASSUMED_BAUD);
    let time = plain_line_time(bytes, baud);
    let why = if view.is_virtual() {
        text::initcalls_virtual_why(lines, bytes, calls)
    } else {
        text::initcalls_why(lines, bytes, calls, time, baud)
    };
    let found = Found::new()
        .why(why)
        .evidence(view.cmdline_evidence("initcall_debug"))
        .treatment("cmdline-=initcall_debug");
    Some(match view.is_virtual() {
        false => waited(found, time, calling(view)),
        true => found,
    })
}

/// The kernel also works to print a line: 2 % of the line's time for those of `initcall_debug`
/// on an ARM926 of 125 MIPS at 115,200 baud (`experiments/line-rate`), at most a twentieth.
const OF_PRINTING: i64 = 20;

/// What goes if the kernel does not write what needs `time` on the line. Lines that were
/// written in less are no measure of that: the line is faster, or nobody waited for it.
fn waited(found: Found, time: Nanos, window: Option<Nanos>) -> Found {
    let most = Nanos(time.0.saturating_add(time.0 / OF_PRINTING));
    match window {
        Some(window) if window < time => {
            let mut found = found
                .saving(Nanos::ZERO, Nanos::ZERO, window)
                .within(window);
            found.more.push_str(&text::faster(window));
            found
        }
        Some(window) => found
            .saving(Nanos(time.0 / SURE_PART), time, most)
            .within(window),
        None => found.saving(Nanos(time.0 / SURE_PART), time, most),
    }
}

/// From the first initcall or probe to the last one, up to first light.
fn calling(view: &View<'_>) -> Option<Nanos> {
    let end = view.phases.end();
    let is_call = |s: &&Span| matches!(s.kind, SpanKind::Initcall | SpanKind::Probe);
    let calls = || view.record.spans().iter().filter(is_call);
    let from = calls().filter_map(|s| s.start).min()?;
    let to = calls().filter_map(|s| s.end).filter(|t| *t <= end).max()?;
    Some((to - from).max(Nanos::ZERO))
}
