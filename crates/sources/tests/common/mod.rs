//! What the tests of all sources share: real samples, golden files, mutations.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and no test uses all of this"
)]

pub mod blktrace;

use firstlight_sources::{Input, Source};
use proptest::prelude::*;
use record::{Record, Recorder};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A real sample, or `None` with a visible line where there are no samples.
pub fn sample(name: &str) -> Option<Vec<u8>> {
    let root = std::env::var_os("FIRSTLIGHT_SAMPLES").map_or_else(
        || workspace().join("../shared/samples"),
        std::path::PathBuf::from,
    );
    let path = root.join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(_) => {
            eprintln!("skipped: {} not there", path.display());
            None
        }
    }
}

/// What others' tools found in a sample.
pub fn expected(name: &str) -> Option<serde_json::Value> {
    let all: serde_json::Value = serde_json::from_slice(&sample("expected.json")?).unwrap();
    Some(all["files"][name]["expect"].clone())
}

/// What others' tools found in a capture of several files.
pub fn expected_captures(name: &str) -> Option<serde_json::Value> {
    let all: serde_json::Value = serde_json::from_slice(&sample("expected.json")?).unwrap();
    Some(all["captures"][name].clone())
}

/// The names of all samples in a folder of the samples, with their folder.
pub fn samples_in(folder: &str) -> Vec<String> {
    let Some(json) = sample("expected.json") else {
        return Vec::new();
    };
    let all: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let files = all["files"].as_object().unwrap();
    let folder = format!("{folder}/");
    files
        .keys()
        .filter(|f| f.starts_with(&folder))
        .cloned()
        .collect()
}

/// One input as a record.
pub fn read(source: &dyn Source, bytes: &[u8]) -> Record {
    let mut recorder = Recorder::new();
    let input = Input {
        name: "input",
        bytes,
    };
    source.read(input, &mut recorder);
    recorder.finish()
}

/// Every unit was counted once, as an event or in a note.
pub fn assert_conserved(record: &Record) {
    for source in record.sources() {
        assert_eq!(
            source.units,
            source.events + source.noted,
            "{} units, {} events, {} noted",
            source.units,
            source.events,
            source.noted
        );
    }
}

