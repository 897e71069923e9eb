//! What coreboot takes long for, as its own time stamps show it.

use super::LEAST_PERCENT;
use crate::findings::evidence::Evidence;
use crate::findings::found::Found;
use crate::findings::text::waits as text;
use crate::findings::view::View;
use record::{Nanos, Phase, Span, SpanKind};

/// How many are told.
const MOST: usize = 4;

/// Firmware takes a second: a stage is told from here on, and from a part of the boot.
const LEAST: Nanos = Nanos::from_millis(50);
const ENOUGH: Nanos = Nanos::from_millis(500);

/// The format of these stamps.
const FORMAT: &str = "cbmem";

/// What its source writes in place of rows that a list lacks.
const LEFT_OUT: &str = "rows left out";

/// Of a stage: it may have one delay in it that can go, or be all delay.
const OF_STAGE: (i64, i64, i64) = (10, 60, 100);

/// No work of a stage takes longer than this, the training of memory for the first time aside:
/// what is longer is a wait, or work that is done again and again.
const LONGEST_WORK: Nanos = Nanos(10_000_000_000);
const OF_EXCESS: (i64, i64, i64) = (40, 90, 100);

/// Of the run of an option ROM, which goes as a whole: what coreboot needs to run it is not loaded
/// either, which is taken for a tenth at most. A display without it may need another driver.
const OF_OPTION_ROM: (i64, i64, i64) = (40, 90, 110);

/// Of what is read from flash and decompressed: from 66 MHz to 100 MHz is a third, another
/// way of compression or caching more. Where the flash takes no time, LZ4 takes a thirteenth of what
/// LZMA does (`experiments/findings/coreboot`).
const OF_LOADS: (i64, i64, i64) = (10, 40, 93);

/// The stages of firmware that are long, the longest first, and all that it reads as one.
pub(in crate::findings) fn firmware(view: &View<'_>) -> Vec<Found> {
    let least = Nanos(view.total.0 / 100 * LEAST_PERCENT);
    let least = least.clamp(LEAST, ENOUGH);
    let spans = view.record.spans().iter();
    let stages = spans.filter(|s| s.kind == SpanKind::Stage && s.start.is_some());
    let stages = stages.filter(|s| {
        let source = view.record.source(s.origin.source);
        source.is_some_and(|s| s.format == FORMAT)
    });
    let mut all: Vec<(Nanos, Found)> = Vec::new();
    let mut loads: (Nanos, Vec<Evidence>) = (Nanos::ZERO, Vec::new());
    for span in stages {
        let name = view.record.name(span.name);
        let Some((time, (from, to))) = span.duration().zip(name.split_once(" -> ")) else {
            continue;
        };
        if is_load(to) {
            loads.0 = Nanos(loads.0.0.saturating_add(time.0));
            loads
                .1
                .push(view.evidence(text::span(name, time), span.origin));
        } else if time >= least && to != LEFT_OUT {
            all.push((time, stage(view, span, time, (from, to))));
        }
    }
    let (time, evidence) = loads;
    if time >= least {
        let (low, expected, high) = OF_LOADS;
        let found = Found::new()
            .title(text::firmware_loads(time))
            .why(text::FIRMWARE_LOADS_WHY)
            .evidence(evidence)
            .parts(time, low, expected, high)
            .within(time)
            .names(["SPI flash", "LZMA decompress"]);
        all.push((time, found));
    }
    all.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    all.into_iter().take(MOST).map(|(_, found)| found).collect()
}

/// Whether a stage that ends so reads from flash or decompresses. Where the flash is mapped into
/// memory, decompression reads it.
fn is_load(to: &str) -> bool {
    to.starts_with("finished") && (to.contains("decompress") || to.contains("loading"))
}

fn stage(view: &View<'_>, span: &Span, time: Nanos, (from, to): (&str, &str)) -> Found {
    let what = match from {
        LEFT_OUT => text::before(to),
        from => text::between(from, to),
    };
    let phases = view.phases.phases.iter().rev();
    let mut begun = phases.filter(|p| span.start.is_some_and(|s| p.start <= s));
    let is_payload = begun.next().is_some_and(|p| p.name == Phase::Loader);
    let title = match is_payload {
        true => text::stage(what, time),
        false => text::firmware_stage(what, time),
    };
    let (why, more) = text::firmware_why(from, to);
    let evidence = text::span(view.record.name(span.name), time);
    let part = |of_work: i64, of_excess: i64| {
        let work = time.min(LONGEST_WORK);
        Nanos(work.0 / 100 * of_work + (time - work).0 / 100 * of_excess)
    };
    let of_work = match text::is_option_rom(from, to) {
        true => OF_OPTION_ROM,
        false => OF_STAGE,
    };
    let most = part(of_work.2, OF_EXCESS.2);
    Found::new()
        .title(title)
        .why(why)
        .evidence([view.evidence(evidence, span.origin)])
        .saving(
            part(of_work.0, OF_EXCESS.0),
            part(of_work.1, OF_EXCESS.1),
            most,
        )
        .within(most)
        .names([from, to].into_iter().filter(|n| *n != LEFT_OUT))
        .names(more.iter().copied())
}
