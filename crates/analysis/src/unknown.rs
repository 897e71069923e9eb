//! Where nothing is known: the stretches of a boot in which no line was written, and nothing
//! that has a name was running.

use crate::initcall_order::{Position, position, stretch as calls_between};
use crate::kernel_work::{is_beside, works};
use crate::path::device_waits;
use crate::phases::{INITCALL_STAGE, PhaseRow, Phases, UNIT_STAGE};
use crate::spans;
use crate::summary::merged;
use crate::unpacking::{self, unpacking};
use record::{ClockKind, NameId, Nanos, Phase, Record, SpanKind, TaskState};

/// A stretch is told from this part of the boot on.
const PARTS: i64 = 100;

/// And from this time on, however short the boot is.
const LEAST: Nanos = Nanos::from_millis(1);

/// How a mark ends behind which the lab computes what a loader takes to load.
const MODELED: &str = "(modeled)";

/// A stretch of which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// When the last thing before it ended.
    pub start: Nanos,
    /// When the next thing began.
    pub end: Nanos,
    /// The phase that it lies in.
    pub phase: Phase,
    /// What stands before it: a line, or the name of a mark or of a thing that ran.
    pub before: String,
    /// What stands behind it.
    pub after: String,
    /// Which initcalls lie in it by the order that all kernels have, if the lines around it
    /// tell: `device initcalls from mm/ to crypto/`.
    pub within: Option<String>,
    /// What to switch on to know it, in a sentence.
    pub ask: &'static str,
}

/// Something that is known of an instant, or of a stretch.
struct Known<'r> {
    start: Nanos,
    end: Nanos,
    name: &'r str,
    /// The task that made this call, if it is the initcall of a module.
    loads: Option<NameId>,
}

/// The stretches above one percent of the boot of which nothing is known, the longest first.
/// Empty without a clock.
///
/// A line and a mark are instants; an initcall, a probe, a unit, a stage of a loader, a
/// wait for a device, a program that ended and a task that ran are stretches. Between two
/// instants that are near each other the boot is known well enough. Some stretches have a name
/// though nothing in them was seen: the works of the kernel that its lines tell of (such as a
/// check of page tables), and the load of a module.
///
/// A kernel's log that goes on behind the boot does not say when the boot was over: there only
/// what was before the first program counts (see [`Phases::booted`]).
#[must_use]
pub fn unknown(record: &Record, phases: &Phases) -> Vec<Unknown> {
    let (Some(first), Some(_)) = (phases.phases.first(), phases.clock) else {
        return Vec::new();
    };
    let (begin, end) = (first.start, phases.booted(record));
    let least = least(begin, end);
    let works = works(record, phases);
    let mut known = known(record, phases);
    known.extend(works.iter().map(|w| at(w.start, w.end, &w.name)));
    known.retain(|k| k.end >= begin && k.start <= end);
    known.sort_by_key(|k| (k.start, k.end));
    let mut found = Vec::new();
    let mut last: Option<&Known<'_>> = None;
    for k in &known {
        if let Some(before) = last
            && !loads_next(before, k)
            && k.start.min(end) - before.end >= least
        {
            let before = (before.end, before.name);
            found.extend(stretch(record, phases, before, (k.start, k.name)));
        }
        if last.is_none_or(|before| k.end >= before.end) {
            last = Some(k);
        }
    }
    if let Some(before) = last.filter(|before| end - before.end >= least) {
        let name = phases.first_light.as_ref().map_or("", |f| f.mark.as_str());
        found.extend(stretch(
            record,
            phases,
            (before.end, before.name),
            (end, name),
        ));
    }
    found.sort_by_key(|u| (std::cmp::Reverse(u.end - u.start), u.start));
    found
}

/// From which length on a stretch of a boot is told.
pub(crate) fn least(begin: Nanos, end: Nanos) -> Nanos {
    Nanos((end - begin).0 / PARTS).max(LEAST)
}

