//! Runs test programs side by side, and sums up what they did.
//!
//! `cargo test` runs one test program after another, and at the end of each most cores
//! wait for one long test. Here one lane runs the long programs, which boot machines and
//! use all cores, one after another as `cargo test` does. Beside it the short ones run,
//! each with one thread, and fill the gaps.

use crate::root;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How long each program took the last time, in seconds.
const TIMES: &str = "target/test-times.json";

/// A program slower than this runs in the long lane, and gets a line when all is well.
const SLOW: Duration = Duration::from_secs(10);

/// A test program that cargo has built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The room and the file: `cli/lab`, `analysis` for its unit tests.
    pub name: String,
    executable: PathBuf,
    /// The package's folder, in which its tests run.
    folder: PathBuf,
}

/// What came of tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many passed.
    pub passed: usize,
    /// Each that failed.
    pub failed: Vec<String>,
    /// Each that was skipped, and why.
    pub skipped: Vec<String>,
}

impl Summary {
    /// Adds what came of other tests.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
    }

    /// The closing line, which continuous integration reads.
    #[must_use]
    pub fn line(&self) -> String {
        let (failed, skipped) = (self.failed.len(), self.skipped.len());
        format!("{} passed, {failed} failed, {skipped} skipped", self.passed)
    }
}

/// Which test programs are built.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    All,
    /// Those of these packages.
    Packages(&'a [String]),
    /// Those of these names. They share the libraries of [`Which::All`]: for packages that
    /// are named, cargo chooses the features of dependencies anew, and builds gigabytes again.
    Named(&'a [&'a str]),
}

/// Builds test programs, and the programs that they start.
///
/// # Errors
/// If they cannot be built.
pub fn build(which: Which<'_>) -> Result<Vec<Program>> {
    let mut args = vec!["test", "--no-run", "--locked"];
    args.push("--message-format=json-render-diagnostics");
    match which {
        Which::All => args.push("--workspace"),
        Which::Packages(packages) => {
            args.extend(packages.iter().flat_map(|p| ["--package", p]));
        }
        Which::Named(names) => {
            args.push("--workspace");
            args.extend(names.iter().flat_map(|n| ["--test", n]));
        }
    }
    eprintln!("\n==> cargo {}", args.join(" "));
    let begun = Instant::now();
    let output = Command::new("cargo")
        .args(&args)
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo could not be started")?;
    if !output.status.success() {
        bail!("the tests could not be built: {}", output.status);
    }
    eprintln!("    {:.1} s", begun.elapsed().as_secs_f64());
    Ok(programs(&String::from_utf8_lossy(&output.stdout)))
}

/// Builds `target/debug/firstlight` and `target/debug/firstlight-agent`, with the libraries
/// of [`Which::All`]: cargo builds what a test program starts.
///
/// # Errors
/// If they cannot be built.
pub fn build_programs() -> Result<()> {
    build(Which::Named(&["gaps", "program"])).map(|_| ())
}

/// The test programs that cargo's messages name.
fn programs(messages: &str) -> Vec<Program> {
    let program = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        if message["profile"]["test"] != true {
            return None;
        }
        let manifest = Path::new(message["manifest_path"].as_str()?);
        let folder = manifest.parent()?;
        let room = folder.file_name()?.to_str()?;
        let target = message["target"]["name"].as_str()?;
        let kind = message["target"]["kind"][0].as_str()?;
        Some(Program {
            name: match kind {
                "test" => format!("{room}/{target}"),
                "lib" => room.to_owned(),
                other => format!("{room} ({other})"),
            },
            executable: PathBuf::from(message["executable"].as_str()?),
            folder: folder.to_owned(),
        })
    };
    messages.lines().filter_map(program).collect()
}

