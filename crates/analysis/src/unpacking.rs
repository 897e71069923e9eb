//! The unpacking of the initramfs, by the lines of the kernel's log around it.

use crate::place::Place;
use record::{Nanos, Origin, Record, SpanKind};

/// What it is called.
pub(crate) const NAME: &str = "initramfs unpacking";

/// How the lines begin that stand before it and behind it (`init/initramfs.c`); before 5.5
/// another one stood before it.
pub(crate) const BEGINS: [&str; 2] = [
    "Trying to unpack rootfs image as initramfs",
    "Unpacking initramfs...",
];
pub(crate) const ENDS: &str = "Freeing initrd memory";

/// The initcall that does it itself before 5.13, and begins it since.
pub(crate) const CALL: &str = "populate_rootfs";

/// The unpacking of an initramfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unpacking {
    /// When the kernel said that it tries.
    pub start: Nanos,
    /// When it freed the archive.
    pub end: Nanos,
    /// Whether an initcall has all of that time.
    pub within_call: bool,
    /// The line that begins it.
    origin: Origin,
}

impl Unpacking {
    /// Where it stands.
    pub(crate) fn place(&self, record: &Record) -> Place {
        Place::of(record, self.origin)
    }
}

/// When the initramfs was unpacked, if the log has both lines.
pub(crate) fn unpacking(record: &Record) -> Option<Unpacking> {
    let mut lines = record.messages().iter();
    let begins = |text: &str| BEGINS.iter().any(|b| text.starts_with(b));
    let first = lines.find(|m| m.at.is_some() && begins(record.text(m)))?;
    let last = lines.find(|m| record.text(m).starts_with(ENDS))?;
    let (start, end) = (first.at?, last.at?);
    // Coarse stamps hide up to a step of it.
    let step = record.coarse_step(last);
    let end = end - step;
    (start < end || step == Nanos::ZERO).then_some(())?;
    let is_call = |s: &&record::Span| s.kind == SpanKind::Initcall && record.name(s.name) == CALL;
    let mut calls = record.spans().iter().filter(is_call);
    let within = |s: &record::Span| {
        let (from, to) = (s.start?, s.end?);
        // The archive is freed at the end of the call.
        Some(from <= start && Nanos(end.0 - (end - start).0 / 10) <= to)
    };
    Some(Unpacking {
        start,
        end,
        within_call: calls.any(|s| within(s).unwrap_or(false)),
        origin: first.origin,
    })
}

#[cfg(test)]
mod tests {
    use super::unpacking;
    use record::{ClockKind, Nanos, Origin, Recorder, SpanKind};

    const MS: i64 = 1_000_000;

    fn told(call: Option<(i64, i64)>) -> Option<(i64, i64, bool)> {
        let mut recorder = Recorder::new();
        let source = recorder.source("x.log", "kernel-log");
        let clock = recorder.clock("printk", ClockKind::Printk, 1_000);
        let origin = Origin { source, offset: 0 };
        for (at, text) in [
            (100, "Trying to unpack rootfs image as initramfs..."),
            (130, "PCI-DMA: Using software bounce buffering for IO"),
            (400, "Freeing initrd memory: 9000K"),
        ] {
            recorder.message(clock, Some(at * MS), None, text, origin);
        }
        if let Some((from, to)) = call {
            let name = recorder.name("populate_rootfs");
            let span = recorder.span_of(clock, SpanKind::Initcall, name, origin);
            recorder.span(span.start(Some(from * MS)).end(Some(to * MS)));
        }
        let ms = |t: Nanos| t.get() / MS;
        unpacking(&recorder.finish()).map(|u| (ms(u.start), ms(u.end), u.within_call))
    }

    #[test]
    fn it_lasts_from_line_to_line() {
        assert_eq!(told(None), Some((100, 400, false)));
        // Since 5.13 the call only begins it.
        assert_eq!(told(Some((99, 101))), Some((100, 400, false)));
        assert_eq!(told(Some((99, 398))), Some((100, 400, true)));
    }
}
