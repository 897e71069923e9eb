//! The reader as other sources use it, line by line.

use super::{KernelLog, Outcome, Reader, notes};
use crate::source::{Input, Sniff, Source};
use crate::text::lines;
use proptest::prelude::*;
use record::{ClockKind, Doubt, Origin, Record, Recorder, mark};

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
            Outcome::Noted(&notes::BLANK_LINE),
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

/// What a program reads from a log of the kernel.
fn log(text: &str) -> Record {
    let mut recorder = Recorder::new();
    let input = Input {
        name: "log",
        bytes: text.as_bytes(),
    };
    KernelLog.read(input, &mut recorder);
    recorder.finish()
}

/// A list that was sorted by time has the time in front and the stamp in the middle.
#[test]
fn a_sorted_list_of_calls_is_read() {
    let text = " 640123 usecs [    2.100000] initcall a_init+0x0/0x1c returned 0 \n \
        1076177 usecs [    1.345910] probe of 1c10000.pcie returned 0 \n \
        4283681 usecs [    8.124236] initcall b_init+0x0/0x1000 [b] returned 0 \n";
    assert_ne!(KernelLog.sniff(text.as_bytes()), Sniff::No);
    let record = log(text);
    let calls = record
        .spans()
        .iter()
        .map(|s| (record.name(s.name), s.reported));
    let calls: Vec<_> = calls
        .map(|(name, time)| (name, time.map(|t| t.get())))
        .collect();
    assert_eq!(
        calls,
        [
            ("a_init", Some(640_123_000)),
            ("1c10000.pcie", Some(1_076_177_000)),
            ("b_init [b]", Some(4_283_681_000)),
        ]
    );
}

#[test]
fn a_log_that_begins_with_the_end_of_another_boot() {
    let record = log("[ 1903.652000] reboot: Restarting system\n\
        { 5166883 }[ XBL ] Exit EBS\n\
        [    0.000000] Booting Linux on physical CPU 0x0\n\
        [    0.000000] Linux version 6.6.1\n\
        [    0.600000] Run /sbin/init as init process\n");
    assert_eq!(record.last().map(|t| t.get()), Some(600_000_000));
    let noted: Vec<_> = record
        .notes()
        .iter()
        .map(|n| (n.kind.name, n.count))
        .collect();
    assert_eq!(noted[0], ("earlier_boot", 1), "{noted:?}");
    // Two processors that print at once are no restart.
    let record = log("[    0.000002] one\n[    0.000000] Linux version 6.6.1\n");
    assert_eq!(record.sources()[0].events, 2);
}

#[test]
fn what_the_kernel_numbers_in_brackets_is_no_program() {
    let record = log(
        "[    0.064595] IOAPIC[0]: apic_id 33, version 33, GSI 0-23\n\
        [    0.064600] IOAPIC[1]: apic_id 34, version 33, GSI 24-55\n\
        [    1.000000] NET: Registered PF_INET6 protocol family\n\
        [    6.500000] systemd-udevd[312]: starting\n",
    );
    let line = record.mark(mark::FIRST_USERSPACE_LINE);
    assert_eq!(line.map(|m| m.at.get()), Some(6_500_000_000));
}

