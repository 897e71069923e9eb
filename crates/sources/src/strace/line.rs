//! One line of strace's output, taken apart.

use crate::text;

const SECOND_NS: i64 = 1_000_000_000;

/// From this on a number of seconds counts from 1970 (`-ttt`), below it from
/// the line before (`-r`): the two print alike.
const EPOCH_FROM_NS: i64 = 100_000_000 * SECOND_NS;

/// The stamp before a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Nanoseconds since 1970 (`-ttt`).
    Epoch(i64),
    /// Nanoseconds since midnight (`-t`, `-tt`).
    Day(i64),
    /// Nanoseconds since the line before (`-r`).
    Since(i64),
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    /// A system call, from its begin to its end.
    Call(Call<'a>),
    /// A call that has begun: its name, and its arguments so far.
    Unfinished(&'a [u8], &'a [u8]),
    /// The end of it: its name, and the rest.
    Resumed(Call<'a>),
    /// The process exited with this.
    Exited(i32),
    /// A signal killed it: its name.
    Killed(&'a [u8]),
    /// A signal arrived.
    Signal,
    /// This thread of it executed a program, and is the process from now on.
    Superseded(u32),
    /// strace says something of itself.
    Report,
}

/// A system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call<'a> {
    pub name: &'a [u8],
    /// What stands within its parentheses.
    pub arguments: &'a [u8],
    /// What it returned; `None` if it did not return.
    pub value: Option<i64>,
    /// The error's name: `ENOENT`.
    pub error: Option<&'a [u8]>,
    /// The path of the file descriptor that it returned (`-y`).
    pub path: Option<&'a [u8]>,
    /// How long it took, in nanoseconds (`-T`).
    pub took: Option<i64>,
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parsed<'a> {
    /// The process or thread, where the line says it.
    pub pid: Option<u32>,
    pub stamp: Option<Stamp>,
    pub event: Event<'a>,
    /// strace says that it watches this process now.
    pub attached: Option<u32>,
}

/// Takes a line apart. `None` if it is none of strace's.
pub(super) fn parse(line: &[u8]) -> Option<Parsed<'_>> {
    let (line, attached) = attached(line);
    let (pid, rest) = pid(line);
    let (stamp, rest) = stamp(rest);
    let rest = columns(rest);
    let event = match attached {
        Some(_) => begun(rest).unwrap_or(Event::Report),
        None => event(rest)?,
    };
    Some(Parsed {
        pid,
        stamp,
        event,
        attached,
    })
}

/// `strace: Process 12 attached`, which stands alone or within a call that has
/// begun, and what stands before it.
fn attached(line: &[u8]) -> (&[u8], Option<u32>) {
    const REPORT: &[u8] = b"strace: Process ";
    let found = memchr::memmem::rfind(line, REPORT).and_then(|at| {
        let (before, report) = line.split_at(at);
        let (pid, rest) = text::number(report.strip_prefix(REPORT)?)?;
        let pid = u32::try_from(pid).ok()?;
        (rest == b" attached").then_some((before, Some(pid)))
    });
    found.unwrap_or((line, None))
}

/// A call that has begun, without a word that it is unfinished.
fn begun(body: &[u8]) -> Option<Event<'_>> {
    let (name, rest) = name(body)?;
    let arguments = rest.strip_prefix(b"(")?;
    Some(Event::Unfinished(name, arguments.trim_ascii_end()))
}

/// `[pid  1234] ` or `1234  `: with `-o`, the process id stands alone. A name may
/// follow it: `1234<sh> `.
fn pid(line: &[u8]) -> (Option<u32>, &[u8]) {
    let inner = line.strip_prefix(b"[pid ");
    if let Some((pid, rest)) = inner.and_then(|l| named(text::without_indent(l)))
        && let Some(rest) = rest.strip_prefix(b"] ")
    {
        return (u32::try_from(pid).ok(), rest);
    }
    if let Some((pid, rest)) = named(line)
        && rest.starts_with(b" ")
    {
        return (u32::try_from(pid).ok(), text::without_indent(rest));
    }
    (None, line)
}

/// A number, and a name in angles after it.
fn named(line: &[u8]) -> Option<(u64, &[u8])> {
    let (pid, rest) = text::number(line)?;
    let name = rest.strip_prefix(b"<");
    // A task's name has at most 15 bytes, each in up to four characters.
    let end = name.and_then(|n| memchr::memchr(b'>', n.get(..61).unwrap_or(n)));
    let behind = name.zip(end).and_then(|(name, end)| name.get(end + 1..));
    Some((pid, behind.unwrap_or(rest)))
}