/// Whether one task initialized the module of `before`, and then that of `next`: what lies
/// between is the load of the next module, which is read, verified and relocated before its
/// initcall. In a boot whose `finit_module` calls were traced, 343.1 of 348.3 ms before the
/// initcall of ext4 were that call, and the rest the load of a module without an initcall.
fn loads_next(before: &Known<'_>, next: &Known<'_>) -> bool {
    next.loads.is_some() && before.loads == next.loads
}

fn stretch(
    record: &Record,
    phases: &Phases,
    (start, before): (Nanos, &str),
    (end, after): (Nanos, &str),
) -> Option<Unknown> {
    let mut rows = phases.phases.iter().rev();
    let phase = rows.find(|p| p.start <= start)?.name;
    Some(Unknown {
        start,
        end,
        phase,
        before: before.to_owned(),
        after: after.to_owned(),
        within: within(record, phase, start),
        ask: ask(record, phase, end),
    })
}

/// Which initcalls the kernel was at, if none was recorded: between the last line before the
/// stretch whose initcall is known, and the first one behind it.
fn within(record: &Record, phase: Phase, start: Nanos) -> Option<String> {
    let calls = spans::distinct(record);
    if phase != Phase::Kernel || calls.iter().any(|s| s.kind == SpanKind::Initcall) {
        return None;
    }
    let lines = record.messages().iter();
    let known = lines.filter_map(|m| Some((m.at?, position(record.text(m))?)));
    let (before, after): (Vec<_>, Vec<_>) = known.partition(|(at, _)| *at <= start);
    let positions = |part: Vec<(Nanos, Position)>| part.into_iter().map(|(_, p)| p);
    // Lines that come out of order show a kernel with another one: then nothing is told.
    calls_between(positions(before).max()?, positions(after).min()?)
}

/// Something that is known from `start` to `end`.
fn at(start: Nanos, end: Nanos, name: &str) -> Known<'_> {
    Known {
        start,
        end,
        name,
        loads: None,
    }
}

/// All that is known with a time, but for the works of the kernel.
fn known<'r>(record: &'r Record, phases: &'r Phases) -> Vec<Known<'r>> {
    let lines_and_spans = record.messages().len() + record.spans().len();
    let mut all: Vec<Known<'r>> = Vec::with_capacity(lines_and_spans);
    for message in record.messages() {
        let text = record.text(message);
        // A line of a timer says nothing of what goes on beside it. Another was written at
        // any time within the step of its stamp.
        let step = record.coarse_step(message);
        let start = message.at.filter(|_| !is_beside(text));
        all.extend(start.map(|t| at(t, t + step, text)));
    }
    for mark in record.marks() {
        all.push(at(mark.at, mark.at, record.name(mark.name)));
    }
    for span in spans::distinct(record).iter() {
        let name = record.name(span.name);
        let is_module = span.kind == SpanKind::Initcall && name.ends_with(']');
        let loads = span.track.filter(|_| is_module);
        match (span.start, span.end) {
            (Some(start), Some(end)) if start <= end => all.push(Known {
                loads,
                ..at(start, end, name)
            }),
            (None, Some(end)) => all.push(at(end, end, name)),
            _ => {}
        }
    }
    // A device that comes late is a name, whatever made it come late.
    let devices = device_waits(record, phases.end());
    all.extend(devices.into_iter().map(|(s, e, name)| at(s, e, name)));
    // What a model says of a loader that was not watched is its name.
    let modeled = phases.phases.iter();
    let modeled = modeled.filter(|p| p.name == Phase::Loader && p.start_mark.ends_with(MODELED));
    all.extend(modeled.map(|p| at(p.start, p.end, &p.start_mark)));
    let unpacking = unpacking(record);
    all.extend(unpacking.map(|u| at(u.start, u.end, unpacking::NAME)));
    // The stages of initcalls and of units say less than these do.
    let stages = phases.phases.iter().flat_map(|p| &p.stages);
    for stage in stages.filter(|s| s.name != INITCALL_STAGE && s.name != UNIT_STAGE) {
        all.push(at(stage.start, stage.end, &stage.name));
    }
    // What goes on in these phases is their name. Of an emulator's firmware no more can be
    // known: it writes no log and has no timestamps of its own.
    let is_virtual = phases.clock == Some(ClockKind::Virtual);
    let named = |p: &&PhaseRow| match p.name {
        Phase::Decompression => true,
        Phase::Firmware => is_virtual,
        _ => false,
    };
    let named = phases.phases.iter().filter(named);
    all.extend(named.map(|p| at(p.start, p.end, p.name.as_str())));
    // What lives on is idle most of the time.
    let programs = record.processes().iter();
    for process in programs.filter(|p| p.pid > 1 && !p.kernel_thread) {
        if let Some(start) = process.start {
            let end = process.end.unwrap_or(start).max(start);
            all.push(at(start, end, record.name(process.name)));
        }
    }
    let slices = record.slices().iter();
    let slices = slices.filter(|s| s.pid != 0 && s.state == TaskState::Running);
    let running = merged(slices.map(|s| (s.start, s.end)));
    all.extend(running.into_iter().map(|(s, e)| at(s, e, "tasks")));
    all
}

