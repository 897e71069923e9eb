//! What stands before the text of a kernel line: stamps, levels, callers, hosts.

use crate::text::{number, seconds, without_indent};
use crate::walltime;
use memchr::{memchr, memmem};

/// A line, cut into what stands before the kernel's words and the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shaped<'a> {
    /// When, as the line says it.
    pub stamp: Stamp,
    /// The syslog level, 0 to 7.
    pub level: Option<u8>,
    /// The task that printed it, with `CONFIG_PRINTK_CALLER`.
    pub caller: Option<u64>,
    /// Whether the facility says that a program wrote it, not the kernel.
    pub by_program: bool,
    /// The record's number in `/dev/kmsg`, whose texts are escaped.
    pub sequence: Option<u64>,
    /// Whether a host's stamp stood before the line.
    pub host_stamped: bool,
    /// The time on the wall that the machine's own syslog wrote before the kernel's stamp, in
    /// nanoseconds.
    pub beside: Option<i64>,
    /// The words.
    pub text: &'a [u8],
}

/// The time that a line carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// None.
    None,
    /// Nanoseconds on the clock of kernel messages.
    Printk(i64),
    /// Nanoseconds on `CLOCK_MONOTONIC`.
    Monotonic(i64),
    /// Nanoseconds since the line before.
    Since(i64),
    /// The minute that the line came in, in nanoseconds since 1970 of an unknown year.
    Minute(i64),
    /// Nanoseconds of the day's clock: since 1970 on a wall in its own zone.
    Wall {
        /// The time.
        ns: i64,
        /// The smallest step of such stamps.
        resolution_ns: u64,
        /// Whether the year is a guess, since the line does not say it.
        yearless: bool,
    },
}

impl<'a> Shaped<'a> {
    const fn plain(text: &'a [u8]) -> Self {
        Self {
            stamp: Stamp::None,
            level: None,
            caller: None,
            by_program: false,
            sequence: None,
            host_stamped: false,
            beside: None,
            text,
        }
    }
}

/// Cuts a line. What fits no shape is all text, without a stamp.
pub(super) fn shape(line: &[u8]) -> Shaped<'_> {
    if let Some((ns, text)) = usual(line) {
        let stamp = Stamp::Printk(ns);
        return Shaped {
            stamp,
            ..Shaped::plain(text)
        };
    }
    let shaped = match line.first() {
        Some(b'[') => bracket(line),
        Some(b'<') => raw(line),
        Some(b'0'..=b'9') => kmsg(line)
            .or_else(|| iso(line))
            .or_else(|| clocked(line))
            .or_else(|| logcat(line))
            .or_else(|| syslog(line))
            .or_else(|| numbered(line))
            .or_else(|| bracketless(line)),
        Some(b'a'..=b'z') => decoded(line).or_else(|| syslog(line)),
        Some(b'A'..=b'Z') => logread(line)
            .or_else(|| syslog(line))
            .or_else(|| full(line)),
        // Months of other languages.
        Some(0x80..) => syslog(line),
        Some(b'>') => quoted(line),
        Some(b' ' | b'\t') => indented(without_indent(line)),
        _ => None,
    };
    shaped.unwrap_or(Shaped::plain(line))
}

/// `Thu Jun 15 09:02:10 2023 kern.info kernel: [    0.123456] words`: OpenWrt's `logread`.
fn logread(line: &[u8]) -> Option<Shaped<'_>> {
    let (ns, rest) = walltime::ctime(line)?;
    let rest = rest.strip_prefix(b" ")?;
    let end = memchr(b' ', rest)?;
    let (priority, text) = rest.split_at(end);
    let point = memchr(b'.', priority)?;
    let (facility, level) = priority.split_at(point);
    let letters = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_alphanumeric);
    if !letters(facility) || !letters(level.get(1..)?) {
        return None;
    }
    let text = text.strip_prefix(b" ")?;
    let stamp = wall(ns, 1_000_000_000);
    let Some(words) = text.strip_prefix(b"kernel: ") else {
        return Some(Shaped {
            by_program: true,
            ..after_stamp(stamp, text)
        });
    };
    // The host that stamped it is the same machine.
    Some(
        nested(words).map_or(after_stamp(stamp, words), |nested| Shaped {
            host_stamped: false,
            beside: beside(stamp),
            ..nested
        }),
    )
}

