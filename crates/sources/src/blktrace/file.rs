//! One file of a trace: its records in the order they stand.

use super::header::{self, Begins, Header, Order, Torn, Version};
use super::notes::{DAMAGED, GARBAGE, TRUNCATED, UNKNOWN_VERSION};
use crate::balance::Balance;
use memchr::memmem;

/// A record, and the byte at which it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<'a> {
    pub header: Header<'a>,
    pub offset: u64,
}

/// Walks the records of a file. What is no record is passed over and counted.
#[derive(Debug)]
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The byte order of the first record: a file is of one machine.
    order: Option<Order>,
    /// How the last record began. The next one does so, too, in all files but
    /// damaged ones.
    same: Option<([u8; 4], Order, Version)>,
}

impl<'a> Records<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            order: None,
            same: None,
        }
    }

    #[inline]
    fn from(&self, at: usize) -> &'a [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    /// What begins at `at`, in the byte order of the file.
    fn begins(&self, at: usize) -> Begins {
        match header::begins(self.from(at)) {
            Begins::Record(order, _) if self.order.is_some_and(|o| o != order) => Begins::Nothing,
            begins => begins,
        }
    }

    /// The next record; what is passed over on the way is counted.
    #[inline]
    pub(super) fn next(&mut self, balance: &mut Balance) -> Option<Placed<'a>> {
        // In a file that is whole, each record begins as the one before.
        let bytes = self.from(self.at);
        if let Some((magic, order, version)) = self.same
            && header::magic(bytes) == Some(magic)
            && let Ok((header, length)) = header::read(bytes, order, version)
        {
            let offset = self.at as u64;
            let next = self.at + length;
            if next == self.bytes.len() || header::magic(self.from(next)) == Some(magic) {
                self.at = next;
                return Some(Placed { header, offset });
            }
        }
        self.next_slowly(balance)
    }

    #[cold]
    fn next_slowly(&mut self, balance: &mut Balance) -> Option<Placed<'a>> {
        while self.at < self.bytes.len() {
            match self.begins(self.at) {
                Begins::Record(order, version) => {
                    if let Some(placed) = self.record(order, version, balance) {
                        return Some(placed);
                    }
                }
                Begins::Unknown(version) => {
                    balance.skipped(self.at as u64, &UNKNOWN_VERSION, || {
                        format!("version {version}")
                    });
                    self.at = self.find(self.at + 1).unwrap_or(self.bytes.len());
                }
                Begins::Nothing => self.pass_garbage(balance),
            }
        }
        None
    }

    /// Reads the record that begins here, and goes on behind it; `None` if it
    /// is torn or damaged.
    fn record(
        &mut self,
        order: Order,
        version: Version,
        balance: &mut Balance,
    ) -> Option<Placed<'a>> {
        self.order = Some(order);
        let at = self.at;
        self.same = header::magic(self.from(at)).map(|m| (m, order, version));
        let offset = at as u64;
        let (header, next) = match header::read(self.from(at), order, version) {
            Ok((header, length)) => (header, at + length),
            Err(torn) => {
                self.torn(torn, balance);
                return None;
            }
        };
        let follows = next == self.bytes.len() || matches!(self.begins(next), Begins::Record(..));
        if !follows
            && let Some(found) = self.find(at + header::SHORTEST)
            && found < next
        {
            balance.skipped(offset, &DAMAGED, String::new);
            self.at = found;
            return None;
        }
        self.at = next;
        Some(Placed { header, offset })
    }

    /// A record that does not fit into the file: it is the last one, unless
    /// others follow and it only says that it is so long.
    fn torn(&mut self, torn: Torn, balance: &mut Balance) {
        let found = match torn {
            Torn::Header => None,
            Torn::Payload => self.find(self.at + header::SHORTEST),
        };
        let kind = if found.is_some() {
            &DAMAGED
        } else {
            &TRUNCATED
        };
        let left = self.bytes.len() - self.at;
        balance.skipped(self.at as u64, kind, || format!("{left} bytes are left"));
        self.at = found.unwrap_or(self.bytes.len());
    }

    fn pass_garbage(&mut self, balance: &mut Balance) {
        let end = self.find(self.at + 1).unwrap_or(self.bytes.len());
        let passed = self.bytes.get(self.at..end).unwrap_or_default();
        balance.skipped(self.at as u64, &GARBAGE, || {
            let what = match passed.iter().all(|b| *b == 0) {
                true => "zeros",
                false => "other data",
            };
            format!("{} bytes of {what}", passed.len())
        });
        self.at = end;
    }

    /// Where the next record begins, at or after `from`.
    fn find(&self, from: usize) -> Option<usize> {
        let orders = match self.order {
            Some(order) => [Some(order), None],
            None => [Some(Order::Little), Some(Order::Big)],
        };
        let first = |order: Order| {
            let (pattern, before) = header::pattern(order);
            let places = memmem::find_iter(self.from(from), pattern).map(|p| from + p);
            let begins = places.filter_map(|p| p.checked_sub(before));
            let mut whole = begins.filter(|&p| p >= from && self.is_record(p));
            whole.next()
        };
        orders.into_iter().flatten().filter_map(first).min()
    }

    fn is_record(&self, at: usize) -> bool {
        matches!(self.begins(at), Begins::Record(..))
    }
}
