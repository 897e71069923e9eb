//! Waits of the kernel for hardware that is slow, absent or broken.

use super::evidence::Evidence;
use super::firmware;
use super::found::{Found, Scope};
use super::silence::OF_SHORT;
use super::subject::subject;
use super::text::hardware as text;
use super::udev_units::is_settle;
use super::units::started;
use super::view::{Line, View, elapsed};
use crate::kernel_work::is_timers;
use record::{Nanos, Phase, Span, SpanKind};

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
        let time = elapsed(&found);
        if time < Nanos::from_millis(5) {
            continue;
        }
        let names = found
            .iter()
            .map(|(name, _, _)| (*name).to_owned())
            .collect();
        // The path of the kernel's own calls does not know who waited for a module. Where
        // nothing else went on meanwhile, everything did, and for its loading.
        let stands_still = found
            .iter()
            .all(|(name, _, call)| name.ends_with(']') && is_alone(view, call));
        let (low, expected, high) = match stands_still {
            true => OF_MODULE,
            false => OF_CALL,
        };
        all.push(
            Found::new()
                .title(text::poll(function, time))
                .why(text::poll_why(what))
                .evidence(view.initcall_evidence(&found))
                .parts(time, low, expected, high)
                .within(Nanos(time.0 / 100 * high))
                .scope(match stands_still {
                    true => Scope::Serial,
                    false => Scope::Items(names),
                })
                .maybe_treatment(word.map(|w| format!("cmdline+={w}"))),
        );
    }
    all
}

/// What is saved of a call, and of a module's for which all that the log shows waited: a
/// module that is not loaded is not read and linked either, which is taken for a tenth at most.
const OF_CALL: (i64, i64, i64) = (90, 98, 100);
pub(super) const OF_MODULE: (i64, i64, i64) = (50, 90, 110);

/// Whoever waited for a call goes on within this time.
const GOES_ON: Nanos = Nanos::from_millis(100);

/// Whether nothing began or ended while a call ran, and the log goes on soon after it.
fn is_alone(view: &View<'_>, call: &Span) -> bool {
    let (Some(from), Some(to)) = (call.start, call.end) else {
        return false;
    };
    let inside = |t: Nanos| from < t && t < to;
    let goes_on = |at: Nanos| to < at && at - to <= GOES_ON;
    let record = view.record;
    let ends = |s: &Span| [s.start, s.end].into_iter().flatten();
    let mut others = record.spans().iter().filter(|s| s.name != call.name);
    let lines = || {
        let messages = record.messages().iter();
        messages.filter_map(|m| Some((m.at?, record.text(m))))
    };
    // What it says itself comes with its end.
    let says = |(at, text): (Nanos, &str)| inside(at) && to - at > GOES_ON && !is_timers(text);
    let next = lines().map(|(at, _)| at);
    let mut next = next.chain(record.spans().iter().filter_map(|s| s.start));
    !others.any(|s| ends(s).any(inside)) && !lines().any(says) && next.any(goes_on)
}

/// How long at a stretch nothing began or ended while a call ran, and no line came, if the log goes
/// on soon after it. Userspace of which the log does not tell when its units begin stands still for
/// nobody.
pub(super) fn stood_still(view: &View<'_>, call: &Span) -> Nanos {
    let (Some(from), Some(to)) = (call.start, call.end) else {
        return Nanos::ZERO;
    };
    let record = view.record;
    let has_units = record.spans().iter().any(|s| s.kind == SpanKind::Unit);
    let ends = |s: &Span| [s.start, s.end].into_iter().flatten();
    let others = record.spans().iter().filter(|s| s.name != call.name);
    let lines = record.messages().iter();
    let lines = lines.filter(|m| !is_timers(record.text(m)));
    let events = others.flat_map(ends).chain(lines.filter_map(|m| m.at));
    let mut events: Vec<Nanos> = events.filter(|t| from < *t).collect();
    events.sort_unstable();
    let goes_on = events.iter().find(|t| **t > to);
    let goes_on = goes_on.is_some_and(|t| *t - to <= GOES_ON);
    if !goes_on || (!has_units && view.said(MANAGER).next().is_some()) {
        return Nanos::ZERO;
    }
    let inside = events.into_iter().filter(|t| *t < to);
    let (last, longest) = inside.fold((from, Nanos::ZERO), |(before, longest), at| {
        (at, longest.max(at - before))
    });
    longest.max(to - last)
}

