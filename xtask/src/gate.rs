//! `./x test gate`: what others made says whether our files for CI are right, their own steps
//! are run in a repository of tests, and real boots say whether `firstlight bisect` finds what
//! was planted.

use crate::runner::Summary;
use crate::{root, step};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// How many files differ between two systems.
const FILES: usize = 64;

/// So many turns of a shell's loop take about 1 % of the boot of `experiments/gate/boot.toml`.
const TURNS: usize = 700;

/// The most boots that one culprit of [`FILES`] may take.
const BOOTS: u64 = 14;

/// Runs the stage. With `all`, ten plants, ten nulls and three pairs are booted instead of
/// one each. With a filter, only bisections that have one of its words in their names.
///
/// # Errors
/// The program cannot be built or started.
pub fn test(all: bool, filter: &[String]) -> Result<Summary> {
    let bins = [
        "build",
        "--locked",
        "--package",
        "firstlight",
        "--bin",
        "firstlight",
    ];
    step("cargo", &bins, &[])?;
    let mut stage = Stage {
        folder: root().join("target/gate"),
        summary: Summary::default(),
        filter: filter.to_vec(),
    };
    fs::create_dir_all(&stage.folder)?;
    if filter.is_empty() {
        stage.install();
        stage.files_for_ci();
        stage.kcidb()?;
        stage.action()?;
        stage.gitlab()?;
    }
    let (plants, pairs) = if all { (10, 3) } else { (1, 1) };
    for n in 0..plants {
        let at = n * 37 % FILES;
        stage.bisect(&format!("plant {n}"), &[(at, spin(TURNS))], &[at])?;
        stage.bisect(&format!("null {n}"), &[], &[])?;
    }
    for n in 0..pairs {
        let [first, second] = [n * 17 % FILES, (n * 23 + 40) % FILES];
        let both = format!("[ \"$switch\" != on ] || {{ {}; }}", spin(TURNS));
        let planted = [
            (first.min(second), "switch=on".to_owned()),
            (first.max(second), both),
        ];
        stage.bisect(
            &format!("pair {n}"),
            &planted,
            &[first.min(second), first.max(second)],
        )?;
    }
    Ok(stage.summary)
}

/// A loop of a shell.
fn spin(turns: usize) -> String {
    format!("i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done")
}

struct Stage {
    folder: PathBuf,
    summary: Summary,
    filter: Vec<String>,
}

fn firstlight(args: &[&str]) -> Result<Output> {
    let output = Command::new(root().join("target/debug/firstlight"))
        .args(args)
        .current_dir(root())
        .stdin(Stdio::null())
        .output();
    output.context("firstlight could not be started")
}

impl Stage {
    fn judge(&mut self, name: &str, result: Result<()>) {
        match result {
            Ok(()) => {
                eprintln!("    ok      {name}");
                self.summary.passed += 1;
            }
            Err(why) => self.summary.failed.push(format!("gate: {name}: {why:#}")),
        }
    }

    fn skip(&mut self, name: &str, why: &str) {
        self.summary.skipped.push(format!("gate: {name}: {why}"));
    }

    /// A program that is on the path, or that the package managers of others installed into the
    /// stage's folder.
    fn tool(&self, name: &str) -> PathBuf {
        let own = ["venv/bin", "bin"].map(|folder| self.folder.join(folder).join(name));
        own.into_iter()
            .find(|p| p.is_file())
            .unwrap_or_else(|| name.into())
    }

    /// Installs what no Debian package has, where pip and Go can.
    fn install(&mut self) {
        let python = self.folder.join("venv/bin/python");
        if !python.is_file() {
            let venv = self.folder.join("venv");
            let made = quiet(Command::new("python3").args(["-m", "venv"]).arg(&venv));
            let install = ["-m", "pip", "install", "--quiet", "kcidb-io", "yamllint"];
            if !made || !quiet(Command::new(&python).args(install)) {
                fs::remove_dir_all(&venv).ok();
            }
        }
        let bin = self.folder.join("bin");
        if !bin.join("actionlint").is_file() {
            let module = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7";
            quiet(
                Command::new("go")
                    .args(["install", module])
                    .env("GOBIN", bin),
            );
        }
    }

