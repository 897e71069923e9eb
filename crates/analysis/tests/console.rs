//! What the console cost, on boots whose truth is known.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use firstlight_analysis::{Console, RateSource, console, phases};
use record::{ClockKind, Nanos, Origin, Phase, Record, Recorder, mark};

const MS: i64 = 1_000_000;

/// A boot whose console is watched, by a host whose clock is 10 s ahead.
struct Watched {
    recorder: Recorder,
    origin: Origin,
}

const AHEAD: i64 = 10_000 * MS;

impl Watched {
    fn new(cmdline: &str) -> Self {
        let mut recorder = Recorder::new();
        let source = recorder.source("serial.log", "serial");
        let origin = Origin { source, offset: 0 };
        recorder.fact("kernel.cmdline", cmdline, origin);
        Self { recorder, origin }
    }

    /// A line of `bytes` bytes, stamped and arrived in milliseconds of the
    /// kernel's clock.
    fn line(&mut self, bytes: usize, stamped: Option<i64>, arrived: i64) {
        let serial = self.recorder.clock("serial", ClockKind::Wall, 1);
        let printk = self.recorder.clock("printk", ClockKind::Printk, 1_000);
        self.origin.offset += 100;
        let at = arrived * MS + AHEAD;
        let stamp = stamped.map(|s| (printk, s * MS));
        self.recorder
            .arrival(serial, (at, None), stamp, bytes, self.origin);
        let text = format!("line at {}", self.origin.offset);
        let stamp = stamp.unwrap_or((serial, at));
        self.recorder
            .message(stamp.0, Some(stamp.1), None, &text, self.origin);
    }

    fn finish(mut self) -> Record {
        let serial = self.recorder.clock("serial", ClockKind::Wall, 1);
        let printk = self.recorder.clock("printk", ClockKind::Printk, 1_000);
        self.recorder
            .relate((serial, AHEAD), (printk, 0), 2_000_000, None);
        self.recorder.finish()
    }
}

fn of(record: &Record, top: usize) -> Console {
    console(record, &phases(record), top).unwrap()
}

#[test]
fn each_line_has_its_delay() {
    let mut boot = Watched::new("console=ttyS0,115200n8");
    // 90 lines at once, 8 that wait, 2 that wait for long.
    for i in 0..90 {
        boot.line(60, Some(i * 100), i * 100);
    }
    for i in 90..98 {
        boot.line(60, Some(i * 100), i * 100 + 30);
    }
    for i in 98..100 {
        boot.line(60, Some(i * 100), i * 100 + 1_000 + i);
    }
    boot.line(500, None, 20_000);
    let console = of(&boot.finish(), 1);
    let delay = console.delay.unwrap();
    assert_eq!(delay.lines, 100);
    assert_eq!((delay.median, delay.most), (Nanos(0), Nanos(30 * MS)));
    assert_eq!(delay.longest, Nanos(1_099 * MS));
    assert_eq!(delay.error, Some(Nanos(2 * MS)));
    assert_eq!(delay.not_on_console, None);
    let [latest] = &delay.latest[..] else {
        panic!("{:?}", delay.latest);
    };
    assert_eq!(
        (latest.delay, latest.arrived - latest.stamped),
        (delay.longest, delay.longest)
    );
    assert_eq!(
        (latest.text.as_str(), latest.place.offset),
        ("line at 10000", 10_000)
    );
    // What it took on the wire: 6,000 bytes of 10 bits.
    assert_eq!((console.kernel.lines, console.kernel.bytes), (100, 6_000));
    assert_eq!(console.kernel.time, Some(Nanos(520_833_333)));
    let others = console.others.unwrap();
    assert_eq!((others.lines, others.bytes), (1, 500));
    assert_eq!(console.name.as_deref(), Some("ttyS0"));
}

