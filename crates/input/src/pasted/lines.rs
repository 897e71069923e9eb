//! Marks that each line of a log got.

use super::padded::push_padded;

/// What stands before each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineMark {
    /// A comment's or a quotation's mark, once or more, and a blank.
    Word(&'static [u8]),
    /// The number of the line.
    Number,
    /// So many blanks or tabs.
    Indent(usize),
}

/// Marks that lines get in scripts, configurations, programs, tables and mails.
const WORDS: [&[u8]; 7] = [b"#", b"//", b";", b"*", b"--", b"|", b">"];

/// The fewest lines of which a common mark is no chance.
const FEWEST_MARKED: usize = 3;

impl LineMark {
    /// The mark that nearly all lines of a text have.
    pub(super) fn of(text: &[u8]) -> Option<Self> {
        let filled = || lines(text).filter(|l| !l.trim_ascii().is_empty());
        let count = filled().count();
        let enough = |mark: Self| {
            let marked = filled().filter(|l| mark.behind(l).is_some()).count();
            marked >= FEWEST_MARKED && marked >= count - count / 10
        };
        let words = WORDS.into_iter().map(Self::Word);
        if let Some(word) = words.into_iter().find(|w| enough(*w)) {
            return Some(word);
        }
        if enough(Self::Number) && is_rising(filled().filter_map(|l| Some(number(l)?.0))) {
            return Some(Self::Number);
        }
        let indent = |l: &[u8]| l.len() - without_indent(l).len();
        let least = filled().map(indent).min().unwrap_or(0);
        (count >= FEWEST_MARKED && least > 0).then_some(Self::Indent(least))
    }

    /// A text without the mark.
    pub(super) fn plain(self, text: &[u8]) -> Vec<u8> {
        let mut plain = Vec::with_capacity(text.len());
        for line in lines(text) {
            push_padded(self.behind(line).unwrap_or(line), line.len(), &mut plain);
        }
        plain
    }

    /// What stands behind the mark; `None` if a line has none.
    fn behind(self, line: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Word(mark) => {
                let mut rest = marked(mark, line)?;
                while let Some(inner) = marked(mark, rest) {
                    rest = inner;
                }
                Some(rest)
            }
            Self::Number => number(line).map(|(_, rest)| rest),
            Self::Indent(count) => {
                let (indent, rest) = line.split_at_checked(count)?;
                without_indent(indent).is_empty().then_some(rest)
            }
        }
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|b| *b == b'\n')
}

fn without_indent(mut line: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = line {
        line = rest;
    }
    line
}

/// What stands behind a mark and a blank, or behind a mark alone at the end of a line, or
/// before a further mark.
fn marked<'a>(mark: &[u8], line: &'a [u8]) -> Option<&'a [u8]> {
    let rest = without_indent(line).strip_prefix(mark)?;
    match rest {
        [b' ', words @ ..] => Some(words),
        [] | [b'\n' | b'\r', ..] => Some(rest),
        _ => rest.starts_with(mark).then_some(rest),
    }
}

/// The number before a line, as `cat -n`, `grep -n` and pages with numbers write it, and the
/// line.
fn number(line: &[u8]) -> Option<(u64, &[u8])> {
    let line = without_indent(line);
    let digits = line.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = line.split_at(digits);
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let rest = match rest {
        [b'\t', rest @ ..] | [b':' | b'|', b' ' | b'\t', rest @ ..] => rest,
        [b' ', b' ', rest @ ..] | [b':' | b' ', rest @ ..] => rest,
        [] | [b'\n' | b'\r', ..] => rest,
        _ => return None,
    };
    Some((number, rest))
}

fn is_rising(numbers: impl Iterator<Item = u64>) -> bool {
    let mut before = None;
    for number in numbers {
        if before.is_some_and(|b| b >= number) {
            return false;
        }
        before = Some(number);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::LineMark;

    #[test]
    fn marks_go_and_lines_keep_their_length() {
        for (text, mark, plain) in [
            (
                "  # a\n  #\n  #   b\n\n",
                LineMark::Word(b"#"),
                ["a", "", "  b", ""],
            ),
            (
                "> a\n>> b\n> > c\n>\n",
                LineMark::Word(b">"),
                ["a", "b", "c", ""],
            ),
            (
                "| a\n| b\n|\n| c\n",
                LineMark::Word(b"|"),
                ["a", "b", "", "c"],
            ),
            (
                "    a\n      b\n\n    c\n",
                LineMark::Indent(4),
                ["a", "  b", "", "c"],
            ),
            (
                "\ta\n\tb\n\tc\n\td",
                LineMark::Indent(1),
                ["a", "b", "c", "d"],
            ),
            (
                "1\ta\n 2  b\n10: c\n11",
                LineMark::Number,
                ["a", "b", "c", ""],
            ),
        ] {
            assert_eq!(LineMark::of(text.as_bytes()), Some(mark), "{text}");
            let got = String::from_utf8(mark.plain(text.as_bytes())).unwrap_or_default();
            assert_eq!(got.len(), text.len());
            let got: Vec<&str> = got.lines().map(str::trim_end).collect();
            assert_eq!(got, plain, "{text}");
        }
    }

    #[test]
    fn few_and_mixed_lines_have_none() {
        for text in [
            "",
            "# a\n",
            "# a\nb\n# c\n# d\n",
            "12:00:01 a\n12:00:02 b\n12:00:02 c\n",
            "#a\n#b\n#c\n",
            " a\nb\n c\n",
        ] {
            assert_eq!(LineMark::of(text.as_bytes()), None, "{text}");
        }
    }
}
