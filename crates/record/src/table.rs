//! Tables of events that come by the million, each with a bound.

use crate::clock::ClockId;
use crate::note::{NoteKind, Severity};
use crate::source::Origin;
use crate::time::Nanos;

/// The rows that a table holds, so that a trace of any size fits in memory.
pub(crate) const MOST_ROWS: usize = 2_000_000;

/// The bytes that the rows of all tables take together. Sorting takes a fifth of it
/// once more, so that a trace of many kinds of events needs less than 500 MB too.
const MOST_BYTES: usize = 224 << 20;

/// What the rows of all tables take.
#[derive(Debug, Default)]
pub(crate) struct Taken(usize);

impl Taken {
    /// Takes room for a row of `bytes`, if there is room.
    fn take(&mut self, bytes: usize) -> bool {
        let fits = self.0 + bytes <= MOST_BYTES;
        if fits {
            self.0 += bytes;
        }
        fits
    }
}

pub(crate) const TABLE_FULL: NoteKind = NoteKind {
    name: "table_full",
    severity: Severity::DataLoss,
    advice: "the input has more events of one kind than a record can hold; the first were kept, and the \
     rest count only in the totals; record a shorter period or fewer events",
};

/// A table with more rows than this gets the room for all that it may hold, at
/// once: a list that grows is copied, and room that stays unused costs nothing,
/// since memory is handed out when it is first written to.
const FEW_ROWS: usize = 4096;

/// A row that carries times of its clock.
pub(crate) trait Row: Copy {
    /// How many of them a table holds.
    const MOST: usize = MOST_ROWS;
    /// Moves every time of the row.
    fn map_times(&mut self, to: &dyn Fn(ClockId, Nanos) -> Nanos);
    /// The last time of the row.
    fn last(&self) -> Option<Nanos>;
    /// Where it stands among the others: by time, then by evidence.
    fn key(&self) -> (Option<Nanos>, Origin);
}

/// Rows in the order they came, until [`Self::sort`].
#[derive(Debug)]
pub(crate) struct Table<T> {
    pub(crate) rows: Vec<T>,
    /// How many rows found no room.
    pub(crate) refused: u64,
    /// The evidence of the first of them.
    pub(crate) first_refused: Option<Origin>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            refused: 0,
            first_refused: None,
        }
    }
}

impl<T: Row> Table<T> {
    /// Adds a row, and gives its place; or counts it where there is no room.
    pub(crate) fn push(&mut self, row: T, taken: &mut Taken) -> Option<usize> {
        let length = self.rows.len();
        if length < T::MOST && taken.take(size_of::<T>()) {
            if length == self.rows.capacity() && length >= FEW_ROWS {
                self.rows.try_reserve_exact(T::MOST - length).ok();
            }
            self.rows.push(row);
            Some(length)
        } else {
            self.refused += 1;
            self.first_refused.get_or_insert(row.key().1);
            None
        }
    }

    pub(crate) fn map_times(&mut self, to: &dyn Fn(ClockId, Nanos) -> Nanos) {
        for row in &mut self.rows {
            row.map_times(to);
        }
    }

    pub(crate) fn sort(&mut self) {
        let rows = &mut self.rows;
        if rows.is_sorted_by(|a, b| a.key() <= b.key()) {
            return;
        }
        if u32::try_from(rows.len()).is_err() {
            rows.sort_by_key(Row::key);
            return;
        }
        // Times are sorted with the places of their rows, and then each row is moved
        // once: rows are large, and there is to be no second list of them.
        let mut order: Vec<u128> = (0..).zip(&*rows).map(|(p, row)| packed(p, row)).collect();
        order.sort_unstable();
        for equal in order.chunk_by_mut(|a, b| a >> 32 == b >> 32) {
            if equal.len() > 1 {
                equal.sort_unstable_by_key(|o| (rows.get(place(*o)).map(Row::key), *o));
            }
        }
        for first in 0..rows.len() {
            // Along a ring of places, each of which gets the row of the next one.
            // Places that are done say so by their own number.
            let Some(&row) = rows.get(first) else { break };
            let mut to = first;
            while let Some(here) = order.get_mut(to) {
                let from = place(*here);
                *here = to as u128;
                let next = match from == first {
                    true => Some(row),
                    false => rows.get(from).copied(),
                };
                if let (Some(to), Some(next)) = (rows.get_mut(to), next) {
                    *to = next;
                }
                if from == first || from == to {
                    break;
                }
                to = from;
            }
        }
    }

    pub(crate) fn last(&self) -> Option<Nanos> {
        self.rows.iter().filter_map(Row::last).max()
    }
}

/// The time of the row at a place, an unknown one first, above the place itself.
fn packed<T: Row>(place: u32, row: &T) -> u128 {
    // Without its sign, time is in the order of its bits from the least one on.
    let time = |t: Nanos| 1 << 64 | u128::from(t.get().cast_unsigned() ^ 1 << 63);
    row.key().0.map_or(0, time) << 32 | u128::from(place)
}

/// The place in what [`packed`] gave.
fn place(packed: u128) -> usize {
    (packed as u32) as usize
}
