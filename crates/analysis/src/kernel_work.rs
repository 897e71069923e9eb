//! What the kernel was busy with between two lines of its log, as far as the lines tell.
//!
//! A log without `initcall_debug` names no call. Some lines report what has just ended, others
//! announce what goes on until the next one, and two lines of one device or driver in a row
//! tell who was at work between them.

use crate::initcall_order::{Position, folder, position};
use crate::phases::Phases;
use crate::place::Place;
use memchr::memmem;
use record::{Nanos, Origin, Phase, Record};
use std::sync::LazyLock;

/// Lines that timers and threads write beside what the kernel is doing: a silence goes on
/// through them.
const BESIDE: [&str; 7] = [
    "uninitialized urandom read",
    "random: nonblocking pool is initialized",
    "Refined TSC clocksource",
    "random: crng init done",
    "random: fast init done",
    "urandom warning(s) missed",
    "clocksource: timekeeping watchdog",
];

/// One of these is in each of them. Every line of a log is asked, and few have such a word.
const BESIDE_WORDS: [&str; 2] = ["random", "clocksource"];
static BESIDE_FINDERS: LazyLock<[memmem::Finder<'static>; 2]> =
    LazyLock::new(|| BESIDE_WORDS.map(memmem::Finder::new));

/// Whether a line is one of these.
pub(crate) fn is_beside(text: &str) -> bool {
    let may_be = BESIDE_FINDERS
        .iter()
        .any(|f| f.find(text.as_bytes()).is_some());
    may_be && BESIDE.iter().any(|b| text.contains(b))
}

/// What a work queue says once it has measured the time stamp counter
/// (`tsc_refine_calibration_work`): its frequency, its name, and that it is the clock now.
const MEASURED: [&str; 2] = ["Refined TSC clocksource", "clocksource: tsc: mask: "];
const TAKEN: &str = "Switched to clocksource tsc";

/// Whether a line is of that work. Before the first program the kernel's own thread may
/// write the last two as well.
pub(crate) fn is_of_clock(text: &str) -> bool {
    MEASURED.iter().any(|m| text.contains(m)) || text.trim_end().ends_with(TAKEN)
}

/// Whether a line was written by timers and threads, whatever else went on.
pub(crate) fn is_timers(text: &str) -> bool {
    is_beside(text) || is_of_clock(text)
}

/// A line: how it begins, and what else it contains.
type Cue = (&'static str, &'static str);

/// What ends with a line: nothing else that takes time runs between the line before and it.
const REPORTS: [(Cue, &str); 17] = [
    // `smp_init` in kernel/smp.c, and what it said before 4.13.
    (("smp: Brought up ", ""), "bring-up of the processors"),
    (("Brought up ", " CPUs"), "bring-up of the processors"),
    // lib/raid6/algos.c and crypto/xor.c measure each routine for a fixed time.
    (("raid6: ", " gen() "), "RAID6 benchmarks"),
    (("raid6: ", " xor() "), "RAID6 benchmarks"),
    (("raid6: ", "recovery algorithm"), "RAID6 benchmarks"),
    (("   ", " MB/sec"), "XOR benchmarks"),
    (("xor: ", "using"), "XOR benchmarks"),
    // `mark_readonly` in init/main.c.
    (("x86/mm: Checked W+X mappings", ""), "page table check"),
    (("Checked W+X mappings", ""), "page table check"),
    // crypto/testmgr.c, where a kernel says it of each.
    (("alg: self-tests for ", ""), "cipher self-tests"),
    // drivers/block/floppy.c waits for controllers that are not there.
    (
        ("floppy", "no floppy controllers found"),
        "search for floppy controllers",
    ),
    (("Floppy drive(s)", ""), "search for floppy controllers"),
    // net/ipv4/ipconfig.c.
    (("IP-Config: Complete", ""), "IP autoconfiguration"),
    (("IP-Config: Got ", ""), "IP autoconfiguration"),
    // A driver of a display sets its mode before the console moves there.
    (
        ("Console: switching to ", "frame buffer"),
        "mode setting of the display",
    ),
    // drivers/input/serio/i8042.c and the drivers behind it ask the controller.
    (("serio: i8042 ", ""), "keyboard controller"),
    (("input: ", "/i8042/"), "keyboard controller"),
];

/// What goes on behind a line until the next one.
const ANNOUNCEMENTS: [(Cue, &str); 9] = [
    // `load_system_certificate_list` checks each certificate's signature with ciphers that
    // test themselves first.
    (
        ("Loading compiled-in X.509 certificates", ""),
        "certificate checks",
    ),
    (("Calibrating delay loop... ", ""), "delay loop"),
    (("xor: measuring ", ""), "XOR benchmarks"),
    // init/do_mounts.c.
    (("Waiting for root device ", ""), "wait for the root device"),
    (
        ("Waiting ", " before mounting root device"),
        "wait for the root device",
    ),
    (("md: Waiting for all devices", ""), "wait for RAID members"),
    (("Sending DHCP requests ", ""), "DHCP"),
    // drivers/tty/serial/8250 looks for ports that nothing describes.
    (("Serial: 8250/16550 driver", ""), "search for serial ports"),
    (("tpm ", "starting up the TPM manually"), "start of the TPM"),
];

/// The last line of the security modules: behind it, the order of linking comes to `crypto`,
/// whose late initcall tests all ciphers (`crypto_algapi_init` in crypto/algapi.c).
const BEFORE_CIPHERS: &str = "evm: HMAC attrs: ";

/// And what it does, unless the command line has this parameter.
const CIPHERS: &str = "cipher self-tests";
const NO_CIPHER_TESTS: &str = "cryptomgr.notests";

/// How the line of a port begins, and what it contains, when libata knows whether something is
/// connected: it has reset the port and waited for it (drivers/ata/libata-core.c).
const PORT: (&str, &str) = ("ata", ": SATA link ");

/// How a line says that a console is on, between the name of the console.
const CONSOLE: (&str, &str) = ("console [", "] enabled");
static CONSOLE_FINDER: LazyLock<memmem::Finder<'static>> =
    LazyLock::new(|| memmem::Finder::new(CONSOLE.0));

/// Consoles on a screen, which show a log at once.
const SCREENS: &str = "tty";

/// Who is in this list has many lines that do not belong together.
const FRAMEWORKS: [&str; 17] = [
    "ACPI BIOS Error",
    "CPU",
    "Call Trace",
    "Key type",
    "Modules linked in",
    "NET",
    "WARNING",
    "audit",
    "clocksource",
    "input",
    "io scheduler",
    "iommu",
    "kernel",
    "platform",
    "printk",
    "random",
    "usbcore",
];

/// The longest name, in bytes and in words: what is longer is a sentence.
const LONGEST: usize = 48;
const MOST_WORDS: usize = 3;

/// What two lines in a row tell of the time between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// What was done.
    Work(String),
    /// The device or driver that wrote both.
    Driver(String),
}

