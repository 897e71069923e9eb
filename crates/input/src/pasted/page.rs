//! The logs that a saved HTML page shows: what its blocks of code hold.

use super::Pasted;
use super::characters::reference;
use memchr::memmem;
use sources::{SNIFF_BYTES, Source};
use std::collections::BTreeSet;
use std::ops::Range;

/// A log in a page.
pub struct Log {
    /// Its text, without anything of the page.
    pub text: Vec<u8>,
    /// What reads it.
    pub source: &'static dyn Source,
}

/// Elements that show a text as somebody typed it.
const BLOCKS: [&[u8]; 3] = [b"pre", b"code", b"textarea"];

/// Code forges show each line of a file in a row of a table.
const TABLE: &[u8] = b"table";

/// Elements whose content is no text of the page.
const UNSHOWN: [&[u8]; 2] = [b"script", b"style"];

/// Elements that end a line.
const LINES: [&[u8]; 5] = [b"br", b"/div", b"/li", b"/p", b"/tr"];

/// The longest tag, with all its attributes, in bytes; behind that a `<` is only a sign.
const LONGEST_TAG: usize = 4_096;

/// The most logs of a page.
const MOST: usize = 64;

/// The different logs of a page, the longest last. What only repeats lines of another, as an
/// answer quotes a question, is none of its own.
pub fn logs(page: &[u8]) -> Vec<Log> {
    let (blocks, tables) = texts(page);
    let known = |ranges: Vec<Block>| {
        let logs = ranges.into_iter().filter_map(|block| log(page, &block));
        logs.take(MOST).collect::<Vec<_>>()
    };
    let mut all = known(blocks);
    if all.is_empty() {
        all = known(tables);
    }
    all.sort_by_key(|log| std::cmp::Reverse(log.text.len()));
    let mut kept: Vec<Log> = Vec::new();
    for log in all {
        if !kept.iter().any(|longer| repeats(&log.text, &longer.text)) {
            kept.push(log);
        }
    }
    kept.reverse();
    kept
}

/// Whether each line of a text is one of another.
fn repeats(text: &[u8], other: &[u8]) -> bool {
    let other: BTreeSet<&[u8]> = filled(other).collect();
    filled(text).all(|line| other.contains(line))
}

fn filled(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.split(|b| *b == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty())
}

/// The content of an element.
struct Block {
    content: Range<usize>,
    /// Whether it has no elements of its own.
    is_raw: bool,
}

/// The blocks of code of a page, those in others left out, and the tables without a table or
/// a block in them.
fn texts(page: &[u8]) -> (Vec<Block>, Vec<Block>) {
    let (mut blocks, mut tables) = (Vec::new(), Vec::new());
    let mut table = None;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'<', page.get(at..).unwrap_or_default()) {
        let here = at + found;
        let rest = page.get(here..).unwrap_or_default();
        let Some((name, length)) = tag(rest) else {
            at = here + comment(rest).unwrap_or(1);
            continue;
        };
        at = here + length;
        let is = |names: &[&[u8]]| names.contains(&name.as_slice());
        if is(&UNSHOWN) {
            at = close(page, at, &name).end;
        } else if is(&BLOCKS) {
            let ends = close(page, at, &name);
            blocks.push(Block {
                content: at..ends.start,
                is_raw: name == b"textarea",
            });
            at = ends.end;
            table = None;
        } else if name == TABLE {
            table = Some(at);
        } else if name == b"/table"
            && let Some(begin) = table.take()
        {
            tables.push(Block {
                content: begin..here,
                is_raw: false,
            });
        }
    }
    (blocks, tables)
}

/// Where the element that began before `from` is closed: its closing tag. An element that is
/// not closed goes on to the end of the page.
fn close(page: &[u8], from: usize, name: &[u8]) -> Range<usize> {
    let (mut depth, mut at) = (1, from);
    while let Some(found) = memchr::memchr(b'<', page.get(at..).unwrap_or_default()) {
        let here = at + found;
        let Some((other, length)) = tag(page.get(here..).unwrap_or_default()) else {
            at = here + 1;
            continue;
        };
        at = here + length;
        if other == name {
            depth += 1;
        } else if other.strip_prefix(b"/").is_some_and(|o| o == name) {
            depth -= 1;
        }
        if depth == 0 {
            return here..at;
        }
    }
    page.len()..page.len()
}

/// The length of a comment at the start of `text`.
fn comment(text: &[u8]) -> Option<usize> {
    let inner = text.strip_prefix(b"<!--")?;
    Some(memmem::find(inner, b"-->").map_or(text.len(), |at| at + 7))
}

/// The name of any tag at the start of `text`, in small letters and with its `/` if it closes
/// an element, and the length of the tag.
fn tag(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let inner = text.strip_prefix(b"<")?;
    let inner = inner.get(..LONGEST_TAG).unwrap_or(inner);
    let is_tag = matches!(inner, [b'/', b'a'..=b'z' | b'A'..=b'Z', ..])
        || inner.first().is_some_and(u8::is_ascii_alphabetic);
    let end = memchr::memchr(b'>', inner).filter(|_| is_tag)?;
    let inner = inner.get(..end)?;
    let is_end = |b: &u8| b.is_ascii_whitespace();
    let name = inner.split(is_end).next()?;
    let name = match name {
        [b'/', ..] => name,
        _ => name.split(|b| *b == b'/').next()?,
    };
    Some((name.to_ascii_lowercase(), end + 2))
}

