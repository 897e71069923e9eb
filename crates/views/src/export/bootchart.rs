//! Processor and disks over time, and below them the tree of processes with what each
//! did, as one picture: what bootchart is for.

use super::drawing::{Anchor, Color, Shape, TEXT, Weight};
use super::label::shortened;
use super::sheet::{BAR, CHART, GROUND, LEFT, ROW, Sheet, Span};
use crate::words::{bytes, thousands};
use analysis::{About, Counter, Phases, Slice, Track, TrackKind, Tracks};
use record::{Nanos, Record, TaskState};
use std::collections::{BTreeMap, BTreeSet};

/// The height of a chart.
const HIGH: u32 = 80;

/// How many processes are drawn: those that did most, and whom they come from.
const MOST_PROCESSES: usize = 120;

const USER: Color = [0x00, 0x72, 0xb2];
const SYSTEM: Color = [0x56, 0xb4, 0xe9];
const WAITING: Color = [0xe6, 0x9f, 0x00];
const READ: Color = [0x00, 0x9e, 0x73];
const WRITE: Color = [0xd5, 0x5e, 0x00];
const ALIVE: Color = [0xdf; 3];
const JOIN: Color = [0xb8; 3];

/// What a process did, as it is drawn; sleeping is its ground.
const DID: [(TaskState, Color, &str); 4] = [
    (TaskState::Running, USER, "running"),
    (TaskState::Runnable, [0xf0, 0xe4, 0x42], "waiting for a CPU"),
    (TaskState::Blocked, WRITE, "blocked, mostly on storage"),
    (TaskState::Zombie, [0x55; 3], "zombie"),
];

/// The picture; `title` stands on top.
#[must_use]
pub fn bootchart(record: &Record, tracks: &Tracks<'_>, phases: &Phases, title: &str) -> String {
    let mut sheet = Sheet::new(record, title);
    let processes = tracks.groups.iter().find(|g| g.kind == TrackKind::Process);
    let processes = processes.map_or(&[][..], |g| &g.tracks);
    let lives = processes.iter().filter_map(|t| t.slices.first());
    let samples = tracks.counters.iter().flat_map(|c| c.samples).map(|s| s.at);
    let ends = lives.clone().map(|s| s.end).chain(samples.clone());
    let (Some(from), Some(to)) = (lives.map(|s| s.start).chain(samples).min(), ends.max()) else {
        sheet.remark(
            "No processes and no CPU or disk readings were found in the input. Record them with \
             bootchart, or with the sampler of `firstlight capture`.",
        );
        return sheet.svg();
    };
    let mut span = Span {
        from: from.min(Nanos::ZERO),
        to,
    };
    if from > Nanos::ZERO && (to - from).get() < from.get() {
        // What came long before has nothing to show here.
        span.from = from;
    }
    charts(&mut sheet, &tracks.counters, span);
    tree(&mut sheet, processes, span);
    let first_light = phases.first_light.as_ref().map(|f| f.at);
    sheet.remark(&match first_light {
        Some(at) => format!(
            "First light at {at}. The picture covers {} to {to}.",
            span.from
        ),
        None => format!("The picture covers {} to {to}.", span.from),
    });
    sheet.svg()
}

/// Where each column of a chart stands for a part of the time: the value that was read
/// at its end, or next after it.
fn columns(counter: &Counter<'_>, span: Span) -> Vec<i64> {
    let mut columns = vec![0; CHART as usize];
    let mut from = None;
    for sample in counter.samples {
        let x = span.x(sample.at).saturating_sub(LEFT) as usize;
        // A rate is of the time since the reading before; the first has none.
        let start = from.map_or(x, |before| before + 1).min(x);
        for column in columns.iter_mut().take(x + 1).skip(start) {
            *column = sample.value.max(0).max(*column);
        }
        from = Some(x);
    }
    columns
}

/// Readings, each standing on the ones before, and the most that stands anywhere.
fn stacked(
    counters: &[(Option<&Counter<'_>>, Color, &'static str)],
    span: Span,
) -> (Vec<Area>, i64) {
    let mut areas: Vec<Area> = Vec::new();
    for &(counter, color, says) in counters {
        let Some(counter) = counter else { continue };
        let mut values = columns(counter, span);
        if let Some(below) = areas.last() {
            for (value, below) in values.iter_mut().zip(&below.values) {
                *value = value.saturating_add(*below);
            }
        }
        areas.push(Area {
            values,
            color,
            says,
        });
    }
    let top = areas.last().and_then(|a| a.values.iter().max());
    let most = top.copied().unwrap_or(0);
    (areas, most)
}

