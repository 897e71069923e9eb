//! Cold and warm starts of a program, and what reading ahead and another order on disk
//! bring: measured on this machine, and compared.

mod order;
mod report;
mod rounds;
mod wanted;

pub use wanted::{Cold, ColdEvent};

use crate::error::{Error, Result};
use agent::access::AccessList;
use capture::accesses::recording::{Options, record};
use capture::accesses::sweep;
use capture::cold::evict::{Eviction, files_of};
use capture::cold::start::Case;
use report::Starts;
use rounds::Rounds;
use std::sync::atomic::AtomicBool;
use views::json;

impl Cold {
    /// Measures, until `interrupted` is set: then what was moved is put back.
    ///
    /// # Errors
    /// If a start fails, root is needed, or what was asked for cannot be done here.
    pub fn measure(
        self,
        interrupted: &AtomicBool,
        tell: &mut dyn FnMut(ColdEvent),
    ) -> Result<json::Cold> {
        let words = self.words();
        // A trace that goes on for ever would be a part of what is measured. Only root can
        // end it, and not while another recording runs.
        let swept = sweep().ok().and_then(|s| s.sentence());
        let mut notes: Vec<String> = swept.into_iter().collect();
        let root = rustix::process::geteuid().is_root() && !self.evict;
        self.can_be_done(root)?;
        let recorded = match (&self.list, root) {
            (None, true) => {
                tell(ColdEvent::Now("recording what it reads".into()));
                self.recorded(interrupted, &mut notes)?
            }
            _ => None,
        };
        let list = self.list.as_ref().or(recorded.as_ref());
        let eviction = self.eviction(root, &mut notes, tell)?;
        let mut rounds = Rounds::new(&self, &eviction, list, interrupted);
        let mut cases = vec![Case::Cold, Case::Warm];
        if self.prefetch {
            cases.push(Case::Prefetch);
        }
        let runs = self.runs.get();
        let mut moved = Vec::new();
        match list.filter(|_| self.order) {
            None => rounds.run(&cases, runs, &mut notes, tell)?,
            Some(list) => {
                let own = "to end it a second time leaves files where they were moved to, whole";
                tell(ColdEvent::Line(own.into()));
                // Half before it and half after it: what drifts meets both alike.
                let half = runs.div_ceil(2);
                rounds.run(&cases, half, &mut notes, tell)?;
                let mut ordered = vec![Case::Order];
                if self.prefetch {
                    ordered.push(Case::OrderPrefetch);
                }
                let lies = order::apply(list, self.below.as_deref(), tell)?;
                let done = rounds.run(&ordered, runs, &mut notes, tell);
                moved = order::undo(lies, &mut notes, tell)?;
                done.map_err(|source| Error::PutBack {
                    what: match moved.iter().all(|m| m.is_back) {
                        true => "all files are in their original places".to_owned(),
                        false => notes.join("; "),
                    },
                    source: Box::new(source),
                })?;
                rounds.run(&cases, runs - half, &mut notes, tell)?;
            }
        }
        let starts = Starts {
            command: words,
            runs,
            eviction: &eviction,
            measured: &rounds.measured,
            list,
            moved,
            notes,
        };
        let report = starts.report();
        report.ok_or_else(|| Error::Unfit("there is nothing to compare".into()))
    }

    /// # Errors
    /// If a case needs root.
    fn can_be_done(&self, root: bool) -> Result<()> {
        if root || !(self.prefetch || self.order) {
            return Ok(());
        }
        let what = match self.order {
            true => "--order moves files",
            false => "--prefetch drops the caches of the machine",
        };
        let why = format!("{what}, which only root may; run it with sudo");
        Err(Error::Unfit(why))
    }

    fn eviction(
        &self,
        root: bool,
        notes: &mut Vec<String>,
        tell: &mut dyn FnMut(ColdEvent),
    ) -> Result<Eviction> {
        if root {
            return Ok(Eviction::Drop);
        }
        tell(ColdEvent::Now("looking which files it has open".into()));
        let files = files_of(&mut self.start())?;
        notes.push(format!(
            "only {} files that it has open or mapped are evicted, and no directories and \
             inodes: root could drop all caches",
            files.len()
        ));
        Ok(Eviction::Files(files))
    }

    /// What it reads, recorded once; a machine that cannot record goes on without.
    fn recorded(
        &self,
        interrupted: &AtomicBool,
        notes: &mut Vec<String>,
    ) -> Result<Option<AccessList>> {
        let options = Options {
            keep_cache: false,
            limit: None,
        };
        match record(self.start(), &self.words().join(" "), &options, interrupted) {
            Ok(recorded) => {
                notes.extend(recorded.notes);
                Ok(Some(recorded.list))
            }
            Err(e) if self.prefetch || self.order => Err(e.into()),
            Err(e) => {
                notes.push(format!("what it reads could not be recorded: {e}"));
                Ok(None)
            }
        }
    }
}
