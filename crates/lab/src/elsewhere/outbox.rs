//! The folder of plans and results.

use crate::entry::{self, LIMIT};
use crate::error::{LabError, io_error};
use crate::machine::Machine;
use crate::prepared::{Prepared, export};
use crate::trial::{Plan, Trial};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Its name in the output folder.
pub const FOLDER: &str = "jobs";

/// How the name of a result's file ends.
const RESULT_END: &str = ".tar.zst";

/// A trial that waits for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its name: that of the variant, the number of the perturbation and the purpose.
    pub name: String,
    /// The plan's file, within the output folder.
    pub plan: PathBuf,
    /// Where its result is looked for, within the output folder.
    pub result: PathBuf,
}

/// The plans of a run, and the folder in which they wait.
pub(crate) struct Outbox<'a> {
    machine: &'a dyn Machine,
    plans: &'a [Plan],
    /// Of each plan.
    fingerprints: &'a [String],
    /// The numbers of the plans, by the names of their jobs.
    numbers: BTreeMap<String, usize>,
    /// The output folder.
    out: PathBuf,
}

impl<'a> Outbox<'a> {
    pub fn new(
        machine: &'a dyn Machine,
        plans: &'a [Plan],
        fingerprints: &'a [String],
        out: &Path,
    ) -> Self {
        // Commands may run in another folder.
        let out = std::path::absolute(out).unwrap_or_else(|_| out.to_owned());
        Self {
            machine,
            plans,
            fingerprints,
            numbers: plans.iter().map(|p| job(p).name).zip(0..).collect(),
            out,
        }
    }

    /// The folder of plans and results, from the root on.
    pub fn folder(&self) -> PathBuf {
        self.out.join(FOLDER)
    }

    /// All plans.
    pub fn plans(&self) -> &[Plan] {
        self.plans
    }

    /// The emulator that computes them, in words.
    pub fn emulator(&self) -> String {
        self.machine.emulator()
    }

    /// The plan with the number `i`.
    pub fn plan(&self, i: usize) -> Result<&Plan, LabError> {
        self.plans.get(i).ok_or_else(|| LabError::Bug {
            why: "a trial without a plan".into(),
        })
    }

    /// The number of the trial whose job has this name.
    pub fn numbered(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The trials whose results lie in the folder, by one look at it: thousands of looks
    /// at single files are too many for a folder on another host.
    pub fn arrived(&self) -> BTreeSet<usize> {
        // A folder that cannot be read now may be readable in the next look.
        let entries = fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let number = |entry: fs::DirEntry| {
            let name = entry.file_name();
            self.numbered(name.to_str()?.strip_suffix(RESULT_END)?)
        };
        entries.filter_map(number).collect()
    }

    pub fn job(&self, i: usize) -> Result<Job, LabError> {
        self.plan(i).map(job)
    }

    /// Writes the plan `i` and its inputs. A result of another plan is removed.
    ///
    /// # Errors
    /// If that cannot be done, or the machine is one of this host alone.
    pub fn export(&self, i: usize) -> Result<(Job, Prepared), LabError> {
        let plan = self.plan(i)?;
        let job = job(plan);
        let folder = self.folder();
        let mut prepared = self.machine.prepared(plan)?;
        export(&mut prepared, &folder)?;
        let text = prepared.to_json()?;
        let (path, result) = (self.out.join(&job.plan), self.out.join(&job.result));
        if fs::read(&path).is_ok_and(|there| there == text) {
            return Ok((job, prepared));
        }
        match fs::remove_file(&result) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(io_error(&result, "cannot be removed")(e));
            }
            _ => {}
        }
        let write = || {
            let mut new = tempfile::NamedTempFile::new_in(&folder)?;
            new.write_all(&text)?;
            new.as_file().sync_all()?;
            // Other hosts read it under other accounts.
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            new.as_file().set_permissions(mode)?;
            new.persist(&path)?;
            Ok(())
        };
        write().map_err(io_error(&path, "cannot be written"))?;
        Ok((job, prepared))
    }

    /// Removes the result `i`, so that another is waited for.
    pub fn discard(&self, i: usize) {
        if let Ok(job) = self.job(i) {
            // What is not there need not be removed.
            let _ = fs::remove_file(self.out.join(&job.result));
        }
    }

    /// Puts the result `i` into the output folder, if there is one.
    ///
    /// # Errors
    /// A clause that says why it is refused.
    pub fn collect(&self, i: usize) -> Result<Option<Trial>, String> {
        let plan = self.plan(i).map_err(|e| e.to_string())?;
        let path = self.out.join(&job(plan).result);
        let bytes = match fs::metadata(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Ok(meta) if meta.len() > LIMIT => return Err("it is larger than 256 MiB".into()),
            _ => fs::read(&path).map_err(|e| e.to_string())?,
        };
        let fingerprint = self.fingerprints.get(i).map_or("", String::as_str);
        let found = entry::unpack(&bytes, fingerprint, &self.machine.emulator())?;
        if found.trial.id != plan.id {
            return Err(format!("it is the result of {}", found.trial.id));
        }
        entry::adopt(found, plan, &self.out)
            .map(Some)
            .map_err(|e| e.to_string())
    }
}

