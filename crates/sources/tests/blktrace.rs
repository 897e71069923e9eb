//! blktrace files and the text of blkparse: traces whose truth is known, real
//! ones, other tools' findings, and damaged input.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::blktrace::{Form, LITTLE, Trace, Truth, category::*, life};
use common::{assert_conserved, check_corpus, expected_captures, read, sample};
use firstlight_sources::blkparse::Blkparse;
use firstlight_sources::blktrace::Blktrace;
use firstlight_sources::{Input, Sniff, Source};
use proptest::prelude::*;
use record::{Nanos, Operation, Record, Recorder, Request};
use std::collections::BTreeMap;
use std::process::Command;

const FORMS: [Form; 4] = [
    LITTLE,
    Form {
        big_endian: true,
        version: 7,
    },
    Form {
        big_endian: false,
        version: 8,
    },
    Form {
        big_endian: true,
        version: 8,
    },
];

fn read_files(files: &[Vec<u8>]) -> Record {
    let names: Vec<String> = (0..files.len())
        .map(|i| format!("t.blktrace.{i}"))
        .collect();
    let inputs: Vec<Input<'_>> = names
        .iter()
        .zip(files)
        .map(|(name, bytes)| Input { name, bytes })
        .collect();
    let mut recorder = Recorder::new();
    Blktrace.read_all(&inputs, &mut recorder);
    let record = recorder.finish();
    assert_conserved(&record);
    record
}

/// What a record says of each operation, in the words of the truth.
fn found(record: &Record) -> BTreeMap<&'static str, Truth> {
    let mut all: BTreeMap<&'static str, Truth> = BTreeMap::new();
    for (operation, t) in record.request_totals() {
        let truth = all.entry(operation.as_str()).or_default();
        truth.requests = t.requests;
        truth.bytes = t.bytes;
        truth.service = t.service.get();
        truth.service_from_last = t.service_from_last.get();
    }
    for (_, operation, e) in record.request_events() {
        let truth = all.entry(operation.as_str()).or_default();
        truth.issued += e.issued.count;
        truth.completed += e.completed.count;
        truth.merged += e.merged.count;
        truth.requeued += e.requeued.count;
    }
    all
}

fn notes(record: &Record) -> BTreeMap<&'static str, u64> {
    let mut all = BTreeMap::new();
    for note in record.notes() {
        *all.entry(note.kind.name).or_default() += note.count;
    }
    all
}

/// Everything of requests but where the evidence stands.
fn requests(record: &Record) -> Vec<String> {
    let show = |r: &Request| {
        let task = r.task.map_or("", |t| record.name(t));
        let (q, i, c) = (r.queued.get(), r.issued.get(), r.completed.get());
        let again = r.reissued.get();
        format!(
            "{} {} {}+{} {q:?} {i:?} {again:?} {c:?} {} {} {:?} {task}",
            r.device,
            r.operation.as_str(),
            r.sector,
            r.bytes,
            r.merged,
            r.error,
            r.pid
        )
    };
    let mut all: Vec<String> = record.requests().iter().map(show).collect();
    all.sort();
    all
}

const QUIET: [&str; 7] = [
    "flush_ended",
    "get_request_event",
    "issued_again",
    "plug_event",
    "request_failed",
    "requeued",
    "processor_files_missing",
];

#[test]
fn every_form_of_a_trace_gives_what_is_true_of_it() {
    let trace = life(800, 4);
    let mut all = None;
    for form in FORMS {
        for files in [
            trace.files(form),
            vec![trace.merged(form)],
            vec![trace.by_buffers(form, 50)],
        ] {
            let record = read_files(&files);
            assert_eq!(found(&record), trace.truth, "{form:?}");
            let requests = requests(&record);
            assert_eq!(
                all.get_or_insert_with(|| requests.clone()),
                &requests,
                "{form:?}"
            );
            let odd: Vec<_> = notes(&record)
                .into_keys()
                .filter(|kind| !QUIET.contains(kind))
                .collect();
            assert_eq!(odd, [""; 0], "{form:?}");
        }
    }
}

