//! The bytes of one event, by its format.

use super::super::known::{Key, Known, Values, call};
use super::super::notes;
use super::cursor::Order;
use super::format::{Field, Format, Shape};
use record::{NameId, Origin, Recorder};

/// An event that something is made of: where its fields are.
#[derive(Debug)]
struct Layout<'a> {
    known: Known,
    name: NameId,
    slots: [Option<Slot>; Key::COUNT],
    format: Format<'a>,
    used: bool,
}

/// Where a field is.
#[derive(Clone, Copy, Debug)]
struct Slot {
    offset: usize,
    size: usize,
    shape: Shape,
}

impl From<Field<'_>> for Slot {
    fn from(field: Field<'_>) -> Self {
        Self {
            offset: field.offset,
            size: field.size,
            shape: field.shape,
        }
    }
}

/// What an event's number means.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// No format has it.
    Unknown,
    /// The place in [`Events::known`].
    Known(u16),
    /// The place in [`Events::unused`].
    Unused(u16),
}

/// An event that nothing is made of, counted.
#[derive(Clone, Debug)]
struct Unused {
    /// `system:name`
    name: String,
    count: u64,
    first: Option<Origin>,
}

/// The events of a file by their numbers.
#[derive(Debug)]
pub(super) struct Events<'a> {
    order: Order,
    kinds: Vec<Kind>,
    known: Vec<Layout<'a>>,
    unused: Vec<Unused>,
    id: Option<Slot>,
    pid: Option<Slot>,
}

/// An event with what is known of its format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'e> {
    layout: Option<&'e Layout<'e>>,
    data: &'e [u8],
    order: Order,
}

impl<'a> Events<'a> {
    /// Knows the events of these formats.
    pub(super) fn of(
        formats: &[(&'a [u8], Format<'a>)],
        order: Order,
        recorder: &mut Recorder,
    ) -> Self {
        let mut events = Self {
            order,
            kinds: Vec::new(),
            known: Vec::new(),
            unused: Vec::new(),
            id: None,
            pid: None,
        };
        for (system, format) in formats {
            events.add(system, *format, recorder);
        }
        events
    }

    fn add(&mut self, system: &[u8], format: Format<'a>, recorder: &mut Recorder) {
        // All events begin with the same fields.
        if self.id.is_none() {
            let field = |name: &[u8]| format.fields().find(|f| f.name == name).map(Slot::from);
            self.id = field(b"common_type");
            self.pid = field(b"common_pid");
        }
        let index = usize::from(format.id);
        if self.kinds.len() <= index {
            self.kinds.resize(index + 1, Kind::Unknown);
        }
        let kind = match Known::named(format.name) {
            Some(known) => {
                let mut slots = [None; Key::COUNT];
                for field in format.fields() {
                    let key = Key::named(field.name);
                    if let Some(slot) = key.and_then(|k| slots.get_mut(k as usize)) {
                        *slot = Some(Slot::from(field));
                    }
                }
                let name = match call(format.name) {
                    Some(call) => recorder.name_lossy(&call),
                    None => recorder.name_lossy(format.name),
                };
                self.known.push(Layout {
                    known,
                    name,
                    slots,
                    format,
                    used: false,
                });
                u16::try_from(self.known.len() - 1).map_or(Kind::Unknown, Kind::Known)
            }
            None => {
                let text = [system, b":", format.name].concat();
                self.unused.push(Unused {
                    name: crate::text::lossy(&text).into_owned(),
                    count: 0,
                    first: None,
                });
                u16::try_from(self.unused.len() - 1).map_or(Kind::Unknown, Kind::Unused)
            }
        };
        if let Some(place) = self.kinds.get_mut(index) {
            *place = kind;
        }
    }

    /// The letters of a task's states, as the trace's kernel prints them.
    pub(super) fn state_letters(&self) -> Vec<(u64, u8)> {
        let switch = self.known.iter().find(|l| l.known == Known::Switch);
        switch.map_or_else(Vec::new, |l| l.format.flags().collect())
    }

