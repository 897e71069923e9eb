//! What a line of `systemd-analyze` says, also of a line that people wrote by hand.

use crate::systemd::startup::{self, StartupTimes, parse_time_line};
use crate::systemd::timespan;
use crate::systemd::unit::is_name as is_unit;

/// A line that systemd-analyze prints.
#[derive(Debug, PartialEq)]
pub(super) enum Row<'a> {
    Blank,
    Startup(StartupTimes, Option<(&'a str, i64)>),
    /// A target, and when it was reached.
    Reached(&'a str, i64),
    NotReached,
    NotFinished,
    /// A unit, and how long it took to start.
    Blame(&'a str, i64),
    Chain(Link<'a>),
    Caption,
    Unknown,
}

/// One row of the critical chain. Times count from the start of userspace.
#[derive(Debug, PartialEq)]
pub(super) struct Link<'a> {
    /// In which column the unit's name begins, in characters.
    pub(super) column: usize,
    /// What is drawn before it.
    pub(super) drawn: Drawn,
    pub(super) name: &'a str,
    /// When it began to start, if it took time, else when it was active.
    pub(super) at: Option<i64>,
    pub(super) took: Option<i64>,
}

/// The end of a branch of the tree that is drawn before a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    /// None, as before the root.
    Nothing,
    /// `├─`: others follow on the same level.
    More,
    /// `└─`: it is the last of its level.
    Last,
}

/// What systemd-analyze prints around its numbers.
const CAPTIONS: [&str; 7] = [
    "The time when unit became active or started is printed",
    "The time after the unit is active or started is printed",
    "The time the unit took to start is printed",
    "The time the unit takes to start is printed",
    "Please try again later",
    "Hint: Use 'systemctl list-jobs'",
    "Hint: Use 'systemctl --user list-jobs'",
];

/// A line without the marks of a quotation in a mail: `> ` once or more.
pub(super) fn unquoted(line: &str) -> &str {
    let mut rest = line;
    while let Some(tail) = rest.trim_start().strip_prefix('>') {
        rest = tail.strip_prefix(' ').unwrap_or(tail);
    }
    rest
}

impl<'a> Row<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let line = unquoted(line);
        let text = line.trim();
        if text.is_empty() {
            return Self::Blank;
        }
        if is_fence(text) {
            return Self::Caption;
        }
        // Pages put a line between back quotes.
        let text = text.trim_matches('`');
        if let Some((name, ns)) = label(text) {
            return Self::Blame(name, ns);
        }
        if text.starts_with("Startup finished in ") {
            let target = startup::joined_target(text);
            return parse_time_line(text)
                .map_or(Self::Unknown, |times| Self::Startup(times, target));
        }
        if text.starts_with("Bootup is not yet finished") {
            return Self::NotFinished;
        }
        if CAPTIONS.iter().any(|c| text.starts_with(c)) || is_command(text) {
            return Self::Caption;
        }
        if let Some(row) = about_target(text) {
            return row;
        }
        if let Some(times) = startup::parse_quoted(text) {
            return Self::Startup(times, startup::joined_target(text));
        }
        // Pages that lost their blanks.
        if let Some((ns, name)) = tight(text) {
            return Self::Blame(name, ns);
        }
        // People round times: `~30s a.service`.
        let listed = item(text).trim_start_matches(['~', '≈']);
        if let Some((ns, name)) = timespan::prefix(listed) {
            return match before_remark(name) {
                Some(name) => Self::Blame(name, ns),
                None => Self::Unknown,
            };
        }
        if let Some((name, ns)) = name_first(listed) {
            return Self::Blame(name, ns);
        }
        link(line.trim_end()).map_or(Self::Unknown, Self::Chain)
    }
}

/// A row of a list without the mark of its item: `- `, `* `, `3. `.
pub(super) fn item(text: &str) -> &str {
    let Some((mark, rest)) = text.split_once(char::is_whitespace) else {
        return text;
    };
    let number = mark.strip_suffix(['.', ')']).unwrap_or_default();
    let is_numbered = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let is_mark = matches!(mark, "-" | "*" | "+" | "•" | "·" | "–" | "—" | "◦");
    match is_mark || is_numbered {
        true => rest.trim_start(),
        false => text,
    }
}

