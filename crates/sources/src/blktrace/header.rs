//! The record of a trace, as `include/uapi/linux/blktrace_api.h` lays it out.

use crate::block::{Action, Asks};
use record::{Device, Operation};

/// The upper bytes of `BLK_IO_TRACE_MAGIC` (0x65617400) as they lie in a file of
/// each byte order; the low byte, the version, stands before them or behind.
const MAGIC_LITTLE: [u8; 3] = *b"tae";
const MAGIC_BIG: [u8; 3] = *b"eat";

/// Major numbers are above the lowest 20 bits (`MINORBITS`).
const MINOR_BITS: u32 = 20;

/// Categories (`enum blktrace_cat`), already above the action's 16 bits.
mod category {
    pub(super) const WRITE: u64 = 1 << 17;
    pub(super) const FLUSH: u64 = 1 << 18;
    pub(super) const SYNC: u64 = 1 << 19;
    pub(super) const PASSTHROUGH: u64 = 1 << 25;
    pub(super) const NOTIFY: u64 = 1 << 26;
    pub(super) const AHEAD: u64 = 1 << 27;
    pub(super) const META: u64 = 1 << 28;
    pub(super) const DISCARD: u64 = 1 << 29;
    pub(super) const ZONE_APPEND: u64 = 1 << 32;
    pub(super) const ZONE_RESETS: u64 = 0b11 << 33;
    pub(super) const ZONE_STATES: u64 = 0b111 << 35;
    pub(super) const WRITE_ZEROES: u64 = 1 << 38;
}

/// `__BLK_TA_CGROUP`: eight bytes of control group id begin the payload.
const FROM_CGROUP: u64 = 1 << 8;
const CGROUP_BYTES: usize = 8;

/// The byte order of a file: that of the machine that was traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

/// The version of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// `struct blk_io_trace`, 48 bytes, since Linux 2.6.17.
    V7,
    /// `struct blk_io_trace2`, 64 bytes, with room for more categories.
    V8,
}

impl Version {
    const fn of(byte: u8) -> Option<Self> {
        match byte {
            7 => Some(Self::V7),
            8 => Some(Self::V8),
            _ => None,
        }
    }
}

/// How long the shortest record is, without what follows it.
pub(super) const SHORTEST: usize = 48;

/// How much longer a record of version 8 is.
const LONGER: usize = 16;

/// What begins at a place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// A record of a version that is known.
    Record(Order, Version),
    /// A record of a version that is not.
    Unknown(u8),
    /// None.
    Nothing,
}

/// What begins with these bytes.
#[inline]
pub(super) fn begins(bytes: &[u8]) -> Begins {
    let Some(&[a, b, c, d]) = bytes.first_chunk() else {
        return Begins::Nothing;
    };
    let (order, version) = if [b, c, d] == MAGIC_LITTLE {
        (Order::Little, a)
    } else if [a, b, c] == MAGIC_BIG {
        (Order::Big, d)
    } else {
        return Begins::Nothing;
    };
    match Version::of(version) {
        Some(version) => Begins::Record(order, version),
        None => Begins::Unknown(version),
    }
}

/// The first four bytes of a record, whatever they say.
#[inline]
pub(super) fn magic(bytes: &[u8]) -> Option<[u8; 4]> {
    bytes.first_chunk().copied()
}

/// The bytes that every record of a byte order holds, and where they stand in
/// it.
pub(super) const fn pattern(order: Order) -> (&'static [u8; 3], usize) {
    match order {
        Order::Little => (&MAGIC_LITTLE, 1),
        Order::Big => (&MAGIC_BIG, 0),
    }
}

/// One record, as it lies in its file: nothing is decoded before it is needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header<'a> {
    head: &'a [u8; SHORTEST],
    /// What follows of a record of version 8, and what follows the record.
    rest: &'a [u8],
    order: Order,
    version: Version,
}

/// What a notice says (`enum blktrace_notify`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice<'a> {
    /// The name of a process.
    Process(&'a [u8]),
    /// The time of day, in nanoseconds since 1970.
    TimeOfDay(i64),
    /// A message from a driver, a scheduler or a user.
    Message(&'a [u8]),
    /// Something else.
    Unknown,
}

/// Why no record could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Torn {
    /// The file ends within the record.
    Header,
    /// The file ends within what follows the record.
    Payload,
}

