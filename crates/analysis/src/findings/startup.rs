//! What the kernel waits for or checks while it starts, as its own lines tell.

use super::found::Found;
use super::text::startup as text;
use super::view::{View, times};
use record::Nanos;

/// A check that is shorter is not worth a word.
const SHORT: Nanos = Nanos::from_millis(5);

/// The kernel looks through its own page tables.
pub(super) fn mappings(view: &View<'_>) -> Option<Found> {
    let line = view.said("Checked W+X mappings").next()?;
    let time = view.silence_before(&line).filter(|t| *t >= SHORT)?;
    if view.value("rodata") == Some("off") {
        return None;
    }
    // Before the check the kernel protects its memory, which it does not do either.
    let protection = view.said(PROTECTS).find(|l| l.at < line.at);
    let protected = protection.as_ref().and_then(|l| {
        let checked = line.message.at? - l.message.at?;
        Some(checked - time + view.silence_before(l)?)
    });
    let before = protected.filter(|t| (Nanos::ZERO..=time).contains(t));
    let most = time + before.unwrap_or_default();
    Some(
        Found::new()
            .evidence([view.quote(&line)])
            .saving(Nanos(time.0 / 10 * 8), time, most)
            .within(most)
            .treatment("cmdline+=rodata=off"),
    )
}

/// How x86 says that it protects its memory from here on (`mark_rodata_ro`).
pub(super) const PROTECTS: &str = "Write protecting the kernel";

/// The local APIC's timer is measured: a tenth of a second of ticks
/// (`LAPIC_CAL_LOOPS` of `arch/x86/kernel/apic/apic.c`).
const APIC_CALIBRATION: Nanos = Nanos::from_millis(100);

/// How a kernel for several processors tells of the first one, when its timer was measured.
const FIRST_PROCESSOR: &str = "smpboot: CPU0: ";

/// A kernel for one processor has no such line. It measures just before it prepares the tree of
/// its devices (`up_late_init` of `arch/x86/kernel/apic/apic.c`), if its APIC is in use.
const DEVICES: &str = "devtmpfs: initialized";
const APIC_IN_USE: &str = "APIC: Switch to symmetric I/O mode setup";

/// All lines that the measuring of the local APIC's timer is known by.
pub(super) const APIC_LINES: [&str; 3] = [FIRST_PROCESSOR, DEVICES, APIC_IN_USE];

/// The kernel measures how fast the local APIC's timer is.
pub(super) fn apic_timer(view: &View<'_>) -> Option<Found> {
    let line = view.said(FIRST_PROCESSOR).next();
    let line = line.or_else(|| {
        view.said(APIC_IN_USE).next()?;
        view.said(DEVICES).next()
    })?;
    let time = view.silence_before(&line)?;
    let off = view.has_flag("nolapic_timer") || view.has_flag("nolapic");
    if off || time < APIC_CALIBRATION || time.0 > APIC_CALIBRATION.0 * 2 {
        return None;
    }
    Some(
        Found::new()
            .evidence([view.quote(&line)])
            .saving(APIC_CALIBRATION, time, time)
            .treatment("cmdline+=nolapic_timer"),
    )
}

/// The kernel waits for ticks to see that its timer is wired.
pub(super) fn timer_check(view: &View<'_>) -> Option<Found> {
    let line = view.said("..TIMER: vector=").next()?;
    let time = view.silence_after(&line).filter(|t| *t >= SHORT)?;
    if view.has_flag("no_timer_check") || time.0 > APIC_CALIBRATION.0 {
        return None;
    }
    Some(
        Found::new()
            .evidence([view.quote(&line)])
            .parts(time, 80, 100, 100)
            .treatment("cmdline+=no_timer_check"),
    )
}

/// The kernel sets memory aside for devices that reach only a part of it, and
/// clears it.
pub(super) fn bounce_buffers(view: &View<'_>) -> Option<Found> {
    let line = view.said("software IO TLB: area num").next()?;
    let time = view.silence_after(&line).filter(|t| *t >= SHORT)?;
    if view.value("swiotlb").is_some() {
        return None;
    }
    Some(
        Found::new()
            .evidence([view.quote(&line)])
            .parts(time, 50, 90, 100)
            .treatment("cmdline+=swiotlb=noforce"),
    )
}

/// What a byte of the log's buffer takes at most: a board of 2000 that clears a
/// gigabyte a second, and for each byte of the buffer eight bytes are cleared.
///
/// The buffer has a descriptor of 24 bytes and a record of 88 for each 32 bytes of
/// text; all are cleared when they are set aside, and these two again when they are
/// put in order (`setup_log_buf` and `prb_init`, `kernel/printk/`).
const MOST_PER_BYTE: i64 = 8;

/// The kernel clears a large buffer for its log.
pub(super) fn log_buffer(view: &View<'_>) -> Option<Found> {
    let asked = view.value("log_buf_len")?;
    // A recording needs it: its lines would be lost.
    if view.has_flag("initcall_debug") {
        return None;
    }
    let word = format!("log_buf_len={asked}");
    let line = view
        .said("log_buf_len: ")
        .find(|l| l.text.contains("bytes"))?;
    let bytes = line.number("log_buf_len: ")?;
    let time = view
        .silence_before(&line)
        .map(|t| t.min(times(bytes, MOST_PER_BYTE)))
        .filter(|t| *t >= SHORT)?;
    let why = text::log_buffer_why(bytes);
    Some(
        Found::new()
            .why(why)
            .evidence(view.cmdline_evidence(&word))
            .evidence([view.quote(&line)])
            // Later its pages are marked as taken one by one, which no line tells: 6 % more in
            // the lab.
            .parts(time, 50, 100, 110)
            .treatment(format!("cmdline-={word}")),
    )
}
