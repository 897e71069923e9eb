//! Two boots side by side, item by item.

use crate::phases::{FirstLight, Options, Phases, phases_with};
use crate::row::BlameKind;
use crate::spans;
use crate::stable_name::stable;
use record::{ClockKind, Nanos, Record};
use std::collections::BTreeMap;

/// Why two boots cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// One is in virtual time, the other is not.
    #[error(
        "the first boot uses the {a} clock and the second the {b} clock; virtual time counts \
         instructions and cannot be compared with real time; compare two lab captures, or two \
         real ones",
        a = a.as_str(), b = b.as_str()
    )]
    VirtualWithWall {
        /// The first boot's clock.
        a: ClockKind,
        /// The second boot's clock.
        b: ClockKind,
    },
}

/// In which of the two boots an item occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Presence {
    /// In both.
    Both,
    /// In the first only.
    OnlyA,
    /// In the second only.
    OnlyB,
}

impl Presence {
    /// The word used in every output: `both`, `only_a` or `only_b`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::OnlyA => "only_a",
            Self::OnlyB => "only_b",
        }
    }
}

/// A phase in both boots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseDelta {
    /// The phase's word.
    pub name: String,
    /// Its length in the first boot, if it occurs there.
    pub a: Option<Nanos>,
    /// Its length in the second boot, if it occurs there.
    pub b: Option<Nanos>,
    /// `b` minus `a`, with nothing counted as zero.
    pub delta: Nanos,
    /// Whether the same marks begin and end it in both boots. If not, the
    /// difference may be one of definition.
    pub same_marks: bool,
}

/// First light in both boots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstLightDelta {
    /// In the first boot.
    pub a: Option<FirstLight>,
    /// In the second boot.
    pub b: Option<FirstLight>,
    /// `b` minus `a`, if both have one.
    pub delta: Option<Nanos>,
    /// Whether the same mark ends both boots, and both begin at the same mark.
    pub same_marks: bool,
}

/// A thing that took time, in both boots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemDelta {
    /// What kind of thing.
    pub kind: BlameKind,
    /// Which one.
    pub name: String,
    /// Which occurrence of this name, from 1, by start.
    pub nth: usize,
    /// How long it took in the first boot.
    pub a: Option<Nanos>,
    /// How long it took in the second boot.
    pub b: Option<Nanos>,
    /// `b` minus `a`, with nothing counted as zero.
    pub delta: Nanos,
    /// Where it occurs.
    pub presence: Presence,
    /// How long it takes as a rule, if older boots are known.
    pub usual: Option<Usual>,
}

/// How long an item took in the first boot and in those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usual {
    /// In how many boots it occurs.
    pub boots: usize,
    /// The least that it took.
    pub least: Nanos,
    /// The most.
    pub most: Nanos,
}

/// What happened to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// It is in the second boot only.
    New,
    /// It is in the first boot only.
    Gone,
    /// It takes longer: than it ever did, where older boots are known.
    Slower,
    /// It takes less: than it ever did, where older boots are known.
    Faster,
    /// It takes as long as before, or as long as it takes as a rule.
    Same,
}

impl Change {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Gone => "gone",
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Same => "same",
        }
    }
}

impl ItemDelta {
    /// What happened to it.
    #[must_use]
    pub fn change(&self) -> Change {
        let (least, most) = match (self.usual, self.a) {
            (Some(usual), _) => (usual.least, usual.most),
            (None, Some(a)) => (a, a),
            (None, None) => return Change::New,
        };
        match self.b {
            None => Change::Gone,
            Some(b) if b > most => Change::Slower,
            Some(b) if b < least => Change::Faster,
            Some(_) => Change::Same,
        }
    }
}

/// Two boots side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// What the first boot's clock counts, or the second's if it has none.
    pub clock: Option<ClockKind>,
    /// The name of the first boot's zero mark.
    pub zero_a: String,
    /// The name of the second boot's zero mark.
    pub zero_b: String,
    /// First light in both.
    pub first_light: FirstLightDelta,
    /// Every phase that occurs in either, in order.
    pub phases: Vec<PhaseDelta>,
    /// Everything that took time in either, the largest change first.
    pub items: Vec<ItemDelta>,
}

/// Compares two boots, with the default end for both.
///
/// # Errors
/// If one is in virtual time and the other is not.
pub fn compare(a: &Record, b: &Record) -> Result<Comparison, CompareError> {
    compare_with(a, b, &Options::default())
}

/// Compares two boots.
///
/// # Errors
/// If one is in virtual time and the other is not.
pub fn compare_with(a: &Record, b: &Record, options: &Options) -> Result<Comparison, CompareError> {
    compare_with_history(a, b, &[], options)
}

/// Compares two boots, of which the first stands for older ones, too: an item
/// that takes what it took in one of them did not change.
///
/// # Errors
/// If one is in virtual time and another is not.
pub fn compare_with_history(
    a: &Record,
    b: &Record,
    history: &[&Record],
    options: &Options,
) -> Result<Comparison, CompareError> {
    let is_virtual = |k: Option<ClockKind>| k == Some(ClockKind::Virtual);
    let clock = |r: &Record| r.clock().map(|c| c.kind);
    for old in history {
        if let (Some(ka), Some(kb)) = (clock(old), clock(b))
            && is_virtual(Some(ka)) != is_virtual(Some(kb))
        {
            return Err(CompareError::VirtualWithWall { a: ka, b: kb });
        }
    }
    let (phases_a, phases_b) = (phases_with(a, options), phases_with(b, options));
    if let (Some(ka), Some(kb)) = (phases_a.clock, phases_b.clock)
        && (ka == ClockKind::Virtual) != (kb == ClockKind::Virtual)
    {
        return Err(CompareError::VirtualWithWall { a: ka, b: kb });
    }
    Ok(Comparison {
        clock: phases_a.clock.or(phases_b.clock),
        zero_a: phases_a.zero.clone(),
        zero_b: phases_b.zero.clone(),
        first_light: first_light(&phases_a, &phases_b),
        phases: phase_deltas(&phases_a, &phases_b),
        items: item_deltas(a, b, history),
    })
}

