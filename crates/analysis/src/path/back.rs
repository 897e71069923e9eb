//! The way back from first light, and what its items save.

use super::activity::{Activities, Doer};
use super::graph::{Change, Graph, NodeId};
use super::replay::{Less, Replay};
use super::report::{PathItem, PathKind, PathProgram};
use super::units::device_waits;
use record::{Nanos, Record};
use std::collections::{BTreeMap, HashSet};

/// How many items, the longest, are taken away in a boot that is played again.
const MOST_REPLAYS: usize = 48;

/// How many programs, those with most to take away, are.
const MOST_PROGRAMS: usize = 24;

/// The way back from `last`. What items save is read from `replay` where it is
/// there.
pub(super) fn items(all: &Activities<'_>, last: NodeId, replay: Option<&Replay>) -> Vec<PathItem> {
    let end = all.graph.end(last);
    let slacks = all.graph.slacks(last);
    let on_every_way = all.graph.on_every_way(last, &slacks);
    let devices = device_waits(all.record, end);
    let mut items = Vec::new();
    let mut doers: Vec<Doer> = Vec::new();
    let mut at = Some(last);
    while let Some(id) = at {
        at = all.graph.waited_for(id);
        let Some(about) = all.about.get(Graph::place(id)) else {
            continue;
        };
        let half = |t: Nanos| Nanos(t.get() / 2);
        // There may be very many: no way is followed where none leads past it.
        let always = on_every_way.get(Graph::place(id)) == Some(&true);
        let saving = |less, change| match always {
            true => less,
            false => end - all.graph.end_if(last, change),
        };
        let slack = slacks.get(Graph::place(id)).copied().flatten();
        if about.end > about.start {
            doers.push(about.by);
            items.push(PathItem {
                kind: about.kind,
                name: about.name.clone(),
                start: about.start,
                end: about.end,
                slack: slack.unwrap_or_default(),
                saving_if_halved: {
                    let whole = all.graph.duration(id);
                    saving(whole - half(whole), Change::Duration(id, half(whole)))
                },
                origin: about.origin.clone(),
                call: about.call.map(|c| all.record.name(c).to_owned()),
            });
        }
        // Time between the two that neither used.
        let ready = at.map_or(Nanos::ZERO, |a| all.graph.end(a));
        if ready < about.start {
            let wait = about.start - ready;
            let saving_of = |part: Nanos| match all.graph.guard(id) {
                Some(g) => {
                    let shorter = all.graph.duration(g) - half(part);
                    end - all.graph.end_if(last, Change::Duration(g, shorter))
                }
                None => {
                    let less = part - half(part);
                    saving(less, Change::Lag(id, wait - less))
                }
            };
            let mut add = |name: String, start: Nanos, end: Nanos| {
                doers.push(Doer::Task(1));
                items.push(PathItem {
                    kind: PathKind::Wait,
                    name,
                    start,
                    end,
                    slack: slack.unwrap_or_default(),
                    saving_if_halved: saving_of(end - start),
                    origin: None,
                    call: None,
                });
            };
            // From then on nothing but the device is waited for.
            let alone = devices.iter().find(|(_, _, name)| *name == about.name);
            let alone = alone.map(|(from, ..)| *from);
            let alone = alone.filter(|from| *from > ready && *from < about.start);
            if let Some(from) = alone {
                add(format!("wait for {}", about.name), from, about.start);
            }
            let before = format!("before {}", about.name);
            add(before, ready, alone.unwrap_or(about.start));
        }
    }
    if let Some(replay) = replay {
        play_again(&mut items, &doers, replay);
    }
    items.reverse();
    items
}

/// What programs save, from the boot played again without half of what each of them
/// did and waited for by itself.
pub(super) fn programs(record: &Record, replay: &Replay, end: Nanos) -> Vec<PathProgram> {
    let mut by_name: BTreeMap<&str, HashSet<u32>> = BTreeMap::new();
    for process in record.processes() {
        let begun = process.start.unwrap_or(process.first_seen);
        if !process.kernel_thread && begun < end {
            let name = record.name(process.name);
            by_name.entry(name).or_default().insert(process.pid);
        }
    }
    let with_time = by_name
        .into_iter()
        .map(|(n, p)| (replay.own_time(&p), n, p));
    let mut most: Vec<_> = with_time.collect();
    most.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let mut programs: Vec<PathProgram> = Vec::new();
    for (time, name, pids) in most.into_iter().take(MOST_PROGRAMS) {
        let processes = pids.len();
        let within = vec![(replay.from(), end)];
        let saving = replay.saving(&[Less::half(pids, within)]);
        programs.extend(saving.map(|saving| PathProgram {
            name: name.to_owned(),
            processes,
            time,
            saving_if_halved: saving.max(Nanos::ZERO),
        }));
    }
    programs.sort_by_key(|p| -p.saving_if_halved.get());
    programs
}

/// What the longest items save, from the boot played again without half of each.
/// What a task did from one sleep to the next is shortened as a whole, however often
/// others had the processor meanwhile: each part of it has its share.
fn play_again(items: &mut [PathItem], doers: &[Doer], replay: &Replay) {
    let mut wholes: BTreeMap<(Doer, Nanos), Vec<&mut PathItem>> = BTreeMap::new();
    for (item, doer) in items.iter_mut().zip(doers) {
        if item.start < replay.from() || *doer == Doer::Nobody {
            continue;
        }
        let burst = match (doer, item.kind) {
            (Doer::Task(pid), PathKind::Process | PathKind::Initcall) => {
                replay.burst_at(*pid, item.start)
            }
            // A probe may sleep, too: what is not the work of one burst is shortened
            // by itself.
            (Doer::Task(pid), PathKind::Probe | PathKind::Deferral) => replay
                .burst_at(*pid, item.start)
                .filter(|b| item.end <= b.1),
            _ => None,
        };
        let key = (*doer, burst.map_or(item.start, |b| b.0));
        // From the last to the first.
        wholes.entry(key).or_default().insert(0, item);
    }
    let length =
        |whole: &[&mut PathItem]| -> i64 { whole.iter().map(|i| (i.end - i.start).get()).sum() };
    let mut longest: Vec<_> = wholes.into_iter().collect();
    longest.sort_by_key(|(_, whole)| -length(whole));
    for ((doer, _), mut whole) in longest.into_iter().take(MOST_REPLAYS) {
        let pids = match doer {
            Doer::Nobody => None,
            Doer::Unit(name) => replay.of_unit(name).cloned(),
            Doer::Task(pid) => Some(HashSet::from([pid])),
        };
        let Some(pids) = pids else { continue };
        let within = whole.iter().map(|i| (i.start, i.end)).collect();
        let Some(saving) = replay.saving(&[Less::half(pids, within)]) else {
            continue;
        };
        let length = length(&whole);
        let saving = saving.get().clamp(0, length - length / 2);
        let share = |part: i64| {
            let share = i128::from(saving) * i128::from(part) / i128::from(length.max(1));
            i64::try_from(share).unwrap_or(saving)
        };
        let mut before = 0;
        for item in &mut whole {
            let own = (item.end - item.start).get();
            let saves = share(before + own) - share(before);
            // Rounded, it is no more than half.
            item.saving_if_halved = Nanos(saves.min(own - own / 2));
            before += own;
        }
    }
}
