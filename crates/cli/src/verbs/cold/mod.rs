//! `firstlight cold`: cold and warm starts of a program, and what reading ahead and
//! another order on disk bring.

pub mod args;
mod evict;
mod host;
mod order;
mod run;
mod screen;

use crate::out::Out;
use crate::prefetch::recording::{Options, record};
use crate::{interrupt, progress};
use agent::access::{AccessList, RangeKind};
use agent::prefetch::Settings;
use analysis::{Interval, interval};
use anyhow::{Context, Result, bail};
use args::Cold;
use evict::{Eviction, files_of};
use order::Moved;
use record::Nanos;
use run::{Case, Measured, once};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The `--json`: `schemas/cold.json`.
#[derive(Deserialize, Serialize)]
struct Report {
    schema: String,
    /// The host that this was measured on, if it is not this one.
    host: Option<String>,
    command: Vec<String>,
    runs: u32,
    eviction: String,
    cases: Vec<CaseReport>,
    /// Cold minus warm, run by run.
    cold_costs: Bounds,
    /// Cold minus read ahead, run by run.
    prefetch_saves: Option<Bounds>,
    /// Cold minus in order, run by run.
    order_saves: Option<Bounds>,
    /// Cold minus in order and read ahead, run by run.
    order_prefetch_saves: Option<Bounds>,
    /// What was moved for that.
    moved: Vec<Moved>,
    reads: Option<Reads>,
    notes: Vec<String>,
}

#[derive(Deserialize, Serialize)]
struct CaseReport {
    case: String,
    times_ns: Vec<i64>,
    #[serde(flatten)]
    bounds: Bounds,
    processor_ns: i64,
    read_bytes: i64,
    major_faults: i64,
    /// How long some task of the machine waited for storage.
    storage_wait_ns: Option<i64>,
}

/// A median and its 95 % interval.
#[derive(Clone, Copy, Deserialize, Serialize)]
struct Bounds {
    median_ns: i64,
    low_ns: i64,
    high_ns: i64,
}

/// What the program reads, as it was recorded.
#[derive(Deserialize, Serialize)]
struct Reads {
    files: u64,
    bytes: u64,
    pieces: u64,
    metadata_bytes: u64,
    directories: u64,
    filesystems: Vec<Filesystem>,
    largest: Vec<Largest>,
}

#[derive(Deserialize, Serialize)]
struct Filesystem {
    place: String,
    kind: String,
    device: String,
    files: u64,
    bytes: u64,
}

#[derive(Deserialize, Serialize)]
struct Largest {
    path: String,
    bytes: u64,
    pieces: u64,
}

/// Measures.
pub fn run(args: &Cold, out: &mut Out) -> Result<()> {
    let report = match &args.on {
        Some(name) => host::measured(args, name)?,
        None => measured(args)?,
    };
    match out.json {
        true => out.text(&views::json::text(&report)),
        false => out.text(&screen::screen(&report, out.style.width)),
    }
}