#[test]
fn forms_of_logs_that_others_post() {
    let names = |record: &Record| -> Vec<&'static str> {
        record.notes().iter().map(|n| n.kind.name).collect()
    };
    // Quoted in a mail, once and twice.
    for quote in ["> ", ">> "] {
        let record = log(&format!(
            "{quote}[    1.000000] Linux version 6.1\n{quote}[    2.000000] x\n"
        ));
        assert_eq!(
            record.messages()[1].at.map(|t| t.get()),
            Some(2_000_000_000)
        );
    }
    // OpenWrt's logread: the kernel's own stamp stands in the words.
    let record = log(
        "Thu Jun 15 09:02:10 2023 kern.info kernel: [    0.000000] Linux version 5.15\n\
        Thu Jun 15 09:02:10 2023 kern.info kernel: [    4.500000] x\n\
        Thu Jun 15 09:02:33 2023 daemon.info procd: - init complete -\n",
    );
    assert_eq!(
        record.messages()[1].at.map(|t| t.get()),
        Some(4_500_000_000)
    );
    assert_eq!(
        record.text(&record.messages()[2]),
        "procd: - init complete -"
    );
    // The kernel's lines, which have both, relate its clock to the day's.
    assert_eq!(record.last().map(|t| t.get()), Some(27_500_000_000));
    // Not where the day was set from the network meanwhile, and not without such lines.
    for words in ["Thu Jun 15 09:02:10 2023 kern.info kernel: ", ""] {
        let record = log(&format!(
            "{words}[    0.000000] Linux version 5.15\n\
            {words}[    4.500000] x\n\
            Sat Jun 17 11:02:33 2023 daemon.info procd: - init complete -\n"
        ));
        assert_eq!(record.last().map(|t| t.get()), Some(4_500_000_000));
    }
    let record = log(
        "Nov 22 10:00:05 pc kernel: [    0.000000] Linux version 6.1\n\
        Nov 22 10:00:09 pc systemd[1]: Startup finished in 1s (kernel) + 4s (userspace) = 5s.\n",
    );
    let end = record.mark(mark::STARTUP_FINISHED).map(|m| m.at.get());
    assert_eq!(end, Some(5_000_000_000));
    // A page's blanks, and a date in the words of a stamped log.
    let record = log(
        "[\u{a0}\u{a0}\u{a0} 1.000000] Linux version 6.1\n[\u{a0}\u{a0}\u{a0} 2.000000] BIOS\n\
        2021-12-27 12:00:00 of a line that was wrapped\n",
    );
    assert_eq!(record.last().map(|t| t.get()), Some(2_000_000_000));
    // A quiet console is not a log that lost its start.
    let quiet = log("[    0.800000] x: probe failed\n[   19.700000] y: Invalid thing\n");
    assert!(names(&quiet).contains(&"quiet_log"), "{:?}", names(&quiet));
    let cut = log("[    0.800000] x: ready\n[    0.900000] y: registered\n");
    assert!(names(&cut).contains(&"log_start_lost"), "{:?}", names(&cut));
    // A clock that counts ticks.
    let ticks: String = (1..30).map(|i| format!("[    0.{i:02}0000] x\n")).collect();
    assert!(names(&log(&ticks)).contains(&"tick_clock"));
}

/// An ARM board of 2013: the clock of its stamps moves every 10 ms, that of the durations does
/// not.
#[test]
fn initcalls_are_ranked_by_what_the_kernel_reports_where_stamps_are_ticks() {
    let mut text = String::from("[    0.000000] Linux version 3.4.35\n");
    let mut at = 10;
    let mut line = |at: u32, said: &str| {
        text.push_str(&format!("[    0.{:03}000] {said}\n", at));
    };
    for n in 0..8 {
        // The fourth is the longest by its stamps, and the sixth by what is reported.
        let took = [544, 212, 90, 1_204, 3, 9_731, 77, 650][n];
        line(at, &format!("calling  f{n}+0x0/0x20 @ 1"));
        at += if n == 3 {
            20
        } else if n == 5 {
            10
        } else {
            0
        };
        line(
            at,
            &format!("initcall f{n}+0x0/0x20 returned 0 after {took} usecs"),
        );
        at += 10;
    }
    for n in 0..4 {
        line(at + 10 * n, "x: ready");
    }
    let record = log(&text);
    let notes: Vec<&str> = record.notes().iter().map(|n| n.kind.name).collect();
    assert!(notes.contains(&"tick_clock"), "{notes:?}");
    assert!(!notes.contains(&"initcall_times_disagree"), "{notes:?}");
    let spans = record.spans().iter();
    let times: Vec<i64> = spans
        .clone()
        .map(|s| s.duration().unwrap().get() / 1_000)
        .collect();
    assert_eq!(times, [544, 212, 90, 1_204, 3, 9_731, 77, 650]);
    assert!(spans.clone().all(|s| s.doubt == Some(Doubt::TickClock)));
    assert_eq!(
        spans.map(|s| s.wall().unwrap().get()).max(),
        Some(20_000_000)
    );
}

