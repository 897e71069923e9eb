//! From a store or a table to the entries that are judged.

use super::store;
use crate::error::Result;
use crate::{STDIN, Say, say_left_out};
use ::history::{At, Content, Entry, Part, Table};
use analysis::{Accepted, BlameKind, EntryTimes, HISTORY_RECENT, HistoryEntry, TimeKind};
use inspect::table;
use record::{ClockKind, Nanos, Phase, counted};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Columns that name a row, the best first.
const LABELS: [&str; 13] = [
    "commit", "sha", "revision", "hash", "change", "release", "version", "tag", "build", "date",
    "label", "name", "image",
];

/// The most names that are counted as being at several places.
const MOST_AGAIN: usize = 100;

/// Columns that say when a row was, the best first.
const DATES: [&str; 7] = [
    "date",
    "time",
    "timestamp",
    "datetime",
    "commit date",
    "commit_date",
    "committed",
];

/// Columns that name the release of a row, the best first.
const RELEASES: [&str; 3] = ["release", "version", "tag"];

/// Columns that are of the environment, and what these are called.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("kernel", "kernel"),
    ("machine", "machine"),
    ("board", "machine"),
    ("config", "config"),
];

/// Entries in order, and what is wrong with the input.
pub struct Read {
    /// In their order.
    pub entries: Vec<HistoryEntry>,
    /// The clock of the entries of a store.
    pub clock: Option<ClockKind>,
    /// What was accepted.
    pub accepted: Vec<Accepted>,
    /// One sentence each.
    pub notes: Vec<String>,
}

/// The entries of a table, or those of a store for one machine: that of the newest entry
/// without `machine`. With [`Part::OfBoot`] only the newest entries of a store, in which items are
/// looked at, have their items.
///
/// # Errors
/// The input cannot be read.
pub fn read(input: &Path, machine: Option<&str>, part: Part, say: &Say) -> Result<Read> {
    // A store is a folder, which a file and standard input cannot be.
    match input.is_file() || input == Path::new(STDIN) {
        true => of_table(input, say),
        false => of_store(input, machine, part),
    }
}

fn of_table(path: &Path, say: &Say) -> Result<Read> {
    let read = table::read(path)?;
    let place = |wanted: &str| {
        read.others
            .iter()
            .position(|c| c.eq_ignore_ascii_case(wanted))
    };
    let label = LABELS.iter().find_map(|l| place(l));
    let fields: Vec<(&'static str, usize)> = ENVIRONMENT
        .iter()
        .filter_map(|(column, field)| Some((*field, place(column)?)))
        .collect();
    let date = DATES.iter().find_map(|d| place(d));
    let release = RELEASES.iter().find_map(|r| place(r));
    let release = release.filter(|at| label != Some(*at));
    let mut used: Vec<usize> = fields.iter().map(|f| f.1).collect();
    used.extend(label.into_iter().chain(date).chain(release));
    let used: Vec<&str> = used
        .iter()
        .filter_map(|at| read.others.get(*at).map(String::as_str))
        .collect();
    say_left_out(path, &table::left_out(&read, &used), say);
    let text = |row: &::history::Row, at: usize| row.others.get(at).cloned().unwrap_or_default();
    let entry = |(number, row): (usize, &::history::Row)| {
        let label = label.map(|at| text(row, at)).filter(|l| !l.is_empty());
        let environment = fields.iter().map(|(field, at)| (*field, text(row, *at)));
        let release = release.map(|at| text(row, at)).filter(|r| !r.is_empty());
        HistoryEntry {
            label: label.unwrap_or_else(|| format!("row {}", number + 1)),
            environment: environment.filter(|(_, v)| !v.is_empty()).collect(),
            marks: release.as_deref().map(marked).into_iter().collect(),
            times: of_row(&read, row),
        }
    };
    let mut entries: Vec<HistoryEntry> = read.rows.iter().enumerate().map(entry).collect();
    let dates = read
        .rows
        .iter()
        .filter_map(|r| At::parse(&text(r, date?)).ok());
    let dates: Vec<At> = dates.collect();
    let back = dates.windows(2).filter(|w| w[1] < w[0]).count();
    let forth = dates.windows(2).filter(|w| w[1] > w[0]).count();
    let mut notes = Vec::new();
    if back > 0 && forth == 0 && dates.len() == entries.len() {
        entries.reverse();
        notes.push("the newest row is the first: rows are read from the last one up".to_owned());
    } else if back > 0 {
        notes.push(format!(
            "dated before the row above: {}; rows are read in the order of the file",
            counted(back, "row")
        ));
    }
    notes.extend(apart(&entries));
    Ok(Read {
        entries,
        clock: None,
        accepted: Vec::new(),
        notes,
    })
}

/// Entries with the same label that others part: each place counts for itself.
fn apart(entries: &[HistoryEntry]) -> Option<String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut again: Vec<&str> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let label = entry.label.as_str();
        if let Some(before) = seen.insert(label, at)
            && before + 1 != at
            && !again.contains(&label)
            && again.len() < MOST_AGAIN
        {
            again.push(label);
        }
    }
    let first = again.first()?;
    let count = match again.len() {
        MOST_AGAIN => format!("at least {}", counted(MOST_AGAIN, "name")),
        n => counted(n, "name"),
    };
    Some(format!(
        "at several places of the history: {count}, such as {first}; only neighbors with one name \
         count as boots of one commit"
    ))
}

