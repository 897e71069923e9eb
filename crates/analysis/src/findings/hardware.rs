//! Waits of the kernel for hardware that is slow, absent or broken.

use super::evidence::Evidence;
use super::found::{Found, Scope};
use super::text::hardware as text;
use super::view::{Line, View, sum};
use record::{Nanos, Origin, Phase, SourceId, mark};
use std::collections::BTreeSet;

/// Initcalls that poll for old hardware: why, and the word that leaves it out.
const POLLS: [(&str, &str, Option<&str>); 6] = [
    (
        "isapnp_init",
        "searches for ISA cards, which no machine has had for twenty years",
        Some("noisapnp"),
    ),
    (
        "floppy_module_init",
        "waits for a floppy drive to answer",
        Some("initcall_blacklist=floppy_module_init"),
    ),
    (
        "i8042_init",
        "sends commands to the keyboard controller and waits for its answers",
        None,
    ),
    (
        "parport_pc_init",
        "searches for printer ports",
        Some("initcall_blacklist=parport_pc_init"),
    ),
    ("tpm_init", "waits for the self-test of a TPM", None),
    ("init_tis", "waits for the self-test of a TPM", None),
];

/// Built-in drivers that wait for old hardware.
pub(super) fn polls(view: &View<'_>) -> Vec<Found> {
    let mut all = Vec::new();
    for (function, what, word) in POLLS {
        let found = view.initcalls(|f| f == function);
        let time = sum(found.iter().map(|(_, time, _)| time));
        if time < Nanos::from_millis(5) {
            continue;
        }
        let names = found
            .iter()
            .map(|(name, _, _)| (*name).to_owned())
            .collect();
        all.push(
            Found::new()
                .title(text::poll(function, time))
                .why(text::poll_why(what))
                .evidence(view.initcall_evidence(&found))
                .parts(time, 90, 98, 100)
                .scope(Scope::Items(names))
                .maybe_treatment(word.map(|w| format!("cmdline+={w}"))),
        );
    }
    all
}

/// Lines by which a bus says that something did not answer, what that is, and
/// how long it usually waits before it says so.
const COMPLAINTS: [(&str, &str, Nanos); 12] = [
    (
        "device descriptor read",
        "a USB device did not answer",
        Nanos(5_000_000_000),
    ),
    (
        "unable to enumerate USB device",
        "a USB device did not answer",
        Nanos(1_000_000_000),
    ),
    (
        "device not accepting address",
        "a USB device did not answer",
        Nanos(1_000_000_000),
    ),
    (
        "link is slow to respond, please be patient",
        "a disk was slow to come up",
        Nanos(5_000_000_000),
    ),
    (
        "qc timeout (cmd",
        "a disk did not answer",
        Nanos(5_000_000_000),
    ),
    (
        "COMRESET failed",
        "a disk did not answer",
        Nanos(5_000_000_000),
    ),
    (
        "whilst initialising SD card",
        "a memory card did not answer",
        Nanos(1_000_000_000),
    ),
    (
        "whilst initialising MMC card",
        "a memory card did not answer",
        Nanos(1_000_000_000),
    ),
    (
        "Timeout waiting for hardware interrupt",
        "a memory card did not answer",
        Nanos(10_000_000_000),
    ),
    (
        "controller timed out",
        "a bus controller did not answer",
        Nanos(1_000_000_000),
    ),
    (
        "timeout waiting for bus ready",
        "an I2C bus was stuck",
        Nanos(1_000_000_000),
    ),
    (
        "Falling back to sysfs fallback",
        "firmware for a device is missing",
        Nanos(60_000_000_000),
    ),
];

/// How long nothing was said before a line, at most `most`.
fn silence_before(view: &View<'_>, line: &Line<'_>, most: Nanos) -> Nanos {
    view.silence_before(line)
        .map_or(Nanos::ZERO, |t| t.min(most))
}

/// Devices that did not answer.
pub(super) fn complaints(view: &View<'_>) -> Vec<Found> {
    let mut by_what: Vec<(&str, Nanos, Vec<Evidence>, usize)> = Vec::new();
    for (text, what, usual) in COMPLAINTS {
        for line in view.said(text) {
            // A missing firmware is waited for after the line, others before it.
            let time = match usual.0 >= 60_000_000_000 {
                true => view
                    .silence_after(&line)
                    .map_or(Nanos::ZERO, |t| t.min(usual)),
                false => silence_before(view, &line, usual),
            };
            let found = by_what.iter_mut().find(|(w, ..)| *w == what);
            match found {
                Some((_, sum, evidence, count)) => {
                    *sum = *sum + time;
                    *count += 1;
                    if evidence.len() < super::evidence::SHOWN {
                        evidence.push(view.quote(&line));
                    }
                }
                None => by_what.push((what, time, vec![view.quote(&line)], 1)),
            }
        }
    }
    let found = by_what
        .into_iter()
        .filter(|(_, time, ..)| *time > Nanos::ZERO);
    found
        .map(|(what, time, evidence, count)| {
            let mut title = what.to_owned();
            if let Some(first) = title.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            Found::new()
                .title(text::complaints(title, count))
                .evidence(evidence)
                .parts(time, 0, 50, 100)
        })
        .collect()
}

