//! What runs before the kernel, as its own lines and stages tell.

use super::evidence::Evidence;
use super::found::Found;
use super::packing::work_of_kernel;
use super::probes::count;
use super::subject::subject;
use super::text::loader as text;
use super::view::{Line, USUAL_SPEED, View, times, transfer};
use crate::console::{RATES, line_rate, plain_line_time, serial_console};
use record::{Nanos, Phase};

/// The rate that a loader reads flash or a card at, where nothing tells: bytes
/// a second.
pub(in crate::findings) const USUAL_RATE: u64 = 20_000_000;

/// The rate of a console that nothing tells.
const ASSUMED_BAUD: i64 = 115_200;

/// One step of a loader takes no longer: behind a line that is silent for more, something
/// else happened.
pub(super) const LONGEST_STEP: Nanos = Nanos(20_000_000_000);

/// A silence that is longer is no count.
const LONGEST_COUNT: Nanos = Nanos(60_000_000_000);

/// The loader counts down and waits for a key.
pub(super) fn countdown(view: &View<'_>) -> Option<Found> {
    let line = view
        .said("to stop autoboot")
        .chain(view.said("Hit any key to stop"))
        .chain(view.said("any key to abort autoboot"))
        .chain(view.said("Press SPACE to abort autoboot"))
        .next()?;
    // The count stands behind the words; it is printed over itself.
    let told = line
        .text
        .rsplit_once(':')
        .and_then(|(_, rest)| super::view::number(rest))
        .or_else(|| line.number("autoboot in "))
        .filter(|n| *n <= 60);
    let measured = view.silence_after(&line).filter(|t| *t > Nanos::ZERO);
    let told_time = told.map(|n| times(n, 1_000_000_000));
    // The stamps know all of it, where the next line is the loader's and comes
    // when the count is over. A count of 0 is what is left on the line then.
    let time = match (measured, told_time.filter(|t| *t > Nanos::ZERO)) {
        (Some(m), Some(t)) if m > t + Nanos(2_000_000_000) => t,
        (Some(m), None) if m > LONGEST_COUNT => return None,
        (Some(m), _) => m,
        (None, t) => t?,
    };
    if time < Nanos::from_millis(50) {
        return None;
    }
    Some(
        Found::new()
            .title(text::countdown(time))
            .evidence([view.quote(&line)])
            .parts(time, 80, 98, 100)
            .treatment("env=bootdelay=0"),
    )
}

