//! A line of an event, as `process_default()` in `blkparse_fmt.c` prints it:
//!
//! ```text
//!   8,52   0        1     0.000000000   276  D  DS 983947432 + 64 [kworker/0:1H]
//! ```
//!
//! Device, processor, number, seconds, process id, action, what is asked; and
//! then, by action: sector, length in sectors, with `-t` how long it took so
//! far in nanoseconds, and the process' name or the error.

use crate::block::{Action, Asks};
use crate::text::{number, seconds, without_indent};
use record::{Device, Operation};

const SECTOR_BYTES: u64 = 512;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventLine<'a> {
    pub device: Device,
    pub cpu: u32,
    /// Counts up on each processor; 0 of a message.
    pub sequence: u64,
    pub at: i64,
    pub pid: u32,
    pub what: What<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What<'a> {
    Event(Details<'a>),
    Message(&'a [u8]),
}

/// What an event's line says behind its process id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Details<'a> {
    pub action: Action,
    pub asks: Asks,
    pub sector: u64,
    pub bytes: u64,
    pub error: i32,
    /// The name of the process, where the line has one.
    pub task: Option<&'a [u8]>,
}

/// Reads a line; `None` if it is none of an event.
#[inline]
pub(super) fn parse(line: &[u8]) -> Option<EventLine<'_>> {
    let (major, rest) = number(without_indent(line))?;
    let (minor, rest) = number(rest.strip_prefix(b",")?)?;
    let (cpu, rest) = next_number(rest)?;
    let (sequence, rest) = next_number(rest)?;
    let (at, digits, rest) = seconds(without_indent(rest))?;
    if digits != 9 {
        return None;
    }
    let (pid, rest) = next_number(rest)?;
    let (mut action, mut rest) = word(rest)?;
    // Messages have their control group before them.
    if action.contains(&b',') {
        (action, rest) = word(rest)?;
    }
    let (letters, rest) = word(rest)?;
    let what = if action == b"m" {
        What::Message(without_indent(rest))
    } else {
        What::Event(details(action, letters, without_indent(rest))?)
    };
    Some(EventLine {
        device: Device {
            major: u32::try_from(major).ok()?,
            minor: u32::try_from(minor).ok()?,
        },
        cpu: u32::try_from(cpu).ok()?,
        sequence,
        at,
        pid: u32::try_from(pid).ok()?,
        what,
    })
}

/// A number behind blanks, of which there is at least one.
fn next_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let rest = without_indent(bytes);
    number(rest).filter(|_| rest.len() < bytes.len())
}

/// A word behind blanks.
fn word(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let bytes = without_indent(bytes);
    let end = bytes.iter().position(|b| matches!(b, b' ' | b'\t'));
    let (word, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
    (!word.is_empty()).then_some((word, rest))
}

#[inline]
fn details<'a>(action: &[u8], letters: &[u8], rest: &'a [u8]) -> Option<Details<'a>> {
    let mut asks = Asks::from_letters(letters)?;
    // blkparse prints `N` for a read of no bytes, which it counts as a read.
    if asks.operation == Operation::Other && letters.contains(&b'N') && !letters.contains(&b'Z') {
        asks.operation = Operation::Read;
    }
    let mut details = Details {
        action: Action::Unknown,
        asks,
        sector: 0,
        bytes: 0,
        error: 0,
        task: None,
    };
    details.action = match action {
        b"Q" => Action::Queue,
        b"M" => Action::BackMerge,
        b"F" => Action::FrontMerge,
        b"I" => Action::Insert,
        b"D" => Action::Issue,
        b"R" => Action::Requeue,
        b"C" => Action::Complete,
        b"G" | b"S" => Action::GetRequest,
        b"B" => Action::Bounce,
        b"P" | b"U" | b"UT" | b"T" => {
            details.action = Action::Plug;
            return Some(details);
        }
        b"X" => {
            let (sector, rest) = number(rest)?;
            let (at, rest) = next_number(without_indent(rest).strip_prefix(b"/")?)?;
            details.sector = sector;
            details.action = Action::Split { at };
            details.task = name(rest);
            return Some(details);
        }
        b"A" => {
            let (sector, rest) = number(rest)?;
            let (sectors, rest) = next_number(without_indent(rest).strip_prefix(b"+")?)?;
            let from = without_indent(rest).strip_prefix(b"<- (")?;
            let (major, from) = number(from)?;
            let (minor, _) = number(from.strip_prefix(b",")?)?;
            details.sector = sector;
            details.bytes = sectors.checked_mul(SECTOR_BYTES)?;
            details.action = Action::Remap {
                from: Device {
                    major: u32::try_from(major).ok()?,
                    minor: u32::try_from(minor).ok()?,
                },
            };
            return Some(details);
        }
        _ => return None,
    };
    place(details, rest)
}

