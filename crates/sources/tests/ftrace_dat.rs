//! `trace.dat`: files of every version, byte order and word size, against what
//! was written into them and against `trace-cmd report`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

mod common;
#[path = "common/trace_dat.rs"]
mod trace_dat;

use common::{assert_conserved, read};
use firstlight_sources::ftrace::TraceDat;
use proptest::prelude::*;
use record::Record;
use std::process::Command;
use trace_dat::{
    BIO_QUEUE, CACHE_ADD, CONSOLE, EXEC, EXIT, Event, FORK, GRAPH_ENTRY, GRAPH_EXIT,
    INITCALL_FINISH, INITCALL_START, OTHER, RQ_COMPLETE, RQ_ISSUE, SWITCH, Value, WAKEUP, WAKING,
    Writer,
};

fn zlib(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 1).unwrap()
}

/// Every way in which a file is written.
fn writers() -> Vec<Writer> {
    let mut writers = Vec::new();
    for (big, long) in [(false, 8), (false, 4), (true, 8), (true, 4)] {
        let plain = Writer {
            big,
            long,
            symbols: "c0001000 T first_init\nc0002000 t second_init\n\
                c0003000 t init_module\t[fuse]\nc0004000 T outer\nc0005000 T inner\n"
                .to_owned(),
            names: "1 init\n77 worker\n".to_owned(),
            ..Writer::default()
        };
        writers.push(plain.clone());
        writers.push(Writer {
            sub_buffer: 16 << 10,
            ..plain.clone()
        });
        for (compression, pack) in [
            ("none", <[u8]>::to_vec as fn(&[u8]) -> Vec<u8>),
            ("zlib", zlib),
            ("zstd", zstd),
        ] {
            writers.push(Writer {
                version: 7,
                compression,
                pack,
                ..plain.clone()
            });
        }
    }
    writers
}

fn event(cpu: usize, at: u64, pid: i32, id: u16, values: &[Value]) -> Event {
    Event {
        cpu,
        at,
        pid,
        id,
        values: values.to_vec(),
    }
}

macro_rules! values {
    ($($value:expr),*) => { &[$(Value::from($value)),*] };
}

/// Something of everything.
fn boot() -> Vec<Event> {
    let disk: i64 = 254 << 20;
    let at = |us: u64| 1_000_000_000 + us * 1_000;
    vec![
        event(0, at(0), 1, INITCALL_START, values![0xc000_1000]),
        event(0, at(10), 1, CONSOLE, values!["calling  second_init @ 1\n"]),
        event(0, at(300), 1, INITCALL_FINISH, values![0xc000_1000, 0]),
        event(0, at(310), 1, INITCALL_START, values![0xc000_2000]),
        // More than 27 bits of nanoseconds later.
        event(
            0,
            at(900_310),
            1,
            INITCALL_FINISH,
            values![0xc000_2000, -19],
        ),
        event(
            0,
            at(900_320),
            1,
            SWITCH,
            values!["swapper/0", 1, 120, 2, "swapper/0", 0, 120],
        ),
        event(1, at(900_330), 0, WAKING, values!["swapper/0", 1, 120, 0]),
        event(0, at(900_331), 0, WAKEUP, values!["swapper/0", 1, 120, 0]),
        event(
            0,
            at(900_340),
            0,
            SWITCH,
            values!["swapper/0", 0, 120, 0, "swapper/0", 1, 120],
        ),
        event(0, at(900_400), 1, EXEC, values!["/sbin/init", 1, 1]),
        event(0, at(900_500), 1, FORK, values!["init", 1, "init", 80]),
        event(
            0,
            at(900_600),
            1,
            SWITCH,
            values!["init", 1, 120, 1, "init", 80, 120],
        ),
        event(
            0,
            at(900_700),
            80,
            EXEC,
            values!["/usr/bin/a-program", 80, 80],
        ),
        event(
            0,
            at(900_800),
            80,
            BIO_QUEUE,
            values![disk, 2048, 8, "RA", "a-program"],
        ),
        event(
            0,
            at(900_810),
            80,
            RQ_ISSUE,
            values![disk, 2048, 8, 4096, "RA", "a-program"],
        ),
        event(
            1,
            at(900_990),
            0,
            RQ_COMPLETE,
            values![disk, 2048, 8, -5, "RA"],
        ),
        event(
            0,
            at(901_000),
            80,
            CACHE_ADD,
            values![0x1_0000, 0x1234, 3, disk, 2],
        ),
        event(1, at(901_005), 77, OTHER, values![5]),
        event(0, at(901_010), 80, GRAPH_ENTRY, values![0xc000_4000, 0]),
        event(0, at(901_011), 80, GRAPH_ENTRY, values![0xc000_5000, 1]),
        event(
            0,
            at(901_014),
            80,
            GRAPH_EXIT,
            values![
                0xc000_5000,
                1,
                0,
                at(901_011).cast_signed(),
                at(901_014).cast_signed()
            ],
        ),
        event(
            0,
            at(901_020),
            80,
            GRAPH_EXIT,
            values![
                0xc000_4000,
                0,
                0,
                at(901_010).cast_signed(),
                at(901_020).cast_signed()
            ],
        ),
        event(0, at(902_000), 80, EXIT, values!["a-program", 80, 120]),
        event(
            0,
            at(902_100),
            80,
            SWITCH,
            values!["a-program", 80, 120, 32, "swapper/0", 0, 120],
        ),
    ]
}

