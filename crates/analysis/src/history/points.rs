//! All changes of level of a series.

use super::split::{self, Split};
use super::strength::{LEAST, Memory};
use record::Nanos;
use std::collections::BTreeMap;

/// The part of the chance of a false alarm that goes to windows, and the least of them. A
/// short stretch has shorter ones too: a regression that was reverted and came back is one
/// of few boots.
const FOR_WINDOWS: f64 = 0.1;
const WINDOW: usize = 40;
const SHORT: usize = 200;
const SHORT_WINDOW: usize = 16;

/// How often the places of changes are found again between their neighbors.
const ROUNDS: usize = 8;

/// Where the level of `values` changes, in order: at `chance` or less that any of them is
/// one of a series that has none. A level may begin where `may_begin` says.
///
/// A series is split at its strongest change, and so is each part. A level that does not
/// last is lost in a long series: where no split is found, windows are looked at. At the
/// end each change is held against what lies between its neighbors.
pub(super) fn change_points(values: &[Nanos], may_begin: &[bool], chance: f64) -> Vec<Split> {
    let mut series = Searched {
        values,
        may_begin,
        chance,
        known: BTreeMap::new(),
    };
    let mut open = vec![(0, values.len())];
    let mut places = Vec::new();
    while let Some((from, to)) = open.pop() {
        if let Some(place) = series.first_split((from, to)) {
            places.push(place);
            open.push((from, place.at));
            open.push((place.at, to));
        }
    }
    places.sort_unstable_by_key(|p| p.at);
    series.settled(places)
}

/// A series in which changes are looked for.
struct Searched<'a> {
    values: &'a [Nanos],
    may_begin: &'a [bool],
    /// The chance of a false alarm.
    chance: f64,
    /// The most probable second level of stretches.
    known: BTreeMap<(usize, usize), Option<Split>>,
}

/// Where a level may begin, and the stretch that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    at: usize,
    window: (usize, usize),
}

impl Searched<'_> {
    /// The most probable second level of a stretch.
    fn within(&mut self, (from, to): (usize, usize)) -> Option<Split> {
        if let Some(known) = self.known.get(&(from, to)) {
            return *known;
        }
        let found = self.best((from, to), self.chance, Memory::NONE);
        self.known.insert((from, to), found);
        found
    }

    fn best(&self, (from, to): (usize, usize), asked: f64, least: Memory) -> Option<Split> {
        let (values, may_begin) = (self.values.get(from..to)?, self.may_begin.get(from..to)?);
        Some(moved(split::best(values, may_begin, asked, least)?, from))
    }

    /// The same, located by the values themselves.
    fn located(&mut self, (from, to): (usize, usize)) -> Option<Split> {
        let split = self.within((from, to))?;
        let (values, may_begin) = (self.values.get(from..to)?, self.may_begin.get(from..to)?);
        let at = split.at.checked_sub(from)?;
        Some(moved(
            Split { at, ..split }.located(values, may_begin),
            from,
        ))
    }

    fn first_split(&mut self, (from, to): (usize, usize)) -> Option<Place> {
        let windows = windows(from, to);
        let chance = self.chance;
        let (whole, each) = match windows.len() {
            0 => (chance, 0.0),
            n => (
                chance * (1.0 - FOR_WINDOWS),
                chance * FOR_WINDOWS / n as f64,
            ),
        };
        let count = self.values.len();
        let tail = match to == count {
            true => Tail::of(self.values.get(from..to)?),
            false => Tail::NONE,
        };
        let rest = to - tail.count;
        let ends = match tail {
            Tail { count: 0, .. } => vec![to],
            Tail { is_far: true, .. } => vec![rest],
            // With and without it: each has its part of the chance.
            Tail { .. } => vec![to, rest],
        };
        let whole = whole / ends.len() as f64;
        for end in ends {
            let found = self.within((from, end));
            if let Some(split) = found.filter(|s| s.p <= whole) {
                let window = match end == to {
                    true => (0, count),
                    false => (0, end),
                };
                let at = split.at;
                return Some(Place { at, window });
            }
        }
        // A window has too few points to tell its memory.
        let whole = self.within((from, to));
        let least = whole.map_or(Memory::NONE, |split| split.memory.sure(to - from));
        let found = windows
            .into_iter()
            .filter_map(|w| Some((w, self.best(w, each, least)?)));
        let (window, best) = found.min_by(|(_, a), (_, b)| a.p.total_cmp(&b.p))?;
        let at = best.at;
        (best.p <= each).then_some(Place { at, window })
    }

    /// Each change between its neighbors, without those that are none there. One that only a
    /// window showed is held against that window: what lies around may be other levels.
    fn settled(&mut self, mut places: Vec<Place>) -> Vec<Split> {
        let (count, chance) = (self.values.len(), self.chance);
        let mut found: Vec<(Split, (usize, usize))> = Vec::new();
        for _ in 0..ROUNDS {
            let between = |i: usize| {
                let from = i.checked_sub(1).and_then(|i| places.get(i)).map(|p| p.at);
                let to = places.get(i + 1).map(|p| p.at);
                let own = places.get(i).map_or((0, count), |p| p.window);
                let from = from.unwrap_or(0).max(own.0);
                (from, to.unwrap_or(count).min(own.1).max(from))
            };
            found = (0..places.len())
                .filter_map(|i| {
                    let window = places.get(i)?.window;
                    Some((self.located(between(i))?, window))
                })
                .collect();
            let weakest = found.iter().enumerate();
            let weakest = weakest.max_by(|(_, a), (_, b)| a.0.p.total_cmp(&b.0.p));
            let dropped = match weakest {
                Some((i, (split, _))) if split.p > chance => Some(i),
                _ => None,
            };
            if let Some(i) = dropped {
                found.remove(i);
            }
            let next = found.iter().map(|(split, window)| Place {
                at: split.at,
                window: *window,
            });
            let mut next: Vec<Place> = next.collect();
            next.dedup_by(|b, a| b.at < a.at + LEAST);
            if dropped.is_none() && next == places {
                break;
            }
            places = next;
        }
        let mut found: Vec<Split> = found.into_iter().map(|(split, _)| split).collect();
        found.dedup_by(|b, a| b.at < a.at + LEAST);
        found.retain(|s| s.p <= chance);
        found
    }
}