/// Disks that are not there are waited for.
pub(super) fn empty_ports(view: &View<'_>) -> Option<Found> {
    let down: Vec<Line<'_>> = view.said("SATA link down").collect();
    let first = down.first()?;
    let last = down.iter().filter_map(|l| l.message.at).max()?;
    // The ports are started together, and waited for one after the other.
    let begin = view
        .said("SATA max UDMA")
        .filter_map(|l| l.message.at)
        .max()
        .filter(|at| *at < last)?;
    let time = last - begin;
    if time < Nanos::from_millis(50) {
        return None;
    }
    Some(
        Found::new()
            .title(text::empty_ports(
                time,
                super::probes::count(down.len(), "SATA port", "SATA ports"),
            ))
            .evidence([view.quote(first)])
            .parts(time, 0, 40, 100)
            .scope(Scope::Unknown),
    )
}

/// A silence from here on is worth a look.
const SILENCE: Nanos = Nanos::from_millis(300);

/// The level of messages that only inform (`KERN_INFO`), and of those below.
const INFORMATION: u8 = 6;

/// How the first line of a kernel's log begins.
pub(super) const BANNER: &str = "Linux version ";

/// Nothing was said for long, and no initcall is known that took it.
pub(super) fn silences(view: &View<'_>) -> Option<Found> {
    if super::cmdline::has(view, record::SpanKind::Initcall) {
        return None;
    }
    let kernel = view
        .phases
        .phases
        .iter()
        .find(|p| p.name == Phase::Kernel)?;
    // On a serial line, where everybody writes, the kernel's lines are stamped.
    let stamped: BTreeSet<Origin> = view
        .record
        .arrivals()
        .iter()
        .filter(|a| a.stamped.is_some())
        .map(|a| a.origin)
        .collect();
    // What a console shows with `quiet` is silent where the kernel was not. A log of
    // all lines has the first one, or lines that only inform.
    let informs = |m: &&record::Message| m.level.is_some_and(|l| l >= INFORMATION);
    let messages = view.record.messages().iter();
    let whole: BTreeSet<SourceId> = messages
        .filter(informs)
        .map(|m| m.origin.source)
        .chain(view.said(BANNER).map(|l| l.message.origin.source))
        .collect();
    let is_kernels = |line: &Line<'_>| {
        let source = view.record.source(line.message.origin.source);
        let kernels = source.is_some_and(|s| s.format == "kernel-log")
            || stamped.contains(&line.message.origin);
        kernels && whole.contains(&line.message.origin.source)
    };
    let mut best: Option<(Nanos, Line<'_>)> = None;
    for at in 0..view.record.messages().len() {
        let Some(line) = view.line(at) else { break };
        let inside = |t: Nanos| kernel.start <= t && t <= kernel.end;
        // Stamps before the clock runs say nothing of time.
        let Some(from) = line.message.at.filter(|t| inside(*t) && t.0 != 0) else {
            continue;
        };
        if !is_kernels(&line) {
            continue;
        }
        // Other rules tell of these.
        let told = line.text.contains("Waiting for root device")
            || line.text.contains("Trying to unpack rootfs")
            || line.text.contains("Unpacking initramfs")
            || line.text.contains("Calibrating delay loop")
            || line.text.contains("before mounting root device")
            || line.text.contains("raid6: ")
            || line.text.contains(": attaching mtd")
            || line.text.contains("DHCP requests");
        let next = view
            .after(&line)
            .find(|l| is_kernels(l) && l.message.at.is_some());
        let next = next.and_then(|l| l.message.at);
        let Some(gap) = next.filter(|n| inside(*n)).map(|n| n - from) else {
            continue;
        };
        if !told && gap >= SILENCE && best.as_ref().is_none_or(|(g, _)| gap > *g) {
            best = Some((gap, line));
        }
    }
    let (gap, line) = best?;
    // The flush of the console is another rule's.
    let enabled = view.record.mark(mark::CONSOLE_ENABLED).map(|m| m.at);
    let next = view.after(&line).find_map(|l| l.message.at);
    if enabled.is_some() && enabled == next {
        return None;
    }
    let after = view.after(&line).find(|l| is_kernels(l));
    let after = after.map(|l| view.quote(&l));
    Some(
        Found::new()
            .title(text::silence(gap))
            .evidence([view.quote(&line)])
            .evidence(after)
            .parts(gap, 0, 40, 100),
    )
}