/// What one color of a chart reaches up to, column by column.
struct Area {
    values: Vec<i64>,
    color: Color,
    says: &'static str,
}

/// The readings of the whole machine: processors, then disks.
fn charts(sheet: &mut Sheet, counters: &[Counter<'_>], span: Span) {
    let of = |name: &str| counters.iter().find(|c| c.name == name);
    let (areas, _) = stacked(
        &[
            (of("cpu.busy"), USER, "busy"),
            (of("cpu.user"), USER, "programs"),
            (of("cpu.system"), SYSTEM, "kernel"),
            (
                of("cpu.wait").or_else(|| of("cpu.iowait")),
                WAITING,
                "idle, waiting for storage",
            ),
        ],
        span,
    );
    if !areas.is_empty() {
        sheet.heading("CPU", "");
        chart(sheet, areas, span, (1_000, "100 %"));
    }
    let disks = [
        (of("disk.read"), READ, "read"),
        (of("disk.write"), WRITE, "written"),
    ];
    let (areas, most) = stacked(&disks, span);
    if most > 0 {
        sheet.heading("Disks", "");
        let scale = format!("{}/s", bytes(most.unsigned_abs()));
        chart(sheet, areas, span, (most, &scale));
    }
}

/// Areas on one ground, the last one behind; `scale` is what its top stands for.
fn chart(sheet: &mut Sheet, areas: Vec<Area>, span: Span, scale: (i64, &str)) {
    let legend: Vec<(Color, &str)> = areas.iter().map(|a| (a.color, a.says)).collect();
    sheet.legend(&legend);
    sheet.rectangle((LEFT, sheet.y + 20), (CHART, HIGH), GROUND);
    let top = sheet.begin();
    let at = (LEFT - 8, sheet.y + 10);
    sheet.text(at, Anchor::End, Weight::Plain, scale.1.to_owned());
    let at = (LEFT - 8, sheet.y + HIGH);
    sheet.text(at, Anchor::End, Weight::Plain, "0".to_owned());
    let height = |value: &i64| {
        let share = i128::from(*value) * i128::from(HIGH) / i128::from(scale.0.max(1));
        u32::try_from(share).unwrap_or(HIGH).min(HIGH)
    };
    for area in areas.iter().rev() {
        sheet.shapes.push(Shape::Columns {
            at: (LEFT, sheet.y + HIGH),
            heights: area.values.iter().map(height).collect(),
            color: area.color,
            says: area.says,
        });
    }
    sheet.y += HIGH;
    sheet.axis(top, span);
}

/// A process: its life first, then what it did.
struct Process<'t> {
    life: &'t Slice<'t>,
    did: &'t [Slice<'t>],
    pid: u32,
    parent: Option<u32>,
}

impl<'t> Process<'t> {
    fn of(track: &'t Track<'t>) -> Option<Self> {
        let (life, did) = track.slices.split_first()?;
        let About::Process { pid, parent } = life.about else {
            return None;
        };
        Some(Self {
            life,
            did,
            pid,
            parent,
        })
    }

    /// How long it did something, or waited for it.
    fn busy(&self) -> i64 {
        self.did.iter().map(|s| (s.end - s.start).get()).sum()
    }
}