/// Reads the record that begins with `bytes`; gives its whole length, too.
#[inline]
pub(super) fn read(
    bytes: &[u8],
    order: Order,
    version: Version,
) -> Result<(Header<'_>, usize), Torn> {
    let (head, rest) = bytes.split_first_chunk().ok_or(Torn::Header)?;
    let follows = match version {
        Version::V7 => usize::from(u16_at::<46>(head, order)),
        Version::V8 => {
            let (longer, _) = rest.split_first_chunk::<LONGER>().ok_or(Torn::Header)?;
            LONGER + usize::from(u16_at::<2>(longer, order))
        }
    };
    let header = Header {
        head,
        rest: rest.get(..follows).ok_or(Torn::Payload)?,
        order,
        version,
    };
    Ok((header, SHORTEST + follows))
}

/// The number at `AT`, which lies in `bytes`.
#[inline]
fn u16_at<const AT: usize>(bytes: &[u8], order: Order) -> u16 {
    let b = bytes.get(AT..).and_then(|b| b.first_chunk()).copied();
    let b = b.unwrap_or_default();
    match order {
        Order::Little => u16::from_le_bytes(b),
        Order::Big => u16::from_be_bytes(b),
    }
}

#[inline]
fn u32_at<const AT: usize>(bytes: &[u8; SHORTEST], order: Order) -> u32 {
    let b = bytes.get(AT..).and_then(|b| b.first_chunk()).copied();
    let b = b.unwrap_or_default();
    match order {
        Order::Little => u32::from_le_bytes(b),
        Order::Big => u32::from_be_bytes(b),
    }
}

#[inline]
fn u64_at<const AT: usize>(bytes: &[u8; SHORTEST], order: Order) -> u64 {
    let b = bytes.get(AT..).and_then(|b| b.first_chunk()).copied();
    let b = b.unwrap_or_default();
    match order {
        Order::Little => u64::from_le_bytes(b),
        Order::Big => u64::from_be_bytes(b),
    }
}

impl<'a> Header<'a> {
    /// Counts up the events of a processor.
    #[inline]
    pub(super) fn sequence(&self) -> u32 {
        u32_at::<4>(self.head, self.order)
    }

    /// When, in nanoseconds.
    #[inline]
    pub(super) fn time(&self) -> u64 {
        u64_at::<8>(self.head, self.order)
    }

    #[inline]
    pub(super) fn sector(&self) -> u64 {
        u64_at::<16>(self.head, self.order)
    }

    #[inline]
    pub(super) fn bytes(&self) -> u32 {
        u32_at::<24>(self.head, self.order)
    }

    /// The action in the lower 16 bits, categories above.
    #[inline]
    pub(super) fn code(&self) -> u64 {
        match self.version {
            Version::V7 => u32_at::<28>(self.head, self.order).into(),
            Version::V8 => u64_at::<32>(self.head, self.order),
        }
    }

    #[inline]
    pub(super) fn pid(&self) -> u32 {
        match self.version {
            Version::V7 => u32_at::<32>(self.head, self.order),
            Version::V8 => u32_at::<28>(self.head, self.order),
        }
    }

    #[inline]
    pub(super) fn device(&self) -> Device {
        device(match self.version {
            Version::V7 => u32_at::<36>(self.head, self.order),
            Version::V8 => u32_at::<40>(self.head, self.order),
        })
    }

    #[inline]
    pub(super) fn cpu(&self) -> u32 {
        match self.version {
            Version::V7 => u32_at::<40>(self.head, self.order),
            Version::V8 => u32_at::<44>(self.head, self.order),
        }
    }

    /// The device and the processor, as they lie in the file.
    #[inline]
    pub(super) fn stream(&self) -> [u8; 8] {
        let from = match self.version {
            Version::V7 => self.head.get(36..),
            Version::V8 => self.head.get(40..),
        };
        from.and_then(|b| b.first_chunk())
            .copied()
            .unwrap_or_default()
    }

    /// The error as a negative number.
    #[inline]
    pub(super) fn error(&self) -> i32 {
        let error = match self.version {
            Version::V7 => u16_at::<44>(self.head, self.order),
            Version::V8 => u16_at::<0>(self.rest, self.order),
        };
        -i32::from(error.cast_signed()).abs()
    }