/// The names and places of a plan.
fn job(plan: &Plan) -> Job {
    let id = &plan.id;
    let mut name = format!("{}-{}", id.variant, id.perturbation);
    if !id.purpose.is_result() {
        name = format!("{name}-{}", id.purpose.as_str());
    }
    let folder = Path::new(FOLDER);
    Job {
        plan: folder.join(format!("{name}.json")),
        result: folder.join(format!("{name}{RESULT_END}")),
        name,
    }
}

/// The trials `open` in groups that each run on one host, one trial after another: in real
/// time a round, whose variants have to meet the same host, else at most `size`.
pub(crate) fn batches(plans: &[Plan], open: &[usize], exact: bool, size: usize) -> Vec<Vec<usize>> {
    if exact {
        return open.chunks(size.max(1)).map(<[usize]>::to_vec).collect();
    }
    let round = |i: &usize| plans.get(*i).map(|p| (p.id.perturbation, p.id.purpose));
    let mut all: Vec<Vec<usize>> = Vec::new();
    for i in open {
        match all.last_mut() {
            Some(last) if last.last().map(round) == Some(round(i)) => last.push(*i),
            _ => all.push(vec![*i]),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{batches, job};
    use crate::trial::{Plan, Purpose, TrialId};
    use treat::BootSpec;

    fn plan(variant: &str, perturbation: u32, purpose: Purpose) -> Plan {
        Plan {
            id: TrialId {
                variant: variant.into(),
                perturbation,
                purpose,
                attempt: 0,
            },
            spec: BootSpec::default(),
            recording: Vec::new(),
        }
    }

    #[test]
    fn no_two_trials_share_a_name() {
        let names: std::collections::BTreeSet<_> = [
            plan("a", 1, Purpose::Result),
            plan("a-1", 0, Purpose::Result),
            plan("a", 1, Purpose::Again),
            plan("a-1", 1, Purpose::Result),
        ]
        .iter()
        .map(|p| job(p).name)
        .collect();
        assert_eq!(names.len(), 4, "{names:?}");
    }

    #[test]
    fn in_real_time_a_round_stays_together() {
        let plans: Vec<Plan> = [
            (0, Purpose::WarmUp),
            (0, Purpose::Result),
            (1, Purpose::Result),
        ]
        .into_iter()
        .flat_map(|(n, purpose)| ["a", "b", "c"].map(|v| plan(v, n, purpose)))
        .collect();
        let open: Vec<usize> = (0..9).filter(|i| *i != 4).collect();
        let rounds = batches(&plans, &open, false, 1);
        assert_eq!(rounds, [vec![0, 1, 2], vec![3, 5], vec![6, 7, 8]]);
        let exact = batches(&plans, &open, true, 3);
        assert_eq!(exact, [vec![0, 1, 2], vec![3, 5, 6], vec![7, 8]]);
    }
}