/// What follows the number of the call (`-n`: `[   9] `) and the instruction
/// pointer (`-i`: `[00007f3818448ca3] `).
fn columns(mut body: &[u8]) -> &[u8] {
    let within = |b: &u8| b.is_ascii_hexdigit() || matches!(b, b' ' | b'?');
    while let Some(inner) = body.strip_prefix(b"[")
        && let Some(end) = memchr::memchr(b']', inner.get(..24).unwrap_or(inner))
        && let Some((column, [b']', b' ', rest @ ..])) = inner.split_at_checked(end)
        && column.iter().all(within)
    {
        body = rest;
    }
    body
}

/// A frame of a stack (`-k`): ` > /lib/libc.so.6(close+0x23) [0x10fca3]`.
pub(super) fn is_frame(line: &[u8]) -> bool {
    line.starts_with(b" > ")
        && line.ends_with(b"]")
        && memchr::memmem::find(line, b" [0x").is_some()
}

/// The stamp, and what follows it and its blank.
fn stamp(line: &[u8]) -> (Option<Stamp>, &[u8]) {
    let line = text::without_indent(line);
    let read = of_day(line).or_else(|| {
        let (ns, _, rest) = text::seconds(line)?;
        let stamp = if ns >= EPOCH_FROM_NS {
            Stamp::Epoch(ns)
        } else {
            Stamp::Since(ns)
        };
        Some((stamp, rest))
    });
    let Some((stamp, rest)) = read.filter(|(_, rest)| rest.starts_with(b" ")) else {
        return (None, line);
    };
    let rest = text::without_indent(rest);
    // `-r` beside another stamp: `(+     0.000123) `.
    let both = rest.strip_prefix(b"(+").and_then(|r| {
        let (_, _, rest) = text::seconds(text::without_indent(r))?;
        rest.strip_prefix(b") ")
    });
    (Some(stamp), both.unwrap_or(rest))
}

/// `12:34:56`, with a fraction or not.
fn of_day(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let (hour, rest) = text::number(line)?;
    let (minute, rest) = text::number(rest.strip_prefix(b":")?)?;
    let rest = rest.strip_prefix(b":")?;
    let (of_minute, rest) = match text::seconds(rest) {
        Some((ns, _, rest)) => (ns, rest),
        None => {
            let (whole, rest) = text::number(rest)?;
            (i64::try_from(whole).ok()?.checked_mul(SECOND_NS)?, rest)
        }
    };
    if hour > 23 || minute > 59 || of_minute >= 61 * SECOND_NS {
        return None;
    }
    let minutes = i64::try_from(hour * 60 + minute).ok()?;
    Some((Stamp::Day(minutes * 60 * SECOND_NS + of_minute), rest))
}

fn event(body: &[u8]) -> Option<Event<'_>> {
    if let Some(inner) = between(body, b"+++ ", b" +++") {
        return Some(if let Some(code) = inner.strip_prefix(b"exited with ") {
            let (code, _) = text::number(code)?;
            Event::Exited(i32::try_from(code).ok()?)
        } else if let Some(signal) = inner.strip_prefix(b"killed by ") {
            let end = signal.iter().position(|b| *b == b' ');
            Event::Killed(signal.get(..end.unwrap_or(signal.len()))?)
        } else if let Some(by) = inner.strip_prefix(b"superseded by execve in pid ") {
            Event::Superseded(u32::try_from(text::number(by)?.0).ok()?)
        } else {
            Event::Report
        });
    }
    if between(body, b"--- ", b" ---").is_some() {
        return Some(Event::Signal);
    }
    if let Some(inner) = body.strip_prefix(b"<... ") {
        let (name, rest) = name(inner)?;
        let rest = text::without_indent(rest).strip_prefix(b"resumed>")?;
        return Some(Event::Resumed(call(name, rest)?));
    }
    if between(body, b"<", b">").is_some() || body.starts_with(b"strace: ") {
        // `<detached ...>`, or the end of a line that strace broke itself.
        return Some(Event::Report);
    }
    let (name, rest) = name(body)?;
    let arguments = rest.strip_prefix(b"(")?;
    if let Some(so_far) = arguments.strip_suffix(b"<unfinished ...>") {
        return Some(Event::Unfinished(name, so_far.trim_ascii_end()));
    }
    Some(Event::Call(call(name, arguments)?))
}

