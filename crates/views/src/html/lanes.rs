//! The lanes of a page: intervals, instants, readings and log lines in columns.

use super::column::Column;
use analysis::{About, Chart, Counter, Slice, TrackGroup};
use record::{Doubt, Nanos, Origin};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Texts, each once; what is drawn names them by number.
#[derive(Default)]
pub(super) struct Texts<'r> {
    all: Vec<&'r str>,
    numbers: HashMap<&'r str, i64>,
}

impl<'r> Texts<'r> {
    fn number(&mut self, text: &'r str) -> i64 {
        let next = i64::try_from(self.all.len()).unwrap_or(i64::MAX);
        *self.numbers.entry(text).or_insert_with(|| {
            self.all.push(text);
            next
        })
    }
}

/// Timeline of a boot, in columns.
#[derive(JsonSchema, Serialize)]
pub(super) struct Lanes<'r> {
    /// Texts. Columns of texts hold indexes of this array.
    texts: Vec<&'r str>,
    /// Intervals.
    groups: Vec<Group>,
    /// Marks: names, times, evidence.
    marks: Columns,
    /// Periodic readings.
    counters: Vec<Readings<'r>>,
    /// Log lines: times, levels, texts, evidence.
    messages: Columns,
    /// Dependencies between units.
    dependencies: Columns,
    /// Number of intervals left out: the shortest ones.
    slices_left_out: usize,
    /// Number of log lines left out: the last ones.
    messages_left_out: usize,
}

type Columns = BTreeMap<&'static str, Column>;

/// Tracks of one group. Intervals of the first track come first.
#[derive(JsonSchema, Serialize)]
struct Group {
    /// Kind of group.
    kind: &'static str,
    /// Name of the group.
    name: String,
    /// Number of intervals of each track.
    sizes: Column,
    /// Name of each track. Missing if no track has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    tracks: Option<Column>,
    /// Number of intervals.
    count: usize,
    /// Columns with one value for each interval.
    columns: Columns,
}

/// A series of periodic readings.
#[derive(JsonSchema, Serialize)]
struct Readings<'r> {
    /// Quantity.
    name: &'r str,
    /// Unit of the values.
    unit: &'static str,
    /// Times.
    at: Column,
    /// Values.
    values: Column,
}

impl<'r> Lanes<'r> {
    pub(super) fn of(chart: &'r Chart<'r>) -> Self {
        let mut texts = Texts::default();
        let groups = chart.tracks.groups.iter();
        let groups = groups.map(|g| group(g, &mut texts)).collect();
        let instants = &chart.tracks.instants;
        let mut marks = origins(|| instants.iter().map(|i| Some(i.origin)));
        marks.insert(
            "name",
            Column::plain(instants.iter().map(|i| texts.number(i.name)).collect()),
        );
        marks.insert(
            "at",
            Column::growing(instants.iter().map(|i| i.at.get()).collect()),
        );
        let all = &chart.messages;
        let mut messages = origins(|| all.iter().map(|m| Some(m.origin)));
        messages.insert(
            "text",
            Column::growing(all.iter().map(|m| texts.number(m.text)).collect()),
        );
        let times = all.iter().map(|m| m.at.map(Nanos::get));
        let times = match times.clone().collect::<Option<Vec<i64>>>() {
            Some(times) => Some(Column::growing(times)),
            None => Column::some(times),
        };
        add(&mut messages, "at", times);
        let levels = Column::some(all.iter().map(|m| m.level.map(i64::from)));
        add(&mut messages, "level", levels);
        let all = &chart.dependencies;
        let dependencies = BTreeMap::from([
            (
                "from",
                Column::plain(all.iter().map(|d| texts.number(d.from)).collect()),
            ),
            (
                "to",
                Column::plain(all.iter().map(|d| texts.number(d.to)).collect()),
            ),
            (
                "kind",
                Column::plain(all.iter().map(|d| d.kind as i64).collect()),
            ),
        ]);
        Self {
            groups,
            marks,
            counters: chart.tracks.counters.iter().map(readings).collect(),
            messages,
            dependencies,
            slices_left_out: chart.slices_left_out,
            messages_left_out: chart.messages_left_out,
            texts: texts.all,
        }
    }
}