#[test]
fn a_request_says_who_asked_and_what_became_of_it() {
    let mut t = Trace::new(2);
    t.process(77, "asker");
    t.process(3, "kworker/1:1H");
    let asked = t.event(1, QUEUE | WRITE | SYNC, (64, 4096), 77);
    t.event(1, QUEUE | WRITE, (72, 4096), 77);
    t.event(2, QUEUE | WRITE, (72, 4096), 77);
    let issued = t.event(7, ISSUE | FS | WRITE | SYNC, (64, 8192), 3);
    t.event(6, REQUEUE | FS | WRITE | SYNC, (64, 8192), 0);
    let again = t.event(7, ISSUE | FS | WRITE | SYNC, (64, 8192), 3);
    let done = t.event_with(8, COMPLETE | FS | WRITE | SYNC, (64, 8192), 0, &[], -5);
    let record = read_files(&t.files(LITTLE));
    let [r] = record.requests() else {
        panic!("{:?}", record.requests())
    };
    let zero = record.mark("block-trace-start").unwrap().at;
    assert_eq!(zero, Nanos::ZERO);
    let since = |t: i64| Some(Nanos(t - asked));
    assert_eq!(
        (r.queued.get(), r.issued.get()),
        (since(asked), since(issued))
    );
    assert_eq!(
        (r.reissued.get(), r.completed.get()),
        (since(again), since(done))
    );
    assert_eq!((r.sector, r.bytes, r.merged), (64, 8192, 1));
    assert_eq!((r.error, r.pid), (-5, Some(77)));
    assert_eq!(record.name(r.task.unwrap()), "asker");
    assert_eq!(r.device.to_string(), "8:52");
    assert!(r.sync && !r.read_ahead && !r.metadata);
    assert_eq!(record.clock().unwrap().name, "monotonic");
}

#[test]
fn the_real_capture_gives_its_expected_values() {
    let Some(expected) = expected_captures("blktrace/keks") else {
        return;
    };
    let files: Option<Vec<Vec<u8>>> = (0..8)
        .map(|i| sample(&format!("blktrace/keks.blktrace.{i}")))
        .collect();
    let Some(files) = files else { return };
    let record = read_files(&files);
    let raw = &expected["raw"];
    let units: u64 = record.sources().iter().map(|s| s.units).sum();
    assert_eq!(units, raw["records"].as_u64().unwrap());
    for (key, both) in raw["by_action_and_direction"].as_object().unwrap() {
        let (action, direction) = key.split_once(' ').unwrap();
        let mut sum = (0, 0);
        for (_, operation, e) in record.request_events() {
            let tally = if action == "C" { e.completed } else { e.issued };
            if operation.as_str() == direction {
                sum = (sum.0 + tally.count, sum.1 + tally.bytes / 1024);
            }
        }
        let both = (both[0].as_u64().unwrap(), both[1].as_u64().unwrap());
        assert_eq!(sum, both, "{key}");
    }
    let of_data = |o: Operation| o != Operation::Flush;
    let (mut served, mut first, mut last) = (0, 0, 0);
    for (operation, t) in record.request_totals() {
        if of_data(operation) {
            served += t.served;
            first += t.service.get();
            last += t.service_from_last.get();
        }
    }
    assert_eq!(served, raw["d2c_matched"].as_u64().unwrap());
    let mean = |sum: i64| (sum as f64 / served as f64).round() as i64;
    assert_eq!(
        mean(first),
        raw["d2c_first_dispatch_avg_ns"].as_i64().unwrap()
    );
    assert_eq!(
        mean(last),
        raw["d2c_last_dispatch_avg_ns"].as_i64().unwrap()
    );
    let again = record
        .requests()
        .iter()
        .filter(|r| r.reissued.get().is_some());
    assert_eq!(
        again.count() as u64,
        raw["dispatched_more_than_once"].as_u64().unwrap()
    );
}

