//! What labels of every picture need: round steps of an axis, and text that is
//! short enough and safe in XML.

use record::Nanos;

/// A round step that gives about ten labels on an axis, in nanoseconds.
pub(super) fn step(whole: Nanos) -> i64 {
    let least = (whole.get() / 12).max(1);
    let mut step = 1_i64;
    loop {
        for factor in [1, 2, 5] {
            let candidate = step.saturating_mul(factor);
            if candidate >= least {
                return candidate;
            }
        }
        step = step.saturating_mul(10);
    }
}

/// Text that is safe in XML: characters that XML forbids become U+FFFD.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// At most `most` characters of a text.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{start}\u{2026}")
}