fn of_row(table: &Table, row: &::history::Row) -> EntryTimes {
    let cells = table.times.iter().zip(&row.times).enumerate();
    let times = cells.filter_map(|(at, (name, time))| {
        Some((TimeKind::Column(at), name.clone(), Nanos((*time)?)))
    });
    times.collect()
}

fn of_store(input: &Path, machine: Option<&str>, part: Part) -> Result<Read> {
    let most = match part {
        Part::Whole => usize::MAX,
        Part::OfBoot => HISTORY_RECENT,
    };
    let store = store::read(input, most)?;
    let mut notes = store.notes;
    let names = store.files.iter().filter_map(|f| f.file_name());
    let names: Vec<String> = names.map(|n| n.to_string_lossy().into_owned()).collect();
    let order = ::history::ordered(&store.entries, &names);
    for (count, what) in [
        (
            order.without_place,
            "without a date, number or release, and put first",
        ),
        (order.backwards, "dated before an older release"),
        (
            order.unset_clock,
            "dated before 2000, when the clock was not set",
        ),
    ] {
        if count > 0 {
            notes.push(format!("{what}: {}", counted(count, "entry")));
        }
    }
    let has = |wanted: fn(&At) -> bool| {
        store
            .entries
            .iter()
            .any(|e| e.at.is_some_and(|at| wanted(&at)))
    };
    if has(|at| matches!(at, At::Sequence(_))) && has(|at| matches!(at, At::Date(_))) {
        notes.push("some entries have a number and others a date; numbers come first".to_owned());
    }
    let places = order.places.iter();
    let ordered = places.filter_map(|i| Some((store.entries.get(*i)?, store.files.get(*i)?)));
    let ordered: Vec<(&Entry, &PathBuf)> = ordered.collect();
    // The newest entry of the machine says which clock and which zero are judged.
    let is_machine = |e: &&(&Entry, &PathBuf)| match machine {
        Some(machine) => e.0.environment.machine.as_deref() == Some(machine),
        None => true,
    };
    let Some((newest, _)) = ordered.iter().rev().find(is_machine) else {
        if let Some(machine) = machine {
            notes.push(format!("no entry is of the machine {machine}"));
        }
        return Ok(Read {
            entries: Vec::new(),
            clock: None,
            accepted: Vec::new(),
            notes,
        });
    };
    let is_virtual = |e: &Entry| e.clock.as_deref() == Some("virtual");
    let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
    let mut used = Vec::new();
    for (entry, file) in &ordered {
        let machine = |e: &Entry| e.environment.machine.clone().unwrap_or_default();
        let why = if machine(entry) != machine(newest) {
            format!("of the machine {}", named(&machine(entry)))
        } else if is_virtual(entry) != is_virtual(newest) {
            "on a different clock".to_owned()
        } else if entry.first_light.is_some() && entry.zero != newest.zero {
            let zero = entry.zero.as_deref().unwrap_or_default();
            format!("measured from {}", named(zero))
        } else {
            used.push((*entry, *file));
            continue;
        };
        *left_out.entry(why).or_default() += 1;
    }
    for (why, count) in left_out {
        let entries = counted(count, "entry");
        notes.push(format!("left out: {entries} {why}"));
    }
    let mut accepted: BTreeMap<(String, Option<String>), (bool, String)> = BTreeMap::new();
    let mut entries: Vec<HistoryEntry> = used.iter().map(|u| of_entry(u.0)).collect();
    if store.part == Part::OfBoot {
        let recent = used.len().saturating_sub(HISTORY_RECENT);
        let files = used.iter().skip(recent).map(|u| u.1.clone());
        let whole = store::of_files(&files.collect::<Vec<_>>(), Part::Whole);
        for (entry, content) in entries.iter_mut().skip(recent).zip(whole) {
            // It was read a moment ago.
            if let Content::Entry(whole) = content? {
                entry.times = times(&whole);
            }
        }
    }
    for note in store.annotations {
        if note.remark {
            let text = match &note.item {
                Some(item) => format!("{item}: {}", note.text),
                None => note.text,
            };
            let meant = entries.iter_mut().filter(|e| e.label == note.label);
            meant.for_each(|e| e.marks.push(text.clone()));
            continue;
        }
        // In the order in which they were written: the last one counts.
        accepted.insert((note.label, note.item), (note.accepted, note.text));
    }
    let accepted = accepted.into_iter().filter(|(_, (is, _))| *is);
    let clock = newest.clock.as_deref();
    notes.extend(apart(&entries));
    Ok(Read {
        entries,
        clock: ClockKind::ALL
            .into_iter()
            .find(|k| Some(k.as_str()) == clock),
        accepted: accepted
            .map(|((label, item), (_, why))| Accepted { label, item, why })
            .collect(),
        notes,
    })
}

