//! A script on commits of a git repository: its times, each written down as soon as it is there.
//!
//! Commits are checked out in a work tree of their own, so that nothing of the user's changes.

use super::script::{self, Ran};
use crate::cache::hash_bytes;
use crate::error::{LabError, io_error};
use crate::journal::{Journal, Line};
use crate::search::Judge;
use bisect::{Boot, Boots};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The version of the journal of times.
const VERSION: u32 = 1;

/// The journal's name.
const JOURNAL: &str = "times.jsonl";

/// From this exit code on, a script could not be run or was ended by a signal, as
/// `git bisect run` has it.
const BROKEN: i32 = 126;

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its whole id.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

fn git(folder: &Path, words: &[&str]) -> Result<String, LabError> {
    let call: Vec<&str> = ["git"].iter().chain(words).copied().collect();
    match script::run(&call, folder, &[("LC_ALL", "C")])? {
        Ran::Fine(text) => Ok(text.trim_end().to_owned()),
        Ran::Failed(_, detail) => Err(LabError::ToolFailed {
            what: format!("`git {}`", words.join(" ")),
            detail,
        }),
    }
}

/// The folder in which git keeps what belongs to the repository of `folder`.
///
/// # Errors
/// `folder` is in no repository.
pub fn common_dir(folder: &Path) -> Result<PathBuf, LabError> {
    let words = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    Ok(PathBuf::from(git(folder, &words)?))
}

/// The commit `good`, and the commits from there to `bad` along first parents, oldest first.
///
/// # Errors
/// One of them is no commit, or there are none between them.
pub fn commits(folder: &Path, good: &str, bad: &str) -> Result<(Commit, Vec<Commit>), LabError> {
    let format = "--format=%H %s";
    let parse = |line: &str| {
        let (id, subject) = line.split_once(' ').unwrap_or((line, ""));
        Commit {
            id: id.to_owned(),
            subject: subject.to_owned(),
        }
    };
    // Words of the user never become options of git.
    let of = |name: &str| {
        let commit = format!("{name}^{{commit}}");
        let id = git(
            folder,
            &["rev-parse", "--verify", "--end-of-options", &commit],
        )?;
        git(folder, &["log", "-1", format, &id])
    };
    let (good, bad) = (parse(&of(good)?), parse(&of(bad)?));
    let range = format!("{}..{}", good.id, bad.id);
    let words = ["log", "--first-parent", "--reverse", format, &range];
    let all: Vec<Commit> = git(folder, &words)?.lines().map(parse).collect();
    let is_above = git(folder, &["merge-base", &good.id, &bad.id]).is_ok_and(|b| b == good.id);
    match all.is_empty() || !is_above {
        true => Err(LabError::Search(format!(
            "{} is no ancestor of {}; name the older commit with --good and the newer one with \
             --bad",
            good.id, bad.id
        ))),
        false => Ok((good, all)),
    }
}

/// A line of the journal.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
struct Time {
    firstlight_bisect: u32,
    /// The hash of commit and command.
    key: String,
    commit: String,
    ns: Option<i64>,
    skipped: Option<String>,
}

impl Line for Time {
    const VERSION: u32 = VERSION;

    fn version(&self) -> u32 {
        self.firstlight_bisect
    }
}

/// Runs a script on commits.
pub struct Script<'a> {
    folder: PathBuf,
    out: PathBuf,
    commits: Vec<Commit>,
    command: Vec<String>,
    judge: &'a mut dyn Judge,
    journal: Journal<Time>,
}

impl<'a> Script<'a> {
    /// A script on the repository of `folder`; `commits` are the good one and then all others,
    /// oldest first. Times go to `out`, and those of an earlier run are used.
    ///
    /// # Errors
    /// `out` cannot be written, another run uses it, or its journal has another version.
    pub fn new(
        folder: &Path,
        out: &Path,
        commits: Vec<Commit>,
        command: Vec<String>,
        judge: &'a mut dyn Judge,
    ) -> Result<Self, LabError> {
        fs::create_dir_all(out).map_err(io_error(out, "cannot be created"))?;
        let out = fs::canonicalize(out).map_err(io_error(out, "cannot be opened"))?;
        let journal = Journal::open(out.join(JOURNAL))?;
        Ok(Self {
            folder: folder.to_owned(),
            out,
            commits,
            command,
            judge,
            journal,
        })
    }

    fn tree(&self) -> PathBuf {
        self.out.join("tree")
    }

    /// Removes the work tree; times stay.
    ///
    /// # Errors
    /// git cannot.
    pub fn finish(self) -> Result<(), LabError> {
        let tree = self.tree();
        if tree.is_dir() {
            let shown = tree.to_string_lossy().into_owned();
            git(&self.folder, &["worktree", "remove", "--force", &shown])?;
        }
        Ok(())
    }

    fn key(&self, commit: &Commit) -> String {
        let words = [std::slice::from_ref(&commit.id), &self.command].concat();
        hash_bytes(words.join("\0").as_bytes())
    }

