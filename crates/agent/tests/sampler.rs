//! The sampler on this machine's /proc.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use firstlight_agent::config::Sampling;
use firstlight_agent::sampler::{Sampler, Samples};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn sampler(most_bytes: usize) -> Sampler {
    let sampling = Sampling {
        period: Sampling::PERIOD,
        most_bytes,
    };
    Sampler::new(Path::new("/proc"), sampling)
}

fn log<'a>(samples: &'a Samples, name: &str) -> &'a str {
    let found = samples.files.iter().find(|f| f.0 == name).unwrap();
    std::str::from_utf8(&found.1).unwrap()
}

/// The blocks of a log: a stamp, and the lines behind it.
fn blocks(log: &str) -> Vec<(u64, Vec<&str>)> {
    assert!(log.ends_with("\n\n"), "{log}");
    let mut blocks = Vec::new();
    for block in log.trim_end().split("\n\n") {
        let mut lines = block.lines();
        blocks.push((lines.next().unwrap().parse().unwrap(), lines.collect()));
    }
    blocks
}

#[test]
fn every_log_has_a_block_a_sample_and_processes_come_and_go() {
    let mut sampler = sampler(Sampling::MOST_BYTES);
    sampler.sample();
    let mut child = Command::new("sleep")
        .arg("60")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    sampler.sample();
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    sampler.sample();
    let samples = sampler.finish();
    assert_eq!((samples.full_at, &samples.missing[..]), (None, &[][..]));

    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    let seconds: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
    for name in [
        "proc_stat.log",
        "proc_diskstats.log",
        "proc_meminfo.log",
        "proc_ps.log",
    ] {
        let blocks = blocks(log(&samples, name));
        assert_eq!(blocks.len(), 3, "{name}");
        assert!(blocks.windows(2).all(|b| b[0].0 <= b[1].0), "{name}");
        assert!((blocks[2].0 as f64 / 100.0 - seconds).abs() < 2.0, "{name}");
    }
    assert!(blocks(log(&samples, "proc_stat.log"))[0].1[0].starts_with("cpu "));
    let own = format!("{} (", std::process::id());
    let sleeper = format!("{} (", child.id());
    let there = |prefix: &str| -> Vec<bool> {
        let blocks = blocks(log(&samples, "proc_ps.log"));
        let has = |b: &(u64, Vec<&str>)| b.1.iter().any(|l| l.starts_with(prefix));
        blocks.iter().map(has).collect()
    };
    assert_eq!(there(&own), [true, true, true]);
    assert_eq!(there(&sleeper), [false, true, false]);
    assert!(log(&samples, "header").starts_with("version = 0.8\ntitle = "));
}

/// The numbers of all processes.
fn processes() -> BTreeSet<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter_map(|n| n.parse().ok()).collect()
}

#[test]
fn a_process_that_was_there_before_and_after_a_reading_is_in_it() {
    let mut sampler = sampler(Sampling::MOST_BYTES);
    let mut children = Vec::new();
    let mut there = Vec::new();
    for round in 0..25 {
        for _ in 0..round % 4 {
            children.push(Command::new("sleep").arg("60").spawn().unwrap());
        }
        if round % 3 == 0 && !children.is_empty() {
            let mut oldest = children.remove(0);
            oldest.kill().unwrap();
            oldest.wait().unwrap();
        }
        let before = processes();
        sampler.sample();
        there.push(&before & &processes());
    }
    for mut child in children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let samples = sampler.finish();
    let blocks = blocks(log(&samples, "proc_ps.log"));
    assert_eq!(blocks.len(), there.len());
    for (block, there) in blocks.iter().zip(&there) {
        let number = |line: &&str| line.split(' ').next().unwrap().parse().unwrap();
        let read: BTreeSet<u32> = block.1.iter().map(number).collect();
        assert_eq!(read.len(), block.1.len(), "twice in a reading");
        let missing: Vec<_> = there.difference(&read).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

#[test]
fn what_is_kept_is_bounded() {
    let mut sampler = sampler(50_000);
    for _ in 0..200 {
        sampler.sample();
    }
    assert!(sampler.is_full());
    let samples = sampler.finish();
    assert!(samples.full_at.is_some());
    // One sample may pass the limit.
    let kept: usize = samples.files.iter().map(|f| f.1.len()).sum();
    assert!((50_000..300_000).contains(&kept), "{kept}");
}
