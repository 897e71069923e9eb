//! Functions by address: `/proc/kallsyms`.

use super::names::Names;
use crate::text::lines;
use hashbrown::HashMap;
use record::{NameId, Origin, Recorder};

/// How many symbols are read; a kernel with all its modules has 300,000.
const MOST: usize = 4_000_000;

/// A function of the kernel or of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbol<'a> {
    /// Where it begins.
    pub start: u64,
    function: &'a [u8],
    /// In brackets.
    module: Option<&'a [u8]>,
}

impl Symbol<'_> {
    /// `function` or `function [module]`.
    pub(super) fn name(&self) -> Vec<u8> {
        match self.module {
            Some(module) => [self.function, b" ", module].concat(),
            None => self.function.to_vec(),
        }
    }
}

/// The kernel's symbols, sorted when the first one is asked for.
#[derive(Debug, Default)]
pub(super) struct Symbols<'a> {
    text: &'a [u8],
    /// Address, and the place and length of the rest of the line.
    sorted: Option<Vec<(u64, u32, u16)>>,
    /// Addresses that were asked for.
    found: HashMap<u64, NameId>,
}

impl<'a> Symbols<'a> {
    /// The symbols in a text of `/proc/kallsyms`.
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// Whether the symbols say nothing: there are none, or none with an address.
    pub(super) fn are_hidden(&mut self) -> bool {
        self.sorted().is_empty()
    }

    /// The name of the function that `address` lies in; the address itself if
    /// no symbol is before it.
    pub(super) fn name(
        &mut self,
        address: u64,
        names: &mut Names,
        origin: Origin,
        recorder: &mut Recorder,
    ) -> NameId {
        if let Some(&known) = self.found.get(&address) {
            return known;
        }
        let id = match self.find(address) {
            Some(symbol) => names.get(&symbol.name(), origin, recorder),
            None => names.get(format!("{address:#x}").as_bytes(), origin, recorder),
        };
        // As many as there can be names.
        if self.found.len() < 1 << 20 {
            self.found.insert(address, id);
        }
        id
    }

    /// The function that `address` lies in.
    pub(super) fn find(&mut self, address: u64) -> Option<Symbol<'a>> {
        let text = self.text;
        let sorted = self.sorted();
        let after = sorted.partition_point(|s| s.0 <= address);
        // Of several at one address the first in the file: the others are
        // aliases.
        let &(start, ..) = sorted.get(after.checked_sub(1)?)?;
        let first = sorted.partition_point(|s| s.0 < start);
        let &(_, at, length) = sorted.get(first)?;
        // Behind the last symbol there is no function, and modules that were
        // unloaded leave holes.
        if address - start > LARGEST_FUNCTION {
            return None;
        }
        let line = text.get(at as usize..)?.get(..length.into())?;
        let mut words = line.split(|b| matches!(b, b' ' | b'\t'));
        Some(Symbol {
            start,
            function: words.next()?,
            module: words.find(|w| !w.is_empty()),
        })
    }

    fn sorted(&mut self) -> &[(u64, u32, u16)] {
        let text = self.text;
        self.sorted.get_or_insert_with(|| {
            let mut symbols = Vec::new();
            for line in lines(text).take(MOST) {
                let Some((address, place, length)) = symbol(line.bytes) else {
                    continue;
                };
                let at = u32::try_from(line.offset.saturating_add(place as u64));
                if let (Ok(at), Ok(length), true) = (at, u16::try_from(length), address > 0) {
                    symbols.push((address, at, length));
                }
            }
            symbols.sort_by_key(|s| s.0);
            symbols
        })
    }
}

/// Larger than any function of the kernel.
const LARGEST_FUNCTION: u64 = 1 << 20;

/// Address of a line `ffffffff81000000 T _text [module]`, and the place and
/// length of what follows the letter. `None` of data and of other lines.
fn symbol(line: &[u8]) -> Option<(u64, usize, usize)> {
    let end = memchr::memchr(b' ', line)?;
    let address = hex(line.get(..end)?)?;
    let [b' ', kind, b' ', name @ ..] = line.get(end..)? else {
        return None;
    };
    matches!(kind, b't' | b'T' | b'w' | b'W').then_some((address, end + 3, name.len()))
}

/// A hexadecimal number without a prefix.
pub(super) fn hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, &digit| {
        Some(value << 4 | u64::from(char::from(digit).to_digit(16)?))
    })
}

#[cfg(test)]
mod tests {
    use super::Symbols;

    const TEXT: &[u8] = b"0000000000000000 A zero\n\
        ffffffff81001000 T second\n\
        ffffffff81000000 t first\n\
        ffffffff81000000 T alias\n\
        ffffffff81002000 D data\n\
        ffffffffc0000000 t of_module\t[fuse]\n\
        torn";

    #[test]
    fn addresses_find_the_function_they_lie_in() {
        let mut symbols = Symbols::new(TEXT);
        let mut name = |address| symbols.find(address).map(|s| s.name());
        let is = |name: &str| Some(name.as_bytes().to_vec());
        assert_eq!(name(0xffff_ffff_8100_0000), is("first"));
        assert_eq!(name(0xffff_ffff_8100_0fff), is("first"));
        assert_eq!(name(0xffff_ffff_8100_1004), is("second"));
        assert_eq!(name(0xffff_ffff_c000_0010), is("of_module [fuse]"));
        assert_eq!(name(0xffff_ffff_d000_0000), None);
        assert_eq!(name(7), None);
    }

    #[test]
    fn symbols_without_addresses_are_hidden() {
        let hidden = b"0000000000000000 T first\n0000000000000000 T second\n";
        assert!(Symbols::new(hidden).are_hidden());
        assert!(Symbols::new(b"").are_hidden());
        assert!(!Symbols::new(TEXT).are_hidden());
    }
}
