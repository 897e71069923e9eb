//! `./x bench sources`: how fast traces are read, against the tools that own
//! the formats, in turns in one run.

use super::{Cost, mb, measure, start};
use crate::{root, step};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often both sides run, one after the other; the middle run of each counts.
const TURNS: usize = 7;

/// A format, its own tool, and what both do with the same files.
struct Case {
    /// What it is.
    format: &'static str,
    /// Makes the files in a folder; gives how many events they hold.
    make: fn(&Path) -> Result<u64>,
    /// Our words, with `{}` for the folder.
    ours: &'static str,
    /// The other's words.
    theirs: &'static str,
    /// The Debian package that brings it.
    package: &'static str,
    /// How many times as fast ours is to be.
    goal: f64,
}

const CASES: &[Case] = &[
    Case {
        format: "trace.dat, 2,000,000 events of 4 processors",
        make: |dir| trace::write(&dir.join("trace.dat"), 2_000_000),
        ours: "io --json {}/trace.dat",
        theirs: "trace-cmd report -i {}/trace.dat",
        package: "trace-cmd",
        goal: 8.0,
    },
    Case {
        format: "blktrace, 2,000,000 events of 4 processors",
        make: |dir| blktrace::write(&dir.join("sda"), 2_000_000),
        ours: "io --json {}/sda.blktrace.0 {}/sda.blktrace.1 {}/sda.blktrace.2 {}/sda.blktrace.3",
        theirs: "blkparse -D {} -i sda -o /dev/null",
        package: "blktrace",
        goal: 10.0,
    },
];

/// How many events the trace has whose memory is looked at: 1.5 GB.
const LARGE_EVENTS: u64 = 30_000_000;

/// What a trace may take in memory, however large it is.
const MOST_MEMORY: u64 = 500_000_000;

/// What a capture of so many events may take to become a picture.
const DRAWN_EVENTS: u64 = 1_000_000;
const MOST_DRAWING: Duration = Duration::from_secs(3);

pub fn run() -> Result<()> {
    step("cargo", &["build", "--release", "--bins", "--locked"], &[])?;
    let firstlight = root().join("target/release/firstlight");
    let mut missed = Vec::new();
    for case in CASES {
        let dir = root().join("target/bench/sources").join(case.package);
        std::fs::create_dir_all(&dir)?;
        let ratio = race(case, &dir, &firstlight);
        std::fs::remove_dir_all(&dir).ok();
        match ratio? {
            Some(ratio) if ratio < case.goal => {
                missed.push(format!("{}: {ratio:.1} times", case.format));
            }
            _ => {}
        }
    }
    let dir = root().join("target/bench/sources/large");
    for large in [large, large_trace] {
        std::fs::create_dir_all(&dir)?;
        let memory = large(&dir, &firstlight);
        std::fs::remove_dir_all(&dir).ok();
        if memory? > MOST_MEMORY {
            missed.push("memory".to_owned());
        }
    }
    std::fs::create_dir_all(&dir)?;
    let slow = pictures(&dir, &firstlight);
    std::fs::remove_dir_all(&dir).ok();
    missed.extend(slow?);
    if !missed.is_empty() {
        bail!("below the goal: {}", missed.join(", "));
    }
    Ok(())
}

/// Runs both sides of a case in turns; gives how many times as fast ours is.
fn race(case: &Case, dir: &Path, firstlight: &Path) -> Result<Option<f64>> {
    let events = (case.make)(dir)?;
    let folder = dir.to_string_lossy();
    let words = |line: &str| -> Vec<String> {
        let words = line.split(' ').map(|w| w.replace("{}", &folder));
        words.collect()
    };
    let (ours, theirs) = (words(case.ours), words(case.theirs));
    let (Some(peer), peer_args) = (theirs.first(), theirs.get(1..).unwrap_or_default()) else {
        return Ok(None);
    };
    println!("{}", case.format);
    let mut runs = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        runs.0.push(timed(firstlight, &ours)?);
        match timed(Path::new(peer), peer_args) {
            Ok(time) => runs.1.push(time),
            Err(_) => {
                println!("skipped: {peer} (apt-get install {})", case.package);
                return Ok(None);
            }
        }
    }
    let usual = (middle(runs.0), middle(runs.1));
    let rate = |time: Duration| events as f64 / time.as_secs_f64() / 1e6;
    let ratio = usual.1.as_secs_f64() / usual.0.as_secs_f64();
    let name = case.ours.split(' ').next().unwrap_or_default();
    for (who, time) in [
        (format!("firstlight {name}"), usual.0),
        (peer.clone(), usual.1),
    ] {
        println!(
            "  {who:<24}{:>9.3} s   {:>6.2} million events/s",
            time.as_secs_f64(),
            rate(time)
        );
    }
    println!(
        "  firstlight is {ratio:.1} times as fast; the goal is {}",
        case.goal
    );
    Ok(Some(ratio))
}