/// What two lines in a row tell of the time between them, whatever the command line says.
pub(crate) fn told(before: &str, after: &str) -> Option<Told> {
    let work = reports(after).or_else(|| announces(before, false));
    work.map(Told::Work)
        .or_else(|| between(before, after).map(|name| Told::Driver(name.to_owned())))
}

/// Something that the kernel did between two lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    /// When the line before it was written.
    pub start: Nanos,
    /// When the line behind it was written.
    pub end: Nanos,
    /// What it was.
    pub name: String,
    /// The line that tells.
    origin: Origin,
}

impl Work {
    /// Where the line stands that tells of it.
    pub(crate) fn place(&self, record: &Record) -> Place {
        Place::of(record, self.origin)
    }
}

/// What the kernel did between its lines, by time, in the phases before the first program of
/// the root. Stretches of one work in a row are one.
pub(crate) fn works(record: &Record, phases: &Phases) -> Vec<Work> {
    let mut rows = phases.phases.iter();
    let is_kernels = |p: Phase| matches!(p, Phase::Kernel | Phase::Initrd);
    let Some(start) = rows.find(|p| is_kernels(p.name)).map(|p| p.start) else {
        return Vec::new();
    };
    let rows = phases.phases.iter().filter(|p| is_kernels(p.name));
    let end = rows.map(|p| p.end).max().unwrap_or(start);
    let cmdline = record.fact("kernel.cmdline").unwrap_or("");
    let tests_ciphers = !cmdline.split_whitespace().any(|w| w == NO_CIPHER_TESTS);
    let lines = record.messages().iter().filter_map(|m| {
        let (at, text) = (m.at?, record.text(m));
        let counts = start <= at && at <= end && !is_beside(text) && !text.trim().is_empty();
        counts.then_some((at, text, m.origin))
    });
    let lines: Vec<_> = lines.collect();
    let calls = calls(lines.iter().map(|(_, text, _)| position(text)));
    let kernel_ends = phases.phases.iter().find(|p| p.name == Phase::Kernel);
    let kernel_ends = kernel_ends.map_or(start, |p| p.end);
    let mut works: Vec<Work> = Vec::new();
    let mut announced: Option<(Nanos, String, Origin)> = None;
    for (pair, calls) in lines.windows(2).zip(calls) {
        let &[(from, before, first), (to, after, second)] = pair else {
            continue;
        };
        // What is announced goes on until something is written later.
        announced = match announces(before, tests_ciphers) {
            Some(name) => Some((from, name, first)),
            None => announced.filter(|(at, ..)| *at == from),
        };
        if from >= to {
            continue;
        }
        let told = reports(after)
            .map(|name| (name, second))
            .or_else(|| announced.take().map(|(_, name, origin)| (name, origin)))
            .or_else(|| {
                Some((
                    format!("between lines of {}", between(before, after)?),
                    second,
                ))
            })
            .or_else(|| Some((calls.filter(|_| to <= kernel_ends)?, second)));
        let Some((name, origin)) = told else {
            continue;
        };
        match works.last_mut() {
            Some(last) if last.name == name && last.end >= from => last.end = to,
            _ => works.push(Work {
                start: from,
                end: to,
                name,
                origin,
            }),
        }
    }
    works
}