    fn kind(&self, data: &[u8]) -> Kind {
        let id = self
            .id
            .and_then(|s| self.order.number(data, s.offset, s.size));
        let index = id.and_then(|id| usize::try_from(id).ok());
        let kind = index.and_then(|i| self.kinds.get(i)).copied();
        kind.unwrap_or(Kind::Unknown)
    }

    /// The event in these bytes, and the task that ran. `None` if no format
    /// has its number.
    #[inline]
    pub(super) fn packet<'e>(&'e mut self, data: &'e [u8]) -> Option<(Packet<'e>, u32)> {
        let order = self.order;
        let layout = match self.kind(data) {
            Kind::Unknown => return None,
            Kind::Unused(_) => None,
            Kind::Known(index) => {
                let layout = self.known.get_mut(usize::from(index))?;
                layout.used = true;
                Some(&*layout)
            }
        };
        let pid = self.pid.and_then(|s| order.number(data, s.offset, s.size));
        let pid = pid.and_then(|p| u32::try_from(p).ok()).unwrap_or(0);
        Some((
            Packet {
                layout,
                data,
                order,
            },
            pid,
        ))
    }

    /// Counts an event that nothing is made of.
    pub(super) fn count_unused(&mut self, data: &[u8], origin: Origin) {
        if let Kind::Unused(index) = self.kind(data)
            && let Some(unused) = self.unused.get_mut(usize::from(index))
        {
            unused.count += 1;
            unused.first.get_or_insert(origin);
        }
    }

    /// Whether names of functions were asked for.
    pub(super) fn needs_symbols(&self) -> bool {
        let by_address = [Key::Address, Key::Function];
        self.known.iter().filter(|l| l.used).any(|l| {
            let slots = by_address.iter().map(|k| l.slots.get(*k as usize));
            slots.flatten().any(Option::is_some)
        })
    }

    /// After the last event: notes what nothing was made of, and whether a
    /// buffer before had the same events.
    pub(super) fn finish(&self, seen: &mut Vec<u16>, recorder: &mut Recorder) {
        super::super::unused::note(
            self.unused.iter().filter_map(|u| {
                let first = u.first?;
                Some((u.name.as_str(), u.count, first))
            }),
            recorder,
        );
        for layout in self.known.iter().filter(|l| l.used) {
            if seen.contains(&layout.format.id) {
                let name = crate::text::lossy(layout.format.name);
                recorder.note_whole(&notes::SAME_EVENTS_TWICE, name.into_owned());
            } else {
                seen.push(layout.format.id);
            }
        }
    }
}

impl Packet<'_> {
    /// What is made of it, if something is, and the event's name.
    pub(super) fn known(&self) -> Option<(Known, NameId)> {
        self.layout.map(|l| (l.known, l.name))
    }

    fn slot(&self, key: Key) -> Option<Slot> {
        *self.layout?.slots.get(key as usize)?
    }
}

impl Values for Packet<'_> {
    #[inline]
    fn number(&self, key: Key) -> Option<u64> {
        let slot = self.slot(key)?;
        let Shape::Number { signed } = slot.shape else {
            return None;
        };
        let value = self.order.number(self.data, slot.offset, slot.size)?;
        let bits = 64 - 8 * u32::try_from(slot.size).ok()?;
        Some(match signed {
            true => (value.cast_signed() << bits >> bits).cast_unsigned(),
            false => value,
        })
    }

    #[inline]
    fn text(&self, key: Key) -> Option<&[u8]> {
        let slot = self.slot(key)?;
        let (start, length) = match slot.shape {
            Shape::Number { .. } => return None,
            Shape::Text => (slot.offset, slot.size),
            Shape::Located | Shape::LocatedAfter => {
                let place = self.order.u32(self.data, slot.offset)?;
                let start = (place & 0xffff) as usize;
                let after = match slot.shape {
                    Shape::LocatedAfter => slot.offset + 4,
                    _ => 0,
                };
                (start + after, (place >> 16) as usize)
            }
        };
        let bytes = self.data.get(start..start.checked_add(length)?)?;
        let end = memchr::memchr(0, bytes).unwrap_or(length);
        bytes.get(..end)
    }
}