/// How many of the last values of a level are left out of it: they may begin the next one.
pub(super) fn left_out(level: &[Nanos]) -> usize {
    match Tail::of(level) {
        Tail {
            count,
            is_far: true,
        } => count,
        _ => 0,
    }
}

fn moved(split: Split, by: usize) -> Split {
    Split {
        at: split.at + by,
        range: (split.range.0 + by, split.range.1 + by),
        ..split
    }
}

/// The last values, fewer than a level has, that are all above or all below the others. They may be
/// the beginning of a level, and hide the change before them until then. If all are of one level,
/// the order of the others is as probable as any other, so that a test of these keeps its chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tail {
    /// How many.
    count: usize,
    /// Whether they are further from the others than these are from each other. Then they say
    /// nothing of a change before them, and only the others are tested.
    is_far: bool,
}

impl Tail {
    const NONE: Self = Self {
        count: 0,
        is_far: false,
    };

    /// The longest one of `values`.
    fn of(values: &[Nanos]) -> Self {
        let tail = |count: usize| {
            let (first, last) = values.split_at(values.len().saturating_sub(count));
            let (least, most) = (first.iter().min()?, first.iter().max()?);
            let above = *last.iter().min()? - *most;
            let below = *least - *last.iter().max()?;
            let gap = above.max(below);
            let is_far = gap > *most - *least;
            (gap > Nanos::ZERO).then_some(Self { count, is_far })
        };
        (1..LEAST).rev().find_map(tail).unwrap_or(Self::NONE)
    }
}

/// Stretches of a half, a quarter and so on of the whole, each overlapping the next by
/// half (as in seeded binary segmentation: Kovács and others, 2023).
fn windows(from: usize, to: usize) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut length = (to - from) / 2;
    let least = match to - from <= SHORT {
        true => SHORT_WINDOW,
        false => WINDOW,
    };
    while length >= least {
        let starts = (from..=to - length).step_by((length / 2).max(1));
        all.extend(starts.map(|start| (start, start + length)));
        length /= 2;
    }
    all
}