    fn known(&self, key: &str) -> Vec<Boot> {
        let lines = self.journal.lines().iter().filter(|l| l.key == key);
        lines
            .map(|l| match (l.ns, &l.skipped) {
                (Some(ns), _) => Boot::Time(ns),
                (None, why) => Boot::Unbootable(why.clone().unwrap_or_default()),
            })
            .collect()
    }

    fn check_out(&self, commit: &Commit) -> Result<(), LabError> {
        let tree = self.tree();
        if tree.join(".git").exists() {
            git(
                &tree,
                &["checkout", "--quiet", "--detach", "--force", &commit.id],
            )?;
            return Ok(());
        }
        // One that was removed by hand is still on git's list.
        git(&self.folder, &["worktree", "prune"])?;
        let shown = tree.to_string_lossy().into_owned();
        let words = ["worktree", "add", "--quiet", "--detach", &shown, &commit.id];
        git(&self.folder, &words)?;
        Ok(())
    }

    /// Runs the script once on a commit.
    fn run(&mut self, commit: &Commit) -> Result<Boot, LabError> {
        self.check_out(commit)?;
        let tree = self.tree();
        let ran = script::run(&self.command, &tree, &[("FIRSTLIGHT_COMMIT", &commit.id)])?;
        let boot = match ran {
            Ran::Failed(code, words) if code.is_none_or(|c| c >= BROKEN) => {
                let how = code.map_or("a signal".to_owned(), |c| format!("exit code {c}"));
                return Err(LabError::Search(format!(
                    "the script ended with {how} on commit {}: {words}",
                    commit.id
                )));
            }
            Ran::Failed(_, words) => Boot::Unbootable(words),
            Ran::Fine(text) => {
                let last = text.lines().map(str::trim).rfind(|l| !l.is_empty());
                let last = last.unwrap_or_default();
                match time(last) {
                    Some(ns) => Boot::Time(ns),
                    None => self.of_capture(&tree.join(last), last)?,
                }
            }
        };
        let (ns, skipped) = match &boot {
            Boot::Time(ns) => (Some(*ns), None),
            Boot::Unbootable(why) => (None, Some(why.clone())),
        };
        let key = self.key(commit);
        self.journal.add(Time {
            firstlight_bisect: VERSION,
            key,
            commit: commit.id.clone(),
            ns,
            skipped,
        })?;
        Ok(boot)
    }

    fn of_capture(&mut self, path: &Path, said: &str) -> Result<Boot, LabError> {
        if said.is_empty() || !path.exists() {
            return Err(LabError::Search(format!(
                "expected a time such as `1.234 s`, or the path of a capture or log, as the last \
                 line of the script's output; found `{said}`"
            )));
        }
        let light = self.judge.first_light(path);
        let light = light.map_err(|source| LabError::Judge {
            capture: path.to_owned(),
            source,
        })?;
        Ok(match light {
            Some(at) => Boot::Time(at.get()),
            None => Boot::Unbootable("the boot did not reach first light".to_owned()),
        })
    }
}

/// A time in nanoseconds: `1.234 s`, `56.7 ms`, `890us`, or a bare number of seconds.
fn time(text: &str) -> Option<i64> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-');
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let scale = match unit.trim() {
        "" | "s" | "sec" => 1e9,
        "ms" => 1e6,
        "us" => 1e3,
        "ns" => 1.0,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    let ns = number * scale;
    // A year is no boot.
    (0.0..3.2e16).contains(&ns).then_some(ns as i64)
}

impl Boots for Script<'_> {
    type Error = LabError;

    fn boots(&mut self, sets: &[Vec<usize>], count: usize) -> Result<Vec<Vec<Boot>>, LabError> {
        let commits: Vec<Commit> = sets
            .iter()
            .filter_map(|set| self.commits.get(set.len()).cloned())
            .collect();
        // In two rounds, so that a drift of the machine meets all commits, and a commit is
        // built at most twice.
        for round in [count.div_ceil(2), count] {
            for commit in &commits {
                let key = self.key(commit);
                loop {
                    let known = self.known(&key);
                    let is_skipped = known.iter().any(|b| matches!(b, Boot::Unbootable(_)));
                    if known.len() >= round || is_skipped {
                        break;
                    }
                    self.run(commit)?;
                }
            }
        }
        let all = commits.iter().map(|commit| {
            let mut boots = self.known(&self.key(commit));
            boots.truncate(count);
            boots
        });
        Ok(all.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_units_or_are_seconds() {
        for (text, ns) in [
            ("1.5", Some(1_500_000_000)),
            ("1.234 s", Some(1_234_000_000)),
            ("56.7ms", Some(56_700_000)),
            ("890 us", Some(890_000)),
            ("7 ns", Some(7)),
            ("-1 s", None),
            ("boot.log", None),
            ("12 apples", None),
            ("", None),
            ("inf", None),
        ] {
            assert_eq!(time(text), ns, "{text}");
        }
    }
}