/// Between each line and the next, by how far the kernel has come at each line: the initcalls
/// that run there, if all of them are of one level and of one folder.
fn calls(positions: impl Iterator<Item = Option<Position>>) -> Vec<Option<String>> {
    let positions: Vec<_> = positions.collect();
    let mut after: Vec<Option<Position>> = vec![None; positions.len()];
    let mut least: Option<Position> = None;
    for (slot, position) in after.iter_mut().zip(&positions).rev() {
        least = least.into_iter().chain(*position).min();
        *slot = least;
    }
    let mut most: Option<Position> = None;
    let next = after.iter().skip(1);
    let pairs = positions.iter().zip(next).map(|(position, after)| {
        most = most.into_iter().chain(*position).max();
        most.zip(*after).and_then(|(from, to)| folder(from, to))
    });
    pairs.collect()
}

fn fits(text: &str, (head, part): &Cue) -> bool {
    text.starts_with(head) && text.contains(part)
}

/// What ended when this line was written.
fn reports(line: &str) -> Option<String> {
    let (port, link) = PORT;
    if let Some((name, _)) = line.split_once(link).filter(|_| line.starts_with(port)) {
        return Some(format!("{name}: wait for the link"));
    }
    if let Some(console) = console(line) {
        return Some(format!("flush of the log to {console}"));
    }
    let mut all = REPORTS.iter();
    let (_, name) = all.find(|(cue, _)| fits(line, cue))?;
    Some((*name).to_owned())
}

/// What began when this line was written.
fn announces(line: &str, tests_ciphers: bool) -> Option<String> {
    if tests_ciphers && line.starts_with(BEFORE_CIPHERS) {
        return Some(CIPHERS.to_owned());
    }
    // Kernels since 5.x write this line before the flush, older ones behind it.
    if let Some(console) = console(line) {
        return Some(format!("flush of the log to {console}"));
    }
    let mut all = ANNOUNCEMENTS.iter();
    let (_, name) = all.find(|(cue, _)| fits(line, cue))?;
    Some((*name).to_owned())
}

/// The serial console that this line says is on.
fn console(line: &str) -> Option<&str> {
    let (begin, end) = CONSOLE;
    let at = CONSOLE_FINDER.find(line.as_bytes())?;
    let name = line.get(at..)?.strip_prefix(begin)?.split_once(end)?.0;
    let is_screen = name
        .strip_prefix(SCREENS)
        .is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    (!is_screen && !name.contains(' ')).then_some(name)
}

/// Who was at work between two lines: the device or driver that wrote both, or the driver of
/// two devices, of which the second is named.
fn between<'a>(before: &str, after: &'a str) -> Option<&'a str> {
    let (first, second) = (who(before)?, who(after)?);
    let same = first == second || driver(first).is_some_and(|d| Some(d) == driver(second));
    same.then_some(second)
}

