//! Logs that somebody copied from a page: what the page put around their text.
//!
//! A forum, a mail or a commented file changes a log in ways that have nothing to do with it:
//! characters become references (`&#9492;`, `&lt;`), colors become tags (`[COLOR=#CC0000]`),
//! and each line gets a mark (`# `). They are taken away here, before any source sees the log.
//! Every line keeps its length, with blanks at its end, so evidence points to the same place.

use std::collections::BTreeSet;

/// The longest character reference that is read, with its `&` and `;`, in bytes.
const LONGEST_REFERENCE: usize = 10;

/// The longest tag, `[URL="..."]` with an address in it, in bytes.
const LONGEST_TAG: usize = 512;

/// Marks that lines get in scripts, configurations and programs.
const COMMENTS: [&[u8]; 5] = [b"#", b"//", b";", b"*", b"--"];

/// The fewest lines of which a common mark is no chance.
const FEWEST_MARKED: usize = 3;

/// A text without the character references and tags of a page; `None` if it has none.
pub fn without_marks(text: &[u8]) -> Option<Vec<u8>> {
    let is_text = memchr::memchr(0, text).is_none() && !text.starts_with(b"{");
    if !is_text || sources::document(text).is_some() {
        return None;
    }
    let tags = closed_tags(text);
    if tags.is_empty() && !has_references(text) {
        return None;
    }
    let mut plain = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|b| *b == b'\n') {
        push_plain(line, &tags, &mut plain);
    }
    Some(plain)
}

/// A text without the comment mark that nearly all of its lines begin with; `None` if they
/// have none.
pub fn without_comments(text: &[u8]) -> Option<Vec<u8>> {
    let lines = || text.split_inclusive(|b| *b == b'\n');
    let filled = lines().filter(|l| !l.trim_ascii().is_empty()).count();
    let marked = |mark: &[u8]| lines().filter(|l| marked_by(mark, l).is_some()).count();
    let mark = COMMENTS.into_iter().find(|mark| {
        let marked = marked(mark);
        marked >= FEWEST_MARKED && marked >= filled - filled / 10
    })?;
    let mut plain = Vec::with_capacity(text.len());
    for line in lines() {
        match marked_by(mark, line) {
            Some(rest) => push_padded(rest, line.len(), &mut plain),
            None => plain.extend_from_slice(line),
        }
    }
    Some(plain)
}

/// What a comment says; `None` if the line is none.
fn marked_by<'a>(mark: &[u8], line: &'a [u8]) -> Option<&'a [u8]> {
    let rest = line.trim_ascii_start().strip_prefix(mark)?;
    match rest {
        [b' ', words @ ..] => Some(words),
        [] | [b'\n' | b'\r', ..] => Some(rest),
        _ => None,
    }
}

/// A line that lost something at its start or in its middle, as long as it was.
fn push_padded(line: &[u8], length: usize, into: &mut Vec<u8>) {
    let text = line.trim_ascii_end();
    let (text, end) = line.split_at(text.len());
    into.extend_from_slice(text);
    into.resize(into.len() + length.saturating_sub(line.len()), b' ');
    into.extend_from_slice(end);
}

/// Whether a text has character references of the kinds that pages write.
fn has_references(text: &[u8]) -> bool {
    memchr::memchr_iter(b'&', text).any(|at| {
        let rest = text.get(at..).unwrap_or_default();
        reference(rest).is_some()
    })
}

/// Adds a line without references and without these tags, as long as it was.
fn push_plain(line: &[u8], tags: &BTreeSet<Vec<u8>>, into: &mut Vec<u8>) {
    let mut kept = Vec::with_capacity(line.len());
    let mut rest = line;
    while let [first, tail @ ..] = rest {
        if let Some((c, behind)) = reference(rest) {
            let mut utf8 = [0; 4];
            kept.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
            rest = behind;
        } else if let Some((_, behind)) = tag(rest).filter(|(name, _)| tags.contains(name)) {
            rest = behind;
        } else {
            kept.push(*first);
            rest = tail;
        }
    }
    push_padded(&kept, line.len(), into);
}

