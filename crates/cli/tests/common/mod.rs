//! Running the command as a user would.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test fails by panicking, and no test uses all of this"
)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the command did with these arguments.
pub fn firstlight(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(args)
        .current_dir(workspace())
        .output()
        .expect("firstlight starts")
}

/// Runs a tool in the workspace; `false`, with a visible line, if it is not there.
pub fn tool(name: &str, args: &[&str]) -> bool {
    let dirs = std::env::var("PATH").unwrap_or_default();
    let status = Command::new(name)
        .env("PATH", format!("{dirs}:/usr/sbin:/sbin"))
        .args(args)
        .current_dir(workspace())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match status {
        Ok(status) => {
            assert!(status.success(), "{name} {args:?}");
            true
        }
        Err(_) => {
            eprintln!("skipped: {name} not there");
            false
        }
    }
}

/// A scratch folder of a test.
pub struct Scratch(pub tempfile::TempDir);

impl Scratch {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// The JSON that the command prints, checked against its schema.
pub fn json(args: &[&str]) -> Value {
    let out = firstlight(args);
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{args:?}: {errors}");
    let value: Value = serde_json::from_slice(&out.stdout).expect("valid JSON");
    let schema = value["schema"].as_str().expect("a schema key");
    let name = schema
        .strip_prefix("firstlight.")
        .and_then(|s| s.strip_suffix("/1"));
    valid(&value, name.expect("firstlight.VERB/1"));
    value
}

/// Requires `value` to be as `schemas/NAME.json` says.
pub fn valid(value: &Value, name: &str) {
    let path = workspace().join(format!("schemas/{name}.json"));
    let mut schemas = boon::Schemas::new();
    let index = boon::Compiler::new()
        .compile(path.to_str().expect("UTF-8"), &mut schemas)
        .expect("a JSON Schema");
    if let Err(e) = schemas.validate(value, index) {
        panic!("not as {}: {e:#}", path.display());
    }
}

/// A real sample's path, or `None` with a visible line where there is none.
pub fn sample(name: &str) -> Option<String> {
    let root = std::env::var_os("FIRSTLIGHT_SAMPLES")
        .map_or_else(|| workspace().join("../shared/samples"), PathBuf::from);
    let path = root.join(name);
    if path.exists() {
        return Some(path.to_string_lossy().into_owned());
    }
    eprintln!("skipped: {} not there", path.display());
    None
}

/// What others' tools found in the samples.
pub fn expected() -> Option<Value> {
    let text = std::fs::read(sample("expected.json")?).expect("readable");
    Some(serde_json::from_slice(&text).expect("valid JSON"))
}

/// Exports `input`; gives the file.
pub fn export(input: &str, format: &str, dir: &Path) -> PathBuf {
    let file = dir.join(format!("boot.{format}"));
    let out = firstlight(&[
        "export",
        input,
        "--to",
        format,
        "-o",
        file.to_str().unwrap(),
    ]);
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    file
}

/// Asks Perfetto's trace processor; `None` if it is not there.
pub fn ask_perfetto(trace: &Path, queries: &[&str]) -> Option<Vec<Value>> {
    let ui = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/oracles/perfetto");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/perfetto/query.mjs");
    if !Path::new(ui).is_dir() {
        println!("skipped: Perfetto's trace processor is not there (`./x test` fetches it)");
        return None;
    }
    let asked = Command::new("node")
        .args([script, ui, trace.to_str().unwrap()])
        .args(queries)
        .output();
    let Ok(out) = asked else {
        println!("skipped: node is not there (apt-get install nodejs)");
        return None;
    };
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let text = String::from_utf8(out.stdout).unwrap();
    Some(
        text.lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect(),
    )
}