/// `> [    0.123456] words`: a log quoted in a mail, once or more.
fn quoted(line: &[u8]) -> Option<Shaped<'_>> {
    let mut rest = line;
    while let Some(tail) = rest.strip_prefix(b">") {
        rest = tail.strip_prefix(b" ").unwrap_or(tail);
    }
    // Else it is somebody's words.
    Some(shape(rest)).filter(|s| s.stamp != Stamp::None)
}

/// A line that a text quotes with an indent. Without the blanks in its bracket it is a kernel's
/// only if nothing else stands in front of the words.
fn indented(line: &[u8]) -> Option<Shaped<'_>> {
    usual(line)
        .map(|(ns, text)| after_stamp(Stamp::Printk(ns), text))
        .or_else(|| numbered(line))
        .or_else(|| unpadded(line))
}

/// `[2.162266] words`: the blanks of the stamp were lost where it was quoted.
fn unpadded(line: &[u8]) -> Option<Shaped<'_>> {
    let (ns, digits, rest) = seconds(line.strip_prefix(b"[")?)?;
    let text = rest.strip_prefix(b"] ")?;
    (digits == PRINTK_DIGITS).then(|| after_stamp(Stamp::Printk(ns), text))
}

/// `0.123456 words`: the brackets of the stamp were lost, or `ts -s %.s` wrote it.
pub(super) fn bracketless(line: &[u8]) -> Option<Shaped<'_>> {
    let (ns, digits, rest) = seconds(line)?;
    let text = rest.strip_prefix(b" ")?;
    let is_word = text.first().is_some_and(u8::is_ascii_alphabetic);
    let is_boot = ns < LONGEST_BOOT_NS;
    (digits == PRINTK_DIGITS && is_word && is_boot).then(|| after_stamp(Stamp::Printk(ns), text))
}

/// No boot takes longer; a number beyond is no stamp of one.
const LONGEST_BOOT_NS: i64 = 100_000_000_000_000;

/// How many digits the kernel prints behind the point.
const PRINTK_DIGITS: u8 = 6;

/// `805  [    0.123456] words`: the number of the line, as `cat -n` and `grep -n` write it.
fn numbered(line: &[u8]) -> Option<Shaped<'_>> {
    let (_, rest) = number(line)?;
    let words = match rest {
        [b':', words @ ..] => words,
        [b' ' | b'\t', ..] => without_indent(rest),
        _ => return None,
    };
    usual(words).map(|(ns, text)| after_stamp(Stamp::Printk(ns), text))
}

/// The stamp, in nanoseconds, and the words of `[    0.123456] words`, with
/// nothing between: nearly every line below 100,000 s is like that.
#[inline]
pub(super) fn usual(line: &[u8]) -> Option<(i64, &[u8])> {
    let (stamp, rest) = line.split_first_chunk::<15>()?;
    let frame = (stamp[0], stamp[6], stamp[13], stamp[14]);
    // A bracket may be a caller's or a second stamp's, an angle a level's.
    if frame != (b'[', b'.', b']', b' ') || matches!(rest.first(), Some(b'[' | b'<')) {
        return None;
    }
    let mut seconds = &stamp[1..6];
    while let [b' ', digits @ ..] = seconds {
        seconds = digits;
    }
    if seconds.is_empty() || vendor(rest).is_some() {
        return None;
    }
    let (seconds, micros) = (digits(seconds)?, digits(&stamp[7..13])?);
    Some((seconds * 1_000_000_000 + micros * 1_000, rest))
}

/// The value of a few digits, if they are nothing else.
#[inline]
fn digits(bytes: &[u8]) -> Option<i64> {
    let mut value = 0;
    let mut good = true;
    for byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        good &= digit <= 9;
        value = value * 10 + i64::from(digit);
    }
    good.then_some(value)
}