#[test]
fn a_log_without_times_has_facts() {
    let record = log("Kernel command line: the loader's\n\
        Linux version 3.4.35\n\
        Kernel command line: console=ttyS0\n");
    let facts: Vec<&str> = record
        .facts()
        .iter()
        .map(|f| record.name(f.value))
        .collect();
    assert_eq!(facts, ["3.4.35", "console=ttyS0"]);
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
fn systemds_last_line_divides_a_log_that_does_not_say_when_programs_began() {
    let log = |more: &str| {
        let record = read(&format!(
            "[    0.000000] Linux version 6.6.1\n[    0.500000] a: b\n{more}Startup finished in 2s \
                 (kernel) + 1.5s (initrd) + 80s (userspace) = 1min 23.5s\n[   90.000000] c: d\n"
        ));
        let at = |name| record.mark(name).map(|m| m.at.get() / 1_000_000);
        [
            at(mark::INITRD_START),
            at(mark::USERSPACE_START),
            at(mark::STARTUP_FINISHED),
        ]
    };
    assert_eq!(log(""), [Some(2_000), Some(3_500), Some(83_500)]);
    let run = "[    2.100000] Run /sbin/init as init process\n";
    assert_eq!(log(run), [None, Some(2_100), Some(83_500)]);
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

/// Pieces that lines are put together from: stamps, levels, callers, words
/// whole and cut, and what wires add.
const BEFORE: [&str; 10] = [
    "[    0.{us}] ",
    "[    0.{us}] ",
    "[    0.{us}] ",
    "[    0.{us}] ",
    "[12345.{us}] ",
    "[123456.{us}] ",
    "<6>[    0.{us}] ",
    "[    0.{us}][    T1] ",
    "6,{n},{us},-;",
    "",
];
const WORDS: [&str; 20] = [
    "calling  f{n}_init+0x0/0x{n} @ 1",
    "calling  f{n}_init+0x0/0x{n} [m{n}] @ {n}",
    "calling  f{n}_init+0x0/0x{n} @ ",
    "calling  f{n}_init+0x0/0x",
    "rest+0x0/0x{n} @ 1",
    "calling  f{n}_init+0x0/0x{n}, parent: none",
    "calling  0xc00{n} @ 1",
    "initcall f{n}_init+0x0/0x{n} returned 0 after {us} usecs",
    "initcall f{n}_init+0x0/0x{n} [m{n}] returned -19 after {us} usecs",
    "initcall f{n}_init+0x0/0x{n} returned 0 after {us} usecs with errors",
    "initcall f{n}_init+0x0/0x{n} returned 0 aft",
    "initcall f{n}_init+0x0/0x{n} [    0.{us}] calling  g{n}_init+0x0/0x8 @ 1",
    "initcall f{n}_init+0x0/0x{n} returned 0 after 9 usecs[    0.{us}] usb 1-1: new",
    "initcall 0xc00{n} returned 0 after {us} usecs",
    "probe of dev{n} returned -517 after {us} usecs",
    "probe of dev{n} returned 0 after {us} usecs[    0.{us}] usb 1-1: new",
    "** {n} printk messages dropped **",
    "clocksource: Switched to clocksource tsc",
    "usb 1-1: new device \u{fffd}",
    "",
];

/// What changes how all lines after it are read, and so must be rare.
const TURNS: [&str; 3] = [
    "[    0.{us}] calling  \u{1b}[1mf{n}_init+0x0/0x{n} @ 1",
    "[    0.{us}] pc kernel: usb 1-1: new device",
    "[    0.{us}] Linux version 6.{n}",
];

/// A line of random pieces; few different numbers, so that lines pair up.
fn any_line() -> impl Strategy<Value = String> {
    let usual = (0..BEFORE.len(), 0..WORDS.len()).prop_map(|(b, w)| [BEFORE[b], WORDS[w]].concat());
    let turn = (0..TURNS.len()).prop_map(|t| TURNS[t].to_owned());
    let line = prop_oneof![600 => usual, 1 => turn];
    let end = prop_oneof![9 => Just("\n"), 1 => Just("\r\n"), 1 => Just(" \n")];
    (line, end, 0..6_u32, 0..900_000_u32).prop_map(|(line, end, n, us)| {
        line.replace("{n}", &n.to_string())
            .replace("{us}", &format!("{us:06}"))
            + end
    })
}

/// All that is in a record, an entry to each thing.
fn contents(record: &Record) -> Vec<String> {
    let named = |id| record.name(id);
    let spans = record.spans().iter().map(|s| {
        let times = (s.start, s.end, s.reported);
        let names = (s.kind, named(s.name), s.track.map(named));
        format!(
            "{names:?} {times:?} {:?} {:?} {:?}",
            s.outcome, s.doubt, s.origin
        )
    });
    let marks = record.marks().iter();
    let marks = marks.map(|m| format!("{} {m:?}", named(m.name)));
    let messages = record.messages().iter();
    let messages = messages.map(|m| format!("{:?} {m:?}", record.text(m)));
    let notes = record.notes().iter().map(|n| format!("{n:?}"));
    let sources = record.sources().iter().map(|s| format!("{s:?}"));
    let all = spans.chain(marks).chain(messages);
    all.chain(notes).chain(sources).collect()
}

proptest! {
    /// What is read ahead, line by line on any thread, is what the reader would
    /// have read.
    #[test]
    fn reading_ahead_changes_nothing(lines in prop::collection::vec(any_line(), 100..400)) {
        let log = lines.concat();
        let ahead = {
            let mut recorder = Recorder::new();
            KernelLog.read(Input { name: "log", bytes: log.as_bytes() }, &mut recorder);
            recorder.finish()
        };
        let in_turn = {
            let mut recorder = Recorder::new();
            let source = recorder.source("log", "kernel-log");
            let mut reader = Reader::new(source);
            let last = KernelLog.boots(log.as_bytes()).pop();
            let begin = last.map_or(0, |b| b.start);
            for line in crate::text::lines(log.as_bytes()) {
                let origin = Origin { source, offset: line.offset };
                if line.offset < begin {
                    recorder.skipped(origin, &notes::EARLIER_BOOT);
                    continue;
                }
                match reader.line(&mut recorder, line.bytes, line.offset, None) {
                    Outcome::Kernel { .. } => recorder.took(source),
                    Outcome::Noted(kind) => recorder.skipped(origin, kind),
                    Outcome::Other => {
                        reader.unstamped(&mut recorder, line.bytes, origin, None);
                        recorder.took(source);
                    }
                }
            }
            reader.finish(&mut recorder);
            recorder.finish()
        };
        let (ahead, in_turn) = (contents(&ahead), contents(&in_turn));
        let different = ahead.iter().zip(&in_turn).find(|(a, b)| a != b);
        prop_assert_eq!(different, None);
        prop_assert_eq!(ahead.len(), in_turn.len());
    }
}

fn read(log: &str) -> Record {
    let mut recorder = Recorder::new();
    let bytes = log.as_bytes();
    KernelLog.read(Input { name: "log", bytes }, &mut recorder);
    recorder.finish()
}

/// RHEL 7 leaves out the number of systemd.
#[test]
fn systemd_in_a_syslog_may_have_no_number() {
    let record = read(
        "May  3 10:00:02 box rsyslogd: start\n\
         May  3 10:00:03 box systemd: Starting Network Manager...\n\
         May  3 10:00:06 box systemd: Started Network Manager.\n\
         May  3 10:00:13 box systemd: Startup finished in 2s (kernel) + 9s (userspace) = 11s.\n",
    );
    let at = |name| record.mark(name).map(|m| m.at.get() / 1_000_000_000);
    let end = at(mark::STARTUP_FINISHED).unwrap();
    assert_eq!(at(mark::USERSPACE_START), Some(end - 9));
    assert_eq!(record.spans().len(), 1);
}

#[test]
fn a_syslog_has_two_clocks_that_its_kernel_lines_relate() {
    // The daemon wrote the first lines 3 s late.
    let log = "May  3 10:00:05 box kernel: [    0.000000] Linux version 6.1\n\
        May  3 10:00:05 box kernel: [    2.500000] sda: found\n\
        May  3 10:00:05 box systemd[1]: Starting Network Manager...\n\
        May  3 10:00:06 box daemon.info systemd[1]: Started Network Manager.\n\
        May  3 10:00:12 box kernel: [   10.500000] eth0: up\n\
        May  3 10:00:13 box systemd[1]: Startup finished in 2.5s (kernel) + 9s (userspace) = 11.5s.\n";
    let record = read(log);
    let start = record.mark(mark::KERNEL_CLOCK_START).map(|m| m.at);
    let ms = |at: Option<record::Nanos>| at.zip(start).map(|(a, s)| (a - s).get() / 1_000_000);
    let units = record.spans();
    assert_eq!(units.len(), 1);
    assert_eq!(record.name(units[0].name), "NetworkManager.service");
    assert_eq!(
        (ms(units[0].start), ms(units[0].end)),
        (Some(3_500), Some(4_500))
    );
    // systemd's own total is exact.
    let end = record.mark(mark::STARTUP_FINISHED).map(|m| m.at);
    assert_eq!(ms(end), Some(11_500));
}

#[test]
fn a_journal_of_programs_alone_has_a_host() {
    let log = "[    1.900000] box systemd[1]: Starting Network Manager...\n\
        [    2.900000] box app[7]: words\n\
        [    3.400000] box systemd[1]: Started Network Manager.\n";
    let record = read(log);
    assert_eq!(record.spans().len(), 1);
    let clocks = record.clocks();
    assert!(clocks.iter().all(|c| c.kind == ClockKind::Monotonic));
    assert!(
        record
            .messages()
            .iter()
            .all(|m| !record.text(m).contains("box"))
    );
}

#[test]
fn lines_that_a_text_quotes_indented_are_the_kernels() {
    let text = "On this board the boot stalls:\n\n  [    2.101234] mmc0: new card\n\
        \x20 [    7.301234] mmc0: ready\n\nWhy?\n";
    assert_eq!(KernelLog.sniff(text.as_bytes()), Sniff::Maybe);
    let record = read(text);
    let times = record.messages().iter().filter_map(|m| m.at);
    assert_eq!(times.count(), 2);
    assert_eq!(KernelLog.sniff(b"  [    2.101234] alone\n"), Sniff::No);
    // A text that lost the blanks of a stamp may indent one line more than another.
    for text in [
        "[2.101234] mmc0: new card\n  [7.301234] mmc0: ready\n",
        "\t[2.101234] mmc0: new card\n  [7.301234] mmc0: ready\n  or so\n",
    ] {
        let record = read(text);
        let times = record.messages().iter().filter_map(|m| m.at);
        let times: Vec<_> = times.map(record::Nanos::get).collect();
        assert_eq!(times, [2_101_234_000, 7_301_234_000], "{text}");
    }
    let record = read("[    1.000000] a: table\n  [2.5] of versions\n");
    let times = record.messages().iter().filter(|m| m.at.is_some());
    assert_eq!(times.count(), 1);
    let text = "It takes long:\n\n  probe of a.usb returned 1 after 58941 usecs\n";
    assert_eq!(KernelLog.sniff(text.as_bytes()), Sniff::Maybe);
    let spans = read(text)
        .spans()
        .iter()
        .map(|s| s.reported.map(record::Nanos::get))
        .collect::<Vec<_>>();
    assert_eq!(spans, [Some(58_941_000)]);
}

#[test]
fn a_unit_that_fails_took_its_time_too() {
    let log = "Mar  3 10:00:01 box systemd[1]: Starting Wait for Network to be Configured...\n\
        Mar  3 10:02:01 box wait-online[9]: Connection timed out\n\
        Mar  3 10:02:01 box systemd[1]: Failed to start Wait for Network to be Configured.\n";
    let record = read(log);
    let span = record.spans()[0];
    let name = record.name(span.name);
    assert_eq!(name, "systemd-networkd-wait-online.service");
    let length = span.end.zip(span.start).map(|(end, start)| end - start);
    assert_eq!(length.map(record::Nanos::get), Some(120_000_000_000));
}

#[test]
fn a_counter_that_ran_before_the_kernel_is_told() {
    let notes = |log: &str| {
        let record = read(log);
        let of = |n: &&record::Note| n.kind.name == "counter_ran";
        record.notes().iter().filter(of).count()
    };
    let zeros =
        "[    0.000000] Linux version 3.10.0\n".to_owned() + &"[    0.000000] x\n".repeat(4);
    let jumps =
        format!("{zeros}[    2.561179] Calibrating delay loop (skipped)\n[    2.566109] x\n");
    assert_eq!(notes(&jumps), 1);
    assert_eq!(notes(&jumps.replace("2.56", "0.00")), 0);
    // Of a log with fewer such lines some are missing.
    let one = "[    0.000000] Linux version 3.10.0\n[    2.561179] Memory: 1024K\n";
    assert_eq!(notes(one), 0);
}

/// `printk.time=0`, and lines picked out of a log.
#[test]
fn durations_are_known_in_a_log_without_times() {
    let log = b"calling  a_init+0x0/0x10 @ 1\n\
        initcall a_init+0x0/0x10 returned 0 after 262555 usecs\n\
        initcall b_init+0x0/0x10 [b] returned -19 after 9 usecs\n\
        probe of 1c000.pcie returned 0 after 1076 usecs\n";
    let mut recorder = Recorder::new();
    KernelLog.read(
        Input {
            name: "log",
            bytes: log,
        },
        &mut recorder,
    );
    let record = recorder.finish();
    let spans = record.spans().iter();
    let spans: Vec<_> = spans
        .map(|s| {
            (
                record.name(s.name),
                s.start,
                s.end,
                s.reported.map(|r| r.get() / 1_000),
            )
        })
        .collect();
    assert_eq!(
        spans,
        [
            ("a_init", None, None, Some(262_555)),
            ("b_init [b]", None, None, Some(9)),
            ("1c000.pcie", None, None, Some(1_076)),
        ]
    );
}

/// Phases begin where `Freeing unused kernel memory` stood, where the second stage begins, or
/// nowhere: Ubuntu's init has the same name.
#[test]
fn androids_init_in_the_initramfs_is_userspace() {
    let starts = |lines: &str| {
        let log = format!(
            "[    0.000000] Linux version 3.4.0\n\
             [    2.000000] Freeing unused kernel memory: 300K\n{lines}"
        );
        let (_, record) = serial(&log);
        let at = |name| record.mark(name).map(|m| m.at.0 / 1_000_000);
        (at(mark::INITRD_START), at(mark::USERSPACE_START))
    };
    let old = "[    9.000000] init: /init.rc: 62: invalid command 'x'\n\
               [    9.500000] EXT4-fs (mmcblk0p9): mounted filesystem with ordered data mode\n";
    assert_eq!(starts(old), (None, Some(2_000)));
    let service = "[    2.700000] init: starting service 'ueventd'...\n";
    assert_eq!(starts(service), (None, Some(2_000)));
    let stages = "[    2.100000] init: init first stage started!\n\
                  [    2.200000] init: Parsing file /x\n\
                  [    2.600000] init: init second stage started!\n\
                  [    2.700000] init: starting service 'ueventd'...\n";
    assert_eq!(starts(stages), (Some(2_100), Some(2_600)));
    let container = "[    3.100000] EXT4-fs (mmcblk0p9): mounted filesystem with ordered data mode\n\
                     [    9.000000] init: starting service 'ueventd'...\n";
    assert_eq!(starts(container), (None, None));
    let upstart = "[    2.700000] init: plymouth-upstart-bridge main process ended, respawning\n";
    assert_eq!(starts(upstart), (None, None));
}
