//! Log text as bytes: lines with their offsets, terminal controls, decimals.
//!
//! Logs come off wires and out of ring buffers: they hold carriage returns,
//! colours, torn UTF-8. Everything here works on bytes, copies nothing unless
//! something must be removed, and cannot fail.

use memchr::{memchr, memchr3};
use record::{Origin, SourceId};
use std::borrow::Cow;

/// `1 device` or `2 devices`: a number and what it counts.
pub(crate) fn counted(n: u64, what: &str) -> String {
    record::counted(usize::try_from(n).unwrap_or(usize::MAX), what)
}

/// One line of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Where it begins in the input.
    pub offset: u64,
    /// What it holds, without the line end (LF, or any number of CR before it).
    pub bytes: &'a [u8],
}

impl Line<'_> {
    /// Its place in `source`.
    pub const fn origin(&self, source: SourceId) -> Origin {
        Origin {
            source,
            offset: self.offset,
        }
    }
}

/// The lines of an input. A last line without LF is a line; nothing after the
/// last LF is none.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'a> {
    rest: &'a [u8],
    offset: u64,
}

/// Cuts `bytes` into lines at each LF.
pub(crate) fn lines(bytes: &[u8]) -> Lines<'_> {
    lines_from(bytes, 0)
}

/// Cuts a part of an input that begins at `offset` into lines at each LF.
pub(crate) fn lines_from(part: &[u8], offset: u64) -> Lines<'_> {
    match (offset, part) {
        // The mark that editors of Windows put before UTF-8.
        (0, [0xef, 0xbb, 0xbf, rest @ ..]) => Lines { rest, offset: 3 },
        _ => Lines { rest: part, offset },
    }
}

impl<'a> Lines<'a> {
    /// All that is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next line, if `after` is what follows its text, line end and all,
    /// and if it has at most `longest` bytes. To one who has read the text this
    /// is quicker than [`Self::next`].
    #[inline]
    pub(crate) fn next_before(&mut self, after: &'a [u8], longest: usize) -> Option<Line<'a>> {
        let rest = match after {
            [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => rest,
            [] => after,
            _ => return None,
        };
        let length = self.rest.len().checked_sub(after.len())?;
        let line = Line {
            offset: self.offset,
            bytes: self.rest.get(..length).filter(|_| length <= longest)?,
        };
        let taken = self.rest.len().saturating_sub(rest.len());
        self.offset = self.offset.saturating_add(taken as u64);
        self.rest = rest;
        Some(line)
    }
}

/// Where the first line ends, its LF included, that ends at or after `least`.
pub(crate) fn line_end(bytes: &[u8], least: usize) -> usize {
    let from = least.saturating_sub(1);
    let end = bytes.get(from..).and_then(|rest| memchr(b'\n', rest));
    end.map_or(bytes.len(), |at| from + at + 1)
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = match memchr(b'\n', self.rest) {
            Some(at) => (
                self.rest.get(..at).unwrap_or_default(),
                self.rest.get(at.saturating_add(1)..).unwrap_or_default(),
            ),
            None => (self.rest, &[][..]),
        };
        let offset = self.offset;
        let taken = self.rest.len().saturating_sub(rest.len());
        self.offset = offset.saturating_add(taken as u64);
        self.rest = rest;
        Some(Line {
            offset,
            bytes: without_cr(line),
        })
    }
}

/// `bytes` without the carriage returns at its end. Consoles write CR LF, and
/// a terminal program between may double the CR.
pub(crate) fn without_cr(mut bytes: &[u8]) -> &[u8] {
    while let [head @ .., b'\r'] = bytes {
        bytes = head;
    }
    bytes
}

/// A log with its no-break blanks (U+00A0), which pages that show logs put in, made plain
/// ones: two each, so that every byte stays in its place.
pub(crate) fn without_no_break(log: &[u8]) -> Cow<'_, [u8]> {
    const NO_BREAK: &[u8] = &[0xc2, 0xa0];
    if memchr::memmem::find(log, NO_BREAK).is_none() {
        return Cow::Borrowed(log);
    }
    let mut plain = log.to_vec();
    for at in memchr::memmem::find_iter(log, NO_BREAK) {
        if let Some(blank) = plain.get_mut(at..at.saturating_add(NO_BREAK.len())) {
            blank.fill(b' ');
        }
    }
    Cow::Owned(plain)
}

/// `bytes` without terminal controls: escape sequences (ECMA-48 CSI such as
/// `ESC [ 0 m`, OSC up to BEL or ST, two-byte escapes), NUL and backspace.
/// Borrowed if there are none, which is the usual case.
pub(crate) fn without_controls(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = first_control(bytes) else {
        return Cow::Borrowed(bytes);
    };
    let (head, mut rest) = bytes.split_at(first);
    let mut kept = head.to_vec();
    loop {
        rest = match rest {
            [] => break,
            [0x1b, tail @ ..] => after_escape(tail),
            [0 | 8, tail @ ..] => tail,
            _ => {
                let end = first_control(rest).unwrap_or(rest.len());
                let (plain, tail) = rest.split_at(end);
                kept.extend_from_slice(plain);
                tail
            }
        };
    }
    Cow::Owned(kept)
}

