//! The files in `ci/`: linted, and run by their own parts.

use super::stage::{Stage, copy, firstlight, quiet};
use crate::root;
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

impl Stage {
    /// The steps of the GitHub action and the script of the GitLab template, in a repository with
    /// a regression, a history that is rewritten, and stores of two branches.
    pub fn action(&mut self) -> Result<()> {
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
    pub fn gitlab(&mut self) -> Result<()> {
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
    pub fn files_for_ci(&mut self) {
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
}

/// What systemd says at the end of a boot whose user space took so many milliseconds.
fn summary_line(userspace: usize) -> String {
    let (total, own) = ((1_200 + userspace) as f64 / 1e3, userspace as f64 / 1e3);
    format!(
        "Startup finished in 1.200s (kernel) + {own:.3}s (userspace) = {total:.3}s\n\
         graphical.target reached after {own:.3}s in userspace.\n"
    )
}
