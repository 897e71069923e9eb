//! `firstlight lab run` whose QEMU vanishes in the middle of a boot, as the kernel's
//! killer of processes makes it when memory is short.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::workspace;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const EMULATOR: &str = "qemu-system-aarch64";

const EXPERIMENT: &str = r#"
firstlight_experiment = 1
[base]
machine = "arm-virt"
arch = "arm64"
memory_mb = 512
storage = "none"
kernel = "debian"
root = "none"
first_light = "init"
cmdline = ["console=ttyAMA0", "panic=-1", "cryptomgr.notests"]
limit_wall_s = 200
ensemble = 1
[[variant]]
name = "quiet"
treatments = ["cmdline+=quiet"]
"#;

fn start(file: &Path, out: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(["lab", "run", "--jobs", "1", "--json", "--out"])
        .args([out, file])
        .current_dir(workspace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn ended(run: Child) -> (Output, Value) {
    let output = run.wait_with_output().unwrap();
    let table = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output, table)
}

/// The process of the emulator that `run` started, by the kernel's list.
fn emulator_of(run: &Child) -> Option<u32> {
    let parent = format!("PPid:\t{}\n", run.id());
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(id) = entry.file_name().to_string_lossy().parse() else {
            continue;
        };
        // It may have ended meanwhile, and only fifteen bytes of a name are kept.
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        if status.contains(&parent) && status.starts_with(&format!("Name:\t{:.15}\n", EMULATOR)) {
            return Some(id);
        }
    }
    None
}

/// What of a table has to be the same whenever a trial ran.
fn kept(table: &Value) -> Vec<[Value; 4]> {
    let trials = table["trials"].as_array().unwrap();
    let keys = ["variant", "digest", "first_light_ns", "failure"];
    let of = |t: &Value| keys.map(|key| t[key].clone());
    trials.iter().map(of).collect()
}

#[test]
fn an_emulator_that_vanishes_is_said_and_its_trial_is_booted_again() {
    for tool in [EMULATOR, "apt-get", "dpkg-deb", "kill"] {
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|d| d.join(tool).is_file()) {
            eprintln!("skipped: an emulator that vanishes, because there is no {tool}");
            return;
        }
    }
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("two.toml");
    fs::write(&file, EXPERIMENT).unwrap();
    let (calm, out) = (scratch.path().join("calm"), scratch.path().join("out"));
    let (done, expected) = ended(start(&file, &calm));
    assert!(done.status.success(), "{done:?}");
    assert!(kept(&expected).iter().all(|t| t[3].is_null()), "{expected}");

    // The boot is well under way when the kernel has said something.
    let run = start(&file, &out);
    let begin = Instant::now();
    let console = out.join("begun/baseline/0/work/console");
    let id = loop {
        let said = fs::metadata(&console).map_or(0, |m| m.len());
        if let (true, Some(id)) = (said > 1_000, emulator_of(&run)) {
            break id;
        }
        assert!(begin.elapsed() < Duration::from_secs(200), "no boot began");
        std::thread::sleep(Duration::from_millis(2));
    };
    let killed = Command::new("kill")
        .args(["-KILL", &id.to_string()])
        .status();
    assert!(killed.unwrap().success());
    let (output, table) = ended(run);
    assert!(output.status.success(), "{output:?}");
    let [cut, whole] = &kept(&table)[..] else {
        panic!("{table}");
    };
    // The other trial is as it always is.
    assert_eq!(*whole, kept(&expected)[1]);
    assert!(cut[2].is_null(), "{table}");
    let detail = cut[3]["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("QEMU ended with signal: 9 (SIGKILL)") && !detail.contains('\n'),
        "{detail}"
    );
    assert!(
        !console.exists(),
        "nothing of the cut boot is left beside its capture"
    );

    let (done, resumed) = ended(start(&file, &out));
    assert!(done.status.success(), "{done:?}");
    assert_eq!(kept(&resumed), kept(&expected));
    for table in ["result.md", "result.csv"] {
        let text = |folder: &Path| fs::read_to_string(folder.join(table)).unwrap();
        let [was, is] = [&calm, &out].map(|f| text(f).replace(f.to_str().unwrap(), "OUT"));
        assert_eq!(is, was, "{table}");
    }
}
