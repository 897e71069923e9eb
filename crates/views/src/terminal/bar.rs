//! Bars of block characters, to an eighth of a column.

use record::Nanos;

const EIGHTHS: [char; 9] = [
    ' ', '\u{258f}', '\u{258e}', '\u{258d}', '\u{258c}', '\u{258b}', '\u{258a}', '\u{2589}',
    '\u{2588}',
];

/// A time line of `width` columns that shows times from `start` to `end`.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) width: usize,
}

impl Scale {
    /// The eighth of a column where `at` is.
    fn eighth(self, at: Nanos) -> usize {
        let length = i128::from((self.end - self.start).get()).max(1);
        let at = i128::from((at - self.start).get()).clamp(0, length);
        let eighths = i128::try_from(self.width * 8).unwrap_or(0);
        usize::try_from(at * eighths / length).unwrap_or(0)
    }

    /// Columns for the time from `from` to `to`: blank, then a bar. It begins
    /// at a whole column, because blocks only grow from the left, and is never
    /// thinner than an eighth. Padded to the width.
    pub(super) fn bar(self, from: Nanos, to: Nanos) -> String {
        let first = (self.eighth(from) / 8).min(self.width.saturating_sub(1));
        let end = self
            .eighth(to)
            .clamp(first * 8 + 1, (self.width * 8).max(first * 8 + 1));
        let mut text = " ".repeat(first);
        let mut left = end - first * 8;
        while left > 0 {
            let part = left.min(8);
            text.push(EIGHTHS[part]);
            left -= part;
        }
        let pad = self.width.saturating_sub(text.chars().count());
        text + &" ".repeat(pad)
    }
}

/// A bar for `value` on a scale from 0 to `most`, in `width` columns.
pub(super) fn share(value: Nanos, most: Nanos, width: usize) -> String {
    if value <= Nanos::ZERO || most <= Nanos::ZERO {
        return " ".repeat(width);
    }
    let scale = Scale {
        start: Nanos::ZERO,
        end: most,
        width,
    };
    scale.bar(Nanos::ZERO, value)
}

#[cfg(test)]
mod tests {
    use super::{Scale, share};
    use record::Nanos;

    #[test]
    fn bars_stand_where_their_times_are() {
        let scale = Scale {
            start: Nanos(-100),
            end: Nanos(100),
            width: 4,
        };
        assert_eq!(scale.bar(Nanos(-100), Nanos(100)), "\u{2588}".repeat(4));
        assert_eq!(scale.bar(Nanos(0), Nanos(25)), "  \u{258c} ");
        assert_eq!(scale.bar(Nanos(100), Nanos(100)), "   \u{2588}");
        assert_eq!(scale.bar(Nanos(-100), Nanos(-100)), "\u{258f}   ");
    }

    #[test]
    fn no_value_is_no_bar() {
        assert_eq!(share(Nanos(0), Nanos(5), 3), "   ");
        assert_eq!(share(Nanos(5), Nanos(5), 3).chars().count(), 3);
    }
}
