//! `./x test gate`: what others made says whether our files for CI and our reports are right, the
//! files' own steps are run in a repository of tests, and real boots say whether `firstlight
//! bisect` finds what was planted.

mod ci;
mod outputs;
mod stage;
mod systems;

use crate::root;
use crate::runner::{self, Summary};
use anyhow::Result;
use stage::{Stage, quiet};
use std::fs;
use std::process::Command;
use systems::{DIFFERENCES, Kind, Planted, Work};

/// What Python reads reports and YAML with.
const PYTHON: [&str; 6] = [
    "kcidb-io",
    "yamllint",
    "prometheus_client",
    "pydantic-sarif",
    "cmarkgfm",
    "PyYAML",
];

/// Runs the stage. With `all`, ten plants, ten nulls and three pairs of each kind of system are
/// booted instead of one each of the first kind. With a filter, only bisections that have one of
/// its words in their names; `outputs` and `ci` are the other parts.
///
/// # Errors
/// The program cannot be built or started.
pub fn test(all: bool, filter: &[String]) -> Result<Summary> {
    runner::build_programs()?;
    let mut stage = Stage {
        folder: root().join("target/gate"),
        summary: Summary::default(),
        filter: filter.to_vec(),
    };
    fs::create_dir_all(&stage.folder)?;
    let is_asked = |part: &str| filter.is_empty() || filter.iter().any(|f| f == part);
    if is_asked("outputs") || is_asked("ci") {
        install(&stage);
    }
    if is_asked("outputs") {
        stage.outputs()?;
    }
    if is_asked("ci") {
        stage.files_for_ci();
        stage.action()?;
        stage.gitlab()?;
    }
    let kinds: &[Kind] = match all {
        true => &[Kind::Image, Kind::Cmdline, Kind::Packages],
        false => &[Kind::Image],
    };
    let (plants, pairs) = if all { (10, 3) } else { (1, 1) };
    for kind in kinds {
        bisections(&mut stage, *kind, plants, pairs)?;
    }
    Ok(stage.summary)
}

fn bisections(stage: &mut Stage, kind: Kind, plants: usize, pairs: usize) -> Result<()> {
    for n in 0..plants {
        let planted = Planted {
            at: n * 37 % DIFFERENCES,
            work: Work::Slow,
        };
        stage.bisect(kind, &format!("plant {n}"), &[planted])?;
        stage.bisect(kind, &format!("null {n}"), &[])?;
    }
    for n in 0..pairs {
        let [first, second] = [n * 17 % DIFFERENCES, (n * 23 + 40) % DIFFERENCES];
        let both = [
            (first.min(second), Work::On),
            (first.max(second), Work::SlowIfOn),
        ];
        let planted = both.map(|(at, work)| Planted { at, work });
        stage.bisect(kind, &format!("pair {n}"), &planted)?;
    }
    Ok(())
}

/// Installs what no Debian package has, where pip and Go can.
fn install(stage: &Stage) {
    let python = stage.folder.join("venv/bin/python");
    let has_all = || {
        let modules = "import kcidb_io, yaml, prometheus_client, pydantic_sarif.model, cmarkgfm";
        quiet(Command::new(&python).args(["-c", modules]))
    };
    if !has_all() {
        let venv = stage.folder.join("venv");
        let made = quiet(Command::new("python3").args(["-m", "venv"]).arg(&venv));
        let install = ["-m", "pip", "install", "--quiet"];
        let install = install.iter().chain(&PYTHON);
        if !made || !quiet(Command::new(&python).args(install)) {
            fs::remove_dir_all(&venv).ok();
        }
    }
    let bin = stage.folder.join("bin");
    if !bin.join("actionlint").is_file() {
        let module = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7";
        quiet(
            Command::new("go")
                .args(["install", module])
                .env("GOBIN", bin),
        );
    }
}