/// What tells more of a phase than this record has.
fn ask(record: &Record, phase: Phase, until: Nanos) -> &'static str {
    let has = |kind: SpanKind| spans::distinct(record).iter().any(|s| s.kind == kind);
    match phase {
        Phase::BeforeKernelClock => BEFORE_CLOCK,
        Phase::Firmware if record.sources().iter().any(|s| s.format == "cbmem") => MORE_FIRMWARE,
        Phase::Firmware if is_of_start_elf(record) => EEPROM,
        Phase::Firmware => FIRMWARE,
        Phase::Loader if is_of_start_elf(record) => START_ELF,
        Phase::Loader | Phase::Decompression => LOADER,
        Phase::Kernel => {
            let calls = spans::distinct(record);
            let mut calls = calls.iter().filter(|s| s.kind == SpanKind::Initcall);
            match calls.next() {
                None => INITCALLS,
                Some(first) if first.start.is_some_and(|s| until <= s) => BEFORE_INITCALLS,
                Some(_) => FUNCTIONS,
            }
        }
        Phase::Initrd => INITRD,
        Phase::Userspace | Phase::App if has(SpanKind::Unit) => PROCESSES,
        Phase::Userspace | Phase::App => UNITS,
    }
}

/// Whether the loader is the firmware of a Raspberry Pi, whose log has a name of its own.
fn is_of_start_elf(record: &Record) -> bool {
    record.mark("start.elf").is_some()
}

const BEFORE_CLOCK: &str = "Before the kernel clock: add a serial log that the host stamped, \
    `bootstage report` of U-Boot, or `cbmem -t` on coreboot.";
const FIRMWARE: &str = "Firmware: add `cbmem -t` on coreboot, or a serial log that the host \
    stamped.";
const MORE_FIRMWARE: &str = "Firmware: add the whole list of `cbmem -t`, or coreboot's log on a \
    serial console that the host stamped.";
const EEPROM: &str = "Firmware: set `BOOT_UART=1` in the configuration of the EEPROM \
    (`rpi-eeprom-config`), which then writes on the serial line, too, and have the host stamp it.";
const START_ELF: &str = "Boot loader: `start.elf` has no option that tells more. Boot once \
    with a smaller kernel and without an initramfs: the difference is what reading them takes.";
const LOADER: &str = "Boot loader: add `bootstage report` of U-Boot, or a serial log that the \
    host stamped.";
const INITCALLS: &str = "Kernel: boot with `initcall_debug ignore_loglevel log_buf_len=4M`.";
const BEFORE_INITCALLS: &str = "Kernel before its first initcall: boot with `ignore_loglevel`, \
    and take a capture that reads a hardware counter.";
