//! Pages of the kernel's ring buffer (`kernel/trace/ring_buffer.c`): a time
//! stamp, how much is in use, and then events, each with the time since the
//! one before.

use super::cursor::Order;
use super::format::Format;

/// Events shorter than this many words say their length in their header; then
/// come the numbers of what is no event.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// The time difference in a header has so many bits; an extension goes on top.
const DELTA_BITS: u32 = 27;

/// An absolute stamp has 59 bits: the upper ones are those of the page's.
const STAMP_UPPER: u64 = 0xf8 << 56;

/// The bits of the commit field that say how much of a page is in use.
const COMMIT_MASK: u64 = (1 << 27) - 1;
/// Events were lost before this page.
const MISSED_EVENTS: u64 = 1 << 31;
/// How many, stands behind the page's last event.
const MISSED_STORED: u64 = 1 << 30;

/// The largest page of a ring buffer that is believed.
const LARGEST: usize = 16 << 20;

/// How a page begins, as `events/header_page` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageLayout {
    timestamp: usize,
    commit: usize,
    commit_size: usize,
    data: usize,
    /// How long a page is, as this says it.
    bytes: usize,
}

impl Default for PageLayout {
    /// Of a kernel of 64 bits.
    fn default() -> Self {
        Self {
            timestamp: 0,
            commit: 8,
            commit_size: 8,
            data: 16,
            bytes: 4096,
        }
    }
}

impl PageLayout {
    /// Reads the text of `events/header_page`. `None` if it is not that.
    pub(super) fn of(text: &[u8]) -> Option<Self> {
        // It is the list of fields of a format file, without the rest.
        let mut whole = b"name: header_page\nID: 0\n".to_vec();
        whole.extend_from_slice(text);
        let format = Format::of(&whole)?;
        let field = |name: &[u8]| format.fields().find(|f| f.name == name);
        let commit = field(b"commit")?;
        matches!(commit.size, 4 | 8).then_some(())?;
        let data = field(b"data")?;
        Some(Self {
            timestamp: field(b"timestamp")?.offset,
            commit: commit.offset,
            commit_size: commit.size,
            data: data.offset,
            bytes: data.offset.checked_add(data.size)?,
        })
    }

    /// How long a page is. A file says the size of the machine's pages, and the
    /// kernel may join several of them to one of the ring buffer.
    pub(super) fn page_bytes(&self, said: u32) -> usize {
        let said = said as usize;
        match self.bytes.checked_rem(said) {
            Some(0) if self.bytes > said && self.bytes <= LARGEST => self.bytes,
            _ => said,
        }
    }
}

/// What is in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// Where its events begin, in bytes from its own start.
    pub start: usize,
    /// Where they end.
    pub end: usize,
    /// The time of the page.
    pub stamp: u64,
    /// The events that were lost before it; the number, if the page says it.
    pub missed: Option<Option<u64>>,
    /// It says that it is longer than it is.
    pub cut: bool,
}

impl Page {
    /// Reads the head of a page. `None` if there is not even a whole head.
    pub(super) fn of(bytes: &[u8], layout: PageLayout, order: Order) -> Option<Self> {
        let stamp = order.u64(bytes, layout.timestamp)?;
        let commit = order.number(bytes, layout.commit, layout.commit_size)?;
        let used = usize::try_from(commit & COMMIT_MASK).ok()?;
        let wanted = layout.data.checked_add(used)?;
        let end = wanted.min(bytes.len());
        let missed = (commit & MISSED_EVENTS != 0).then(|| {
            let stored = commit & MISSED_STORED != 0;
            let count = || order.number(bytes, end, layout.commit_size);
            stored.then(count).flatten()
        });
        Some(Self {
            start: layout.data,
            end,
            stamp,
            missed,
            cut: wanted > bytes.len(),
        })
    }
}

/// A step through a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// An event: its bytes are those from `start` to `end`.
    Event {
        /// Where it begins, in bytes from the page's start.
        start: usize,
        /// Where it ends; the next step begins here.
        end: usize,
    },
    /// Nothing: the next step begins here.
    Skip(usize),
    /// The page has no more.
    End,
    /// What stands there cannot be.
    Broken,
}

/// Takes one step at `at` in a page whose events end at `end`. Moves `time` on.
#[inline]
pub(super) fn step(bytes: &[u8], at: usize, end: usize, order: Order, time: &mut u64) -> Step {
    if at >= end {
        return Step::End;
    }
    let Some(bytes) = bytes.get(..end) else {
        return Step::Broken;
    };
    let Some(head) = order.u32(bytes, at) else {
        return Step::Broken;
    };
    let (kind, delta) = match order {
        Order::Little => (head & 0x1f, head >> 5),
        Order::Big => (head >> DELTA_BITS, head & ((1 << DELTA_BITS) - 1)),
    };
    let delta = u64::from(delta);
    let second = || order.u32(bytes, at + 4);
    let (start, length) = match kind {
        PADDING if delta == 0 => return Step::End,
        PADDING => {
            // A discarded event; the time of the next one counts from its.
            let Some(length) = second() else {
                return Step::Broken;
            };
            *time = time.wrapping_add(delta);
            let next = (at + 4).saturating_add(length as usize);
            return if length >= 4 && next <= end {
                Step::Skip(next)
            } else {
                Step::Broken
            };
        }
        TIME_EXTEND | TIME_STAMP => {
            let Some(upper) = second() else {
                return Step::Broken;
            };
            let value = u64::from(upper) << DELTA_BITS | delta;
            *time = match kind {
                TIME_EXTEND => time.wrapping_add(value),
                _ => absolute(value, *time),
            };
            return Step::Skip(at + 8);
        }
        0 => {
            let Some(length) = second().and_then(|l| l.checked_sub(4)) else {
                return Step::Broken;
            };
            (at + 8, length as usize)
        }
        words => (at + 4, words as usize * 4),
    };
    *time = time.wrapping_add(delta);
    let stop = start.saturating_add(length.next_multiple_of(4));
    if stop > end {
        return Step::Broken;
    }
    Step::Event { start, end: stop }
}

