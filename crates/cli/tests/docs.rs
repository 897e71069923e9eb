//! The examples in the README and the documentation are what the command does.
//!
//! A block fenced as `console` holds a line `$ firstlight ...` and what it
//! prints, whole. With `FIRSTLIGHT_BLESS=1` the blocks are rewritten.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{firstlight, workspace};
use std::fmt::Write;
use std::path::PathBuf;

const FENCE: &str = "```";

/// A document with the output in its `console` blocks made anew.
fn remade(text: &str) -> String {
    let mut new = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        writeln!(new, "{line}").unwrap();
        if line != "```console" {
            continue;
        }
        let command = lines.next().unwrap();
        writeln!(new, "{command}").unwrap();
        let words = command.strip_prefix("$ firstlight").unwrap_or_else(|| {
            panic!("an example begins with `$ firstlight`, and not with `{command}`")
        });
        let words: Vec<&str> = words.split_whitespace().collect();
        let out = firstlight(&words);
        assert!(
            out.status.success(),
            "{command}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        for line in String::from_utf8(out.stdout).unwrap().lines() {
            writeln!(new, "{}", line.trim_end()).unwrap();
        }
        assert!(
            lines.any(|l| l == FENCE),
            "{command}: the block does not end"
        );
        writeln!(new, "{FENCE}").unwrap();
    }
    new
}

#[test]
fn every_example_prints_what_the_document_says() {
    let root = workspace();
    let pages = std::fs::read_dir(root.join("docs")).unwrap();
    let mut pages: Vec<PathBuf> = pages.map(|e| e.unwrap().path()).collect();
    pages.push(root.join("README.md"));
    pages.sort();
    let mut examples = 0;
    for page in pages
        .iter()
        .filter(|p| p.extension().is_some_and(|e| e == "md"))
    {
        let text = std::fs::read_to_string(page).unwrap();
        examples += text.matches("```console\n").count();
        let new = remade(&text);
        if std::env::var_os("FIRSTLIGHT_BLESS").is_some() {
            std::fs::write(page, new).unwrap();
        } else {
            assert_eq!(
                text,
                new,
                "{} is not what is printed; ./x bless",
                page.display()
            );
        }
    }
    assert!(examples > 0, "no examples were found");
}

#[test]
fn a_capture_of_each_format_version_is_read() {
    for version in 1..=agent::capture::VERSION {
        let prefix = format!("v{version}-");
        let captures = std::fs::read_dir(workspace().join("corpus/captures")).unwrap();
        let mut read = 0;
        for capture in captures.map(|e| e.unwrap().path()) {
            let name = capture.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with(&prefix) {
                let show = common::json(&["show", "--json", capture.to_str().unwrap()]);
                assert!(!show["first_light"].is_null(), "{name}");
                read += 1;
            }
        }
        assert!(read > 0, "no capture of version {version} is kept");
    }
}

/// The commands in the README's table of jobs, each from `firstlight` on.
fn commands_of_the_readme() -> Vec<String> {
    let text = std::fs::read_to_string(workspace().join("README.md")).unwrap();
    let rows = text.lines().filter(|l| l.starts_with("| "));
    let code = rows.flat_map(|row| row.split('`').skip(1).step_by(2).map(str::to_owned));
    code.filter(|c| c.starts_with("firstlight ")).collect()
}

#[test]
fn every_command_of_the_readme_runs_as_typed() {
    let commands = commands_of_the_readme();
    assert!(commands.len() > 10, "{commands:?}");
    // Outputs go here, and inputs come from the checkout.
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(workspace().join("corpus"), folder.path().join("corpus")).unwrap();
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let out = std::process::Command::new(env!("CARGO_BIN_EXE_firstlight"))
            .args(&words)
            .current_dir(folder.path())
            .output()
            .unwrap();
        // A gate that says "slower" has done its work.
        let wanted = i32::from(words.first() == Some(&"gate"));
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(wanted), "{command}: {said}");
    }
}
