//! Lines as `systemd-analyze` printed them: without what terminals, tables and mails did to
//! them.

use super::row::{Link, Row, is_fence, unquoted};
use crate::systemd::timespan;
use crate::systemd::unit::is_name as is_unit;
use crate::text::{self, Line};

/// A line as systemd-analyze printed it: without terminal controls, without the stars that
/// pages put around what they stress, and without the lines of a table. `services` is in which
/// column the table that it belongs to has services.
fn printed(line: &[u8], services: &mut Option<usize>) -> String {
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
        Some(row) => of_table(row, services),
        None => {
            *services = None;
            text
        }
    }
}

/// What the column of a table with services is headed.
const SERVICES: [&str; 4] = ["service", "services", "unit", "units"];

/// A row of a table as one of a list: the unit and its time, and as a remark what stands in the
/// other columns, such as a number or what the unit does.
///
/// In a column that is headed so, people leave out `.service`.
fn of_table(row: &str, services: &mut Option<usize>) -> String {
    let mut cells: Vec<String> = row.split('|').map(|c| c.trim().to_owned()).collect();
    let is_head = |cell: &String| SERVICES.contains(&cell.to_ascii_lowercase().as_str());
    if let Some(column) = cells.iter().position(is_head) {
        *services = Some(column);
    } else if let Some(cell) = services.and_then(|column| cells.get_mut(column)) {
        let whole = format!("{cell}.service");
        if !is_unit(cell) && cell.contains(|c: char| c.is_ascii_alphabetic()) && is_unit(&whole) {
            *cell = whole;
        }
    }
    let is_one = |cell: &&String| is_unit(cell) || timespan::parse(cell).is_some();
    let filled = cells.iter().filter(|c| !c.is_empty());
    let (both, others): (Vec<&String>, Vec<&String>) = filled.partition(is_one);
    let join = |cells: Vec<&String>, by: &str| {
        let cells: Vec<&str> = cells.into_iter().map(String::as_str).collect();
        cells.join(by)
    };
    match (both.len(), others.is_empty()) {
        (2, false) => format!("{} — {}", join(both, " "), join(others, ", ")),
        _ => cells.join(" "),
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
        let text = printed(line.bytes, &mut None);
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
    let mut services = None;
    std::iter::from_fn(move || {
        let first = lines.next()?;
        let mut whole = printed(first.bytes, &mut services);
        let mut others = 0_usize;
        while is_open(&whole) {
            let next = lines.peek().map(|line| printed(line.bytes, &mut None));
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
            assert_eq!(printed(line.as_bytes(), &mut None), row);
        }
    }

    #[test]
    fn a_column_of_services_needs_no_suffix() {
        let table = "| # | Service | Time |\n|---|---|---|\n| 1 | old | 2s |\n| 2 | b.mount | 1s |\n\
             \n| old | 2s |\n";
        let lines = super::whole_lines(crate::text::lines(table.as_bytes()));
        let rows: Vec<String> = lines.map(|(_, text, _)| text.trim().to_owned()).collect();
        assert_eq!(rows[2..4], ["old.service 2s — 1", "b.mount 1s — 2"]);
        assert_eq!(rows[5], "old 2s");
    }
}