fn between<'a>(body: &'a [u8], before: &[u8], after: &[u8]) -> Option<&'a [u8]> {
    body.strip_prefix(before)?.strip_suffix(after)
}

/// The name of a system call; `????` if strace did not see which.
fn name(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let of_name = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'?');
    let end = body.iter().position(|b| !of_name(b))?;
    let (name, rest) = body.split_at(end);
    let first = name.first()?;
    (!first.is_ascii_digit()).then_some((name, rest))
}

/// The rest of a call: arguments, `) = `, the value and what is known of it.
fn call<'a>(name: &'a [u8], rest: &'a [u8]) -> Option<Call<'a>> {
    let end = closing(rest)?;
    let (arguments, result) = rest.split_at(end);
    let result = result.strip_prefix(b")")?;
    let result = text::without_indent(result).strip_prefix(b"= ")?;
    let (result, took) = match memchr::memmem::rfind(result, b" <") {
        Some(at) => match between(result.get(at..)?, b" <", b">").and_then(text::seconds) {
            Some((ns, _, [])) => (result.get(..at)?, Some(ns)),
            _ => (result, None),
        },
        None => (result, None),
    };
    let (negative, digits) = match result {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (value, about) = match digits.strip_prefix(b"0x") {
        Some(hexadecimal) => hex(hexadecimal),
        None => match text::number(digits) {
            Some((value, rest)) => (Some(value), rest),
            None => (None, digits),
        },
    };
    let value = value.map(|v| {
        // Addresses fill all 64 bits.
        let value = v.cast_signed();
        if negative {
            value.saturating_neg()
        } else {
            value
        }
    });
    let about = about.strip_prefix(b"?").unwrap_or(about);
    let about = text::without_indent(about);
    let error = about.strip_prefix(b"E").and_then(|_| {
        let end = about.iter().position(|b| !b.is_ascii_alphanumeric());
        about.get(..end.unwrap_or(about.len()))
    });
    Some(Call {
        name,
        arguments,
        value,
        error: error.filter(|_| negative || value.is_none()),
        path: between(about, b"<", b">"),
        took,
    })
}

fn hex(digits: &[u8]) -> (Option<u64>, &[u8]) {
    let end = digits.iter().position(|b| !b.is_ascii_hexdigit());
    let (digits, rest) = digits.split_at(end.unwrap_or(digits.len()));
    let text = std::str::from_utf8(digits).unwrap_or("");
    (u64::from_str_radix(text, 16).ok(), rest)
}

/// The rest of a call that strace itself broke with a line of its own.
pub(super) fn rest_of<'a>(name: &'a [u8], line: &'a [u8]) -> Option<Call<'a>> {
    call(name, line)
}

/// Where the parenthesis stands that closes the arguments.
fn closing(rest: &[u8]) -> Option<usize> {
    let mut found = None;
    scan(rest, |at, byte, depth| {
        let closes = byte == b')' && depth == 0;
        if closes {
            found = Some(at);
        }
        !closes
    });
    // Paths of `-y` hold anything; the last one that fits is it, then.
    let fits = |at: usize| {
        let rest = rest.get(at..).unwrap_or_default();
        let rest = rest.strip_prefix(b")").unwrap_or_default();
        text::without_indent(rest).starts_with(b"= ")
    };
    match found {
        Some(at) if fits(at) => Some(at),
        _ => memchr::memrchr_iter(b')', rest).find(|&at| fits(at)),
    }
}

/// Walks over arguments, strings as one: where, which byte, and within how many
/// brackets. Ends when `go` says so.
fn scan(arguments: &[u8], mut go: impl FnMut(usize, u8, usize) -> bool) {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, &byte) in arguments.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            _ => {
                if !go(at, byte, depth) {
                    return;
                }
                match byte {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
        }
    }
}

/// One of the arguments of a call, without the blanks around it.
pub(super) fn argument(arguments: &[u8], number: usize) -> Option<&[u8]> {
    let (mut start, mut end, mut commas) = (0, arguments.len(), 0);
    scan(arguments, |at, byte, depth| {
        if byte != b',' || depth > 0 {
            return true;
        }
        if commas == number {
            end = at;
            return false;
        }
        commas += 1;
        start = at + 1;
        true
    });
    let found = arguments.get(start..end)?.trim_ascii();
    (commas == number && !found.is_empty()).then_some(found)
}

