//! `./x bench image`: blocks to files, against `debugfs`, in one run.

use super::measure;
use crate::{root, step};
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// How many blocks are asked for.
const BLOCKS: u64 = 100_000;
/// How many are given to `icheck` at once. It reads all inodes for each list, so
/// that longer ones take it less time in all. A line of a script (`-f`) holds
/// 8 KiB, the first; an argument (`-R`) holds 128 KiB, the second. The goal is
/// set against the first.
const AT_ONCE: [usize; 2] = [1_000, 18_000];
/// How many requests are mapped in the second part.
const REQUESTS: u64 = 1_000_000;
/// How many times as fast ours is to be, and how long a million may take.
const GOAL: f64 = 50.0;
const MOST_SECONDS: f64 = 2.0;

pub fn run() -> Result<()> {
    step("cargo", &["build", "--release", "--bins", "--locked"], &[])?;
    let firstlight = root().join("target/release/firstlight");
    let dir = root().join("target/bench/image");
    fs::create_dir_all(&dir)?;
    let image = dir.join("root.img");
    make(&dir, &image)?;
    let requests = dir.join("requests");
    list(&requests, BLOCKS, |i| i)?;
    let [image, requests] = [&image, &requests].map(|p| p.to_string_lossy().into_owned());
    let ours = measure(
        &firstlight,
        &["image", "map", &image, "--requests", &requests, "--json"],
        None,
        3,
    )?;
    println!("{BLOCKS} blocks of an ext4 with blocks of 1 KiB");
    println!(
        "  firstlight image map     {:>9.3} s",
        ours.wall.as_secs_f64()
    );

    let mut ratios = Vec::new();
    for at_once in AT_ONCE {
        // Every block, then every inode that a file of ours can have.
        let mut theirs = 0.0;
        for (verb, from, to) in [("icheck", 0, BLOCKS), ("ncheck", 11, 4_100)] {
            let numbers: Vec<String> = (from..to).map(|n| n.to_string()).collect();
            let lines = numbers.chunks(at_once);
            let lines: Vec<String> = lines.map(|c| format!("{verb} {}", c.join(" "))).collect();
            if lines.iter().all(|line| line.len() < 8_000) {
                let path = dir.join(verb);
                fs::write(&path, lines.join("\n") + "\n")?;
                let path = path.to_string_lossy().into_owned();
                theirs += seconds(&["-f", &path, &image])?;
            } else {
                for line in &lines {
                    theirs += seconds(&["-R", line, &image])?;
                }
            }
        }
        let ratio = theirs / ours.wall.as_secs_f64();
        println!(
            "  debugfs, {at_once:>6} at once  {theirs:>8.3} s   firstlight is {ratio:.0} times as fast",
        );
        ratios.push(ratio);
    }
    let ratio = ratios.first().copied().unwrap_or(0.0);

    let many = dir.join("million");
    list(&many, REQUESTS, |i| i.wrapping_mul(2_654_435_761) % 120_000)?;
    let many = many.to_string_lossy().into_owned();
    let cost = measure(
        &firstlight,
        &["image", "map", &image, "--requests", &many, "--json"],
        None,
        3,
    )?;
    let seconds = cost.wall.as_secs_f64();
    println!(
        "{REQUESTS} requests of that image\n  firstlight image map     {seconds:>9.3} s   peak memory {:.0} MB",
        super::mb(cost.memory)
    );
    if ratio < GOAL || seconds > MOST_SECONDS {
        bail!("the goals are {GOAL} times as fast, and {MOST_SECONDS} s for {REQUESTS} requests");
    }
    Ok(())
}

/// How long `debugfs` takes.
fn seconds(args: &[&str]) -> Result<f64> {
    let cost = measure(Path::new("debugfs"), args, None, 1)?;
    Ok(cost.wall.as_secs_f64())
}

/// A filesystem with 4,000 files in it.
fn make(dir: &Path, image: &Path) -> Result<()> {
    let tree = dir.join("tree");
    for i in 0_usize..4_000 {
        let folder = tree.join(format!("d{}", i % 41));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("f{i}")), vec![b'x'; i * 7_919 % 45_000])?;
    }
    let [tree, image] = [tree.as_path(), image].map(Path::to_string_lossy);
    let args = [
        "-q", "-F", "-t", "ext4", "-b", "1024", "-d", &tree, &image, "120M",
    ];
    step("mke2fs", &args, &[]).context("mke2fs (e2fsprogs) is needed")
}

/// Requests of one block of 1 KiB each.
fn list(path: &Path, count: u64, block: impl Fn(u64) -> u64) -> Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    for i in 0..count {
        writeln!(out, "{}+2", block(i) * 2)?;
    }
    Ok(out.flush()?)
}