/// `SECTOR + SECTORS [...]`, or without the length, or neither; of a command
/// that is passed through its bytes, and what it is in hexadecimal.
fn place<'a>(mut details: Details<'a>, rest: &'a [u8]) -> Option<Details<'a>> {
    let ends = matches!(details.action, Action::Complete | Action::Requeue);
    let end = match number(rest) {
        Some((first, rest)) => {
            let rest = without_indent(rest);
            if let Some(rest) = rest.strip_prefix(b"+") {
                let (sectors, rest) = next_number(rest)?;
                details.sector = first;
                details.bytes = sectors.checked_mul(SECTOR_BYTES)?;
                rest
            } else if ends {
                details.sector = first;
                rest
            } else {
                details.asks = Asks::plain(Operation::Other);
                details.bytes = first;
                rest
            }
        }
        None => {
            if ends {
                details.asks = Asks::plain(Operation::Other);
            }
            rest
        }
    };
    let last = name(end)?;
    if ends {
        // blkparse prints a negative number of 16 bits as a positive one.
        let (error, _) = number(last.strip_prefix(b"-").unwrap_or(last))?;
        let error = u16::try_from(error).ok()?.cast_signed();
        details.error = -i32::from(error).abs();
    } else {
        details.task = Some(last);
    }
    Some(details)
}

/// What stands in the brackets at the end.
fn name(rest: &[u8]) -> Option<&[u8]> {
    let from = memchr::memchr(b'[', rest)?;
    rest.get(from + 1..)?.strip_suffix(b"]")
}

#[cfg(test)]
mod tests {
    use super::{Details, What, parse};
    use crate::block::Action;
    use record::{Device, Operation};