/// The bytes of a string, as C writes it: `"a b\n"`. What strace left out, and
/// marks by dots behind the string, is missing.
pub(super) fn string(argument: &[u8]) -> Option<Vec<u8>> {
    let mut rest = argument.strip_prefix(b"\"")?;
    let mut bytes = Vec::with_capacity(rest.len());
    loop {
        rest = match rest {
            [b'"', ..] => return Some(bytes),
            [b'\\', b'x', tail @ ..] => {
                let digits = tail.get(..2)?;
                bytes.push(u8::try_from(hex(digits).0?).ok()?);
                tail.get(2..)?
            }
            [b'\\', tail @ ..] if matches!(tail, [b'0'..=b'7', ..]) => {
                // Up to three octal digits.
                let digits = tail.iter().take(3).take_while(|b| matches!(b, b'0'..=b'7'));
                let (value, count) =
                    digits.fold((0_u16, 0), |(v, n), d| (v * 8 + u16::from(d - b'0'), n + 1));
                bytes.push(value.to_le_bytes()[0]);
                tail.get(count..)?
            }
            [b'\\', escaped, tail @ ..] => {
                bytes.push(match escaped {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'v' => 0x0b,
                    b'f' => 0x0c,
                    plain => *plain,
                });
                tail
            }
            [plain, tail @ ..] => {
                bytes.push(*plain);
                tail
            }
            [] => return None,
        };
    }
}

/// How many words of a command line are read.
const MOST_WORDS: usize = 64;

