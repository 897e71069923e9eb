//! The rates of the change points, measured over simulated histories: what
//! `./x bench history` runs.
//!
//! `histories COUNT` prints a table, `histories places COUNT` how often steps at other places
//! are located, `histories lengths COUNT` the false alarms of longer and shorter histories,
//! `histories online COUNT` those of a look after each point; a number behind COUNT is the first
//! seed. `histories large` measures how long a large history takes, and `histories write FOLDER
//! COUNT` writes the same series as tables, for other programs.
#![allow(clippy::print_stdout, reason = "an example prints")]

#[path = "../tests/histories/mod.rs"]
mod histories;

use firstlight_analysis::{BlameKind, HistoryEntry, HistoryQuestion, TimeKind, history};
use histories::{Scatter, false_alarms, found, how_many, steps_found};
use record::Phase;
use std::fmt::Write;

/// The series of the table: no step, a step of two deviations with 10 points behind it, and
/// one of one deviation with 40 points behind it.
const CASES: [(&str, usize, usize, f64); 3] = [
    ("none", 200, 200, 0.0),
    ("two", 110, 100, 2.0),
    ("one", 200, 160, 1.0),
];

/// Seeds from here on: no rule and no constant was chosen on these histories.
const FRESH: u64 = 130_000_000;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let count =
        |text: Option<&&str>, default: u64| text.and_then(|c| c.parse().ok()).unwrap_or(default);
    match words.as_slice() {
        ["write", folder, number] => return write(folder, count(Some(number), 100)),
        ["online", rest @ ..] => online(count(rest.first(), 100), count(rest.get(1), FRESH)),
        ["places", rest @ ..] => places(count(rest.first(), 100), count(rest.get(1), FRESH)),
        ["large"] => large(),
        ["lengths", rest @ ..] => lengths(count(rest.first(), 100), count(rest.get(1), FRESH)),
        rest => table(count(rest.first(), 1000), count(rest.get(1), FRESH)),
    }
    Ok(())
}

fn part(number: usize, count: u64) -> String {
    format!("{:.1} %", 100.0 * number as f64 / count as f64)
}

fn table(count: u64, first: u64) {
    println!(
        "{count} histories each\n{:<12}{:>14}{:>18}{:>20}",
        "scatter", "false alarms", "2 sd, 10 after", "1 sd, 40 after"
    );
    let seeds = first..first + count;
    for scatter in Scatter::ALL {
        println!(
            "{:<12}{:>14}{:>18}{:>20}",
            scatter.name(),
            part(false_alarms(scatter, seeds.clone(), 200), count),
            part(steps_found(scatter, seeds.clone(), 100, 2.0, 10), count),
            part(steps_found(scatter, seeds.clone(), 160, 1.0, 40), count),
        );
    }
}

/// How often a step of one deviation is located, by the boots before and after it.
fn places(count: u64, first: u64) {
    let seeds = first..first + count;
    for scatter in Scatter::ALL {
        let located = |(before, after): (usize, usize)| {
            let hits = steps_found(scatter, seeds.clone(), before, 1.0, after);
            format!("{before} and {after}: {}", part(hits, count))
        };
        let all = [(40, 40), (100, 40), (100, 100), (400, 40)].map(located);
        println!("{:<15}1 sd located, {}", scatter.name(), all.join(", "));
    }
}

/// False alarms of histories of other lengths.
fn lengths(count: u64, first: u64) {
    let seeds = first..first + count;
    for scatter in Scatter::ALL.into_iter().chain(Scatter::STEEP) {
        let alarms = |points: usize| {
            let alarms = false_alarms(scatter, seeds.clone(), points);
            format!("{points}: {}", part(alarms, count))
        };
        let all = [20, 40, 80, 140, 200, 440].map(alarms);
        println!("{:<15}false alarms, {}", scatter.name(), all.join(", "));
    }
}

/// In how many histories of 200 points that are looked at after each point something is
/// ever found.
fn online(count: u64, first: u64) {
    for scatter in Scatter::ALL {
        let alarms = how_many(first..first + count, |seed| {
            let series = scatter.series(200, 200, 0.0, seed);
            let ends = |end: usize| series.get(..end).is_some_and(|s| !found(s).is_empty());
            (10..=200).any(ends)
        });
        let part = part(alarms, count);
        println!("{:<12}{part} with a look after each point", scatter.name());
    }
}

/// How long a check of 10,000 entries with 33 times each takes. First light has a step.
fn large() {
    let times = |kind: TimeKind, name: usize| {
        let scatter = Scatter::ALL[name % Scatter::ALL.len()];
        let steps = if name.is_multiple_of(10) {
            5_000
        } else {
            10_000
        };
        let series = scatter.series(10_000, steps, 1.0, FRESH + name as u64);
        (kind, format!("item {name}"), series)
    };
    let all = (0..33).map(|name| match name {
        0 => times(TimeKind::FirstLight, name),
        1..=3 => times(TimeKind::Phase(Phase::Kernel), name),
        _ => times(TimeKind::Item(BlameKind::Unit), name),
    });
    let all: Vec<_> = all.collect();
    let entry = |i: usize| HistoryEntry {
        label: i.to_string(),
        times: all
            .iter()
            .filter_map(|(kind, name, series)| Some((*kind, name.clone(), *series.get(i)?)))
            .collect(),
        ..HistoryEntry::default()
    };
    let entries: Vec<HistoryEntry> = (0..10_000).map(entry).collect();
    let begun = std::time::Instant::now();
    let found = history(&entries, None, &HistoryQuestion::default());
    let took = begun.elapsed().as_secs_f64();
    println!(
        "10,000 entries with 33 times: {took:.2} s, {} changes",
        found.changes.len()
    );
}

fn write(folder: &str, count: u64) -> std::io::Result<()> {
    for scatter in Scatter::ALL {
        for (name, points, at, step) in CASES {
            for seed in 0..count {
                let offset = if step > 0.0 { 1_000_000 } else { 0 };
                let mut text = String::from("time,commit,first_light_ms\n");
                let series = scatter.series(points, at, step, FRESH + seed + offset);
                for (i, value) in series.iter().enumerate() {
                    let day = 1_700_000_000 + 86_400 * i;
                    // Writing into a string does not fail.
                    let _ = writeln!(text, "{day},c{i},{:.3}", value.get() as f64 / 1e6);
                }
                let kind = scatter.name().replace(' ', "-");
                std::fs::write(format!("{folder}/{kind}-{name}-{seed}.csv"), text)?;
            }
        }
    }
    Ok(())
}
