//! The names of symbols that a kernel keeps for its traces (`scripts/kallsyms.c`): names in
//! tokens of one byte, the place of every 256th name, what the tokens stand for, and where each
//! token begins. Nothing says where these tables are: that the tokens of digits stand for
//! themselves finds them.

use rawimage::bytes::{be16, be32, le16, le32};

/// A kernel has this many symbols at least and at most.
const COUNTS: std::ops::Range<u32> = 1_000..1 << 21;
/// Names that lie between two places of the list of places.
const STEP: u32 = 256;
/// The names begin no further before their tokens, in bytes: a kernel of a distribution has 3 MB.
const FURTHEST: usize = 16 << 20;
/// So many places are tried, so that no image takes long.
const MOST_TRIES: usize = 1 << 16;
/// And so many of those at which the first names look right.
const MOST_LIKELY: usize = 64;
/// Tokens are so many, and take no more bytes than this.
const TOKENS: usize = 256;
const LONGEST_TOKENS: usize = 1 << 13;
/// Beside its name a symbol has its address, as a number of 32 bits, and, since Linux 6.1, its
/// place in the order of names, in three bytes.
const ADDRESS: u64 = 4;
const PLACE: u64 = 3;

/// What the tables of a kernel hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    /// Symbols in all.
    pub count: u64,
    /// Of those, the ones that are no functions (`CONFIG_KALLSYMS_ALL`).
    pub variables: u64,
    /// Bytes of the tables that these take.
    pub variable_bytes: u64,
}

/// Finds the tables in an unpacked kernel; `None` if there are none that are known here.
#[must_use]
pub fn symbols(kernel: &[u8]) -> Option<Symbols> {
    [false, true]
        .into_iter()
        .find_map(|is_big_endian| Tables::new(kernel, is_big_endian)?.symbols())
}

struct Tables<'a> {
    kernel: &'a [u8],
    is_big_endian: bool,
    /// Where the tokens begin.
    tokens: usize,
    /// What the first letter of each token is.
    letters: Vec<u8>,
}

impl<'a> Tables<'a> {
    fn new(kernel: &'a [u8], is_big_endian: bool) -> Option<Self> {
        let digits: Vec<u8> = (b'0'..=b'9').flat_map(|digit| [digit, 0]).collect();
        let mut found = memchr::memmem::find_iter(kernel, &digits).take(MOST_LIKELY);
        found.find_map(|zero| {
            let behind = zero + digits.len();
            let places = (behind..behind + LONGEST_TOKENS).filter(|at| at % 2 == 0);
            let mut tables = places.filter_map(|at| {
                let of_tokens = token_places(kernel, at, is_big_endian)?;
                let start = zero.checked_sub(usize::from(*of_tokens.get(usize::from(b'0'))?))?;
                let letter = |place: &u16| kernel.get(start + usize::from(*place)).copied();
                let letters: Option<Vec<u8>> = of_tokens.iter().map(letter).collect();
                Some(Self {
                    kernel,
                    is_big_endian,
                    tokens: start,
                    letters: letters?,
                })
            });
            tables.next()
        })
    }

    fn number(&self, at: usize) -> Option<u32> {
        match self.is_big_endian {
            true => be32(self.kernel, at),
            false => le32(self.kernel, at),
        }
    }

    /// The name at `at`: where its tokens begin, and where it ends. Lengths from 128 on take
    /// two bytes, since Linux 6.1.
    fn name(&self, at: usize) -> Option<(usize, usize)> {
        let first = usize::from(*self.kernel.get(at)?);
        let (begin, length) = match first {
            0 => return None,
            1..0x80 => (at + 1, first),
            _ => {
                let second = usize::from(*self.kernel.get(at + 1)?);
                (at + 2, first & 0x7f | second << 7)
            }
        };
        let end = begin + length;
        (end <= self.tokens).then_some((begin, end))
    }

    /// Where `count` names end that begin at `at`.
    fn end(&self, at: usize, count: u32) -> Option<usize> {
        (0..count).try_fold(at, |at, _| Some(self.name(at)?.1))
    }

