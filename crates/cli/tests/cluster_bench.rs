//! What other hosts cost and bring: `./x bench cluster`. A Slurm of two nodes on loopback
//! against one trial at a time, and a run whose trials are all known.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it measured"
)]

#[allow(dead_code, reason = "the tests of the stage use the rest")]
mod slurm;

use serde_json::Value;
use sha2::{Digest, Sha256};
use slurm::Cluster;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// How many trials are booted in each way; FIRSTLIGHT_BENCH_TRIALS says otherwise.
const TRIALS: u32 = 6;
/// How many trials the run has whose results are all shared.
const KNOWN: u32 = 200;

/// Debian's kernel with its self-tests and a test of its memory, which makes a boot some 40 s
/// long, to the start of an initramfs.
const EXPERIMENT: &str = "firstlight_experiment = 1\n[base]\nmachine = \"pc\"\nmemory_mb = 512\n\
    storage = \"none\"\nkernel = \"debian\"\nroot = \"none\"\nfirst_light = \"init\"\n\
    cmdline = [\"console=ttyS0\", \"nokaslr\", \"panic=-1\", \"quiet\", \"memtest=17\"]\nlimit_wall_s = 900\n";

struct Bench {
    folder: tempfile::TempDir,
    program: OsString,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("e.toml"), EXPERIMENT).unwrap();
        let own = || env!("CARGO_BIN_EXE_firstlight").into();
        let program = std::env::var_os("FIRSTLIGHT").unwrap_or_else(own);
        Self { folder, program }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs so many trials into the folder `out`; how long that took, in seconds.
    fn run(&self, out: &str, trials: u32, more: &[&str], cluster: Option<&Cluster>) -> f64 {
        let mut command = Command::new(&self.program);
        command
            .args(["lab", "run", "e.toml", "--out", out])
            .args(["--ensemble", &trials.to_string()])
            .args(more)
            .current_dir(self.folder.path());
        if let Some(cluster) = cluster {
            cluster.environment(&mut command);
        }
        let begun = Instant::now();
        let done = command.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        begun.elapsed().as_secs_f64()
    }

    /// The seconds that each trial took on its host.
    fn walls(&self, out: &str) -> Vec<f64> {
        let text = fs::read_to_string(self.path(out).join("trials.jsonl")).unwrap();
        let wall = |line: &str| {
            let trial: Value = serde_json::from_str(line).unwrap();
            trial["wall_s"].as_f64().unwrap()
        };
        text.lines().map(wall).collect()
    }

    /// A shared folder with a result for every plan in the folder `jobs`, each made of the
    /// result `one`: a boot of each would take most of an hour.
    fn known(&self, jobs: &Path, one: &Path) -> PathBuf {
        let shared = self.path("shared");
        let packed = fs::read(one).unwrap();
        let tar = zstd::decode_all(packed.as_slice()).unwrap();
        let mut members: Vec<(String, Vec<u8>)> = Vec::new();
        for entry in tar::Archive::new(tar.as_slice()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().to_string_lossy().into_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            members.push((name, bytes));
        }
        for plan in fs::read_dir(jobs).unwrap().map(|e| e.unwrap().path()) {
            if plan.extension().is_none_or(|e| e != "json") {
                continue;
            }
            let plan: Value = serde_json::from_slice(&fs::read(plan).unwrap()).unwrap();
            let fingerprint = plan["fingerprint"].as_str().unwrap();
            let edit = |bytes: &mut Vec<u8>, key: &str, value: &str| {
                let mut object: Value = serde_json::from_slice(bytes).unwrap();
                object[key] = value.into();
                *bytes = serde_json::to_vec(&object).unwrap();
            };
            edit(&mut members[1].1, "fingerprint", fingerprint);
            let mut hash = Sha256::new();
            for part in members[1..].iter().flat_map(|(n, b)| [n.as_bytes(), b]) {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
            let mut sum = String::new();
            for byte in hash.finalize() {
                write!(sum, "{byte:02x}").unwrap();
            }
            edit(&mut members[0].1, "fingerprint", fingerprint);
            edit(&mut members[0].1, "sha256", &sum);
            let mut tar = tar::Builder::new(Vec::new());
            for (name, bytes) in &members {
                let mut header = tar::Header::new_ustar();
                header.set_size(bytes.len() as u64);
                header.set_mode(0o644);
                tar.append_data(&mut header, name, bytes.as_slice())
                    .unwrap();
            }
            let packed = zstd::encode_all(tar.into_inner().unwrap().as_slice(), 3).unwrap();
            let group = shared.join(&fingerprint[..2]);
            fs::create_dir_all(&group).unwrap();
            fs::write(group.join(format!("{fingerprint}.tar.zst")), packed).unwrap();
        }
        shared
    }
}

#[test]
#[ignore = "./x bench cluster"]
fn bench() {
    if let Some(missing) = slurm::PROGRAMS.iter().find(|p| slurm::find(p).is_none()) {
        println!("skipped: Slurm on loopback, because there is no {missing}");
        return;
    }
    let trials = std::env::var("FIRSTLIGHT_BENCH_TRIALS");
    let trials = trials.map_or(TRIALS, |n| n.parse().unwrap());
    let bench = Bench::new();
    // The first boot also measures where firmware and unpacking end: once.
    bench.run("first", 1, &["--jobs", "1"], None);
    let one = bench.run("one", trials, &["--jobs", "1"], None);
    let cluster = Cluster::start(None);
    let two = bench.run("two", trials, &["--on", "slurm"], Some(&cluster));
    drop(cluster);
    let walls = bench.walls("two");
    let all: f64 = walls.iter().sum();
    let mean = all / f64::from(trials);
    let overhead = (2.0 * two - all) / f64::from(trials);
    println!("{trials} trials of {mean:.1} s");
    println!("  one at a time               {one:>8.1} s");
    println!(
        "  on two Slurm nodes          {two:>8.1} s   {:.2} times as fast (goal: 1.9)",
        one / two
    );
    println!("  a node's time beside boots  {overhead:>8.2} s   a job (goal: 2)");

    bench.run("plans", KNOWN, &["--prepare"], None);
    let shared = bench.known(
        &bench.path("plans/jobs"),
        &bench.path("two/jobs/baseline-0.tar.zst"),
    );
    let shared = shared.to_str().unwrap();
    let known = ["--shared", shared, "--audit", "0"];
    let cached = bench.run("cached", KNOWN, &known, None);
    assert!(!bench.path("cached/jobs").exists());
    assert_eq!(bench.walls("cached").len(), KNOWN as usize);
    println!("{KNOWN} trials whose results are all shared");
    println!("  the run                     {cached:>8.1} s   (goal: 10)");
}