/// The middle one of some times.
fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn timed(program: &Path, args: &[String]) -> Result<Duration> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let begun = Instant::now();
    let ended = start(program, &args, None)?.wait()?;
    if !ended.success() {
        bail!("{} {}: {ended}", program.display(), args.join(" "));
    }
    Ok(begun.elapsed())
}

/// A trace that is larger than what may be in memory; gives what was.
fn large(dir: &Path, firstlight: &Path) -> Result<u64> {
    let events = blktrace::write(&dir.join("sda"), LARGE_EVENTS)?;
    let mut bytes = 0;
    let mut args = vec!["io".to_owned(), "--json".to_owned()];
    for cpu in 0..blktrace::PROCESSORS {
        let file = dir.join(format!("sda.blktrace.{cpu}"));
        bytes += std::fs::metadata(&file)?.len();
        args.push(file.to_string_lossy().into_owned());
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let Cost { wall, memory } = measure(firstlight, &args, None, 1)?;
    println!(
        "blktrace, {events} events, {:.0} MB\n  firstlight io           {:>9.3} s   {:>6.2} million \
         events/s   peak memory {:.0} MB of at most {:.0}",
        mb(bytes),
        wall.as_secs_f64(),
        events as f64 / wall.as_secs_f64() / 1e6,
        mb(memory),
        mb(MOST_MEMORY)
    );
    Ok(memory)
}

/// A trace.dat that is larger than what may be in memory; gives what was.
fn large_trace(dir: &Path, firstlight: &Path) -> Result<u64> {
    let file = dir.join("trace.dat");
    let events = trace::write(&file, LARGE_EVENTS)?;
    let bytes = std::fs::metadata(&file)?.len();
    let file = file.to_string_lossy();
    let Cost { wall, memory } = measure(firstlight, &["io", "--json", &file], None, 1)?;
    println!(
        "trace.dat, {events} events, {:.0} MB\n  firstlight io           {:>9.3} s   {:>6.2} million \
         events/s   peak memory {:.0} MB of at most {:.0}",
        mb(bytes),
        wall.as_secs_f64(),
        events as f64 / wall.as_secs_f64() / 1e6,
        mb(memory),
        mb(MOST_MEMORY)
    );
    Ok(memory)
}

/// A capture as Perfetto's trace and as a page; gives what took too long.
fn pictures(dir: &Path, firstlight: &Path) -> Result<Vec<String>> {
    let file = dir.join("trace.dat");
    let events = trace::write(&file, DRAWN_EVENTS)?;
    println!("trace.dat, {events} events, drawn");
    let (file, out) = (file.to_string_lossy(), dir.join("out"));
    let out = out.to_string_lossy();
    let mut slow = Vec::new();
    for (what, words) in [
        ("export --to perfetto", &["export", "--to", "perfetto"][..]),
        ("report", &["report"]),
    ] {
        let args = [words, &["-o", &out, &file]].concat();
        let wall = measure(firstlight, &args, None, TURNS)?.wall;
        println!(
            "  firstlight {what:<22}{:>7.3} s of at most {} s",
            wall.as_secs_f64(),
            MOST_DRAWING.as_secs()
        );
        if wall > MOST_DRAWING {
            slow.push(what.to_owned());
        }
    }
    Ok(slow)
}

#[path = "../../../crates/sources/tests/common/trace_dat.rs"]
#[allow(
    clippy::panic,
    reason = "shared with the tests, which fail by panicking"
)]
mod trace_dat;

/// A boot as `trace-cmd record -e sched -e filemap -e block` sees it.
mod trace {
    use super::trace_dat::{
        BIO_QUEUE, CACHE_ADD, EXEC, EXIT, Event, FORK, Pages, RQ_COMPLETE, RQ_ISSUE, SWITCH, Value,
        WAKING, Writer,
    };
    use super::{BufWriter, File, Path, Result, Write};
    use std::io;

    const PROCESSORS: usize = 4;

    /// The disk, in the kernel's own numbers.
    const DISK: i64 = 259 << 20 | 1;

