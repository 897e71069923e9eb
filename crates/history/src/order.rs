//! The order of the entries of a history.

use crate::at::At;
use crate::entry::Entry;
use std::cmp::Ordering;

/// Entries in order, and what is doubtful about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The places of the entries, the oldest first.
    pub places: Vec<usize>,
    /// How many have neither a date, a number nor a release: they come first.
    pub without_place: usize,
    /// How many have a date before that of an older release.
    pub backwards: usize,
    /// How many are dated before 2000: the clock of whatever made them was not set.
    pub unset_clock: usize,
}

/// The first second of 2000.
const CLOCK_IS_SET: i64 = 946_684_800;

/// The order of `entries`: by date or number if all have one, else by release if all have
/// one. Equal ones stand by release, then by commit, and boots of one commit by `names`,
/// so that every copy of a store has the same order.
#[must_use]
pub fn ordered(entries: &[Entry], names: &[String]) -> Order {
    let all_dated = entries.iter().all(|e| e.at.is_some());
    let all_released = entries.iter().all(|e| e.release.is_some());
    let by_release = !all_dated && all_released;
    let release = |a: &Entry, b: &Entry| match (&a.release, &b.release) {
        (Some(a), Some(b)) => release_order(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    };
    let mut places: Vec<usize> = (0..entries.len()).collect();
    places.sort_by(|i, j| {
        let (Some(a), Some(b)) = (entries.get(*i), entries.get(*j)) else {
            return Ordering::Equal;
        };
        let first = match by_release {
            true => release(a, b).then(a.at.cmp(&b.at)),
            false => a.at.cmp(&b.at).then_with(|| release(a, b)),
        };
        let rest = a.commit.cmp(&b.commit);
        first
            .then(rest)
            .then_with(|| names.get(*i).cmp(&names.get(*j)))
    });
    let in_order: Vec<&Entry> = places.iter().filter_map(|i| entries.get(*i)).collect();
    let is_back = |w: &&[&Entry]| match w {
        [a, b] => match by_release {
            true => matches!((a.at, b.at), (Some(x), Some(y)) if y < x),
            false => {
                a.release.is_some() && b.release.is_some() && release(a, b) == Ordering::Greater
            }
        },
        _ => false,
    };
    let has_no_place = |e: &&Entry| e.at.is_none() && (!by_release || e.release.is_none());
    let is_unset = |e: &&Entry| matches!(e.at, Some(At::Date(s)) if s < CLOCK_IS_SET);
    Order {
        without_place: entries.iter().filter(has_no_place).count(),
        backwards: in_order.windows(2).filter(is_back).count(),
        unset_clock: entries.iter().filter(is_unset).count(),
        places,
    }
}

/// The order of two releases: numbers by their value, so 1.9 is before 1.10; and what has
/// `-rc`, `-alpha`, `-beta`, `-pre` or `~` behind it before what has not.
#[must_use]
pub fn release_order(a: &str, b: &str) -> Ordering {
    pieces(a).cmp(pieces(b)).then_with(|| a.cmp(b))
}

/// A piece of a release, in the order in which they come.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Piece<'a> {
    /// What makes it earlier than the same without it.
    Before(&'a str),
    /// Nothing more.
    End,
    /// A number: how many digits it has without zeros in front, and these.
    Number(usize, &'a str),
    /// Anything else.
    Text(&'a str),
}

fn pieces(mut rest: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut is_done = false;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return (!std::mem::replace(&mut is_done, true)).then_some(Piece::End);
        }
        let is_digit = |c: char| c.is_ascii_digit();
        let is_number = rest.starts_with(is_digit);
        let end = rest.find(|c: char| is_digit(c) != is_number);
        let (piece, behind) = rest.split_at(end.unwrap_or(rest.len()));
        rest = behind;
        Some(match is_number {
            true => {
                let digits = piece.trim_start_matches('0');
                Piece::Number(digits.len(), digits)
            }
            false if is_before(piece) => Piece::Before(piece),
            false => Piece::Text(piece),
        })
    })
}

fn is_before(piece: &str) -> bool {
    let word = piece
        .trim_start_matches(['-', '.', '_'])
        .to_ascii_lowercase();
    let words = ["rc", "alpha", "beta", "pre"];
    piece.starts_with('~') || words.iter().any(|w| word.starts_with(w))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::{ordered, release_order};
    use crate::at::At;
    use crate::entry::Entry;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    #[test]
    fn releases_stand_by_their_numbers() {
        let wanted = [
            "1.9",
            "1.10-rc1",
            "1.10-rc2",
            "1.10-rc10",
            "1.10",
            "1.10.1",
            "2.0~beta",
            "2.0",
            "v1.9",
            "v1.10",
        ];
        for (i, a) in wanted.iter().enumerate() {
            for (j, b) in wanted.iter().enumerate() {
                assert_eq!(release_order(a, b), i.cmp(&j), "{a} {b}");
            }
        }
    }

    fn entry(at: Option<i64>, release: Option<&str>) -> Entry {
        let mut entry = Entry::new();
        entry.at = at.map(At::Date);
        entry.release = release.map(str::to_owned);
        entry
    }

    #[test]
    fn dates_decide_and_releases_where_there_are_no_dates() {
        let of = |entries: &[Entry]| ordered(entries, &[]);
        let day = 86_400 * 20_000;
        let dated = [
            entry(Some(day + 2), Some("1.10")),
            entry(Some(day), Some("1.9")),
            entry(Some(day + 3), Some("1.9.1")),
        ];
        let order = of(&dated);
        assert_eq!(order.places, [1, 0, 2]);
        assert_eq!(order.backwards, 1);
        let released = [entry(None, Some("1.10")), entry(Some(5), Some("1.9"))];
        let order = of(&released);
        assert_eq!(order.places, [1, 0]);
        assert_eq!(order.unset_clock, 1);
        let bare = [entry(Some(day), None), entry(None, None)];
        let order = of(&bare);
        assert_eq!((order.places, order.without_place), (vec![1, 0], 1));
    }

    proptest! {
        #[test]
        fn it_is_an_order(a in "[0-9a.rc~-]{0,6}", b in "[0-9a.rc~-]{0,6}", c in "[0-9a.rc~-]{0,6}") {
            prop_assert_eq!(release_order(&a, &b), release_order(&b, &a).reverse());
            if release_order(&a, &b) == Ordering::Less && release_order(&b, &c) == Ordering::Less {
                prop_assert_eq!(release_order(&a, &c), Ordering::Less);
            }
        }
    }
}
