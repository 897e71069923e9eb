//! One line of `perf script`, taken apart.

use crate::text;
use std::borrow::Cow;

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Nothing: it ends a sample.
    Blank,
    /// `# ...`: of perf itself.
    Comment,
    /// The head of a sample.
    Head(Header<'a>),
    /// A function of a stack.
    Frame(Frame<'a>),
    /// Where the function before stands in its source (`-F +srcline`).
    Place,
    /// None of these.
    Other,
}

/// The head of a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header<'a> {
    /// The task's name; empty if it was not printed.
    pub task: &'a [u8],
    /// The stamp, in nanoseconds of perf's clock.
    pub time_ns: Option<i64>,
    /// The event: `cycles`, `sched:sched_switch`.
    pub event: Option<&'a [u8]>,
    /// The function, where it stands on the same line.
    pub frame: Option<Frame<'a>>,
}

/// A function of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    symbol: &'a [u8],
    /// The file it is in, where that was printed.
    file: Option<&'a [u8]>,
    /// It has an address, and a file or a symbol.
    pub is_sure: bool,
}

impl Frame<'_> {
    /// The name of the function; of an unknown one, that of its file.
    pub(super) fn name(&self) -> Cow<'_, str> {
        let known = !matches!(self.symbol, b"" | b"[unknown]");
        match self.file {
            _ if known => text::lossy(self.symbol),
            Some(file) => {
                let file = text::lossy(file);
                let base = file.rsplit('/').next().unwrap_or(&file);
                let base = base.trim_matches(['[', ']']);
                format!("[{base}]").into()
            }
            None => "[unknown]".into(),
        }
    }
}

/// Takes a line apart. `in_sample`: the head of a sample came before, and no
/// blank line since.
pub(super) fn parse(line: &[u8], in_sample: bool) -> Line<'_> {
    match line {
        l if l.trim_ascii().is_empty() => return Line::Blank,
        [b'#', ..] => return Line::Comment,
        // `--show-task-events`, `--show-mmap-events` and their like.
        [b'!'..=b'~', ..] if memchr::memmem::find(line, b": PERF_RECORD_").is_some() => {
            return Line::Comment;
        }
        _ => {}
    }
    if let [b'\t', rest @ ..] = line {
        return frame(rest).map_or(Line::Other, Line::Frame);
    }
    if let Some(head) = head(line) {
        return Line::Head(head);
    }
    match line {
        [b' ', b' ', ..] => match frame(line).filter(|f| f.is_sure) {
            Some(frame) => Line::Frame(frame),
            None => Line::Place,
        },
        // Without addresses a blank stands before each function.
        [b' ', rest @ ..] if in_sample => frame(rest).map_or(Line::Other, Line::Frame),
        _ => Line::Other,
    }
}

/// A word and where it ends.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    text: &'a [u8],
    start: usize,
    end: usize,
}

fn words(line: &[u8]) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0_usize;
    // What stands before the fields of a sample has few words.
    const MOST: usize = 24;
    for part in line.split(u8::is_ascii_whitespace) {
        if !part.is_empty() {
            words.push(Word {
                text: part,
                start: at,
                end: at.saturating_add(part.len()),
            });
        }
        at = at.saturating_add(part.len()).saturating_add(1);
        if words.len() >= MOST {
            break;
        }
    }
    words
}

/// A process or thread id, or both: `12`, `12/13`, `-1`.
fn is_id(word: &[u8]) -> bool {
    let number = |w: &[u8]| {
        let w = w.strip_prefix(b"-").unwrap_or(w);
        !w.is_empty() && w.len() <= 10 && w.iter().all(u8::is_ascii_digit)
    };
    match word.iter().position(|b| *b == b'/') {
        Some(at) => {
            let (process, thread) = word.split_at(at);
            number(process) && thread.get(1..).is_some_and(number)
        }
        None => number(word),
    }
}

/// `[003]`.
fn is_processor(word: &[u8]) -> bool {
    let inner = word.strip_prefix(b"[").and_then(|w| w.strip_suffix(b"]"));
    inner.is_some_and(|w| !w.is_empty() && w.iter().all(u8::is_ascii_digit))
}

/// `23168.651502:`, in nanoseconds.
fn time(word: &[u8]) -> Option<i64> {
    match text::seconds(word.strip_suffix(b":")?)? {
        (ns, _, []) => Some(ns),
        _ => None,
    }
}

