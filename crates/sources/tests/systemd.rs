//! systemd's texts: others' samples, the corpus, and damaged input.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{assert_conserved, check_corpus, expected, read, sample, samples_in};
use firstlight_sources::systemd::{Analyze, Dump, Plot, Show, parse_time_line};
use firstlight_sources::{Input, Sniff, Source};
use proptest::prelude::*;
use record::{Nanos, Record, Recorder, SpanKind, mark};
use serde_json::Value;

fn us(value: &Value) -> Option<Nanos> {
    value.as_i64().map(Nanos::from_micros)
}

/// (name, start, end, reported) of each unit, relative to the mark `zero`.
type Row = (String, Option<Nanos>, Option<Nanos>, Option<Nanos>);

fn units(record: &Record, zero: Nanos) -> Vec<Row> {
    let spans = record.spans().iter();
    let units = spans.filter(|s| s.kind == SpanKind::Unit).map(|s| {
        let moved = |t: Option<Nanos>| t.map(|t| t - zero);
        let name = record.name(s.name).to_owned();
        (name, moved(s.start), moved(s.end), s.reported)
    });
    units.collect()
}

fn longest(mut rows: Vec<Row>, count: usize) -> Vec<(String, i64)> {
    rows.sort_by_key(|r| std::cmp::Reverse(r.3));
    rows.into_iter()
        .take(count)
        .map(|r| (r.0, r.3.unwrap().get() / 1_000))
        .collect()
}

fn names_and_us(rows: &Value) -> Vec<(String, i64)> {
    let rows = rows.as_array().unwrap().iter();
    rows.map(|r| (r[0].as_str().unwrap().to_owned(), r[1].as_i64().unwrap()))
        .collect()
}

#[test]
fn every_line_of_time_has_its_parts() {
    let mut seen = 0;
    for name in samples_in("systemd") {
        if !(name.ends_with("summary.txt") || name.ends_with("time-forms.txt")) {
            continue;
        }
        let (Some(bytes), Some(lines)) = (sample(&name), expected(&name)) else {
            return;
        };
        let text = String::from_utf8(bytes).unwrap();
        let text: Vec<&str> = text.lines().collect();
        for line in lines.as_array().unwrap() {
            let at = usize::try_from(line["line"].as_i64().unwrap()).unwrap() - 1;
            let times = parse_time_line(text[at]);
            if !text[at].starts_with("Startup") {
                assert_eq!(times, None, "{name} line {at}");
                continue;
            }
            let times = times.unwrap();
            assert_eq!(times.firmware, us(&line["firmware_us"]));
            assert_eq!(times.loader, us(&line["loader_us"]));
            assert_eq!(times.kernel, us(&line["kernel_us"]));
            assert_eq!(times.initrd, us(&line["initrd_us"]));
            assert_eq!(times.userspace, us(&line["userspace_us"]));
            assert_eq!(times.total, us(&line["total_us"]));
            seen += 1;
        }
    }
    assert!(seen == 0 || seen >= 20, "{seen} lines");
}

#[test]
fn the_first_line_of_the_forms_is_two_seconds_off() {
    let Some(bytes) = sample("systemd/time-forms.txt") else {
        return;
    };
    // The forms stand in one file, as boots after another.
    let boots = Analyze.boots(&bytes);
    let mut recorder = Recorder::new();
    let input = Input {
        name: "input",
        bytes: &bytes,
    };
    Analyze.read_boot(input, boots[0].clone(), &mut recorder);
    let record = recorder.finish();
    assert_conserved(&record);
    let note = |kind: &str| record.notes().iter().find(|n| n.kind.name == kind);
    let off = note("startup_parts_do_not_add_up").unwrap();
    assert_eq!(off.count, 1);
    assert!(off.detail.contains("difference 2.020 s"), "{}", off.detail);
    // Eight more sums and targets that belong to them.
    assert_eq!(note("several_boots").unwrap().count, 11);
    assert_eq!(
        record.mark(mark::INITRD_START).unwrap().at,
        Nanos(2_020_000)
    );
}

