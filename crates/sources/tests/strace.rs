//! strace's output: the corpus, strace itself, and damaged input.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{assert_conserved, check_corpus, damage, read, workspace};
use firstlight_sources::Source;
use firstlight_sources::strace::Strace;
use proptest::prelude::*;
use record::{AccessKind, Record};
use std::collections::BTreeMap;
use std::process::Command;

#[test]
fn corpus() {
    check_corpus("strace");
}

/// How often each call was made, by the tree.
fn counts(record: &Record) -> BTreeMap<String, u64> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (_, call) in record.functions().iter() {
        if call.parent.is_some() {
            *counts
                .entry(record.name(call.function).to_owned())
                .or_default() += call.count;
        }
    }
    counts
}

/// A program that forks, execs, threads, fails and is killed, under strace with
/// its own summary (`-C`) behind the calls; `None` where it cannot run.
fn traced(options: &[&str]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(options.concat());
    let script = "for i in 1 2 3; do ls /nonexistent '/a b' 2>/dev/null; done; \
                  (sleep 0.02 & wait); sh -c 'kill -9 $$'; nosuchprogram 2>/dev/null; true";
    let status = Command::new("strace")
        .args(["-f", "-C", "-o"])
        .arg(&file)
        .args(options)
        .args(["sh", "-c", script])
        .output();
    let done = status.is_ok_and(|s| s.status.success());
    let text = std::fs::read(&file).ok().filter(|_| done);
    if text.is_none() {
        eprintln!("skipped: strace cannot be run here");
    }
    text.map(|t| String::from_utf8_lossy(&t).into_owned())
}

/// strace's own counts: calls and errors, by call.
fn summary(text: &str) -> BTreeMap<String, (u64, u64)> {
    let (_, table) = text.rsplit_once("syscall\n").unwrap();
    let rows = table.lines().skip(1).take_while(|l| !l.starts_with("---"));
    rows.map(|row| {
        let words: Vec<&str> = row.split_whitespace().collect();
        // % time, seconds, usecs/call, calls, errors (may be missing), call.
        let calls = words[3].parse().unwrap();
        let errors = match words.len() {
            6 => words[4].parse().unwrap(),
            _ => 0,
        };
        (words.last().unwrap().to_string(), (calls, errors))
    })
    .collect()
}

#[test]
fn strace_counts_the_same_calls() {
    for options in [
        &["-ttt", "-T"][..],
        &["-tt"],
        &["-r", "-T"],
        &["-t"],
        &["-y", "-ttt", "-T"],
    ] {
        let Some(text) = traced(options) else { return };
        let record = read(&Strace, text.as_bytes());
        assert_conserved(&record);
        let wanted = summary(&text);
        let calls: BTreeMap<String, u64> =
            wanted.iter().map(|(name, c)| (name.clone(), c.0)).collect();
        let mut found = counts(&record);
        // strace's summary leaves out what did not return.
        for call in ["exit_group", "exit"] {
            found.remove(call);
        }
        found.retain(|name, count| calls.contains_key(name) || *count > 1);
        let differ: Vec<_> = calls
            .iter()
            .filter(|(name, count)| {
                let ours = found.get(*name).copied().unwrap_or(0);
                !(**count..=*count + 1).contains(&ours)
            })
            .collect();
        assert!(
            differ.is_empty(),
            "{options:?}: {differ:?} are not {found:?}"
        );
        // Every process exits, is killed, or is the one that strace ran.
        assert!(record.processes().len() >= 7, "{options:?}");
        for p in record.processes() {
            assert!(p.end.is_some() && p.exit.is_some(), "{options:?}: {p:?}");
        }
        assert!(record.processes().iter().any(|p| p.exit == Some(-9)));
        let missed = |a: &record::Access| {
            a.kind == AccessKind::Miss && record.name(a.path.unwrap()).ends_with("/nosuchprogram")
        };
        assert!(record.accesses().iter().any(missed), "{options:?}");
    }
}

#[test]
fn a_child_that_ends_before_its_parent_s_call_returns_stays_ended() {
    let log = b"10 1700000000.000000 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n\
        11 1700000000.001000 brk(NULL) = 0x5000\n\
        11 1700000000.002000 exit_group(3) = ?\n\
        11 1700000000.003000 +++ exited with 3 +++\n\
        10 1700000000.004000 <... clone resumed>) = 11\n\
        10 1700000000.005000 +++ exited with 0 +++\n";
    let record = read(&Strace, log);
    assert_conserved(&record);
    let child: Vec<_> = record.processes().iter().filter(|p| p.pid == 11).collect();
    let [child] = child[..] else {
        panic!("one process with id 11, not {child:?}");
    };
    assert_eq!(child.parent, Some(10));
    assert_eq!(child.exit, Some(3));
    assert_eq!(
        child.end.zip(child.start).map(|(e, s)| e.0 - s.0),
        Some(3_000_000)
    );
}

proptest! {
    #[test]
    fn damage_is_counted_and_never_fatal(
        name in prop::sample::select(vec![
            "interrupted.log", "standard-error.log", "relative.log", "bare.log",
        ]),
        damages in proptest::collection::vec(damage(), 0..8),
    ) {
        let mut bytes = std::fs::read(workspace().join("corpus/strace").join(name)).unwrap();
        for damage in &damages {
            bytes = damage.apply(&bytes);
        }
        Strace.sniff(&bytes);
        let record = read(&Strace, &bytes);
        assert_conserved(&record);
        prop_assert_eq!(record.sources()[0].units, common::lines(&bytes));
    }
}
