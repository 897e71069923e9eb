//! `./x bench lab`: a trial against the same emulator typed by hand, and two trials
//! at once against one after the other, in one run.

use crate::{root, step};
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// How often a trial and the bare emulator take turns.
const TURNS: u32 = 5;
/// How many boots are done one after the other, and two at once.
const BOOTS: u32 = 6;
/// What a trial may cost at most, in boots by hand; and how many times as many
/// trials two cores are to run as one.
const MOST: f64 = 1.25;
const GOAL: f64 = 1.8;

/// Debian's kernel to the start of an initramfs.
const EXPERIMENT: &str = r#"firstlight_experiment = 1
[base]
machine = "pc"
memory_mb = 512
storage = "none"
kernel = "debian"
root = "none"
cmdline = ["console=ttyS0", "nokaslr", "panic=-1", "quiet", "cryptomgr.notests"]
first_light = "init"
"#;

pub fn run() -> Result<()> {
    step("cargo", &["build", "--release", "--bins", "--locked"], &[])?;
    let dir = root().join("target/bench/lab");
    match fs::remove_dir_all(&dir) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e.into()),
        _ => fs::create_dir_all(&dir)?,
    }
    let lab = Lab {
        experiment: dir.join("micro.toml"),
        dir,
    };
    fs::write(&lab.experiment, EXPERIMENT)?;

    // The first boot also measures where firmware and unpacking end: once.
    lab.run("first", 1, 1)?;
    let [mut trial, mut by_hand] = [f64::MAX; 2];
    for turn in 1..=TURNS {
        // What is in the folder already is not booted again.
        lab.run("turns", turn, 1)?;
        let boot = lab.dir.join(format!("turns/trials/baseline/{}", turn - 1));
        trial = trial.min(wall_s(&boot)?);
        by_hand = by_hand.min(type_it(&lab.dir, &boot.join("capture/qemu.txt"))?);
    }
    let ratio = trial / by_hand;
    println!("Debian's kernel on `pc`, the fastest of {TURNS} boots");
    println!("  qemu typed by hand      {by_hand:>8.3} s");
    println!("  a trial of the lab      {trial:>8.3} s   {ratio:.2} times as long");

    let one = lab.run("one", BOOTS, 1)?;
    let two = lab.run("two", BOOTS, 2)?;
    let gain = one / two;
    println!("{BOOTS} trials of it");
    println!("  one after the other     {one:>8.3} s");
    println!("  two at once             {two:>8.3} s   {gain:.2} times the throughput");
    if ratio > MOST || gain < GOAL {
        bail!(
            "the goals are at most {MOST} times as long, and at least {GOAL} times the throughput"
        );
    }
    Ok(())
}

struct Lab {
    dir: PathBuf,
    experiment: PathBuf,
}

impl Lab {
    /// Runs the experiment into the folder `out`; gives how long that took.
    fn run(&self, out: &str, ensemble: u32, jobs: u32) -> Result<f64> {
        let firstlight = root().join("target/release/firstlight");
        let begun = Instant::now();
        let ended = Command::new(&firstlight)
            .args(["lab", "run"])
            .arg(&self.experiment)
            .arg("--out")
            .arg(self.dir.join(out))
            .args(["--ensemble", &ensemble.to_string()])
            .args(["--jobs", &jobs.to_string()])
            .stdout(Stdio::null())
            .status()
            .with_context(|| format!("{} could not be started", firstlight.display()))?;
        if !ended.success() {
            bail!("firstlight lab run: {ended}");
        }
        Ok(begun.elapsed().as_secs_f64())
    }
}

/// How long the trial in `folder` took.
fn wall_s(folder: &Path) -> Result<f64> {
    let path = folder.join("trial.json");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let trial: serde_json::Value = serde_json::from_str(&text)?;
    let wall_s = trial["wall_s"].as_f64();
    wall_s.with_context(|| format!("{} has no `wall_s`", path.display()))
}

/// Runs the command of the file `words` in a folder of its own; gives how long it
/// took.
fn type_it(dir: &Path, words: &Path) -> Result<f64> {
    let text = fs::read_to_string(words).with_context(|| words.display().to_string())?;
    let mut words = text.lines();
    let program = words.next().context("the command line is empty")?;
    let words: Vec<&str> = words.collect();
    let scratch = tempfile::tempdir_in(dir)?;
    let out = words.iter().find_map(|w| {
        let (_, rest) = w.split_once("mem-path=./out,size=")?;
        rest.parse().ok()
    });
    let bytes = out.context("the command line names no memory for the payload")?;
    File::create(scratch.path().join("out"))?.set_len(bytes)?;
    let begun = Instant::now();
    let ended = Command::new(program)
        .args(&words)
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("{program} could not be started"))?;
    if !ended.success() {
        bail!("{program}: {ended}");
    }
    Ok(begun.elapsed().as_secs_f64())
}