/// An absolute stamp with the upper bits of the stamp before (`rb_fix_abs_ts`).
fn absolute(value: u64, before: u64) -> u64 {
    if before & STAMP_UPPER == 0 {
        return value;
    }
    let whole = value | before & STAMP_UPPER;
    match whole < before {
        true => whole.wrapping_add(1 << 59),
        false => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, Page, PageLayout, Step, absolute, step};

    const HEADER: &[u8] = b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:12;\tsize:4084;\tsigned:0;\n";

    #[test]
    fn the_header_says_where_things_are() {
        let layout = PageLayout::of(HEADER).unwrap();
        assert_eq!((layout.commit_size, layout.data), (4, 12));
        assert_eq!(PageLayout::of(b"nothing"), None);
    }

    #[test]
    fn a_page_knows_what_was_lost_before_it() {
        let layout = PageLayout::default();
        let mut bytes = vec![0; 40];
        bytes[0] = 7;
        bytes[8..16].copy_from_slice(&(8_u64 | 3 << 30).to_le_bytes());
        bytes[24..32].copy_from_slice(&1234_u64.to_le_bytes());
        let page = Page::of(&bytes, layout, Order::Little).unwrap();
        assert_eq!((page.start, page.end, page.stamp), (16, 24, 7));
        assert_eq!(page.missed, Some(Some(1234)));
        bytes[8..16].copy_from_slice(&(8_u64 | 2 << 30).to_le_bytes());
        let page = Page::of(&bytes, layout, Order::Little).unwrap();
        assert_eq!(page.missed, Some(None));
        assert_eq!(Page::of(&bytes[..12], layout, Order::Little), None);
    }

    #[test]
    fn steps_of_both_byte_orders_are_the_same() {
        // Kind, delta, further words.
        let items: [(u32, u32, &[u32]); 6] = [
            (2, 5, &[0xaaaa_0001, 0]),
            (30, 1, &[1]),
            (0, 3, &[12, 0xbbbb_0002, 0]),
            (29, 1, &[8, 0]),
            (31, 9, &[2]),
            (1, 0, &[0xcccc_0003]),
        ];
        let mut seen = Vec::new();
        for order in [Order::Little, Order::Big] {
            let mut bytes = Vec::new();
            for (kind, delta, words) in items {
                let head = match order {
                    Order::Little => kind | delta << 5,
                    Order::Big => kind << 27 | delta,
                };
                for word in std::iter::once(head).chain(words.iter().copied()) {
                    bytes.extend_from_slice(&match order {
                        Order::Little => word.to_le_bytes(),
                        Order::Big => word.to_be_bytes(),
                    });
                }
            }
            let (mut at, mut time, mut events) = (0, 100, Vec::new());
            loop {
                match step(&bytes, at, bytes.len(), order, &mut time) {
                    Step::Event { start, end } => {
                        events.push((time, order.u32(&bytes, start), end - start));
                        at = end;
                    }
                    Step::Skip(next) => at = next,
                    Step::End => break,
                    Step::Broken => panic!("at {at}"),
                }
            }
            seen.push(events);
        }
        let stamp = (2 << 27) + 9;
        assert_eq!(
            seen[0],
            [
                (105, Some(0xaaaa_0001), 8),
                (105 + (1 << 27) + 1 + 3, Some(0xbbbb_0002), 8),
                (stamp, Some(0xcccc_0003), 4),
            ]
        );
        assert_eq!(seen[0], seen[1]);
    }

    #[test]
    fn what_leaves_the_page_is_broken() {
        for words in [
            [4_u32, 0],
            [0, 3],
            [0, 100],
            [29 | 1 << 5, 100],
            [29 | 1 << 5, 0],
        ] {
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            assert_eq!(
                step(&bytes, 0, 8, Order::Little, &mut 0),
                Step::Broken,
                "{words:?}"
            );
        }
        assert_eq!(step(&[0; 8], 8, 8, Order::Little, &mut 0), Step::End);
        assert_eq!(step(&[29, 0, 0, 0], 0, 4, Order::Little, &mut 0), Step::End);
        assert_eq!(step(&[1, 0], 0, 2, Order::Little, &mut 0), Step::Broken);
    }

    #[test]
    fn absolute_stamps_take_the_upper_bits_along() {
        assert_eq!(absolute(5, 3), 5);
        let upper = 1 << 59;
        assert_eq!(absolute(5, upper | 3), upper | 5);
        assert_eq!(absolute(5, upper | 7), (upper | 5) + upper);
    }
}
