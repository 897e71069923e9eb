//! `./x bench prefetch`: prefetchers side by side in the exact lab, on one image: none,
//! a loop of `readahead` in the order of need, those that are given, and ours.

use crate::{root, step};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The storage profiles.
const PROFILES: [&str; 5] = ["none", "emmc", "usb-flash", "sd-card", "hdd-laptop"];

/// The `firstlight` to take, if not one that is built now.
const PROGRAM: &str = "FIRSTLIGHT";

/// The folder of prefetchers that are given: each a folder of its own that has what it
/// needs with it: the program, its libraries, and what it recorded of this root. Its
/// `run` is started beside init, as root and in `/peer`; or its `init` in place of
/// init, and has to start `/lib/systemd/systemd`.
const PEERS: &str = "FIRSTLIGHT_PEERS";

/// Those that people use.
const KNOWN: [&str; 4] = ["ureadahead", "e4rat", "e4rat-lite", "aosp-prefetch"];

const BASE: &str = r#"firstlight_experiment = 1
[base]
machine = "pc"
memory_mb = 1024
storage = "none"
kernel = "debian"
root = "ROOT"
cmdline = ["console=ttyS0", "nokaslr", "panic=-1", "tsc=reliable", "quiet"]
treatments = ["kernel=uncompressed"]
first_light = "unit:multi-user.target"
ensemble = 3
"#;

/// What is in every trial: a set's name, and its treatments.
const OURS: [(&str, &str); 3] = [
    (
        "readahead-loop",
        r#""prefetch=boot.list,no-ring,order=need""#,
    ),
    ("firstlight-prefetch", r#""prefetch=boot.list""#),
    (
        "firstlight-order-and-prefetch",
        r#""order=boot.list", "prefetch=boot.list""#,
    ),
];

const BESIDE: &str = "#!/bin/sh
(cd /peer && ./run) &
exec /lib/systemd/systemd \"$@\"
";

const FIRST: &str = "#!/bin/sh
cd /peer && exec ./init \"$@\"
";

/// `profiles`: those of the lab, or all.
pub fn run(profiles: &[String]) -> Result<()> {
    let firstlight = match std::env::var_os(PROGRAM) {
        Some(given) => PathBuf::from(given),
        None => {
            step("cargo", &["build", "--release", "--bins", "--locked"], &[])?;
            root().join("target/release/firstlight")
        }
    };
    let dir = root().join("target/bench/prefetch");
    fs::create_dir_all(&dir)?;
    let place = dir.to_string_lossy().into_owned();
    if !dir.join("boot.list").exists() {
        let user = Command::new("id").arg("-u").output();
        if !user.is_ok_and(|u| u.stdout.trim_ascii() == b"0") {
            bail!("what the boot reads is recorded once, which mounts its image: run it as root");
        }
        let program = firstlight.to_string_lossy().into_owned();
        step(
            "experiments/prefetch/record",
            &[&place],
            &[("FIRSTLIGHT", &program)],
        )?;
    }
    let mut files = vec![(own(&dir)?, None)];
    let given = peers()?;
    for (name, folder) in &given {
        files.push((with_peer(&dir, name, folder)?, Some(name.clone())));
    }
    let profiles: Vec<&str> = match profiles {
        [] => PROFILES.to_vec(),
        named => named.iter().map(String::as_str).collect(),
    };
    // By set: first light on each profile.
    let mut table: Vec<(String, Vec<Option<u64>>)> = Vec::new();
    for (number, profile) in profiles.iter().enumerate() {
        for (file, peer) in &files {
            for (set, first_light) in boot(&firstlight, file, profile)? {
                let name = match (peer, set.as_str()) {
                    (Some(peer), _) => peer.clone(),
                    (None, "baseline") => "none".to_owned(),
                    (None, _) => set,
                };
                let known = table.iter().position(|(n, _)| *n == name);
                let at = known.unwrap_or_else(|| {
                    table.push((name, vec![None; profiles.len()]));
                    table.len() - 1
                });
                if let Some(place) = table.get_mut(at).and_then(|r| r.1.get_mut(number)) {
                    *place = first_light;
                }
            }
        }
    }
    print(&profiles, &table);
    // One may be given in several ways, as `ureadahead-early`.
    let known = |given: &String| {
        let names = KNOWN.iter().filter(|k| given.starts_with(**k));
        names.max_by_key(|k| k.len())
    };
    let there: Vec<&&str> = given.keys().filter_map(known).collect();
    for name in KNOWN.iter().filter(|n| !there.contains(n)) {
        println!("absent: {name} ({PEERS} names a folder with prefetchers to compare with)");
    }
    Ok(())
}

/// Our own sets on the root that was recorded.
fn own(dir: &Path) -> Result<PathBuf> {
    let mut text = BASE.replace("ROOT", "debian-minimal");
    for (name, treatments) in OURS {
        text += &format!("[[variant]]\nname = \"{name}\"\ntreatments = [{treatments}]\n");
    }
    let file = dir.join("own.toml");
    fs::write(&file, text)?;
    Ok(file)
}

/// The prefetchers that are given, by name.
fn peers() -> Result<BTreeMap<String, PathBuf>> {
    let Some(folder) = std::env::var_os(PEERS) else {
        return Ok(BTreeMap::new());
    };
    let folder = PathBuf::from(folder);
    let shown = folder.display();
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("{PEERS}: {shown}"))? {
        let path = entry?.path();
        let starts = |name: &str| path.join(name).is_file();
        if let Some(name) = path.file_name().filter(|_| starts("run") || starts("init")) {
            found.insert(name.to_string_lossy().into_owned(), path);
        }
    }
    if found.is_empty() {
        bail!("{PEERS}: {shown} has no folder with a program called `run` or `init`");
    }
    Ok(found)
}

