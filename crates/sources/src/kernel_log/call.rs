//! The lines that `initcall_debug` makes the kernel print.
//!
//! From init/main.c and drivers/base/dd.c, of any version since 2.6.28:
//!
//! ```text
//! calling  fuse_init+0x0/0x1b0 [fuse] @ 260
//! initcall fuse_init+0x0/0x1b0 [fuse] returned 0 after 980 usecs
//! probe of 33c0000.pinctrl returned -517 after 19 usecs
//! probe platform_probe in driver D for device X returned 0 after 19 usecs
//! ```

use crate::text::{number, without_indent};
use memchr::{memchr, memchr2, memmem};

/// A function, as `%pS` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Function<'a> {
    /// All that the line says of it: `fuse_init+0x0/0x1b0 [fuse]`.
    words: &'a [u8],
    /// How many bytes of them are the symbol.
    symbol: u32,
    /// Whether the rest of them is whole: offset, size and module. Else the
    /// symbol alone can be trusted, or there is none but an address.
    pub whole: bool,
}

impl<'a> Function<'a> {
    /// A line that ends at `rest` may be cut within the size, or before the
    /// module.
    fn unless_cut(self, rest: &[u8]) -> Self {
        let whole = self.whole && rest.len() > 1;
        Self { whole, ..self }
    }

    /// Its symbol, or its address where the kernel has no symbols; and the
    /// rest, which tells functions of one symbol apart.
    pub(super) fn parts(self) -> (&'a [u8], &'a [u8]) {
        let split = self.words.split_at_checked(self.symbol as usize);
        split.unwrap_or((self.words, &[]))
    }

    /// Its symbol, or its address.
    pub(super) fn symbol(self) -> &'a [u8] {
        self.parts().0
    }

    /// Its module; may be missing from a line that is cut.
    pub(super) fn module(self) -> Option<&'a [u8]> {
        let (_, after) = word(self.words);
        after.strip_prefix(b" [")?.strip_suffix(b"]")
    }
}

/// What one of these lines says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call<'a> {
    /// An initcall begins.
    Begin {
        /// Which.
        function: Function<'a>,
        /// In which task; `None` if the line was torn before it.
        task: Option<u64>,
    },
    /// An initcall ended.
    End {
        /// Which.
        function: Function<'a>,
        /// What it returned, and after what time.
        returned: Returned,
    },
    /// A driver's probe of a device ended.
    Probe {
        /// The device.
        device: &'a [u8],
        /// What it returned, and after what time.
        returned: Returned,
    },
    /// The line begins like one of these and is cut before it says which.
    Torn,
}

/// `returned 0 after 980 usecs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Returned {
    /// The return value.
    pub value: Option<i32>,
    /// The kernel's own duration, in nanoseconds.
    pub after_ns: Option<i64>,
    /// Whether the line ends before it should.
    pub torn: bool,
    /// Whether the line ends where it should.
    pub whole: bool,
}

const TORN: Returned = Returned {
    value: None,
    after_ns: None,
    torn: true,
    whole: false,
};

impl Call<'_> {
    /// Whether the line is an initcall's, and ends where it should: then no
    /// other line begins in it.
    pub(super) const fn is_whole_initcall(&self) -> bool {
        match self {
            Self::Begin { task, .. } => task.is_some(),
            Self::End { returned, .. } => returned.whole,
            Self::Probe { .. } | Self::Torn => false,
        }
    }
}

/// What `text` says, if it is one of these lines.
#[inline]
pub(super) fn call(text: &[u8]) -> Option<Call<'_>> {
    match text.first()? {
        b'c' => match text.strip_prefix(b"calling  ") {
            // Pages that show logs make of the second blank one or more of their own.
            Some(rest) => begin(without_indent(rest)),
            // Text that was pasted has one space. It is less sure then that the line is one
            // of these, so all of it has to be there.
            None => begin(text.strip_prefix(b"calling ")?).filter(Call::is_whole_initcall),
        },
        b'i' => end(text.strip_prefix(b"initcall ")?),
        b'p' => probe(text.strip_prefix(b"probe ")?),
        b'0'..=b'9' => sorted(text),
        _ => None,
    }
}

