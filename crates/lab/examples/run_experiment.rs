//! Runs an experiment and prints what happens: the lab without the command line.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints"
)]

use firstlight_lab::{Event, Experiment, Options};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(file), Some(out)) = (words.next(), words.next()) else {
        eprintln!("usage: run_experiment FILE.toml OUT [jobs=N] [ensemble=K] [exact]");
        return ExitCode::from(2);
    };
    let mut options = Options::plain(&PathBuf::from(out), 1);
    for word in words {
        match word.split_once('=') {
            Some(("jobs", n)) => options.jobs = n.parse().ok(),
            Some(("ensemble", n)) => options.ensemble = n.parse().unwrap_or(1),
            _ if word == "exact" => options.check_exact = true,
            _ => eprintln!("ignored: {word}"),
        }
    }
    let outcome = Experiment::read(file.as_ref()).and_then(|experiment| {
        firstlight_lab::run(&experiment, &options, &mut |event| match event {
            Event::Planned {
                trials,
                reused,
                jobs,
            } => {
                println!("{trials} trials, {reused} there already, {jobs} at once");
            }
            Event::PowerOn { trial } => println!("{trial}: power on"),
            Event::Console {
                trial,
                bytes,
                last_line,
            } => {
                println!("{trial}: {bytes} bytes: {last_line}");
            }
            Event::Finished { trial, reused } => println!(
                "{}: {} in {:.1} s, end {:?} ns, digest {}{}",
                trial.id,
                trial
                    .failure
                    .as_ref()
                    .map_or("ended", |f| f.detail.as_str()),
                trial.wall_s,
                trial.virtual_end_ns,
                trial.digest.get(..16).unwrap_or(&trial.digest),
                if reused { " (reused)" } else { "" },
            ),
            Event::Note { text } => println!("note: {text}"),
        })
    });
    match outcome {
        Ok(outcome) => {
            for check in &outcome.exact {
                match &check.difference {
                    None => println!("{}: exact", check.variant),
                    Some(d) => println!("{}: NOT exact: {d:?}", check.variant),
                }
            }
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("run_experiment: {e}");
            ExitCode::from(2)
        }
    }
}
