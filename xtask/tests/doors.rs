//! Which room may use which: a new arrow is a design decision, made here and
//! in ARCHITECTURE.md in the same commit.

#![allow(clippy::expect_used, clippy::panic, reason = "a test")]
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Room, and the rooms it may use. `xtask` is the project's own and uses none.
const DOORS: &[(&str, &[&str])] = &[
    ("record", &[]),
    ("storage", &[]),
    ("agent", &["storage"]),
    ("rawimage", &[]),
    ("flash", &["rawimage"]),
    ("disk", &["rawimage"]),
    ("bootimage", &["rawimage"]),
    ("history", &[]),
    ("remote", &[]),
    ("bisect", &[]),
    ("serve", &[]),
    ("redact", &[]),
    ("sources", &["record", "agent"]),
    ("capture", &["record", "agent"]),
    ("analysis", &["record", "storage"]),
    (
        "views",
        &[
            "analysis",
            "record",
            "agent",
            "treat",
            "inspect",
            "rawimage",
            "flash",
            "disk",
            "bootimage",
            "bisect",
        ],
    ),
    (
        "treat",
        &["agent", "rawimage", "flash", "disk", "bootimage"],
    ),
    (
        "inspect",
        &[
            "record",
            "sources",
            "analysis",
            "treat",
            "agent",
            "rawimage",
            "flash",
            "disk",
            "bootimage",
            "history",
        ],
    ),
    (
        "input",
        &[
            "record", "sources", "agent", "capture", "analysis", "inspect", "rawimage", "redact",
            "history",
        ],
    ),
    (
        "lab",
        &[
            "treat",
            "sources",
            "record",
            "capture",
            "agent",
            "storage",
            "rawimage",
            "flash",
            "disk",
            "bootimage",
            "bisect",
            "remote",
        ],
    ),
    (
        "proof",
        &[
            "record", "storage", "agent", "analysis", "capture", "input", "inspect", "lab",
            "treat", "views",
        ],
    ),
    (
        "cli",
        &[
            "record",
            "sources",
            "analysis",
            "views",
            "treat",
            "agent",
            "storage",
            "capture",
            "lab",
            "rawimage",
            "flash",
            "disk",
            "bootimage",
            "history",
            "serve",
            "redact",
            "inspect",
            "input",
            "bisect",
            "proof",
        ],
    ),
    ("xtask", &[]),
];

/// The rooms, each with the rooms that it uses, other than in its tests.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo metadata runs");
    let metadata: serde_json::Value =
        serde_json::from_slice(&out.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    // The table names rooms by their folders.
    let name = |v: &serde_json::Value| match v["name"].as_str().unwrap_or_default() {
        "firstlight" => "cli".to_owned(),
        package => package.trim_start_matches("firstlight-").to_owned(),
    };
    let rooms: BTreeSet<String> = packages.iter().map(name).collect();
    packages
        .iter()
        .map(|p| {
            let used = p["dependencies"].as_array().expect("dependencies");
            let used = used.iter().filter(|d| d["kind"] != "dev").map(name);
            (name(p), used.filter(|n| rooms.contains(n)).collect())
        })
        .collect()
}

#[test]
fn no_room_uses_another_but_through_a_door() {
    let doors: BTreeMap<&str, &[&str]> = DOORS.iter().copied().collect();
    for (room, used) in arrows() {
        let allowed = doors
            .get(room.as_str())
            .unwrap_or_else(|| panic!("{room} is not in the table of doors"));
        for other in used {
            assert!(
                allowed.contains(&other.as_str()),
                "{room} uses {other}, and there is no door between them"
            );
        }
    }
}

#[test]
fn every_room_in_the_table_is_there() {
    let arrows = arrows();
    for (room, _) in DOORS {
        assert!(arrows.contains_key(*room), "{room} is gone; take it out");
    }
}

/// Where unsafe code may be turned on, other than in the agent, and what for.
const UNSAFE: &[(&str, &str)] = &[
    ("input/src/bytes.rs", "mapped files and memory advice"),
    (
        "cli/src/input.rs",
        "the signal that a mapped file sends when it is cut",
    ),
    (
        "capture/src/serial/port.rs",
        "TIOCGICOUNT, a request of a serial driver that no library has",
    ),
];

#[test]
fn only_the_agent_and_named_files_contain_unsafe_code() {
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/");
    let mut found = BTreeSet::new();
    let mut dirs = vec![std::path::PathBuf::from(crates)];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).expect("readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("readable");
                // However the attribute is broken into lines, it names the lint.
                if text.contains("unsafe_code") {
                    let name = path.strip_prefix(crates).expect("below");
                    found.insert(name.to_string_lossy().into_owned());
                }
            }
        }
    }
    found.retain(|name| !name.starts_with("agent/"));
    let named: BTreeSet<String> = UNSAFE.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(found, named, "files that turn on unsafe code");
}
