//! The stages of `./x test`, and which of them run when none is named.

use crate::runner::{self, Summary, Which};
use crate::{board, cluster, fleet, gate, oracles, packages as releases, policy, root, step, ui};
use anyhow::{Context, Result, bail};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

/// What the command line asks of a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Asked {
    /// All random cases where there are some: half an hour instead of seconds.
    all_cases: bool,
    /// Only tests that have one of these in their names.
    filter: Vec<String>,
}

impl Asked {
    fn envs(&self) -> &'static [(&'static str, &'static str)] {
        match self.all_cases {
            true => &[("FIRSTLIGHT_TEST_ALL", "1")],
            false => &[],
        }
    }
}

/// A part of the tests that can be run alone.
struct Stage {
    name: &'static str,
    about: &'static str,
    run: fn(&Asked) -> Result<Summary>,
}

/// The stages beside the rooms. Each room under `crates/` is a stage of its own. A new
/// stage is a line here and, in `x`, the packages that it needs.
const STAGES: &[Stage] = &[
    Stage {
        name: "lint",
        about: "format, clippy, documentation, dependency policy",
        run: |_| lint().map(|()| Summary::default()),
    },
    Stage {
        name: "rules",
        about: "the project's own rules: doors between rooms, circles, wording",
        run: |asked| packages(&["xtask".to_owned()], asked),
    },
    Stage {
        name: "docs",
        about: "the examples in the documentation of the rooms",
        run: |_| examples(),
    },
    Stage {
        name: "page",
        about: "the page's types, logic and committed bytes",
        run: |_| ui::check().map(|()| Summary::default()),
    },
    Stage {
        name: "browser",
        about: "the page in Chromium and Firefox",
        run: |_| {
            runner::build_programs()?;
            ui::browser("target/debug/firstlight", false).map(|()| Summary::default())
        },
    },
    Stage {
        name: "boots",
        about: "the longest boots of the lab: ARM boards, U-Boot, flash, storage, prefetch, failures",
        run: boots,
    },
    Stage {
        name: "fleet",
        about: "the Python package for fleets: stores, questions, S3 and Spark on loopback",
        run: |asked| fleet::test(&asked.filter),
    },
    Stage {
        name: "gate",
        about: "files for CI, by others' linters and schemas; bisection of real boots",
        run: |asked| gate::test(asked.all_cases, &asked.filter),
    },
    Stage {
        name: "packages",
        about: "the release: reproducible, linted, installed in clean Debians and used",
        run: |asked| releases::test(&asked.filter),
    },
    Stage {
        name: "board",
        about: "boards for longer: faults, kills, three at once, labgrid on loopback",
        run: |asked| board::test(&asked.filter),
    },
    Stage {
        name: "cluster",
        about: "trials on other hosts: Slurm with two nodes and ssh on loopback, jobs of CI, S3",
        run: |asked| cluster::test(&asked.filter),
    },
];

/// The test programs that take half of the time of all. They are a stage of their own, and not
/// of those that run when none is named.
const BOOTS: [&str; 7] = [
    "cli/flash_lab",
    "cli/lab_arm",
    "cli/lab_failures",
    "cli/lab_storage",
    "cli/lab_vanished",
    "cli/prefetch",
    "cli/prefetch_boot",
];

/// `./x test [--all] [STAGE...] [-- NAME...]`.
///
/// # Errors
/// If a check fails or cannot be run.
pub fn test(args: &[String]) -> Result<()> {
    let begun = Instant::now();
    let (names, filter) = match args.iter().position(|a| a == "--") {
        Some(at) => (&args[..at], args[at + 1..].to_vec()),
        None => (args, Vec::new()),
    };
    if names.iter().any(|n| n == "--list") {
        return list();
    }
    let mut asked = Asked {
        all_cases: false,
        filter,
    };
    let mut chosen = Vec::new();
    for name in names {
        match name.as_str() {
            "--all" => asked.all_cases = true,
            name => chosen.push(name.to_owned()),
        }
    }
    let summary = match chosen.is_empty() {
        true => everything(&asked)?,
        false => some(&chosen, &asked)?,
    };
    if !summary.skipped.is_empty() {
        eprintln!("\nSkipped:");
    }
    for skipped in &summary.skipped {
        eprintln!("  {skipped}");
    }
    if !summary.failed.is_empty() {
        eprintln!("\nFailed:");
    }
    for failed in &summary.failed {
        eprintln!("  {failed}");
    }
    let seconds = begun.elapsed().as_secs();
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    eprintln!("\n{} in {minutes} min {seconds} s", summary.line());
    match summary.failed.len() {
        0 => Ok(()),
        n => bail!("{n} failed"),
    }
}

