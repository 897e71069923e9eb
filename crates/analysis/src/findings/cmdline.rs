//! Words of the kernel command line that cost time, or that are missing.

use super::found::Found;
use super::subject::subject;
use super::text::cmdline as text;
use super::view::{Line, View, number, times};
use crate::console::{line_rate, plain_line_time, serial_console};
use crate::kernel_work::is_timers;
use record::{Nanos, Phase, SpanKind, mark};

/// Words that make a boot talk or check, and what each does. A word that ends
/// in `=` stands for all its values.
const DEBUGGING: [(&str, &str); 22] = [
    ("debug", "prints all kernel messages on the console"),
    ("drm.debug=", "logs every step of the display drivers"),
    ("dyndbg=", "turns on debug messages"),
    ("earlyprintk=", "prints messages twice"),
    ("ftrace=", "traces from the start of the boot"),
    (
        "ignore_loglevel",
        "prints all kernel messages on the console",
    ),
    ("keep_bootcon", "prints messages twice"),
    ("kmemleak=on", "tracks every allocation"),
    ("page_owner=on", "records a stack trace for every page"),
    ("page_poison=1", "fills every freed page"),
    ("page_poison=on", "fills every freed page"),
    ("rd.debug", "logs every step of the initramfs"),
    ("rd.udev.debug", "logs every step of device handling"),
    (
        "rd.udev.log_level=debug",
        "logs every step of device handling",
    ),
    (
        "rd.udev.log_priority=debug",
        "logs every step of device handling",
    ),
    ("slub_debug", "checks every slab allocation"),
    ("slub_debug=", "checks every slab allocation"),
    ("systemd.log_level=debug", "logs every step of systemd"),
    (
        "systemd.log_target=console",
        "prints the log on the console",
    ),
    ("trace_event=", "traces from the start of the boot"),
    ("udev.log_level=debug", "logs every step of device handling"),
    (
        "udev.log_priority=debug",
        "logs every step of device handling",
    ),
];

fn debugging(word: &str) -> Option<&'static str> {
    let found = DEBUGGING
        .iter()
        .find(|(known, _)| match known.strip_suffix('=') {
            Some(_) => word.starts_with(known),
            None => word == *known,
        });
    found.map(|(_, what)| *what)
}

/// What a debugging word takes of the time behind the loader, in percent: the
/// least, the expected and the most.
fn parts(word: &str) -> [i64; 3] {
    let checks = word.strip_prefix("slub_debug");
    match checks.map(|o| o.trim_start_matches('=')) {
        // Each allocation and each release of every cache fills and checks its
        // memory: in the exact lab half of a boot to the first program.
        Some(options) if !options.contains([',', '-']) => [10, 50, 60],
        _ => [0, 2, 30],
    }
}

/// The part of the boot in which a debugging word does anything: an early console until the
/// real one takes over, what has `rd.` before it in the initramfs, what is systemd's or
/// udev's in userspace.
fn works_in(view: &View<'_>, word: &str) -> Nanos {
    let after = |p: Phase| view.length(p);
    if word.starts_with("earlyprintk") || word == "keep_bootcon" {
        let row = view.phases.phases.iter().find(|p| p.name == Phase::Kernel);
        let (start, end) = row.map_or((Nanos::ZERO, Nanos::ZERO), |p| (p.start, p.end));
        let enabled = view.record.mark(mark::CONSOLE_ENABLED).map(|m| m.at);
        let taken_over = enabled.filter(|at| word != "keep_bootcon" && *at > start);
        return taken_over.map_or(end, |at| at.min(end)) - start;
    }
    let of_programs = after(Phase::Initrd) + after(Phase::Userspace);
    if word.starts_with("rd.") && after(Phase::Initrd) > Nanos::ZERO {
        after(Phase::Initrd)
    } else if word.starts_with("systemd.") || word.starts_with("udev.") || word.starts_with("rd.") {
        of_programs
    } else {
        after(Phase::Kernel) + of_programs
    }
}

/// Words that debugging left behind.
pub(super) fn debug_words(view: &View<'_>) -> Vec<Found> {
    // What `initcall_debug` and a trace that is read here need is no accident.
    let traced = view
        .record
        .sources()
        .iter()
        .any(|s| s.format.contains("trace"));
    // Nor is what the lab's recording put there, whether the kernel could trace or not.
    let recorded = view.record.fact("recording.words").unwrap_or_default();
    let words = view
        .words()
        .filter(|w| !recorded.split_whitespace().any(|r| r == *w))
        .filter(|w| !(traced && (w.starts_with("ftrace=") || w.starts_with("trace_event="))));
    let found = words.filter_map(|word| {
        let what = debugging(word)?;
        let [low, expected, high] = parts(word);
        let span = works_in(view, word);
        Some(
            Found::new()
                .title(text::debugging(word))
                .why(text::debugging_why(what))
                .evidence(view.cmdline_evidence(word))
                .parts(span, low, expected, high)
                .within(span)
                .treatment(format!("cmdline-={word}")),
        )
    });
    found.collect()
}

