//! `rows` finds the boots in folders, archives and lists, and drops none.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{firstlight, workspace};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const LOG: &str = "[    0.000000] Linux version 6.1.0\n\
    [    1.000000] calling  slow_init+0x0/0x10 @ 1\n\
    [    1.250000] initcall slow_init+0x0/0x10 returned 0 after 250000 usecs\n\
    [    2.000000] firstlight: mark first-light\n";

/// A log that differs from others in one number.
fn log(number: usize) -> String {
    LOG.replace("1.250000", &format!("1.25{number:04}"))
}

/// The counts that `rows` prints of these inputs: ok, without first light, implausible, bad.
fn counts(inputs: &[&Path], out: &Path) -> [u64; 4] {
    let inputs: Vec<&str> = inputs.iter().map(|p| p.to_str().unwrap()).collect();
    let rest = ["--json", "--out", out.to_str().unwrap()];
    let done = firstlight(&[&["rows"], &inputs[..], &rest].concat());
    assert!(done.status.success(), "{done:?}");
    of_json(&done.stdout)
}

fn of_json(json: &[u8]) -> [u64; 4] {
    let done: Value = serde_json::from_slice(json).unwrap();
    assert_eq!(done["schema"], "firstlight.rows/1");
    ["ok", "no_first_light", "implausible", "bad"].map(|key| done[key].as_u64().unwrap())
}

#[test]
fn a_folder_of_folders_holds_a_boot_in_each_and_a_folder_of_logs_one_in_each_log() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..3 {
        let boot = dir.path().join(format!("boots/{number}"));
        fs::create_dir_all(&boot).unwrap();
        fs::write(boot.join("dmesg.txt"), log(number)).unwrap();
        let analyze = workspace().join("corpus/systemd/debian12.txt");
        fs::copy(analyze, boot.join("analyze.txt")).unwrap();
        fs::create_dir_all(dir.path().join("logs")).unwrap();
        fs::write(dir.path().join(format!("logs/{number}.log")), log(number)).unwrap();
    }
    let out = dir.path().join("out");
    assert_eq!(counts(&[&dir.path().join("boots")], &out), [3, 0, 0, 0]);
    assert_eq!(counts(&[&dir.path().join("logs")], &out), [3, 0, 0, 0]);
    for name in ["boots.parquet", "items.parquet"] {
        let file = fs::read(out.join(name)).unwrap();
        assert!(
            file.starts_with(b"PAR1") && file.ends_with(b"PAR1"),
            "{name}"
        );
    }
}

#[test]
fn archives_and_lists_hold_the_same_boots() {
    let dir = tempfile::tempdir().unwrap();
    let tar = dir.path().join("boots.tar");
    let mut archive = tar::Builder::new(fs::File::create(&tar).unwrap());
    for number in 0..70 {
        let log = log(number);
        let mut header = tar::Header::new_gnu();
        header.set_size(log.len() as u64);
        header.set_mode(0o644);
        let name = format!("field/{number}.log");
        archive
            .append_data(&mut header, name, log.as_bytes())
            .unwrap();
    }
    archive.finish().unwrap();
    let out = dir.path().join("out");
    assert_eq!(counts(&[&tar], &out), [70, 0, 0, 0]);
    // Cut in the middle of a member: what is whole counts, and the rest is a bad boot.
    let bytes = fs::read(&tar).unwrap();
    let torn = dir.path().join("torn.tar");
    fs::write(&torn, &bytes[..1024 * 10 + 700]).unwrap();
    let [ok, _, _, bad] = counts(&[&torn], &out);
    assert!(ok == 10 && bad >= 1, "{ok} {bad}");

    let capture = workspace().join("corpus/captures/v1-debian.tar.zst");
    let list = format!("{}\n{}\n/missing\n", tar.display(), capture.display());
    let words = ["--from-list", "-", "--every", "40"];
    let [ok, other, _, bad] = of_stdin(list.as_bytes(), &words, &out);
    assert_eq!((ok + other, bad), (71, 1));
    assert!(out.join("boots-00001.parquet").is_file());

    // A stream is a list, or an archive itself.
    assert_eq!(of_stdin(&bytes, &["-"], &out), [70, 0, 0, 0]);
    let packed = zstd::encode_all(bytes.as_slice(), 1).unwrap();
    assert_eq!(of_stdin(&packed, &["-"], &out), [70, 0, 0, 0]);
    let capture = fs::read(&capture).unwrap();
    let [ok, other, _, bad] = of_stdin(&capture, &["-"], &out);
    assert_eq!((ok + other, bad), (1, 0));
    let list = format!("{}\n", tar.display());
    assert_eq!(of_stdin(list.as_bytes(), &["-"], &out), [70, 0, 0, 0]);
}

