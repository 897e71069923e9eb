//! Reports of `history check` and `gate` for other programs, read by what others made: the
//! schemas and parsers of those who defined the formats.

use super::stage::{Stage, firstlight};
use crate::root;
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The formats that are files.
const FORMATS: [&str; 9] = [
    "markdown",
    "junit",
    "sarif",
    "tap",
    "prometheus",
    "kcidb",
    "bencher",
    "benchmark",
    "badge",
];

/// A verdict: its word, and the table of a history and of new boots that give it.
const VERDICTS: [(&str, usize, usize); 3] = [
    ("regressed", 60, 40),
    ("fine", 60, 60),
    ("cannot tell", 4, 4),
];

impl Stage {
    /// Writes all formats for all verdicts of both programs, and lets others read them.
    ///
    /// # Errors
    /// A program cannot be started.
    pub fn outputs(&mut self) -> Result<()> {
        let folder = self.folder.join("outputs");
        fs::create_dir_all(&folder)?;
        for (verdict, rows, at) in VERDICTS {
            let table = folder.join("boots.csv");
            let base = folder.join("base.csv");
            fs::write(&table, boots(rows, at))?;
            fs::write(&base, boots(rows.min(20), rows))?;
            let newer = folder.join("new.csv");
            let slower = if at < rows { 0 } else { rows };
            fs::write(&newer, boots(rows.min(20), slower))?;
            let [table, base, newer] = [&table, &base, &newer].map(|p| p.display().to_string());
            let of = ["--of", "first_light_ms"];
            let history = [&["history", "check", &table][..], &of].concat();
            let gate = [&["gate", &base, "--against", &newer][..], &of].concat();
            for (program, args) in [("history", history), ("gate", gate)] {
                let reports = folder.join(program);
                fs::create_dir_all(&reports)?;
                let mut all: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
                for format in FORMATS {
                    all.push(format!("--{format}"));
                    all.push(reports.join(format).display().to_string());
                }
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                firstlight(&all)?;
                self.read_by_others(&format!("{program} ({verdict})"), &reports, verdict)?;
            }
        }
        Ok(())
    }

    fn read_by_others(&mut self, name: &str, reports: &Path, verdict: &str) -> Result<()> {
        let schema = root().join("crates/cli/tests/junit.xsd");
        for (format, args) in [
            (
                "junit",
                vec!["--noout".into(), "--schema".into(), schema.into_os_string()],
            ),
            ("badge", vec!["--noout".into()]),
        ] {
            let checked = format!("{format} by xmllint, {name}");
            let mut call = Command::new("xmllint");
            call.args(args).arg(reports.join(format));
            self.by(&checked, &mut call)?;
        }
        // Perl's TAP::Parser: its harness fails on failed tests, and says what it cannot parse.
        let mut prove = Command::new("prove");
        prove.args(["--exec", "cat"]).arg(reports.join("tap"));
        match prove.stdin(Stdio::null()).output() {
            Ok(out) => {
                let said = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
                let is_right =
                    !said.contains("Parse errors") && out.status.success() == (verdict == "fine");
                let result = is_right.then_some(()).ok_or_else(|| anyhow::anyhow!(said));
                self.judge(&format!("tap by prove, {name}"), result);
            }
            Err(_) => self.skip(&format!("tap by prove, {name}"), "it is not installed"),
        }
        let python = self.folder.join("venv/bin/python");
        if !python.is_file() {
            self.skip(
                &format!("formats by Python, {name}"),
                "pip cannot install their parsers",
            );
            return Ok(());
        }
        let out = Command::new(&python)
            .arg("xtask/src/gate/outputs.py")
            .arg(reports)
            .arg(verdict)
            .current_dir(root())
            .stdin(Stdio::null())
            .output()
            .context("python could not be started")?;
        let said = String::from_utf8_lossy(&out.stdout);
        for line in said.lines() {
            match line.split_once("  ") {
                Some(("ok", check)) => self.judge(&format!("{check}, {name}"), Ok(())),
                _ => self.judge(
                    &format!("a format of {name}"),
                    Err(anyhow::anyhow!(line.to_owned())),
                ),
            }
        }
        if !out.status.success() && !said.contains("WRONG") {
            let why = String::from_utf8_lossy(&out.stderr).into_owned();
            self.judge(
                &format!("formats by Python, {name}"),
                Err(anyhow::anyhow!(why)),
            );
        }
        Ok(())
    }

    fn by(&mut self, name: &str, call: &mut Command) -> Result<()> {
        match call.stdin(Stdio::null()).output() {
            Ok(out) if out.status.success() => self.judge(name, Ok(())),
            Ok(out) => {
                let said = String::from_utf8_lossy(&out.stderr).into_owned();
                self.judge(name, Err(anyhow::anyhow!(said)));
            }
            Err(_) => self.skip(name, "it is not installed"),
        }
        Ok(())
    }
}

/// A table of boots: 50 ms slower from row `at` on.
fn boots(rows: usize, at: usize) -> String {
    let mut text = String::from("commit,first_light_ms\n");
    for i in 0..rows {
        let noise = (i * 7919 % 101) as f64 / 10.0;
        let slow = if i >= at { 50.0 } else { 0.0 };
        // Writing into a string does not fail.
        let _ = writeln!(text, "c{i},{:.1}", 1_000.0 + noise + slow);
    }
    text
}