#[test]
fn blame_has_every_unit() {
    for name in samples_in("systemd") {
        if !name.ends_with("blame.txt") {
            continue;
        }
        let (Some(bytes), Some(oracle)) = (sample(&name), expected(&name)) else {
            return;
        };
        let record = read(&Analyze, &bytes);
        assert_conserved(&record);
        let rows = units(&record, Nanos::ZERO);
        assert_eq!(Some(rows.len() as u64), oracle["units"].as_u64(), "{name}");
        let sum = rows.iter().fold(Nanos::ZERO, |sum, r| sum + r.3.unwrap());
        assert_eq!(Some(sum), us(&oracle["sum_us"]), "{name}");
        assert_eq!(longest(rows, 5), names_and_us(&oracle["top5"]), "{name}");
        assert!(record.notes().is_empty(), "{:?}", record.notes());
    }
}

#[test]
fn the_critical_chain_has_every_row_and_its_parent() {
    for name in samples_in("systemd") {
        if !name.ends_with("chain.txt") {
            continue;
        }
        let (Some(bytes), Some(oracle)) = (sample(&name), expected(&name)) else {
            return;
        };
        let record = read(&Analyze, &bytes);
        assert_conserved(&record);
        let rows = units(&record, Nanos::ZERO);
        let chain = oracle["chain"].as_array().unwrap();
        assert_eq!(rows.len(), chain.len());
        for row in chain {
            let unit = row[0].as_str().unwrap();
            let (_, start, end, took) = rows.iter().find(|r| r.0 == unit).unwrap();
            assert_eq!(*start, us(&row[1]), "{unit}");
            assert_eq!(*took, us(&row[2]), "{unit}");
            assert_eq!(*end, Some(start.unwrap() + took.unwrap_or_default()));
        }
        // Each waits for the next one, which was done before it began.
        let end = |unit: &str| rows.iter().find(|r| r.0 == unit).unwrap().2.unwrap();
        let start = |unit: &str| rows.iter().find(|r| r.0 == unit).unwrap().1.unwrap();
        assert_eq!(record.dependencies().len(), chain.len() - 1);
        for (d, pair) in record.dependencies().iter().zip(chain.windows(2)) {
            let (from, to) = (record.name(d.from), record.name(d.to));
            assert_eq!(Some(from), pair[0][0].as_str());
            assert_eq!(Some(to), pair[1][0].as_str());
            assert!(
                end(to) <= start(from) + Nanos::from_millis(1),
                "{from} {to}"
            );
        }
    }
}

#[test]
fn plots_have_every_unit_and_phase() {
    for (name, phases) in [
        (
            "systemd/fedora32-bootup.svg",
            vec![
                (mark::POWER_ON, -17_881_820),
                ("loader-start", -7_898_700),
                (mark::KERNEL_CLOCK_START, 0),
                (mark::INITRD_START, 2_025_560),
                (mark::USERSPACE_START, 12_629_090),
                (mark::STARTUP_FINISHED, 38_695_240),
            ],
        ),
        (
            "systemd/rpi-zero-w-normal-plot.svg",
            vec![
                (mark::KERNEL_CLOCK_START, 0),
                (mark::USERSPACE_START, 3_525_600),
                (mark::STARTUP_FINISHED, 17_901_710),
            ],
        ),
    ] {
        let (Some(bytes), Some(oracle)) = (sample(name), expected(name)) else {
            return;
        };
        let record = read(&Plot, &bytes);
        assert_conserved(&record);
        let zero = record.mark(mark::KERNEL_CLOCK_START).unwrap().at;
        for (phase, at_us) in phases {
            let at = record.mark(phase).unwrap().at - zero;
            assert_eq!(at, Nanos::from_micros(at_us), "{name} {phase}");
        }
        let rows = units(&record, zero);
        assert_eq!(Some(rows.len() as u64), oracle["units"].as_u64());
        let printed = rows.iter().filter(|r| r.3.is_some()).count();
        assert_eq!(
            Some(printed as u64),
            oracle["units_with_printed_duration"].as_u64()
        );
        let sum = rows
            .iter()
            .filter_map(|r| r.3)
            .fold(Nanos::ZERO, |a, b| a + b);
        assert_eq!(Some(sum), us(&oracle["sum_printed_us"]));
        let earliest = rows.iter().filter_map(|r| r.1).min().unwrap();
        let pixels = oracle["earliest_unit_x_px"].as_f64().unwrap();
        assert_eq!(earliest, Nanos((pixels * 1e7).round() as i64));
        let last = rows.iter().max_by_key(|r| r.1).unwrap();
        assert_eq!(Some(last.0.as_str()), oracle["last_started_unit"].as_str());
        let apart = rows.iter().filter_map(|r| Some(r.2? - r.1? - r.3?));
        let apart = apart.map(|d| d.abs().get() / 1_000).max().unwrap();
        let most = oracle["max_abs_label_minus_rect_us"].as_f64().unwrap();
        assert_eq!(apart, most as i64);
        assert_eq!(longest(rows, 5), names_and_us(&oracle["top5"]));
        let machine = oracle["machine"].as_str().unwrap();
        assert!(machine.starts_with(record.fact("machine").unwrap()));
        assert!(machine.contains(record.fact("kernel.version").unwrap()));
    }
}