fn named(name: &str) -> &str {
    match name {
        "" => "without a name",
        name => name,
    }
}

fn marked(release: &str) -> String {
    format!("release {release}")
}

fn of_entry(entry: &Entry) -> HistoryEntry {
    let environment = &entry.environment;
    let fields = [
        ("kernel", &environment.kernel),
        ("machine", &environment.machine),
        ("config", &environment.config),
    ];
    let release = entry.commit.as_ref().and(entry.release.as_deref());
    HistoryEntry {
        label: entry.label(),
        marks: release.map(marked).into_iter().collect(),
        environment: fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?)))
            .collect(),
        times: times(entry),
    }
}

/// The times of an entry, without those of kinds that a later version may know.
pub(crate) fn times(entry: &Entry) -> EntryTimes {
    let mut times: EntryTimes = Vec::with_capacity(entry.times.len() + 1);
    if let Some(light) = &entry.first_light {
        times.push((TimeKind::FirstLight, light.mark.clone(), Nanos(light.ns)));
    }
    let known = entry.times.iter();
    times.extend(known.filter_map(|t| Some((kind(&t.0, &t.1)?, t.1.clone(), Nanos(t.2)))));
    times
}

/// The kind of a time by its word; `None` for one that a later version may know.
fn kind(word: &str, name: &str) -> Option<TimeKind> {
    match word {
        "total" => Some(TimeKind::Total),
        "phase" => {
            let phase = Phase::ALL.into_iter().find(|p| p.as_str() == name)?;
            Some(TimeKind::Phase(phase))
        }
        // Columns of several tables are told by their names.
        "column" => Some(TimeKind::Column(0)),
        "milestone" => Some(TimeKind::Milestone),
        "work" => Some(TimeKind::Work),
        "unit_work" => Some(TimeKind::WorkOf(BlameKind::Unit)),
        "process_work" => Some(TimeKind::WorkOf(BlameKind::Process)),
        "initcall_work" => Some(TimeKind::WorkOf(BlameKind::Initcall)),
        word => BlameKind::named(word).map(TimeKind::Item),
    }
}