#[test]
fn the_rate_is_the_ports_or_the_command_lines_or_seen() {
    // 200 lines of 96 bytes that were logged at once: each takes 100 ms.
    let slow = |cmdline: &str| {
        let mut boot = Watched::new(cmdline);
        for i in 0..200 {
            boot.line(96, Some(0), 100 + i * 100);
        }
        boot
    };
    let rate = of(&slow("").finish(), 0).rate.unwrap();
    assert_eq!(
        (rate.baud, rate.from, rate.kept),
        (9_600, RateSource::Arrivals, true)
    );

    let rate = of(&slow("console=tty0 console=ttyAMA0,9600").finish(), 0)
        .rate
        .unwrap();
    assert_eq!((rate.baud, rate.from), (9_600, RateSource::CommandLine));

    let mut boot = slow("console=ttyAMA0,115200");
    boot.recorder.fact("serial.baud", "9600", boot.origin);
    boot.recorder
        .fact("serial.bits_per_byte", "11", boot.origin);
    let console = of(&boot.finish(), 0);
    let rate = console.rate.unwrap();
    assert_eq!(
        (rate.baud, rate.bits_per_byte, rate.from),
        (9_600, 11, RateSource::Capture)
    );
    // 19,200 bytes of 11 bits at 9,600 baud.
    assert_eq!(console.kernel.time, Some(Nanos(22_000 * MS)));

    // Lines that do not wait tell no rate.
    let mut boot = Watched::new("");
    for i in 0..200 {
        boot.line(96, Some(i * 100), i * 100);
    }
    assert_eq!(of(&boot.finish(), 0).rate, None);
}

#[test]
fn an_emulators_line_takes_no_time() {
    let mut boot = Watched::new("console=ttyS0,9600");
    for i in 0..200 {
        boot.line(96, Some(i), i);
    }
    let console = of(&boot.finish(), 0);
    assert!(!console.rate.unwrap().kept);
    assert_eq!(console.kernel.time, None);
}

/// Lines of a kernel log: level, stamp in milliseconds, text.
fn log(cmdline: &str, lines: &[(u8, i64, &str)]) -> Record {
    let mut recorder = Recorder::new();
    let source = recorder.source("dmesg", "kernel-log");
    let mut origin = Origin { source, offset: 0 };
    let printk = recorder.clock("printk", ClockKind::Printk, 1_000);
    recorder.fact("kernel.cmdline", cmdline, origin);
    recorder.mark(
        printk,
        mark::KERNEL_CLOCK_START,
        0,
        Some(Phase::Kernel),
        origin,
    );
    for (level, at, text) in lines {
        origin.offset += 100;
        recorder.message(printk, Some(at * MS), Some(*level), text, origin);
    }
    recorder.finish()
}

const FLUSH: [(u8, i64, &str); 7] = [
    (5, 0, "Linux version 6.1"),
    (6, 100, "a line that quiet would not show"),
    (7, 150, "a line that nobody is shown"),
    (
        6,
        200,
        "20215040.serial: ttyS0 at MMIO 0x20215040 (irq = 53, base_baud = 50000000) is a 16550",
    ),
    (
        6,
        700,
        "usb 1-1: new full-speed USB device number 2 using dwc_otg",
    ),
    (6, 1_400, "printk: console [ttyS0] enabled"),
    (6, 1_500, "Run /sbin/init as init process"),
];

#[test]
fn the_flush_at_console_enable_is_measured_and_reckoned() {
    let console = of(&log("console=ttyS0,9600", &FLUSH), 0);
    let flush = console.flush.unwrap();
    // From the port's own line, not from what others logged meanwhile.
    assert_eq!(
        (flush.start, flush.end, flush.measured),
        (Nanos(200 * MS), Nanos(1_400 * MS), true)
    );
    let texts: usize = FLUSH[..5]
        .iter()
        .filter(|l| l.0 < 7)
        .map(|l| l.2.len() + 17)
        .sum();
    assert_eq!(
        (flush.written.lines, flush.written.bytes),
        (4, i64::try_from(texts).unwrap())
    );
    let time = flush.written.time.unwrap();
    assert_eq!(
        time,
        Nanos(i64::try_from(texts).unwrap() * 10 * 1_000_000_000 / 9_600)
    );
    assert_eq!(console.kernel.lines, 6);
    assert_eq!(flush.place.offset, 600);

    // With `quiet` nothing of it is written.
    let flush = of(&log("console=ttyS0,9600 quiet", &FLUSH), 0)
        .flush
        .unwrap();
    assert_eq!(flush.written.lines, 0);
    // A clock that does not run measures nothing.
    let mut early = FLUSH;
    early[3].1 = 0;
    assert!(!of(&log("", &early), 0).flush.unwrap().measured);
}

#[test]
fn a_boot_console_has_written_it_already() {
    let mut lines = FLUSH.to_vec();
    lines.insert(1, (6, 1, "printk: bootconsole [pl11] enabled"));
    assert_eq!(of(&log("console=ttyS0", &lines), 0).flush, None);
    // And the screen is no line.
    let mut lines = FLUSH.to_vec();
    lines[5].2 = "printk: console [tty0] enabled";
    assert_eq!(of(&log("console=ttyS0", &lines), 0).flush, None);
    let record = log("", &lines);
    assert_eq!(console(&record, &phases(&record), 0), None);
}