/// ` 980 usecs [    1.234567] initcall fuse_init+0x0/0x1b0 [fuse] returned 0`: a line with its
/// time in front, as it has to be for `sort -n`.
///
/// <https://elinux.org/Initcall_Debug>
pub(super) fn sorted(text: &[u8]) -> Option<Call<'_>> {
    let (count, rest) = number(text)?;
    let units: [(&[u8], u64); 2] = [(b" usecs ", 1_000), (b" msecs ", 1_000_000)];
    let (rest, each) = units
        .iter()
        .find_map(|(unit, each)| Some((rest.strip_prefix(*unit)?, *each)))?;
    let mut rest = without_indent(rest);
    if rest.first() == Some(&b'[') {
        rest = without_indent(rest.get(memchr(b']', rest)? + 1..)?);
    }
    if !matches!(rest.first(), Some(b'i' | b'p')) {
        return None;
    }
    let rest = rest.trim_ascii_end();
    let at = memmem::rfind(rest, b" returned ")?;
    let (value, nothing) = signed(rest.get(at + b" returned ".len()..)?)?;
    let returned = Returned {
        value: Some(value),
        after_ns: Some(i64::try_from(count.checked_mul(each)?).ok()?),
        torn: false,
        whole: true,
    };
    match call(rest).filter(|_| nothing.is_empty())? {
        Call::End { function, .. } => Some(Call::End { function, returned }),
        Call::Probe { device, .. } => Some(Call::Probe { device, returned }),
        _ => None,
    }
}

/// `calling  fuse_init+0x0/0x1b0 [fuse] @ 260`, whole: the function, the task,
/// and what follows, which may be more lines.
#[inline(always)]
pub(super) fn whole_begin(text: &[u8]) -> Option<(Function<'_>, u64, &[u8])> {
    let (function, rest) = function(text.strip_prefix(b"calling  ")?)?;
    let (task, rest) = number(rest.strip_prefix(b" @ ")?)?;
    Some((function, task, rest))
}

/// `initcall fuse_init+0x0/0x1b0 [fuse] returned 0 after 980 usecs`, whole: the
/// function, what it returned, after how many nanoseconds, and what follows.
#[inline(always)]
pub(super) fn whole_end(text: &[u8]) -> Option<(Function<'_>, i32, i64, &[u8])> {
    let (function, rest) = function(text.strip_prefix(b"initcall ")?)?;
    let (value, rest) = signed(rest.strip_prefix(b" returned ")?)?;
    let (after_ns, rest) = duration(rest.strip_prefix(b" after ")?)?;
    Some((function, value, after_ns, rest))
}

/// `fuse_init+0x0/0x1b0 [fuse] @ 260`, and nothing after it: device callbacks
/// of suspend and resume go on with `, parent: ...`.
fn begin(text: &[u8]) -> Option<Call<'_>> {
    let Some((function, rest)) = function(text) else {
        return cut(text);
    };
    let Some(rest) = rest.strip_prefix(b" @ ") else {
        let torn = b" @ ".starts_with(rest);
        let function = function.unless_cut(rest);
        return torn.then_some(Call::Begin {
            function,
            task: None,
        });
    };
    match number(rest) {
        Some((task, rest)) if rest.trim_ascii().is_empty() => Some(Call::Begin {
            function,
            task: Some(task),
        }),
        None if rest.is_empty() => Some(Call::Begin {
            function,
            task: None,
        }),
        _ => None,
    }
}

/// `fuse_init+0x0/0x1b0 [fuse] returned 0 after 980 usecs`
fn end(text: &[u8]) -> Option<Call<'_>> {
    let Some((function, rest)) = function(text) else {
        return cut(text);
    };
    let (function, returned) = match rest.strip_prefix(b" returned ") {
        Some(rest) => (function, returned(rest)?),
        None if b" returned ".starts_with(rest) => (function.unless_cut(rest), TORN),
        None => return None,
    };
    Some(Call::End { function, returned })
}

