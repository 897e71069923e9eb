//! A Perfetto trace: `protos/perfetto/trace/*.proto` of the Perfetto project.

use super::proto::Message;
use super::rows::{arguments, first_time};
use analysis::{Slice, Track, TrackKind, Tracks};
use record::{Nanos, Record, Unit};
use std::collections::HashMap;

/// `Trace.packet`.
const PACKET: u32 = 1;

/// Fields of `TracePacket`.
mod packet {
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE_ID: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED_DATA: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const TRACK_DESCRIPTOR: u32 = 60;
}

/// Values of `TracePacket.SequenceFlags`.
mod flags {
    pub const INCREMENTAL_STATE_CLEARED: u64 = 1;
    pub const NEEDS_INCREMENTAL_STATE: u64 = 2;
}

/// Fields of `TrackDescriptor`.
mod descriptor {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PARENT_UUID: u32 = 5;
    pub const COUNTER: u32 = 8;
    pub const CHILD_ORDERING: u32 = 11;
    pub const SIBLING_ORDER_RANK: u32 = 12;
    /// `ChildTracksOrdering.EXPLICIT`.
    pub const EXPLICIT: u64 = 3;
}

/// Fields of `CounterDescriptor`.
mod counter {
    pub const UNIT: u32 = 3;
    pub const UNIT_NAME: u32 = 6;
    /// `Unit.UNIT_COUNT`.
    pub const COUNT: u64 = 2;
    /// `Unit.UNIT_SIZE_BYTES`.
    pub const SIZE_BYTES: u64 = 3;
}

/// Fields of `TrackEvent`.
mod event {
    pub const DEBUG_ANNOTATIONS: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const NAME_IID: u32 = 10;
    pub const TRACK_UUID: u32 = 11;
    pub const CATEGORIES: u32 = 22;
    pub const COUNTER_VALUE: u32 = 30;
    pub const SLICE_BEGIN: u64 = 1;
    pub const SLICE_END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

/// Fields of `DebugAnnotation`.
mod annotation {
    pub const NAME_IID: u32 = 1;
    pub const INT: u32 = 4;
    pub const STRING: u32 = 6;
}

/// Fields of `InternedData`, and of its entries.
mod interned {
    pub const EVENT_NAMES: u32 = 2;
    pub const ANNOTATION_NAMES: u32 = 3;
    pub const IID: u32 = 1;
    pub const NAME: u32 = 2;
}

/// All packets are one sequence: one writer wrote them, in order.
const SEQUENCE: u64 = 1;

/// The trace. Perfetto's times are not negative: if the record has times before
/// its zero mark, all are moved by the earliest, and the track `zero` says so.
#[must_use]
pub fn perfetto(record: &Record, tracks: &Tracks<'_>) -> Vec<u8> {
    let mut writer = Writer {
        trace: Message::default(),
        names: HashMap::new(),
        annotation_names: HashMap::new(),
        shift: first_time(tracks).min(Nanos::ZERO),
        next_track: 1,
        first: true,
    };
    writer.write(record, tracks);
    writer.trace.into_bytes()
}

/// A track to be drawn under another one.
struct Described<'a> {
    parent: Option<u64>,
    name: &'a str,
    rank: u64,
    unit: Option<Unit>,
}

struct Writer<'r> {
    trace: Message,
    /// The numbers of names, so that each is in the trace once.
    names: HashMap<&'r str, u64>,
    annotation_names: HashMap<&'static str, u64>,
    shift: Nanos,
    next_track: u64,
    first: bool,
}

impl<'r> Writer<'r> {
    fn write(&mut self, record: &'r Record, tracks: &'r Tracks<'_>) {
        let marks = self.describe(&Described {
            parent: None,
            name: "marks",
            rank: 0,
            unit: None,
        });
        for instant in &tracks.instants {
            let place = Some(instant.origin);
            let arguments = arguments(record, None, place);
            self.event(
                marks,
                event::INSTANT,
                instant.at,
                Some((instant.name, "mark")),
                &arguments,
            );
        }
        for (rank, group) in (1..).zip(&tracks.groups) {
            self.group(record, group.kind, &group.name, rank, &group.tracks);
        }
        let ranks = tracks.groups.len() as u64 + 1..;
        for (rank, counter) in ranks.zip(&tracks.counters) {
            let track = self.describe(&Described {
                parent: None,
                name: &counter.name,
                rank,
                unit: Some(counter.unit),
            });
            for sample in counter.samples {
                let at = self.time(sample.at);
                self.packet(|p| {
                    p.number(packet::TIMESTAMP, at)
                        .message(packet::TRACK_EVENT, |e| {
                            e.number(event::TYPE, event::COUNTER)
                                .number(event::TRACK_UUID, track)
                                .signed(event::COUNTER_VALUE, sample.value);
                        });
                });
            }
        }
    }