    /// A stretch of one processor's time: what happens, then the next task.
    fn step(at: &mut u64, n: u64) -> Vec<Event> {
        let cpu = (n % PROCESSORS as u64) as usize;
        let task = (n / 7 % 400) as i64;
        let (pid, next) = (1_000 + task, 1_000 + (task * 31 + 7) % 400);
        let (comm, other) = (
            format!("worker/{}", task % 60),
            format!("worker/{}", next % 60),
        );
        let mut events = Vec::new();
        let mut add = |id, pid: i64, values: Vec<Value>| {
            *at += 700 + n * 2_654_435_761 % 5_000;
            let (at, pid) = (*at, pid as i32);
            events.push(Event {
                cpu,
                at,
                pid,
                id,
                values,
            });
        };
        let number = |n: i64| Value::from(n);
        let text = |t: &str| Value::from(t);
        let sector = (n * 40_503 % 200_000_000) as i64;
        match n % 16 {
            0 => {
                let child = 2_000 + (n / 16 % 20_000) as i64;
                add(
                    FORK,
                    pid,
                    vec![text(&comm), number(pid), text(&comm), number(child)],
                );
                add(
                    EXEC,
                    child,
                    vec![text("/usr/bin/a-program"), number(child), number(child)],
                );
                add(
                    EXIT,
                    child,
                    vec![text("a-program"), number(child), number(120)],
                );
            }
            1..=4 => {
                let request = || vec![number(DISK), number(sector), number(8)];
                let mut queue = request();
                queue.extend([text("RA"), text(&comm)]);
                add(BIO_QUEUE, pid, queue);
                let mut issue = request();
                issue.extend([number(4_096), text("RA"), text(&comm)]);
                add(RQ_ISSUE, pid, issue);
                let mut complete = request();
                complete.extend([number(0), text("RA")]);
                add(RQ_COMPLETE, 0, complete);
            }
            _ => {
                let (inode, page) = ((n % 5_000) as i64, (n / 5_000 % 600) as i64);
                let values = vec![
                    number(sector),
                    number(inode),
                    number(page),
                    number(DISK),
                    number(0),
                ];
                add(CACHE_ADD, pid, values);
            }
        }
        add(
            WAKING,
            pid,
            vec![text(&other), number(next), number(120), number(cpu as i64)],
        );
        add(
            SWITCH,
            pid,
            vec![
                text(&comm),
                number(pid),
                number(120),
                number((n % 3) as i64),
                text(&other),
                number(next),
                number(120),
            ],
        );
        events
    }

    /// Writes a file with at least so many events; gives how many it has.
    pub(super) fn write(file: &Path, least: u64) -> Result<u64> {
        let writer = Writer {
            symbols: "ffffffff81000000 T _text\n".to_owned(),
            ..Writer::default()
        };
        let part = |cpu| file.with_extension(format!("cpu{cpu}"));
        let mut streams = Vec::new();
        for cpu in 0..PROCESSORS {
            let file = BufWriter::new(File::create(part(cpu))?);
            streams.push((Pages::default(), file, 0_usize));
        }
        let (mut at, mut count, mut n) = (1_000_000_000, 0, 0);
        while count < least {
            for event in step(&mut at, n) {
                count += 1;
                let Some((pages, file, length)) = streams.get_mut(event.cpu) else {
                    continue;
                };
                if let Some(page) = pages.push(&writer, &event) {
                    file.write_all(&page)?;
                    *length += page.len();
                }
            }
            n += 1;
        }
        let mut lengths = Vec::new();
        for (mut pages, mut file, mut length) in streams {
            if let Some(page) = pages.finish(&writer) {
                file.write_all(&page)?;
                length += page.len();
            }
            file.flush()?;
            lengths.push(length);
        }
        let mut out = BufWriter::new(File::create(file)?);
        out.write_all(&writer.head_6(&lengths))?;
        for cpu in 0..PROCESSORS {
            io::copy(&mut File::open(part(cpu))?, &mut out)?;
            std::fs::remove_file(part(cpu))?;
        }
        out.flush()?;
        Ok(count)
    }
}

/// Traces as the kernel writes them: queued, sometimes merged, issued, and
/// completed on any processor.
mod blktrace {
    use super::{BufWriter, Context, File, Path, Result, Write};
    use std::collections::VecDeque;

    pub(super) const PROCESSORS: usize = 4;

    // Actions with their categories (`include/uapi/linux/blktrace_api.h`).
    const QUEUE: u32 = 1 | 1 << 20;
    const BACK_MERGE: u32 = 2 | 1 << 20;
    const GET_REQUEST: u32 = 4 | 1 << 20;
    const ISSUE: u32 = 7 | 1 << 22 | 1 << 24;
    const COMPLETE: u32 = 8 | 1 << 23 | 1 << 24;
    const INSERT: u32 = 12 | 1 << 20 | 1 << 24;
    const PROCESS: u32 = 1 << 26;
    const READ: u32 = 1 << 16;
    const WRITE: u32 = 1 << 17 | 1 << 19;

