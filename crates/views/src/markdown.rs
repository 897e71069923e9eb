//! Tables as Markdown, for reports and comments.

use crate::ClassicResult;
use crate::words;
use analysis::{Experiment, Verdict};
use record::{ClockKind, Nanos};
use std::fmt::Write;

/// A cell's text: a bar would begin another cell, a line break another row.
fn cell(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace(['\n', '\r'], " ")
}

fn time(time: Option<Nanos>) -> String {
    time.map_or_else(String::new, |t| t.to_string())
}

fn change(delta: Nanos) -> String {
    match delta > Nanos::ZERO {
        true => format!("+{delta}"),
        false => delta.to_string(),
    }
}

/// The variants of an experiment, the baseline first; then what else is to say.
#[must_use]
pub fn lab(e: &Experiment) -> String {
    let mut text = String::new();
    let clock = match e.clock {
        ClockKind::Virtual => "virtual time",
        _ => "wall time",
    };
    // Writing into a string does not fail.
    let _ = write!(
        text,
        "**First light of each variant, in {clock}**\n\n\
         | variant | boots | median | change | {} | verdict |\n\
         |---|---:|---:|---:|---:|---|\n",
        match e.variants.iter().any(|v| v.sample.is_some()) {
            true => "95 % interval, p",
            false => "spread",
        }
    );
    for v in &e.variants {
        let verdict = match v.effect.map(|e| e.verdict) {
            Some(Verdict::Faster) => "faster".to_owned(),
            Some(Verdict::Slower) => "slower".to_owned(),
            Some(Verdict::NoDifference) => "no difference".to_owned(),
            None if v.failed > 0 => {
                format!("{} of {} never came to first light", v.failed, v.boots)
            }
            None if v.variant == e.baseline => "baseline".to_owned(),
            None => "the baseline did not come to first light".to_owned(),
        };
        let unperturbed = |e: analysis::Effect| e.unperturbed && e.spread == Nanos::ZERO;
        let difference = v.sample.as_ref().and_then(|s| s.difference);
        let spread = match (difference, v.effect) {
            (Some(d), _) => {
                let (low, high) = d.interval;
                format!("{} to {}, {:.3}", change(low), change(high), d.p_value)
            }
            (None, Some(effect)) if unperturbed(effect) => "unknown".to_owned(),
            (None, Some(effect)) => effect.spread.to_string(),
            (None, None) => String::new(),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {spread} | {verdict} |",
            cell(&v.variant),
            v.boots,
            time(v.median.filter(|_| v.failed == 0)),
            v.effect.map_or_else(String::new, |e| change(e.delta)),
        );
    }
    let _ = write!(text, "\nTimes are {}.\n", words::clock(e.clock));
    if let Some(spread) = words::spread(e) {
        let _ = write!(text, "\n{spread}\n");
    }
    for r in &e.recording {
        let cost = match r.cost {
            Some(cost) => format!("moves its first light by {}", change(cost)),
            None => "costs what is not known".to_owned(),
        };
        let (variant, asked) = (cell(&r.variant), r.asked.join(", "));
        let _ = write!(text, "\n{variant}: recording {asked} {cost}.\n");
    }
    for pair in &e.exact {
        let said = match &pair.difference {
            None => format!("the same to the byte, digest `{}`", pair.digests[0]),
            Some(difference) => format!("**not the same**: {}", cell(difference)),
        };
        let _ = write!(text, "\n{}, booted twice: {said}.\n", cell(&pair.variant));
    }
    for trial in &e.trials {
        let Some(failure) = &trial.failure else {
            continue;
        };
        let _ = write!(
            text,
            "\n{}, boot {}, never came to first light: {}\n\n",
            cell(&trial.variant),
            trial.perturbation,
            cell(&failure.detail)
        );
        // Indented text is shown as it is, whatever it holds.
        for line in &failure.last_lines {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

/// Published results with what they are here, a section each.
#[must_use]
pub fn classics(results: &[ClassicResult]) -> String {
    let published = |r: &ClassicResult| r.values.iter().any(|v| v.published_ms.is_some());
    let title = match results.iter().any(published) {
        true => {
            "# The classics\n\nPublished results of boot-time engineers, run again in exact time. \
             Written by\n`firstlight lab classics --all --markdown`"
        }
        false => {
            "# Measured in exact time\n\nWritten by `firstlight lab classics FILE.toml... \
             --markdown`"
        }
    };
    let mut text = format!(
        "{title}: ratios are to the first row of each\ngroup; times here are virtual, \
         instructions at a stated rate, not board seconds.\n"
    );
    let figures = || results.iter().flat_map(|r| &r.values);
    let measured = figures().filter(|v| v.measured_ns.is_some()).count();
    // Writing into a string does not fail.
    let _ = writeln!(
        text,
        "\nRun: {} {}, {measured} of {} figures measured.",
        results.len(),
        crate::plural(results.len(), "result"),
        figures().count()
    );
    for r in results {
        let _ = write!(
            text,
            "\n## {}\n\n`{}`. {}.\n\n| | published | ratio | here | ratio |\n\
             |---|---:|---:|---:|---:|\n",
            cell(&r.classic.title),
            r.classic.id,
            r.classic.source
        );
        for v in &r.values {
            let [published, of_first, here, ratio] = v.cells();
            let _ = writeln!(
                text,
                "| {} | {published} | {of_first} | {here} | {ratio} |",
                cell(&v.name)
            );
        }
        let _ = write!(
            text,
            "\nHere: {}\n\nWhy they differ: {}\n",
            r.classic.here, r.classic.why
        );
        let _ = writeln!(text, "\nMachine: {}.", r.machine);
        for failure in &r.failures {
            let _ = writeln!(text, "\nFailed: {}.", cell(failure));
        }
    }
    text
}