/// Runs a tool on the files of a trace; `None` with a line where it is not there.
fn tool(program: &str, args: &[&str], files: &[Vec<u8>]) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    for (i, bytes) in files.iter().enumerate() {
        std::fs::write(dir.path().join(format!("t.blktrace.{i}")), bytes).unwrap();
    }
    let run = Command::new(program)
        .args(args)
        .current_dir(dir.path())
        .output();
    let Ok(output) = run else {
        eprintln!("skipped: {program} not there (apt-get install blktrace)");
        return None;
    };
    assert!(output.status.success(), "{program}: {output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn blkparse_finds_the_same_in_generated_traces() {
    let trace = life(400, 3);
    for big_endian in [false, true] {
        let form = Form {
            big_endian,
            version: 7,
        };
        let files = trace.files(form);
        let Some(text) = tool("blkparse", &["-i", "t"], &files) else {
            return;
        };
        let binary = read_files(&files);
        let record = read(&Blkparse, text.as_bytes());
        assert_conserved(&record);
        // The text has no fractions of sectors: a command of 36 bytes keeps
        // its size, for it is printed in bytes.
        assert_eq!(found(&record), found(&binary), "{form:?}");
        assert_eq!(record.requests().len(), binary.requests().len());
        let odd: Vec<_> = notes(&record)
            .into_keys()
            .filter(|k| !QUIET.contains(k) && *k != "blank_line" && *k != "summary_line")
            .collect();
        assert_eq!(odd, [""; 0]);

        // Its sums, which count discards as writes and flushes as reads.
        let sum = |label: &str| {
            let mut lines = text.lines().filter(|l| l.contains(label));
            let last = lines.next_back().unwrap();
            let rest = last.split_once(label).unwrap().1;
            let count = rest.trim_start().split(',').next().unwrap();
            count.trim().parse::<u64>().unwrap()
        };
        let truth = |operation: &str| trace.truth[operation];
        let (read, write) = (truth("read"), truth("write"));
        let (flush, discard) = (truth("flush"), truth("discard"));
        for (label, ours) in [
            ("Read Dispatches:", read.issued + flush.issued),
            ("Write Dispatches:", write.issued + discard.issued),
            ("Reads Completed:", read.completed + flush.completed),
            ("Writes Completed:", write.completed + discard.completed),
            ("Read Merges:", read.merged),
        ] {
            assert_eq!(sum(label), ours, "{label}");
        }
    }
}