/// The strings of a list, such as the arguments of a program: `["ls", "/"]`.
pub(super) fn strings(list: &[u8]) -> Option<Vec<Vec<u8>>> {
    let inner = list.strip_prefix(b"[")?;
    let inner = inner.strip_suffix(b"]").unwrap_or(inner);
    Some(
        (0..MOST_WORDS)
            .map_while(|n| string(argument(inner, n)?))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::{Event, Stamp, argument, parse, string, strings};

    #[test]
    fn every_prefix_is_read() {
        let of = |line: &str| parse(line.as_bytes()).map(|p| (p.pid, p.stamp));
        let ms = 1_000_000_i64;
        for (line, pid, stamp) in [
            ("close(3) = 0", None, None),
            ("7 close(3) = 0", Some(7), None),
            ("[pid    12] close(3)  = 0", Some(12), None),
            (
                "9618  1795312448.447238 close(3) = 0",
                Some(9_618),
                Some(Stamp::Epoch(1_795_312_448_447_238_000)),
            ),
            (
                "1795312448.447238 close(3) = 0",
                None,
                Some(Stamp::Epoch(1_795_312_448_447_238_000)),
            ),
            (
                "[pid 1] 1795312448.4472381 close(3) = 0",
                Some(1),
                Some(Stamp::Epoch(1_795_312_448_447_238_100)),
            ),
            (
                "10373 01:00:02 close(3) = 0",
                Some(10_373),
                Some(Stamp::Day(3_602_000 * ms)),
            ),
            (
                "01:00:02.5 close(3) = 0",
                None,
                Some(Stamp::Day(3_602_500 * ms)),
            ),
            (
                "10160      0.000394 close(3) = 0",
                Some(10_160),
                Some(Stamp::Since(394_000)),
            ),
            ("     0.001 close(3) = 0", None, Some(Stamp::Since(ms))),
            ("12<sh> close(3) = 0", Some(12), None),
            ("[pid 12<a b>] close(3) = 0", Some(12), None),
            (
                "12 0.001 [   3] close(3) = 0",
                Some(12),
                Some(Stamp::Since(ms)),
            ),
            ("12 [00007f3818448ca3] close(3) = 0", Some(12), None),
            ("[????????????????] +++ exited with 0 +++", None, None),
            (
                "1795312468.5 (+     0.000309) close(3) = 0",
                None,
                Some(Stamp::Epoch(1_795_312_468_500 * ms)),
            ),
        ] {
            assert_eq!(of(line), Some((pid, stamp)), "{line}");
        }
        for line in [
            "",
            "hello",
            "12 monkeys",
            "x = 3",
            "[pid x] close(3) = 0",
            "close(3",
            "3() = 1",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }

    #[test]
    fn calls_are_taken_apart() {
        let call = |line: &str| match parse(line.as_bytes())?.event {
            Event::Call(c) | Event::Resumed(c) => {
                let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
                Some((
                    text(c.name),
                    text(c.arguments),
                    c.value,
                    c.error.map(text),
                    c.took,
                ))
            }
            _ => None,
        };
        let of = |name: &str, arguments: &str, value, error: Option<&str>, took| {
            Some((
                name.to_owned(),
                arguments.to_owned(),
                value,
                error.map(str::to_owned),
                took,
            ))
        };
        for (line, expected) in [
            (
                "close(3)                = 0 <0.000007>",
                of("close", "3", Some(0), None, Some(7_000)),
            ),
            (
                "openat(AT_FDCWD, \"/a) = b\", O_RDONLY) = -1 ENOENT (No such file or directory)",
                of(
                    "openat",
                    "AT_FDCWD, \"/a) = b\", O_RDONLY",
                    Some(-1),
                    Some("ENOENT"),
                    None,
                ),
            ),
            (
                "brk(NULL) = 0x55d73af76000",
                of("brk", "NULL", Some(0x55d7_3af7_6000), None, None),
            ),
            ("exit_group(0) = ?", of("exit_group", "0", None, None, None)),
            (
                "wait4(-1, 0x7, 0, NULL) = ? ERESTARTSYS (To be restarted)",
                of("wait4", "-1, 0x7, 0, NULL", None, Some("ERESTARTSYS"), None),
            ),
            (
                "poll([{fd=3}], 1, 10) = 0 (Timeout) <0.010>",
                of("poll", "[{fd=3}], 1, 10", Some(0), None, Some(10_000_000)),
            ),
            (
                "<... read resumed>\"x\", 3) = 1 <0.5>",
                of("read", "\"x\", 3", Some(1), None, Some(500_000_000)),
            ),
            (
                "<... read resumed> \"x\", 3) = 1",
                of("read", " \"x\", 3", Some(1), None, None),
            ),
            (
                "openat(3</a (b>, \"c\", 0) = 4</a (b/c>",
                of("openat", "3</a (b>, \"c\", 0", Some(4), None, None),
            ),
        ] {
            assert_eq!(call(line), expected, "{line}");
        }
    }

    #[test]
    fn ends_are_told() {
        let event = |line: &'static str| parse(line.as_bytes()).map(|p| p.event);
        assert_eq!(event("1 +++ exited with 2 +++"), Some(Event::Exited(2)));
        assert_eq!(
            event("1 +++ killed by SIGSEGV (core dumped) +++"),
            Some(Event::Killed(b"SIGSEGV"))
        );
        assert_eq!(
            event("1 --- SIGCHLD {si_signo=SIGCHLD} ---"),
            Some(Event::Signal)
        );
        let attached =
            |line: &'static str| parse(line.as_bytes()).map(|p| (p.pid, p.attached, p.event));
        assert_eq!(
            attached("strace: Process 12 attached"),
            Some((None, Some(12), Event::Report))
        );
        assert_eq!(
            attached("[pid 3] 1.5 clone(x=1, strace: Process 12 attached"),
            Some((Some(3), Some(12), Event::Unfinished(b"clone", b"x=1,")))
        );
        assert_eq!(event(" <unfinished ...>"), Some(Event::Report));
        assert_eq!(
            event("1 +++ superseded by execve in pid 2 +++"),
            Some(Event::Superseded(2))
        );
        assert_eq!(event("1 <detached ...>"), Some(Event::Report));
        assert_eq!(
            event("1 wait4(-1,  <unfinished ...>"),
            Some(Event::Unfinished(b"wait4", b"-1,"))
        );
    }

    #[test]
    fn arguments_and_strings_hold_anything() {
        let arguments = br#"AT_FDCWD, "a\", b", {x=[1, 2], y="c,d"}, 0"#;
        assert_eq!(argument(arguments, 0), Some(&b"AT_FDCWD"[..]));
        assert_eq!(argument(arguments, 2), Some(&br#"{x=[1, 2], y="c,d"}"#[..]));
        assert_eq!(argument(arguments, 3), Some(&b"0"[..]));
        assert_eq!(argument(arguments, 4), None);
        assert_eq!(
            string(argument(arguments, 1).unwrap_or_default()),
            Some(b"a\", b".to_vec())
        );
        assert_eq!(
            string(br#""\303\244\n\0\x41"..."#),
            Some(b"\xc3\xa4\n\0A".to_vec())
        );
        assert_eq!(string(b"\"open"), None);
        let words = strings(br#"["sh", "-c", "a, b"]"#);
        assert_eq!(
            words,
            Some(vec![b"sh".to_vec(), b"-c".to_vec(), b"a, b".to_vec()])
        );
        assert_eq!(strings(br#"["sh", ...]"#), Some(vec![b"sh".to_vec()]));
    }
}
