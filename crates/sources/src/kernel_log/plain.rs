//! What a line says by itself, whatever the lines before it said. This part of
//! the reading can be done on any thread, ahead of the rest.

use super::LONGEST_LINE;
use super::call::{Call, Returned, call, whole_begin, whole_end};
use super::pairs::Key;
use super::reader::dropped;
use super::shape::{self, Stamp};
use crate::blocks::Block;
use crate::text::{Line, first_control, lines_from};
use std::hash::BuildHasher;

/// A line, as far as it can be read by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parsed<'a> {
    /// The line.
    pub line: Line<'a>,
    /// What it says, if that is plain. Else only the reader can say, with what
    /// it knows of the lines before.
    pub plain: Option<Plain<'a>>,
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
    for line in lines_from(block.bytes, block.offset) {
        if clean && let Some((ns, text)) = shape::usual(line.bytes) {
            // Most lines of most logs with calls. Each is put in its place
            // here, since it is the moving of it that takes time.
            let plain = |call, key| Plain {
                ns,
                caller: None,
                level: None,
                by_program: false,
                said: Said::Call(call, key),
            };
            if let Some((function, task)) = whole_begin(text) {
                let call = Call::Begin {
                    function,
                    task: Some(task),
                };
                let plain = Some(plain(call, Key::of(function, hasher)));
                parsed.push(Parsed { line, plain });
                continue;
            }
            if let Some((function, value, after_ns)) = whole_end(text) {
                let returned = Returned {
                    value: Some(value),
                    after_ns: Some(after_ns),
                    torn: false,
                    whole: true,
                };
                let call = Call::End { function, returned };
                let plain = Some(plain(call, Key::of(function, hasher)));
                parsed.push(Parsed { line, plain });
                continue;
            }
        }
        let plain = plain(line.bytes, clean, hasher);
        parsed.push(Parsed { line, plain });
    }
}

/// What a line says; `clean` if it is known to hold no controls.
#[inline]
fn plain<'a>(bytes: &'a [u8], clean: bool, hasher: &impl BuildHasher) -> Option<Plain<'a>> {
    if bytes.len() > LONGEST_LINE || !clean && first_control(bytes).is_some() {
        return None;
    }
    if let Some((ns, text)) = shape::usual(bytes) {
        return Some(Plain {
            ns,
            caller: None,
            level: None,
            by_program: false,
            said: one(text, hasher)?,
        });
    }
    let shaped = shape::shape(bytes);
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
#[inline]
fn one<'a>(text: &'a [u8], hasher: &impl BuildHasher) -> Option<Said<'a>> {
    let said = Said::of(text, hasher)?;
    let whole = matches!(said, Said::Call(call, _) if call.is_whole_initcall());
    (whole || shape::glued(text).is_none() && dropped(text).is_none()).then_some(said)
}
