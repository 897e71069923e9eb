//! What a task runs: the plans of its line, one after another.

use crate::elsewhere::command::quoted;
use crate::error::{LabError, io_error};
use crate::prepared::Prepared;
use std::fs;
use std::path::{Path, PathBuf};

/// What the emulator takes of the host's memory besides the machine's, in MiB: its own
/// programs, and up to 1 GiB of translated code.
const OVERHEAD_MB: u64 = 1280;

/// What a trial may take besides its boot, in seconds: measuring its stages, copying its
/// inputs to the node.
const AROUND_S: u64 = 180;

/// A list of plans: a line a task.
pub struct List {
    folder: PathBuf,
    name: String,
}

impl List {
    /// The list called `name` in `folder`.
    pub fn named(folder: &Path, name: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Writes a new list, and the script that reads it.
    pub fn write(folder: &Path, lines: &[Vec<String>]) -> Result<Self, LabError> {
        let list = Self::named(folder, &format!("{:016x}", fastrand::u64(..)));
        let text: String = lines.iter().map(|l| l.join(" ") + "\n").collect();
        let path = list.file();
        fs::write(&path, text).map_err(io_error(&path, "cannot be written"))?;
        let script = list.script();
        fs::write(&script, list.text()).map_err(io_error(&script, "cannot be written"))?;
        for names in lines.iter().flatten() {
            // What failed before says nothing of this attempt.
            let _ = fs::remove_file(failed(folder, names));
        }
        Ok(list)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The plans of each task.
    pub fn lines(&self) -> Vec<Vec<String>> {
        // A list that is not there is not one of ours.
        let text = fs::read_to_string(self.file()).unwrap_or_default();
        let names = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        text.lines().map(names).collect()
    }

    fn file(&self) -> PathBuf {
        self.folder.join(format!("slurm-{}.list", self.name))
    }

    pub fn script(&self) -> PathBuf {
        self.folder.join(format!("slurm-{}.sh", self.name))
    }

    fn text(&self) -> String {
        let program = std::env::current_exe().unwrap_or_else(|_| "firstlight".into());
        format!(
            "#!/bin/sh\n\
             # Boots the trials of one line of a list: names of plans in this folder.\n\
             cd {folder} || exit 2\n\
             program={program}\n\
             [ -x \"$program\" ] || program=firstlight\n\
             status=0\n\
             for name in $(sed -n \"$((SLURM_ARRAY_TASK_ID + 1))p\" {list}); do\n    \
                 # A task that Slurm starts again has this result from its first start.\n    \
                 [ -f \"$name.tar.zst\" ] && continue\n    \
                 \"$program\" lab trial \"$name.json\" --out \"$name.tar.zst\" || {{\n        \
                     echo \"$SLURMD_NODENAME\" >\"$name.failed\"\n        \
                     status=1\n    \
                 }}\n\
             done\n\
             exit $status\n",
            folder = quoted(&self.folder),
            program = quoted(&program),
            list = quoted(&self.file()),
        )
    }
}

fn failed(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.failed"))
}

/// The node on which the trial `name` failed last.
pub fn failed_on(folder: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(failed(folder, name)).ok()?;
    let node = text.trim();
    (!node.is_empty()).then(|| node.to_owned())
}

/// What trials need of a node.
pub struct Needs {
    exact: bool,
    memory_mb: u64,
    wall_s: u64,
}

impl Needs {
    /// Of no trial yet.
    pub fn new(exact: bool) -> Self {
        Self {
            exact,
            memory_mb: 0,
            wall_s: 0,
        }
    }

    pub fn exact(&self) -> bool {
        self.exact
    }

    /// And of this one.
    pub fn add(&mut self, prepared: &Prepared) {
        self.memory_mb = self.memory_mb.max(prepared.memory_mb);
        self.wall_s = self.wall_s.max(u64::from(prepared.limits.wall_s));
    }

    /// The options of `sbatch` for a task that boots `trials` of them.
    pub fn words(&self, trials: usize) -> Vec<String> {
        let seconds = (self.wall_s + AROUND_S).saturating_mul(trials as u64);
        let mut words = vec![
            "--ntasks=1".to_owned(),
            "--cpus-per-task=1".to_owned(),
            format!("--mem={}M", self.memory_mb + OVERHEAD_MB),
            format!("--time={}", seconds.div_ceil(60)),
        ];
        if !self.exact {
            // What else runs on the node would be in the times.
            words.push("--exclusive".to_owned());
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::{List, failed_on};

    #[test]
    fn a_list_has_a_line_for_each_task() {
        let folder = tempfile::tempdir().unwrap();
        let names = |line: &[&str]| line.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let lines = [names(&["a-0", "b-0"]), names(&["c-0"])];
        std::fs::write(folder.path().join("a-0.failed"), "n2\n").unwrap();
        assert_eq!(failed_on(folder.path(), "a-0").unwrap(), "n2");
        let list = List::write(folder.path(), &lines).unwrap();
        assert_eq!(failed_on(folder.path(), "a-0"), None);
        let list = List::named(folder.path(), list.name());
        assert_eq!(list.lines(), lines);
        let other = List::named(folder.path(), "other");
        assert!(other.lines().is_empty());
    }

    #[test]
    fn a_task_boots_the_plans_of_its_line_that_have_no_result_yet() {
        let folder = tempfile::tempdir().unwrap();
        let lines = [vec!["x-0".to_owned()], vec!["a-0".into(), "b-0".into()]];
        let list = List::write(folder.path(), &lines).unwrap();
        std::fs::write(folder.path().join("a-0.tar.zst"), "").unwrap();
        // In place of the program: what says how it was called.
        let text = std::fs::read_to_string(list.script()).unwrap();
        let (before, rest) = text.split_once("program=").unwrap();
        let (_, after) = rest.split_once('\n').unwrap();
        let text = format!("{before}program=/bin/echo\n{after}");
        std::fs::write(list.script(), text).unwrap();
        let done = std::process::Command::new("sh")
            .arg(list.script())
            .env("SLURM_ARRAY_TASK_ID", "1")
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        let said = String::from_utf8(done.stdout).unwrap();
        assert_eq!(said, "lab trial b-0.json --out b-0.tar.zst\n");
    }
}
