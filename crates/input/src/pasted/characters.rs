//! Characters that a page writes in another way, and tags that it puts between them.

use super::padded::push_padded;
use std::collections::BTreeSet;

/// The longest character reference that is read, with its `&` and `;`, in bytes.
const LONGEST_REFERENCE: usize = 10;

/// The longest tag, `[URL="..."]` with an address in it, in bytes.
const LONGEST_TAG: usize = 512;

/// HTML's tags that people put around a log, or that color one.
const HTML: [&str; 16] = [
    "b", "code", "details", "div", "em", "font", "i", "kbd", "p", "pre", "samp", "span", "strong",
    "summary", "tt", "u",
];

/// HTML's tag of a line's end, which nothing closes. A page's text has the end of the line, too.
const LINE_BREAK: &[u8] = b"br";

/// A mail breaks a line in two, with a `=` at its end, before it is longer than 76 bytes
/// (RFC 2045, 6.7), and not long before that.
const LEAST_MAIL_LINE: usize = 38;

/// Which character references a page wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum References {
    None,
    /// Only those of blanks and of characters outside ASCII. A log with a `<` of its own was not
    /// written as HTML, and what looks like `&lt;` in it is its own, too.
    Foreign,
    All,
}

impl References {
    fn of(text: &[u8]) -> Self {
        let places = memchr::memchr_iter(b'&', text);
        let mut found = places.filter_map(|at| Some(reference(text.get(at..)?)?.0));
        let mut signs = memchr::memchr_iter(b'<', text);
        let is_html = signs.all(|at| text.get(at..).and_then(element).is_some());
        match is_html {
            true if found.next().is_some() => Self::All,
            false if found.any(is_foreign) => Self::Foreign,
            _ => Self::None,
        }
    }

    /// The character of a reference at the start of `text`, and what follows.
    fn read(self, text: &[u8]) -> Option<(char, &[u8])> {
        reference(text).filter(|(c, _)| match self {
            Self::None => false,
            Self::Foreign => is_foreign(*c),
            Self::All => true,
        })
    }
}

/// Whether no log writes a character as a reference of its own.
fn is_foreign(c: char) -> bool {
    c == ' ' || !c.is_ascii()
}

/// What a page did to the characters of a log.
#[derive(Debug)]
pub(super) struct Characters {
    /// The names of tags that the text closes: a forum's in capitals, HTML's in small letters.
    /// What is never closed is a log's own word in brackets, such as `[OK]`, or a line break.
    tags: BTreeSet<Vec<u8>>,
    references: References,
    /// Whether it is a mail's text in `quoted-printable`.
    quoted_printable: bool,
    /// Whether colors of a terminal lost their escape character, or have it in letters.
    colors: bool,
}

impl Characters {
    pub(super) fn of(text: &[u8]) -> Option<Self> {
        let forum = memchr::memmem::find_iter(text, b"[/");
        let forum = forum.filter_map(|at| Some(tag(text.get(at..)?)?.0));
        let html = memchr::memmem::find_iter(text, b"</");
        let html = html.filter_map(|at| Some(element(text.get(at..)?)?.0));
        let breaks = memchr::memmem::find_iter(text, b"<br");
        let breaks = breaks.filter_map(|at| Some(element(text.get(at..)?)?.0));
        let found = Self {
            tags: forum.chain(html).chain(breaks).collect(),
            references: References::of(text),
            quoted_printable: is_quoted_printable(text),
            colors: has_torn_colors(text),
        };
        let any = found.references != References::None
            || found.quoted_printable
            || found.colors
            || !found.tags.is_empty();
        any.then_some(found)
    }

    /// A text as it was before; each line as long as it was.
    pub(super) fn plain(&self, text: &[u8]) -> Vec<u8> {
        let mut plain = Vec::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let (line, behind) = rest.split_at(self.line_end(rest));
            self.push_plain(line, &mut plain);
            rest = behind;
        }
        plain
    }

    /// Where the first line of `text` ends; lines that a mail broke in two are one.
    fn line_end(&self, text: &[u8]) -> usize {
        let mut ends = memchr::memchr_iter(b'\n', text);
        ends.find(|at| {
            let line = text.get(..*at).unwrap_or_default().trim_ascii_end();
            !(self.quoted_printable && line.ends_with(b"="))
        })
        .map_or(text.len(), |at| at + 1)
    }

    /// Adds a line without what was done to it, as long as it was.
    fn push_plain(&self, line: &[u8], into: &mut Vec<u8>) {
        let mut kept = Vec::with_capacity(line.len());
        let mut rest = line;
        while let [first, tail @ ..] = rest {
            if let Some((c, behind)) = self.references.read(rest) {
                let mut utf8 = [0; 4];
                kept.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
                rest = behind;
            } else if let Some(behind) = self.tag(rest) {
                rest = behind;
            } else if let Some(behind) = color(rest).filter(|_| self.colors) {
                rest = behind;
            } else if let Some((byte, behind)) = octet(rest).filter(|_| self.quoted_printable) {
                kept.extend(byte);
                rest = behind;
            } else {
                kept.push(*first);
                rest = tail;
            }
        }
        push_padded(&kept, line.len(), into);
    }

    /// What follows a tag that the text closes.
    fn tag<'a>(&self, text: &'a [u8]) -> Option<&'a [u8]> {
        let (name, behind) = tag(text).or_else(|| element(text))?;
        self.tags.contains(&name).then_some(behind)
    }
}

/// Whether the end of a color, `ESC [ 0 m`, stands in a text without its escape character.
fn has_torn_colors(text: &[u8]) -> bool {
    let mut ends = memchr::memmem::find_iter(text, b"[0m");
    ends.any(|at| at.checked_sub(1).and_then(|b| text.get(b)) != Some(&0x1b))
}

