//! `firstlight install-agent` on root trees, and `--version`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{firstlight, json, valid};
use std::fs;
use std::path::Path;

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_agent_comes_and_goes() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("root");
    fs::create_dir_all(root.join("usr/lib/systemd")).unwrap();
    fs::write(root.join("usr/lib/systemd/systemd"), "").unwrap();
    let agent = scratch.path().join("agent");
    fs::write(&agent, "agent").unwrap();
    let (root_text, agent_text) = (root.display().to_string(), agent.display().to_string());
    let of = |words: &[&str]| {
        let document = json(&[&["install-agent", "--json", &root_text], words].concat());
        valid(&document, "install-agent");
        document
    };
    let planned = of(&["--agent", &agent_text, "--dry-run"]);
    assert_eq!(planned["done"], false);
    let unit = root.join("etc/systemd/system/firstlight-agent.service");
    assert!(!unit.exists());
    let done = of(&["--agent", &agent_text]);
    assert_eq!(done["changes"], planned["changes"]);
    assert!(unit.is_file());
    // Somebody's change stays, and is named.
    fs::write(&unit, "mine").unwrap();
    let undone = of(&["--undo"]);
    let changes = undone["changes"].to_string();
    assert!(
        changes.contains("firstlight-agent.service was changed since"),
        "{changes}"
    );
    assert!(!root.join("usr/lib/firstlight-agent").exists());
    assert_eq!(fs::read_to_string(&unit).unwrap(), "mine");
}

#[test]
fn a_root_that_starts_nothing_is_refused_in_a_sentence() {
    let root = tempfile::tempdir().unwrap();
    let out = firstlight(&["install-agent", &root.path().display().to_string()]);
    assert_eq!(out.status.code(), Some(2));
    let said = text(out.stderr);
    assert!(
        said.contains("neither systemd nor OpenRC") && said.contains("--start"),
        "{said}"
    );
    assert!(Path::new(root.path()).read_dir().unwrap().next().is_none());
}

#[test]
fn the_version_names_the_formats() {
    let short = text(firstlight(&["--version"]).stdout);
    assert_eq!(
        short,
        concat!("firstlight ", env!("CARGO_PKG_VERSION"), "\n")
    );
    assert_eq!(short, text(firstlight(&["-V"]).stdout));
    let long = text(firstlight(&["--version", "--verbose"]).stdout);
    assert!(long.starts_with(&short), "{long}");
    for line in [
        "target: ",
        "features: ",
        "capture format: ",
        "telemetry: none",
    ] {
        assert!(long.contains(line), "{line}: {long}");
    }
    // Alone it says nothing.
    assert_eq!(firstlight(&["--verbose"]).status.code(), Some(2));
}