/// The fields behind the task's name and id, which must tell a sample.
fn fields<'a>(line: &'a [u8], words: &[Word<'a>]) -> Option<Header<'a>> {
    let mut head = Header::default();
    let mut rest = words;
    let mut stamped = false;
    // `[cpu]`, flags of `-F misc` (`U`, `K`, ...), the time.
    while let [first, tail @ ..] = rest {
        if is_processor(first.text) {
            stamped = true;
        } else if let Some(at) = time(first.text) {
            head.time_ns = Some(at);
            stamped = true;
        } else if !(first.text.len() <= 3 && first.text.iter().all(u8::is_ascii_uppercase)) {
            break;
        }
        rest = tail;
        if head.time_ns.is_some() {
            break;
        }
    }
    // The period.
    if let [period, tail @ ..] = rest
        && period.text.iter().all(u8::is_ascii_digit)
        && tail.first().is_some_and(|e| e.text.ends_with(b":"))
    {
        rest = tail;
    }
    if let [event, tail @ ..] = rest
        && let Some(name) = event.text.strip_suffix(b":")
        && is_event(name)
    {
        head.event = Some(name);
        rest = tail;
    }
    if !stamped && head.event.is_none() && !rest.is_empty() {
        return None;
    }
    if let Some(first) = rest.first() {
        let place = frame(line.get(first.start..)?).filter(|f| f.is_sure);
        // Without an event, something else follows the id and the stamp.
        if place.is_none() && head.event.is_none() {
            return None;
        }
        head.frame = place;
    }
    Some(head)
}

/// Names of events hold no blanks, and begin with a letter: `cycles:u`,
/// `cpu/config=1/`, `L1-dcache-loads`.
fn is_event(name: &[u8]) -> bool {
    name.first().is_some_and(u8::is_ascii_alphabetic)
}

/// The head of a sample: the task, its id, and what follows them.
fn head(line: &[u8]) -> Option<Header<'_>> {
    let words = words(line);
    for (number, word) in words.iter().enumerate() {
        if !is_id(word.text) {
            continue;
        }
        let Some(mut head) = fields(line, words.get(number + 1..)?) else {
            continue;
        };
        // An id alone tells nothing.
        if number == 0 && head.time_ns.is_none() {
            continue;
        }
        let first = words.first()?;
        let before = number.checked_sub(1).and_then(|n| words.get(n));
        head.task = before.map_or(&[][..], |last| {
            line.get(first.start..last.end).unwrap_or_default()
        });
        return Some(head);
    }
    // `-F comm,ip,sym`: the task's name alone, and a blank behind it.
    let name = line.strip_suffix(b" ")?;
    let is_name = !name.starts_with(b" ") && !name.is_empty() && name.len() <= 16;
    is_name.then(|| Header {
        task: name.trim_ascii_end(),
        ..Header::default()
    })
}

/// A function: `ffffffff816e6a35 is_bad_inode+0x5 ([kernel.kallsyms])`, with or
/// without the address, the offset and the file.
fn frame(text: &[u8]) -> Option<Frame<'_>> {
    let mut rest = text.trim_ascii();
    let end = rest.iter().position(u8::is_ascii_whitespace);
    let (first, tail) = rest.split_at(end.unwrap_or(rest.len()));
    let has_address = (1..=16).contains(&first.len())
        && first.iter().all(u8::is_ascii_hexdigit)
        // A function may be called `add`; addresses are longer, or a name follows.
        && (first.len() > 4
            || first.iter().any(u8::is_ascii_digit)
            || tail.trim_ascii_start().first().is_some_and(|c| *c != b'('));
    if has_address {
        rest = tail.trim_ascii_start();
    }
    rest = rest.strip_suffix(b" (inlined)").unwrap_or(rest);
    let (symbol, file) = place(rest);
    let symbol = without_offset(symbol);
    if symbol.is_empty() && file.is_none() && !has_address {
        return None;
    }
    Some(Frame {
        symbol,
        file,
        is_sure: has_address && (file.is_some() || !symbol.is_empty()),
    })
}

/// A symbol and its file, which stands in brackets behind it.
fn place(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    // A file that is gone has brackets of its own.
    let whole = text.strip_suffix(b" (deleted))");
    let Some(inner) = whole.or_else(|| text.strip_suffix(b")")) else {
        return (text, None);
    };
    if let Some(file) = inner.strip_prefix(b"(") {
        return (b"", Some(file));
    }
    match memchr::memmem::rfind(inner, b" (") {
        Some(at) => {
            let (symbol, file) = inner.split_at(at);
            (symbol, file.strip_prefix(b" ("))
        }
        None => (text, None),
    }
}