/// The character that a reference at the start of `text` stands for, and what follows it:
/// by number, or one of the names that pages need for a log (HTML, section 13.5).
fn reference(text: &[u8]) -> Option<(char, &[u8])> {
    let inner = text.strip_prefix(b"&")?;
    let end = inner
        .iter()
        .take(LONGEST_REFERENCE)
        .position(|b| *b == b';')?;
    let (name, behind) = (inner.get(..end)?, inner.get(end + 1..)?);
    let name = std::str::from_utf8(name).ok()?;
    let number = match name.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        },
        None => {
            let known = NAMED.iter().find(|(known, _)| *known == name)?;
            return Some((known.1, behind));
        }
    };
    let c = char::from_u32(number).filter(|c| !c.is_control())?;
    // A no-break blank only keeps a page from joining blanks.
    Some((if c == '\u{a0}' { ' ' } else { c }, behind))
}

const NAMED: [(&str, char); 11] = [
    ("amp", '&'),
    ("apos", '\''),
    ("boxh", '─'),
    ("boxur", '└'),
    ("boxv", '│'),
    ("boxvr", '├'),
    ("gt", '>'),
    ("hellip", '…'),
    ("lt", '<'),
    ("nbsp", ' '),
    ("quot", '"'),
];

/// The name of a forum's tag at the start of `text`, in capitals, and what follows the tag:
/// `[COLOR=#CC0000]`, `[/COLOR]`.
fn tag(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let inner = text.strip_prefix(b"[")?;
    let end = inner
        .iter()
        .take(LONGEST_TAG)
        .position(|b| b"]\n".contains(b))?;
    let (inner, behind) = (inner.get(..end)?, inner.get(end..)?.strip_prefix(b"]")?);
    let inner = inner.strip_prefix(b"/").unwrap_or(inner);
    let name = inner.split(|b| *b == b'=').next()?;
    let is_name = !name.is_empty() && name.iter().all(u8::is_ascii_alphabetic);
    is_name.then(|| (name.to_ascii_uppercase(), behind))
}

/// The names of all tags that a text closes. What is never closed is a log's own word in
/// brackets, such as `[OK]`.
fn closed_tags(text: &[u8]) -> BTreeSet<Vec<u8>> {
    memchr::memmem::find_iter(text, b"[/")
        .filter_map(|at| tag(text.get(at..)?))
        .map(|(name, _)| name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{without_comments, without_marks};

    #[test]
    fn marks_of_pages_go_and_lines_keep_their_length() {
        for (pasted, plain) in [
            ("&#9492;&#9472;a.service @1s", "└─a.service @1s"),
            ("&#x2514;&boxh;b &lt;c&gt;&nbsp;&amp;", "└─b <c> &"),
            ("[B]a[/B] [ok] [  OK  ]", "a [ok] [  OK  ]"),
            ("[COLOR=#CC0000]a[/color] @1s", "a @1s"),
            ("user[EMAIL=\"u@1\"]@1.s[/EMAIL]e", "user@1.se"),
        ] {
            let text = format!("{pasted}\r\nx");
            let got = without_marks(text.as_bytes()).unwrap_or_default();
            assert_eq!(got.len(), text.len());
            let got = String::from_utf8(got).unwrap_or_default();
            let (line, rest) = got.split_at(pasted.len());
            assert_eq!((line.trim_end(), rest), (plain, "\r\nx"));
        }
    }

    #[test]
    fn what_a_log_says_itself_stays() {
        for log in [
            "[    0.1] a & b; c &d; [B] x[/",
            "[  OK  ] Started a [/dev/sda]",
            "&#1; &#xd800; &#99999999; &;",
            "<svg>&lt;</svg>",
            "{\"a\":\"&lt;\"}",
            "\0&lt;",
        ] {
            assert_eq!(without_marks(log.as_bytes()), None, "{log}");
        }
    }

    #[test]
    fn a_comment_is_what_it_says() {
        let text = b"  # a\n  #\n  #   b\n\n";
        let plain = without_comments(text).unwrap_or_default();
        assert_eq!(plain.len(), text.len());
        let words: Vec<&[u8]> = plain.split(|b| *b == b'\n').collect();
        let ends: Vec<&[u8]> = words.iter().map(|w| w.trim_ascii_end()).collect();
        assert_eq!(ends, [&b"a"[..], b"", b"  b", b"", b""]);
        assert_eq!(without_comments(b"# a\nb\n# c\n# d\n"), None);
        assert_eq!(without_comments(b"# a\n"), None);
        assert_eq!(without_comments(b""), None);
    }
}
