//! Text that stands in other text.

use std::ops::Range;

/// A quotation mark: as it is, escaped in JSON or a trace of calls, or in XML.
pub(crate) const QUOTE: &str = r#"(?:\\*["']|&quot;|&#34;|&#39;|&apos;|\\u0022|\\u0027)"#;

/// Where a word begins: also behind an escape of JSON, whose letter is no part of it.
pub(crate) const START: &str = r"(?:\b|\\[nrtbf]|\\u[[:xdigit:]]{4})";

/// Whether the byte at `at` ends an escape, such as the `n` of `\n` or the `c` of `\u003c`
/// in JSON, and is no part of a word.
pub(crate) fn is_escape(text: &[u8], at: usize) -> bool {
    let begins = |slash: usize| {
        let before = text.get(..=slash).unwrap_or_default();
        let slashes = before.iter().rev().take_while(|b| **b == b'\\').count();
        slashes % 2 == 1
    };
    let letter = text.get(at).is_some_and(|b| b"nrtbf".contains(b));
    let number = at.checked_sub(5).and_then(|from| text.get(from..=at));
    let number = number
        .is_some_and(|n| n.starts_with(b"\\u") && n.iter().skip(2).all(u8::is_ascii_hexdigit));
    letter && at.checked_sub(1).is_some_and(begins)
        || number && at.checked_sub(5).is_some_and(begins)
}

/// A match without an escape that it begins or ends within, so that what is left is still
/// JSON.
pub(crate) fn between_escapes(text: &[u8], mut at: Range<usize>) -> Range<usize> {
    let slashes = |end: usize| {
        let before = text.get(..end).unwrap_or_default();
        before.iter().rev().take_while(|b| **b == b'\\').count()
    };
    if slashes(at.start) % 2 == 1 {
        let length = match text.get(at.start) {
            Some(b'u') => 5,
            Some(b'n' | b'r' | b't' | b'b' | b'f') => 1,
            _ => 0,
        };
        if at.start + length < at.end {
            at.start += length;
        }
    }
    // The one that escapes what comes next
    if slashes(at.end) % 2 == 1 && at.len() > 1 {
        at.end -= 1;
    }
    at
}