    /// The names: where they begin, how many there are, and where the places of every 256th
    /// begin. Their number stands before them.
    fn names(&self) -> Option<(usize, u32, usize)> {
        let last = self.tokens / 4 * 4;
        let counts = (last.saturating_sub(FURTHEST)..last).rev().step_by(4);
        let counts = counts.filter_map(|at| {
            let at = at / 4 * 4;
            let count = self.number(at).filter(|n| COUNTS.contains(n))?;
            Some((at, count))
        });
        let begins = counts.flat_map(|(at, count)| [(at + 4, count), (at + 8, count)]);
        let likely = begins.take(MOST_TRIES).filter_map(|(begin, count)| {
            let second = u32::try_from(self.end(begin, STEP)? - begin).ok()?;
            Some((begin, count, second))
        });
        let mut likely = likely.take(MOST_LIKELY);
        likely.find_map(|(begin, count, second)| {
            let end = self.end(begin, count)?;
            let places = [4, 8].map(|step| end.next_multiple_of(step));
            let is_it =
                |at: &usize| self.number(*at) == Some(0) && self.number(at + 4) == Some(second);
            Some((begin, count, places.into_iter().find(is_it)?))
        })
    }

    fn symbols(&self) -> Option<Symbols> {
        let (begin, count, places) = self.names()?;
        let behind = self.tokens.saturating_sub(places) as u64;
        let steps = u64::from(count.div_ceil(STEP)) * 4;
        let has_order = behind >= steps + u64::from(count) * PLACE;
        let beside = ADDRESS + if has_order { PLACE } else { 0 };
        let mut symbols = Symbols {
            count: u64::from(count),
            ..Symbols::default()
        };
        let mut at = begin;
        for _ in 0..count {
            let (tokens, end) = self.name(at)?;
            // The first letter of a name is its kind, as `nm` has it.
            let token = self.kernel.get(tokens)?;
            let kind = self.letters.get(usize::from(*token))?;
            if !matches!(kind, b'T' | b't' | b'W' | b'w') {
                symbols.variables += 1;
                symbols.variable_bytes += (end - at) as u64 + beside;
            }
            at = end;
        }
        Some(symbols)
    }
}

/// Where each token begins, counted from the first one, if that is what stands at `at`.
fn token_places(kernel: &[u8], at: usize, is_big_endian: bool) -> Option<Vec<u16>> {
    let number = |i: usize| match is_big_endian {
        true => be16(kernel, at + 2 * i),
        false => le16(kernel, at + 2 * i),
    };
    (number(0) == Some(0)).then_some(())?;
    let places: Vec<u16> = (0..TOKENS).map(number).collect::<Option<_>>()?;
    places.is_sorted_by(|a, b| a < b).then_some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel of 1,100 functions and 200 variables, with the tokens of all bytes.
    fn kernel(is_big_endian: bool) -> Vec<u8> {
        let word = |n: u32| match is_big_endian {
            true => n.to_be_bytes(),
            false => n.to_le_bytes(),
        };
        let mut bytes = vec![0xff; 64];
        bytes.extend(word(1_300));
        let mut places = Vec::new();
        let begin = bytes.len();
        for n in 0..1_300_usize {
            if n % 256 == 0 {
                places.push((bytes.len() - begin) as u32);
            }
            let kind = if n < 1_100 { 'T' } else { 'd' };
            let name = format!("{kind}name_{n}");
            bytes.push(name.len() as u8);
            bytes.extend(name.as_bytes());
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(places.into_iter().flat_map(word));
        let start = bytes.len();
        let mut tokens = Vec::new();
        for token in 0..=255_u8 {
            tokens.push((bytes.len() - start) as u16);
            // Bytes that no name has stand for nothing.
            let is_used = token.is_ascii_alphanumeric() || token == b'_';
            bytes.extend(is_used.then_some(token));
            bytes.push(0);
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(tokens.into_iter().flat_map(|n| match is_big_endian {
            true => n.to_be_bytes(),
            false => n.to_le_bytes(),
        }));
        bytes
    }

    #[test]
    fn variables_are_counted_in_either_byte_order() {
        for is_big_endian in [false, true] {
            let found = symbols(&kernel(is_big_endian)).unwrap();
            assert_eq!((found.count, found.variables), (1_300, 200));
            // `dname_1100` and its length, and its address.
            assert_eq!(found.variable_bytes, 200 * (11 + 4));
        }
    }

    #[test]
    fn a_cut_or_changed_kernel_is_refused() {
        let whole = kernel(false);
        for length in (0..whole.len()).step_by(97) {
            assert_eq!(symbols(&whole[..length]), None, "{length}");
        }
        let mut other = whole;
        other[64] ^= 1;
        assert_eq!(symbols(&other), None);
        assert_eq!(symbols(&[0; 4096]), None);
    }
}
