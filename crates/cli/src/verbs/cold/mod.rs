//! `firstlight cold`: cold and warm starts of a program, and what reading ahead and
//! another order on disk bring.

pub mod args;
mod host;
mod order;

use crate::out::Out;
use crate::{interrupt, progress};
use agent::access::AccessList;
use agent::prefetch::Settings;
use anyhow::{Context, Result, bail};
use args::Cold;
use capture::accesses::recording::{Options, record};
use capture::accesses::sweep;
use capture::cold::evict::{Eviction, files_of};
use capture::cold::start::{Case, Measured, once};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use views::json;

/// Measures.
pub fn run(args: &Cold, out: &mut Out) -> Result<()> {
    let report = match &args.on {
        Some(name) => host::measured(args, name)?,
        None => measured(args)?,
    };
    out.show(
        || &report,
        |style| views::terminal::cold(&report, style.width),
    )
}

fn measured(args: &Cold) -> Result<json::Cold> {
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
    // A trace that goes on for ever would be a part of what is measured. Only root can
    // end it, and not while another recording runs.
    let mut notes: Vec<String> = sweep()
        .ok()
        .and_then(|s| s.sentence())
        .into_iter()
        .collect();
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
                true => "all files are in their original places".to_owned(),
                false => notes.join("; "),
            })?;
            starts.rounds(&cases, args.runs.get() - half, &mut notes)?;
        }
    }
    let measured = starts.measured;
    progress::clear();
    let starts = proof::Starts {
        command: words,
        runs: args.runs.get(),
        eviction: &eviction,
        measured: &measured,
        list: list.as_ref(),
        moved,
        notes,
    };
    starts.report().context("there is nothing to compare")
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
                    views::size(stayed)
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
    match record(command, title, &options, &*interrupt::told()?) {
        Ok(recorded) => {
            notes.extend(recorded.notes);
            Ok(Some(recorded.list))
        }
        Err(e) if args.prefetch || args.order => Err(e.into()),
        Err(e) => {
            notes.push(format!("what it reads could not be recorded: {e}"));
            Ok(None)
        }
    }
}
