//! What the kernel waits for or checks while it starts, as its own lines tell.

use super::found::Found;
use super::view::View;
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
    let why = "When it protects its code and constants the kernel looks through all its page \
               tables for pages that can be both written and run (CONFIG_DEBUG_WX). `rodata=off` \
               leaves out the check, and the protection with it; a kernel without that option \
               leaves out the check alone.";
    Some(
        Found::new("The kernel checks all its page tables", why)
            .evidence([view.quote(&line)])
            .parts(time, 80, 100, 100)
            .treatment("cmdline+=rodata=off"),
    )
}

/// The local APIC's timer is measured: a tenth of a second of ticks
/// (`LAPIC_CAL_LOOPS` of `arch/x86/kernel/apic/apic.c`).
const APIC_CALIBRATION: Nanos = Nanos::from_millis(100);

/// The kernel measures how fast the local APIC's timer is.
pub(super) fn apic_timer(view: &View<'_>) -> Option<Found> {
    let line = view.said("smpboot: CPU0: ").next()?;
    let time = view.silence_before(&line)?;
    let off = view.has_flag("nolapic_timer") || view.has_flag("nolapic");
    if off || time < APIC_CALIBRATION || time.0 > APIC_CALIBRATION.0 * 2 {
        return None;
    }
    let why = "Where neither the processor nor a hypervisor says how fast the local APIC's timer \
               is, the kernel counts it for a tenth of a second. A machine with a deadline timer \
               does not need that; without the timer (`nolapic_timer`) another one ticks.";
    Some(
        Found::new("The kernel measures the local APIC's timer", why)
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
    let why = "The kernel waits until some ticks of the old timer have come through the I/O APIC. \
               `no_timer_check` takes that for granted, as virtual machines of KVM do.";
    Some(
        Found::new("The kernel waits for ticks of its timer", why)
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
    let why = "64 MiB are set aside and cleared for devices that cannot reach all memory. A \
               machine whose memory lies below 4 GiB, or whose devices reach all of it, never \
               uses them. What is left of the time hands memory to the allocator.";
    Some(
        Found::new("The kernel sets bounce buffers aside", why)
            .evidence([view.quote(&line)])
            .parts(time, 50, 90, 100)
            .treatment("cmdline+=swiotlb=noforce"),
    )
}