/// Runs `programs`, those that have `filter` in a test's name only, and prints what
/// failed as soon as its program has ended.
///
/// # Errors
/// If a program cannot be started.
pub fn run(programs: Vec<Program>, filter: &[String], envs: &[(&str, &str)]) -> Result<Summary> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let times: BTreeMap<String, f64> = std::fs::read(root().join(TIMES))
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    eprintln!("\n==> {} test programs", programs.len());
    let lanes = Lanes::new(programs, &times);
    let (sender, ended) = mpsc::channel();
    let begun = Instant::now();
    let mut summary = Summary::default();
    let mut new_times = times;
    thread::scope(|scope| -> Result<()> {
        for lane in 0..cores.max(2) {
            let (lanes, sender) = (&lanes, sender.clone());
            scope.spawn(move || {
                while let Some((program, threads)) = lanes.next(lane == 0) {
                    let begun = Instant::now();
                    let ran = one(&program, threads, filter, envs);
                    if sender.send((program, ran, begun.elapsed())).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (program, ran, took) in ended {
            let (status, text) = ran?;
            let mut of_one = read(&program.name, &text);
            // A program that crashed names no failed test.
            if !status && of_one.failed.is_empty() {
                of_one
                    .failed
                    .push(format!("{} (the program)", program.name));
            }
            if !of_one.failed.is_empty() {
                eprintln!("\n{text}");
            }
            if took >= SLOW || !of_one.failed.is_empty() {
                let line = of_one.line();
                eprintln!(
                    "    {:>6.1} s  {:<28} {line}",
                    took.as_secs_f64(),
                    program.name
                );
            }
            new_times.insert(program.name, took.as_secs_f64());
            summary.add(of_one);
        }
        Ok(())
    })?;
    eprintln!("    {:.1} s", begun.elapsed().as_secs_f64());
    if filter.is_empty() {
        let text = serde_json::to_vec_pretty(&new_times)?;
        std::fs::write(root().join(TIMES), text).context(TIMES)?;
    }
    Ok(summary)
}

/// What is still to be run, the slowest last.
struct Lanes {
    long: Mutex<Vec<Program>>,
    short: Mutex<Vec<Program>>,
}

impl Lanes {
    fn new(mut programs: Vec<Program>, times: &BTreeMap<String, f64>) -> Self {
        // Before the first run: the tests of the command are those that boot machines.
        let time = |p: &Program| match times.get(&p.name) {
            Some(seconds) => *seconds,
            None if p.name.starts_with("cli/") => SLOW.as_secs_f64(),
            None => 0.0,
        };
        programs.sort_by(|a, b| time(a).total_cmp(&time(b)));
        let (long, short) = programs
            .into_iter()
            .partition(|p| time(p) >= SLOW.as_secs_f64());
        Self {
            long: Mutex::new(long),
            short: Mutex::new(short),
        }
    }

    /// The next program of a lane, and with how many threads it runs; `None`: as many
    /// as there are cores.
    fn next(&self, is_long: bool) -> Option<(Program, Option<usize>)> {
        let lock = |queue| -> MutexGuard<'_, Vec<Program>> {
            Mutex::lock(queue).unwrap_or_else(PoisonError::into_inner)
        };
        let long = is_long.then(|| lock(&self.long).pop()).flatten();
        match long {
            Some(program) => Some((program, None)),
            None => Some((lock(&self.short).pop()?, Some(1))),
        }
    }
}

/// Runs one program; gives whether it said that all is well, and what it printed.
fn one(
    program: &Program,
    threads: Option<usize>,
    filter: &[String],
    envs: &[(&str, &str)],
) -> Result<(bool, String)> {
    let threads = threads.map(|n| format!("--test-threads={n}"));
    let output = Command::new(&program.executable)
        .args(filter)
        .args(threads)
        .arg("--show-output")
        .envs(envs.iter().copied())
        // As cargo sets them.
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env("CARGO", "cargo")
        .current_dir(&program.folder)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} could not be started", program.executable.display()))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text += &String::from_utf8_lossy(&output.stderr);
    Ok((output.status.success(), text))
}

/// What a test program's output says. A test that lacks something on this host prints
/// `skipped: ...` and passes.
#[must_use]
pub fn read(program: &str, text: &str) -> Summary {
    let mut summary = Summary::default();
    let mut printing = "";
    let mut skipped = BTreeMap::new();
    for line in text.lines() {
        if let Some(name) = section(line) {
            printing = name;
        } else if let Some((name, result)) = result(line) {
            match result.split([',', ' ']).next() {
                Some("ok") => summary.passed += 1,
                Some("ignored") => {
                    let why = result.strip_prefix("ignored, ").unwrap_or("ignored");
                    skipped.insert(name, why);
                }
                _ => summary.failed.push(format!("{program}: {name}")),
            }
        } else if let Some(why) = line.strip_prefix("skipped: ")
            && !printing.is_empty()
            && !skipped.contains_key(printing)
        {
            skipped.insert(printing, why);
            summary.passed = summary.passed.saturating_sub(1);
        }
    }
    let skipped = skipped.into_iter();
    summary.skipped = skipped
        .map(|(name, why)| format!("{program}: {name}: {why}"))
        .collect();
    summary
}

/// The test whose output begins here: `---- name stdout ----`.
fn section(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// A test and its result: `test name ... ok`.
fn result(line: &str) -> Option<(&str, &str)> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    let known = ["ok", "FAILED", "ignored"];
    known
        .iter()
        .any(|k| result.starts_with(k))
        .then_some((name, result))
}

#[cfg(test)]
mod tests {
    use super::{Lanes, programs, read};
    use std::collections::BTreeMap;

    const OUTPUT: &str = "\nrunning 5 tests\ntest a ... ok\ntest needs_qemu ... ok\n\
        test b - should panic ... ok\ntest slow ... ignored, takes an hour\n\
        test broken ... FAILED\n\nsuccesses:\n\n---- a stdout ----\nhello\n\n\
        ---- needs_qemu stdout ----\nskipped: there is no qemu\nskipped: twice\n\n\
        successes:\n    a\n\nfailures:\n\n---- broken stdout ----\npanicked\n\n\
        test result: FAILED. 3 passed; 1 failed\n";

    #[test]
    fn tests_that_lack_something_count_as_skipped() {
        let summary = read("cli/x", OUTPUT);
        assert_eq!(summary.line(), "2 passed, 1 failed, 2 skipped");
        assert_eq!(summary.failed, ["cli/x: broken"]);
        assert_eq!(
            summary.skipped,
            [
                "cli/x: needs_qemu: there is no qemu",
                "cli/x: slow: takes an hour"
            ]
        );
    }

    #[test]
    fn long_programs_have_a_lane_of_their_own_and_the_slowest_run_first() {
        let messages = ["fast", "slow", "new", "slower"].map(|name| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/cli/Cargo.toml","target":{{"kind":["test"],"name":"{name}"}},"profile":{{"test":true}},"executable":"/t/{name}"}}"#
            )
        });
        let library = r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/cli/Cargo.toml","target":{"kind":["lib"],"name":"x"},"profile":{"test":false},"executable":null}"#;
        let found = programs(&format!("{}\n{library}\n", messages.join("\n")));
        assert_eq!(found.len(), 4);
        let times = [("cli/fast", 1.0), ("cli/slow", 12.0), ("cli/slower", 90.0)];
        let times: BTreeMap<String, f64> = times.map(|(name, s)| (name.to_owned(), s)).into();
        let lanes = Lanes::new(found, &times);
        let next = |is_long| lanes.next(is_long).map(|(p, threads)| (p.name, threads));
        let program = |name: &str, threads| Some((name.to_owned(), threads));
        assert_eq!(next(true), program("cli/slower", None));
        assert_eq!(next(false), program("cli/fast", Some(1)));
        assert_eq!(next(false), None);
        assert_eq!(next(true), program("cli/slow", None));
        assert_eq!(next(true), program("cli/new", None));
        assert_eq!(next(true), None);
    }
}
