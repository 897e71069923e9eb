//! Drivers that wait with the processor, and stretches in which nothing may interrupt.

use super::contention::held_up;
use super::evidence::{Evidence, SHOWN};
use super::found::{Found, Scope};
use super::text::delays as text;
use super::view::View;
use crate::place::Place;
use record::{Call, CallId, Nanos};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Functions that spin for a time that they are told (`include/linux/delay.h`,
/// `arch/*/lib/delay*`), and the one of the old IDE driver.
const BUSY: [&str; 17] = [
    "__delay",
    "__udelay",
    "__ndelay",
    "__const_udelay",
    "udelay",
    "ndelay",
    "mdelay",
    "delay_tsc",
    "delay_loop",
    "delay_halt",
    "delay_halt_mwaitx",
    "__loop_delay",
    "__loop_udelay",
    "__loop_const_udelay",
    "__timer_delay",
    "__timer_udelay",
    "ide_delay_50ms",
];

/// Functions that let others run meanwhile.
const SLEEP: [&str; 9] = [
    "msleep",
    "msleep_interruptible",
    "ssleep",
    "usleep_range",
    "usleep_range_state",
    "schedule_timeout",
    "schedule_timeout_uninterruptible",
    "schedule_timeout_interruptible",
    "schedule_hrtimeout_range",
];

/// Each call of a wait is in a loop of the driver, which takes less than a part in so many of
/// it: `mdelay` calls `udelay(1000)` for each millisecond (`include/linux/delay.h`).
const LOOP: i64 = 100;

/// Less than this in all is not worth a word.
const SHORT: Nanos = Nanos::from_millis(2);

/// How long, and how often.
type Waited = (Nanos, u64);

/// The tasks that called one of these functions.
fn tasks<'a>(view: &'a View<'_>, of: &[&str]) -> BTreeSet<&'a str> {
    let tree = view.record.functions();
    let calls: BTreeMap<CallId, &Call> = tree.iter().collect();
    let name = |call: &Call| view.record.name(call.function);
    let waiting = calls.values().filter(|c| of.contains(&name(c)));
    let task = |call: &&Call| {
        let mut at = *call;
        // A stack has an end.
        for _ in 0..calls.len() {
            match at.parent.and_then(|p| calls.get(&p)) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        name(at)
    };
    waiting.map(task).collect()
}

/// What waits by one of these functions, and how: the first of them on each stack counts.
fn waits(view: &View<'_>, of: &[&str]) -> BTreeMap<(String, String), Waited> {
    let tree = view.record.functions();
    let name = |call: &Call| view.record.name(call.function);
    let calls: BTreeMap<CallId, &Call> = tree.iter().collect();
    let mut all: BTreeMap<(String, String), Waited> = BTreeMap::new();
    for call in calls.values() {
        let caller = call.parent.and_then(|p| calls.get(&p));
        let is_first = caller.is_none_or(|c| c.parent.is_none() || !of.contains(&name(c)));
        if call.parent.is_none() || !of.contains(&name(call)) || !is_first {
            continue;
        }
        let by = caller.map_or("", |c| name(c)).to_owned();
        let sum = all.entry((by, name(call).to_owned())).or_default();
        *sum = (sum.0 + call.time, sum.1.saturating_add(call.count));
    }
    // A table of sums does not say who called whom: of functions within each other the
    // longest stands for all.
    let sums = tree.sums().iter();
    let sums = sums.filter(|s| of.contains(&view.record.name(s.function)));
    if let Some((sum, time)) = sums.filter_map(|s| Some((s, s.time?))).max_by_key(|s| s.1) {
        let key = (String::new(), view.record.name(sum.function).to_owned());
        all.entry(key).or_insert((time, sum.count));
    }
    all
}

/// The part of `time` that `part` is of `whole`.
fn share(time: Nanos, part: Nanos, whole: Nanos) -> Nanos {
    let ns = i128::from(time.0) * i128::from(part.0.min(whole.0)) / i128::from(whole.0.max(1));
    Nanos(i64::try_from(ns).unwrap_or(time.0))
}

/// Delays that keep the processor.
pub(super) fn busy_waits(view: &View<'_>) -> Option<Found> {
    let busy = waits(view, &BUSY);
    let sum = |of: &BTreeMap<_, Waited>| of.values().fold(Nanos::ZERO, |sum, w| sum + w.0);
    let time = sum(&busy);
    if time < SHORT {
        return None;
    }
    let slept = sum(&waits(view, &SLEEP));
    let mut rows: Vec<_> = busy.into_iter().collect();
    rows.sort_by_key(|(names, (time, _))| (Reverse(*time), names.clone()));
    rows.truncate(SHOWN);
    let traces = ["ftrace", "trace.dat", "kft"];
    let mut sources = view.record.sources().iter();
    let source = sources.find(|s| traces.contains(&s.format));
    let place = Place {
        source: source.map_or_else(String::new, |s| s.name.clone()),
        offset: 0,
    };
    let evidence = rows.iter().map(|((by, function), (time, count))| Evidence {
        text: text::waited(by, function, *count, *time),
        place: place.clone(),
    });
    // While a driver spins, what else can run waits; if nothing can, nothing is saved.
    let held_up = held_up(view, &tasks(view, &BUSY)).filter(|(ran, _)| *ran > Nanos::ZERO);
    let expected = match held_up {
        Some((ran, held_up)) => share(time, held_up, ran),
        None => Nanos(time.0 / 2),
    };
    Some(
        Found::new()
            .title(text::busy(time))
            .why(text::busy_why(slept, held_up))
            .evidence(evidence)
            .saving(Nanos::ZERO, expected, time + Nanos(time.0 / LOOP))
            .names(
                rows.iter()
                    .map(|((by, _), _)| by.clone())
                    .filter(|by| !by.is_empty()),
            )
            .scope(Scope::Unknown),
    )
}

/// Tracers of the kernel that keep the longest stretch of one kind.
const TRACERS: [&str; 3] = ["irqsoff", "preemptoff", "preemptirqsoff"];

/// Shorter stretches hold nothing up that anybody sees.
const LONG_US: i64 = 1_000;

/// The longest stretch with interrupts or preemption off.
pub(super) fn interrupts_off(view: &View<'_>) -> Option<Found> {
    let mut facts = view.record.facts().iter();
    let fact = facts.find(|f| view.record.name(f.key) == "latency.tracer")?;
    let tracer = view.record.name(fact.value);
    let us: i64 = view.record.fact("latency.us")?.parse().ok()?;
    if !TRACERS.contains(&tracer) || us < LONG_US {
        return None;
    }
    let time = Nanos(us.saturating_mul(1_000));
    let from = view.record.fact("latency.started").unwrap_or("?");
    let to = view.record.fact("latency.ended").unwrap_or("?");
    Some(
        Found::new()
            .title(text::off(tracer, time))
            .evidence([view.evidence(text::stretch(tracer, from, to, us), fact.origin)])
            .names(
                [from.to_owned(), to.to_owned()]
                    .into_iter()
                    .filter(|n| n != "?"),
            )
            .scope(Scope::Unknown),
    )
}