/// The device or driver before a line's first colon.
fn who(line: &str) -> Option<&str> {
    // Programs write with their number.
    let (name, _) = line.split_once(": ")?;
    let is_name = !name.is_empty()
        && name.len() <= LONGEST
        && !name.starts_with(' ')
        && !name.contains('[')
        && name.split(' ').count() <= MOST_WORDS;
    let begins = name.split(' ').next().unwrap_or(name);
    let is_framework = FRAMEWORKS.iter().any(|f| *f == name || *f == begins);
    (is_name && !is_framework).then_some(name)
}

/// The driver or bus of a device: `ata` of `ata14.00`, `usb` of `usb 1-1`; none of what has no
/// number.
fn driver(name: &str) -> Option<&str> {
    if let Some((driver, _)) = name.split_once(' ') {
        return Some(driver);
    }
    let driver = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ':'));
    (driver.len() < name.len() && !driver.is_empty()).then_some(driver)
}

#[cfg(test)]
mod tests {
    use super::{BESIDE, Told, is_beside, works};
    use crate::phases::phases;
    use record::{ClockKind, Nanos, Origin, Phase, Recorder, mark};

    const MS: i64 = 1_000_000;

    fn told(lines: &[(i64, &str)], cmdline: &str) -> Vec<(i64, i64, String)> {
        let mut recorder = Recorder::new();
        let source = recorder.source("x.log", "kernel-log");
        let clock = recorder.clock("printk", ClockKind::Printk, 1_000);
        let at = |offset| Origin { source, offset };
        recorder.fact("kernel.cmdline", cmdline, at(0));
        let start = mark::KERNEL_CLOCK_START;
        recorder.mark(clock, start, 0, Some(Phase::Kernel), at(0));
        for (offset, (ms, text)) in (1..).zip(lines) {
            recorder.message(clock, Some(ms * MS), None, text, at(offset));
        }
        let start = mark::USERSPACE_START;
        let userspace = Some(Phase::Userspace);
        recorder.mark(clock, start, 10_000 * MS, userspace, at(0));
        let record = recorder.finish();
        let ms = |t: Nanos| t.get() / MS;
        let works = works(&record, &phases(&record));
        works
            .into_iter()
            .map(|w| (ms(w.start), ms(w.end), w.name))
            .collect()
    }

    fn names(lines: &[(i64, &str)]) -> Vec<String> {
        told(lines, "").into_iter().map(|w| w.2).collect()
    }

    #[test]
    fn every_line_of_timers_and_threads_is_beside_wherever_its_words_stand() {
        for words in BESIDE {
            assert!(is_beside(words), "{words}");
            assert!(is_beside(&format!("dd: {words}, 7 bits")), "{words}");
        }
        assert!(!is_beside("clocksource: jiffies: mask: 0xffffffff"));
        assert!(!is_beside(
            "random: get_random_u32 called from start_kernel"
        ));
    }

    #[test]
    fn lines_report_what_ended_and_stretches_of_one_work_are_one() {
        let benchmark = [
            (10, "pci 0000:00:00.0: x"),
            (78, "raid6: sse2x1   gen()  9888 MB/s"),
            (146, "raid6: sse2x1   xor()  7373 MB/s"),
            (147, "SCSI subsystem initialized"),
        ];
        let row = |from, to, name: &str| (from, to, name.to_owned());
        assert_eq!(told(&benchmark, ""), [row(10, 146, "RAID6 benchmarks")]);
        let port = [
            (10, "Magic number: 1:28:636"),
            (
                300,
                "ata7: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
            ),
            (
                612,
                "ata8: SATA link down 6.0 Gbps (SStatus 133 SControl 300)",
            ),
        ];
        let expected = [
            row(10, 300, "ata7: wait for the link"),
            row(300, 612, "ata8: wait for the link"),
        ];
        assert_eq!(told(&port, ""), expected);
    }

    #[test]
    fn lines_announce_what_goes_on_behind_them_until_another_time() {
        let ciphers = [
            (10, "evm: HMAC attrs: 0x1"),
            (10, "another line of that time"),
            (800, "clk: Disabling unused clocks"),
        ];
        let row = (10, 800, "cipher self-tests".to_owned());
        assert_eq!(told(&ciphers, "quiet"), [row]);
        assert_eq!(told(&ciphers, "quiet cryptomgr.notests"), []);
        let mut later = ciphers;
        later[1].0 = 20;
        let row = (10, 20, "cipher self-tests".to_owned());
        assert_eq!(told(&later, ""), [row]);
    }