const FUNCTIONS: &str = "Kernel: boot with `ftrace=function_graph ftrace_graph_max_depth=2`.";
const INITRD: &str = "Initrd: add `journalctl -b -o short-monotonic`, with `rd.debug` (dracut) \
    or `debug` (initramfs-tools) on the kernel command line.";
const UNITS: &str = "Userspace: add `systemctl show '*'`, or a process trace such as bootchart \
    where there is no systemd.";
const PROCESSES: &str = "Userspace: boot with `systemd.log_level=debug`, or add a process trace \
    (bootchart, or ftrace with sched events).";

#[cfg(test)]
mod tests {
    use super::unknown;
    use crate::phases::phases;
    use record::{ClockKind, DependencyKind, Nanos, Origin, Phase, Recorder, SpanKind, mark};

    /// Plants delays between things that are known.
    #[test]
    fn what_stands_between_known_things_is_unknown() {
        let mut recorder = Recorder::new();
        let source = recorder.source("x.log", "kernel-log");
        let origin = Origin { source, offset: 0 };
        let clock = recorder.clock("printk", ClockKind::Printk, 1_000);
        let ms = 1_000_000;
        recorder.mark(
            clock,
            mark::KERNEL_CLOCK_START,
            0,
            Some(Phase::Kernel),
            origin,
        );
        recorder.message(clock, Some(300 * ms), None, "early", origin);
        for (from, to) in [(305, 400), (405, 900)] {
            let name = recorder.name("call");
            let span = recorder.span_of(clock, SpanKind::Initcall, name, origin);
            recorder.span(span.start(Some(from * ms)).end(Some(to * ms)));
        }
        let start = mark::USERSPACE_START;
        recorder.mark(clock, start, 1_000 * ms, Some(Phase::Userspace), origin);
        recorder.mark(clock, mark::STARTUP_FINISHED, 2_000 * ms, None, origin);
        let record = recorder.finish();
        let all = unknown(&record, &phases(&record));
        let told: Vec<(i64, i64, &str, &str)> = all
            .iter()
            .map(|u| {
                let ms = |t: Nanos| t.get() / 1_000_000;
                (ms(u.start), ms(u.end), u.before.as_str(), u.after.as_str())
            })
            .collect();
        assert_eq!(
            told,
            [
                (1_000, 2_000, "userspace-start", "startup-finished"),
                (0, 300, "kernel-clock-start", "early"),
                (900, 1_000, "call", "userspace-start"),
            ]
        );
        let asks: Vec<&str> = all.iter().map(|u| u.ask).collect();
        assert_eq!(
            asks,
            [super::UNITS, super::BEFORE_INITCALLS, super::FUNCTIONS]
        );
    }

    /// The firmware of a Raspberry Pi is asked for what it has, not for U-Boot's.
    #[test]
    fn a_raspberry_pi_is_asked_for_its_own_logs() {
        let asks = |loader: &str| {
            let mut recorder = Recorder::new();
            let source = recorder.source("uart.txt", "serial");
            let origin = Origin { source, offset: 0 };
            let clock = recorder.clock("host", ClockKind::Monotonic, 1_000);
            let ms = 1_000_000;
            for (name, at, phase) in [
                (mark::POWER_ON, 0, Phase::Firmware),
                (loader, 3_000 * ms, Phase::Loader),
            ] {
                recorder.mark(clock, name, at, Some(phase), origin);
            }
            recorder.message(clock, Some(5_000 * ms), None, "read", origin);
            let record = recorder.finish();
            let all = unknown(&record, &phases(&record));
            all.iter().map(|u| u.ask).collect::<Vec<_>>()
        };
        assert_eq!(asks("start.elf"), [super::EEPROM, super::START_ELF]);
        assert_eq!(asks("u-boot"), [super::FIRMWARE, super::LOADER]);
    }