/// The folders under `crates/`: each is a room, and its tests are a stage.
fn rooms() -> Result<Vec<String>> {
    let entries = std::fs::read_dir(root().join("crates")).context("crates/")?;
    let mut rooms: Vec<String> = entries
        .flatten()
        .filter(|e| e.path().join("Cargo.toml").is_file())
        .filter_map(|e| e.file_name().into_string().ok())
        .collect();
    rooms.sort();
    Ok(rooms)
}

fn list() -> Result<()> {
    for stage in STAGES {
        println!("{:<12} {}", stage.name, stage.about);
    }
    for room in rooms()? {
        println!("{room:<12} the tests of crates/{room}");
    }
    Ok(())
}

/// The stages that are named, in that order.
fn some(names: &[String], asked: &Asked) -> Result<Summary> {
    let rooms = rooms()?;
    let known = |n: &String| rooms.contains(n) || STAGES.iter().any(|s| s.name == n);
    if let Some(unknown) = names.iter().find(|n| !known(n)) {
        bail!("unknown stage '{unknown}'; `./x test --list` shows all stages");
    }
    let mut summary = Summary::default();
    let of_rooms: Vec<String> = names
        .iter()
        .filter(|n| rooms.contains(n))
        .cloned()
        .collect();
    if !of_rooms.is_empty() {
        let mut wanted: Vec<String> = of_rooms.iter().map(|room| package(room)).collect();
        // The command's tests run the agent too.
        if of_rooms.iter().any(|r| r == "cli") {
            runner::build_programs()?;
        }
        wanted.dedup();
        summary.add(packages(&wanted, asked)?);
    }
    for stage in STAGES.iter().filter(|s| names.iter().any(|n| n == s.name)) {
        summary.add((stage.run)(asked)?);
    }
    Ok(summary)
}

/// The package of a room.
fn package(room: &str) -> String {
    match room {
        "cli" => "firstlight".to_owned(),
        room => format!("firstlight-{room}"),
    }
}

fn packages(packages: &[String], asked: &Asked) -> Result<Summary> {
    let programs = runner::build(Which::Packages(packages))?;
    runner::run(programs, &asked.filter, asked.envs())
}

fn boots(asked: &Asked) -> Result<Summary> {
    runner::build_programs()?;
    let names = BOOTS.map(|name| name.trim_start_matches("cli/"));
    let mut programs = runner::build(Which::Named(&names))?;
    // Other rooms have programs of these names too.
    programs.retain(|p| BOOTS.contains(&p.name.as_str()));
    runner::run(programs, &asked.filter, asked.envs())
}

/// All stages. While the tests run, which often wait, the lints use what is left of the
/// processors; what they print comes when they have ended.
fn everything(asked: &Asked) -> Result<Summary> {
    step("cargo", &["fmt", "--all", "--check"], &[])?;
    thread::scope(|scope| {
        let page = scope.spawn(|| {
            ui::check()?;
            oracles::fetch();
            anyhow::Ok(())
        });
        let programs = runner::build(Which::All)?;
        // The tests use what was fetched.
        let page = page
            .join()
            .unwrap_or_else(|_| bail!("the page's check crashed"));
        let lints = scope.spawn(|| {
            let lints = LINTS.iter().try_for_each(|lint| lint.run(true));
            (lints, examples())
        });
        let (longest, programs): (Vec<_>, Vec<_>) = programs
            .into_iter()
            .partition(|p| BOOTS.contains(&p.name.as_str()));
        let mut summary = runner::run(programs, &asked.filter, asked.envs())?;
        for program in longest {
            let why = "a part of `./x test boots`";
            summary.skipped.push(format!("{}: {why}", program.name));
        }
        let (lints, examples) = match lints.join() {
            Ok(both) => both,
            Err(_) => bail!("the lints crashed"),
        };
        summary.add(examples?);
        for (name, result) in [
            ("page", page),
            ("lint", lints.and_then(|()| policy::check())),
        ] {
            if let Err(e) = result {
                summary.failed.push(format!("{name}: {e:#}"));
            }
        }
        if let Err(e) = ui::browser("target/debug/firstlight", false) {
            summary.failed.push(format!("browser: {e:#}"));
        }
        Ok(summary)
    })
}

