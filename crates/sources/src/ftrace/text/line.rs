//! What stands before an event in a line of `trace`, `trace_pipe` and
//! `trace-cmd report`.

use crate::text::{number, seconds, without_indent};
use memchr::{memchr, memmem};

/// A stamp as the line has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Seconds with a fraction of so many digits, as nanoseconds.
    Seconds(i64, u8),
    /// A whole number, of a clock that is not in nanoseconds.
    Ticks(u64),
    /// Nanoseconds since the trace's own start: the latency format.
    Relative(i64),
}

/// A line with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventLine<'a> {
    /// The task's name. The latency format cuts it to 8 bytes.
    pub comm: &'a [u8],
    pub pid: u32,
    pub cpu: u32,
    pub stamp: Stamp,
    /// Everything behind the stamp: the event's name and what it says.
    pub rest: &'a [u8],
}

/// Takes a line apart. `None` if no event is in it.
pub(super) fn event(line: &[u8]) -> Option<EventLine<'_>> {
    in_brackets(line)
        .or_else(|| latency(line))
        .or_else(|| verbose(line))
}

/// `   bash-1977  (   1977) [000] d..1.  17284.993652: `, with or without the
/// process in parentheses, and with or without the flags. `trace-cmd report`
/// puts an instance's name and a colon before.
fn in_brackets(line: &[u8]) -> Option<EventLine<'_>> {
    let mut from = 0;
    // A task's name may hold a bracket, too.
    loop {
        let open = from + memchr(b'[', line.get(from..)?)?;
        from = open + 1;
        let Some((cpu, [b']', rest @ ..])) = number(line.get(from..)?) else {
            continue;
        };
        let Some((stamp, rest)) = stamp_behind_flags(rest) else {
            continue;
        };
        let before = line.get(..open)?;
        let Some((comm, pid)) = task(without_group(before)) else {
            continue;
        };
        return Some(EventLine {
            comm,
            pid,
            cpu: u32::try_from(cpu).ok()?,
            stamp,
            rest,
        });
    }
}

/// Where a second event begins in what the first one says, and that event: a
/// line end was lost between the two. Its task's name is one word.
pub(super) fn glued(rest: &[u8]) -> Option<(usize, EventLine<'_>)> {
    let mut from = 0;
    loop {
        let open = from + memchr(b'[', rest.get(from..)?)?;
        from = open + 1;
        let Some((_, [b']', behind @ ..])) = number(rest.get(from..)?) else {
            continue;
        };
        if stamp_behind_flags(behind).is_none() {
            continue;
        }
        let before = without_group(rest.get(..open)?);
        let blank = |b: &u8| b.is_ascii_whitespace();
        let start = before.iter().rposition(blank).map_or(0, |at| at + 1);
        if let Some(event) = in_brackets(rest.get(start..)?) {
            return Some((start, event));
        }
    }
}

/// `(   1977)` or `(-------)` away from the end.
fn without_group(before: &[u8]) -> &[u8] {
    let before = before.trim_ascii_end();
    let group = |inside: &[u8]| {
        !inside.is_empty()
            && inside
                .iter()
                .all(|b| b.is_ascii_digit() || matches!(b, b' ' | b'-'))
    };
    match before.strip_suffix(b")") {
        Some(head) => match head.iter().rposition(|b| *b == b'(') {
            Some(at) if group(head.get(at + 1..).unwrap_or_default()) => {
                head.get(..at).unwrap_or_default().trim_ascii_end()
            }
            _ => before,
        },
        None => before,
    }
}

/// `comm-pid`
fn task(text: &[u8]) -> Option<(&[u8], u32)> {
    let text = text.trim_ascii();
    let at = text.iter().rposition(|b| *b == b'-')?;
    let (pid, []) = number(text.get(at + 1..)?)? else {
        return None;
    };
    let comm = text.get(..at)?;
    // `instance:      comm`
    let comm = match memmem::find(comm, b": ") {
        Some(colon) if !comm.get(..colon)?.contains(&b' ') => {
            without_indent(comm.get(colon + 2..)?)
        }
        _ => comm,
    };
    Some((comm, u32::try_from(pid).ok()?))
}

/// Flags such as `d..1.`, if there are any, and the stamp with its colon.
fn stamp_behind_flags(rest: &[u8]) -> Option<(Stamp, &[u8])> {
    let rest = without_indent(rest);
    if let Some(found) = stamp(rest) {
        return Some(found);
    }
    let end = memchr(b' ', rest)?;
    (end <= 8).then(|| stamp(without_indent(rest.get(end..)?)))?
}