/// The kernel sleeps before it looks for the root.
pub(super) fn root_delay(view: &View<'_>) -> Option<Found> {
    let seconds = view.value("rootdelay").and_then(number)?;
    if seconds == 0 {
        return None;
    }
    let time = times(seconds, 1_000_000_000);
    let word = format!("rootdelay={}", view.value("rootdelay").unwrap_or_default());
    let line = view.said("before mounting root device").next();
    // A device that came while the kernel slept would have been waited for anyway.
    let until = line.and_then(|l| Some(l.message.at? + time));
    let came = line.and_then(|l| {
        let lines = view.after(&l).filter_map(|l| l.message.at);
        let inside = lines.take_while(|at| until.is_some_and(|u| *at < u));
        inside.last()
    });
    let rest = came.zip(until).map_or(time, |(at, until)| until - at);
    let why = text::root_delay_why(seconds);
    Some(
        Found::new()
            .title(text::root_delay(&word, seconds))
            .why(why)
            .evidence(view.cmdline_evidence(&word))
            .evidence(line.map(|l| view.quote(&l)))
            .saving(rest.min(Nanos(time.0 / 10 * 7)), rest, time)
            .treatment(format!("cmdline-={word}")),
    )
}

/// When the kernel began to wait for the root's device, when it mounted the root, and the line
/// that says that it waits.
pub(super) fn waited_for_root<'v>(view: &'v View<'_>) -> Option<(Nanos, Nanos, Line<'v>)> {
    let line = view.said("Waiting for root device").next()?;
    let from = line.message.at?;
    let mounted = view.record.mark(mark::ROOT_MOUNTED).map(|m| m.at);
    let to = mounted.filter(|at| *at - from >= Nanos::from_millis(10))?;
    Some((from, to, line))
}

/// What the driver of USB sticks writes when it has found one, and what is written of a disk that has
/// answered. In between it gives the stick a second (`delay_use` in
/// drivers/usb/storage/usb.c), and older kernels give it five.
pub(super) const STICK: &str = "USB Mass Storage device detected";
pub(super) const ANSWERS: &str = ": Direct-Access ";
const DELAY_USE: &str = "usb-storage.delay_use";

/// A stick that answers sooner was asked at once.
const LEAST_DELAY: Nanos = Nanos::from_millis(500);

/// The root comes later than the kernel that needs it.
pub(super) fn root_wait(view: &View<'_>) -> Option<Found> {
    let (from, to, line) = waited_for_root(view)?;
    let time = to - from;
    // What ended the longest silence is what the kernel waited for, or told of it.
    let inside = |l: &Line<'_>| l.message.at.is_some_and(|at| from <= at && at <= to);
    let waited = view.after(&line).take_while(inside);
    let ended = waited
        .filter(|l| !is_timers(l.text))
        .max_by_key(|l| view.silence_before(l));
    let found = Found::new()
        .title(text::root_wait(time))
        .evidence([view.quote(&line)]);
    let stick = view.said(STICK).find(inside);
    let answers = stick.and_then(|s| {
        let line = view.said(ANSWERS).find(|l| l.at > s.at && inside(l))?;
        Some((s, line, line.message.at? - s.message.at?))
    });
    if let Some((stick, answers, delay)) = answers.filter(|(.., delay)| *delay >= LEAST_DELAY) {
        return Some(
            found
                .why(text::root_on_stick(delay))
                .evidence([view.quote(&stick), view.quote(&answers)])
                .names(["usb-storage", "delay_use"])
                .saving(Nanos(delay.0 / 10 * 7), delay, time)
                .cost(text::STICK_COST)
                .maybe_treatment(
                    view.value(DELAY_USE)
                        .is_none()
                        .then(|| format!("cmdline+={DELAY_USE}=0")),
                ),
        );
    }
    Some(
        found
            .evidence(ended.map(|l| view.quote(&l)))
            .names(ended.map(|l| subject(l.text)).unwrap_or_default())
            .parts(time, 0, 50, 100),
    )
}

/// What file systems say when a root is not theirs.
const NOT_MINE: [&str; 5] = [
    "Can't find ext4 filesystem",
    "Can't find a SQUASHFS superblock",
    "VFS: Can't find",
    "FAT-fs (",
    "cramfs: wrong magic",
];

/// File systems were tried one after another.
pub(super) fn root_type(view: &View<'_>) -> Option<Found> {
    if view.value("rootfstype").is_some() || !view.knows_cmdline() {
        return None;
    }
    let mounted = view.said("VFS: Mounted root (").next()?;
    let kind = mounted.behind("VFS: Mounted root (")?;
    let kind = kind.split_whitespace().next()?;
    let until = mounted.message.at?;
    let tries = NOT_MINE.iter().flat_map(|text| view.said(text));
    let tries: Vec<_> = tries
        .filter(|l| l.message.at.is_some_and(|at| at <= until))
        .filter(|l| {
            !l.text.starts_with("FAT-fs") || l.text.contains("bogus") || l.text.contains("invalid")
        })
        .collect();
    let first = tries.iter().filter_map(|l| l.message.at).min()?;
    let time = (until - first).max(Nanos::from_millis(1));
    let evidence: Vec<_> = tries.iter().take(2).map(|l| view.quote(l)).collect();
    Some(
        Found::new()
            .why(text::root_type_why(kind))
            .evidence(evidence)
            .evidence([view.quote(&mounted)])
            .parts(time, 20, 70, 100)
            .treatment(format!("cmdline+=rootfstype={kind}")),
    )
}