/// `[...] text`: printk's stamp, `dmesg -T`, or a host's stamp before either.
fn bracket(line: &[u8]) -> Option<Shaped<'_>> {
    let body = without_indent(line.get(1..)?);
    let Some((ns, digits, rest)) = seconds(body) else {
        if let Some((stamp, text)) = since(body) {
            return Some(after_stamp(stamp, text));
        }
        let (ns, rest) = walltime::ctime(line.get(1..)?)?;
        let text = match rest {
            // `dmesg -T -d`
            [b' ', b'<', ..] => rest.get(memmem::find(rest, b">]")? + 2..)?,
            _ => rest.strip_prefix(b"]")?,
        };
        return Some(after_stamp(wall(ns, 1_000_000_000), text));
    };
    match rest {
        [b']', text @ ..] => {
            let inner = text.strip_prefix(b" ").unwrap_or(text);
            if let Some(shaped) = nested(inner) {
                return Some(shaped);
            }
            (digits == 6).then(|| after_stamp(Stamp::Printk(ns), text))
        }
        // `[   94.106s] words`: people write the unit of a stamp that they shortened.
        [b's', b']', text @ ..] => Some(after_stamp(Stamp::Printk(ns), text)),
        // `dmesg -d`: the stamp, and how long ago the last line was. The kernel's
        // `scripts/show_delta` has a blank more on both sides of the bracket.
        [b' ', b'<', ..] => {
            let end = memmem::find(rest, b">]")?;
            let (delta, text) = rest.split_at_checked(end + 2)?;
            let is_scripts = delta.ends_with(b" >]");
            let text = text
                .strip_prefix(b" ")
                .filter(|_| is_scripts)
                .unwrap_or(text);
            Some(after_stamp(Stamp::Printk(ns), text))
        }
        // The first line of `journalctl -o short-delta`, which has none before it.
        [b' ', ..] if without_indent(rest).starts_with(b"]") => {
            let text = without_indent(rest).get(1..)?;
            (digits == 6).then(|| after_stamp(Stamp::Printk(ns), text))
        }
        // grabserial: time since the start, time since the last line.
        [b' ', ..] => {
            let (_, _, rest) = seconds(without_indent(rest))?;
            let text = rest.strip_prefix(b"]")?;
            let text = text.strip_prefix(b" ").unwrap_or(text);
            Some(nested(text).unwrap_or(Shaped::plain(text)))
        }
        _ => None,
    }
}

/// `+0.123456]` and `Nov21 21:02]` of `dmesg -H`, `<    0.123456>]` of
/// `dmesg --time-format=delta`: the stamp, and what follows the bracket.
fn since(body: &[u8]) -> Option<(Stamp, &[u8])> {
    let (sign, number, end) = match body {
        [b'+', rest @ ..] => (1, rest, &b"]"[..]),
        [b'-', rest @ ..] => (-1, rest, &b"]"[..]),
        [b'<', rest @ ..] => match without_indent(rest) {
            [b'-', rest @ ..] => (-1, rest, &b">]"[..]),
            rest => (1, rest, &b">]"[..]),
        },
        _ => {
            let (ns, rest) = walltime::minute(body)?;
            return Some((Stamp::Minute(ns), rest.strip_prefix(b"]")?));
        }
    };
    let (ns, digits, rest) = seconds(number)?;
    let text = rest.strip_prefix(end)?;
    (digits == 6).then_some((Stamp::Since(ns * sign), text))
}

/// A kernel line after a host's stamp: `[    0.123456] text`, with its level or
/// without. Nothing stands before a kernel's stamp twice.
fn nested(text: &[u8]) -> Option<Shaped<'_>> {
    let (priority, inner) = priority(text).map_or((None, text), |(p, rest)| (Some(p), rest));
    let (ns, rest) = printk(inner)?;
    Some(Shaped {
        level: priority.map(|p| p & 7),
        by_program: priority.is_some_and(|p| p > 7),
        host_stamped: true,
        ..after_stamp(Stamp::Printk(ns), rest)
    })
}