/// The log in a block, if it is one.
fn log(page: &[u8], block: &Block) -> Option<Log> {
    let text = text(page.get(block.content.clone())?, block.is_raw);
    let head = text.get(..SNIFF_BYTES).unwrap_or(&text);
    let known = sources::best(head);
    let pasted = Pasted::of(head, known);
    let (text, source) = match pasted {
        Some(pasted) => {
            let text = pasted.plain(&text);
            let source = sources::sniff(&text)?;
            (text, source)
        }
        None => {
            let source = known?.1;
            (text, source)
        }
    };
    Some(Log { text, source })
}

/// The text of an element as a browser shows it.
fn text(mut content: &[u8], is_raw: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(content.len());
    while let Some(at) = memchr::memchr2(b'<', b'&', content) {
        let (before, rest) = content.split_at(at);
        text.extend_from_slice(before);
        if let Some((c, behind)) = reference(rest) {
            let mut utf8 = [0; 4];
            text.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
            content = behind;
        } else if let Some((name, length)) = tag(rest).filter(|_| !is_raw) {
            content = rest.get(length..).unwrap_or_default();
            let ends_line = LINES.contains(&name.as_slice());
            // A page in which lines end as well is not shown with empty ones between them.
            let is_ended = content.starts_with(b"\n") || content.starts_with(b"\r\n");
            let is_empty = text.last().is_none_or(|b| *b == b'\n') && name != b"br";
            if ends_line && !is_ended && !is_empty {
                text.push(b'\n');
            }
        } else {
            text.extend(rest.first());
            content = rest.get(1..).unwrap_or_default();
        }
    }
    text.extend_from_slice(content);
    text
}

#[cfg(test)]
mod tests {
    use super::logs;
    use proptest::prelude::*;

    const LOG: &str = "[    0.000000] Linux version 6.1.0 (a@b) #1 SMP\n\
        [    0.500000] a: 1 < 2\n[    0.900000] Run /init as init process\n";

    fn shown(page: &str) -> Vec<String> {
        let text = |log: super::Log| String::from_utf8(log.text).unwrap_or_default();
        logs(page.as_bytes()).into_iter().map(text).collect()
    }

    #[test]
    fn the_log_of_a_page_is_what_a_browser_shows() {
        let html = LOG.replace('<', "&lt;");
        for page in [
            format!("<html><p>It is slow.</p><PRE class='a'>{html}</PRE> <code>dmesg</code>"),
            format!("<!doctype html><script>'<pre>x</pre>'</script><textarea>{html}</textarea>"),
            format!("<html><!-- <pre> --><pre><code>{html}</code></pre>"),
            format!("<html><code>{}</code>", html.replace('\n', "<br />")),
            format!("<html><code>{}</code>", html.replace('\n', "<br>\r\n")),
            format!("<html><pre><span class=\"x\">{html}</span>"),
        ] {
            let all = shown(&page);
            assert_eq!(all.len(), 1, "{page}: {all:?}");
            let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(lines(&all[0]), lines(LOG), "{page}");
        }
    }

    #[test]
    fn rows_of_a_table_are_lines() {
        let html = LOG.replace('<', "&lt;");
        let rows = html.lines().enumerate().map(|(i, line)| {
            format!("<tr><td id=\"L{i}\"></td>\n<td class=\"code\">{line}</td></tr>")
        });
        let page = format!(
            "<html><table><tr><td>a</td></tr></table><table>{}</table>",
            rows.collect::<String>()
        );
        let all = shown(&page);
        assert_eq!(all.len(), 1, "{all:?}");
        let lines: Vec<&str> = all[0].lines().map(str::trim).collect();
        let lines: Vec<&str> = lines.into_iter().filter(|l| !l.is_empty()).collect();
        assert_eq!(lines, LOG.lines().collect::<Vec<_>>());
    }

    #[test]
    fn a_quotation_is_no_second_log_and_another_boot_is() {
        let html = LOG.replace('<', "&lt;");
        let quoted = html.lines().take(2).collect::<Vec<_>>().join("\n");
        let page = format!("<html><pre>{html}</pre><pre>{quoted}</pre>");
        assert_eq!(shown(&page).len(), 1);
        let other = html.replace("0.900000", "7.900000");
        let page = format!("<html><pre>{html}</pre><pre>{other}</pre>");
        assert_eq!(shown(&page).len(), 2);
        assert!(shown("<html><pre>Dear diary</pre>").is_empty());
    }

    proptest! {
        #[test]
        fn no_page_is_too_torn(pieces in prop::collection::vec(prop::sample::select(vec![
            "<pre>", "</pre>", "<code", ">", "<", "<table>", "</table>", "<tr>", "</tr>", "<!--",
            "-->", "<script>", "</", "&lt;", "&", "<br/>", "\n", "[    0.1] a", "</textarea>",
            "<textarea>", "\u{fffd}", "/",
        ]), 0..80)) {
            let page = pieces.concat();
            for log in logs(page.as_bytes()) {
                prop_assert!(log.text.len() <= page.len());
            }
        }
    }
}