fn readings<'r>(counter: &'r Counter<'r>) -> Readings<'r> {
    let samples = counter.samples;
    Readings {
        name: &counter.name,
        unit: counter.unit.as_str(),
        at: Column::growing(samples.iter().map(|s| s.at.get()).collect()),
        values: Column::growing(samples.iter().map(|s| s.value).collect()),
    }
}

fn group<'r>(group: &'r TrackGroup<'r>, texts: &mut Texts<'r>) -> Group {
    let slices = || group.tracks.iter().flat_map(|t| &t.slices);
    let mut columns = origins(|| slices().map(|s| s.origin));
    columns.insert(
        "start",
        Column::growing(slices().map(|s| s.start.get()).collect()),
    );
    columns.insert(
        "length",
        Column::plain(slices().map(|s| (s.end - s.start).get()).collect()),
    );
    columns.insert(
        "name",
        Column::plain(slices().map(|s| texts.number(&s.name)).collect()),
    );
    let by = Column::some(slices().map(|s| s.by.map(|by| texts.number(by))));
    add(&mut columns, "by", by);
    let of = Column::some(slices().map(|s| s.of.map(|of| texts.number(of))));
    add(&mut columns, "of", of);
    let doubts = Column::some(slices().map(|s| doubt(s).map(|d| texts.number(d.as_str()))));
    add(&mut columns, "doubt", doubts);
    for (name, value) in VALUES {
        add(&mut columns, name, Column::some(slices().map(value)));
    }
    let names = || group.tracks.iter().map(|t| t.name.as_deref());
    let tracks = Column::some(names().map(|n| n.map(|n| texts.number(n))));
    Group {
        kind: group.kind.as_str(),
        name: group.name.clone().into_owned(),
        sizes: Column::plain(group.tracks.iter().map(|t| whole(t.slices.len())).collect()),
        tracks,
        count: slices().count(),
        columns,
    }
}

/// A column, and what it holds of an interval.
type Value = (&'static str, fn(&Slice<'_>) -> Option<i64>);

const VALUES: [Value; 6] = [
    ("reported", |s| match s.about {
        About::Span { reported, .. } => reported.map(Nanos::get),
        _ => None,
    }),
    ("outcome", |s| match s.about {
        About::Span { outcome, .. } => outcome.map(i64::from),
        _ => None,
    }),
    ("pid", |s| match s.about {
        About::Process { pid, .. } => Some(i64::from(pid)),
        _ => None,
    }),
    ("parent", |s| match s.about {
        About::Process { parent, .. } => parent.map(i64::from),
        _ => None,
    }),
    ("bytes", |s| match s.about {
        About::File { bytes } | About::Request { bytes, .. } => Some(whole(bytes)),
        _ => None,
    }),
    ("sector", |s| match s.about {
        About::Request { sector, .. } => Some(whole(sector)),
        _ => None,
    }),
];

fn doubt(slice: &Slice<'_>) -> Option<Doubt> {
    match slice.about {
        About::Span { doubt, .. } => doubt,
        _ => None,
    }
}

/// Where evidence stands: the number of the source, and the byte.
fn origins<I: Iterator<Item = Option<Origin>>>(all: impl Fn() -> I) -> Columns {
    let source = |o: Option<Origin>| o.map(|o| whole(o.source.index()));
    let mut columns = Columns::new();
    add(&mut columns, "source", Column::some(all().map(source)));
    let places = all().map(|o| o.map(|o| whole(o.offset)));
    let places = match places.collect::<Option<Vec<i64>>>() {
        Some(places) => Some(Column::growing(places)),
        None => Column::some(all().map(|o| o.map(|o| whole(o.offset)))),
    };
    add(&mut columns, "offset", places);
    columns
}

fn add(columns: &mut Columns, name: &'static str, column: Option<Column>) {
    if let Some(column) = column {
        columns.insert(name, column);
    }
}

fn whole(n: impl TryInto<i64>) -> i64 {
    n.try_into().unwrap_or(i64::MAX)
}