/// `[    0.123456]`, with any number of blanks, and what follows.
fn printk(text: &[u8]) -> Option<(i64, &[u8])> {
    let (ns, digits, rest) = seconds(without_indent(text.strip_prefix(b"[")?))?;
    let rest = rest.strip_prefix(b"]")?;
    (digits == 6).then_some((ns, rest))
}

/// `<6>[    0.123456] text`, and `<6>text` from a console without stamps.
fn raw(line: &[u8]) -> Option<Shaped<'_>> {
    let (priority, rest) = priority(line)?;
    let mut shaped = match rest.first() {
        Some(b'[') => bracket(rest).unwrap_or(Shaped::plain(rest)),
        _ => Shaped::plain(rest),
    };
    shaped.level = Some(priority & 7);
    shaped.by_program = priority > 7;
    Some(shaped)
}

/// `<6>`: facility and level, and what follows.
fn priority(text: &[u8]) -> Option<(u8, &[u8])> {
    let (priority, rest) = number(text.strip_prefix(b"<")?)?;
    let rest = rest.strip_prefix(b">")?;
    // Facilities go up to 23, so priorities to 191.
    let priority = u8::try_from(priority).ok().filter(|&p| p < 192)?;
    Some((priority, rest))
}

/// `kern  :info  : [    0.123456] text`: `dmesg -x`.
fn decoded(line: &[u8]) -> Option<Shaped<'_>> {
    const LEVELS: [&[u8]; 8] = [
        b"emerg", b"alert", b"crit", b"err", b"warn", b"notice", b"info", b"debug",
    ];
    // The longest facility is `authpriv`: a colon further on is other text.
    let end = memchr(b':', line.get(..9).unwrap_or(line))?;
    let (facility, rest) = line.split_at(end);
    let rest = rest.strip_prefix(b":")?;
    let end = memchr(b':', rest.get(..8).unwrap_or(rest))?;
    let (level, rest) = rest.split_at(end);
    let level = level.trim_ascii_end();
    let level = LEVELS.iter().position(|l| *l == level)?;
    let rest = rest.strip_prefix(b": ").or(rest.strip_prefix(b":"))?;
    let mut shaped = shape_after_level(rest);
    shaped.level = u8::try_from(level).ok();
    shaped.by_program = facility.trim_ascii_end() != b"kern";
    Some(shaped)
}

fn shape_after_level(rest: &[u8]) -> Shaped<'_> {
    let shaped = match rest.first() {
        Some(b'[') => bracket(rest),
        Some(b'0'..=b'9') => iso(rest),
        _ => None,
    };
    shaped.unwrap_or(Shaped::plain(rest))
}

/// `6,339,5140900,-,caller=T1;text`: `/dev/kmsg`, as
/// Documentation/ABI/testing/dev-kmsg says. More fields may come before `;`.
fn kmsg(line: &[u8]) -> Option<Shaped<'_>> {
    let (priority, rest) = number(line)?;
    let (sequence, rest) = number(rest.strip_prefix(b",")?)?;
    let (micros, rest) = number(rest.strip_prefix(b",")?)?;
    let rest = rest.strip_prefix(b",")?;
    let end = memchr(b';', rest)?;
    let (flags, text) = rest.split_at(end);
    let caller = memmem::find(flags, b",caller=T")
        .and_then(|at| number(flags.get(at + 9..)?))
        .map(|(task, _)| task);
    let ns = i64::try_from(micros).ok()?.checked_mul(1_000)?;
    Some(Shaped {
        stamp: Stamp::Printk(ns),
        level: u8::try_from(priority & 7).ok(),
        caller,
        by_program: priority > 7,
        sequence: Some(sequence),
        host_stamped: false,
        beside: None,
        text: text.get(1..)?,
    })
}

/// `2026-11-21T21:02:00+0000 host kernel: text` (journal, syslog) or
/// `2026-11-21T21:02:00,000000+00:00 text` (dmesg).
fn iso(line: &[u8]) -> Option<Shaped<'_>> {
    let iso = walltime::iso(line)?;
    let text = iso.rest.strip_prefix(b" ")?;
    let stamp = wall(iso.ns, iso.resolution_ns);
    if let Some(shaped) = nested(text) {
        return Some(shaped);
    }
    if iso.comma {
        return Some(after_stamp(stamp, text));
    }
    Some(after_host(stamp, text))
}