    /// A log of initcalls of modules, by `(name, task, from, to)` in milliseconds, and lines.
    fn told(calls: &[(&str, &str, i64, i64)], lines: &[(i64, &str)]) -> Vec<(i64, i64)> {
        let mut recorder = Recorder::new();
        let source = recorder.source("x.log", "kernel-log");
        let origin = Origin { source, offset: 0 };
        let clock = recorder.clock("printk", ClockKind::Printk, 1_000);
        let ms = 1_000_000;
        let start = mark::KERNEL_CLOCK_START;
        recorder.mark(clock, start, 0, Some(Phase::Kernel), origin);
        for (name, task, from, to) in calls {
            let (name, task) = (recorder.name(name), recorder.name(task));
            let span = recorder.span_of(clock, SpanKind::Initcall, name, origin);
            recorder.span(
                span.start(Some(from * ms))
                    .end(Some(to * ms))
                    .track(Some(task)),
            );
        }
        for (at, text) in lines {
            recorder.message(clock, Some(at * ms), None, text, origin);
        }
        let record = recorder.finish();
        let all = unknown(&record, &phases(&record));
        let mut told: Vec<(i64, i64)> = all
            .iter()
            .map(|u| (u.start.get() / ms, u.end.get() / ms))
            .collect();
        told.sort_unstable();
        told
    }

    /// A kernel's log: lines by time in milliseconds, and when its first program started.
    fn log(lines: &[(i64, &str)], userspace: i64) -> record::Record {
        let mut recorder = Recorder::new();
        let source = recorder.source("x.log", "kernel-log");
        let origin = Origin { source, offset: 0 };
        let clock = recorder.clock("printk", ClockKind::Printk, 1_000);
        let (ms, start) = (1_000_000, mark::KERNEL_CLOCK_START);
        recorder.mark(clock, start, 0, Some(Phase::Kernel), origin);
        for (at, text) in lines {
            recorder.message(clock, Some(at * ms), None, text, origin);
        }
        let (start, phase) = (mark::USERSPACE_START, Some(Phase::Userspace));
        recorder.mark(clock, start, userspace * ms, phase, origin);
        recorder.finish()
    }

    #[test]
    fn a_log_that_goes_on_for_hours_has_stretches_before_its_first_program() {
        let lines = [
            (10, "SCSI subsystem initialized"),
            (990, "a driver: x"),
            (7_200_000, "usb 1-1: USB disconnect, device number 2"),
        ];
        let record = log(&lines, 1_000);
        let phases = phases(&record);
        assert_eq!(phases.booted(&record), Nanos::from_millis(1_000));
        let all = unknown(&record, &phases);
        let told: Vec<_> = all.iter().map(|u| u.end - u.start).collect();
        assert_eq!(told, [980, 10, 10].map(Nanos::from_millis));
    }