/// `17284.993652: ` or `104: `.
fn stamp(text: &[u8]) -> Option<(Stamp, &[u8])> {
    let (stamp, rest) = match seconds(text) {
        Some((ns, digits, rest)) => (Stamp::Seconds(ns, digits), rest),
        None => {
            let (ticks, rest) = number(text)?;
            (Stamp::Ticks(ticks), rest)
        }
    };
    let rest = rest.strip_prefix(b":")?;
    Some((stamp, rest.strip_prefix(b" ").unwrap_or(rest)))
}

/// `    init-1         1dN.4. 12533us : `, and `trace-cmd report -l`, which has
/// seconds there.
fn latency(line: &[u8]) -> Option<EventLine<'_>> {
    let trimmed = without_indent(line);
    // The first dash before a number, behind the name's first byte.
    let mut from = 1;
    let (dash, pid, rest) = loop {
        let dash = from + memchr(b'-', trimmed.get(from..)?)?;
        from = dash + 1;
        if let Some((pid, rest)) = number(trimmed.get(from..)?)
            && rest.first().is_some_and(|b| *b == b' ')
        {
            break (dash, pid, rest);
        }
    };
    let (cpu, rest) = number(without_indent(rest))?;
    let end = memchr(b' ', rest)?;
    let flags = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'#');
    if !(3..=6).contains(&end) || !rest.get(..end)?.iter().all(flags) {
        return None;
    }
    let rest = without_indent(rest.get(end..)?);
    let (stamp, rest) = match stamp(rest) {
        Some(found) => found,
        None => {
            let (us, rest) = number(rest)?;
            // A mark for long gaps stands behind the unit.
            let [b'u', b's', _, b':', rest @ ..] = rest else {
                return None;
            };
            let ns = i64::try_from(us).ok()?.checked_mul(1_000)?;
            (Stamp::Relative(ns), without_indent(rest))
        }
    };
    Some(EventLine {
        comm: trimmed.get(..dash)?,
        pid: u32::try_from(pid).ok()?,
        cpu: u32::try_from(cpu).ok()?,
        stamp,
        rest,
    })
}

/// The latency format with the option `verbose`:
/// `comm pid cpu flags preempt index [stamp] 12.718ms (+0.069ms): `.
fn verbose(line: &[u8]) -> Option<EventLine<'_>> {
    let end = memmem::find(line, b"ms): ")?;
    let head = line.get(..end)?;
    let open = head.iter().rposition(|b| *b == b'[')?;
    let mut behind = head.get(open..)?.split(|b| *b == b' ').skip(1);
    let (ms, micros, b"ms") = seconds(behind.next()?)? else {
        return None;
    };
    if micros != 3 || !behind.next()?.starts_with(b"(+") {
        return None;
    }
    let before = head.get(..open)?.trim_ascii();
    let mut words = before.rsplit(|b| b.is_ascii_whitespace());
    // From the end: index, preemption depth, flags, processor, task; every run
    // of blanks but one between two words gives empty words.
    let mut word = || words.by_ref().find(|w| !w.is_empty());
    for _ in 0..3 {
        word()?;
    }
    let (cpu, []) = number(word()?)? else {
        return None;
    };
    let pid_word = word()?;
    let (pid, []) = number(pid_word)? else {
        return None;
    };
    let comm_end = pid_word.as_ptr() as usize - before.as_ptr() as usize;
    Some(EventLine {
        comm: before.get(..comm_end)?.trim_ascii(),
        pid: u32::try_from(pid).ok()?,
        cpu: u32::try_from(cpu).ok()?,
        // Milliseconds were read as seconds.
        stamp: Stamp::Relative(ms / 1_000),
        rest: line.get(end + 5..)?,
    })
}