/// `21:02:00.123 [    0.123456] text` or `1795312448.123456 [    0.123456] text`:
/// what programs such as `ts` put before the lines of a console.
fn clocked(line: &[u8]) -> Option<Shaped<'_>> {
    let end = memchr(b' ', line)?;
    let (clock, text) = line.split_at(end);
    let plain = |b: &u8| b.is_ascii_digit() || matches!(b, b':' | b'.' | b',');
    let parts = clock.iter().filter(|b| matches!(b, b':' | b'.')).count();
    if !clock.iter().all(plain) || !(1..=3).contains(&parts) {
        return None;
    }
    let text = without_indent(text);
    nested(text).or_else(|| unix(clock, text))
}

/// `1795312448.123456 host kernel: text`: `journalctl -o short-unix`. What other
/// programs stamp so has no such words behind it.
fn unix<'a>(clock: &[u8], text: &'a [u8]) -> Option<Shaped<'a>> {
    let (ns, digits, rest) = seconds(clock)?;
    let name = text.get(memchr(b' ', text)? + 1..)?;
    let name = name.get(..memchr(b' ', name)?)?;
    let of_journal = name == b"kernel:" || name.ends_with(b"]:");
    (digits == 6 && rest.is_empty() && of_journal).then(|| after_host(wall(ns, 1_000), text))
}

/// `09-09 04:52:04.345 I/init    (  312): text` and `09-09 04:52:04.345   312   315 I init    :
/// text`: Android's `logcat -v time` and `-v threadtime`. The words begin with the tag.
fn logcat(line: &[u8]) -> Option<Shaped<'_>> {
    let (ns, resolution_ns, rest) = walltime::month_and_day_in_digits(line)?;
    let rest = without_indent(rest.strip_prefix(b" ")?);
    let text = match rest {
        [b'V' | b'D' | b'I' | b'W' | b'E' | b'F', b'/', text @ ..] => text,
        _ => {
            let (_, rest) = number(rest)?;
            let (_, rest) = number(without_indent(rest))?;
            match without_indent(rest) {
                [b'V' | b'D' | b'I' | b'W' | b'E' | b'F', b' ', text @ ..] => text,
                _ => return None,
            }
        }
    };
    memmem::find(text, b": ")?;
    let stamp = Stamp::Wall {
        ns,
        resolution_ns,
        yearless: true,
    };
    Some(Shaped {
        stamp,
        by_program: true,
        ..Shaped::plain(text)
    })
}

/// `Sat 2026-11-21 21:02:00[.123456] UTC host kernel: text`: `journalctl -o short-full`
/// and `with-unit`.
fn full(line: &[u8]) -> Option<Shaped<'_>> {
    let iso = walltime::iso_or_blank(line.get(3..)?.strip_prefix(b" ")?)?;
    let text = iso.rest.strip_prefix(b" ")?;
    let zone = memchr(b' ', text.get(..8).unwrap_or(text))?;
    Some(after_host(
        wall(iso.ns, iso.resolution_ns),
        text.get(zone + 1..)?,
    ))
}

/// `Nov 21 21:02:00 host kernel: text`: journal and syslog.
fn syslog(line: &[u8]) -> Option<Shaped<'_>> {
    let (ns, resolution_ns, rest) = walltime::yearless(line)?;
    let text = rest.strip_prefix(b" ")?;
    // `ts` writes no host.
    if let Some(shaped) = nested(text) {
        return Some(shaped);
    }
    let stamp = Stamp::Wall {
        ns,
        resolution_ns,
        yearless: true,
    };
    Some(after_host(stamp, text))
}