/// What a remark begins with that somebody put behind a unit or a time.
const REMARK: [char; 11] = ['(', '#', '<', '-', '–', '—', '→', '=', ':', ';', ','];

/// The unit at the start of the words behind a time, if nothing but a remark follows it.
fn before_remark(text: &str) -> Option<&str> {
    if is_unit(text) || is_cut(text) {
        return Some(text);
    }
    let (name, remark) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let name = name.trim_end_matches([':', ',', ';', '.']);
    let is_remark = remark.is_empty() || remark.trim_start().starts_with(REMARK);
    (is_unit(name) && is_remark).then_some(name)
}

/// Tables and lists of people have the name first: `a.service 3s`, `a.service: 3s`,
/// `a.service took 3s (why?)`.
fn name_first(text: &str) -> Option<(&str, i64)> {
    // Also as rows of CSV.
    let (name, rest) = text.split_once(|c: char| c.is_whitespace() || ",;".contains(c))?;
    let name = name.trim_end_matches([':', ',', '=']);
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || "-–—:=→>~≈".contains(c));
    let words = ["took ", "takes "];
    let time = words.iter().find_map(|w| rest.strip_prefix(w));
    let (ns, remark) = timespan::prefix(time.unwrap_or(rest))?;
    let is_remark = remark.is_empty() || remark.starts_with(REMARK);
    (is_unit(name) && is_remark).then_some((name, ns))
}

/// The label of a bar in a plot, `a.service (1min 2s)`, with or without what an SVG file has
/// around it: somebody may quote the one that is long.
fn label(text: &str) -> Option<(&str, i64)> {
    let inner = match text.strip_prefix("<text ") {
        Some(rest) => rest.split_once('>')?.1.strip_suffix("</text>")?,
        None => text,
    };
    let (name, time) = inner.strip_suffix(')')?.split_once(" (")?;
    is_unit(name).then_some((name, timespan::parse(time)?))
}

/// `1min 6.826siscsi.service`: a time without a blank before the unit.
fn tight(text: &str) -> Option<(i64, &str)> {
    let (before, word) = match text.rsplit_once(char::is_whitespace) {
        Some((before, word)) => (timespan::parse(before)?, word),
        None => (0, text),
    };
    let (ns, name) = timespan::joined(word)?;
    is_unit(name).then_some((before.checked_add(ns)?, name))
}

/// `graphical.target reached after 13.4s in userspace.`, or that it was not.
fn about_target(text: &str) -> Option<Row<'_>> {
    let (name, rest) = text.split_once(' ')?;
    if !is_unit(name) {
        return None;
    }
    if let Some(after) = rest.strip_prefix("reached after ") {
        let after = after.trim_end_matches('.').strip_suffix(" in userspace")?;
        return timespan::parse(after).map(|ns| Row::Reached(name, ns));
    }
    ["was never reached", "is not active", "is inactive"]
        .iter()
        .any(|words| rest.starts_with(words))
        .then_some(Row::NotReached)
}

/// A shell's prompt with the command that printed what follows.
fn is_command(text: &str) -> bool {
    let words = text.trim_start_matches(|c: char| c != ' ').trim_start();
    [text, words]
        .iter()
        .any(|t| t.starts_with("systemd-analyze") || t.starts_with("sudo systemd-analyze"))
}

/// What pages put around an output.
pub(super) fn is_fence(text: &str) -> bool {
    text.starts_with("```") || text.starts_with("~~~") || matches!(text, "..." | "…" | "[...]")
}

/// Whether `name` is the name of a unit that a narrow screen cut: without its kind, and
/// with an escape, an instance or what the pager puts at the edge.
fn is_cut(name: &str) -> bool {
    let is_at_edge = name.ends_with('>') || name.ends_with('…');
    let stem = name.trim_end_matches(['>', '…']);
    let valid = |b: u8| b.is_ascii_alphanumeric() || b":-_.\\@".contains(&b);
    let is_unit_like = is_at_edge || stem.contains("\\x2d") || stem.contains('@');
    stem.len() >= SHORTEST_CUT && is_unit_like && stem.bytes().all(valid)
}