/// A slow serial console.
pub(super) fn slow_console(view: &View<'_>) -> Option<Found> {
    const USUAL: i64 = 115_200;
    let console = serial_console(view.cmdline())?;
    let baud = console.baud.filter(|b| *b < USUAL)?;
    if view.is_virtual() || line_rate(view.record).is_some_and(|r| !r.kept) {
        return None;
    }
    let written = crate::console::console(view.record, view.phases, 1)?;
    let bytes = written
        .kernel
        .bytes
        .saturating_add(written.others.map_or(0, |o| o.bytes));
    let time = plain_line_time(bytes, baud) - plain_line_time(bytes, USUAL);
    let evidence = view.cmdline_evidence(console.word);
    Some(
        Found::new()
            .title(text::slow_console(baud))
            .why(text::slow_console_why(
                bytes,
                plain_line_time(bytes, baud),
                plain_line_time(bytes, USUAL),
            ))
            .evidence(evidence)
            .parts(time, 50, 90, 100),
    )
}

/// The line that tells that no link is there yet. The first one comes after 20 s of waiting, and
/// the next ones every 20 s (`ic_open_devs` in `net/ipv4/ipconfig.c`).
const NO_LINK: &str = "seconds for network";

/// How the kernel tells that it has an address, and that nobody gave it one (`ip_auto_config`).
const CONFIGURED: [&str; 2] = [
    "IP-Config: Complete",
    "IP-Config: Auto-configuration of network failed",
];

/// The kernel configures the network by itself.
pub(super) fn network_root(view: &View<'_>) -> Option<Found> {
    let word = view
        .words()
        .find(|w| w.starts_with("ip=") && !matches!(*w, "ip=off" | "ip=none" | "ip="))?;
    let nfs = view.words().any(|w| {
        w.starts_with("root=/dev/nfs") || w.starts_with("nfsroot=") || w.starts_with("root=nfs")
    });
    let begin = view
        .said("Sending DHCP requests")
        .chain(view.said("Sending BOOTP requests"))
        .chain(view.said(NO_LINK))
        .min_by_key(|l| l.at);
    let end = CONFIGURED.iter().find_map(|text| view.said(text).next());
    let calls = view.initcalls(|f| f == "ip_auto_config");
    let of_lines = begin.zip(end).and_then(|(begin, end)| {
        let waited = match begin.text.contains(NO_LINK) {
            true => view.silence_before(&begin)?,
            false => Nanos::ZERO,
        };
        let time = end.message.at? - begin.message.at? + waited;
        // Opening the devices, which takes 10 ms, has no line.
        Some((time, time + view.beside(&begin, &end)))
    });
    let (time, most) = calls.first().map(|c| (c.1, c.1)).or(of_lines)?;
    if nfs || time < Nanos::from_millis(10) {
        return None;
    }
    let part = |percent: i64| Nanos(time.0 / 100 * percent);
    Some(
        Found::new()
            .title(text::network(time))
            .evidence(view.cmdline_evidence(word))
            .evidence(begin.map(|l| view.quote(&l)))
            .evidence(view.initcall_evidence(&calls))
            .saving(part(90), part(98), most)
            .treatment(format!("cmdline-={word}")),
    )
}

/// The watchdog of clocks finds one that is not steady, and slower ones are
/// read from then on.
pub(super) fn unstable_clock(view: &View<'_>) -> Option<Found> {
    let line = view
        .said("Marking TSC unstable")
        .chain(view.said("Marking clocksource"))
        .chain(view.said("TSC calibration failed"))
        .chain(view.said("Fast TSC calibration failed"))
        .next()?;
    let after = view.length(Phase::Userspace) + view.length(Phase::Initrd);
    // A log that goes on for hours is no boot of hours.
    let mut rows = view.phases.phases.iter();
    let kernel = rows.find(|p| p.name == Phase::Kernel).map(|p| p.end);
    let reads = kernel.map_or(after, |k| {
        let booted = view.phases.booted(view.record);
        after.min((booted - k).max(Nanos::ZERO))
    });
    Some(
        Found::new()
            .evidence([view.quote(&line)])
            .parts(reads, 0, 1, 5)
            .treatment("cmdline+=tsc=reliable"),
    )
}

/// Whether anything of this boot is a span of that kind.
pub(super) fn has(view: &View<'_>, kind: SpanKind) -> bool {
    view.record.spans().iter().any(|s| s.kind == kind)
}