    #[test]
    fn what_timers_write_does_not_end_a_work() {
        let lines = [
            (10, "Waiting for root device /dev/mmcblk0p2..."),
            (900, "random: crng init done"),
            (1_500, "mmc0: new high speed SDHC card at address 0001"),
        ];
        let row = (10, 1_500, "wait for the root device".to_owned());
        assert_eq!(told(&lines, ""), [row]);
    }

    #[test]
    fn a_serial_console_takes_time_on_either_side_of_its_line() {
        let old = [
            (10, "20201000.serial: ttyS0 at MMIO 0x20201000"),
            (1_200, "console [ttyS0] enabled"),
        ];
        assert_eq!(names(&old), ["flush of the log to ttyS0"]);
        let new = [
            (10, "printk: legacy console [ttyAMA0] enabled"),
            (1_200, "printk: bootconsole [pl11] disabled"),
        ];
        assert_eq!(names(&new), ["flush of the log to ttyAMA0"]);
        let screen = [(10, "a line"), (1_200, "printk: console [tty0] enabled")];
        assert!(names(&screen).is_empty());
    }

    #[test]
    fn two_lines_of_one_device_or_driver_tell_who_was_at_work() {
        let name = |before, after| names(&[(10, before), (900, after)]);
        assert_eq!(
            name(
                "smsc95xx v1: version: 1",
                "smsc95xx v1: usb0: register at usb-1"
            ),
            ["between lines of smsc95xx v1"]
        );
        assert_eq!(
            name("pci 0000:c1:00.0: VF BAR 3", "pci 0000:e1:00.0: ABORT"),
            ["between lines of pci 0000:e1:00.0"]
        );
        assert_eq!(
            name("mmc0: SDHCI controller", "mmc1: new SDIO card"),
            ["between lines of mmc1"]
        );
        for (before, after) in [
            ("NET: Registered PF_INET", "NET: Registered PF_UNIX"),
            ("input: A as /devices/a", "input: B as /devices/b"),
            ("usbcore: registered new driver a", "usbcore: registered b"),
            ("systemd[1]: a: x", "systemd[1]: a: y"),
            ("dwc_otg: version", "Core Release: 2.80a"),
            ("evm: security.ima", "ima: no TPM"),
            (
                "a sentence of many words that has a colon: x",
                "a sentence of many words that has a colon: y",
            ),
        ] {
            assert!(name(before, after).is_empty(), "{before}");
        }
    }

    #[test]
    fn where_one_folder_of_initcalls_is_left_it_is_the_name() {
        let net = [
            (10, "NET: Registered PF_INET protocol family"),
            (11, "IP idents hash table entries: 8192 (order: 4)"),
            (900, "tcp_listen_portaddr_hash hash table entries: 512"),
            (901, "NET: Registered PF_UNIX/PF_LOCAL protocol family"),
        ];
        let expected = [(10, 901, "fs initcalls in net/".to_owned())];
        assert_eq!(told(&net, ""), expected);
        // Between two folders, or in that of all drivers, nothing is told.
        let wide = [
            (10, "NET: Registered PF_INET protocol family"),
            (900, "Trying to unpack rootfs image as initramfs..."),
        ];
        assert!(names(&wide).is_empty());
        let drivers = [
            (10, "SCSI subsystem initialized"),
            (900, "libata version 3.00 loaded."),
        ];
        assert!(names(&drivers).is_empty());
    }

    #[test]
    fn two_lines_tell_a_work_or_a_driver() {
        let link = "x1-dwc-pcie ca400000.pcie: Phy link never came up";
        let before = "x1-dwc-pcie ca400000.pcie: iATU: unroll T";
        let driver = Told::Driver("x1-dwc-pcie ca400000.pcie".to_owned());
        assert_eq!(super::told(before, link), Some(driver));
        let cpus = super::told("a: x", "smp: Brought up 1 node, 8 CPUs");
        let work = Told::Work("bring-up of the processors".to_owned());
        assert_eq!(cpus, Some(work));
        assert_eq!(super::told("evm: HMAC attrs: 0x1", "clk: x"), None);
    }

    #[test]
    fn what_happens_in_userspace_is_not_the_kernels_work() {
        let lines = [
            (20_000, "usb 1-1: new high-speed USB device"),
            (90_000, "usb 1-1: USB disconnect, device number 2"),
        ];
        assert!(names(&lines).is_empty());
    }
}
