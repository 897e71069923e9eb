//! Rows of `systemd-analyze` that a page joined to one line, because it lost its line ends,
//! or its blanks, too.

use super::timespan;
use super::unit::{ends, is_name as is_unit};

/// What systemd prints first of a whole boot.
const STARTUP: &str = "Startup finished in ";

/// What prints such rows.
const COMMAND: &str = "systemd-analyze";

/// How the last branch of a level, and another, are drawn in a tree.
const BRANCHES: [&str; 2] = ["└─", "├─"];

/// What pages put between rows that they joined.
const BETWEEN: [char; 5] = ['>', ',', ';', '|', '`'];

/// The rows of a line; the line itself if it is one.
pub(super) fn rows(line: &str) -> Vec<&str> {
    for split in [startup, branches, blame, tight] {
        let rows = split(line);
        if !rows.is_empty() {
            return rows;
        }
    }
    vec![line]
}

/// `$ systemd-analyze Startup finished in ...`: the command, and what it printed.
fn startup(line: &str) -> Vec<&str> {
    let at = line.find(STARTUP).filter(|at| *at > 0);
    let parts = at.and_then(|at| line.split_at_checked(at));
    match parts {
        // A list's mark, a quotation's, or blanks.
        Some((mark, rest)) if !mark.contains(char::is_alphanumeric) => vec![rest],
        Some((command, rest)) if command.contains(COMMAND) => vec![command, sum(rest)],
        Some((label, rest)) if is_label(label) => vec![rest],
        // A sentence around it.
        Some((words, rest)) if is_sentence(words) => vec![sum(rest)],
        _ => Vec::new(),
    }
}

/// Whether somebody's words stand before what systemd said: a log's prefix has digits.
fn is_sentence(text: &str) -> bool {
    !text.contains(|c: char| c.is_ascii_digit() || "<>[]{}".contains(c))
}

/// What systemd said, without the words behind the sum.
fn sum(text: &str) -> &str {
    let Some((parts, behind)) = text.split_once(" = ") else {
        return text;
    };
    let end = [", ", "; ", ". ", " ("]
        .iter()
        .filter_map(|e| behind.find(e))
        .min();
    let end = parts.len() + " = ".len() + end.unwrap_or(behind.len());
    text.get(..end).unwrap_or(text)
}

/// `# before:`: what people put before a line that they keep. A log's prefix has digits.
fn is_label(text: &str) -> bool {
    let is_word = |c: char| c.is_alphabetic() || c.is_whitespace() || "#/*-_:".contains(c);
    text.trim_end().ends_with(':') && text.chars().all(is_word)
}

/// A tree of which the branches stand one behind the other.
fn branches(line: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = BRANCHES
        .iter()
        .flat_map(|branch| line.match_indices(branch).map(|(at, _)| at))
        .collect();
    starts.sort_unstable();
    // One branch is a row of its own, unless a unit with its time stands before it.
    let is_joined = match starts.as_slice() {
        [] => false,
        [at] => line.get(..*at).is_some_and(|before| before.contains(" @")),
        _ => true,
    };
    if !is_joined {
        return Vec::new();
    }
    let first = std::iter::once(0).chain(starts.iter().copied());
    let ends = starts.iter().copied().chain(std::iter::once(line.len()));
    let rows = first.zip(ends).filter_map(|(from, to)| line.get(from..to));
    let rows = rows.filter(|row| !row.trim().is_empty());
    // The root stands behind the command, or behind what explains the tree.
    let root = |row: &'_ str| {
        let (before, _) = row.rsplit_once(" @").unwrap_or((row, ""));
        before.rfind(' ').map_or(0, |at| at + 1)
    };
    rows.flat_map(|row| match BRANCHES.iter().any(|b| row.starts_with(b)) {
        true => vec![row],
        false => {
            let (before, after) = row.split_at(root(row));
            vec![before, after]
        }
    })
    .filter(|row| !row.trim().is_empty())
    .collect()
}

/// `1.2s a.service > 300ms b.service`: times and units, two or more.
fn blame(line: &str) -> Vec<&str> {
    let mut rows = Vec::new();
    let mut rest = line;
    while let Some((at, length)) = next_row(rest) {
        if at > 0 && rows.is_empty() {
            rows.extend(rest.get(..at));
        }
        rows.extend(rest.get(at..at + length));
        rest = rest.get(at + length..).unwrap_or_default();
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || BETWEEN.contains(&c));
    }
    let is_row = |row: &&&str| timespan::prefix(row).is_some();
    // One row is only its line, unless the command stands before it and nothing behind it.
    let is_said = rest.is_empty() && rows.first().is_some_and(|r| r.contains(COMMAND));
    match rows.iter().filter(is_row).count() {
        0 => Vec::new(),
        1 if !is_said => Vec::new(),
        _ => rows,
    }
}