/// `name+0x1f` without its end.
fn without_offset(symbol: &[u8]) -> &[u8] {
    let Some(at) = memchr::memmem::rfind(symbol, b"+0x") else {
        return symbol;
    };
    let (name, offset) = symbol.split_at(at);
    let digits = offset.get(3..).unwrap_or_default();
    if !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit) {
        name
    } else {
        symbol
    }
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use super::{Line, parse};

    fn head(line: &str) -> (String, Option<i64>, Option<String>, Option<String>) {
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        match parse(line.as_bytes(), false) {
            Line::Head(h) => (
                text(h.task),
                h.time_ns,
                h.event.map(text),
                h.frame.map(|f| f.name().into_owned()),
            ),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn heads_of_every_shape() {
        for (line, task, time, event, frame) in [
            (
                "ls  7969 23168.651502:    5000000 cpu-clock:ppp: ",
                "ls",
                Some(23_168_651_502_000),
                Some("cpu-clock:ppp"),
                None,
            ),
            (
                "              sh  8109 23170.493622:    3333333 cpu-clock:      5572ba2f283a [unknown] (/usr/bin/dash)",
                "sh",
                Some(23_170_493_622_000),
                Some("cpu-clock"),
                Some("[dash]"),
            ),
            (
                "swapper     0 [000]  1234.567890123: cycles: ",
                "swapper",
                Some(1_234_567_890_123),
                Some("cycles"),
                None,
            ),
            (
                "Web Content 3 12/13 [001] 1.000001:          1 sched:sched_switch: prev_comm=a prev_pid=1",
                "Web Content 3",
                Some(1_000_001_000),
                Some("sched:sched_switch"),
                None,
            ),
            ("ls  7969 ", "ls", None, None, None),
            ("ls ", "ls", None, None, None),
            (
                "perf  1/2  [003] K   5.000000:  1 cpu_core/cycles/: ",
                "perf",
                Some(5_000_000_000),
                Some("cpu_core/cycles/"),
                None,
            ),
            (
                "  12 1.500000: ffffffff816e6a35 is_bad_inode+0x5 ([kernel.kallsyms])",
                "",
                Some(1_500_000_000),
                None,
                Some("is_bad_inode"),
            ),
        ] {
            let wanted = (
                task.to_owned(),
                time,
                event.map(str::to_owned),
                frame.map(str::to_owned),
            );
            assert_eq!(head(line), wanted, "{line}");
        }
    }

    #[test]
    fn functions_of_every_shape() {
        for (line, name) in [
            (
                "\tffffffff816e6a35 is_bad_inode+0x5 ([kernel.kallsyms])",
                "is_bad_inode",
            ),
            (
                "\t           fd001 __open64_nocancel+0x41 (/usr/lib/libc.so.6)",
                "__open64_nocancel",
            ),
            ("\t    5572ba2f283a [unknown] (/usr/bin/dash)", "[dash]"),
            ("\t    5572ba2f283a [unknown] ([vdso])", "[vdso]"),
            ("\tffffffff816e6a35 is_bad_inode", "is_bad_inode"),
            (
                "\t            1234 a::b(int, char*)+0x1f (/usr/lib/x (deleted))",
                "a::b(int, char*)",
            ),
            (
                "\t            1234 core::ops::call (inlined)",
                "core::ops::call",
            ),
            (" is_bad_inode", "is_bad_inode"),
            ("\t            fcfc [unknown] (/usr/bin/dash)", "[dash]"),
            ("\t add (/usr/bin/dash)", "add"),
            ("\tffffffff816e6a35", "[unknown]"),
        ] {
            match parse(line.as_bytes(), true) {
                Line::Frame(f) => assert_eq!(f.name(), name, "{line}"),
                other => panic!("{line}: {other:?}"),
            }
        }
        assert_eq!(parse(b"  file.c:123", true), Line::Place);
        assert_eq!(parse(b"", true), Line::Blank);
        assert_eq!(parse(b"# captured on", false), Line::Comment);
        let event = b"sh 32036 50438.255609: PERF_RECORD_COMM exec: sh:32036/32036";
        assert_eq!(parse(event, false), Line::Comment);
        assert_eq!(parse(b"Hello there", true), Line::Other);
    }
}