fn first_light(a: &Phases, b: &Phases) -> FirstLightDelta {
    let both = a.first_light.as_ref().zip(b.first_light.as_ref());
    FirstLightDelta {
        a: a.first_light.clone(),
        b: b.first_light.clone(),
        delta: both.map(|(a, b)| b.at - a.at),
        same_marks: a.zero == b.zero && both.is_some_and(|(a, b)| a.mark == b.mark),
    }
}

fn phase_deltas(a: &Phases, b: &Phases) -> Vec<PhaseDelta> {
    let mut names: Vec<record::Phase> = a.phases.iter().chain(&b.phases).map(|p| p.name).collect();
    names.sort_unstable();
    names.dedup();
    let deltas = names.into_iter().map(|name| {
        let find = |phases: &Phases| phases.phases.iter().find(|p| p.name == name).cloned();
        let (a, b) = (find(a), find(b));
        let length = |p: &Option<crate::PhaseRow>| p.as_ref().map(|p| p.end - p.start);
        PhaseDelta {
            name: name.as_str().to_owned(),
            a: length(&a),
            b: length(&b),
            delta: length(&b).unwrap_or_default() - length(&a).unwrap_or_default(),
            same_marks: a
                .zip(b)
                .is_some_and(|(a, b)| (a.start_mark, a.end_mark) == (b.start_mark, b.end_mark)),
        }
    });
    deltas.collect()
}

/// A kind, a name, and which item of that name, from 1, by start.
pub(crate) type Key = (BlameKind, String, usize);

/// The duration of every item of `record` that has one.
pub(crate) fn durations(record: &Record) -> BTreeMap<Key, Nanos> {
    let mut seen: BTreeMap<(BlameKind, record::NameId), usize> = BTreeMap::new();
    let mut durations = BTreeMap::new();
    for span in spans::distinct(record).iter() {
        let kind = BlameKind::from(span.kind);
        let nth = seen.entry((kind, span.name)).or_default();
        *nth += 1;
        if let Some(duration) = span.duration() {
            durations.insert((kind, record.name(span.name).to_owned(), *nth), duration);
        }
    }
    durations
}

fn item_deltas(a: &Record, b: &Record, history: &[&Record]) -> Vec<ItemDelta> {
    let older: Vec<_> = history.iter().map(|r| durations(r)).collect();
    let (a, mut b) = (durations(a), durations(b));
    let mut only_a = BTreeMap::new();
    let mut items = Vec::with_capacity(a.len().max(b.len()));
    for (key, in_a) in a {
        match b.remove(&key) {
            Some(in_b) => items.push((key, Some(in_a), Some(in_b))),
            None => {
                only_a.insert(key, in_a);
            }
        }
    }
    // The same thing under a name that changes from boot to boot.
    let mut folded: BTreeMap<Key, (Key, Nanos)> = BTreeMap::new();
    for (key, in_b) in b {
        folded.insert(free_place(&folded, &key), (key, in_b));
    }
    let mut places = BTreeMap::new();
    for (key, in_a) in only_a {
        let place = free_place(&places, &key);
        let in_b = folded.remove(&place).map(|(_, in_b)| in_b);
        places.insert(place, ());
        items.push((key, Some(in_a), in_b));
    }
    items.extend(
        folded
            .into_values()
            .map(|(key, in_b)| (key, None, Some(in_b))),
    );
    let mut items: Vec<ItemDelta> = items
        .into_iter()
        .map(|(key, in_a, in_b)| item(key, in_a, in_b, &older))
        .collect();
    items.sort_by(|x, y| {
        let key = |i: &ItemDelta| (std::cmp::Reverse(i.delta.abs()), i.kind);
        key(x)
            .cmp(&key(y))
            .then_with(|| (&x.name, x.nth).cmp(&(&y.name, y.nth)))
    });
    items
}

/// The place of an item by its stable name: the first that is free, since
/// several items of one boot may share it.
pub(crate) fn free_place<T>(taken: &BTreeMap<Key, T>, (kind, name, _): &Key) -> Key {
    let mut place = (*kind, stable(name), 1);
    while taken.contains_key(&place) {
        place.2 += 1;
    }
    place
}

fn item(key: Key, a: Option<Nanos>, b: Option<Nanos>, older: &[BTreeMap<Key, Nanos>]) -> ItemDelta {
    let known = older.iter().filter_map(|boot| boot.get(&key).copied());
    let known: Vec<Nanos> = known.chain(a).collect();
    let usual = known.iter().min().zip(known.iter().max());
    let usual = usual.filter(|_| !older.is_empty());
    let (kind, name, nth) = key;
    ItemDelta {
        kind,
        name,
        nth,
        a,
        b,
        delta: b.unwrap_or_default() - a.unwrap_or_default(),
        presence: match (a, b) {
            (Some(_), None) => Presence::OnlyA,
            (None, Some(_)) => Presence::OnlyB,
            _ => Presence::Both,
        },
        usual: usual.map(|(&least, &most)| Usual {
            boots: known.len(),
            least,
            most,
        }),
    }
}