/// `30.852siscsi.service10.011sa.mount`: times and units without a blank between them, one or
/// more in a word. The minutes of the first may be a word of their own.
fn tight(line: &str) -> Vec<&str> {
    if ends(line).next().is_none() {
        return Vec::new();
    }
    let mut rows: Vec<&str> = Vec::new();
    let mut found = false;
    let mut minutes: Option<usize> = None;
    for word in line.split_whitespace() {
        let at = word.as_ptr() as usize - line.as_ptr() as usize;
        let from = minutes.take().unwrap_or(at);
        let parts = units(word);
        if parts.is_empty() {
            // A time alone may be the minutes of the next word.
            match timespan::parse(word) {
                Some(_) => minutes = Some(from),
                None => rows.extend(line.get(from..at + word.len())),
            }
            continue;
        }
        found = true;
        for (n, (start, end)) in parts.into_iter().enumerate() {
            let start = if n == 0 { from } else { at + start };
            rows.extend(line.get(start..at + end));
        }
    }
    rows.extend(minutes.and_then(|from| line.get(from..)));
    match found {
        true => rows,
        false => Vec::new(),
    }
}

/// Where times with units begin and end in a word of them; empty for another word.
fn units(word: &str) -> Vec<(usize, usize)> {
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(rest) = word.get(at..).filter(|r| !r.is_empty()) {
        let Some((_, behind)) = timespan::joined(rest) else {
            return Vec::new();
        };
        // A name ends where another time begins, or with the word.
        let is_end = |end: &usize| {
            let next = behind.get(*end..).unwrap_or_default();
            let name = behind.get(..*end).unwrap_or_default();
            is_unit(name) && (next.is_empty() || timespan::joined(next).is_some())
        };
        let Some(end) = ends(behind).find(is_end) else {
            return Vec::new();
        };
        let end = at + (rest.len() - behind.len()) + end;
        parts.push((at, end));
        at = end;
    }
    parts
}

/// Where the first time with a unit begins in a text, and how long both are together.
fn next_row(text: &str) -> Option<(usize, usize)> {
    let is_start = |at: &usize| {
        let before = text.get(..*at).and_then(|t| t.chars().next_back());
        before.is_none_or(|c| c.is_whitespace() || BETWEEN.contains(&c))
    };
    let digits = text
        .match_indices(|c: char| c.is_ascii_digit())
        .map(|(at, _)| at);
    digits.filter(is_start).take(MOST_WORDS).find_map(|at| {
        let rest = text.get(at..)?;
        let (_, behind) = timespan::prefix(rest)?;
        let name = behind.split_whitespace().next()?;
        let name = name.trim_end_matches(BETWEEN);
        // What follows the time has no blanks at its end.
        let start = rest.trim_end().len().checked_sub(behind.len())?;
        is_unit(name).then_some((at, start + name.len()))
    })
}

/// So many numbers are looked at for one that is a time before a unit.
const MOST_WORDS: usize = 32;

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn what_a_page_joined_is_taken_apart() {
        for (line, parts) in [
            ("1.2s a.service", vec!["1.2s a.service"]),
            ("plain words", vec!["plain words"]),
            (
                "systemd-analyze blame -> 1min 2s  a.service",
                vec!["systemd-analyze blame -> ", "1min 2s  a.service"],
            ),
            (
                "`systemd-analyze blame 1min 2.5s a.service > 300ms b.service`",
                vec![
                    "`systemd-analyze blame ",
                    "1min 2.5s a.service",
                    "300ms b.service",
                ],
            ),
            (
                "2s a.service 1s b.mount",
                vec!["2s a.service", "1s b.mount"],
            ),
            (
                "$ systemd-analyze Startup finished in 1s (kernel) + 2s (userspace) = 3s",
                vec![
                    "$ systemd-analyze ",
                    "Startup finished in 1s (kernel) + 2s (userspace) = 3s",
                ],
            ),
            (
                "printed. a.target @9s └─b.service @5s +4s └─c.target @2s",
                vec![
                    "printed. ",
                    "a.target @9s ",
                    "└─b.service @5s +4s ",
                    "└─c.target @2s",
                ],
            ),
            (
                "● Startup finished in 1s (kernel) = 1s",
                vec!["Startup finished in 1s (kernel) = 1s"],
            ),
            ("  │ └─-.mount @2ms", vec!["  │ └─-.mount @2ms"]),
            (
                "a.target @1min 5.8s└─b.target @1min 5.7s",
                vec!["a.target @1min 5.8s", "└─b.target @1min 5.7s"],
            ),
            (
                "It says Startup finished in 1s (kernel) + 2s (userspace) = 3s, and a.service is slow",
                vec!["Startup finished in 1s (kernel) + 2s (userspace) = 3s"],
            ),
            (
                "# with the menu: Startup finished in 1s (kernel) = 1s",
                vec!["Startup finished in 1s (kernel) = 1s"],
            ),
            (
                "30.852siscsi.service10.011sdev-sda1.device821msssh.service",
                vec![
                    "30.852siscsi.service",
                    "10.011sdev-sda1.device",
                    "821msssh.service",
                ],
            ),
            (
                "$ systemd-analyze blame 1min 6.826sa.service 667msb.mount",
                vec![
                    "$",
                    "systemd-analyze",
                    "blame",
                    "1min 6.826sa.service",
                    "667msb.mount",
                ],
            ),
            ("7smart.service is a name", vec!["7smart.service is a name"]),
            (
                "May 1 host systemd[1]: Startup finished in 1s (kernel) = 1s",
                vec!["May 1 host systemd[1]: Startup finished in 1s (kernel) = 1s"],
            ),
        ] {
            assert_eq!(rows(line), parts, "{line}");
        }
    }
}