/// `host kernel: text`. A syslog daemon leaves the kernel's own stamp in the
/// text; it is the better one.
fn after_host(stamp: Stamp, text: &[u8]) -> Shaped<'_> {
    let after = memchr(b' ', text).and_then(|at| text.get(at + 1..));
    let text = without_priority(after.unwrap_or(text));
    if let Some(inner) = text.strip_prefix(b"kernel: ") {
        if let Some((ns, rest)) = printk(inner) {
            return Shaped {
                beside: beside(stamp),
                ..after_stamp(Stamp::Printk(ns), rest)
            };
        }
        return Shaped {
            stamp,
            ..Shaped::plain(inner)
        };
    }
    Shaped {
        stamp,
        by_program: true,
        ..Shaped::plain(text)
    }
}

/// The time of [`Shaped::beside`].
const fn beside(stamp: Stamp) -> Option<i64> {
    match stamp {
        Stamp::Wall { ns, .. } => Some(ns),
        _ => None,
    }
}

/// What follows `daemon.info `, which syslog daemons may write before the program.
fn without_priority(text: &[u8]) -> &[u8] {
    const LEVELS: [&[u8]; 9] = [
        b"emerg", b"alert", b"crit", b"err", b"warn", b"warning", b"notice", b"info", b"debug",
    ];
    let cut = || {
        let end = memchr(b' ', text.get(..24).unwrap_or(text))?;
        let (priority, rest) = text.split_at(end);
        let (facility, level) = priority.split_at(memchr(b'.', priority)?);
        let is_name = facility.iter().all(u8::is_ascii_alphanumeric) && !facility.is_empty();
        (is_name && LEVELS.contains(&level.get(1..)?)).then_some(rest.get(1..)?)
    };
    cut().unwrap_or(text)
}

/// The caller, if there is one, and the text after a stamp.
fn after_stamp(stamp: Stamp, rest: &[u8]) -> Shaped<'_> {
    if let Some((pid, text)) = vendor(rest) {
        return Shaped {
            stamp,
            caller: Some(pid),
            ..Shaped::plain(text)
        };
    }
    let (caller, rest) = caller(rest);
    let text = rest.strip_prefix(b" ").unwrap_or(rest);
    Shaped {
        stamp,
        caller,
        ..Shaped::plain(text)
    }
}

/// `[    T1]` (a task) or `[    C0]` (an interrupt on a CPU).
fn caller(rest: &[u8]) -> (Option<u64>, &[u8]) {
    let none = (None, rest);
    let inner = rest.strip_prefix(b" ").unwrap_or(rest);
    let Some(inner) = inner.strip_prefix(b"[") else {
        return none;
    };
    match without_indent(inner) {
        [kind @ (b'T' | b'C'), digits @ ..] => match number(digits) {
            Some((id, [b']', text @ ..])) => ((*kind == b'T').then_some(id), text),
            _ => none,
        },
        _ => none,
    }
}

/// The task that vendors' kernels write behind the stamp, and the text:
/// `(0)[1:swapper/0]` (MediaTek; also with `.` or `<0>.` before it),
/// `[0:      swapper/0:    1] ` (Samsung; also with a letter before it) and
/// `[c0      1] `, each with its processor.
#[inline]
fn vendor(rest: &[u8]) -> Option<(u64, &[u8])> {
    // Few texts begin so: the rest is looked at for these only.
    let begins = matches!(rest.first(), Some(b' ' | b'.' | b'(' | b'[' | b'<'));
    let lettered = matches!(rest, [b'A'..=b'Z', b'[', ..]);
    (begins || lettered).then(|| vendors_task(rest)).flatten()
}