    #[test]
    fn the_order_of_initcalls_narrows_a_stretch() {
        let lines = [
            (10, "Trying to unpack rootfs image as initramfs..."),
            (500, "Initialise system trusted keyrings"),
            (501, "workingset: timestamp_bits=46 max_order=17"),
            (800, "a driver: x"),
            (990, "Key type asymmetric registered"),
        ];
        let record = log(&lines, 1_000);
        let all = unknown(&record, &phases(&record));
        let told: Vec<_> = all.iter().map(|u| u.within.as_deref()).collect();
        let expected = [
            Some("initcalls from rootfs (init/) to device (certs/)"),
            Some("device initcalls from mm/ to crypto/"),
            Some("device initcalls from mm/ to crypto/"),
            None,
            None,
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn between_modules_of_one_task_the_next_is_loaded() {
        let [jbd2, ext4] = ["journal_init [jbd2]", "ext4_init_fs [ext4]"];
        let one = [(jbd2, "task 1", 0, 100), (ext4, "task 1", 448, 450)];
        assert_eq!(told(&one, &[]), []);
        let two = [(jbd2, "task 1", 0, 100), (ext4, "task 7", 448, 450)];
        assert_eq!(told(&two, &[]), [(100, 448)]);
        let built_in = [("inet_init", "task 1", 0, 100), (ext4, "task 1", 448, 450)];
        assert_eq!(told(&built_in, &[]), [(100, 448)]);
        // A line between them says that something else happened.
        assert_eq!(
            told(&one, &[(300, "usb 1-1: new device")]),
            [(100, 300), (300, 448)]
        );
    }

    #[test]
    fn an_announcement_names_what_goes_on_behind_it() {
        let loading = "Loading compiled-in X.509 certificates";
        assert_eq!(told(&[], &[(0, loading), (135, "x"), (136, "y")]), []);
        assert_eq!(told(&[], &[(0, loading), (1, "x"), (136, "y")]), [(1, 136)]);
    }

    #[test]
    fn firmware_of_an_emulator_and_a_modeled_load_have_names() {
        let told = |kind: ClockKind| {
            let mut recorder = Recorder::new();
            let source = recorder.source("manifest.json", "capture");
            let origin = Origin { source, offset: 0 };
            let clock = recorder.clock("counter", kind, 1);
            let ms = 1_000_000;
            for (name, at, phase) in [
                ("power-on", 0, Phase::Firmware),
                ("loading (modeled)", 20, Phase::Loader),
                ("kernel-entry", 520, Phase::Kernel),
            ] {
                recorder.mark(clock, name, at * ms, Some(phase), origin);
            }
            for at in 520..1_000 {
                recorder.message(clock, Some(at * ms), None, "a line", origin);
            }
            let record = recorder.finish();
            let all = unknown(&record, &phases(&record));
            let told = all.iter().map(|u| (u.start.get() / ms, u.end.get() / ms));
            told.collect::<Vec<_>>()
        };
        assert_eq!(told(ClockKind::Virtual), []);
        assert_eq!(told(ClockKind::Counter), [(0, 20)]);
    }

    /// A unit that waits for another one of 100 ms, and for a device that is there at 600 ms.
    #[test]
    fn a_wait_for_a_device_has_its_name() {
        let told = |after: &[&str]| {
            let mut recorder = Recorder::new();
            let source = recorder.source("show.txt", "systemd-show");
            let origin = Origin { source, offset: 0 };
            let clock = recorder.clock("monotonic", ClockKind::Monotonic, 1_000);
            let ms = 1_000_000;
            let start = mark::USERSPACE_START;
            recorder.mark(clock, start, 0, Some(Phase::Userspace), origin);
            for (name, from, to) in [
                ("a.service", 0, 100),
                ("dev-x.device", 600, 600),
                ("b.service", 601, 700),
            ] {
                let name = recorder.name(name);
                let span = recorder.span_of(clock, SpanKind::Unit, name, origin);
                recorder.span(span.start(Some(from * ms)).end(Some(to * ms)));
            }
            recorder.mark(clock, mark::STARTUP_FINISHED, 700 * ms, None, origin);
            for on in after {
                recorder.dependency("b.service", on, DependencyKind::After, origin);
            }
            let record = recorder.finish();
            let all = unknown(&record, &phases(&record));
            let told = all.iter().map(|u| (u.start.get() / ms, u.end.get() / ms));
            told.collect::<Vec<_>>()
        };
        assert_eq!(told(&["a.service", "dev-x.device"]), []);
        // Nothing waits for the device.
        assert_eq!(told(&["a.service"]), [(100, 600)]);
    }

    #[test]
    fn a_report_names_what_went_before_it() {
        let checked = "x86/mm: Checked W+X mappings: passed, no W+X pages found.";
        assert_eq!(told(&[], &[(0, "x"), (135, checked), (136, "y")]), []);
        assert_eq!(told(&[], &[(0, "x"), (135, "z"), (136, "y")]), [(0, 135)]);
    }
}