/// Reads every input of `corpus/<folder>` (each file but `*.expected`) by the
/// source that knows it best, and compares with the file of the same name and
/// `.expected`; FIRSTLIGHT_BLESS=1 writes those files instead.
pub fn check_corpus(folder: &str) {
    let folder = workspace().join("corpus").join(folder);
    let mut inputs: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_none_or(|e| e != "expected"))
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    for path in inputs {
        let bytes = std::fs::read(&path).unwrap();
        let source = firstlight_sources::sniff(&bytes)
            .unwrap_or_else(|| panic!("{}: no source knows it", path.display()));
        let record = read(source, &bytes);
        assert_conserved(&record);
        let mut golden = path.clone().into_os_string();
        golden.push(".expected");
        let found = show(&record);
        if std::env::var_os("FIRSTLIGHT_BLESS").is_some() {
            std::fs::write(&golden, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert!(
            found == expected,
            "{} differs from its .expected (FIRSTLIGHT_BLESS=1 rewrites it); it is now:\n{found}",
            path.display()
        );
    }
}

/// A record in words, one line for each thing in it. Times are nanoseconds.
pub fn show(record: &Record) -> String {
    let mut out = String::new();
    let time = |t: Option<record::Nanos>| t.map_or("-".to_owned(), |t| t.get().to_string());
    for s in record.sources() {
        let (units, events, noted) = (s.units, s.events, s.noted);
        writeln!(
            out,
            "source {}: {units} units, {events} events, {noted} noted",
            s.format
        )
        .unwrap();
    }
    for c in record.clocks() {
        let error = c.error_ns.map_or("-".to_owned(), |e| e.to_string());
        let (name, kind, step) = (&c.name, c.kind.as_str(), c.resolution_ns);
        writeln!(out, "clock {name}: {kind}, step {step}, error {error}").unwrap();
    }
    writeln!(out, "zero {}", record.zero()).unwrap();
    for f in record.facts() {
        let (key, value) = (record.name(f.key), record.name(f.value));
        writeln!(out, "fact {key} = {value}").unwrap();
    }
    for m in record.marks() {
        let begins = m.begins.map_or("", record::Phase::as_str);
        let (at, name, offset) = (m.at.get(), record.name(m.name), m.origin.offset);
        writeln!(out, "mark {at} {name:?} begins {begins:?} @{offset}").unwrap();
    }
    for s in record.spans() {
        let name = record.name(s.name);
        write!(out, "span {} {name:?} ", s.kind.as_str()).unwrap();
        let (start, end, reported) = (time(s.start), time(s.end), time(s.reported));
        write!(out, "{start}..{end} reported {reported}").unwrap();
        if let Some(track) = s.track {
            write!(out, " track {:?}", record.name(track)).unwrap();
        }
        if let Some(outcome) = s.outcome {
            write!(out, " outcome {outcome}").unwrap();
        }
        if let Some(doubt) = s.doubt {
            write!(out, " doubt {}", doubt.as_str()).unwrap();
        }
        writeln!(out, " @{}", s.origin.offset).unwrap();
    }
    for d in record.dependencies() {
        let (from, to) = (record.name(d.from), record.name(d.to));
        writeln!(out, "dependency {from} {:?} {to}", d.kind).unwrap();
    }
    for m in record.messages() {
        let level = m.level.map_or(String::new(), |l| format!(" level {l}"));
        let (at, text) = (time(m.at), record.text(m));
        writeln!(out, "message {at}{level} {text:?} @{}", m.origin.offset).unwrap();
    }
    show_tables(record, &mut out);
    for r in record.requests() {
        let (device, operation) = (r.device, r.operation.as_str());
        let (queued, issued) = (time(r.queued.get()), time(r.issued.get()));
        let (again, done) = (time(r.reissued.get()), time(r.completed.get()));
        let task = r.task.map_or("", |t| record.name(t));
        let pid = r.pid.map_or("-".to_owned(), |p| p.to_string());
        let flags = [(r.read_ahead, 'a'), (r.sync, 's'), (r.metadata, 'm')];
        let flags: String = flags.iter().filter(|f| f.0).map(|f| f.1).collect();
        writeln!(
            out,
            "request {device} {operation} {}+{} {queued} {issued} {again} {done} merged {} \
             error {} {flags} by {pid} {task:?} @{}",
            r.sector, r.bytes, r.merged, r.error, r.origin.offset
        )
        .unwrap();
    }
    for n in record.notes() {
        let (severity, kind) = (n.kind.severity.as_str(), n.kind.name);
        let first = n.first.map_or(String::new(), |f| format!(" @{}", f.offset));
        let (count, detail) = (n.count, &n.detail);
        writeln!(out, "note {severity} {kind} x{count}{first} {detail:?}").unwrap();
    }
    out
}

/// Processes, what they did and needed, series, and calls.
fn show_tables(record: &Record, out: &mut String) {
    let time = |t: Option<record::Nanos>| t.map_or("-".to_owned(), |t| t.get().to_string());
    let name = |n: Option<record::NameId>| n.map_or("-", |n| record.name(n));
    for p in record.processes() {
        let parent = p.parent.map_or("-".to_owned(), |p| p.to_string());
        write!(
            out,
            "process {} of {parent} {:?}",
            p.pid,
            record.name(p.name)
        )
        .unwrap();
        write!(out, " {}..{}", time(p.start), time(p.end)).unwrap();
        let (first, last) = (p.first_seen.get(), p.last_seen.get());
        write!(out, " seen {first}..{last}").unwrap();
        let (user, system) = (time(p.user), time(p.system));
        write!(out, " user {user} system {system}").unwrap();
        if let Some(command) = p.command {
            write!(out, " command {:?}", record.name(command)).unwrap();
        }
        if let Some(exit) = p.exit {
            write!(out, " exit {exit}").unwrap();
        }
        let kind = if p.kernel_thread { " kernel" } else { "" };
        writeln!(out, "{kind} @{}", p.origin.offset).unwrap();
    }
    for s in record.slices() {
        let (start, end, state) = (s.start.get(), s.end.get(), s.state.as_str());
        let (busy, at) = (time(s.busy), s.origin.offset);
        writeln!(
            out,
            "slice {} {state} {start}..{end} busy {busy} @{at}",
            s.pid
        )
        .unwrap();
    }
    for a in record.accesses() {
        let pid = a.pid.map_or("-".to_owned(), |p| p.to_string());
        let (kind, path, at) = (a.kind.as_str(), name(a.path), a.at.get());
        write!(out, "access {kind} {path:?} +{} {}", a.offset, a.bytes).unwrap();
        let (took, task) = (time(a.took.get()), name(a.task));
        writeln!(
            out,
            " at {at} took {took} by {pid} {task:?} @{}",
            a.origin.offset
        )
        .unwrap();
    }
    for s in record.series() {
        let (of, unit) = (name(s.of), s.unit.as_str());
        write!(out, "series {} of {of} {unit}:", record.name(s.name)).unwrap();
        for sample in &s.samples {
            write!(out, " {}={}", sample.at.get(), sample.value).unwrap();
        }
        writeln!(out).unwrap();
    }
    for (what, calls) in [("calls", record.functions()), ("stack", record.stacks())] {
        for (id, call) in calls.iter() {
            let mut path = vec![record.name(call.function)];
            let mut above = call.parent;
            while let Some(parent) = above.and_then(|p| calls.get(p)) {
                path.push(record.name(parent.function));
                above = parent.parent;
            }
            path.reverse();
            let (count, time, open) = (call.count, call.time.get(), call.open);
            let path = path.join(";");
            writeln!(out, "{what} {path:?} count {count} time {time} open {open}").unwrap();
            assert!(calls.get(id).is_some());
        }
    }
}

/// How many lines `bytes` holds.
pub fn lines(bytes: &[u8]) -> u64 {
    let ends = bytes.iter().filter(|&&b| b == b'\n').count();
    let open = bytes.last().is_some_and(|&b| b != b'\n');
    (ends + usize::from(open)) as u64
}

/// One thing that happens to logs on their way.
#[derive(Clone, Debug)]
pub enum Damage {
    /// A line end is lost.
    Glue(prop::sample::Index),
    /// A line end comes in where none was.
    Tear(prop::sample::Index),
    /// A line is lost.
    Drop(prop::sample::Index),
    /// Two lines change places.
    Swap(prop::sample::Index, prop::sample::Index),
    /// A bit changes.
    Flip(prop::sample::Index, u8),
    /// The end is lost.
    Cut(prop::sample::Index),
}

/// Any damage.
pub fn damage() -> impl Strategy<Value = Damage> {
    use prop::sample::Index;
    prop_oneof![
        any::<Index>().prop_map(Damage::Glue),
        any::<Index>().prop_map(Damage::Tear),
        any::<Index>().prop_map(Damage::Drop),
        any::<(Index, Index)>().prop_map(|(a, b)| Damage::Swap(a, b)),
        (any::<Index>(), 0_u8..8).prop_map(|(i, bit)| Damage::Flip(i, bit)),
        any::<Index>().prop_map(Damage::Cut),
    ]
}

impl Damage {
    /// `bytes` after the damage.
    pub fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        if bytes.is_empty() {
            return Vec::new();
        }
        let mut lines: Vec<Vec<u8>> = bytes.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
        let mut plain = bytes.to_vec();
        match self {
            Self::Glue(at) => {
                let at = at.index(lines.len());
                if at > 0 {
                    let line = lines.remove(at);
                    lines[at - 1].extend(line);
                }
            }
            Self::Tear(at) => {
                plain.insert(at.index(plain.len()), b'\n');
                return plain;
            }
            Self::Drop(at) => {
                lines.remove(at.index(lines.len()));
            }
            Self::Swap(a, b) => {
                let (a, b) = (a.index(lines.len()), b.index(lines.len()));
                lines.swap(a, b);
            }
            Self::Flip(at, bit) => {
                let at = at.index(plain.len());
                plain[at] ^= 1 << bit;
                return plain;
            }
            Self::Cut(at) => {
                plain.truncate(at.index(plain.len()));
                return plain;
            }
        }
        lines.join(&b'\n')
    }
}