/// No screen is so narrow that it cuts a shorter name.
const SHORTEST_CUT: usize = 16;

/// A row of the critical chain: the tree drawn before it (in UTF-8 or ASCII), the unit, `@`
/// and `+`.
fn link(line: &str) -> Option<Link<'_>> {
    let (drawn, rest) = branch(line)?;
    let before = line.len() - rest.len();
    let column = line.get(..before)?.chars().count();
    let (name, at, took) = unit_with_times(rest)?;
    // The pager cuts what is deep in the tree.
    let is_named = is_unit(name) || drawn != Drawn::Nothing && is_cut(name);
    is_named.then_some(Link {
        column,
        drawn,
        name,
        at,
        took,
    })
}

/// The branch that is drawn at the start of a row, and what stands behind it.
fn branch(line: &str) -> Option<(Drawn, &str)> {
    let is_trunk = |c: char| c.is_whitespace() || c == '│' || c == '|';
    // `|-` is a branch, and `| ` is not.
    let end = line.find("|-").unwrap_or(line.len());
    let trunk = line.get(..end)?.find(|c| !is_trunk(c)).unwrap_or(end);
    let rest = line.get(trunk..)?;
    for (drawing, drawn) in [
        ("└─", Drawn::Last),
        ("├─", Drawn::More),
        ("`-", Drawn::Last),
        ("|-", Drawn::More),
    ] {
        if let Some(tail) = rest.strip_prefix(drawing) {
            // Some pages put a blank between the drawing and the unit.
            return Some((drawn, tail.trim_start()));
        }
    }
    // Forums cut the drawing down to dashes; a name may begin with one.
    let dashes = rest.bytes().take_while(|b| *b == b'-').count();
    match dashes {
        0 | 1 => Some((Drawn::Nothing, rest)),
        _ => Some((Drawn::Last, rest.get(dashes - dashes % 2..)?)),
    }
}

/// The unit at the start of a text, when it was active (`@`) and how long it took (`+`).
fn unit_with_times(text: &str) -> Option<(&str, Option<i64>, Option<i64>)> {
    // Pages that lost their blanks lost these, too; an instance has an `@` of its own.
    let spaceless = || {
        let (name, times) = text.rsplit_once('@')?;
        let at = times.split('+').next().unwrap_or(times);
        timespan::parse(at.trim())?;
        is_unit(name.trim_end()).then_some((name, times))
    };
    if let Some((name, times)) = text.split_once(" @").or_else(spaceless) {
        let name = name.trim_end();
        let (at, took) = times.split_once('+').unwrap_or((times, ""));
        let (at, took) = (at.trim(), took.trim());
        return match took {
            "" => Some((name, Some(time_before_words(at)?), None)),
            _ => Some((
                name,
                Some(timespan::parse(at)?),
                Some(time_before_words(took)?),
            )),
        };
    }
    // The unit that was asked for has only the time that it took.
    match text.split_once(" +") {
        Some((name, took)) if is_unit(name.trim_end()) => {
            Some((name.trim_end(), None, Some(timespan::parse(took)?)))
        }
        _ => Some((text, None, None)),
    }
}

/// A time at the end of a row, and what people put behind it: an arrow, a remark.
fn time_before_words(text: &str) -> Option<i64> {
    timespan::prefix(text).map(|(ns, _)| ns)
}

#[cfg(test)]
mod tests {
    use super::Drawn::{Last, More, Nothing};
    use super::{Drawn, Link, Row};

