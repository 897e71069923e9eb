//! What a line says by itself, whatever the lines before it said. This part of
//! the reading can be done on any thread, ahead of the rest.

use super::call::{Call, Function, call, whole_begin, whole_end};
use super::notes::LONGEST_LINE;
use super::pairs::Key;
use super::shape::{self, Stamp};
use crate::blocks::Block;
use crate::text::{Line, first_control, lines_from, number};
use std::hash::BuildHasher;

/// A line, as far as it can be read by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parsed<'a> {
    /// The line.
    pub line: Line<'a>,
    /// What it says.
    pub kind: Kind<'a>,
}

/// What a line says.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind<'a> {
    /// An initcall begins, in this task. Whole lines of initcalls are most of a
    /// large log; a line of any other kind takes about twice as long.
    Begin(Initcall<'a>, u64),
    /// An initcall returned this, after so many nanoseconds.
    End(Initcall<'a>, i32, i64),
    /// Something else, in a plain line.
    Plain(Plain<'a>),
    /// Only the reader can say, with what it knows of the lines before.
    Odd,
}

/// An initcall in a line that has no more than a stamp before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Initcall<'a> {
    /// The stamp, in nanoseconds.
    pub ns: i64,
    /// The function.
    pub function: Function<'a>,
    /// Its key.
    pub key: Key,
}

/// One whole kernel line with the kernel's own stamp, which nearly all are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain<'a> {
    /// The stamp, in nanoseconds.
    pub ns: i64,
    /// The task that printed it.
    pub caller: Option<u64>,
    /// The syslog level.
    pub level: Option<u8>,
    /// Whether a program wrote it, not the kernel.
    pub by_program: bool,
    /// Its words.
    pub said: Said<'a>,
}

impl<'a> Plain<'a> {
    /// Its words, unless they are a call's.
    pub(super) const fn text(&self) -> &'a [u8] {
        match self.said {
            Said::Text(text) => text,
            Said::Call(..) => &[],
        }
    }
}

/// The words of a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Said<'a> {
    /// They are of an initcall or a probe.
    Call(Call<'a>, Key),
    /// All else.
    Text(&'a [u8]),
}

impl<'a> Said<'a> {
    /// What `text` says; `None` if it is a call's, and torn.
    #[inline]
    pub(super) fn of(text: &'a [u8], hasher: &impl BuildHasher) -> Option<Self> {
        let Some(call) = call(text) else {
            return Some(Self::Text(text));
        };
        let key = match call {
            Call::Begin { function, .. } | Call::End { function, .. } => Key::of(function, hasher),
            Call::Probe { device, .. } => Key::of_device(device, hasher),
            Call::Torn => return None,
        };
        Some(Self::Call(call, key))
    }
}

/// Adds the lines of a part of the log to `parsed`.
pub(super) fn parse<'a>(block: Block<'a>, hasher: &impl BuildHasher, parsed: &mut Vec<Parsed<'a>>) {
    // One look at all of them is cheaper than one at each.
    let clean = first_control(block.bytes).is_none();
    let mut lines = lines_from(block.bytes, block.offset);
    loop {
        // Whole lines of initcalls say themselves where they end. Each is made
        // where it is put: moving it costs as much as finding out what it is.
        if clean && let Some((ns, text)) = shape::usual(lines.rest()) {
            if let Some((function, task, after)) = whole_begin(text)
                && let Some(line) = lines.next_before(after, LONGEST_LINE)
            {
                let key = Key::of(function, hasher);
                let initcall = Initcall { ns, function, key };
                let kind = Kind::Begin(initcall, task);
                parsed.push(Parsed { line, kind });
                continue;
            }
            if let Some((function, value, after_ns, after)) = whole_end(text)
                && let Some(line) = lines.next_before(after, LONGEST_LINE)
            {
                let key = Key::of(function, hasher);
                let initcall = Initcall { ns, function, key };
                let kind = Kind::End(initcall, value, after_ns);
                parsed.push(Parsed { line, kind });
                continue;
            }
        }
        let Some(line) = lines.next() else { break };
        let kind = plain(line.bytes, clean, hasher).map_or(Kind::Odd, Kind::Plain);
        parsed.push(Parsed { line, kind });
    }
}

/// What a plain line says.
fn plain<'a>(line: &'a [u8], clean: bool, hasher: &impl BuildHasher) -> Option<Plain<'a>> {
    if line.len() > LONGEST_LINE || !clean && first_control(line).is_some() {
        return None;
    }
    let shaped = shape::shape(line);
    match shaped.stamp {
        // Records of /dev/kmsg are numbered and escaped.
        Stamp::Printk(ns) if shaped.sequence.is_none() => Some(Plain {
            ns,
            caller: shaped.caller,
            level: shaped.level,
            by_program: shaped.by_program,
            said: one(shaped.text, hasher)?,
        }),
        _ => None,
    }
}

/// What `text` says, if it is one message, and not of lost ones.
fn one<'a>(text: &'a [u8], hasher: &impl BuildHasher) -> Option<Said<'a>> {
    let said = Said::of(text, hasher)?;
    let whole = matches!(said, Said::Call(call, _) if call.is_whole_initcall());
    (whole || shape::glued(text).is_none() && dropped(text).is_none()).then_some(said)
}

/// How many messages a line says were lost: the kernel's console says `** 7
/// printk messages dropped **`, the journal `Missed 7 kernel messages`.
pub(super) fn dropped(text: &[u8]) -> Option<u64> {
    let (start, end) = match text.first()? {
        b'*' => (text.strip_prefix(b"** ")?, &b" printk messages dropped"[..]),
        b's' => {
            let rest = text.strip_prefix(b"systemd-journald[")?;
            let (_, rest) = number(rest)?;
            (rest.strip_prefix(b"]: Missed ")?, &b" kernel messages"[..])
        }
        _ => return None,
    };
    let (count, rest) = number(start)?;
    rest.starts_with(end).then_some(count)
}
