//! The rates of the change points, measured over simulated histories: what
//! `./x bench history` runs.
//!
//! `histories COUNT` prints a table, `histories places COUNT` how often steps at other places
//! are located, `histories online COUNT` the false alarms of a look after each point;
//! `histories write FOLDER COUNT` writes the same series
//! as tables, for other programs.
#![allow(clippy::print_stdout, reason = "an example prints")]

#[path = "../tests/histories/mod.rs"]
mod histories;

use histories::{Scatter, false_alarms, found, steps_found};
use std::fmt::Write;

/// The series of the table: no step, a step of two deviations with 10 points behind it, and
/// one of one deviation with 40 points behind it.
const CASES: [(&str, usize, usize, f64); 3] = [
    ("none", 200, 200, 0.0),
    ("two", 110, 100, 2.0),
    ("one", 200, 160, 1.0),
];

/// Seeds from here on: no rule and no constant was chosen on these histories.
const FRESH: u64 = 50_000_000;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["write", folder, count] => write(folder, count.parse().unwrap_or(100)),
        ["online", count] => {
            online(count.parse().unwrap_or(100));
            Ok(())
        }
        ["places", count] => {
            places(count.parse().unwrap_or(100));
            Ok(())
        }
        rest => {
            let count = rest.first().and_then(|c| c.parse().ok()).unwrap_or(1000);
            table(count);
            Ok(())
        }
    }
}

fn table(count: u64) {
    println!(
        "{count} histories each\n{:<12}{:>14}{:>18}{:>20}",
        "scatter", "false alarms", "2 sd, 10 after", "1 sd, 40 after"
    );
    let seeds = FRESH..FRESH + count;
    let part = |n: usize| format!("{:.1} %", 100.0 * n as f64 / count as f64);
    for scatter in Scatter::ALL {
        println!(
            "{:<12}{:>14}{:>18}{:>20}",
            scatter.name(),
            part(false_alarms(scatter, seeds.clone(), 200)),
            part(steps_found(scatter, seeds.clone(), 100, 2.0, 10)),
            part(steps_found(scatter, seeds.clone(), 160, 1.0, 40)),
        );
    }
}

/// False alarms of histories of other lengths, and how often a step of one deviation is located,
/// by the boots before and after it.
fn places(count: u64) {
    let seeds = FRESH..FRESH + count;
    for scatter in Scatter::ALL {
        let part = |before: usize, after: usize| {
            let hits = steps_found(scatter, seeds.clone(), before, 1.0, after);
            format!(
                "{before} and {after}: {:.1} %",
                100.0 * hits as f64 / count as f64
            )
        };
        let all = [(40, 40), (100, 40), (100, 100), (400, 40)].map(|(b, a)| part(b, a));
        println!("{:<12}1 sd located, {}", scatter.name(), all.join(", "));
        let alarms = |points: usize| {
            let alarms = false_alarms(scatter, seeds.clone(), points);
            format!("{points}: {:.1} %", 100.0 * alarms as f64 / count as f64)
        };
        let all = [40, 80, 140, 440].map(alarms);
        println!("{:<12}false alarms, {}", "", all.join(", "));
    }
}

/// In how many histories of 200 points that are looked at after each point something is
/// ever found.
fn online(count: u64) {
    for scatter in Scatter::ALL {
        let alarms = (FRESH..FRESH + count).filter(|seed| {
            let series = scatter.series(200, 200, 0.0, *seed);
            let ends = |end: usize| series.get(..end).is_some_and(|s| !found(s).is_empty());
            (10..=200).any(ends)
        });
        let part = 100.0 * alarms.count() as f64 / count as f64;
        println!(
            "{:<12}{part:.1} % with a look after each point",
            scatter.name()
        );
    }
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