    struct Writer {
        files: Vec<BufWriter<File>>,
        sequences: [u32; PROCESSORS],
        time: u64,
        random: u64,
        events: u64,
    }

    impl Writer {
        /// The same numbers in every run (xorshift).
        fn random(&mut self, below: u64) -> u64 {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            (self.random >> 11) % below
        }

        fn record(
            &mut self,
            cpu: usize,
            (action, pid): (u32, u32),
            (sector, bytes): (u64, u32),
            payload: &[u8],
        ) -> Result<()> {
            let is_event = action & PROCESS == 0;
            let sequence = self.sequences.get_mut(cpu).context("a processor")?;
            *sequence += u32::from(is_event);
            self.events += u64::from(is_event);
            let mut record = [0_u8; 48];
            let mut at = 0;
            let mut put = |bytes: &[u8]| {
                if let Some(place) = record.get_mut(at..at + bytes.len()) {
                    place.copy_from_slice(bytes);
                }
                at += bytes.len();
            };
            put(&0x6561_7407_u32.to_le_bytes());
            put(&(if is_event { *sequence } else { 0 }).to_le_bytes());
            put(&self.time.to_le_bytes());
            put(&sector.to_le_bytes());
            put(&bytes.to_le_bytes());
            put(&action.to_le_bytes());
            put(&pid.to_le_bytes());
            put(&(8_u32 << 20).to_le_bytes());
            put(&u32::try_from(cpu)?.to_le_bytes());
            put(&0_u16.to_le_bytes());
            put(&u16::try_from(payload.len())?.to_le_bytes());
            let file = self.files.get_mut(cpu).context("a file")?;
            file.write_all(&record)?;
            file.write_all(payload)?;
            Ok(())
        }

        fn event(&mut self, cpu: usize, action: (u32, u32), place: (u64, u32)) -> Result<()> {
            self.time += 500 + self.random(2_500);
            self.record(cpu, action, place, &[])
        }
    }

    /// Writes `NAME.blktrace.0` and so on with about so many events.
    pub(super) fn write(name: &Path, events: u64) -> Result<u64> {
        let file = |cpu| -> Result<BufWriter<File>> {
            let path = format!("{}.blktrace.{cpu}", name.display());
            Ok(BufWriter::with_capacity(1 << 20, File::create(path)?))
        };
        let mut w = Writer {
            files: (0..PROCESSORS).map(file).collect::<Result<_>>()?,
            sequences: [0; PROCESSORS],
            time: 10_000_000_000,
            random: 0x9e37_79b9_7f4a_7c15,
            events: 0,
        };
        for pid in 100..140 {
            let mut comm = [0_u8; 16];
            let text = format!("task{pid}");
            if let Some(place) = comm.get_mut(..text.len()) {
                place.copy_from_slice(text.as_bytes());
            }
            let cpu = usize::try_from(pid)? % PROCESSORS;
            w.record(cpu, (PROCESS, pid), (0, 0), &comm)?;
        }
        let mut open: VecDeque<(u32, (u64, u32))> = VecDeque::new();
        while w.events < events {
            let cpu = usize::try_from(w.random(PROCESSORS as u64))?;
            let pid = 100 + u32::try_from(w.random(40))?;
            let kind = if w.random(4) == 0 { WRITE } else { READ };
            let sector = w.random(1 << 30) * 8;
            let mut bytes = 4096 << w.random(5);
            w.event(cpu, (QUEUE | kind, pid), (sector, bytes))?;
            w.event(cpu, (GET_REQUEST | kind, pid), (sector, bytes))?;
            if w.random(5) == 0 {
                let next = sector + u64::from(bytes / 512);
                w.event(cpu, (QUEUE | kind, pid), (next, 4096))?;
                w.event(cpu, (BACK_MERGE | kind, pid), (next, 4096))?;
                bytes += 4096;
            }
            w.event(cpu, (INSERT | kind, pid), (sector, bytes))?;
            w.event(cpu, (ISSUE | kind, pid), (sector, bytes))?;
            open.push_back((kind, (sector, bytes)));
            while open.len() > 32 {
                let which = usize::try_from(w.random(32))?;
                if let Some((kind, place)) = open.swap_remove_back(which) {
                    let cpu = usize::try_from(w.random(PROCESSORS as u64))?;
                    w.event(cpu, (COMPLETE | kind, 0), place)?;
                }
            }
        }
        for (kind, place) in open {
            w.event(0, (COMPLETE | kind, 0), place)?;
        }
        for file in &mut w.files {
            file.flush()?;
        }
        Ok(w.events)
    }
}
