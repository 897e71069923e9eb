//! Shell scripts that start fewer programs.

use super::content::Content;
use super::error::FileError;
use super::plan::Change;
use super::programs::{is_tree, walk};
use super::tree::{Found, Target, What};
use crate::busybox::RCS;
use std::io::Write;
use std::process::{Command, Stdio};

/// No script that is read is larger, in bytes.
const LARGEST: u64 = 1 << 20;

/// Programs that read their input, whether it is a file or a pipe.
const READERS: [&str; 9] = [
    "grep", "sed", "awk", "cut", "head", "tail", "sort", "wc", "tr",
];

/// Each `cat FILE | PROGRAM ...` of the scripts at `path` as `PROGRAM ... <FILE`.
pub(super) fn without_cats(target: &Target, path: &str) -> Result<Vec<Change>, FileError> {
    is_tree(target)?;
    let mut changes = Vec::new();
    let mut each = |path: &str| -> Result<(), FileError> {
        let found = match target.read(path) {
            Ok(Some(found)) => found,
            Ok(None) | Err(FileError::Linked { .. } | FileError::Outside { .. }) => return Ok(()),
            Err(e) => return Err(e),
        };
        let Some(text) = shell(&found) else {
            return Ok(());
        };
        let after: String = text.split_inclusive('\n').map(rewritten).collect();
        if after != text {
            changes.push(Change {
                path: found.path.clone(),
                before: found.content.clone(),
                metadata: Some(found.metadata.clone()),
                after: Content::File(after.into_bytes()),
            });
        }
        Ok(())
    };
    match target.real_folder(path)? {
        None if target.has(path) => each(path)?,
        None => return Err(target.wrong(format!("{path} does not exist"))),
        Some(folder) => walk(target, &folder, &[], &mut |path, what| match (path, what) {
            (Some(path), What::File(bytes)) if bytes <= LARGEST => each(path),
            _ => Ok(()),
        })?,
    }
    Ok(changes)
}

/// The text of a script of a POSIX shell.
fn shell(found: &Found) -> Option<&str> {
    let Content::File(bytes) = &found.content else {
        return None;
    };
    let text = std::str::from_utf8(bytes).ok()?;
    is_shell(text).then_some(text)
}

fn is_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let shell = first.strip_prefix("#!").map(str::trim);
    let program = shell.and_then(|s| s.split_whitespace().next());
    let name = program.and_then(|p| p.rsplit('/').next());
    matches!(name, Some("sh" | "ash" | "dash" | "bash"))
}

/// A line without its needless `cat`; as it was where that is not sure.
fn rewritten(line: &str) -> String {
    shorter(line).unwrap_or_else(|| line.to_owned())
}

fn shorter(line: &str) -> Option<String> {
    if line.trim_start().starts_with('#') {
        return None;
    }
    let at = line.find("cat ")?;
    let before = line.get(..at)?;
    // Where a command begins, outside quotes.
    let begins = before.trim_end();
    let opens = begins.is_empty()
        || begins.ends_with(['(', '`', ';', '&', '{', '!', ')'])
        || ["if", "then", "do", "else", "while", "until"]
            .iter()
            .any(|w| begins.split_whitespace().last() == Some(*w));
    let quotes = |q: char| before.matches(q).count() % 2;
    // A substitution within double quotes begins anew.
    let quoted = quotes('\'') == 1 || (quotes('"') == 1 && !begins.ends_with(['(', '`']));
    if !opens || quoted || before.contains('\\') || before.contains('#') {
        return None;
    }
    let (file, rest) = line.get(at + 4..)?.split_once('|')?;
    let file = file.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-${}".contains(c);
    if file.is_empty() || file.starts_with('-') || !file.chars().all(plain) {
        return None;
    }
    let rest = rest.trim_start();
    let program = rest.split_whitespace().next()?;
    if !READERS.contains(&program) {
        return None;
    }
    let end = end_of_command(rest)?;
    let (command, after) = (rest.get(..end)?.trim_end(), rest.get(end..)?);
    let blank = match after.starts_with([')', '`', ';', '\n', '\r']) || after.is_empty() {
        true => "",
        false => " ",
    };
    Some(format!("{before}{command} <{file}{blank}{after}"))
}

/// Where a command ends in a line: before a pipe, a list, a redirection, the end of a
/// substitution, a comment; `None` if quotes are open at the end.
fn end_of_command(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    let mut depth = 0_usize;
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        let before = std::mem::replace(&mut last, c);
        if std::mem::take(&mut escaped) {
            continue;
        }
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some('\''), _) => {}
            (_, '\\') if text.get(at + 1..)?.starts_with(['\n', '\r']) => return None,
            (_, '\\') => escaped = true,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth > 0 => depth -= 1,
            (None, '|' | ';' | '&' | '>' | '<' | ')' | '`' | '\n' | '\r') if depth == 0 => {
                // A number before a redirection belongs to it.
                let digit = c == '>' && before.is_ascii_digit();
                return Some(at - usize::from(digit));
            }
            (None, '#') if before == ' ' => return Some(at),
            _ => {}
        }
    }
    (quote.is_none() && depth == 0).then_some(text.len())
}

