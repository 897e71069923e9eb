//! Slurm's own programs: `sbatch`, `squeue`, `scancel`, `sinfo`.

use super::script::List;
use crate::error::LabError;
use crate::tools::Tool;
use std::collections::BTreeSet;

/// An array has at most so many tasks, unless a cluster says otherwise (`MaxArraySize`,
/// 1001 by default, is one more than its largest index).
pub const MOST_TASKS: usize = 1000;

/// The Debian package of Slurm's programs.
const PACKAGE: &str = "slurm-client";

/// A task in the queue: waiting, running or ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The list of its plans.
    pub list: String,
    /// Which line of it.
    pub index: usize,
    /// On which node, if it runs.
    pub node: String,
    state: String,
    reason: String,
    id: String,
}

impl Task {
    /// Whether it runs.
    pub fn runs(&self) -> bool {
        self.state == "RUNNING"
    }

    /// Whether it waits for somebody to release it.
    pub fn is_held(&self) -> bool {
        self.state == "PENDING" && self.reason.to_ascii_lowercase().contains("held")
    }
}

/// The jobs of one output folder.
pub struct Queue {
    name: String,
}

impl Queue {
    /// The jobs called `name`.
    pub fn new(name: &str) -> Self {
        let name = name.to_owned();
        Self { name }
    }

    /// Submits `tasks` tasks, one for each line of `list`.
    ///
    /// # Errors
    /// If Slurm does not take them.
    pub fn submit(
        &self,
        list: &List,
        tasks: usize,
        words: &[String],
        but: &BTreeSet<String>,
    ) -> Result<(), LabError> {
        let call = |but: Option<String>| {
            let log = list.folder().join("slurm-%A_%a.log");
            Tool::new("sbatch", PACKAGE, "submit trials")
                .args(["--parsable", "--requeue", "--open-mode=append"])
                .args([format!("--job-name={}", self.name)])
                .args([format!("--comment={}", list.name())])
                .args([format!("--array=0-{}", tasks.saturating_sub(1))])
                .args([format!("--output={}", log.display())])
                .args(words)
                .args(but.map(|nodes| format!("--exclude={nodes}")))
                .args([list.script()])
                .run()
        };
        if !but.is_empty() {
            let nodes: Vec<&str> = but.iter().map(String::as_str).collect();
            // There may be no other nodes.
            if call(Some(nodes.join(","))).is_ok() {
                return Ok(());
            }
        }
        call(None).map(|_| ())
    }

    /// The tasks that have not ended.
    ///
    /// # Errors
    /// Why they are not known, in a clause.
    pub fn tasks(&self) -> Result<Vec<Task>, String> {
        let said = Tool::new("squeue", PACKAGE, "look into Slurm's queue")
            .args(["--noheader", "--array", "--me"])
            .args([format!("--name={}", self.name)])
            .args(["--format=%k|%K|%T|%r|%N|%i"])
            .run()
            .map_err(|e| e.to_string())?;
        Ok(tasks(&String::from_utf8_lossy(&said)))
    }

    /// Takes a task out of the queue. That it is gone already is no error.
    pub fn cancel(&self, task: &Task) {
        let call = Tool::new("scancel", PACKAGE, "cancel a task").args([&task.id]);
        let _ = call.run();
    }

    /// The constraint that only nodes with this emulator meet, if some node has the feature
    /// `firstlight-HASH` that says so.
    pub fn constraint(&self, emulator: String) -> Option<String> {
        let hash = emulator.rsplit(' ').next()?;
        let feature = format!("firstlight-{hash}");
        let said = Tool::new("sinfo", PACKAGE, "look at Slurm's nodes")
            .args(["--noheader", "--format=%f"])
            .run()
            .ok()?;
        let said = String::from_utf8_lossy(&said);
        let mut features = said.split([',', '\n']).map(str::trim);
        features
            .any(|f| f == feature)
            .then(|| format!("--constraint={feature}"))
    }
}

/// The tasks of what `squeue` says.
fn tasks(text: &str) -> Vec<Task> {
    let task = |line: &str| {
        let mut fields = line.split('|').map(str::trim);
        let mut next = || fields.next().map(str::to_owned);
        Some(Task {
            list: next()?,
            index: next()?.parse().ok()?,
            state: next()?,
            reason: next()?,
            node: next()?,
            id: next()?,
        })
    };
    text.lines().filter_map(task).collect()
}

#[cfg(test)]
mod tests {
    use super::tasks;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_line_of_the_queue_is_a_task_or_none(text in "([a-z|0-9 ()]{0,30}\n|\\PC{0,30}){0,8}") {
            let all = tasks(&text);
            prop_assert!(all.len() <= text.lines().count());
            for task in all {
                prop_assert!(!(task.runs() && task.is_held()));
                prop_assert!(text.contains(&task.list) && text.contains(&task.node));
            }
        }
    }

    #[test]
    fn the_queue_is_read() {
        let text = "a1|0|RUNNING|None|n1|7_0\n\
                    a1|1|PENDING|launch failed requeued held||7_1\n\
                    a1|2|PENDING|(Resources)||7_2\n\
                    odd\n";
        let all = tasks(text);
        assert_eq!(all.len(), 3);
        assert!(all[0].runs() && !all[0].is_held() && all[0].node == "n1");
        assert!(all[1].is_held() && all[1].index == 1 && all[1].list == "a1");
        assert!(!all[2].is_held());
    }
}