/// A symbol alone, or nothing at all, is what a cut leaves: words are other text.
fn cut(text: &[u8]) -> Option<Call<'_>> {
    (memchr(b' ', text).is_none()).then_some(Call::Torn)
}

/// `of X returned R after N usecs`, or the form of a patch that names more:
/// `platform_probe in driver D for device X returned ...`.
fn probe(text: &[u8]) -> Option<Call<'_>> {
    let (device, patched) = match text.strip_prefix(b"of ") {
        Some(device) => (device, false),
        None => {
            let driver = memmem::find(text, b" in driver ")?;
            let rest = text.get(driver..)?;
            let at = memmem::find(rest, b" for device ")?;
            (rest.get(at + 12..)?, true)
        }
    };
    // Names of devices may hold blanks: `Fixed MDIO bus.0`.
    let Some(end) = memmem::find(device, b" returned ") else {
        // Other lines begin with "probe of" too: a cut one has no more words.
        let no_words = patched || memchr(b' ', device).is_none();
        return no_words.then_some(Call::Torn);
    };
    let (device, rest) = device.split_at(end);
    let returned = returned(rest.get(10..)?)?;
    Some(Call::Probe { device, returned })
}

/// `0 after 980 usecs`, cut anywhere.
fn returned(text: &[u8]) -> Option<Returned> {
    let Some((value, rest)) = signed(text) else {
        // "returned with preemption imbalance" is another line.
        return (text.is_empty() || text == b"-").then_some(TORN);
    };
    if rest.is_empty() {
        return Some(TORN);
    }
    let after = rest.strip_prefix(b" after ").and_then(duration);
    if after.is_none() && !rest.starts_with(b" ") {
        return None;
    }
    Some(Returned {
        value: Some(value),
        after_ns: after.map(|a| a.0),
        torn: after.is_none(),
        whole: after.is_some_and(|a| a.1.is_empty()),
    })
}

/// `-19`, and what follows.
#[inline(always)]
fn signed(text: &[u8]) -> Option<(i32, &[u8])> {
    let digits = text.strip_prefix(b"-");
    let (value, rest) = number(digits.unwrap_or(text))?;
    let value = i32::try_from(value).ok()?;
    Some((if digits.is_some() { -value } else { value }, rest))
}

/// `980 usecs`, or `msecs` in kernels before 2.6.30, in nanoseconds; and what
/// follows.
#[inline(always)]
fn duration(text: &[u8]) -> Option<(i64, &[u8])> {
    let (count, rest) = number(text)?;
    let (unit, rest) = rest.split_first_chunk()?;
    let factor = match unit {
        b" usecs" => 1_000,
        b" msecs" => 1_000_000,
        _ => return None,
    };
    let ns = i64::try_from(count).ok()?.checked_mul(factor)?;
    Some((ns, rest))
}

/// `fuse_init+0x0/0x1b0 [fuse]` or a bare address, and what follows.
#[inline(always)]
fn function(text: &[u8]) -> Option<(Function<'_>, &[u8])> {
    let (word, rest) = word(text);
    let (symbol, mut whole) = match before_place(word) {
        Some(symbol) => (symbol, true),
        // The line may end within the place, but not before it.
        None if rest.is_empty() => (word.get(..memchr::memrchr(b'+', word)?)?, false),
        None if word.starts_with(b"0x") && !word.contains(&b'+') => (word, false),
        None => return None,
    };
    if symbol.is_empty() {
        return None;
    }
    let mut words = word;
    let mut after = rest;
    if let Some(module) = rest.strip_prefix(b" [") {
        match memchr2(b']', b'\n', module).filter(|end| module[*end] == b']') {
            Some(end) => (words, after) = text.split_at_checked(word.len() + end + 3)?,
            None => (whole, after) = (false, &[]),
        }
    }
    let function = Function {
        words,
        symbol: u32::try_from(symbol.len()).ok()?,
        whole,
    };
    Some((function, after))
}

/// What stands before the first blank or line end, and what follows.
#[inline]
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(memchr2(b' ', b'\n', text).unwrap_or(text.len()))
}