/// What follows an escape sequence, whose first byte is gone.
pub(crate) fn after_escape(bytes: &[u8]) -> &[u8] {
    match bytes {
        [b'[', tail @ ..] => after_csi(tail),
        [b']', tail @ ..] => after_osc(tail),
        [0x40..=0x7e, tail @ ..] => tail,
        tail => tail,
    }
}

/// Where the first byte stands that [`without_controls`] would remove.
pub(crate) fn first_control(bytes: &[u8]) -> Option<usize> {
    memchr3(0x1b, 0, 8, bytes)
}

/// What follows a control sequence: parameters 0x30 to 0x3f, intermediates
/// 0x20 to 0x2f, one final byte 0x40 to 0x7e. A cut sequence ends where a byte
/// is none of these.
fn after_csi(bytes: &[u8]) -> &[u8] {
    let inner = bytes.iter().take_while(|b| (0x20..=0x3f).contains(*b));
    let (_, tail) = bytes.split_at(inner.count());
    match tail {
        [0x40..=0x7e, tail @ ..] => tail,
        tail => tail,
    }
}

/// What follows an operating system command, which ends with BEL or `ESC \`.
/// Without an end it is only the two bytes that began it.
fn after_osc(bytes: &[u8]) -> &[u8] {
    match memchr::memchr2(7, 0x1b, bytes) {
        Some(at) => match bytes.split_at(at).1 {
            [7, tail @ ..] | [0x1b, b'\\', tail @ ..] => tail,
            tail => tail,
        },
        None => bytes,
    }
}

/// `bytes` as text; bytes that are no UTF-8 become U+FFFD.
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly every line is ASCII: the plain check is much the faster one.
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// `bytes` without blanks and tabs at its start.
pub(crate) fn without_indent(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', tail @ ..] = bytes {
        bytes = tail;
    }
    bytes
}

/// A decimal number at the start of `bytes`, and what follows it. `None`
/// without a digit, or past 64 bits.
#[inline]
pub(crate) fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    let mut rest = bytes;
    while let [digit, tail @ ..] = rest
        && digit.is_ascii_digit()
    {
        value = value.checked_mul(10)?.checked_add((digit - b'0').into())?;
        rest = tail;
    }
    (rest.len() < bytes.len()).then_some((value, rest))
}

/// A decimal number of seconds with a fraction, such as `12.345678`, at the
/// start of `bytes`: nanoseconds, the number of digits after the point, and
/// what follows. Digits past the ninth are dropped.
pub(crate) fn seconds(bytes: &[u8]) -> Option<(i64, u8, &[u8])> {
    let (whole, rest) = number(bytes)?;
    let [b'.', fraction @ ..] = rest else {
        return None;
    };
    // Nine digits cannot overflow.
    let mut ns = 0_i64;
    let mut digits = 0_u8;
    let mut rest = fraction;
    while let [digit @ b'0'..=b'9', tail @ ..] = rest {
        if digits < 9 {
            ns = ns * 10 + i64::from(digit - b'0');
        }
        digits = digits.saturating_add(1);
        rest = tail;
    }
    if digits == 0 {
        return None;
    }
    for _ in digits..9 {
        ns *= 10;
    }
    let whole = i64::try_from(whole).ok()?.checked_mul(1_000_000_000)?;
    Some((whole.checked_add(ns)?, digits, rest))
}

#[cfg(test)]
mod tests {
    use super::{Line, lines, number, seconds, without_controls};

    #[test]
    fn lines_carry_offsets_and_lose_line_ends() {
        let all: Vec<Line> = lines(b"a\r\n\nb\r\r\nc").collect();
        let line = |offset, bytes| Line { offset, bytes };
        assert_eq!(
            all,
            [line(0, b"a"), line(3, b""), line(4, b"b"), line(8, b"c")]
        );
        assert_eq!(lines(b"").count(), 0);
        assert_eq!(lines(b"\n").count(), 1);
    }

    #[test]
    fn controls_go_and_text_stays() {
        for (with, without) in [
            ("plain", "plain"),
            ("\x1b[32m[    0.1]\x1b[0m x", "[    0.1] x"),
            ("\x1b[0;1;39mA\x1b[m", "A"),
            ("\x1b]0;title\x07A", "A"),
            ("\x1b]8;;http://x\x1b\\A", "A"),
            ("\x1b]no end", "no end"),
            ("\x1bcA", "A"),
            ("a\x08b\0c", "abc"),
            ("cut \x1b[3", "cut "),
            ("cut \x1b", "cut "),
        ] {
            assert_eq!(without_controls(with.as_bytes()), without.as_bytes());
        }
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(
            seconds(b"12.345678] x"),
            Some((12_345_678_000, 6, &b"] x"[..]))
        );
        assert_eq!(seconds(b"0.1234567899"), Some((123_456_789, 10, &b""[..])));
        assert_eq!(seconds(b"12]"), None);
        assert_eq!(seconds(b".5"), None);
        assert_eq!(seconds(b"99999999999999999999.0"), None);
        assert_eq!(number(b"18446744073709551615"), Some((u64::MAX, &b""[..])));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(number(b"x"), None);
    }
}
