//! How much of each parser the tests of its room run: `./x coverage`.
//!
//! The compiler counts (`-C instrument-coverage`), and Debian's LLVM of the same version reads
//! what it counted.

use crate::{root, step};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The rooms that read what others wrote.
const ROOMS: [&str; 7] = [
    "bootimage",
    "disk",
    "flash",
    "history",
    "rawimage",
    "record",
    "sources",
];

/// A parser of which less is run by tests is a failure: a part of its lines, in percent.
const LEAST: f64 = 85.0;

/// Lines of a parser, and how many of them ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lines {
    all: u64,
    run: u64,
}

impl Lines {
    fn percent(self) -> f64 {
        self.run as f64 * 100.0 / self.all.max(1) as f64
    }
}

/// Prints a line for each parser.
pub fn run() -> Result<()> {
    let folder = root().join("target/coverage");
    let profiles = folder.join("profiles");
    let _ = fs::remove_dir_all(&profiles);
    let profile = profiles.join("%8m.profraw");
    let (folder, profile) = (text(&folder)?, text(&profile)?);
    let envs = [
        ("RUSTFLAGS", "-C instrument-coverage"),
        ("CARGO_INCREMENTAL", "0"),
        ("CARGO_TARGET_DIR", folder),
        ("LLVM_PROFILE_FILE", profile),
    ];
    let mut test = vec!["test", "--locked", "--tests"];
    let rooms = ROOMS.map(|room| format!("firstlight-{room}"));
    test.extend(rooms.iter().flat_map(|room| ["-p", room]));
    step("cargo", &test, &envs)?;
    test.extend(["--no-run", "--message-format=json"]);
    let listed = output(Command::new("cargo").args(&test).envs(envs))?;
    let programs = programs(&listed);
    let merged = profiles.join("all.profdata");
    let version = llvm()?;
    let mut merge = Command::new(format!("llvm-profdata-{version}"));
    merge.args(["merge", "--sparse", "-o"]).arg(&merged);
    for entry in fs::read_dir(&profiles)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "profraw") {
            merge.arg(path);
        }
    }
    output(&mut merge)?;
    let mut export = Command::new(format!("llvm-cov-{version}"));
    export.args(["export", "--format=lcov", "--instr-profile"]);
    export.arg(&merged);
    for program in &programs {
        export.args(["--object", program]);
    }
    let told = String::from_utf8(output(&mut export)?)?;
    let parsers = by_parser(&told, |file| fs::read_to_string(file).unwrap_or_default());
    if parsers.is_empty() {
        bail!("llvm-cov knows no file of the rooms");
    }
    let few: Vec<&String> = parsers
        .iter()
        .filter(|(_, lines)| lines.percent() < LEAST)
        .map(|(name, _)| name)
        .collect();
    println!("| parser | lines | run by tests |\n|---|---:|---:|");
    for (name, lines) in &parsers {
        println!("| {name} | {} | {:.1} % |", lines.all, lines.percent());
    }
    if few.is_empty() {
        return Ok(());
    }
    bail!("tests run less than {LEAST} % of the lines of {few:?}")
}

/// The version of LLVM that the compiler was built with.
fn llvm() -> Result<String> {
    let told = output(Command::new("rustc").args(["-vV"]))?;
    let told = String::from_utf8_lossy(&told).into_owned();
    let version = told.lines().find_map(|l| l.strip_prefix("LLVM version: "));
    let version = version.and_then(|v| v.split('.').next());
    Ok(version
        .context("rustc does not say its version of LLVM")?
        .to_owned())
}

fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .context("the path of the checkout is not UTF-8")
}

fn output(command: &mut Command) -> Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output();
    let done = done.with_context(|| format!("{name} could not be started"))?;
    if !done.status.success() {
        bail!("{name} failed: {}", done.status);
    }
    Ok(done.stdout)
}

/// The test programs that cargo names.
fn programs(listed: &[u8]) -> BTreeSet<String> {
    let listed = String::from_utf8_lossy(listed).into_owned();
    let messages = listed
        .lines()
        .filter_map(|l| serde_json::from_str::<Value>(l).ok());
    let programs = messages.filter_map(|m| m["executable"].as_str().map(str::to_owned));
    programs.collect()
}

/// The lines of each module or file that lies in `src` of a room. Tests do not count: what
/// stands behind `#[cfg(test)]` in the text that `source` gives of a file.
fn by_parser(lcov: &str, source: impl Fn(&str) -> String) -> BTreeMap<String, Lines> {
    let mut all: BTreeMap<String, Lines> = BTreeMap::new();
    let mut within: Option<(String, usize)> = None;
    for line in lcov.lines() {
        if let Some(file) = line.strip_prefix("SF:") {
            within = parser(file).map(|parser| (parser, before_tests(&source(file))));
        }
        let Some((parser, last)) = &within else {
            continue;
        };
        let Some((number, count)) = line.strip_prefix("DA:").and_then(|l| l.split_once(',')) else {
            continue;
        };
        if number.parse().is_ok_and(|n: usize| n <= *last) {
            let sum = all.entry(parser.clone()).or_default();
            sum.all += 1;
            sum.run += u64::from(count != "0");
        }
    }
    all
}

/// How many lines a file has before its tests.
fn before_tests(source: &str) -> usize {
    let lines: Vec<&str> = source.lines().collect();
    let begin = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].ends_with('{');
    lines.windows(2).position(begin).unwrap_or(usize::MAX)
}

/// `sources/kernel_log` of `.../crates/sources/src/kernel_log/plain.rs`.
fn parser(file: &str) -> Option<String> {
    let (_, path) = file.split_once("/crates/")?;
    let (room, rest) = path.split_once("/src/")?;
    let is_test = rest
        .split('/')
        .any(|part| matches!(part, "tests" | "tests.rs" | "testing.rs"));
    if !ROOMS.contains(&room) || is_test {
        return None;
    }
    let module = rest.split('/').next()?.trim_end_matches(".rs");
    Some(format!("{room}/{module}"))
}

#[cfg(test)]
mod tests {
    use super::{Lines, by_parser, parser};

    #[test]
    fn a_file_belongs_to_its_module() {
        let of = |file: &str| parser(&format!("/a/crates/{file}"));
        assert_eq!(of("sources/src/kft/log.rs").as_deref(), Some("sources/kft"));
        assert_eq!(of("disk/src/erofs.rs").as_deref(), Some("disk/erofs"));
        assert_eq!(of("disk/src/erofs/tests.rs"), None);
        assert_eq!(of("cli/src/main.rs"), None);
    }

    #[test]
    fn lines_of_a_module_are_added_up_without_its_tests() {
        let lcov = "SF:/a/crates/sources/src/kft/a.rs\nFN:1,x\nDA:1,5\nDA:2,0\nDA:4,7\nend_of_record\n\
                    SF:/a/crates/sources/src/kft/b.rs\nDA:1,1\nend_of_record\n\
                    SF:/a/crates/cli/src/main.rs\nDA:1,0\nend_of_record\n";
        let source = |file: &str| match file.ends_with("a.rs") {
            true => "fn a()\n{}\n#[cfg(test)]\nmod tests {\n}\n".to_owned(),
            false => "fn b() {}\n".to_owned(),
        };
        let all = by_parser(lcov, source);
        assert_eq!(all.len(), 1);
        assert_eq!(all["sources/kft"], Lines { all: 3, run: 2 });
    }
}