/// One boot of a virtual machine (Debian 12, systemd 252), printed in every
/// form: each says the same of the same unit, within its own step. The files
/// hold the tools' output less the properties and grid lines that nobody reads.
#[test]
fn one_boot_is_the_same_in_every_form() {
    let folder = common::workspace().join("corpus/systemd");
    let file = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let record_of = |source: &dyn Source, name: &str| read(source, &file(name));
    let zero = |record: &Record| record.mark(mark::KERNEL_CLOCK_START).unwrap().at;

    let show = record_of(&Show, "debian12.show");
    let plot = record_of(&Plot, "debian12.svg");
    let dump = record_of(&Dump, "debian12.dump");
    let text = record_of(&Analyze, "debian12.txt");
    let exact = units(&show, zero(&show));
    assert!(exact.len() > 20, "{} units", exact.len());
    for (other, record, step) in [
        ("plot", &plot, Nanos::from_micros(20)),
        ("dump", &dump, Nanos::from_millis(1_000)),
        ("text", &text, Nanos::from_millis(3)),
    ] {
        let rows = units(record, zero(record));
        let mut compared = 0;
        for (unit, start, end, reported) in &rows {
            // `systemctl show '*'` without --all leaves out what is done.
            let Some((_, exact_start, exact_end, _)) = exact.iter().find(|r| r.0 == *unit) else {
                continue;
            };
            for (found, exact) in [(start, exact_start), (end, exact_end)] {
                if let (Some(found), Some(exact)) = (found, exact) {
                    let off = (*found - *exact).abs();
                    assert!(off <= step, "{other} {unit}: {found} against {exact}");
                    compared += 1;
                }
            }
            if let (Some(reported), Some(start), Some(end)) = (reported, exact_start, exact_end) {
                let off = (*end - *start - *reported).abs();
                assert!(off <= Nanos::from_millis(1), "{other} {unit}: {reported}");
            }
        }
        assert!(compared >= 10, "{other}: {compared} times compared");
    }
    for name in [mark::USERSPACE_START, mark::STARTUP_FINISHED] {
        let at = |r: &Record| r.mark(name).unwrap().at - zero(r);
        assert!((at(&show) - at(&plot)).abs() <= Nanos::from_micros(20));
        assert!((at(&show) - at(&text)).abs() <= Nanos::from_millis(2));
        assert!((at(&show) - at(&dump)).abs() <= Nanos::from_millis(1_000));
    }
}

#[test]
fn the_chain_alone_joins_another_file_by_the_clock_of_userspace() {
    let mut recorder = Recorder::new();
    for (name, bytes) in [
        ("chain", &b"graphical.target @2.000s\n"[..]),
        (
            "time",
            b"Startup finished in 1.500s (kernel) + 2.100s (userspace) = 3.600s\n",
        ),
    ] {
        Analyze.read(Input { name, bytes }, &mut recorder);
    }
    let record = recorder.finish();
    assert_eq!(record.spans()[0].start, Some(Nanos(3_500_000_000)));
    assert!(record.notes().is_empty(), "{:?}", record.notes());
}

#[test]
fn the_start_of_userspace_is_not_taken_for_the_kernels_zero() {
    let mut recorder = Recorder::new();
    for (source, bytes) in [
        (&Analyze as &dyn Source, &b"graphical.target @2.000s\n"[..]),
        (
            &firstlight_sources::kernel_log::KernelLog,
            b"[    0.000000] Linux version 6.1.0\n[    1.500000] Run /sbin/init as init process\n",
        ),
    ] {
        source.read(
            Input {
                name: "input",
                bytes,
            },
            &mut recorder,
        );
    }
    let record = recorder.finish();
    let kinds: Vec<&str> = record.notes().iter().map(|n| n.kind.name).collect();
    assert!(kinds.contains(&"clock_unrelated"), "{kinds:?}");
    assert!(!kinds.contains(&"clocks_taken_as_equal"), "{kinds:?}");
}