/// What a loader loads: the sizes that it says were read, and what it needed.
pub(super) fn oversized_load(view: &View<'_>) -> Option<Found> {
    let images: Vec<(Line<'_>, u64)> = view
        .said("Data Size:")
        .filter_map(|l| {
            let size = l.number("Data Size:")?;
            Some((l, size.saturating_add(64)))
        })
        .collect();
    let first = images.first()?.0.at;
    let loads: Vec<(Line<'_>, u64)> = view
        .said("bytes read")
        .filter(|l| l.at < first)
        .filter_map(|l| Some((l, super::view::number(l.text)?)))
        .collect();
    // As many loads as images: each is one's, in their order. Else the last load before
    // the only image was looked at is its own; of several it is not known whose.
    let loads = match images.len() {
        n if n == loads.len() => &loads[..],
        1 => loads.get(loads.len().saturating_sub(1)..)?,
        _ => return None,
    };
    let mut evidence = Vec::new();
    let (mut time, mut all, mut needed) = (Nanos::ZERO, 0_u64, 0_u64);
    for ((line, read), (image, size)) in loads.iter().zip(&images) {
        let Some(surplus) = read.checked_sub(*size).filter(|s| *s > 64 << 10) else {
            continue;
        };
        let begun = (0..line.at).rev().take(4).filter_map(|i| view.line(i));
        let begun = begun
            .filter(|l| l.message.origin.source == line.message.origin.source)
            .find_map(|l| l.message.at);
        let took = match (begun, line.message.at) {
            (Some(from), Some(to)) if to > from => Some(to - from),
            _ => line.number("bytes read in ").map(|ms| times(ms, 1_000_000)),
        };
        let part = |t: Nanos| {
            let ns = i128::from(t.0) * i128::from(surplus) / i128::from((*read).max(1));
            Nanos(i64::try_from(ns).unwrap_or(i64::MAX))
        };
        time = time + took.map_or_else(|| transfer(surplus, USUAL_RATE), part);
        all = all.saturating_add(*read);
        needed = needed.saturating_add(*size);
        evidence.extend([view.quote(line), view.quote(image)]);
    }
    if evidence.is_empty() {
        return None;
    }
    let n = evidence.len() / 2;
    let (title, why) = match n {
        1 => (text::SURPLUS, text::surplus(all, needed)),
        n => (text::SURPLUS_OF, text::surplus_of(n, all, needed)),
    };
    let rest = if n == 1 {
        "the partition"
    } else {
        "each partition"
    };
    Some(
        Found::new()
            .title(title)
            .why(text::surplus_why(why, rest))
            .evidence(evidence)
            .parts(time, 60, 95, 100)
            .maybe_treatment(None),
    )
}

/// The number behind `0x` or alone, hexadecimal.
fn hex(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let text = text.strip_prefix("0x").unwrap_or(text);
    let end = text
        .find(|c: char| !c.is_ascii_hexdigit())
        .unwrap_or(text.len());
    u64::from_str_radix(text.get(..end)?, 16).ok()
}

/// Whether there is no memory at an address, as far as the kernel lists its memory:
/// `node   0: [mem 0x0000000040000000-0x000000005fffffff]`.
fn is_no_memory(view: &View<'_>, address: u64) -> bool {
    let mut pieces = view
        .said(MEMORY)
        .filter(|l| l.text.contains("node "))
        .filter_map(|l| {
            let (from, to) = l.behind(MEMORY)?.split_once('-')?;
            Some((hex(from)?, hex(to)?))
        })
        .peekable();
    pieces.peek().is_some() && !pieces.any(|(from, to)| (from..=to).contains(&address))
}

/// What stands before an address in the kernel's list of its memory.
pub(super) const MEMORY: &str = "[mem ";

/// Whether what is booted is a zImage, by what it says of itself when it unpacks.
fn is_zimage(view: &View<'_>) -> bool {
    view.said("Uncompressing Linux").next().is_some()
        || view.length(Phase::Decompression) > Nanos::ZERO
}

/// The kernel is copied to where it runs after it was loaded.
pub(super) fn moved_kernel(view: &View<'_>) -> Option<Found> {
    let loading = view
        .said("Loading Kernel Image")
        .chain(view.said("Moving Image from"))
        .next()?;
    let booting = view.said("Booting kernel from Legacy Image at").next();
    let address = view.said("Load Address:").next();
    let packed = view
        .said("Image Type:")
        .any(|l| !l.text.contains("(uncompressed)"));
    if packed || view.said("XIP Kernel Image").next().is_some() {
        return None;
    }
    // From flash memory that the processor reads by itself, the copy is the loading.
    let from = booting.as_ref().and_then(|b| b.behind("Legacy Image at"));
    if from.and_then(hex).is_some_and(|at| is_no_memory(view, at)) {
        return None;
    }
    if let (Some(b), Some(a)) = (&booting, &address) {
        let at = b.behind("Legacy Image at").and_then(hex)?;
        if a.behind("Load Address:").and_then(hex)? == at.saturating_add(64) {
            return None;
        }
    }
    let size = view.said("Data Size:").find_map(|l| l.number("Data Size:"));
    let measured = view.silence_after(&loading).filter(|t| *t < LONGEST_STEP);
    // A copy runs at some hundred megabytes a second with caches on.
    let modelled = size.map(|s| transfer(s, 200_000_000));
    let found = Found::new()
        .evidence([view.quote(&loading)])
        .evidence(booting.as_ref().map(|l| view.quote(l)))
        .evidence(address.map(|l| view.quote(&l)));
    let found = match measured {
        Some(time) => found.title(text::moved(time)).parts(time, 80, 98, 100),
        None => found.parts(modelled?, 20, 80, 100),
    };
    // A zImage runs where it was loaded; of other kernels that is not known.
    let at = from.and_then(hex).filter(|_| is_zimage(view));
    Some(found.maybe_treatment(at.map(|at| format!("uimage-load={at:#010x}"))))
}

/// Checksums of what is booted, and what they cost for each byte.
pub(super) fn checksums(view: &View<'_>) -> Option<Found> {
    let mut evidence = Vec::new();
    let mut time = Nanos::ZERO;
    let mut all_measured = true;
    let lines: Vec<Line<'_>> = view
        .said("Verifying Checksum")
        .chain(view.said("Verifying Hash Integrity"))
        .collect();
    // A signed image is checked for a reason: nothing is said of it.
    if lines
        .iter()
        .any(|l| l.text.contains("rsa") || l.text.contains("ecdsa"))
    {
        return None;
    }
    let sizes: Vec<u64> = view
        .said("Data Size:")
        .filter_map(|l| l.number("Data Size:"))
        .collect();
    for (i, line) in lines.iter().enumerate() {
        let per_byte = [("sha512", 109), ("sha256", 37), ("sha1", 22)]
            .iter()
            .find(|(name, _)| line.text.contains(name))
            .map_or(5, |(_, n)| *n);
        let bytes = sizes.get(i).or(sizes.first()).copied().unwrap_or(4 << 20);
        let modelled = transfer(bytes.saturating_mul(per_byte), USUAL_SPEED);
        // The line is written when the check begins, and ended when it is done. However long
        // that is against the model: the model's processor is not this one.
        let measured = view.silence_after(line).filter(|t| *t < LONGEST_STEP);
        all_measured &= measured.is_some();
        time = time + measured.unwrap_or(modelled);
        evidence.push(view.quote(line));
    }
    if evidence.is_empty() {
        return None;
    }
    let n = evidence.len();
    evidence.truncate(super::evidence::SHOWN);
    let images = count(n, "image", "images");
    let found = match all_measured {
        true => Found::new()
            .title(text::checksums_in(images, time))
            .parts(time, 80, 98, 100),
        // All of it goes, but the processor may be twice as slow, or three times as fast.
        false => Found::new()
            .title(text::checksums(images))
            .parts(time, 30, 100, 200),
    };
    Some(found.evidence(evidence).treatment("env=verify=no"))
}

/// A loader that says more than this is chatty.
const CHATTER: i64 = 1_000;

/// The rate at which a loader writes that waits for its console, by its lines in virtual
/// time: bytes and how long it took to the next line. `None` if no usual rate fits, as where
/// an emulator's line takes no time.
fn waited_rate(lines: &[(i64, Nanos)]) -> Option<i64> {
    let time = |written: i64, baud| plain_line_time(written, baud);
    let rates = RATES.iter().copied();
    // The slowest that no line was faster than.
    let baud = rates
        .rev()
        .take_while(|baud| lines.iter().all(|(n, t)| *t >= time(*n, *baud)))
        .last()?;
    // One line at least has nothing but its bytes to be written.
    let fits = |(n, t): &(i64, Nanos)| t.0 - time(*n, baud).0 <= time(*n, baud).0 / 4;
    lines.iter().any(fits).then_some(baud)
}

/// What the loader writes to a serial console.
pub(super) fn chatter(view: &View<'_>) -> Option<Found> {
    let rows = &view.phases.phases;
    let kernel = rows.iter().find(|p| p.name >= Phase::Kernel)?;
    let early = rows.iter().any(|p| p.name < Phase::Kernel);
    // An emulator's line takes no time; what a loader itself waits for does.
    let format = match view.is_virtual() {
        true => "loader-console",
        false => "serial",
    };
    let (mut bytes, mut lines, mut first) = (0_i64, 0_usize, None);
    // What is written before the variable is read.
    let mut unsilenced = 0_i64;
    let mut before: Option<(Nanos, i64)> = None;
    let mut waits: Vec<(i64, Nanos)> = Vec::new();
    for m in view.record.messages() {
        let serial = view
            .record
            .source(m.origin.source)
            .is_some_and(|s| s.format == format);
        let text = view.record.text(m);
        if serial && m.at.is_some_and(|at| at < kernel.start) && !text.trim().is_empty() {
            let written = i64::try_from(text.len()).unwrap_or(0) + 2;
            if let (Some((from, written)), Some(at)) = (before, m.at) {
                waits.push((written, at - from));
            }
            before = m.at.map(|at| (at, written));
            bytes += written;
            if view.record.text(m).contains(ENVIRONMENT) {
                unsilenced = bytes;
            }
            lines += 1;
            first = first.or(Some(m));
        }
    }
    let rate = line_rate(view.record);
    if !early || bytes < CHATTER || rate.is_some_and(|r| !r.kept && !view.is_virtual()) {
        return None;
    }
    let told = serial_console(view.cmdline()).and_then(|c| c.baud);
    let baud = match view.is_virtual() {
        true => waited_rate(&waits)?,
        false => rate.map(|r| r.baud).or(told).unwrap_or(ASSUMED_BAUD),
    };
    let time = plain_line_time(bytes, baud);
    let first = first.map(|m| {
        let text: String = view.record.text(m).chars().take(80).collect();
        view.evidence(text, m.origin)
    });
    let why = text::chatter_why(lines, bytes, time, baud);
    let silenced = plain_line_time(bytes - unsilenced, baud);
    Some(
        Found::new()
            .why(why)
            .evidence(first)
            // A log does not keep all that is written: the numbers of a countdown are written
            // over each other, and lines may be empty.
            .saving(
                Nanos(silenced.0 / 10 * 4),
                silenced,
                time + Nanos(time.0 / 20),
            )
            .treatment("env=silent=1"),
    )
}

/// How U-Boot says that it reads its environment, and with that whether it is to be silent
/// (`env_load`, `env/env.c`).
const ENVIRONMENT: &str = "Loading Environment from";

/// Lines by which a loader says that it looks for devices.
const PROBES: [(&str, &str); 13] = [
    ("starting USB", "The boot loader searches for USB devices"),
    // `Bus ehci_pci: USB EHCI 1.00` comes when a controller is started (U-Boot, drivers/usb/host).
    ("USB EHCI ", "The boot loader searches for USB devices"),
    ("USB OHCI ", "The boot loader searches for USB devices"),
    ("USB XHCI ", "The boot loader searches for USB devices"),
    ("scanning bus", "The boot loader searches for USB devices"),
    (
        "BOOTP broadcast",
        "The boot loader requests a network address",
    ),
    (
        "TFTP from server",
        "The boot loader downloads a file over the network",
    ),
    (
        "Waiting for PHY auto negotiation",
        "The boot loader brings up a network link",
    ),
    (
        "Waiting for Ethernet connection",
        "The boot loader brings up a network link",
    ),
    ("scanning usb", "The boot loader searches for USB devices"),
    (
        "MMC: no card present",
        "The boot loader probes an empty card slot",
    ),
    ("SCSI:  Net:", "The boot loader searches for disks"),
    // Written before the interfaces are brought up, and ended behind that.
    (
        "Net:   ",
        "The boot loader initializes its network interfaces",
    ),
];

/// What a loader says behind `Net:` if it has no interface: what comes next is not its.
const NO_NETWORK: &str = "No ethernet found";

/// Lines of a loader that other rules time the silence after.
const TIMED: [&str; 6] = [
    "to stop autoboot",
    "any key to abort autoboot",
    "Press SPACE to abort autoboot",
    "Verifying Checksum",
    "Verifying Hash Integrity",
    "Loading Kernel Image",
];

/// Whether another rule tells how long the loader said nothing after a line.
pub(super) fn is_told(line: &str) -> bool {
    let probes = PROBES.iter().map(|p| p.0);
    probes.chain(TIMED).any(|text| line.contains(text)) && !line.contains(NO_NETWORK)
}

/// Devices that a loader brings up.
pub(super) fn probes(view: &View<'_>) -> Vec<Found> {
    let rows = &view.phases.phases;
    let kernel = rows.iter().find(|p| p.name >= Phase::Kernel);
    let kernel = kernel.map_or(Nanos(i64::MAX), |p| p.start);
    let mut by_what: Vec<Probed<'_>> = Vec::new();
    for (text, what) in PROBES {
        for line in view.said(text) {
            // A line may have the texts of two: the first counts.
            let quote = view.quote(&line);
            let known = by_what
                .iter()
                .flat_map(|p| &p.evidence)
                .any(|e| *e == quote);
            let none = line.text.contains(NO_NETWORK);
            if known || none || line.message.at.is_some_and(|at| at >= kernel) {
                continue;
            }
            let time = view.silence_after(&line).unwrap_or_default();
            match by_what.iter_mut().find(|p| p.what == what) {
                Some(probed) => {
                    probed.time = probed.time + time;
                    probed.evidence.push(quote);
                    probed.lines.push(line);
                }
                None => by_what.push(Probed {
                    what,
                    time,
                    evidence: vec![quote],
                    lines: vec![line],
                }),
            }
        }
    }
    let found = by_what
        .into_iter()
        .filter(|p| p.time >= Nanos::from_millis(5));
    found
        .map(|mut probed| {
            let (what, time) = (probed.what, probed.time);
            // The loader's command begins before its first line, and ends behind its last one.
            let first = probed.lines.iter().min_by_key(|l| l.at);
            let last = probed.lines.iter().max_by_key(|l| l.at);
            let last = last.and_then(|l| view.after(l).next());
            let beside = first
                .zip(last)
                .map(|(first, last)| view.beside(first, &last));
            let most = time + beside.unwrap_or_default();
            probed.evidence.truncate(super::evidence::SHOWN);
            Found::new()
                .title(text::probe(what, time))
                .why(text::PROBE_WHY)
                .names(probed.evidence.iter().flat_map(|e| subject(&e.text)))
                .evidence(probed.evidence)
                .parts(time, 50, 95, 100)
                .up_to(most)
        })
        .collect()
}

/// Devices of one kind that a loader brings up.
struct Probed<'a> {
    what: &'static str,
    /// The time behind the lines.
    time: Nanos,
    evidence: Vec<Evidence>,
    lines: Vec<Line<'a>>,
}

/// U-Boot's caches are off.
pub(super) fn caches_off(view: &View<'_>) -> Option<Found> {
    let line = view
        .said("Caches not enabled")
        .chain(view.said("dcache is disabled"))
        .next()?;
    let loader = view.length(Phase::Loader) + view.length(Phase::Decompression);
    Some(
        Found::new()
            .evidence([view.quote(&line)])
            .parts(loader, 10, 50, 90),
    )
}

/// Unpacking that takes so many times as long as the processor's rate says runs without
/// caches, whose lack costs ten times; counts of instructions are good to a third.
const SLOW: i64 = 5;

/// Unpacking that is shorter tells nothing.
const UNPACKING: Nanos = Nanos::from_millis(100);

/// The kernel unpacks itself far slower than the processor's measured rate allows.
pub(super) fn unpacks_slowly(view: &View<'_>) -> Option<Found> {
    let speed = view.speed();
    let mut rows = view.phases.phases.iter();
    let row = rows.find(|p| p.name == Phase::Decompression)?;
    let took = row.end - row.start;
    if speed.is_assumed || view.is_virtual() || took < UNPACKING {
        return None;
    }
    let (work, image) = work_of_kernel(view)?;
    let allowed = transfer(work, speed.rate);
    if allowed <= Nanos::ZERO || took.0 / SLOW < allowed.0 {
        return None;
    }
    let times = took.0 / allowed.0;
    let why = text::unpacks_why(speed.rate / 1_000_000, allowed, took);
    Some(
        Found::new()
            .title(text::unpacks(times))
            .why(why)
            .evidence([
                Evidence {
                    text: text::took(took),
                    place: row.origin.clone(),
                },
                Evidence {
                    text: text::work(work),
                    place: image.place.clone(),
                },
            ])
            .parts(took - allowed, 0, 60, 100),
    )
}