    /// The steps of the GitHub action and the script of the GitLab template, in a repository with
    /// a regression, a history that is rewritten, and stores of two branches.
    fn action(&mut self) -> Result<()> {
        let python = self.folder.join("venv/bin/python");
        let name = "the steps of the action and the template";
        if !python.is_file() {
            self.skip(name, "pip cannot install what reads their YAML");
            return Ok(());
        }
        let out = Command::new(&python)
            .arg("xtask/src/gate/action.py")
            .args([".", "target/debug/firstlight"])
            .arg(self.folder.join("repository"))
            .current_dir(root())
            .stdin(Stdio::null())
            .output()
            .context("python could not be started")?;
        let said = String::from_utf8_lossy(&out.stdout);
        for line in said.lines() {
            match line.split_once("  ") {
                Some(("ok", check)) => self.judge(check, Ok(())),
                _ => self.judge(line, Err(anyhow::anyhow!("another verdict was expected"))),
            }
        }
        if !out.status.success() && !said.contains("WRONG") {
            let why = String::from_utf8_lossy(&out.stderr).into_owned();
            self.judge(name, Err(anyhow::anyhow!(why)));
        }
        Ok(())
    }

    /// `gitlab-ci-local` of npm, which copies the repository with rsync; or why it cannot run.
    fn gitlab_runner(&self) -> Result<std::result::Result<PathBuf, &'static str>> {
        let npm = self.folder.join("npm");
        let runner = npm.join("node_modules/.bin/gitlab-ci-local");
        if !runner.is_file() {
            fs::create_dir_all(&npm)?;
            let install = ["install", "--no-audit", "--no-fund", "--prefix", "."];
            let install = install.iter().chain(&["gitlab-ci-local@4.60.1"]);
            quiet(Command::new("npm").args(install).current_dir(&npm));
        }
        if !quiet(Command::new(&runner).arg("--version")) {
            return Ok(Err("npm cannot install gitlab-ci-local"));
        }
        if !quiet(Command::new("rsync").arg("--version")) {
            return Ok(Err("it needs rsync, which is not installed"));
        }
        Ok(Ok(runner))
    }

    /// A repository that uses the GitLab template, with one boot.
    fn gitlab_project(&self) -> Result<PathBuf> {
        let project = self.folder.join("gitlab-local");
        fs::remove_dir_all(&project).ok();
        copy(&root().join("ci"), &project.join("ci"))?;
        let program = root().join("target/debug/firstlight");
        fs::write(
            project.join(".gitlab-ci.yml"),
            format!(
                "include:\n  - local: ci/gitlab/boot-time.yml\nboot-time:\n  \
                 extends: .boot-time\n  variables:\n    BOOTS: out/*.log\n    \
                 FIRSTLIGHT: {}\n",
                program.display()
            ),
        )?;
        fs::create_dir_all(project.join("out"))?;
        fs::write(project.join("out/0.log"), summary_line(3_000))?;
        let git = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let calls: [&[&str]; 4] = [
            &["init", "-q", "-b", "main"],
            &["remote", "add", "origin", "https://example.invalid/a/b.git"],
            &["add", "-A"],
            &["commit", "-q", "-m", "boots"],
        ];
        for args in calls {
            let call = git.iter().chain(args);
            quiet(Command::new("git").args(call).current_dir(&project));
        }
        Ok(project)
    }

    /// The GitLab template by `gitlab-ci-local`: the first boots pass, a planted regression
    /// fails.
    fn gitlab(&mut self) -> Result<()> {
        let name = "the GitLab template by gitlab-ci-local";
        let runner = match self.gitlab_runner()? {
            Ok(runner) => runner,
            Err(why) => {
                self.skip(name, why);
                return Ok(());
            }
        };
        let project = self.gitlab_project()?;
        let home = project.join("home");
        let job = || {
            let run = Command::new(&runner)
                .args(["--force-shell-executor", "--home"])
                .arg(&home)
                .arg("boot-time")
                .current_dir(&project)
                .stdin(Stdio::null())
                .output();
            run.context("gitlab-ci-local could not be started")
        };
        let said = |run: &Output| {
            let text = [&run.stdout[..], &run.stderr[..]].concat();
            String::from_utf8_lossy(&text).into_owned()
        };
        let first = job()?;
        let is_there = |file: &str| project.join(file).is_file();
        let written = ["boot-time.xml", "boot-time.md", "boot-time.html"];
        let passed = match first.status.success() && written.into_iter().all(is_there) {
            true => Ok(()),
            false => Err(anyhow::anyhow!(said(&first))),
        };
        self.judge(&format!("{name}: the first boots"), passed);
        // Earlier commits: ten of one level, four slower ones.
        let store = project.join("boots.history");
        fs::remove_dir_all(&store).ok();
        for n in 0..14 {
            let log = self.folder.join("boot.log");
            let slower = if n < 10 { 0 } else { 600 };
            fs::write(&log, summary_line(3_000 + n * 7 % 13 + slower))?;
            let at = (1_000_000_000 + n).to_string();
            firstlight(&[
                "history",
                "add",
                &store.to_string_lossy(),
                &log.to_string_lossy(),
                "--at",
                &at,
                "--commit",
                &format!("c{n}"),
            ])?;
        }
        fs::write(project.join("out/0.log"), summary_line(3_605))?;
        let last = job()?;
        let text = said(&last);
        let failed = match !last.status.success() && text.contains("slower") {
            true => Ok(()),
            false => Err(anyhow::anyhow!(text)),
        };
        self.judge(&format!("{name}: a planted regression"), failed);
        Ok(())
    }

    /// The linters of each kind of file in `ci/`.
    fn files_for_ci(&mut self) {
        let style = "{extends: default, rules: {line-length: disable, document-start: disable, \
                     comments: disable, truthy: disable}}";
        let calls: [(&str, &[&str]); 5] = [
            ("yamllint", &["-d", style, "ci/github/example.yml"]),
            ("yamllint", &["-d", style, "ci/github/action.yml"]),
            ("yamllint", &["-d", style, "ci/gitlab/boot-time.yml"]),
            ("shellcheck", &["ci/steps.sh"]),
            ("actionlint", &["ci/github/example.yml"]),
        ];
        for (tool, args) in calls {
            let name = format!("{tool} {}", args.last().unwrap_or(&""));
            let run = Command::new(self.tool(tool))
                .args(args)
                .current_dir(root())
                .output();
            match run {
                Ok(out) if out.status.success() => self.judge(&name, Ok(())),
                Ok(out) => {
                    let said = String::from_utf8_lossy(&out.stdout).into_owned();
                    self.judge(&name, Err(anyhow::anyhow!(said)));
                }
                Err(_) if tool == "actionlint" => {
                    self.skip(&name, "there is no actionlint, and Go cannot build it");
                }
                Err(_) => self.skip(&name, "it is not installed"),
            }
        }
    }

    /// A KCIDB report of each verdict, validated by kernelci.org's own `kcidb-io`.
    fn kcidb(&mut self) -> Result<()> {
        let python = self.folder.join("venv/bin/python");
        if !python.is_file() {
            self.skip("KCIDB report", "pip cannot install kcidb-io");
            return Ok(());
        }
        for (name, rows, at) in [
            ("regressed", 60, 40),
            ("fine", 60, 60),
            ("cannot tell", 4, 4),
        ] {
            let table = self.folder.join("boots.csv");
            let report = self.folder.join("kcidb.json");
            fs::write(&table, boots(rows, at))?;
            firstlight(&[
                "history",
                "check",
                &table.to_string_lossy(),
                "--of",
                "first_light_ms",
                "--kcidb",
                &report.to_string_lossy(),
            ])?;
            let script = "import json, sys, kcidb_io\n\
                          data = json.load(open(sys.argv[1]))\n\
                          kcidb_io.schema.V5_3.validate(data)\n";
            let out = Command::new(&python)
                .args(["-c", script])
                .arg(&report)
                .output()
                .context("python could not be started")?;
            let result = match out.status.success() {
                true => Ok(()),
                false => Err(anyhow::anyhow!(
                    String::from_utf8_lossy(&out.stderr).into_owned()
                )),
            };
            self.judge(&format!("KCIDB report ({name})"), result);
        }
        Ok(())
    }

    /// Bisects two systems with [`FILES`] files that differ, of which these are planted in the
    /// second.
    fn bisect(
        &mut self,
        name: &str,
        planted: &[(usize, String)],
        culprits: &[usize],
    ) -> Result<()> {
        if !self.filter.is_empty() && !self.filter.iter().any(|f| name.contains(f)) {
            return Ok(());
        }
        let base = root().join("experiments/gate");
        let work = self.folder.join("bisect");
        let [first, second] = ["first", "second"].map(|n| work.join(n));
        for (tree, value) in [(&first, 1), (&second, 2)] {
            if tree.exists() {
                fs::remove_dir_all(tree)?;
            }
            copy(&base.join("root"), tree)?;
            for n in 0..FILES {
                let text = planted.iter().find(|(at, _)| *at == n && value == 2);
                let text = text.map_or(format!("v={value}"), |(_, text)| text.clone());
                fs::write(tree.join("etc/boot.d").join(part(n)), text + "\n")?;
            }
        }
        let out = firstlight(&[
            "bisect",
            "image",
            &first.to_string_lossy(),
            &second.to_string_lossy(),
            "--experiment",
            &base.join("boot.toml").to_string_lossy(),
            "--out",
            &work.join("trials").to_string_lossy(),
            "--json",
        ])?;
        let found: Value = match serde_json::from_slice(&out.stdout) {
            Ok(found) => found,
            Err(_) => {
                let said = String::from_utf8_lossy(&out.stderr).into_owned();
                self.judge(name, Err(anyhow::anyhow!(said)));
                return Ok(());
            }
        };
        let part_of = |change: &Value| {
            let delta = change["delta_ns"].as_f64().unwrap_or(0.0);
            let whole = found["samples"][0]["times_ns"][0].as_f64().unwrap_or(1.0);
            100.0 * delta / whole
        };
        eprintln!(
            "    {name}: {} after {} boots, {:+.2} % in all",
            found["verdict"],
            found["boots"],
            part_of(&found["change"])
        );
        self.judge(name, as_planted(&found, culprits));
        Ok(())
    }
}