#[test]
fn a_line_that_was_cut_behind_the_kernel_ends_with_it() {
    let record = read(&Analyze, b"Startup finished in 1min 2.500s (kernel)\n");
    let end = record.mark(mark::STARTUP_FINISHED).map(|m| m.at);
    assert_eq!(end, Some(Nanos::from_millis(62_500)));
}

#[test]
fn a_line_that_a_mail_broke_is_one() {
    let text = b"> Startup finished in 1s (firmware) + 2s (kernel)\n>    + 3s (userspace)\n\
        > = 6s\n> graphical.target reached after 2s in userspace\n";
    let record = read(&Analyze, text);
    let end = record.mark(mark::STARTUP_FINISHED).map(|m| m.at);
    assert_eq!(end, Some(Nanos::from_millis(6_000)));
    assert!(record.mark("graphical.target").is_some());
    assert_conserved(&record);
    // Wherever it broke, also where it is the only line.
    for text in [
        "Startup finished in 1s (kernel) + 5s\n(userspace) = 6s\n",
        "Startup finished in 1s (kernel) +\n5s (userspace) = 6s\n",
        "Startup finished in 1s (kernel) + 5s (userspace) =\n6s\n",
    ] {
        assert_eq!(Analyze.sniff(text.as_bytes()), Sniff::Yes, "{text}");
        let record = read(&Analyze, text.as_bytes());
        let end = record.mark(mark::STARTUP_FINISHED).map(|m| m.at);
        assert_eq!(end, Some(Nanos::from_millis(6_000)), "{text}");
        assert_conserved(&record);
    }
}

#[test]
fn a_label_before_what_systemd_says_is_passed_over() {
    let text = "  # with plymouth: Startup finished in 1s (kernel) + 5s (userspace) = 6s\n";
    assert_eq!(Analyze.sniff(text.as_bytes()), Sniff::Yes);
    let record = read(&Analyze, text.as_bytes());
    let end = record.mark(mark::STARTUP_FINISHED).map(|m| m.at);
    assert_eq!(end, Some(Nanos::from_millis(6_000)));
}

#[test]
fn a_root_that_a_page_joined_to_its_first_branch_keeps_its_seconds() {
    let text = "graphical.target @1min 9.5s└─multi-user.target @1min 9.4s\n\
        \x20 └─a.service @5s +4s\n";
    let record = read(&Analyze, text.as_bytes());
    let at = |name| record.mark(name).map(|m| m.at);
    assert_eq!(at("graphical.target"), Some(Nanos::from_millis(69_500)));
    assert_eq!(record.dependencies().len(), 2);
}

#[test]
fn a_container_has_no_kernel_phase() {
    let text = "Version=252\nVirtualization=systemd-nspawn\nKernelTimestampMonotonic=0\n\
                UserspaceTimestampMonotonic=900000000\nFinishTimestampMonotonic=901000000\n\n\
                Id=a.service\nInactiveExitTimestampMonotonic=900100000\n\
                ActiveEnterTimestampMonotonic=900300000\n";
    let record = read(&Show, text.as_bytes());
    assert!(record.mark(mark::KERNEL_CLOCK_START).is_none());
    assert_eq!(record.zero(), mark::USERSPACE_START);
    assert_eq!(record.spans()[0].start, Some(Nanos::from_millis(100)));
}

/// The manager's own scope is asked first, because each later answer adds to its time.
#[test]
fn of_a_unit_that_is_told_twice_the_first_answer_counts() {
    let scope = |cpu: u64| {
        format!(
            "Id=init.scope\nCPUUsageNSec={cpu}\nInactiveExitTimestampMonotonic=2000000\n\
             ActiveEnterTimestampMonotonic=2000000\n\n"
        )
    };
    let other = scope(9).replace("init.scope", "a.service");
    let text = format!("{}{other}{}", scope(800_000_000), scope(1_700_000_000));
    let record = read(&Show, text.as_bytes());
    assert_conserved(&record);
    let units = record.spans().iter().filter(|s| s.kind == SpanKind::Unit);
    let units: Vec<_> = units
        .map(|s| (record.name(s.name), s.processor.unwrap().get()))
        .collect();
    assert_eq!(units, [("init.scope", 800_000_000), ("a.service", 9)]);
}