#[test]
fn every_version_byte_order_and_word_size_says_the_same() {
    let mut first: Option<String> = None;
    for writer in writers() {
        let record = read(&TraceDat, &writer.write(2, &boot()));
        assert_conserved(&record);
        // Places in the file differ, all else is the same.
        let shown: String = common::show(&record)
            .lines()
            .map(|line| line.split(" @").next().unwrap().to_owned() + "\n")
            .collect();
        let tables = tables(&record);
        let all = shown + &tables;
        match &first {
            None => first = Some(all),
            Some(first) => assert_eq!(&all, first, "{writer:?}"),
        }
    }
    let golden = common::workspace().join("crates/sources/tests/ftrace_dat.expected");
    let found = first.unwrap();
    if std::env::var_os("FIRSTLIGHT_BLESS").is_some() {
        std::fs::write(&golden, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(golden).unwrap());
}

/// Cut anywhere, or with any bit changed, a file is read to its end.
#[test]
fn damaged_files_are_read_as_far_as_they_go() {
    for writer in writers().iter().filter(|w| w.version == 6 || w.long == 8) {
        let whole = writer.write(2, &boot());
        let step = (whole.len() / 200).max(1);
        for cut in (0..whole.len()).step_by(step) {
            assert_conserved(&read(&TraceDat, &whole[..cut]));
        }
        for at in (0..whole.len()).step_by(step) {
            for bit in [0, 3, 7] {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                assert_conserved(&read(&TraceDat, &flipped));
            }
            let mut large = whole.clone();
            for byte in large.iter_mut().skip(at).take(4) {
                *byte = 0xff;
            }
            assert_conserved(&read(&TraceDat, &large));
        }
    }
}

/// A list of options that leads to itself, or to nowhere.
#[test]
fn options_that_lead_back_end() {
    let writer = Writer {
        version: 7,
        ..Writer::default()
    };
    let whole = writer.write(1, &boot()[..1]);
    let list = u64::from_le_bytes(whole[27..35].try_into().unwrap());
    for next in [list, list - 1, 1, u64::MAX, whole.len() as u64] {
        let mut changed = whole.clone();
        let end = changed.len();
        changed[end - 8..].copy_from_slice(&next.to_le_bytes());
        let record = read(&TraceDat, &changed);
        assert_conserved(&record);
        assert!(
            record
                .notes()
                .iter()
                .any(|n| n.kind.name == "damaged_trace")
        );
    }
}

/// Any events, on two processors, in the order of time.
fn any_events() -> impl Strategy<Value = Vec<Event>> {
    let pid = 0_i32..4;
    let one = (0..2_usize, 0..(1_u64 << 29), pid, 0..9_usize, any::<u32>());
    prop::collection::vec(one, 0..200).prop_map(|parts| {
        let mut at = 5_000_000_000;
        let made = parts.into_iter().map(|(cpu, delta, pid, kind, number)| {
            // Times of all lengths.
            at += delta >> (number % 30);
            let n = i64::from(number);
            let small = n % 4;
            let (id, values): (u16, Vec<Value>) = match kind {
                0 => (
                    SWITCH,
                    values!["a", small, 120, n % 256, "b", n % 5, 120].to_vec(),
                ),
                1 => (WAKING, values!["a", small, 120, 1].to_vec()),
                2 => (FORK, values!["a", small, "child", n % 50].to_vec()),
                3 => (
                    EXEC,
                    values![&*"/x".repeat(small as usize * 30), small, n % 5].to_vec(),
                ),
                4 => (EXIT, values!["a", small, 120].to_vec()),
                5 => (CACHE_ADD, values![n, n % 7, n, n % 3, n % 40].to_vec()),
                6 => (RQ_ISSUE, values![n % 3, n, 8, 4096, "RA", "a"].to_vec()),
                7 => (GRAPH_ENTRY, values![n, small].to_vec()),
                _ => (GRAPH_EXIT, values![n, small, 0, n, n + 5].to_vec()),
            };
            event(cpu, at, pid, id, &values)
        });
        made.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_event_that_is_written_is_read(events in any_events(), which in 0..20_usize) {
        let writers = writers();
        let writer = &writers[which % writers.len()];
        let record = read(&TraceDat, &writer.write(2, &events));
        assert_conserved(&record);
        let units = record.sources()[0].units;
        prop_assert_eq!(units, events.len() as u64);
        prop_assert!(!record.notes().iter().any(|n| n.kind.name == "time_disorder"));
    }

    #[test]
    fn damage_never_panics(damage in prop::collection::vec(common::damage(), 1..4), which in 0..20_usize) {
        let writers = writers();
        let mut bytes = writers[which % writers.len()].write(2, &boot());
        for d in damage {
            bytes = d.apply(&bytes);
        }
        assert_conserved(&read(&TraceDat, &bytes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn trace_cmd_sees_the_same_times(events in any_events(), big in any::<bool>(), seven in any::<bool>()) {
        let writer = Writer { big, version: if seven { 7 } else { 6 }, ..Writer::default() };
        let bytes = writer.write(2, &events);
        if let Some(rows) = trace_cmd(&bytes) {
            let ours: Vec<(u64, u32, u32)> = rows.iter().map(|r| (r.0, r.1, r.2)).collect();
            let mut wanted: Vec<(u64, u32, u32)> = events
                .iter()
                .map(|e| (e.at, u32::try_from(e.cpu).unwrap(), e.pid.cast_unsigned()))
                .collect();
            wanted.sort_by_key(|e| (e.0, e.1));
            prop_assert_eq!(ours, wanted);
        }
    }
}

/// The tables that `common::show` does not show.
fn tables(record: &Record) -> String {
    let mut out = String::new();
    let mut add = |line: String| {
        out += &line;
        out.push('\n');
    };
    for p in record.processes() {
        add(format!(
            "process {} {:?} parent {:?} command {:?} {:?}..{:?} kernel {} exit {:?}",
            p.pid,
            record.name(p.name),
            p.parent,
            p.command.map(|c| record.name(c)),
            p.start.map(|t| t.get()),
            p.end.map(|t| t.get()),
            p.kernel_thread,
            p.exit,
        ));
    }
    for s in record.slices() {
        let (start, end) = (s.start.get(), s.end.get());
        let state = s.state.as_str();
        add(format!(
            "slice {} {state} {start}..{end} cpu {:?}",
            s.pid, s.cpu
        ));
    }
    for w in record.wakes() {
        add(format!("wake {} {} by {}", w.at.get(), w.pid, w.by));
    }
    for r in record.requests() {
        add(format!(
            "request {} {} {} +{} {:?} {:?} {:?} error {} pid {:?}",
            r.device,
            r.operation.as_str(),
            r.sector,
            r.bytes,
            r.queued.get().map(|t| t.get()),
            r.issued.get().map(|t| t.get()),
            r.completed.get().map(|t| t.get()),
            r.error,
            r.pid,
        ));
    }
    for a in record.accesses() {
        add(format!(
            "access {} {} {:?} {:?} {:?} {} +{} by {:?}",
            a.at.get(),
            a.kind.as_str(),
            a.device.map(|d| d.to_string()),
            a.inode,
            a.path.map(|p| record.name(p)),
            a.offset,
            a.bytes,
            a.task.map(|t| record.name(t)),
        ));
    }
    for (_, call) in record.functions().iter() {
        let parent = call.parent.and_then(|p| record.functions().get(p));
        add(format!(
            "call {:?} in {:?}: {} times, {} ns, {} open",
            record.name(call.function),
            parent.map(|p| record.name(p.function)),
            call.count,
            call.time.get(),
            call.open,
        ));
    }
    out
}

/// What `trace-cmd report` says: time, processor, process and name of each
/// event. `None` where it is not installed.
fn trace_cmd(bytes: &[u8]) -> Option<Vec<(u64, u32, u32, String)>> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace.dat");
    std::fs::write(&file, bytes).unwrap();
    let out = Command::new("trace-cmd")
        .args(["report", "-t", "-N", "-i"])
        .arg(&file)
        .output();
    let Ok(out) = out else {
        eprintln!("skipped: trace-cmd not there");
        return None;
    };
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let row = |line: &str| {
        let (head, rest) = line.split_once('[')?;
        let (cpu, rest) = rest.split_once(']')?;
        let mut words = rest.split_whitespace();
        let mut stamp = words.next()?.to_owned();
        // Flags may stand between.
        if !stamp.ends_with(':') {
            stamp = words.next()?.to_owned();
        }
        let (s, ns) = stamp.trim_end_matches(':').split_once('.')?;
        let pid = head.trim().rsplit_once('-')?.1.parse().ok()?;
        let at = s.parse::<u64>().ok()? * 1_000_000_000 + ns.parse::<u64>().ok()?;
        let name = words.next()?.trim_end_matches(':').to_owned();
        Some((at, cpu.parse().ok()?, pid, name))
    };
    Some(text.lines().filter_map(row).collect())
}

#[test]
fn trace_cmd_reads_what_the_writer_writes() {
    for writer in writers() {
        // Debian's trace-cmd knows zstd only, and no joined pages.
        if writer.compression == "zlib" || writer.sub_buffer != writer.page {
            continue;
        }
        let bytes = writer.write(2, &boot());
        let Some(rows) = trace_cmd(&bytes) else {
            return;
        };
        let mut wanted: Vec<&Event> = Vec::new();
        let events = boot();
        wanted.extend(&events);
        wanted.sort_by_key(|e| (e.at, e.cpu));
        let wanted: Vec<(u64, u32, u32, String)> = wanted
            .into_iter()
            .map(|e| {
                let format = trace_dat::FORMATS.iter().find(|f| f.id == e.id).unwrap();
                let name = format.name.to_owned();
                (e.at, e.cpu as u32, e.pid as u32, name)
            })
            .collect();
        assert_eq!(rows, wanted, "{writer:?}");
    }
}