/// Whether exactly the planted files were found, in as few boots as promised.
fn as_planted(found: &Value, culprits: &[usize]) -> Result<()> {
    let mut names: Vec<String> = found["culprits"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|c| c["names"].as_array().cloned().unwrap_or_default())
        .map(|n| n.as_str().unwrap_or_default().to_owned())
        .collect();
    names.sort();
    let wanted: Vec<String> = culprits
        .iter()
        .map(|n| format!("/etc/boot.d/{} (changed)", part(*n)))
        .collect();
    if names != wanted {
        bail!("found {names:?}, planted {wanted:?}");
    }
    let verdict = if culprits.is_empty() {
        "no_difference"
    } else {
        "found"
    };
    if found["verdict"] != verdict {
        bail!("the verdict is {}, not {verdict}", found["verdict"]);
    }
    let boots = found["boots"].as_u64().unwrap_or(u64::MAX);
    if culprits.len() < 2 && boots > BOOTS {
        bail!("{boots} boots, more than {BOOTS}");
    }
    if culprits.len() == 2 && found["interact"] != true {
        bail!("the pair is not named as such");
    }
    Ok(())
}

/// The name of a file that is sourced at boot.
fn part(n: usize) -> String {
    format!("{n:02}-part")
}

/// What systemd says at the end of a boot whose user space took so many milliseconds.
fn summary_line(userspace: usize) -> String {
    let (total, own) = ((1_200 + userspace) as f64 / 1e3, userspace as f64 / 1e3);
    format!(
        "Startup finished in 1.200s (kernel) + {own:.3}s (userspace) = {total:.3}s\n\
         graphical.target reached after {own:.3}s in userspace.\n"
    )
}

/// A table of boots: 50 ms slower from row `at` on.
fn boots(rows: usize, at: usize) -> String {
    let mut text = String::from("commit,first_light_ms\n");
    for i in 0..rows {
        let noise = (i * 7919 % 101) as f64 / 10.0;
        let slow = if i >= at { 50.0 } else { 0.0 };
        text += &format!("c{i},{:.1}\n", 1_000.0 + noise + slow);
    }
    text
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let place = to.join(path.file_name().unwrap_or_default());
        match path.is_dir() {
            true => copy(&path, &place)?,
            false => fs::copy(&path, &place).map(drop)?,
        }
    }
    Ok(())
}

fn quiet(call: &mut Command) -> bool {
    let call = call
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    call.status().is_ok_and(|s| s.success())
}