/// `etc/init.d/rcS` as it is, and with the scripts that it starts in it.
pub(super) fn one_script(target: &Target) -> Result<(Found, String), FileError> {
    is_tree(target)?;
    let found = target.read(RCS)?.ok_or_else(|| {
        target.wrong(format!(
            "could not find {RCS}; pass a root of BusyBox' init"
        ))
    })?;
    let Some(text) = shell(&found) else {
        return Err(target.wrong(format!("{RCS} is not a shell script")));
    };
    if text.contains(MARK) {
        let text = text.to_owned();
        return Ok((found, text));
    }
    let Some((before, after)) = around_loop(text) else {
        return Err(target.wrong(format!(
            "{RCS} has no loop `for ... in /etc/init.d/S*`, so it is one script already, or \
             starts scripts in another way"
        )));
    };
    let mut merged = format!("{before}{MARK}\n");
    let folder = "etc/init.d";
    let names = target.names(folder);
    for name in names.iter().filter(|n| n.starts_with('S') && n.len() > 2) {
        let path = format!("{folder}/{name}");
        let Some(script) = target.read(&path)? else {
            continue;
        };
        let own = shell(&script).filter(|text| can_be_inside(text));
        let runs = script.metadata.mode & 0o111 != 0;
        merged.push_str(&match (own, runs) {
            // A subshell, so that `exit` ends it alone.
            (Some(text), true) => format!("# /{path}\n(\nset -- start\n{}\n)\n", text.trim_end()),
            _ => format!("/{path} start\n"),
        });
    }
    merged.push_str(after);
    accepted_by_shell(target, &merged)?;
    Ok((found, merged))
}

/// What marks the place.
const MARK: &str = "# Written by firstlight: the scripts of /etc/init.d/S*, in one shell.";

/// Whether a script does the same inside another: it does not ask what it is called.
fn can_be_inside(text: &str) -> bool {
    !["$0", "${0", "BASH_SOURCE", "$$"]
        .iter()
        .any(|w| text.contains(w))
        && text.starts_with("#!/bin/sh")
}

/// What stands before and behind the loop over the start scripts.
fn around_loop(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    let mut begin = None;
    let mut depth = 0_usize;
    for line in text.split_inclusive('\n') {
        let code = line.trim();
        let end = at + line.len();
        let opens = ["for ", "while ", "until "]
            .iter()
            .any(|w| code.starts_with(w));
        if begin.is_none() && code.starts_with("for ") && code.contains(" in /etc/init.d/S") {
            begin = Some(at);
            depth = 1;
        } else if begin.is_some() && opens {
            depth += 1;
        }
        // A loop in one line ends there, too.
        let closes = code == "done" || code.ends_with("; done") || code.ends_with(";done");
        if let Some(begin) = begin.filter(|_| closes) {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return Some((text.get(..begin)?, text.get(end..)?));
            }
        }
        at = end;
    }
    None
}

/// A script is looked at by a shell that runs nothing.
fn accepted_by_shell(target: &Target, text: &str) -> Result<(), FileError> {
    let refused = |why: String| target.wrong(format!("the merged script is not accepted: {why}"));
    let mut shell = Command::new("sh")
        .arg("-n")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| refused(format!("`sh` cannot be run: {e}")))?;
    // A shell that stops reading says why below.
    let _ = shell
        .stdin
        .take()
        .map(|mut pipe| pipe.write_all(text.as_bytes()));
    let done = shell
        .wait_with_output()
        .map_err(|e| refused(format!("`sh` failed: {e}")))?;
    match done.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&done.stderr);
            Err(refused(
                said.lines().next().unwrap_or("no reason").to_owned(),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{around_loop, rewritten};

    #[test]
    fn a_needless_cat_goes_and_no_other() {
        for (line, expected) in [
            (
                "cat /proc/cpuinfo | grep model",
                "grep model </proc/cpuinfo",
            ),
            (
                "  x=`cat /proc/cpuinfo | grep \"a | b\"`\n",
                "  x=`grep \"a | b\" </proc/cpuinfo`\n",
            ),
            (
                "x=\"$(cat $F | awk '{print $1}' | head -1)\"",
                "x=\"$(awk '{print $1}' <$F | head -1)\"",
            ),
            ("if cat /a | grep -q b; then", "if grep -q b </a; then"),
            ("cat /a | grep b 2>/dev/null", "grep b </a 2>/dev/null"),
            // A pipe's end, another reader, several files, text.
            ("cat /a | wc -l", "wc -l </a"),
            ("cat /a /b | grep c", "cat /a /b | grep c"),
            ("cat | grep c", "cat | grep c"),
            ("# cat /a | grep b", "# cat /a | grep b"),
            ("echo 'cat /a | grep b'", "echo 'cat /a | grep b'"),
            ("zcat /a | grep b", "zcat /a | grep b"),
            ("cat /a | grep 'open", "cat /a | grep 'open"),
            ("cat /a | xargs b", "cat /a | xargs b"),
            ("cat /a | grep b \\\n", "cat /a | grep b \\\n"),
        ] {
            assert_eq!(rewritten(line), expected, "{line}");
        }
    }

    #[test]
    fn the_loop_over_scripts_is_found_whole() {
        let text = "#!/bin/sh\nx\nfor i in /etc/init.d/S??* ;do\n  for j in 1 2; do\n y\n  done\n\
            $i start\ndone\nz\n";
        assert_eq!(around_loop(text), Some(("#!/bin/sh\nx\n", "z\n")));
        let short = "for i in /etc/init.d/S*; do $i start; done\nz\n";
        assert_eq!(around_loop(short), Some(("", "z\n")));
        assert_eq!(around_loop("for i in /etc/init.d/S*; do\n$i\n"), None);
        assert_eq!(around_loop("/etc/init.d/S10x start\n"), None);
    }
}