    fn details(line: &str) -> Details<'_> {
        match parse(line.as_bytes()).unwrap().what {
            What::Event(details) => details,
            What::Message(_) => panic!("{line}"),
        }
    }

    #[test]
    fn a_line_says_all_of_an_event() {
        let line = parse(
            b"  8,52   3       96     0.000000400   276  D WFS 983947432 + 64 [kworker/0:1H]",
        )
        .unwrap();
        let device = Device {
            major: 8,
            minor: 52,
        };
        assert_eq!((line.device, line.cpu, line.sequence), (device, 3, 96));
        assert_eq!((line.at, line.pid), (400, 276));
        let What::Event(d) = line.what else { panic!() };
        assert_eq!(d.action, Action::Issue);
        assert_eq!(d.asks.operation(d.bytes), Operation::Write);
        assert!(d.asks.sync);
        assert_eq!((d.sector, d.bytes), (983_947_432, 64 * 512));
        assert_eq!(d.task, Some(&b"kworker/0:1H"[..]));
    }

    #[test]
    fn every_action_has_its_own_end() {
        use Operation::{Discard, Flush, Other, Read, Write};
        let from = Device {
            major: 253,
            minor: 0,
        };
        for (end, action, operation, sector, bytes, error) in [
            (
                "  A   R 2048 + 8 <- (253,0) 0",
                Action::Remap { from },
                Read,
                2048,
                4096,
                0,
            ),
            ("  Q RAM 2056 + 8 [a b]", Action::Queue, Read, 2056, 4096, 0),
            ("  Q FWS [a b]", Action::Queue, Flush, 0, 0, 0),
            (
                "  M  RA 2056 + 8 [a b]",
                Action::BackMerge,
                Read,
                2056,
                4096,
                0,
            ),
            (
                "  F   R 2040 + 8 [a b]",
                Action::FrontMerge,
                Read,
                2040,
                4096,
                0,
            ),
            (
                "  I   R 2040 + 24 ( 6000000) [a b]",
                Action::Insert,
                Read,
                2040,
                12288,
                0,
            ),
            ("  D  FN [(null)]", Action::Issue, Flush, 0, 0, 0),
            (
                "  D   R 36 (12 00 00 00 24 00 ..) [a b]",
                Action::Issue,
                Other,
                0,
                36,
                0,
            ),
            (
                "  C   R (12 00 00 00 24 00 ..) [0]",
                Action::Complete,
                Other,
                0,
                0,
                0,
            ),
            ("  C  FN 0 [0]", Action::Complete, Flush, 0, 0, 0),
            ("  C  NS 0 [0]", Action::Complete, Read, 0, 0, 0),
            (
                "  C WFS 9000 + 1 [65531]",
                Action::Complete,
                Write,
                9000,
                512,
                -5,
            ),
            (
                "  C WFS 9000 + 1 [-5]",
                Action::Complete,
                Write,
                9000,
                512,
                -5,
            ),
            (
                "  C   R 2040 + 24 ( 1000000) [0]",
                Action::Complete,
                Read,
                2040,
                12288,
                0,
            ),
            (
                "  R   R 2040 + 24 [0]",
                Action::Requeue,
                Read,
                2040,
                12288,
                0,
            ),
            (
                "  D   D 19000 + 1 [a b]",
                Action::Issue,
                Discard,
                19000,
                512,
                0,
            ),
            (
                "  X   W 4096 / 4104 [a b]",
                Action::Split { at: 4104 },
                Write,
                4096,
                0,
                0,
            ),
            (
                "  B   W 4096 + 8 [a b]",
                Action::Bounce,
                Write,
                4096,
                4096,
                0,
            ),
            (
                "  G   W 4096 + 8 [a b]",
                Action::GetRequest,
                Write,
                4096,
                4096,
                0,
            ),
            (" UT   N [a b] 1", Action::Plug, Read, 0, 0, 0),
            ("  P   N [a b]", Action::Plug, Read, 0, 0, 0),
        ] {
            let line = format!("  8,1    0        1     0.001000000   100{end}");
            let d = details(&line);
            let found = (
                d.action,
                d.asks.operation(d.bytes),
                d.sector,
                d.bytes,
                d.error,
            );
            assert_eq!(found, (action, operation, sector, bytes, error), "{end}");
        }
    }

    #[test]
    fn messages_are_known_with_and_without_a_control_group() {
        for line in [
            &b"  8,1    0        0     0.000000000     0  m   N hello world"[..],
            b"  8,1    0        0     0.000000000   100 3,1  m   N hello world",
        ] {
            assert_eq!(parse(line).unwrap().what, What::Message(b"hello world"));
        }
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "",
            "CPU0 (k):",
            " Reads Queued:           3,       12KiB\t Writes Queued:           1,        0KiB",
            "[    0.000000] Linux version 6.1.0",
            "  8,1    0        1     0.001   100  Q   R 8 + 8 [a]",
            "  8,1    0        1     0.001000000   100  Q   R 8 + 8",
            "  8,1    0        1     0.001000000   100  Q   R 8 + 8 [a",
            "  8,1    0        1     0.001000000   100  ?   R 8 + 8 [a]",
            "  8,1    0        1     0.001000000   100  Q   ? 8 + 8 [a]",
            "  8,1    0        1     0.001000000   100  C   R 8 + 8 [x]",
            "  8,1    0        1     0.001000000   100  Q",
            "  8,1    0        1     0.001000000   100  X   W 8 [a]",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}