/// Processes below the ones that started them.
fn tree(sheet: &mut Sheet, tracks: &[Track<'_>], span: Span) {
    let all: Vec<Process<'_>> = tracks.iter().filter_map(Process::of).collect();
    if all.is_empty() {
        return;
    }
    let chosen = chosen(&all);
    let about = match chosen.len() < all.len() {
        true => format!(
            "{} of {}: the busiest, and their ancestors",
            chosen.len(),
            thousands(all.len() as u64)
        ),
        false => thousands(all.len() as u64),
    };
    sheet.heading("Processes", &about);
    let mut legend: Vec<(Color, &str)> = vec![(ALIVE, "sleeping")];
    let occurs = |state: TaskState| {
        all.iter()
            .any(|p| p.did.iter().any(|s| s.name == state.as_str()))
    };
    legend.extend(
        DID.iter()
            .filter(|(state, ..)| occurs(*state))
            .map(|(_, c, says)| (*c, *says)),
    );
    sheet.legend(&legend);
    let top = sheet.begin();
    let order: Vec<&Process<'_>> = in_tree(&all, &chosen)
        .into_iter()
        .filter_map(|i| all.get(i))
        .collect();
    join(sheet, &order, span);
    for process in order {
        life(sheet, process, span);
    }
    sheet.axis(top, span);
}

/// Lines from processes up to those that started them, behind what comes.
fn join(sheet: &mut Sheet, order: &[&Process<'_>], span: Span) {
    let mut rows: BTreeMap<u32, u32> = BTreeMap::new();
    let mut y = sheet.y;
    for process in order {
        if let Some(&above) = process.parent.and_then(|p| rows.get(&p)) {
            let x = span.x(process.life.start).saturating_sub(1);
            let from = (x, y + BAR / 2);
            for to in [(x, above + BAR), (x + 3, y + BAR / 2)] {
                sheet.shapes.push(Shape::Line {
                    from,
                    to,
                    color: JOIN,
                });
            }
        }
        rows.insert(process.pid, y);
        y += ROW;
    }
}

/// Those that did most, with those that started them.
fn chosen(all: &[Process<'_>]) -> BTreeSet<usize> {
    if all.len() <= MOST_PROCESSES {
        return (0..all.len()).collect();
    }
    let mut places: Vec<usize> = (0..all.len()).collect();
    places.sort_by_cached_key(|&i| {
        let key = all.get(i).map(|p| (p.busy(), p.life.end - p.life.start));
        (std::cmp::Reverse(key), i)
    });
    let by_pid: BTreeMap<u32, usize> = all.iter().enumerate().map(|(i, p)| (p.pid, i)).collect();
    let mut chosen = BTreeSet::new();
    for place in places {
        if chosen.len() >= MOST_PROCESSES {
            break;
        }
        let mut next = Some(place);
        // Of a parent that is its own ancestor, each is taken once.
        while let Some(place) = next.filter(|p| chosen.insert(*p)) {
            let parent = all.get(place).and_then(|p| p.parent);
            next = parent.and_then(|p| by_pid.get(&p).copied());
        }
    }
    chosen
}

/// The places of the chosen ones, each before those that it started, in the order of
/// their starts.
fn in_tree(all: &[Process<'_>], chosen: &BTreeSet<usize>) -> Vec<usize> {
    let pids: BTreeSet<u32> = chosen
        .iter()
        .filter_map(|&i| Some(all.get(i)?.pid))
        .collect();
    let mut children: BTreeMap<Option<u32>, Vec<usize>> = BTreeMap::new();
    for &place in chosen {
        let Some(process) = all.get(place) else {
            continue;
        };
        let parent = process
            .parent
            .filter(|p| *p != process.pid && pids.contains(p));
        children.entry(parent).or_default().push(place);
    }
    for places in children.values_mut() {
        places.sort_by_key(|&i| {
            all.get(i)
                .map(|p| (std::cmp::Reverse(p.life.start), std::cmp::Reverse(p.pid)))
        });
    }
    let mut order = Vec::new();
    let mut next = children.remove(&None).unwrap_or_default();
    // Each list of children is taken out once, so a circle ends.
    while let Some(place) = next.pop() {
        order.push(place);
        let pid = all.get(place).map(|p| p.pid);
        next.extend(children.remove(&pid).unwrap_or_default());
    }
    order
}

/// One process: how long it lived, and what it did.
fn life(sheet: &mut Sheet, process: &Process<'_>, span: Span) {
    let (x, width) = span.columns(process.life.start, process.life.end);
    let name = format!("{} ({})", process.life.name, process.pid);
    let lived = process.life.end - process.life.start;
    let says = format!("{name}: {lived}, starts at {}", process.life.start);
    sheet.bar((x, sheet.y), (width, BAR), ALIVE, says);
    for (state, color, says) in DID {
        let mut runs: Vec<(u32, u32, u32)> = Vec::new();
        let y = sheet.y + BAR / 2;
        for slice in process.did.iter().filter(|s| s.name == state.as_str()) {
            let (x, width) = span.columns(slice.start, slice.end);
            match runs.last_mut() {
                Some((from, _, length)) if x <= *from + *length => {
                    *length = (*length).max(x + width - *from);
                }
                _ => runs.push((x, y, width)),
            }
        }
        if !runs.is_empty() {
            sheet.shapes.push(Shape::Runs {
                runs,
                thick: BAR - 2,
                color,
                says,
            });
        }
    }
    let text = shortened(&name, 28);
    // The name stands behind the bar, or before one that ends near the right edge.
    let (x, anchor) = match x + width < LEFT + CHART - 110 {
        true => (x + width + 4, Anchor::Start),
        false => (x.saturating_sub(6), Anchor::End),
    };
    sheet.shapes.push(Shape::Text {
        at: (x, sheet.y + BAR - 2),
        anchor,
        weight: Weight::Plain,
        color: TEXT,
        text,
    });
    sheet.y += ROW;
}