#[test]
fn btt_finds_the_same_latency() {
    // Without what btt counts in another way: flushes, commands, requests that
    // are issued twice, split or done in parts.
    let mut t = Trace::new(2);
    let mut sum = 0;
    let mut open = Vec::new();
    for i in 0..100_u64 {
        let place = (i * 800 + 64, 8192);
        t.event(1, QUEUE | READ, place, 100);
        t.event(4, QUEUE | READ, place, 100);
        t.event(12, QUEUE | FS | READ, place, 100);
        open.push((place, t.event(7, ISSUE | FS | READ, place, 100)));
        if open.len() > 5 {
            let which = t.random(open.len() as u64) as usize;
            let (place, issued) = open.swap_remove(which);
            sum += t.event(8, COMPLETE | FS | READ, place, 0) - issued;
        }
    }
    for (place, issued) in open {
        sum += t.event(8, COMPLETE | FS | READ, place, 0) - issued;
    }
    let files = t.files(LITTLE);
    let record = read_files(&files);
    let totals = record.request_totals().next().unwrap().1;
    assert_eq!((totals.served, totals.service.get()), (100, sum));

    // btt reads what blkparse merged.
    let script = "blkparse -q -O -i t -d t.bin >/dev/null && btt -i t.bin";
    let Some(()) = tool("blkparse", &["-V"], &[]).map(|_| ()) else {
        return;
    };
    let text = tool("sh", &["-c", script], &files).unwrap();
    let line = text.lines().find(|l| l.starts_with("D2C")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    // Name, minimum, mean, maximum in seconds, and how many.
    assert_eq!(cells[4], "100");
    let mean: f64 = cells[2].parse().unwrap();
    let ours = totals.service.get() as f64 / 100.0 / 1e9;
    assert!((mean - ours).abs() < 1e-9, "{mean} {ours}");
}

#[test]
fn what_blkparse_dumps_is_read_on_a_clock_of_its_own() {
    let trace = life(100, 2);
    let files = trace.files(LITTLE);
    let script = "blkparse -q -O -i t -d t.bin >/dev/null && base64 -w0 t.bin";
    let Some(()) = tool("blkparse", &["-V"], &[]).map(|_| ()) else {
        return;
    };
    let text = tool("sh", &["-c", script], &files).unwrap();
    let dump = from_base64(&text);
    let record = read(&Blktrace, &dump);
    assert_conserved(&record);
    assert_eq!(found(&record), trace.truth);
    assert_eq!(record.clock().unwrap().name, "input");
    assert_eq!(notes(&record)["times_from_first_event"], 1);
}

#[test]
fn two_dumps_keep_the_names_of_their_processes() {
    // From zero, as `blkparse -d` writes them: each is a trace of its own.
    let dump = |names: [&str; 2]| {
        let mut t = Trace::new(1);
        for (pid, name) in (7..).zip(names) {
            t.process(pid, name);
        }
        for pid in [7, 8] {
            t.event(1, QUEUE | FS | READ, (u64::from(pid) * 8, 4096), pid);
        }
        let events = t.entries.iter().filter(|e| e.pid != 0 && e.bytes > 0);
        let zero = events.map(|e| e.time).min().unwrap();
        for entry in &mut t.entries {
            entry.time = entry.time.saturating_sub(zero);
        }
        t.merged(LITTLE)
    };
    let record = read_files(&[dump(["first", "second"]), dump(["first", "third"])]);
    assert_eq!(notes(&record)["times_from_first_event"], 2);
    let names = record.requests().iter().filter_map(|r| r.task);
    let mut names: Vec<&str> = names.map(|t| record.name(t)).collect();
    names.sort_unstable();
    assert_eq!(names, ["first", "first", "second", "third"]);
}

fn from_base64(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.bytes().filter(|b| *b != b'=') {
        let value = alphabet.iter().position(|a| *a == byte).unwrap() as u32;
        bits = bits << 6 | value;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}

#[test]
fn losses_are_noted() {
    let trace = life(100, 2);
    let mut files = trace.files(LITTLE);
    // Three records out of the middle of one processor's.
    let mut without = trace.entries.clone();
    let cpu_0: Vec<usize> = (0..without.len())
        .filter(|&i| without[i].cpu == 0 && without[i].sequence > 0)
        .collect();
    for &i in cpu_0[20..23].iter().rev() {
        without.remove(i);
    }
    files[0] = without
        .iter()
        .filter(|e| e.cpu == 0)
        .flat_map(|e| e.bytes(LITTLE))
        .collect();
    assert_eq!(notes(&read_files(&files))["events_missing"], 3);

    // Garbage between records, and a cut at the end.
    let whole = trace.files(LITTLE);
    let mut damaged = whole.clone();
    let at = trace.entries.iter().filter(|e| e.cpu == 0).take(5);
    let at: usize = at.map(|e| e.bytes(LITTLE).len()).sum();
    damaged[0].splice(at..at, [0; 100]);
    let record = read_files(&damaged);
    assert_eq!(notes(&record)["not_a_trace_record"], 1);
    assert_eq!(found(&record), trace.truth);
    let mut cut = whole.clone();
    cut[1].truncate(whole[1].len() - 10);
    assert_eq!(notes(&read_files(&cut))["truncated"], 1);

    // A file that is not there.
    let mut recorder = Recorder::new();
    let inputs = [("t.blktrace.0", &whole[0]), ("t.blktrace.3", &whole[1])];
    let inputs = inputs.map(|(name, bytes)| Input { name, bytes });
    Blktrace.read_all(&inputs, &mut recorder);
    let record = recorder.finish();
    let note = record
        .notes()
        .iter()
        .find(|n| n.kind.name == "processor_files_missing");
    assert_eq!(
        note.unwrap().detail,
        "2 missing from t.blktrace.*, the first is 1"
    );
}

#[test]
fn an_event_whose_time_is_damaged_is_left_out() {
    let trace = life(200, 1);
    let mut entries = trace.entries.clone();
    let notices = entries
        .iter()
        .filter(|e| e.categories & NOTIFY != 0)
        .count();
    for (i, flip) in [(50, 1 << 62), (90, 1 << 32)] {
        entries[notices + i].time ^= flip;
    }
    let file = entries.iter().flat_map(|e| e.bytes(LITTLE)).collect();
    let record = read_files(&[file]);
    assert_eq!(notes(&record)["time_out_of_step"], 2);
    let worst = record.requests().iter().filter_map(Request::service).max();
    assert!(worst.unwrap() < Nanos(10_000_000_000));
}

#[test]
fn a_trace_without_completions_does_not_fill_memory() {
    let mut t = Trace::new(1);
    for i in 0..150_000 {
        t.event(7, ISSUE | FS | READ, (i % 100_000 * 8, 4096), 1);
    }
    let record = read_files(&t.files(LITTLE));
    assert_eq!(record.request_totals().next().unwrap().1.requests, 150_000);
    let notes = notes(&record);
    assert!(notes["too_many_open_requests"] > 0);
    assert_eq!(
        notes["too_many_open_requests"] + notes["never_completed"],
        150_000
    );
}

#[test]
fn both_formats_are_known_by_their_first_bytes() {
    let trace = life(20, 2);
    for form in FORMS {
        assert_eq!(Blktrace.sniff(&trace.merged(form)), Sniff::Yes);
    }
    for other in [
        &b""[..],
        b"tae",
        b"[    0.000000] Linux version 6.1",
        &[0; 100],
    ] {
        assert_eq!(Blktrace.sniff(other), Sniff::No);
        assert_eq!(Blkparse.sniff(other), Sniff::No);
    }
    let line = b"  8,52   0        1     0.000000000   276  D  DS 983947432 + 64 [kworker/0:1H]\n";
    assert_eq!(Blkparse.sniff(line), Sniff::Yes);
    assert!(firstlight_sources::sniff(line).is_some_and(|s| s.name() == "blkparse"));
}

#[test]
fn the_corpus_reads_as_it_did() {
    check_corpus("blktrace");
}

/// Cut at many places, every part is read.
#[test]
fn a_cut_trace_is_read_up_to_the_cut() {
    let bytes = life(100, 1).merged(LITTLE);
    let text = {
        let Some(text) = tool("blkparse", &["-i", "t"], std::slice::from_ref(&bytes)) else {
            return;
        };
        text.into_bytes()
    };
    for i in 0..200 {
        for (source, bytes) in [(&Blktrace as &dyn Source, &bytes), (&Blkparse, &text)] {
            let cut = &bytes[..bytes.len() * i / 200];
            assert_conserved(&read(source, cut));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Flipped bits, anywhere.
    #[test]
    fn flipped_bits_are_survived(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..8), 1..8),
        form in 0_usize..4,
        mixed in any::<bool>(),
    ) {
        let trace = life(40, 2);
        let mut files = match mixed {
            true => vec![trace.merged(FORMS[form])],
            false => trace.files(FORMS[form]),
        };
        for (at, bit) in flips {
            let file = &mut files[0];
            let at = at.index(file.len());
            file[at] ^= 1 << bit;
        }
        read_files(&files);
    }

    /// Records of nonsense: whatever their fields say, they are read in bounds.
    #[test]
    fn nonsense_records_are_survived(
        fields in prop::collection::vec(any::<(u16, u16, u64, u32, u64)>(), 0..60),
        lengths in prop::collection::vec(any::<u16>(), 60),
    ) {
        let mut file = Vec::new();
        for ((code, categories, sector, bytes, time), length) in fields.into_iter().zip(lengths) {
            let mut t = Trace::new(1);
            let code = code % 20;
            t.event(code, categories.into(), (sector, bytes), 1);
            let mut entry = t.entries.remove(0);
            entry.time = time;
            let mut record = entry.bytes(LITTLE);
            if code % 5 == 0 {
                record[46..48].copy_from_slice(&length.to_le_bytes());
            }
            file.extend(record);
        }
        read_files(&[file]);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        assert_conserved(&read(&Blktrace, &bytes));
        assert_conserved(&read(&Blkparse, &bytes));
    }

    #[test]
    fn any_lines_are_survived(
        lines in prop::collection::vec(
            ("[A-Z]{1,2}", "[A-Z]{1,5}", "[0-9 +/()\\[\\]<,-]{0,40}"), 0..30)
    ) {
        let mut text = String::new();
        for (action, letters, rest) in lines {
            text += &format!("  8,1 0 1 0.000000001 100 {action} {letters} {rest}\n");
        }
        assert_conserved(&read(&Blkparse, text.as_bytes()));
    }
}
