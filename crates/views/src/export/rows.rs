//! What every event has, whatever the format: a row.

use analysis::{About, Slice, Tracks};
use csv::Writer;
use record::{Nanos, Origin, Record};

/// A value that is particular to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'r> {
    /// A number.
    Number(i64),
    /// A word.
    Text(&'r str),
}

/// What is known of an event besides its name and times, by name.
pub(super) fn arguments<'r>(
    record: &'r Record,
    about: Option<&About>,
    origin: Option<Origin>,
) -> Vec<(&'static str, Value<'r>)> {
    let number = |n: u64| Value::Number(i64::try_from(n).unwrap_or(i64::MAX));
    let mut all = Vec::new();
    match about {
        None | Some(About::Plain) => {}
        Some(About::Span {
            reported,
            doubt,
            outcome,
        }) => {
            all.extend(reported.map(|r| ("reported_ns", Value::Number(r.get()))));
            all.extend(doubt.map(|d| ("doubt", Value::Text(d.as_str()))));
            all.extend(outcome.map(|o| ("outcome", Value::Number(o.into()))));
        }
        Some(About::Process { pid, parent }) => {
            all.push(("pid", Value::Number((*pid).into())));
            all.extend(parent.map(|p| ("parent", Value::Number(p.into()))));
        }
        Some(About::File { bytes }) => all.push(("bytes", number(*bytes))),
        Some(About::Request { sector, bytes }) => {
            all.push(("sector", number(*sector)));
            all.push(("bytes", number(*bytes)));
        }
    }
    if let Some(origin) = origin {
        let source = record.source(origin.source).map_or("", |s| &s.name);
        all.push(("source", Value::Text(source)));
        all.push(("offset", number(origin.offset)));
    }
    all
}

/// The earliest time of all; zero if there is none.
pub(super) fn first_time(tracks: &Tracks<'_>) -> Nanos {
    let slices = tracks.groups.iter().flat_map(|g| &g.tracks);
    let slices = slices.filter_map(|t| t.slices.first()).map(|s| s.start);
    let instants = tracks.instants.iter().map(|i| i.at);
    let samples = tracks.counters.iter().filter_map(|c| c.samples.first());
    let samples = samples.map(|s| s.at);
    let first = slices.chain(instants).chain(samples).min();
    first.unwrap_or_default()
}

/// The last time of all; zero if there is none.
pub(super) fn last_time(tracks: &Tracks<'_>) -> Nanos {
    let slices = tracks.groups.iter().flat_map(|g| &g.tracks);
    let slices = slices.flat_map(|t| &t.slices).map(|s| s.end);
    let instants = tracks.instants.iter().map(|i| i.at);
    let samples = tracks.counters.iter().filter_map(|c| c.samples.last());
    let samples = samples.map(|s| s.at);
    let last = slices.chain(instants).chain(samples).max();
    last.unwrap_or_default()
}

/// One event of a boot, in columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub kind: &'a str,
    pub track: &'a str,
    pub name: &'a str,
    pub start: Nanos,
    pub end: Option<Nanos>,
    /// A counter's reading.
    pub value: Option<i64>,
    pub about: Option<&'a About>,
    pub origin: Option<Origin>,
}

/// Every event, group by group.
pub(super) fn each_row<'a>(tracks: &'a Tracks<'_>, mut give: impl FnMut(Row<'a>)) {
    for instant in &tracks.instants {
        give(Row {
            kind: "mark",
            track: "marks",
            name: instant.name,
            start: instant.at,
            end: None,
            value: None,
            about: None,
            origin: Some(instant.origin),
        });
    }
    for group in &tracks.groups {
        for track in &group.tracks {
            for slice in &track.slices {
                let slice: &Slice<'_> = slice;
                give(Row {
                    kind: group.kind.as_str(),
                    track: track.name.as_deref().unwrap_or(&group.name),
                    name: &slice.name,
                    start: slice.start,
                    end: Some(slice.end),
                    value: None,
                    about: Some(&slice.about),
                    origin: slice.origin,
                });
            }
        }
    }
    for counter in &tracks.counters {
        for sample in counter.samples {
            give(Row {
                kind: "counter",
                track: &counter.name,
                name: counter.unit.as_str(),
                start: sample.at,
                end: None,
                value: Some(sample.value),
                about: None,
                origin: None,
            });
        }
    }
}

/// Every event as comma-separated values, with a line of names first. Times
/// are integer nanoseconds; what is not known is empty.
///
/// # Errors
///
/// Whatever writing to `out` fails with.
pub fn csv(record: &Record, tracks: &Tracks<'_>, out: impl std::io::Write) -> std::io::Result<()> {
    let mut writer = Writer::from_writer(out);
    writer.write_record([
        "kind", "track", "name", "start_ns", "end_ns", "value", "doubt", "bytes", "sector", "pid",
        "source", "offset",
    ])?;
    let mut failed = None;
    each_row(tracks, |row| {
        if failed.is_some() {
            return;
        }
        let arguments = arguments(record, row.about, row.origin);
        let argument = |name: &str| {
            let found = arguments.iter().find(|a| a.0 == name);
            found.map_or_else(String::new, |(_, value)| match value {
                Value::Number(n) => n.to_string(),
                Value::Text(t) => (*t).to_owned(),
            })
        };
        let number = |n: Option<i64>| n.map_or_else(String::new, |n| n.to_string());
        let written = writer.write_record([
            row.kind,
            row.track,
            row.name,
            &row.start.get().to_string(),
            &number(row.end.map(Nanos::get)),
            &number(row.value),
            &argument("doubt"),
            &argument("bytes"),
            &argument("sector"),
            &argument("pid"),
            &argument("source"),
            &argument("offset"),
        ]);
        failed = written.err();
    });
    match failed {
        Some(error) => Err(error.into()),
        None => writer.flush(),
    }
}