/// The root with a peer in `/peer`, and an init that starts it.
fn with_peer(dir: &Path, name: &str, folder: &Path) -> Result<PathBuf> {
    let image = dir.join(format!("{name}.img"));
    fs::copy(dir.join("root.img"), &image)?;
    let init = dir.join("init");
    let is_first = folder.join("init").is_file();
    fs::write(&init, if is_first { FIRST } else { BESIDE })?;
    let mut script = String::from("mkdir /peer\n");
    put(folder, "/peer", &mut script)?;
    script += &format!(
        "rm /usr/sbin/init\nwrite {} /usr/sbin/init\nsif /usr/sbin/init mode 0100755\n",
        init.display()
    );
    let commands = dir.join(format!("{name}.debugfs"));
    fs::write(&commands, script)?;
    let [commands, shown] = [&commands, &image].map(|p| p.to_string_lossy().into_owned());
    step("debugfs", &["-w", "-f", &commands, &shown], &[])?;
    let file = dir.join(format!("{name}.toml"));
    fs::write(&file, BASE.replace("ROOT", &shown))?;
    Ok(file)
}

/// The commands of `debugfs` that copy a folder.
fn put(from: &Path, to: &str, script: &mut String) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let to = format!("{to}/{name}");
        if path.is_dir() {
            *script += &format!("mkdir {to}\n");
            put(&path, &to, script)?;
        } else {
            let from = path.display();
            *script += &format!("write {from} {to}\nsif {to} mode 0100755\n");
        }
    }
    Ok(())
}

/// First light of each set, in nanoseconds.
fn boot(firstlight: &Path, file: &Path, profile: &str) -> Result<Vec<(String, Option<u64>)>> {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let out = file.with_file_name(format!("{name}-{profile}"));
    eprintln!("{name} on {profile}");
    let done = Command::new(firstlight)
        .args(["lab", "run", "--json", "--jobs", "1", "--storage", profile])
        .arg("--out")
        .arg(&out)
        .arg(file)
        .output()?;
    let told: Value = serde_json::from_slice(&done.stdout)
        .with_context(|| String::from_utf8_lossy(&done.stderr).into_owned())?;
    let sets = told["variants"].as_array().cloned().unwrap_or_default();
    let row = |set: &Value| {
        let name = set["variant"].as_str().unwrap_or_default().to_owned();
        (name, set["median_ns"].as_u64())
    };
    Ok(sets.iter().map(row).collect())
}

fn print(profiles: &[&str], table: &[(String, Vec<Option<u64>>)]) {
    println!("first light of the minimal Debian, s of exact time, medians of three boots");
    print!("  {:<32}", "");
    profiles.iter().for_each(|p| print!("{p:>12}"));
    println!();
    for (name, times) in table {
        print!("  {name:<32}");
        for time in times {
            match time {
                Some(ns) => print!("{:>12.3}", *ns as f64 / 1e9),
                None => print!("{:>12}", "never"),
            }
        }
        println!();
    }
}