fn vendors_task(rest: &[u8]) -> Option<(u64, &[u8])> {
    let rest = without_indent(rest);
    let level = rest.strip_prefix(b"<").and_then(number);
    let rest = match level {
        Some((_, [b'>', tail @ ..])) => tail,
        _ => rest,
    };
    let rest = rest.strip_prefix(b".").unwrap_or(rest);
    if let Some(processor) = rest.strip_prefix(b"(") {
        let (_, task) = number(processor)?;
        let (pid, name) = number(task.strip_prefix(b")[")?)?;
        let name = name.strip_prefix(b":")?;
        // Tasks' names have at most 15 bytes.
        let end = memchr(b']', name.get(..17).unwrap_or(name))?;
        let text = name.get(end + 1..)?;
        return Some((pid, text.strip_prefix(b" ").unwrap_or(text)));
    }
    let rest = match rest {
        [b'A'..=b'Z', tail @ ..] if tail.starts_with(b"[") => tail,
        _ => rest,
    };
    let inner = rest.strip_prefix(b"[")?;
    let (pid, text) = match inner {
        [b'c', processor @ ..] => {
            let (_, pid) = number(processor)?;
            number(without_indent(pid.strip_prefix(b" ")?))?
        }
        _ => {
            let (_, name) = number(without_indent(inner))?;
            let name = name.strip_prefix(b":")?;
            // Blanks fill the name up; names may hold colons.
            let bracket = memchr(b']', name.get(..32).unwrap_or(name))?;
            let end = memchr::memrchr(b':', name.get(..bracket)?)?;
            number(without_indent(name.get(end + 1..)?))?
        }
    };
    let text = text.strip_prefix(b"]")?;
    Some((pid, text.strip_prefix(b" ").unwrap_or(text)))
}

const fn wall(ns: i64, resolution_ns: u64) -> Stamp {
    Stamp::Wall {
        ns,
        resolution_ns,
        yearless: false,
    }
}

/// Where in `text` another kernel line begins that lost its line end before.
///
/// printk writes `[%5lu.%06lu]`, so only a bracket of that width counts: a text
/// may well quote a shorter one. A level `<6>` before it belongs to it.
pub(super) fn glued(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr(b'[', text.get(from..)?)?;
        let bracket = text.get(at..)?;
        let number = matches!(bracket.get(1), Some(b' ' | b'0'..=b'9'));
        if number && is_printk_stamp(bracket) {
            return Some(level_before(text, at));
        }
        from = at + 1;
    }
}

fn is_printk_stamp(bracket: &[u8]) -> bool {
    // The point of a stamp below 100,000 s stands at index 6; above that the
    // number has no blanks before it.
    let Some(point) = bracket.get(6..14).and_then(|b| memchr(b'.', b)) else {
        return false;
    };
    let Some((_, rest)) = printk(bracket) else {
        return false;
    };
    (point == 0 || bracket.get(1) != Some(&b' '))
        && matches!(rest.first(), None | Some(b' ' | b'['))
}

/// Where `<6>` begins if it ends at `at`, else `at`.
fn level_before(text: &[u8], at: usize) -> usize {
    let head = text.get(..at).unwrap_or_default();
    let Some(open) = memchr::memrchr(b'<', head) else {
        return at;
    };
    match head.get(open + 1..).and_then(number) {
        Some((priority, b">")) if priority < 192 => open,
        _ => at,
    }
}

/// `text` without the name of the host and the word `kernel:` before it, and
/// the host, if that is how it begins: `journalctl -o short-monotonic`.
pub(super) fn host_and_text(text: &[u8]) -> Option<(&[u8], &[u8], bool)> {
    let end = memchr(b' ', text)?;
    let (host, rest) = text.split_at(end);
    let rest = rest.get(1..)?;
    let (text, by_program) = match rest.strip_prefix(b"kernel:") {
        Some(text) => (text.strip_prefix(b" ").unwrap_or(text), false),
        None => rest.starts_with(b"systemd[1]: ").then_some((rest, true))?,
    };
    let named = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (!host.is_empty() && host.iter().all(named)).then_some((host, text, by_program))
}

/// The bytes that `/dev/kmsg` escaped as `\x20`.
pub(super) fn unescape(text: &[u8], into: &mut Vec<u8>) {
    into.clear();
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(at);
        into.extend_from_slice(plain);
        rest = match escape {
            [b'\\', b'x', high, low, tail @ ..] => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    into.push((high << 4) | low);
                    tail
                }
                _ => literal(escape, into),
            },
            _ => literal(escape, into),
        };
    }
    into.extend_from_slice(rest);
}

fn literal<'a>(escape: &'a [u8], into: &mut Vec<u8>) -> &'a [u8] {
    into.push(b'\\');
    escape.get(1..).unwrap_or_default()
}

const fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