    fn group(
        &mut self,
        record: &'r Record,
        kind: TrackKind,
        name: &str,
        rank: u64,
        tracks: &'r [Track<'_>],
    ) {
        let top = |unit| Described {
            parent: None,
            name,
            rank,
            unit,
        };
        let parent = self.describe(&top(None));
        for (lane, track) in (0..).zip(tracks) {
            // The first lane of a group is the group's own track.
            let id = if lane == 0 && track.name.is_none() {
                parent
            } else {
                let numbered = format!("{name} {}", lane + 1);
                self.describe(&Described {
                    parent: Some(parent),
                    name: track.name.as_deref().unwrap_or(&numbered),
                    rank: lane,
                    unit: None,
                })
            };
            self.slices(record, kind, id, &track.slices);
        }
    }

    /// Slices that nest: an end comes before all that begins after it.
    fn slices(&mut self, record: &'r Record, kind: TrackKind, track: u64, slices: &'r [Slice<'_>]) {
        let mut open: Vec<Nanos> = Vec::new();
        for slice in slices {
            while let Some(&end) = open.last()
                && end <= slice.start
            {
                open.pop();
                self.event(track, event::SLICE_END, end, None, &[]);
            }
            let arguments = arguments(record, Some(&slice.about), slice.origin);
            let name = Some((slice.name.as_ref(), kind.as_str()));
            self.event(track, event::SLICE_BEGIN, slice.start, name, &arguments);
            open.push(slice.end);
        }
        while let Some(end) = open.pop() {
            self.event(track, event::SLICE_END, end, None, &[]);
        }
    }

    fn event(
        &mut self,
        track: u64,
        kind: u64,
        at: Nanos,
        name: Option<(&'r str, &str)>,
        arguments: &[(&'static str, super::rows::Value<'_>)],
    ) {
        let mut new_names = Vec::new();
        let name = name.map(|(name, category)| {
            let next = self.names.len() as u64 + 1;
            let id = *self.names.entry(name).or_insert_with(|| {
                new_names.push((interned::EVENT_NAMES, next, name));
                next
            });
            (id, category)
        });
        let mut values = Vec::with_capacity(arguments.len());
        for (key, value) in arguments {
            let next = self.annotation_names.len() as u64 + 1;
            let id = *self.annotation_names.entry(key).or_insert_with(|| {
                new_names.push((interned::ANNOTATION_NAMES, next, *key));
                next
            });
            values.push((id, value));
        }
        let at = self.time(at);
        self.packet(|p| {
            p.number(packet::TIMESTAMP, at);
            if !new_names.is_empty() {
                p.message(packet::INTERNED_DATA, |data| {
                    for (table, id, name) in &new_names {
                        data.message(*table, |entry| {
                            entry.number(interned::IID, *id).text(interned::NAME, name);
                        });
                    }
                });
            }
            p.message(packet::TRACK_EVENT, |e| {
                e.number(event::TYPE, kind).number(event::TRACK_UUID, track);
                if let Some((id, category)) = name {
                    e.number(event::NAME_IID, id)
                        .text(event::CATEGORIES, category);
                }
                for (id, value) in &values {
                    e.message(event::DEBUG_ANNOTATIONS, |a| {
                        a.number(annotation::NAME_IID, *id);
                        match value {
                            super::rows::Value::Number(n) => a.signed(annotation::INT, *n),
                            super::rows::Value::Text(t) => a.text(annotation::STRING, t),
                        };
                    });
                }
            });
        });
    }

    /// Announces a track, and gives its id.
    fn describe(&mut self, track: &Described<'_>) -> u64 {
        let id = self.next_track;
        self.next_track += 1;
        self.packet(|p| {
            p.message(packet::TRACK_DESCRIPTOR, |d| {
                d.number(descriptor::UUID, id)
                    .text(descriptor::NAME, track.name)
                    .number(descriptor::CHILD_ORDERING, descriptor::EXPLICIT)
                    .number(descriptor::SIBLING_ORDER_RANK, track.rank);
                if let Some(parent) = track.parent {
                    d.number(descriptor::PARENT_UUID, parent);
                }
                if let Some(unit) = track.unit {
                    d.message(descriptor::COUNTER, |c| {
                        match unit {
                            Unit::Bytes => c.number(counter::UNIT, counter::SIZE_BYTES),
                            Unit::Count => c.number(counter::UNIT, counter::COUNT),
                            other => c.text(counter::UNIT_NAME, other.as_str()),
                        };
                    });
                }
            });
        });
        id
    }

    fn packet(&mut self, fill: impl FnOnce(&mut Message)) {
        let state = match std::mem::take(&mut self.first) {
            true => flags::INCREMENTAL_STATE_CLEARED | flags::NEEDS_INCREMENTAL_STATE,
            false => flags::NEEDS_INCREMENTAL_STATE,
        };
        self.trace.message(PACKET, |p| {
            p.number(packet::SEQUENCE_ID, SEQUENCE)
                .number(packet::SEQUENCE_FLAGS, state);
            fill(p);
        });
    }

    /// A time as the trace has it.
    fn time(&self, at: Nanos) -> u64 {
        u64::try_from((at - self.shift).get()).unwrap_or(0)
    }
}