fn measured(args: &Cold) -> Result<Report> {
    let Some((program, arguments)) = args.command.split_first() else {
        bail!("there is no program to run; name it behind `--`");
    };
    // Its output would be a part of what is measured.
    let command = || {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    let words: Vec<String> = args
        .command
        .iter()
        .map(|w| w.to_string_lossy().into_owned())
        .collect();
    let mut notes = Vec::new();
    let root = rustix::process::geteuid().is_root() && !args.evict;
    let what = match (args.prefetch, args.order) {
        (_, true) => "--order moves files",
        _ => "--prefetch drops the caches of the machine",
    };
    if (args.prefetch || args.order) && !root {
        bail!("{what}, which only root may; run it with sudo");
    }
    let list = match (&args.list, root) {
        (Some(path), _) => Some(crate::verbs::prefetch::read(path)?),
        (None, true) => {
            progress::say("recording what it reads");
            recorded(command(), &words.join(" "), args, &mut notes)?
        }
        (None, false) => None,
    };
    let eviction = match root {
        true => Eviction::Drop,
        false => {
            progress::say("looking which files it has open");
            let files = files_of(&mut command())?;
            notes.push(format!(
                "only {} files that it has open or mapped are evicted, and no directories and \
                 inodes: root could drop all caches",
                files.len()
            ));
            Eviction::Files(files)
        }
    };
    let mut starts = Starts {
        command: &command,
        words: &words,
        args,
        eviction: &eviction,
        list: list.as_ref(),
        measured: BTreeMap::new(),
        interrupted: None,
    };
    let mut cases = vec![Case::Cold, Case::Warm];
    if args.prefetch {
        cases.push(Case::Prefetch);
    }
    let mut moved = Vec::new();
    match list.as_ref().filter(|_| args.order) {
        None => starts.rounds(&cases, args.runs.get(), &mut notes)?,
        Some(list) => {
            starts.interrupted = Some(interrupt::told()?);
            let own = "to end it a second time leaves files where they were moved to, whole";
            anstream::eprintln!("firstlight: {own}");
            // Half before it and half after it: what drifts meets both alike.
            let half = args.runs.get().div_ceil(2);
            starts.rounds(&cases, half, &mut notes)?;
            let mut ordered = vec![Case::Order];
            if args.prefetch {
                ordered.push(Case::OrderPrefetch);
            }
            let lies = order::apply(list, args.below.as_deref())?;
            let done = starts.rounds(&ordered, args.runs.get(), &mut notes);
            moved = order::undo(lies, &mut notes)?;
            done.with_context(|| match moved.iter().all(|m| m.is_back) {
                true => "all files lie where they lay before".to_owned(),
                false => notes.join("; "),
            })?;
            starts.rounds(&cases, args.runs.get() - half, &mut notes)?;
        }
    }
    let measured = starts.measured;
    progress::clear();
    report(
        args,
        words,
        (&eviction, list.as_ref()),
        &measured,
        (moved, notes),
    )
}

/// Starts of the program.
struct Starts<'a> {
    command: &'a dyn Fn() -> Command,
    words: &'a [String],
    args: &'a Cold,
    eviction: &'a Eviction,
    list: Option<&'a AccessList>,
    measured: BTreeMap<Case, Vec<Measured>>,
    /// Set when the user wants to end: where something has to be put back first.
    interrupted: Option<Arc<AtomicBool>>,
}

impl Starts<'_> {
    /// So many rounds of these cases in turn.
    fn rounds(&mut self, cases: &[Case], rounds: u32, notes: &mut Vec<String>) -> Result<()> {
        for _ in 0..rounds {
            for case in cases {
                self.once(*case, notes)?;
            }
        }
        Ok(())
    }

    fn once(&mut self, case: Case, notes: &mut Vec<String>) -> Result<()> {
        let round = self.measured.get(&case).map_or(0, Vec::len);
        progress::say(format!(
            "{} of {}: {}",
            round + 1,
            self.args.runs,
            case.as_str()
        ));
        if case != Case::Warm {
            self.eviction.evict()?;
            if let (0, Some(stayed)) = (round, self.eviction.stayed().filter(|s| *s > 0)) {
                notes.push(format!(
                    "{} of its files stay in memory: others have them mapped",
                    crate::size::show(stayed)
                ));
            }
        }
        let ahead = self.list.filter(|_| case.reads_ahead());
        let one = once((self.command)(), ahead, &Settings::default())?;
        let is_over = |wish: &Arc<AtomicBool>| wish.load(Ordering::Relaxed);
        if self.interrupted.as_ref().is_some_and(is_over) {
            progress::clear();
            bail!("ended by hand");
        }
        if !one.status.success() && !self.args.ignore_failure {
            progress::clear();
            bail!(
                "{} ended with {}; --ignore-failure measures it all the same",
                self.words.join(" "),
                one.status
            );
        }
        self.measured.entry(case).or_default().push(one);
        Ok(())
    }
}

/// What it reads, recorded once; a machine that cannot record goes on without.
fn recorded(
    command: Command,
    title: &str,
    args: &Cold,
    notes: &mut Vec<String>,
) -> Result<Option<AccessList>> {
    let options = Options {
        keep_cache: false,
        limit: None,
    };
    match record(command, title, &options) {
        Ok(recorded) => {
            notes.extend(recorded.notes);
            Ok(Some(recorded.list))
        }
        Err(e) if args.prefetch || args.order => Err(e),
        Err(e) => {
            notes.push(format!("what it reads could not be recorded: {e:#}"));
            Ok(None)
        }
    }
}

fn bounds(values: &[Nanos]) -> Option<Bounds> {
    let Interval { median, low, high } = interval(values)?;
    Some(Bounds {
        median_ns: median.0,
        low_ns: low.0,
        high_ns: high.0,
    })
}

