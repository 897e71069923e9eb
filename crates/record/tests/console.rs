//! What a record promises of a console's lines.

use firstlight_record::{ClockId, ClockKind, Nanos, Origin, Recorder, SourceId, mark};

struct Boot {
    recorder: Recorder,
    console: SourceId,
    log: SourceId,
    serial: ClockId,
    printk: ClockId,
}

impl Boot {
    fn new() -> Self {
        let mut recorder = Recorder::new();
        Self {
            console: recorder.source("serial.log", "serial"),
            log: recorder.source("dmesg", "kernel-log"),
            serial: recorder.clock("serial", ClockKind::Wall, 1),
            printk: recorder.clock("printk", ClockKind::Printk, 1_000),
            recorder,
        }
    }

    fn arrives(&mut self, offset: u64, at: i64, text: &str) {
        let source = self.console;
        let origin = Origin { source, offset };
        let line = (at, Some(at + 500));
        self.recorder.arrival(self.serial, line, None, 80, origin);
        self.recorder
            .message(self.serial, Some(at), None, text, origin);
    }

    fn logged(&mut self, offset: u64, at: i64, text: &str) {
        let source = self.log;
        let origin = Origin { source, offset };
        self.recorder
            .message(self.printk, Some(at), None, text, origin);
    }
}

#[test]
fn lines_that_stand_on_both_sides_relate_the_clocks() {
    let mut boot = Boot::new();
    // The kernel's zero is at 10,000; lines need 40, 5, 20 and 10.
    for (i, (stamp, delay)) in [(1_000, 40), (2_000, 5), (3_000, 20), (4_000, 10)]
        .iter()
        .enumerate()
    {
        let text = format!("a line of the kernel, number {i}");
        boot.logged(i as u64, *stamp, &text);
        boot.arrives(i as u64, 10_000 + stamp + delay, &text);
    }
    // What occurs twice, what is short, and what is on one side tells nothing.
    for (offset, at) in [(10, 11_000), (11, 12_000)] {
        boot.arrives(offset, at, "again and again");
    }
    boot.logged(10, 500, "again and again");
    boot.logged(11, 9_000, "short");
    boot.arrives(12, 10_000, "short");
    boot.arrives(13, 10_500, "only on the console");
    let origin = Origin {
        source: boot.console,
        offset: 0,
    };
    boot.recorder
        .mark(boot.serial, mark::POWER_ON, 0, None, origin);
    let record = boot.recorder.finish();

    let printk = record.clocks().iter().find(|c| c.name == "printk");
    // The least difference is 10,005; the one in the middle is 15 more.
    assert_eq!(printk.and_then(|c| c.error_ns), Some(15));
    let of_log = record
        .messages()
        .iter()
        .find(|m| record.text(m) == "short" && m.origin.offset == 11);
    assert_eq!(of_log.and_then(|m| m.at), Some(Nanos(19_005)));
    let note = record
        .notes()
        .iter()
        .find(|n| n.kind.name == "console_matched");
    assert_eq!(note.map(|n| n.detail.as_str()), Some("4 lines"));
}

#[test]
fn two_lines_relate_nothing() {
    let mut boot = Boot::new();
    for i in 0..2 {
        let text = format!("a line of the kernel, number {i}");
        boot.logged(i, 1_000, &text);
        boot.arrives(i, 2_000, &text);
    }
    let record = boot.recorder.finish();
    assert!(
        record
            .notes()
            .iter()
            .any(|n| n.kind.name == "clock_unrelated")
    );
}

#[test]
fn arrivals_move_with_zero_and_stamps_with_their_own_clock() {
    let mut boot = Boot::new();
    let source = boot.console;
    let at = |offset| Origin { source, offset };
    let (serial, printk) = (boot.serial, boot.printk);
    let recorder = &mut boot.recorder;
    recorder.relate((serial, 5_000), (printk, 0), 7, None);
    recorder.arrival(serial, (9_000, None), Some((printk, 3_000)), 10, at(1));
    recorder.arrival(serial, (6_000, Some(6_100)), None, 20, at(0));
    recorder.mark(serial, mark::POWER_ON, 1_000, None, at(0));
    let record = boot.recorder.finish();
    let [first, second] = record.arrivals() else {
        panic!("{:?}", record.arrivals());
    };
    assert_eq!(
        (first.first, first.last, first.stamped),
        (Nanos(5_000), Some(Nanos(5_100)), None)
    );
    assert_eq!(
        (second.first, second.stamped),
        (Nanos(8_000), Some(Nanos(7_000)))
    );
    assert_eq!(record.last(), Some(Nanos(8_000)));
}
