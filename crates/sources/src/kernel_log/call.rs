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

use crate::text::number;
use memchr::{memchr, memmem};

/// A function, as `%pS` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Function<'a> {
    /// Its symbol, or its address where the kernel has no symbols.
    pub symbol: &'a [u8],
    /// Offset and size, which tell functions of one name apart; `None` if the
    /// line does not say them whole, and then the module may be missing too.
    pub place: Option<(u64, u64)>,
    /// Its module.
    pub module: Option<&'a [u8]>,
}

impl Function<'_> {
    /// A line that ends at `rest` may be cut within the size, or before the
    /// module: then the symbol alone can be trusted.
    fn unless_cut(self, rest: &[u8]) -> Self {
        let place = self.place.filter(|_| rest.len() > 1);
        Self { place, ..self }
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
}

const TORN: Returned = Returned {
    value: None,
    after_ns: None,
    torn: true,
};

/// What `text` says, if it is one of these lines.
#[inline]
pub(super) fn call(text: &[u8]) -> Option<Call<'_>> {
    match text.first()? {
        b'c' => begin(text.strip_prefix(b"calling  ")?),
        b'i' => end(text.strip_prefix(b"initcall ")?),
        b'p' => probe(text.strip_prefix(b"probe ")?),
        _ => None,
    }
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
#[inline]
fn returned(text: &[u8]) -> Option<Returned> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let Some((value, rest)) = number(digits) else {
        // "returned with preemption imbalance" is another line.
        return digits.is_empty().then_some(TORN);
    };
    if rest.is_empty() {
        return Some(TORN);
    }
    let value = i32::try_from(value).ok()?;
    let value = Some(if negative {
        value.saturating_neg()
    } else {
        value
    });
    let after_ns = rest.strip_prefix(b" after ").and_then(after);
    if after_ns.is_none() && !rest.starts_with(b" ") {
        return None;
    }
    Some(Returned {
        value,
        after_ns,
        torn: after_ns.is_none(),
    })
}

/// `980 usecs`, or `msecs` in kernels before 2.6.30.
fn after(text: &[u8]) -> Option<i64> {
    let (count, unit) = number(text)?;
    let factor = match unit.get(..6)? {
        b" usecs" => 1_000,
        b" msecs" => 1_000_000,
        _ => return None,
    };
    i64::try_from(count).ok()?.checked_mul(factor)
}

/// `fuse_init+0x0/0x1b0 [fuse]` or a bare address, and what follows.
#[inline]
fn function(text: &[u8]) -> Option<(Function<'_>, &[u8])> {
    let end = memchr(b' ', text).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let (symbol, place) = match memchr::memrchr(b'+', word) {
        Some(plus) => {
            let place = word.get(plus + 1..).and_then(place);
            if place.is_none() && !rest.is_empty() {
                return None;
            }
            (word.get(..plus)?, place)
        }
        None if rest.is_empty() || !word.starts_with(b"0x") => return None,
        None => (word, None),
    };
    if symbol.is_empty() {
        return None;
    }
    let (module, rest) = match rest.strip_prefix(b" [") {
        Some(inner) => match memchr(b']', inner) {
            Some(end) => (inner.get(..end), inner.get(end + 1..)?),
            None => (None, &[][..]),
        },
        None => (None, rest),
    };
    Some((
        Function {
            symbol,
            place,
            module,
        },
        rest,
    ))
}

/// `0x0/0x1b0`
fn place(text: &[u8]) -> Option<(u64, u64)> {
    let slash = memchr(b'/', text)?;
    let (offset, size) = text.split_at(slash);
    Some((hex(offset)?, hex(size.get(1..)?)?))
}

fn hex(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x")?;
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some((value << 4) | u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::{Call, Function, Returned, TORN, call};

    const fn function(
        symbol: &'static str,
        place: Option<(u64, u64)>,
        module: Option<&'static [u8]>,
    ) -> Function<'static> {
        Function {
            symbol: symbol.as_bytes(),
            place,
            module,
        }
    }

    const fn done(value: i32, ns: i64) -> Returned {
        Returned {
            value: Some(value),
            after_ns: Some(ns),
            torn: false,
        }
    }

    #[test]
    fn whole_lines() {
        let fuse = function("fuse_init", Some((0, 0x1b0)), Some(b"fuse"));
        let dotted = function("foo.cfi_jt", Some((0, 8)), None);
        let rows = [
            (
                "calling  fuse_init+0x0/0x1b0 [fuse] @ 260",
                Call::Begin {
                    function: fuse,
                    task: Some(260),
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
                    function: function("0xc0008abc", None, None),
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
                    returned: done(0, 2_000),
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
    fn torn_lines() {
        let foo = function("foo", Some((0, 0x10)), None);
        let bare = function("foo", None, None);
        let end = |returned| Call::End {
            function: foo,
            returned,
        };
        let half = Returned {
            value: Some(0),
            after_ns: None,
            torn: true,
        };
        let rows = [
            (
                "calling  foo+0x0/0x1",
                Call::Begin {
                    function: bare,
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
                    function: bare,
                    task: None,
                },
            ),
            (
                "initcall foo+0x0/0x10 ",
                Call::End {
                    function: bare,
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