fn middle(values: impl Iterator<Item = u64>) -> i64 {
    let values: Vec<Nanos> = values
        .map(|v| Nanos(i64::try_from(v).unwrap_or(i64::MAX)))
        .collect();
    analysis::median(&values).map_or(0, |n| n.0)
}

fn report(
    args: &Cold,
    command: Vec<String>,
    (eviction, list): (&Eviction, Option<&AccessList>),
    measured: &BTreeMap<Case, Vec<Measured>>,
    (moved, notes): (Vec<Moved>, Vec<String>),
) -> Result<Report> {
    let nothing = "there is nothing to compare";
    let mut cases = Vec::new();
    for (case, runs) in measured {
        let times: Vec<Nanos> = runs.iter().map(|r| r.time).collect();
        let waits: Option<Vec<u64>> = runs.iter().map(|r| r.storage_wait_ns).collect();
        cases.push(CaseReport {
            case: case.as_str().to_owned(),
            times_ns: times.iter().map(|t| t.0).collect(),
            bounds: bounds(&times).context(nothing)?,
            processor_ns: middle(runs.iter().map(|r| r.usage.processor_ns)),
            read_bytes: middle(runs.iter().map(|r| r.usage.read_bytes)),
            major_faults: middle(runs.iter().map(|r| r.usage.major_faults)),
            storage_wait_ns: waits.map(|w| middle(w.into_iter())),
        });
    }
    let minus = |a: Case, b: Case| -> Option<Bounds> {
        let (a, b) = (measured.get(&a)?, measured.get(&b)?);
        let pairs = a.iter().zip(b).map(|(a, b)| Nanos(a.time.0 - b.time.0));
        bounds(&pairs.collect::<Vec<_>>())
    };
    Ok(Report {
        schema: "firstlight.cold/1".to_owned(),
        host: None,
        command,
        runs: args.runs.get(),
        eviction: eviction.as_str().to_owned(),
        cases,
        cold_costs: minus(Case::Cold, Case::Warm).context(nothing)?,
        prefetch_saves: minus(Case::Cold, Case::Prefetch),
        order_saves: minus(Case::Cold, Case::Order),
        order_prefetch_saves: minus(Case::Cold, Case::OrderPrefetch),
        moved,
        reads: list.map(reads),
        notes,
    })
}

/// A list in figures.
fn reads(list: &AccessList) -> Reads {
    let mounts = crate::prefetch::mounts::mounts().unwrap_or_default();
    let mut reads = Reads {
        files: 0,
        bytes: 0,
        pieces: 0,
        metadata_bytes: 0,
        directories: list.directories,
        filesystems: Vec::new(),
        largest: Vec::new(),
    };
    for entry in &list.entries {
        let pieces = entry.pieces(RangeKind::Touched, list.page_bytes);
        let bytes: u64 = pieces.iter().map(|p| p.1).sum();
        if entry.is_device() {
            reads.metadata_bytes += bytes;
            continue;
        }
        if bytes == 0 {
            continue;
        }
        reads.files += 1;
        reads.bytes += bytes;
        reads.pieces += pieces.len() as u64;
        let path = String::from_utf8_lossy(&entry.path).into_owned();
        let mount = mounts
            .iter()
            .filter(|m| std::path::Path::new(&path).starts_with(&m.place))
            .max_by_key(|m| m.place.as_os_str().len());
        let place = mount.map_or_else(|| "/".to_owned(), |m| m.place.display().to_string());
        match reads.filesystems.iter_mut().find(|f| f.place == place) {
            Some(known) => {
                known.files += 1;
                known.bytes += bytes;
            }
            None => reads.filesystems.push(Filesystem {
                place,
                kind: mount.map(|m| m.kind.clone()).unwrap_or_default(),
                device: mount.map(|m| m.source.clone()).unwrap_or_default(),
                files: 1,
                bytes,
            }),
        }
        reads.largest.push(Largest {
            path,
            bytes,
            pieces: pieces.len() as u64,
        });
    }
    reads
        .filesystems
        .sort_by_key(|f| std::cmp::Reverse(f.bytes));
    reads.largest.sort_by_key(|f| std::cmp::Reverse(f.bytes));
    reads.largest.truncate(10);
    reads
}