    fn chain(
        (column, drawn): (usize, Drawn),
        name: &str,
        at: Option<i64>,
        took: Option<i64>,
    ) -> Row<'_> {
        Row::Chain(Link {
            column,
            drawn,
            name,
            at,
            took,
        })
    }

    #[test]
    fn every_row_is_told_apart() {
        const MS: i64 = 1_000_000;
        for (line, row) in [
            ("", Row::Blank),
            (" 912ms x.service", Row::Blame("x.service", 912 * MS)),
            ("1min 2s 5.service", Row::Blame("5.service", 62_000 * MS)),
            ("a.mount (1min 2s)", Row::Blame("a.mount", 62_000 * MS)),
            (
                "  <text class=\"right\" x=\"2.0\" y=\"14.0\">a.swap (2s)</text>",
                Row::Blame("a.swap", 2_000 * MS),
            ),
            ("a.swap (two)", Row::Unknown),
            ("- 2s a.swap", Row::Blame("a.swap", 2_000 * MS)),
            ("3. 2s a.swap", Row::Blame("a.swap", 2_000 * MS)),
            ("*  2s a.swap (not mine)", Row::Blame("a.swap", 2_000 * MS)),
            ("2s a.swap, for whom?", Row::Unknown),
            ("2s a.swap, # for whom?", Row::Blame("a.swap", 2_000 * MS)),
            ("2s a.swap for whom?", Row::Unknown),
            ("a.swap: 2s", Row::Blame("a.swap", 2_000 * MS)),
            ("a.swap,2s", Row::Blame("a.swap", 2_000 * MS)),
            ("~2s a.swap", Row::Blame("a.swap", 2_000 * MS)),
            ("a.swap: ≈2s", Row::Blame("a.swap", 2_000 * MS)),
            ("• a.swap took 2s (why?)", Row::Blame("a.swap", 2_000 * MS)),
            ("a.swap 2s of 3s", Row::Unknown),
            ("912ms of work", Row::Unknown),
            (
                "graphical.target @1min 5.569s",
                chain((0, Nothing), "graphical.target", Some(65_569 * MS), None),
            ),
            (
                "└─a.service @25.864s +39.703s",
                chain((2, Last), "a.service", Some(25_864 * MS), Some(39_703 * MS)),
            ),
            (
                "  │ └─-.mount @2ms",
                chain((6, Last), "-.mount", Some(2 * MS), None),
            ),
            (
                "  `--.slice @2ms",
                chain((4, Last), "-.slice", Some(2 * MS), None),
            ),
            ("  ├─b.socket", chain((4, More), "b.socket", None, None)),
            (
                "----c.service @2ms",
                chain((4, Last), "c.service", Some(2 * MS), None),
            ),
            (
                "-----.mount @2ms",
                chain((4, Last), "-.mount", Some(2 * MS), None),
            ),
            (
                "-.slice @2ms",
                chain((0, Nothing), "-.slice", Some(2 * MS), None),
            ),
            (
                "> └─d.socket @2ms",
                chain((2, Last), "d.socket", Some(2 * MS), None),
            ),
            (
                "└─ e.target   @2ms",
                chain((3, Last), "e.target", Some(2 * MS), None),
            ),
            (
                "└─a.service @1s +2ms  :confused:",
                chain((2, Last), "a.service", Some(1_000 * MS), Some(2 * MS)),
            ),
            (
                "└─a.target @1s  <-- here",
                chain((2, Last), "a.target", Some(1_000 * MS), None),
            ),
            (
                "  └─dev-disk-by\\x2duuid-cf5ae7b8>",
                chain((4, Last), "dev-disk-by\\x2duuid-cf5ae7b8>", None, None),
            ),
            (
                "f.service +2ms",
                chain((0, Nothing), "f.service", None, Some(2 * MS)),
            ),
            (
                "2s systemd-fsck@dev-disk-by\\x2duuid-1a",
                Row::Blame("systemd-fsck@dev-disk-by\\x2duuid-1a", 2_000 * MS),
            ),
            ("2s of-several-things-at-once", Row::Unknown),
            ("a.service   1min 2s", Row::Blame("a.service", 62_000 * MS)),
            ("a.service is slow", Row::Unknown),
            ("```", Row::Caption),
            ("└─a.service @soon", Row::Unknown),
            (
                "└─g@t1.service@5.5s+2ms",
                chain((2, Last), "g@t1.service", Some(5_500 * MS), Some(2 * MS)),
            ),
            (
                "multi-user.target reached after 275ms in userspace",
                Row::Reached("multi-user.target", 275 * MS),
            ),
            ("graphical.target was never reached", Row::NotReached),
            ("Bootup is not yet finished (x=0).", Row::NotFinished),
            ("$ systemd-analyze blame", Row::Caption),
            ("total 12", Row::Unknown),
        ] {
            assert_eq!(Row::of(line), row, "{line:?}");
        }
    }
}