/// `CPU:1 [LOST 123 EVENTS]`, and what `trace-cmd report` makes of it:
/// `CPU:1 [123 EVENTS DROPPED]`, `CPU:1 [EVENTS DROPPED]`. How many, if it says so.
pub(super) fn lost(line: &[u8]) -> Option<Option<u64>> {
    let line = without_indent(line).strip_prefix(b"CPU:")?;
    let (_, rest) = number(line)?;
    let inside = rest.trim_ascii().strip_prefix(b"[")?.strip_suffix(b"]")?;
    let count = match inside.strip_prefix(b"LOST ") {
        Some(words) => words.strip_suffix(b" EVENTS")?,
        None => inside.strip_suffix(b"EVENTS DROPPED")?.trim_ascii(),
    };
    match number(count) {
        Some((count, [])) => Some(Some(count)),
        None if count.is_empty() => Some(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{EventLine, Stamp, event, lost};

    #[test]
    fn every_form_says_task_processor_and_time() {
        let us = |us: i64| Stamp::Seconds(us * 1_000, 6);
        for (line, comm, pid, cpu, stamp) in [
            (
                "            init-1       [001] dN.3.     4.033245: e: x",
                "init",
                1,
                1,
                us(4_033_245),
            ),
            (
                "            init-1       [001]      4.033274: e: x",
                "init",
                1,
                1,
                us(4_033_274),
            ),
            (
                "  init-1       (-------) [001] dN.3.     4.033245: e: x",
                "init",
                1,
                1,
                us(4_033_245),
            ),
            (
                "   a (b)-7     (    123) [002] ....  0.000001: e: x",
                "a (b)",
                7,
                2,
                us(1),
            ),
            (
                "foo:        trace-cmd-553   [001]    75.133652: e: x",
                "trace-cmd",
                553,
                1,
                us(75_133_652),
            ),
            (
                "     kworker/1:0-22      [001] d..3.  4.0: e: x",
                "kworker/1:0",
                22,
                1,
                Stamp::Seconds(4_000_000_000, 1),
            ),
            (
                " a [x] b-1-9  [000]  1.5: e: x",
                "a [x] b-1",
                9,
                0,
                Stamp::Seconds(1_500_000_000, 1),
            ),
            (
                "  <idle>-0     [000] d..2.          104: e: x",
                "<idle>",
                0,
                0,
                Stamp::Ticks(104),
            ),
            (
                "  true-545   [001]    62.596942314: e: x",
                "true",
                545,
                1,
                Stamp::Seconds(62_596_942_314, 9),
            ),
            (
                "    init-1         1dN.4. 12533us : e: x",
                "init",
                1,
                1,
                Stamp::Relative(12_533_000),
            ),
            (
                "rcu_pree-15        0dNh2. 12718us+: e: x",
                "rcu_pree",
                15,
                0,
                Stamp::Relative(12_718_000),
            ),
            (
                "    true-545     1...1.    62.596942: e: x",
                "true",
                545,
                1,
                us(62_596_942),
            ),
            (
                "     rcu preempt      15   0 45 00000002 0000000a [003d8ba1] 12.718ms (+0.069ms): e: x",
                "rcu preempt",
                15,
                0,
                Stamp::Relative(12_718_000),
            ),
        ] {
            let comm = comm.as_bytes();
            let rest = b"e: x";
            let found = event(line.as_bytes());
            let wanted = EventLine {
                comm,
                pid,
                cpu,
                stamp,
                rest,
            };
            assert_eq!(found, Some(wanted), "{line}");
        }
        for line in [
            "",
            "# x",
            " => f",
            "a-1 [000]",
            "a-1 [000] x y 1.0: e",
            "-",
            "a-1 [0] 1.0",
        ] {
            assert_eq!(event(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn two_lines_without_an_end_between_are_two() {
        let rest = b"sys_exit: NR 12 = 5             cat-697     [000] ...1.   253.5: e: x";
        let (start, second) = super::glued(rest).unwrap();
        assert_eq!(&rest[..start], b"sys_exit: NR 12 = 5             ");
        assert_eq!(
            (second.comm, second.pid, second.rest),
            (&b"cat"[..], 697, &b"e: x"[..])
        );
        for rest in [
            "block_rq_complete: 8,0 R () 8 + 8 [0]",
            "x: [1] 2: y",
            "x: a-1 [x] 1.0: y",
        ] {
            assert_eq!(super::glued(rest.as_bytes()), None, "{rest}");
        }
    }

    #[test]
    fn losses_say_how_many() {
        assert_eq!(lost(b"CPU:1 [LOST 123 EVENTS]"), Some(Some(123)));
        assert_eq!(lost(b"CPU:12 [5 EVENTS DROPPED]"), Some(Some(5)));
        assert_eq!(lost(b"CPU:0 [EVENTS DROPPED]"), Some(None));
        assert_eq!(lost(b"CPU:0 [x]"), None);
    }
}