/// What follows a color of a terminal, or the order to erase a line, without its escape
/// character: `[0;32m`, `^[[0m`, `[K`.
fn color(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"^[").unwrap_or(text);
    let rest = rest.strip_prefix(b"[")?;
    let numbers = rest
        .iter()
        .take_while(|b| b.is_ascii_digit() || **b == b';');
    let numbers = numbers.count();
    match rest.get(numbers..)? {
        [b'm', rest @ ..] if numbers > 0 => Some(rest),
        [b'K', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// Whether a text has `=3D`, an equals sign of `quoted-printable`, and a line that it broke.
fn is_quoted_printable(text: &[u8]) -> bool {
    let is_broken = |line: &[u8]| {
        let line = line.trim_ascii_end();
        line.ends_with(b"=") && line.len() >= LEAST_MAIL_LINE
    };
    memchr::memmem::find(text, b"=3D").is_some() && text.split(|b| *b == b'\n').any(is_broken)
}

/// The byte that `=3D` at the start of `text` stands for, none for a broken line's end, and
/// what follows.
fn octet(text: &[u8]) -> Option<(Option<u8>, &[u8])> {
    match text.strip_prefix(b"=")? {
        [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => Some((None, rest)),
        [high, low, rest @ ..] => {
            let digit = |b: u8| match b {
                b'0'..=b'9' => Some(b - b'0'),
                b'A'..=b'F' => Some(b - b'A' + 10),
                _ => None,
            };
            let byte = digit(*high)? << 4 | digit(*low)?;
            (byte >= b' ').then_some((Some(byte), rest))
        }
        _ => None,
    }
}

/// The character that a reference at the start of `text` stands for, and what follows it:
/// by number, or one of the names that pages need for a log (HTML, section 13.5).
pub(super) fn reference(text: &[u8]) -> Option<(char, &[u8])> {
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

/// The name of one of the [`HTML`] tags at the start of `text`, in small letters, and what
/// follows the tag.
fn element(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let inner = text.strip_prefix(b"<")?;
    let end = inner
        .iter()
        .take(LONGEST_TAG)
        .position(|b| b">\n".contains(b))?;
    let (inner, behind) = (inner.get(..end)?, inner.get(end..)?.strip_prefix(b">")?);
    let inner = inner.strip_prefix(b"/").unwrap_or(inner);
    let name = inner
        .split(|b| b" /".contains(b))
        .next()?
        .to_ascii_lowercase();
    let is_known = name == LINE_BREAK || HTML.iter().any(|known| known.as_bytes() == name);
    is_known.then_some((name, behind))
}

#[cfg(test)]
mod tests {
    use super::Characters;

    #[test]
    fn what_a_page_put_in_goes_and_lines_keep_their_length() {
        for (pasted, plain) in [
            ("&#9492;&#9472;a.service @1s", "└─a.service @1s"),
            ("&#x2514;&boxh;b &lt;c&gt;&nbsp;&amp;", "└─b <c> &"),
            ("a < b &#9492;c &lt;", "a < b └c &lt;"),
            ("[B]a[/B] [ok] [  OK  ]", "a [ok] [  OK  ]"),
            ("[COLOR=#CC0000]a[/color] @1s", "a @1s"),
            ("user[EMAIL=\"u@1\"]@1.s[/EMAIL]e", "user@1.se"),
            ("<pre class=x>[ 0.1] a <b@c></pre>", "[ 0.1] a <b@c>"),
            ("1.5s <code>a.service</code><br/>", "1.5s a.service"),
            (
                "1.5s&nbsp;a.service&#x20;<-- why?<br>",
                "1.5s a.service <-- why?",
            ),
            (
                "[[0;32m  OK  [0m] a [K[3] ^[[1;31mb^[[0m",
                "[  OK  ] a [3] b",
            ),
        ] {
            let text = format!("{pasted}\r\nx");
            let characters = Characters::of(text.as_bytes());
            let got = characters.map(|c| c.plain(text.as_bytes()));
            let got = String::from_utf8(got.unwrap_or_default()).unwrap_or_default();
            assert_eq!(got.len(), text.len());
            let (line, rest) = got.split_at(pasted.len());
            assert_eq!((line.trim_end(), rest), (plain, "\r\nx"));
        }
    }

    #[test]
    fn a_line_that_a_mail_broke_is_one() {
        let text = b"[    0.1] Command line: earlyprintk=3Dserial oops=3Dpanic con=\n\
            sole=3DttyS0\n[    0.2] =C3=BC\n";
        let plain = Characters::of(text).map(|c| c.plain(text));
        let plain = String::from_utf8(plain.unwrap_or_default()).unwrap_or_default();
        assert_eq!(plain.len(), text.len());
        let lines: Vec<&str> = plain.lines().map(str::trim_end).collect();
        let line = "[    0.1] Command line: earlyprintk=serial oops=panic console=ttyS0";
        assert_eq!(lines, [line, "[    0.2] ü"]);
    }

    #[test]
    fn what_a_log_says_itself_stays() {
        for log in [
            "[    0.1] a & b; c &d; [B] x[/",
            "[  OK  ] Started a [/dev/sda]",
            "&#1; &#xd800; &#99999999; &;",
            "a=3D b <c@d>",
            "\x1b[32ma\x1b[0m [K [1m",
            "[    0.1] calling <img>&amp;init&lt; @ 1",
        ] {
            assert!(Characters::of(log.as_bytes()).is_none(), "{log}");
        }
    }
}
