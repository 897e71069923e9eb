//! The reader as other sources use it, line by line.

use super::{KernelLog, Outcome, Reader};
use crate::text::lines;
use crate::{Input, Sniff, Source};
use record::{ClockKind, Record, Recorder, mark};

/// Reads lines that a host stamped 1 s, 2 s, ... and gives each line's outcome.
fn serial(log: &str) -> (Vec<Outcome>, Record) {
    let mut recorder = Recorder::new();
    let source = recorder.source("log", "serial");
    let clock = recorder.clock("serial", ClockKind::Wall, 1_000);
    let mut reader = Reader::new(source);
    let mut outcomes = Vec::new();
    for (i, line) in lines(log.as_bytes()).enumerate() {
        let at = (i as i64 + 1) * 1_000_000_000;
        let host = Some((clock, at));
        let outcome = reader.line(&mut recorder, line.bytes, line.offset, host);
        outcomes.push(outcome);
    }
    reader.finish(&mut recorder);
    (outcomes, recorder.finish())
}

const fn kernel(printk_ns: Option<i64>) -> Outcome {
    Outcome::Kernel { printk_ns }
}

#[test]
fn stamped_kernel_lines_among_others() {
    let log = "U-Boot 2024.01\n\
        [    0.000000] Linux version 6.6.1\n\
        \r\n\
        [  OK  ] calling home\n\
        [    0.500000] calling  a_init+0x0/0x10 @ 1\n\
        initcall a_init+0x0/0x10 returned 0 after 9 usecs\n\
        login: [    0.600000] initcall a_init+0x0/0x10 returned 0 after 99995 usecs\n";
    let (outcomes, record) = serial(log);
    assert_eq!(
        outcomes,
        [
            Outcome::Other,
            kernel(Some(0)),
            Outcome::Noted(&super::notes::BLANK_LINE),
            Outcome::Other,
            kernel(Some(500_000_000)),
            // In a log with stamps, words without one are not the kernel's.
            Outcome::Other,
            kernel(Some(600_000_000)),
        ]
    );
    let [span] = record.spans() else {
        panic!("{:?}", record.spans());
    };
    assert_eq!(span.wall().map(|w| w.get()), Some(100_000_000));
    // The reader counts no units.
    assert_eq!(record.sources()[0].units, 0);
}

#[test]
fn a_kernel_without_stamps_is_timed_by_the_host() {
    let log = "U-Boot 2024.01\n\
        foo[1]: not yet\n\
        Linux version 6.6.1\n\
        calling  a_init+0x0/0x10 @ 1\n\
        initcall a_init+0x0/0x10 returned 0 after 999990 usecs\n\
        usb 1-1: new device\n\
        Run /sbin/init as init process\n";
    let (outcomes, record) = serial(log);
    let taken: Vec<bool> = outcomes.iter().map(|o| *o == kernel(None)).collect();
    assert_eq!(taken, [false, false, true, true, true, false, true]);
    let [span] = record.spans() else {
        panic!("{:?}", record.spans());
    };
    assert_eq!(span.wall().map(|w| w.get()), Some(1_000_000_000));
    assert_eq!(record.zero(), mark::KERNEL_START);
    let init = record.mark(mark::INIT_STARTED);
    assert_eq!(init.map(|m| m.at.get()), Some(4_000_000_000));
}

#[test]
fn what_is_no_kernel_log_is_not_taken_for_one() {
    for (head, sure) in [
        ("", Sniff::No),
        ("hello\nworld\n", Sniff::No),
        ("\x7fELF\0\0\0\n[x]\n", Sniff::No),
        ("{\"a\": 1}\n", Sniff::No),
        (
            "Startup finished in 1.2s (kernel) + 2.0s (userspace) = 3.2s\n",
            Sniff::No,
        ),
        (
            "[1.000001 0.000001] U-Boot\n[2.000001 1.000001] [    0.000000] x\n",
            Sniff::Maybe,
        ),
        (
            "Linux version 6.6.1\ncalling  a_init+0x0/0x10 @ 1\n",
            Sniff::Maybe,
        ),
        ("Nov 21 21:02:00 pc sshd[7]: hello\n", Sniff::Maybe),
        ("[    0.000000] Linux version 6.6.1\n", Sniff::Yes),
    ] {
        assert_eq!(KernelLog.sniff(head.as_bytes()), sure, "{head:?}");
    }
}

/// Lines made to be slow or deep to read: each takes a moment all the same.
#[test]
fn hostile_lines() {
    for piece in [
        "[1.000001] ",
        "[1.000001 0.1] ",
        "<6>[1.000001] ",
        "[    1.000001]",
        "<6>[    1.000001] ",
        "calling  ",
        "initcall x+",
        "{\"MESSAGE\":[",
        "{\"dmesg\":[",
        "[[[[",
        "\u{1b}[",
        "\u{1b}]",
    ] {
        let line = piece.repeat(500_000 / piece.len());
        let mut recorder = Recorder::new();
        let input = Input {
            name: "log",
            bytes: line.as_bytes(),
        };
        KernelLog.read(input, &mut recorder);
        KernelLog.sniff(line.as_bytes());
        let record = recorder.finish();
        let source = &record.sources()[0];
        assert_eq!(source.units, source.events + source.noted, "{piece}");
    }
}

#[test]
fn a_log_of_starts_alone_is_all_lost_ends() {
    let log: String = (0..20_000)
        .map(|i| format!("[    0.{i:06}] calling  same+0x0/0x{i:x} @ {i}\n"))
        .collect();
    let mut recorder = Recorder::new();
    let input = Input {
        name: "log",
        bytes: log.as_bytes(),
    };
    KernelLog.read(input, &mut recorder);
    let record = recorder.finish();
    assert_eq!(record.spans().len(), 20_000);
    assert!(record.spans().iter().all(|s| s.end.is_none()));
}