#[test]
fn the_corpus_gives_what_it_gave() {
    check_corpus("systemd");
}

const FORMS: [(&dyn Source, &str); 4] = [
    (&Show, "small.show"),
    (&Plot, "small.svg"),
    (&Dump, "small.dump"),
    (&Analyze, "small.txt"),
];

proptest! {
    #[test]
    fn damage_is_counted_and_never_fatal(
        form in 0..FORMS.len(),
        damages in proptest::collection::vec(common::damage(), 0..8),
    ) {
        let (source, name) = FORMS[form];
        let path = common::workspace().join("corpus/systemd").join(name);
        let mut bytes = std::fs::read(path).unwrap();
        for damage in &damages {
            bytes = damage.apply(&bytes);
        }
        let record = read(source, &bytes);
        assert_conserved(&record);
        // Whatever one source was written for, all survive.
        for other in firstlight_sources::SOURCES {
            other.sniff(&bytes);
            assert_conserved(&read(*other, &bytes));
        }
        if name.ends_with(".txt") {
            prop_assert_eq!(record.sources()[0].units, common::lines(&bytes));
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        for source in firstlight_sources::SOURCES {
            source.sniff(&bytes);
            assert_conserved(&read(*source, &bytes));
        }
    }
}

fn of_text(source: &dyn Source, text: &str) -> Record {
    let mut recorder = Recorder::new();
    let bytes = text.as_bytes();
    source.read(Input { name: "x", bytes }, &mut recorder);
    let record = recorder.finish();
    assert_conserved(&record);
    record
}

/// What systemd printed is what is told: the parts are each cut to a millisecond.
#[test]
fn the_end_is_the_total_as_systemd_printed_it() {
    let line =
        "Startup finished in 1.002s (loader) + 978ms (kernel) + 11.894s (userspace) = 13.876s\n";
    let record = of_text(&Analyze, line);
    let end = record.mark(mark::STARTUP_FINISHED).unwrap().at;
    let begin = record.mark("loader-start").unwrap().at;
    assert_eq!(end - begin, Nanos::from_millis(13_876));
}

#[test]
fn a_journal_of_lines_ends_when_systemd_says_so() {
    let log = "Nov 22 10:00:05 pc kernel: Linux version 6.1\n\
               Nov 22 10:00:05 pc systemd[1]: systemd 252 running in system mode\n\
               Nov 22 10:00:10 pc systemd[1]: Startup finished in 2.5s (kernel) + 10.153s (userspace) = 12.653s.\n";
    let record = of_text(&firstlight_sources::kernel_log::KernelLog, log);
    let end = record.mark(mark::STARTUP_FINISHED).unwrap().at;
    let begin = record.mark(mark::KERNEL_CLOCK_START).unwrap().at;
    assert_eq!(end - begin, Nanos::from_millis(12_653));
    // Without any stamp, too (`journalctl -o cat`).
    let bare = "Linux version 6.1\n\
                Startup finished in 2.5s (kernel) + 10.153s (userspace) = 12.653s.\n";
    let record = of_text(&firstlight_sources::kernel_log::KernelLog, bare);
    let end = record.mark(mark::STARTUP_FINISHED).unwrap().at;
    assert_eq!(end, Nanos::from_millis(12_653));
}

#[test]
fn of_several_boots_in_one_text_the_last_is_read() {
    let text = "Startup finished in 1s (kernel) + 2s (userspace) = 3s\n\
                Startup finished in 1s (kernel) + 5s (userspace) = 6s\n";
    let record = of_text(&Analyze, text);
    let end = record.mark(mark::STARTUP_FINISHED).unwrap().at;
    assert_eq!(end, Nanos::from_millis(6_000));
    assert_eq!(Analyze.boots(text.as_bytes()).len(), 2);
}

#[test]
fn a_chain_alone_has_a_userspace_and_an_end() {
    for chain in [
        "graphical.target @9s\n└─a.service @5s +3s\n  └─b.service @1s +2s\n",
        "graphical.target @9s\n--a.service @5s +3s\n----b.service @1s +2s\n",
        "graphical.target@9s\n└─a.service@5s+3s\n└─b.service@1s+2s\n",
        "> graphical.target @9s\n> └─a.service @5s +3s\n>   └─b.service @1s +2s\n",
    ] {
        let record = of_text(&Analyze, chain);
        assert_eq!(record.dependencies().len(), 2, "{chain}");
        assert_eq!(
            record.mark("graphical.target").unwrap().at,
            Nanos::from_millis(9_000)
        );
        assert_eq!(record.mark(mark::USERSPACE_START).unwrap().at, Nanos::ZERO);
    }
}

/// Pages keep the drawing, and change how far it is indented.
#[test]
fn an_indentation_that_a_page_changed_is_followed() {
    let tidy = of_text(
        &Analyze,
        "a.target @9s\n└─b.service @5s +4s\n  └─c.target @2s\n    └─d.target @1s\n",
    );
    for page in [
        "a.target @9s\n   └─b.service @5s +4s\n    └─c.target @2s\n         └─d.target @1s\n",
        "      a.target @9s\n      └─b.service @5s +4s\n      └─c.target @2s\n      └─d.target @1s\n",
        "a.target @9s\n└─**b.service @5s +4s  :(**\n  └─c.target @2s  <- here\n    └─d.target @1s\n",
    ] {
        let read = of_text(&Analyze, page);
        assert_eq!(units(&tidy, Nanos::ZERO), units(&read, Nanos::ZERO));
        let pairs = |record: &Record| -> Vec<(String, String)> {
            let name = |n| record.name(n).to_owned();
            let all = record.dependencies().iter();
            all.map(|d| (name(d.from), name(d.to))).collect()
        };
        assert_eq!(pairs(&tidy), pairs(&read), "{page}");
    }
}

#[test]
fn two_units_of_one_level_wait_for_neither() {
    let text = "a.target @9s\n├─b.service @5s +4s\n│ └─d.target @1s\n└─c.service @2s +1s\n  \
                └─e.target @1s\nother.target @3s\n└─f.target @2s\n";
    let record = of_text(&Analyze, text);
    let name = |n| record.name(n);
    let all = record.dependencies().iter();
    let pairs: Vec<_> = all.map(|d| (name(d.from), name(d.to))).collect();
    assert_eq!(
        pairs,
        [
            ("a.target", "b.service"),
            ("b.service", "d.target"),
            ("a.target", "c.service"),
            ("c.service", "e.target"),
            ("other.target", "f.target"),
        ]
    );
}

/// systemd 245 gave units of the initrd the wall clock.
#[test]
fn a_start_of_years_is_a_doubt() {
    let text = "2y 11month 3w 5d 8h 7min 53.958s a.service\n\
                \x20                          1.102s b.service\n";
    let record = of_text(&Analyze, text);
    assert_conserved(&record);
    let units = units(&record, Nanos::ZERO);
    assert_eq!(units.len(), 1);
    assert_eq!(units[0].0, "b.service");
    let notes: Vec<_> = record.notes().iter().map(|n| n.kind.name).collect();
    assert!(notes.contains(&"time_of_unit_impossible"), "{notes:?}");
}

#[test]
fn a_unit_that_a_chain_was_asked_for_begins_where_its_row_ends() {
    let text = "x@y:/$ systemd-analyze critical-chain app.service\n\
                app.service +400ms\n\
                └─net.target @8.5s\n\
                \x20 └─net.service @5s +3.5s\n";
    let record = of_text(&Analyze, text);
    let units = units(&record, Nanos::ZERO);
    let app = units.iter().find(|u| u.0 == "app.service").unwrap();
    let ms = |t: Option<Nanos>| t.map(|t| t.get() / 1_000_000);
    assert_eq!((ms(app.1), ms(app.2)), (Some(8_500), Some(8_900)));
    // The chain ends with it.
    assert_eq!(ms(record.mark("app.service").map(|m| m.at)), Some(8_900));
    assert_eq!(record.dependencies().len(), 2);
}

/// `blame` counts a device from the start of systemd, and the chain tells when it appeared.
#[test]
fn a_device_of_a_chain_is_a_moment_whatever_blame_says() {
    let text = "9s dev-sdb1.device\n\
                2s app.service\n\
                app.service @9.1s +2s\n\
                └─dev-sdb1.device @9s\n";
    let record = of_text(&Analyze, text);
    let units = units(&record, Nanos::ZERO);
    let device = units.iter().find(|u| u.0 == "dev-sdb1.device").unwrap();
    let s = |t: Option<Nanos>| t.map(|t| t.get() / 1_000_000_000);
    assert_eq!(
        (s(device.1), s(device.2), s(device.3)),
        (Some(9), Some(9), Some(9))
    );
}

#[test]
fn a_page_may_have_taken_the_drawing_apart() {
    let tidy = of_text(
        &Analyze,
        "a.target @9s\n└─b.service @5s +4s\n  └─c.target @2s\n",
    );
    let spaced = of_text(
        &Analyze,
        "a.target    @9s\n└─ b.service  @5s +4s\n└─ c.target @2s\n",
    );
    assert_eq!(units(&tidy, Nanos::ZERO), units(&spaced, Nanos::ZERO));
    assert_eq!(tidy.dependencies().len(), spaced.dependencies().len());
}

/// What somebody wrote about a slow boot.
const POST: &str = "My machine is slow, who can help?
    It was fast last year.

$ systemd-analyze blame
  12.5s old.service
   300ms b.service

| # | Unit | Time | Why |
|---|------|------|-----|
| 1 | `c.service` | 2.5s | who knows? |

[    1.000000] usb 1-1: new device
[   21.000000] EXT4-fs (sda1): mounted filesystem with ordered data mode
Mar 02 10:11:12 pc systemd[1]: Reached target Later.
Mar 02 10:11 I went to bed

[***   ] Job dev-x.device/start running (20s / 1min 30s)
";

#[test]
fn a_log_in_a_post_is_read_beside_what_systemd_says() {
    let source = firstlight_sources::sniff(POST.as_bytes()).unwrap();
    assert_eq!(source.name(), "systemd-analyze");
    let record = read(source, POST.as_bytes());
    let rows = longest(units(&record, Nanos::ZERO), 9);
    let rows: Vec<_> = rows.iter().map(|(name, us)| (name.as_str(), *us)).collect();
    assert_eq!(
        rows,
        [
            ("old.service", 12_500_000),
            ("c.service", 2_500_000),
            ("b.service", 300_000)
        ]
    );
    let formats: Vec<&str> = record.sources().iter().map(|s| s.format).collect();
    assert_eq!(formats, ["systemd-analyze", "kernel-log", "console"]);
    let texts: Vec<&str> = record.messages().iter().map(|m| record.text(m)).collect();
    assert_eq!(texts.len(), 4, "{texts:?}");
    assert!(texts.iter().all(|t| !t.contains("bed")));
    assert_conserved(&record);
}

#[test]
fn words_count_only_without_an_output() {
    let text = "Only old.service takes 12s on this machine.\nKernel: 2s\nUserspace: 14s\n";
    let source = firstlight_sources::sniff(text.as_bytes()).unwrap();
    assert_eq!(source.name(), "systemd-analyze");
    let record = read(source, text.as_bytes());
    let rows = longest(units(&record, Nanos::ZERO), 9);
    assert_eq!(rows, [("old.service".to_owned(), 12_000_000)]);
    assert_eq!(
        record.mark(mark::STARTUP_FINISHED).unwrap().at,
        Nanos(16_000_000_000)
    );
    // What was printed says more than what is told of it.
    let both =
        format!("{text}Startup finished in 3s (kernel) + 9s (userspace) = 12s\n  8s b.service\n");
    let record = read(source, both.as_bytes());
    assert_eq!(units(&record, Nanos::ZERO).len(), 1);
    assert_eq!(
        record.mark(mark::STARTUP_FINISHED).unwrap().at,
        Nanos(12_000_000_000)
    );
    assert_conserved(&record);
    let long = format!(
        "{}An aside: old.service takes 12s.\n",
        "Words of a manual.\n".repeat(40)
    );
    assert!(firstlight_sources::sniff(long.as_bytes()).is_none());
    assert!(firstlight_sources::sniff(b"A story.\nKernel: 2s\nabout a.service\n").is_none());
}