/// A lint that cargo runs.
struct Lint {
    args: &'static [&'static str],
    envs: &'static [(&'static str, &'static str)],
}

const LINTS: [Lint; 3] = [
    Lint {
        args: &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
        envs: &[],
    },
    Lint {
        args: &["doc", "--workspace", "--no-deps", "--locked", "--quiet"],
        envs: &[("RUSTDOCFLAGS", "-D warnings")],
    },
    // A workspace of its own, which no other check builds.
    Lint {
        args: &[
            "check",
            "--manifest-path",
            "fuzz/Cargo.toml",
            "--bins",
            "--locked",
        ],
        envs: &[("RUSTFLAGS", "-D warnings")],
    },
];

impl Lint {
    /// Runs it; `beside` other work with low priority and in silence unless it fails.
    fn run(&self, beside: bool) -> Result<()> {
        if !beside {
            return step("cargo", self.args, self.envs);
        }
        let begun = Instant::now();
        let output = Command::new("nice")
            .arg("cargo")
            .args(self.args)
            .envs(self.envs.iter().copied())
            .current_dir(root())
            .stdin(Stdio::null())
            .output()
            .context("nice cargo could not be started")?;
        let line = format!("cargo {}", self.args.join(" "));
        if !output.status.success() {
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
            bail!("`{line}` failed: {}", output.status);
        }
        eprintln!("    {:>6.1} s  {line}", begun.elapsed().as_secs_f64());
        Ok(())
    }
}

/// Format, clippy, documentation, dependency policy.
///
/// # Errors
/// If one of them finds something.
pub fn lint() -> Result<()> {
    step("cargo", &["fmt", "--all", "--check"], &[])?;
    LINTS.iter().try_for_each(|lint| lint.run(false))?;
    policy::check()
}

/// The examples in the rooms' documentation, compiled and run by cargo.
fn examples() -> Result<Summary> {
    let args = ["test", "--doc", "--workspace", "--locked", "--no-fail-fast"];
    let output = Command::new("cargo")
        .args(args)
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .context("cargo could not be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut summary = runner::read("docs", &text);
    if !output.status.success() {
        eprintln!("{text}\n{}", String::from_utf8_lossy(&output.stderr));
        if summary.failed.is_empty() {
            summary
                .failed
                .push("docs: the examples could not be built".to_owned());
        }
    }
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::{BOOTS, STAGES, package, rooms, some};

    #[test]
    fn every_room_is_a_stage_and_no_name_stands_for_two() {
        let rooms = rooms().expect("crates/ is there");
        assert!(rooms.contains(&"record".to_owned()));
        for stage in STAGES {
            assert!(!rooms.iter().any(|r| r == stage.name), "{}", stage.name);
        }
        assert_eq!(package("cli"), "firstlight");
        assert_eq!(package("lab"), "firstlight-lab");
    }

    #[test]
    fn the_longest_boots_are_test_programs_of_the_command() {
        for name in BOOTS {
            let file = name.replace("cli/", "crates/cli/tests/") + ".rs";
            assert!(super::root().join(&file).is_file(), "{file}");
        }
    }

    #[test]
    fn an_unknown_stage_is_refused() {
        let error = some(&["analisys".to_owned()], &super::Asked::default());
        let error = error.expect_err("there is no such stage").to_string();
        assert!(error.contains("unknown stage 'analisys'"), "{error}");
    }
}