/// The symbol of `fuse_init+0x0/0x1b0`, if offset and size are whole.
#[inline]
fn before_place(word: &[u8]) -> Option<&[u8]> {
    let rest = before_hex(word)?;
    // Initcalls are called at their first byte.
    let usual = rest.strip_suffix(b"+0x0/0x");
    usual.or_else(|| before_hex(rest.strip_suffix(b"/0x")?)?.strip_suffix(b"+0x"))
}

/// What stands before the hexadecimal digits at the end.
#[inline]
fn before_hex(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    while let [head @ .., digit] = rest
        && digit.is_ascii_hexdigit()
    {
        rest = head;
    }
    // An address has no more than 64 bits.
    (1..=16)
        .contains(&(text.len() - rest.len()))
        .then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::{Call, Function, Returned, TORN, call};

    const fn function(words: &'static str, symbol: u32) -> Function<'static> {
        Function {
            words: words.as_bytes(),
            symbol,
            whole: true,
        }
    }

    const fn cut(words: &'static str, symbol: u32) -> Function<'static> {
        Function {
            whole: false,
            ..function(words, symbol)
        }
    }

    const fn done(value: i32, ns: i64) -> Returned {
        Returned {
            value: Some(value),
            after_ns: Some(ns),
            torn: false,
            whole: true,
        }
    }

    #[test]
    fn a_line_with_its_time_in_front_is_one() {
        let module = "slow_init+0x0/0x1000 [slow]";
        let text = format!("4283681 usecs [    8.124236] initcall {module} returned 0 ");
        let Some(Call::End { function, returned }) = call(text.as_bytes()) else {
            panic!("{text}");
        };
        assert_eq!(function.module(), Some(&b"slow"[..]));
        assert_eq!(returned, done(0, 4_283_681_000));
        let text = "12 msecs probe of 1c10000.pcie returned -19";
        let Some(Call::Probe { device, returned }) = call(text.as_bytes()) else {
            panic!("{text}");
        };
        assert_eq!(
            (device, returned),
            (&b"1c10000.pcie"[..], done(-19, 12_000_000))
        );
        for text in [
            "12 usecs calling  a+0x0/0x1 @ 1",
            "12 usecs initcall a+0x0/0x1",
            "12 apples initcall a+0x0/0x1 returned 0",
            "12 usecs [ initcall a+0x0/0x1 returned 0",
        ] {
            assert_eq!(call(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn one_space_is_enough_for_a_whole_line_only() {
        for text in [
            "calling fuse_init+0x0/0x1b0",
            "calling home",
            "calling home @ ",
        ] {
            assert_eq!(call(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn whole_lines() {
        let fuse = function("fuse_init+0x0/0x1b0 [fuse]", 9);
        let dotted = function("foo.cfi_jt+0x0/0x8", 10);
        let rows = [
            (
                "calling  fuse_init+0x0/0x1b0 [fuse] @ 260",
                Call::Begin {
                    function: fuse,
                    task: Some(260),
                },
            ),
            // As pages print it, and as it is pasted from them.
            (
                "calling fuse_init+0x0/0x1b0 [fuse] @ 260",
                Call::Begin {
                    function: fuse,
                    task: Some(260),
                },
            ),
            (
                "calling   foo.cfi_jt+0x0/0x8 @ 1",
                Call::Begin {
                    function: dotted,
                    task: Some(1),
                },
            ),
            (
                "calling  foo.cfi_jt+0x0/0x8 @ 1",
                Call::Begin {
                    function: dotted,
                    task: Some(1),
                },
            ),
            (
                "calling  0xc0008abc @ 1",
                Call::Begin {
                    function: cut("0xc0008abc", 10),
                    task: Some(1),
                },
            ),
            (
                "initcall fuse_init+0x0/0x1b0 [fuse] returned -19 after 980 usecs",
                Call::End {
                    function: fuse,
                    returned: done(-19, 980_000),
                },
            ),
            (
                "initcall foo.cfi_jt+0x0/0x8 returned 0 after 1 msecs",
                Call::End {
                    function: dotted,
                    returned: done(0, 1_000_000),
                },
            ),
            (
                "initcall foo.cfi_jt+0x0/0x8 returned 0 after 2 usecs with errors",
                Call::End {
                    function: dotted,
                    returned: Returned {
                        whole: false,
                        ..done(0, 2_000)
                    },
                },
            ),
            (
                "probe of Fixed MDIO bus.0 returned 517 after 144 usecs",
                Call::Probe {
                    device: b"Fixed MDIO bus.0",
                    returned: done(517, 144_000),
                },
            ),
            (
                "probe platform_probe in driver d for device a.b returned 1 after 2 usecs",
                Call::Probe {
                    device: b"a.b",
                    returned: done(1, 2_000),
                },
            ),
        ];
        for (line, said) in rows {
            assert_eq!(call(line.as_bytes()), Some(said), "{line}");
        }
    }

    #[test]
    fn parts_of_functions() {
        let parts = |line: &str| match call(line.as_bytes()) {
            Some(Call::Begin { function, .. }) => {
                let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
                let (symbol, rest) = function.parts();
                let module = function.module().map(text);
                Some((text(symbol), text(rest), module, function.whole))
            }
            _ => None,
        };
        let rows = [
            (
                "a+b+0x4/0x1B0 [fuse]",
                "a+b",
                "+0x4/0x1B0 [fuse]",
                Some("fuse"),
                true,
            ),
            (
                "a+0x0/0xffffffffffffffff",
                "a",
                "+0x0/0xffffffffffffffff",
                None,
                true,
            ),
            (
                "0xc0008abc [fuse]",
                "0xc0008abc",
                " [fuse]",
                Some("fuse"),
                false,
            ),
        ];
        for (words, symbol, rest, module, whole) in rows {
            let wanted = (symbol.into(), rest.into(), module.map(str::to_owned), whole);
            assert_eq!(parts(&format!("calling  {words} @ 1")), Some(wanted));
        }
        for words in [
            "a+0x0/0x10000000000000000",
            "+0x0/0x10",
            "a+0x0/10",
            "a+0x0",
            "a+1",
        ] {
            assert_eq!(parts(&format!("calling  {words} @ 1")), None, "{words}");
        }
    }

    #[test]
    fn torn_lines() {
        let foo = function("foo+0x0/0x10", 3);
        let end = |returned| Call::End {
            function: foo,
            returned,
        };
        let half = Returned {
            value: Some(0),
            after_ns: None,
            torn: true,
            whole: false,
        };
        let rows = [
            (
                "calling  foo+0x0/0x1",
                Call::Begin {
                    function: cut("foo+0x0/0x1", 3),
                    task: None,
                },
            ),
            (
                "calling  foo+0x0/0x10 @ ",
                Call::Begin {
                    function: foo,
                    task: None,
                },
            ),
            (
                "calling  foo+0x",
                Call::Begin {
                    function: cut("foo+0x", 3),
                    task: None,
                },
            ),
            (
                "initcall foo+0x0/0x10 ",
                Call::End {
                    function: cut("foo+0x0/0x10", 3),
                    returned: TORN,
                },
            ),
            ("calling  fo", Call::Torn),
            ("initcall foo+0x0/0x10 retur", end(TORN)),
            ("initcall foo+0x0/0x10 returned -", end(TORN)),
            ("initcall foo+0x0/0x10 returned -51", end(TORN)),
            ("initcall foo+0x0/0x10 returned 0 af", end(half)),
            ("initcall foo+0x0/0x10 returned 0 after 12", end(half)),
            ("probe of x.", Call::Torn),
        ];
        for (line, said) in rows {
            assert_eq!(call(line.as_bytes()), Some(said), "{line}");
        }
    }

    #[test]
    fn other_lines() {
        for line in [
            "calling  serial8250+ @ 1, parent: none",
            "calling  foo+0x0/0x10 @ 7, parent: none",
            "calling a function",
            "initcall foo blacklisted",
            "initcall foo+0x0/0x10 returned with preemption imbalance",
            "initcall_debug is on",
            "probe of the device failed",
            "probe deferral not supported",
            "pci 0000:00:00.0: calling  quirk+0x0/0x10 @ 1",
        ] {
            assert_eq!(call(line.as_bytes()), None, "{line}");
        }
    }
}
