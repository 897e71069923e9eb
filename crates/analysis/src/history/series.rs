//! A time over the entries of a history.

use crate::boots::TimeKind;
use record::Nanos;
use std::collections::BTreeMap;

/// One time, in the entries that have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What kind of time.
    pub kind: TimeKind,
    /// Its name.
    pub name: String,
    /// Entry and time, in order.
    pub points: Vec<(usize, Nanos)>,
    /// What lies between two changes of its level, in order; empty if it was not looked at.
    pub levels: Vec<Level>,
}

/// A stretch of a series without a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The first entry.
    pub from: usize,
    /// The last entry.
    pub to: usize,
    /// The median.
    pub median: Nanos,
}

impl Series {
    /// What it is called in every output.
    #[must_use]
    pub fn label(&self) -> &str {
        match self.kind {
            TimeKind::FirstLight => "first_light",
            _ => &self.name,
        }
    }

    /// The same with points of entries in `from..to` only.
    pub(super) fn within(&self, from: usize, to: usize) -> Self {
        let points = self.points.iter().copied();
        let points = points.filter(|p| (from..to).contains(&p.0)).collect();
        Self {
            points,
            levels: Vec::new(),
            kind: self.kind,
            name: self.name.clone(),
        }
    }

    pub(super) fn values(&self) -> Vec<Nanos> {
        self.points.iter().map(|p| p.1).collect()
    }
}

/// The times of one entry.
pub type EntryTimes = Vec<(TimeKind, String, Nanos)>;

/// All series of entries, by kind and name.
pub(super) fn series<'a>(entries: impl Iterator<Item = &'a EntryTimes>) -> Vec<Series> {
    let mut found: BTreeMap<(TimeKind, &str), Vec<(usize, Nanos)>> = BTreeMap::new();
    for (at, times) in entries.enumerate() {
        for (kind, name, time) in times {
            // First light is one time, whatever mark ends the boot.
            let name = match kind {
                TimeKind::FirstLight => "",
                _ => name.as_str(),
            };
            found.entry((*kind, name)).or_default().push((at, *time));
        }
    }
    let all = found.into_iter().map(|((kind, name), points)| Series {
        kind,
        name: match kind {
            TimeKind::FirstLight => "first light".to_owned(),
            _ => name.to_owned(),
        },
        points,
        levels: Vec::new(),
    });
    all.collect()
}
