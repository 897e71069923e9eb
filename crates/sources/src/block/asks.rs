//! What a request asks of a device, and how.

use record::Operation;

/// What is asked, apart from where and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asks {
    /// What to do with the data, as far as there is any.
    pub operation: Operation,
    /// What the device holds in its cache is to be on its medium before.
    pub flush_before: bool,
    /// The kernel reads ahead.
    pub read_ahead: bool,
    /// Somebody waits.
    pub sync: bool,
    /// It is a filesystem's own data.
    pub metadata: bool,
}

impl Asks {
    /// Asks for `operation`, and nothing else.
    pub(crate) const fn plain(operation: Operation) -> Self {
        Self {
            operation,
            flush_before: false,
            read_ahead: false,
            sync: false,
            metadata: false,
        }
    }

    /// Reads the letters that the kernel (`blk_fill_rwbs()` in
    /// `kernel/trace/blktrace.c`) and blkparse (`fill_rwbs()`) print: an `F`
    /// for a flush before, one or two for the operation, and then `F` (forced
    /// to the medium), `A`, `S`, `M`. Old kernels print `B` for a barrier.
    ///
    /// `N` is [`Operation::Other`]: none of read, write, discard and flush.
    /// `None` if these are other letters.
    pub(crate) fn from_letters(letters: &[u8]) -> Option<Self> {
        let (flush_before, rest) = match letters {
            // The flush itself, of which nothing follows but flags.
            [b'F', b'F', ..] | [b'F', b'W' | b'R' | b'D' | b'N' | b'Z', ..] => {
                (true, letters.get(1..)?)
            }
            _ => (false, letters),
        };
        let (operation, flags) = match rest {
            // The device writes zeros that nobody sends it.
            [b'W', b'Z', rest @ ..] => (Operation::Other, rest),
            [b'W', rest @ ..] => (Operation::Write, rest),
            [b'R', rest @ ..] => (Operation::Read, rest),
            [b'D', b'E', rest @ ..] | [b'D', rest @ ..] => (Operation::Discard, rest),
            [b'F', rest @ ..] => (Operation::Flush, rest),
            [b'N', rest @ ..] => (Operation::Other, rest),
            // Zones, since 6.17: `ZA` writes at the write pointer, `ZR` and
            // `ZRA` drop what is in zones, `ZF`, `ZO`, `ZC` change their state.
            [b'Z', b'A', rest @ ..] => (Operation::Write, rest),
            [b'Z', b'R', b'A', rest @ ..] | [b'Z', b'R', rest @ ..] => (Operation::Discard, rest),
            [b'Z', _, rest @ ..] => (Operation::Other, rest),
            _ => return None,
        };
        let mut asks = Self::plain(operation);
        asks.flush_before = flush_before;
        for flag in flags {
            match flag {
                b'A' => asks.read_ahead = true,
                b'S' => asks.sync = true,
                b'M' => asks.metadata = true,
                // Forced to the medium, a barrier, atomic: asked, but no
                // question is asked of it here.
                b'F' | b'B' | b'U' => {}
                _ => return None,
            }
        }
        Some(asks)
    }

    /// What this asks with so many bytes: nothing to write, but a flush before,
    /// is a flush.
    pub(crate) fn operation(self, bytes: u64) -> Operation {
        match self.operation {
            Operation::Read | Operation::Write | Operation::Other
                if bytes == 0 && self.flush_before =>
            {
                Operation::Flush
            }
            operation => operation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Asks;
    use record::Operation;

    #[test]
    fn letters_say_what_is_asked() {
        use Operation::{Discard, Flush, Other, Read, Write};
        for (letters, bytes, operation, flags) in [
            ("R", 512, Read, ""),
            ("RA", 512, Read, "A"),
            ("RAM", 512, Read, "AM"),
            ("RSM", 512, Read, "SM"),
            ("W", 512, Write, ""),
            ("WS", 512, Write, "S"),
            ("WFSM", 512, Write, "SM"),
            ("FWFSM", 512, Write, "SM"),
            ("WZS", 512, Other, "S"),
            ("FWS", 0, Flush, "S"),
            ("FN", 0, Flush, ""),
            ("FF", 0, Flush, ""),
            ("F", 0, Flush, ""),
            ("WBS", 512, Write, "S"),
            ("DS", 512, Discard, "S"),
            ("DE", 512, Discard, ""),
            ("N", 0, Other, ""),
            ("NS", 512, Other, "S"),
            ("ZA", 512, Write, ""),
            ("ZRA", 0, Discard, ""),
            ("ZRS", 0, Discard, "S"),
            ("ZOS", 0, Other, "S"),
        ] {
            let asks = Asks::from_letters(letters.as_bytes()).unwrap();
            assert_eq!(asks.operation(bytes), operation, "{letters}");
            assert_eq!(asks.read_ahead, flags.contains('A'), "{letters}");
            assert_eq!(asks.sync, flags.contains('S'), "{letters}");
            assert_eq!(asks.metadata, flags.contains('M'), "{letters}");
        }
        for letters in ["", "S", "M", "RQ", "Wx", "x"] {
            assert_eq!(Asks::from_letters(letters.as_bytes()), None, "{letters}");
        }
    }
}
