//! Everything of a boot that a page can draw, within bounds.

use crate::io::Owners;
use crate::phases::Phases;
use crate::tracks::{Tracks, tracks_with};
use record::{DependencyKind, Nanos, Origin, Record};

/// How much a chart holds at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChartLimits {
    /// Intervals: of more, the longest.
    pub slices: usize,
    /// Log lines: of more, the first.
    pub messages: usize,
    /// The bytes of all log lines together.
    pub message_bytes: usize,
    /// Dependencies between units: of more, the first.
    pub dependencies: usize,
}

impl Default for ChartLimits {
    fn default() -> Self {
        Self {
            slices: 1_000_000,
            messages: 50_000,
            message_bytes: 4 << 20,
            dependencies: 50_000,
        }
    }
}

/// A log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChartMessage<'r> {
    /// When it was stamped; `None` if it carries no time.
    pub at: Option<Nanos>,
    /// The syslog level, 0 to 7, where the log says it.
    pub level: Option<u8>,
    /// What it says.
    pub text: &'r str,
    /// The evidence.
    pub origin: Origin,
}

/// One unit depends on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChartDependency<'r> {
    /// The one that waits.
    pub from: &'r str,
    /// The one that is waited for.
    pub to: &'r str,
    /// How.
    pub kind: DependencyKind,
}

/// A boot as a page draws it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart<'r> {
    /// Intervals, instants and readings.
    pub tracks: Tracks<'r>,
    /// How many intervals are not there: the shortest, past the limit.
    pub slices_left_out: usize,
    /// Log lines, in the order of their evidence.
    pub messages: Vec<ChartMessage<'r>>,
    /// How many log lines are not there: the last, past the limits.
    pub messages_left_out: usize,
    /// Which unit depends on which.
    pub dependencies: Vec<ChartDependency<'r>>,
}

/// A boot as a page draws it; `owners` says which files requests are for.
#[must_use]
pub fn chart<'r>(
    record: &'r Record,
    phases: &Phases,
    owners: Option<&'r Owners>,
    limits: ChartLimits,
) -> Chart<'r> {
    let mut tracks = tracks_with(record, phases, owners);
    let slices_left_out = keep_longest(&mut tracks, limits.slices);
    let mut bytes = 0_usize;
    let all = record.messages();
    let messages: Vec<ChartMessage<'_>> = all
        .iter()
        .take(limits.messages)
        .map(|m| ChartMessage {
            at: m.at,
            level: m.level,
            text: record.text(m),
            origin: m.origin,
        })
        .take_while(|m| {
            bytes = bytes.saturating_add(m.text.len());
            bytes <= limits.message_bytes
        })
        .collect();
    let dependencies = record.dependencies().iter().take(limits.dependencies);
    let dependencies = dependencies.map(|d| ChartDependency {
        from: record.name(d.from),
        to: record.name(d.to),
        kind: d.kind,
    });
    Chart {
        slices_left_out,
        messages_left_out: all.len() - messages.len(),
        messages,
        dependencies: dependencies.collect(),
        tracks,
    }
}

/// Takes out the shortest intervals past `limit`; gives their number.
fn keep_longest(tracks: &mut Tracks<'_>, limit: usize) -> usize {
    let slices = || tracks.groups.iter().flat_map(|g| &g.tracks);
    let count: usize = slices().map(|t| t.slices.len()).sum();
    let over = count.saturating_sub(limit);
    if over == 0 {
        return 0;
    }
    let mut lengths: Vec<Nanos> = slices()
        .flat_map(|t| t.slices.iter().map(|s| s.end - s.start))
        .collect();
    // The longest of those that must go; of others that long, the first go.
    let (shorter, longest, _) = lengths.select_nth_unstable(over - 1);
    let longest = *longest;
    let mut equal = 1 + shorter.iter().filter(|l| **l == longest).count();
    for group in &mut tracks.groups {
        for track in &mut group.tracks {
            track.slices.retain(|s| {
                let length = s.end - s.start;
                let goes = length < longest || (length == longest && equal > 0);
                equal -= usize::from(goes && length == longest);
                !goes
            });
        }
        // A process that did little stays a line; an empty lane does not.
        group.tracks.retain(|t| !t.slices.is_empty());
    }
    tracks.groups.retain(|g| !g.tracks.is_empty());
    over
}

#[cfg(test)]
mod tests {
    use super::keep_longest;
    use crate::tracks::{About, Slice, Track, TrackGroup, TrackKind, Tracks};
    use record::Nanos;
    use std::borrow::Cow;

    fn of(lengths: &[i64]) -> Tracks<'static> {
        let slice = |(i, &length): (usize, &i64)| {
            let start = Nanos(i64::try_from(i).unwrap_or(0) * 1_000);
            Slice {
                name: Cow::Borrowed("s"),
                start,
                end: start + Nanos(length),
                about: About::Plain,
                by: None,
                of: None,
                origin: None,
            }
        };
        Tracks {
            zero: "zero",
            groups: vec![TrackGroup {
                kind: TrackKind::Initcall,
                name: Cow::Borrowed("initcalls"),
                tracks: vec![Track {
                    name: None,
                    slices: lengths.iter().enumerate().map(slice).collect(),
                }],
            }],
            instants: Vec::new(),
            counters: Vec::new(),
        }
    }

    #[test]
    fn the_shortest_go_and_no_more_than_needed() {
        for (limit, left) in [
            (9, &[5, 1, 5, 9, 5][..]),
            (4, &[5, 5, 9, 5]),
            (3, &[5, 9, 5]),
            (1, &[9]),
            (0, &[]),
        ] {
            let mut tracks = of(&[5, 1, 5, 9, 5]);
            let gone = keep_longest(&mut tracks, limit);
            let lengths: Vec<i64> = tracks
                .groups
                .iter()
                .flat_map(|g| g.tracks.iter().flat_map(|t| &t.slices))
                .map(|s| (s.end - s.start).get())
                .collect();
            assert_eq!(lengths, left);
            assert_eq!(gone, 5 - left.len());
        }
    }
}