#[test]
fn an_archive_of_captures_holds_each_whole() {
    let dir = tempfile::tempdir().unwrap();
    let capture = fs::read(workspace().join("corpus/captures/v1-debian.tar.zst")).unwrap();
    let capture = zstd::decode_all(capture.as_slice()).unwrap();
    let tar = dir.path().join("captures.tar");
    let mut archive = tar::Builder::new(fs::File::create(&tar).unwrap());
    for boot in ["one", "two"] {
        let mut members = tar::Archive::new(capture.as_slice());
        for member in members.entries().unwrap() {
            let mut member = member.unwrap();
            let name = Path::new("field").join(boot).join(member.path().unwrap());
            let mut header = member.header().clone();
            archive.append_data(&mut header, name, &mut member).unwrap();
        }
    }
    archive.finish().unwrap();
    let [ok, other, _, bad] = counts(&[&tar], &dir.path().join("out"));
    assert_eq!((ok + other, bad), (2, 0));
}

/// The counts of what comes on standard input.
fn of_stdin(bytes: &[u8], words: &[&str], out: &Path) -> [u64; 4] {
    let mut rows = Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .arg("rows")
        .args(words)
        .args(["--json", "--out"])
        .arg(out)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    rows.stdin.take().unwrap().write_all(bytes).unwrap();
    let done = rows.wait_with_output().unwrap();
    assert!(done.status.success(), "{done:?}");
    of_json(&done.stdout)
}

#[test]
fn what_is_no_boot_is_a_bad_row_and_what_is_no_file_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    fs::create_dir_all(logs.join("ten-days")).unwrap();
    fs::write(logs.join("empty.log"), "").unwrap();
    fs::write(logs.join("noise.log"), [0u8, 255, 3].repeat(999)).unwrap();
    fs::write(
        logs.join("no-end.log"),
        "[    0.000000] Linux version 6.1.0\n",
    )
    .unwrap();
    let long = LOG.replace("[    2.0", "[864000.0");
    fs::write(logs.join("ten-days/dmesg.txt"), long).unwrap();
    let out = dir.path().join("out");
    assert_eq!(counts(&[&logs], &out), [0, 1, 1, 2]);

    let missing = firstlight(&["rows", "/missing", "--out", out.to_str().unwrap()]);
    assert_eq!(missing.status.code(), Some(2));
    let said = String::from_utf8_lossy(&missing.stderr);
    assert_eq!(said, "firstlight: /missing: no such file or folder\n");
}

#[test]
fn without_its_program_fleet_says_how_to_install_it() {
    let done = Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(["fleet", "sql", "store", "select 1", "--json"])
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("pipx install firstlight-fleet"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// A history is read as boots: each entry is one, named by its release, and damaged ones are bad.
#[test]
fn entries_of_a_history_are_boots() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("boots.history");
    for (number, release) in ["1.9", "1.10", "1.10"].into_iter().enumerate() {
        let file = dir.path().join("dmesg.txt");
        fs::write(&file, log(number)).unwrap();
        let [store, file] = [&store, &file].map(|p| p.to_str().unwrap());
        let added = firstlight(&["history", "add", store, file, "--release", release]);
        assert!(added.status.success(), "{added:?}");
    }
    let store_text = store.to_str().unwrap();
    let words = [
        "history", "annotate", store_text, "--entry", "1.9", "--text", "x",
    ];
    assert!(firstlight(&words).status.success());
    let out = dir.path().join("out");
    assert_eq!(counts(&[&store], &out), [3, 0, 0, 0]);
    let boots = fs::read(out.join("boots.parquet")).unwrap();
    let has = |text: &str| boots.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(has("boots.history/1.10/") && has("boots.history/1.9/"));
    fs::write(store.join("entries/stranger.json"), b"{\"a\":1}").unwrap();
    assert_eq!(counts(&[&store], &out), [3, 0, 0, 1]);
}