    /// What follows, without the control group's id.
    fn payload(&self) -> &'a [u8] {
        let record = match self.version {
            Version::V7 => 0,
            Version::V8 => LONGER,
        };
        let group = match self.code() & FROM_CGROUP {
            0 => 0,
            _ => CGROUP_BYTES,
        };
        self.rest.get(record + group..).unwrap_or_default()
    }

    /// Whether this is a notice, not an event.
    #[inline]
    pub(super) fn is_notice(&self) -> bool {
        self.code() & category::NOTIFY != 0
    }

    pub(super) fn notice(&self) -> Notice<'a> {
        match self.code() as u16 & !(FROM_CGROUP as u16) {
            0 => {
                let name = self.payload();
                let end = memchr::memchr(0, name).unwrap_or(name.len());
                Notice::Process(name.get(..end).unwrap_or_default())
            }
            1 => self
                .time_of_day()
                .map_or(Notice::Unknown, Notice::TimeOfDay),
            2 => Notice::Message(self.payload()),
            _ => Notice::Unknown,
        }
    }

    /// Seconds and nanoseconds, 32 bits each.
    fn time_of_day(&self) -> Option<i64> {
        let &[a, b, c, d, e, f, g, h] = self.payload().first_chunk()?;
        let (seconds, ns) = match self.order {
            Order::Little => (
                u32::from_le_bytes([a, b, c, d]),
                u32::from_le_bytes([e, f, g, h]),
            ),
            Order::Big => (
                u32::from_be_bytes([a, b, c, d]),
                u32::from_be_bytes([e, f, g, h]),
            ),
        };
        // 32 bits of seconds do not overflow.
        Some(i64::from(seconds) * 1_000_000_000 + i64::from(ns))
    }

    pub(super) fn action(&self) -> Action {
        match self.code() as u16 & !(FROM_CGROUP as u16) {
            1 => Action::Queue,
            2 => Action::BackMerge,
            3 => Action::FrontMerge,
            4 | 5 => Action::GetRequest,
            6 => Action::Requeue,
            7 => Action::Issue,
            8 => Action::Complete,
            // Of a device, or since 6.19 of a zone.
            9..=11 | 18 | 19 => Action::Plug,
            12 => Action::Insert,
            13 => match self.number() {
                Some(at) => Action::Split { at },
                None => Action::Unknown,
            },
            14 => Action::Bounce,
            15 => match self.payload().first_chunk() {
                // Whatever the file's byte order, this is big-endian.
                Some(from) => Action::Remap {
                    from: device(u32::from_be_bytes(*from)),
                },
                None => Action::Unknown,
            },
            16 | 17 => Action::Driver,
            _ => Action::Unknown,
        }
    }

    /// The number in a payload, which is big-endian in every file.
    fn number(&self) -> Option<u64> {
        Some(u64::from_be_bytes(*self.payload().first_chunk()?))
    }

    #[inline]
    pub(super) fn asks(&self) -> Asks {
        let code = self.code();
        let has = |category: u64| code & category != 0;
        let zones = category::ZONE_STATES | category::WRITE_ZEROES;
        let operation = if has(category::PASSTHROUGH | zones) {
            Operation::Other
        } else if has(category::DISCARD | category::ZONE_RESETS) {
            Operation::Discard
        } else if has(category::WRITE | category::ZONE_APPEND) {
            Operation::Write
        } else {
            Operation::Read
        };
        Asks {
            operation,
            flush_before: has(category::FLUSH) && operation != Operation::Other,
            read_ahead: has(category::AHEAD),
            sync: has(category::SYNC),
            metadata: has(category::META),
        }
    }
}

fn device(number: u32) -> Device {
    Device {
        major: number >> MINOR_BITS,
        minor: number & ((1 << MINOR_BITS) - 1),
    }
}

/// The kernel's nanoseconds have 63 bits.
pub(super) fn nanoseconds(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Begins, Order, Version, begins};

    #[test]
    fn the_magic_is_known_in_both_byte_orders() {
        let magic = |version: u32| 0x6561_7400 | version;
        for (bytes, expected) in [
            (
                magic(7).to_le_bytes(),
                Begins::Record(Order::Little, Version::V7),
            ),
            (
                magic(7).to_be_bytes(),
                Begins::Record(Order::Big, Version::V7),
            ),
            (
                magic(8).to_le_bytes(),
                Begins::Record(Order::Little, Version::V8),
            ),
            (
                magic(8).to_be_bytes(),
                Begins::Record(Order::Big, Version::V8),
            ),
            (magic(6).to_be_bytes(), Begins::Unknown(6)),
            ([0; 4], Begins::Nothing),
        ] {
            assert_eq!(begins(&bytes), expected);
        }
        assert_eq!(begins(b"tae"), Begins::Nothing);
    }
}
