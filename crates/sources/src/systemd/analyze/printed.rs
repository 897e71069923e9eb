//! Lines as `systemd-analyze` printed them: without what terminals, tables and mails did to
//! them.

use super::row::{Link, Row, is_fence, unquoted};
use crate::systemd::timespan;
use crate::systemd::unit::is_name as is_unit;
use crate::text::{self, Line};

/// A line as systemd-analyze printed it: without terminal controls, without the stars that
/// pages put around what they stress, and without the lines of a table.
fn printed(line: &[u8]) -> String {
    let clean = text::without_controls(line);
    let mut text = text::lossy(&clean).replace("**", "");
    // Pages put names and times between back quotes; a tree may be drawn with them.
    if !text.contains("`-") && !is_fence(text.trim()) {
        text.retain(|c| c != '`');
    }
    let row = text
        .trim()
        .strip_prefix('|')
        .and_then(|t| t.strip_suffix('|'));
    match row {
        Some(row) => of_table(row),
        None => text,
    }
}

/// A row of a table as one of a list: the unit and its time, and as a remark what stands in the
/// other columns, such as a number or what the unit does.
fn of_table(row: &str) -> String {
    let cells = row.split('|').map(str::trim).filter(|c| !c.is_empty());
    let is_one = |cell: &&str| is_unit(cell) || timespan::parse(cell).is_some();
    let (both, others): (Vec<&str>, Vec<&str>) = cells.partition(is_one);
    match (both.len(), others.is_empty()) {
        (2, false) => format!("{} — {}", both.join(" "), others.join(", ")),
        _ => row.split('|').map(str::trim).collect::<Vec<_>>().join(" "),
    }
}

/// How a line font of terminals (DEC Special Graphics) draws a branch, and what text that was
/// copied without the switch to this font has in its place.
const LETTERS: [(&str, &str); 2] = [("mq", "└─"), ("tq", "├─")];

/// The trunk and the branch of a row that was drawn with letters: `x mqa.service`.
fn letters(line: &str) -> Option<(&str, &'static str, &str)> {
    let rest = line.trim_start_matches([' ', 'x']);
    let trunk = line.strip_suffix(rest)?;
    let mut forms = LETTERS.iter();
    forms.find_map(|(drawn, branch)| Some((trunk, *branch, rest.strip_prefix(drawn)?)))
}

/// Whether the tree of a chain is drawn with letters: then all its branches are.
pub(super) fn is_lettered<'a>(lines: impl Iterator<Item = Line<'a>>) -> bool {
    let mut branches = 0_usize;
    for line in lines {
        let text = printed(line.bytes);
        let row = unquoted(&text).trim_end();
        let is_branch = letters(row).is_some();
        // A row at the margin that is none decides nothing.
        if !is_branch && !row.starts_with(' ') {
            continue;
        }
        if matches!(Row::of(row), Row::Chain(Link { at: Some(_), .. })) {
            if !is_branch {
                return false;
            }
            branches = branches.saturating_add(1);
        }
    }
    branches > 1
}

/// Such a row as it was meant.
pub(super) fn drawn(text: String) -> String {
    match letters(&text) {
        Some((trunk, branch, unit)) => format!("{}{branch}{unit}", trunk.replace('x', "│")),
        None => text,
    }
}

/// The lines with their texts. A `Startup finished` line that a mail broke is one text, with
/// how many lines follow its first.
pub(super) fn whole_lines<'a>(
    lines: impl Iterator<Item = Line<'a>>,
) -> impl Iterator<Item = (Line<'a>, String, usize)> {
    let mut lines = lines.peekable();
    std::iter::from_fn(move || {
        let first = lines.next()?;
        let mut whole = printed(first.bytes);
        let mut others = 0_usize;
        while is_open(&whole) {
            let next = lines.peek().map(|line| printed(line.bytes));
            let Some(rest) = next.as_deref().and_then(|next| continues(&whole, next)) else {
                break;
            };
            whole = format!("{} {rest}", whole.trim_end());
            others = others.saturating_add(1);
            lines.next();
        }
        Some((first, whole, others))
    })
}

/// Whether a line begins what systemd says of the whole boot, and has no end.
fn is_open(line: &str) -> bool {
    let text = unquoted(line).trim();
    text.starts_with("Startup finished in ") && !text.contains(" = ")
}

/// What a line adds to such a one: another part, the name of the last part, or the time that
/// a sign at the end of the line before announces.
fn continues<'a>(begun: &str, line: &'a str) -> Option<&'a str> {
    let text = unquoted(line).trim();
    let is_rest = ["+ ", "= ", "("].iter().any(|t| text.starts_with(t));
    let is_announced = begun.trim_end().ends_with(['+', '=']);
    (is_rest || is_announced && timespan::prefix(text).is_some()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{drawn, is_lettered, printed};

    #[test]
    fn a_tree_of_letters_is_one_only_if_all_its_branches_are() {
        let is = |text: &str| is_lettered(crate::text::lines(text.as_bytes()));
        assert!(is("a.target @3s\nmqb.target @2s\n  mqmqtt.service @1s\n"));
        assert!(!is(
            "a.target @3s\nmqtt.service @2s\n  mqtt-b.service @1s\n    c.target @1s\n"
        ));
        assert!(!is(
            "a.target @3s\n└─mqb.target @2s\n  └─mqtt.service @1s\n"
        ));
        let row = drawn("  x   tqa.service @1s".to_owned());
        assert_eq!(row, "  │   ├─a.service @1s");
    }

    #[test]
    fn a_table_is_its_rows() {
        for (line, row) in [
            ("| 1.5s | **a.service** |", "1.5s a.service"),
            (" |a.service|1.5s|", "a.service 1.5s"),
            (
                "| 3 | a.service | 1.5s | slow |",
                "a.service 1.5s — 3, slow",
            ),
            ("| Unit | Time | Why |", "Unit Time Why"),
            ("| `-b.service @1s", "| `-b.service @1s"),
            ("- `1.5s` `a.service`", "- 1.5s a.service"),
            ("```text", "```text"),
            (
                "<text x=\"2\">a.service (2s)</text>",
                "<text x=\"2\">a.service (2s)</text>",
            ),
        ] {
            assert_eq!(printed(line.as_bytes()), row);
        }
    }
}