/// How systemd says that it has begun.
pub(super) const MANAGER: &str = "running in system mode";

/// Lines by which a bus says that something did not answer, what that is, and
/// how long it usually waits before it says so.
const COMPLAINTS: [(&str, &str, Nanos); 14] = [
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
    // It is said after the wait for another attempt.
    (
        "limiting SATA link speed",
        "a disk did not answer",
        Nanos(1_000_000_000),
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
    (firmware::FALLBACKS[0], MISSING_FIRMWARE, firmware::TIMEOUT),
    (firmware::FALLBACKS[1], MISSING_FIRMWARE, firmware::TIMEOUT),
];

const MISSING_FIRMWARE: &str = "firmware for a device is missing";

/// Which part of a whole timeout is no other silence, in percent.
const WHOLE_TIMEOUT: i64 = 90;

/// How long nothing was said before a line, at most `most`.
fn silence_before(view: &View<'_>, line: &Line<'_>, most: Nanos) -> Nanos {
    view.silence_before(line)
        .map_or(Nanos::ZERO, |t| t.min(most))
}

/// How libata says when it tries again (`ata_eh_reset` in drivers/ata/libata-eh.c).
const RETRYING: &str = "retrying in ";

/// The wait that the line before one has announced for the same device.
fn announced(view: &View<'_>, line: &Line<'_>) -> Nanos {
    let device = |text: &str| text.split_once(": ").map(|(device, _)| device.to_owned());
    let source = line.message.origin.source;
    let mut before = (0..line.at).rev().filter_map(|at| view.line(at));
    let before = before.find(|l| l.message.origin.source == source && !l.text.trim().is_empty());
    let before = before.filter(|l| device(l.text) == device(line.text));
    let seconds = before.and_then(|l| l.number(RETRYING)).unwrap_or_default();
    super::view::times(seconds, 1_000_000_000)
}

/// How long nothing was said after a line but what timers write beside, at most `most`.
fn silence_after(view: &View<'_>, line: &Line<'_>, most: Nanos) -> Nanos {
    let mut next = view.after(line).filter(|l| !is_timers(l.text));
    let ends = next.find_map(|l| l.message.at).zip(line.message.at);
    ends.map_or(Nanos::ZERO, |(to, from)| {
        (to - from).max(Nanos::ZERO).min(most)
    })
}

/// How many lines back those may lie that a kernel writes of one file of firmware.
const OF_FILE: usize = 8;

/// What the search for a file of firmware takes beside the wait for a program that brings it:
/// from the line before the first one that names the file, and until the caller goes on after
/// the line that ends the wait.
fn around_firmware(view: &View<'_>, line: &Line<'_>) -> Nanos {
    let Some(file) = line.behind("for: ").map(str::trim) else {
        return Nanos::ZERO;
    };
    let source = line.message.origin.source;
    let lines = (0..line.at)
        .rev()
        .take(OF_FILE)
        .filter_map(|at| view.line(at));
    let lines = lines.filter(|l| l.message.origin.source == source);
    // The same file may have been searched before.
    let is_earlier = |l: &Line<'_>| firmware::FALLBACKS.iter().any(|f| l.text.contains(f));
    let lines = lines.take_while(|l| !is_earlier(l));
    let first = lines.filter(|l| l.text.contains(file)).last();
    let first = first.unwrap_or(*line);
    let last = view.after(line).find(|l| !is_timers(l.text));
    let between = first.message.at.zip(line.message.at);
    let between = between.map_or(Nanos::ZERO, |(from, to)| to - from);
    let outside = last.map_or(Nanos::ZERO, |last| view.beside(&first, &last));
    between + outside
}

/// Devices that did not answer.
pub(super) fn complaints(view: &View<'_>) -> Vec<Found> {
    let mut by_what: Vec<(&str, Nanos, Nanos, Vec<Evidence>, usize)> = Vec::new();
    for (text, what, usual) in COMPLAINTS {
        for line in view.said(text) {
            // A missing firmware is waited for after the line, others before it.
            let (time, around) = match usual >= firmware::TIMEOUT {
                true => (
                    silence_after(view, &line, firmware::LONGEST_WAIT),
                    around_firmware(view, &line),
                ),
                false => {
                    let most = usual + announced(view, &line);
                    (silence_before(view, &line, most), Nanos::ZERO)
                }
            };
            let found = by_what.iter_mut().find(|(w, ..)| *w == what);
            match found {
                Some((_, sum, beside, evidence, count)) => {
                    *sum = *sum + time;
                    *beside = *beside + around;
                    *count += 1;
                    if evidence.len() < super::evidence::SHOWN {
                        evidence.push(view.quote(&line));
                    }
                }
                None => by_what.push((what, time, around, vec![view.quote(&line)], 1)),
            }
        }
    }
    let found = by_what
        .into_iter()
        .filter(|(_, time, ..)| *time > Nanos::ZERO);
    found
        .map(|(what, time, around, evidence, count)| {
            let mut title = what.to_owned();
            if let Some(first) = title.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            let names: Vec<String> = evidence.iter().flat_map(|e| subject(&e.text)).collect();
            // Who waited all of a timeout waited for nothing else.
            let is_whole = time >= Nanos(firmware::TIMEOUT.0 / 100 * WHOLE_TIMEOUT);
            let (low, expected) = if is_whole { (40, 85) } else { (0, 50) };
            let mut found = Found::new();
            if what == MISSING_FIRMWARE {
                found = found
                    .why(text::MISSING_FIRMWARE)
                    .treatment("config=CONFIG_FW_LOADER_USER_HELPER_FALLBACK=n");
            }
            found
                .title(text::complaints(title, count))
                .evidence(evidence)
                .parts(time, low, expected, 100)
                .up_to(time + around)
                .names(names)
        })
        .collect()
}

/// The initcall of the driver of AHCI controllers (drivers/ata/ahci.c: `module_pci_driver`),
/// built in or a module.
const AHCI_INIT: &str = "ahci_pci_driver_init";

/// How the lines of an AHCI controller begin.
pub(super) const AHCI: &str = "ahci ";

/// Whether a line is of a controller with a PCI address, `ahci 0000:00:1f.2: ...`: that of a
/// board has another driver.
fn is_on_pci(line: &str) -> bool {
    let mut after = line.split(AHCI).skip(1);
    after.any(|rest| {
        let address = rest.split_whitespace().next().unwrap_or_default();
        let parts: Vec<usize> = address.split(':').map(str::len).collect();
        parts.starts_with(&[4, 2, 4])
    })
}

/// Whether the real root's programs ran at `at`, and none of them waits for all devices: what
/// a driver that udev loads waits for then, nobody else does.
fn is_beside_programs(view: &View<'_>, at: Nanos) -> bool {
    let rows = view.phases.phases.iter();
    let userspace = rows.filter(|p| p.name >= Phase::Userspace);
    let is_later = userspace.map(|p| p.start).min().is_some_and(|t| t <= at);
    is_later && started(view, is_settle).is_empty()
}

/// Of the wait for ports beside other work so much is saved, in percent.
const OF_PORTS: i64 = 40;

/// How long before `last` nobody but the ports had said anything, since `begin`.
fn alone(view: &View<'_>, begin: Nanos, last: Nanos) -> Nanos {
    let messages = view.record.messages().iter();
    let others = messages.filter(|m| {
        let text = view.record.text(m).trim_start();
        let is_port = text.starts_with("ata") || text.starts_with("ahci ");
        !is_port && m.at.is_some_and(|at| begin < at && at < last)
    });
    last - others.filter_map(|m| m.at).max().unwrap_or(begin)
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
    if time < Nanos::from_millis(50) || is_beside_programs(view, begin) {
        return None;
    }
    // Of the part in which nobody else says anything, as of any short silence of the kernel.
    let expected =
        Nanos(time.0 / 100 * OF_PORTS).max(Nanos(alone(view, begin, last).0 / 100 * OF_SHORT.1));
    // The driver can be left out only if no port of it has anything.
    let is_spare = view.said(AHCI).any(|l| is_on_pci(l.text))
        && view.said("SATA link up").next().is_none()
        && view.said("PATA max").next().is_none();
    let treatment = is_spare.then(|| format!("cmdline+=initcall_blacklist={AHCI_INIT}"));
    Some(
        Found::new()
            .maybe_treatment(treatment)
            .title(text::empty_ports(
                time,
                super::probes::count(down.len(), "SATA port", "SATA ports"),
            ))
            .evidence([view.quote(first)])
            .saving(Nanos::ZERO, expected, time)
            .within(time)
            .names(
                down.iter()
                    .take(super::evidence::SHOWN)
                    .flat_map(|l| subject(l.text)),
            )
            .scope(Scope::Unknown),
    )
}
