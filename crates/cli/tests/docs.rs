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
use std::collections::BTreeMap;
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

/// The commands in the indented blocks of a page, each from its verb on.
fn commands_of(page: &str) -> Vec<Vec<String>> {
    let joined = page.replace("\\\n", " ");
    let blocks = joined.lines().filter(|line| line.starts_with("    "));
    let parts = blocks.flat_map(|line| line.split(['|', ';']).flat_map(|part| part.split("&&")));
    let commands = parts.filter_map(|part| {
        let part = part
            .trim()
            .trim_start_matches("$ ")
            .trim_start_matches("sudo ");
        let words = part.strip_prefix("firstlight ")?.split_whitespace();
        let words: Vec<String> = words.take_while(|w| *w != "#").map(str::to_owned).collect();
        // A table of what was printed also names the program.
        words
            .first()?
            .starts_with(|c: char| c.is_ascii_lowercase())
            .then_some(words)
    });
    commands.collect()
}

/// Helps by verb; none of a verb that does not exist.
type Helps = BTreeMap<Vec<String>, Option<String>>;

/// The help of the innermost verb that `words` begin with.
fn help_of(words: &[String], known: &mut Helps) -> Option<String> {
    let mut innermost = None;
    for count in 1..=words.len().min(2) {
        let verb = words[..count].to_vec();
        let help = known.entry(verb).or_insert_with_key(|verb| {
            let mut all = vec!["help"];
            all.extend(verb.iter().map(String::as_str));
            let out = firstlight(&all);
            let text = String::from_utf8(out.stdout).unwrap();
            out.status.success().then_some(text)
        });
        innermost = help.clone().or(innermost);
    }
    innermost
}

#[test]
fn every_command_of_the_pages_has_a_verb_and_options_that_exist() {
    let root = workspace();
    let folders = ["docs", "docs/findings", "."].map(|f| root.join(f));
    let (mut wrong, mut helps) = (Vec::new(), Helps::new());
    let mut seen = 0;
    for page in folders.iter().flat_map(|f| std::fs::read_dir(f).unwrap()) {
        let page = page.unwrap().path();
        if page.extension().is_none_or(|e| e != "md") || page.ends_with("CHANGELOG.md") {
            continue;
        }
        for words in commands_of(&std::fs::read_to_string(&page).unwrap()) {
            seen += 1;
            let command = format!("{}: firstlight {}", page.display(), words.join(" "));
            let Some(help) = help_of(&words, &mut helps) else {
                wrong.push(command);
                continue;
            };
            // What follows `--`, and what is quoted, is another program's. So are the options
            // of `fleet`, which is Python's.
            let own = words
                .iter()
                .take_while(|w| *w != "--" && !w.contains(['"', '\'']));
            for word in own.filter(|_| words[0] != "fleet") {
                let name = word.split('=').next().unwrap_or(word);
                let is_known = !name.starts_with('-')
                    || name == "-"
                    || help
                        .split([' ', ',', '\n', '[', ']', '='])
                        .any(|h| h == name);
                if !is_known {
                    wrong.push(format!("{command}: {name}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 100, "{seen}");
}
