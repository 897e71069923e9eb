//! What `perf script` prints: the corpus, perf itself, and damaged input.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{assert_conserved, check_corpus, damage, read, workspace};
use firstlight_sources::perf_script::PerfScript;
use firstlight_sources::{Sniff, Source};
use proptest::prelude::*;
use record::Record;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

#[test]
fn corpus() {
    check_corpus("perf-script");
}

/// How often each task was seen in each function, the innermost of the stack.
fn leaves(record: &Record) -> BTreeMap<(String, String), u64> {
    let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
    for (_, call) in record.stacks().iter().filter(|(_, c)| c.count > 0) {
        let mut below = call.parent;
        let mut task = call;
        while let Some(parent) = below.and_then(|p| record.stacks().get(p)) {
            task = parent;
            below = parent.parent;
        }
        let names = [task, call].map(|c| record.name(c.function).to_owned());
        let [task, leaf] = names;
        *found.entry((task, leaf)).or_default() += call.count;
    }
    found
}

fn perf(arguments: &[&str], file: &Path) -> Option<String> {
    let ran = Command::new("perf")
        .args(arguments)
        .arg(file)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    ran.status.success().then_some(text)
}

/// What perf recorded of a program that works for a while.
fn recorded(file: &Path, chains: bool) -> Option<()> {
    let file = file.to_str()?;
    let script = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; ls -R /etc >/dev/null";
    let mut arguments = vec!["record", "-q", "-e", "cpu-clock", "-F", "500", "-o", file];
    arguments.extend(chains.then_some("-g"));
    arguments.extend(["--", "sh", "-c", script]);
    let ran = Command::new("perf").args(arguments).output().ok()?;
    ran.status.success().then_some(())
}

/// How many samples of each task are printed without a single function.
fn without_frame(text: &str) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for sample in text.split("\n\n") {
        let mut lines = sample.lines().filter(|l| !l.trim().is_empty());
        if let (Some(head), None) = (lines.next(), lines.next())
            && head.trim_end().ends_with(':')
        {
            let task = head.split_whitespace().next().unwrap();
            *found.entry(task.to_owned()).or_default() += 1;
        }
    }
    found
}

#[test]
fn perf_counts_the_same_samples() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("perf.data");
    for chains in [true, false] {
        let Some(text) = recorded(&file, chains).and_then(|()| perf(&["script", "-i"], &file))
        else {
            eprintln!("skipped: perf cannot record here");
            break;
        };
        assert_eq!(PerfScript.sniff(text.as_bytes()), Sniff::Yes, "{text}");
        let record = read(&PerfScript, text.as_bytes());
        assert_conserved(&record);
        let lost = record
            .notes()
            .iter()
            .find(|n| n.kind.name == "line_not_of_perf");
        assert!(lost.is_none(), "{lost:?}");
        // perf's own sums, a row each: samples, task, symbol.
        let ask = [
            "report",
            "--stdio",
            "-q",
            "-n",
            "-g",
            "none",
            "--no-children",
            "--percent-limit",
            "0",
        ];
        let sort = [
            "--sort",
            "comm,sym",
            "-F",
            "sample,comm,sym",
            "-t",
            "|",
            "-i",
        ];
        let report = perf(&[&ask[..], &sort].concat(), &file).unwrap();
        let mut wanted: BTreeMap<(String, String), u64> = BTreeMap::new();
        for row in report.lines().filter(|l| l.contains('|')) {
            let mut cells = row.split('|').map(str::trim);
            let count: u64 = cells.next().unwrap().parse().unwrap();
            let task = cells.next().unwrap().to_owned();
            // `[k] name`; an address instead of a name that is not known.
            let (_, symbol) = cells.next().unwrap().split_once("] ").unwrap();
            let symbol = match symbol.starts_with("0x") {
                true => "unknown".to_owned(),
                false => symbol.to_owned(),
            };
            *wanted.entry((task, symbol)).or_default() += count;
        }
        let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
        for ((task, leaf), count) in leaves(&record) {
            let leaf = match leaf.starts_with('[') {
                true => "unknown".to_owned(),
                false => leaf,
            };
            *found.entry((task, leaf)).or_default() += count;
        }
        assert!(!wanted.is_empty(), "{report}");
        // About one sample in a thousand has an empty call chain. `perf script`
        // prints no function for it then, `perf report` has it under one: such
        // a sample is the task's own here.
        for (task, count) in without_frame(&text) {
            let own = found.remove(&(task.clone(), task.clone()));
            assert_eq!(own, Some(count), "{task}");
            let rest = |in_which: &BTreeMap<(String, String), u64>| -> u64 {
                let of_task = in_which.iter().filter(|((t, _), _)| *t == task);
                of_task.map(|(_, n)| n).sum()
            };
            assert_eq!(rest(&found) + count, rest(&wanted), "{task}");
            for (key, most) in wanted.iter_mut().filter(|((t, _), _)| *t == task) {
                let seen = found.get(key).copied().unwrap_or(0);
                assert!(seen <= *most, "{key:?}: {seen} of {most}");
                *most = seen;
            }
        }
        wanted.retain(|_, count| *count > 0);
        assert_eq!(found, wanted, "chains: {chains}");
    }
}

proptest! {
    #[test]
    fn damage_is_counted_and_never_fatal(
        name in prop::sample::select(vec!["chains.txt", "flat.txt", "fields.txt"]),
        damages in proptest::collection::vec(damage(), 0..8),
    ) {
        let mut bytes = std::fs::read(workspace().join("corpus/perf-script").join(name)).unwrap();
        for damage in &damages {
            bytes = damage.apply(&bytes);
        }
        PerfScript.sniff(&bytes);
        let record = read(&PerfScript, &bytes);
        assert_conserved(&record);
        prop_assert_eq!(record.sources()[0].units, common::lines(&bytes));
    }
}
