//! Tables as Markdown, for reports and comments.

use crate::classic::{ClassicResult, ClassicValue};
use crate::terminal::board_explained;
use crate::tuned::Tuned;
use crate::words;
use analysis::{BoardReport, Experiment, Verdict};
use record::{ClockKind, Nanos};
use std::fmt::Write;

/// A cell's text: a bar would begin another cell, a line break another row.
pub(crate) fn cell(text: &str) -> String {
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

/// The variants of a run on a board, the baseline first.
#[must_use]
pub fn lab_board(r: &BoardReport) -> String {
    let mut text = format!(
        "**First light of each variant on {}, in wall time**\n\n\
         | variant | boots | void | power-on | loader | change | 95 % interval, p | verdict |\n\
         |---|---:|---:|---:|---:|---:|---:|---|\n",
        cell(&r.outcome.board)
    );
    for v in &r.variants {
        let (delta, interval, verdict) = match (&v.comparison, &v.given_up) {
            (Some(c), _) => {
                let effect = c.answer.effect;
                let (low, high) = effect.interval;
                let interval =
                    format!("{} to {}, {:.4}", change(low), change(high), effect.p_value);
                let verdict = match c.verdict() {
                    "no_difference" => "not significant",
                    verdict => verdict,
                };
                (change(effect.delta), interval, verdict.to_owned())
            }
            (None, Some(why)) => (
                String::new(),
                String::new(),
                format!("given up: {}", cell(why)),
            ),
            (None, None) if v.variant == r.baseline => {
                (String::new(), String::new(), "baseline".to_owned())
            }
            (None, None) => (
                String::new(),
                String::new(),
                "no boots to compare".to_owned(),
            ),
        };
        // Writing into a string does not fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {delta} | {interval} | {verdict} |",
            cell(&v.variant),
            v.boots,
            v.void,
            time(v.power_on.map(|m| m.0)),
            time(v.loader.map(|m| m.0)),
        );
    }
    text.push('\n');
    for line in board_explained(r) {
        let _ = writeln!(text, "- {}", cell(&line));
    }
    let void = r.trials.iter().filter_map(|t| Some((t, t.void.as_ref()?)));
    for (trial, why) in void {
        let (variant, why) = (cell(&trial.variant), cell(why));
        let _ = writeln!(text, "- Void: {variant}, round {}: {why}", trial.round);
    }
    let _ = writeln!(text, "\n{}", cell(&r.outcome.sentence));
    text
}

/// The variants of an experiment, the baseline first, and how to read them.
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
            Some(Verdict::NoDifference) => "not significant".to_owned(),
            None if v.failed > 0 => {
                format!(
                    "{} of {} never reached first light",
                    v.failed,
                    words::counted(v.boots, "boot")
                )
            }
            None if v.variant == e.baseline => "baseline".to_owned(),
            None => "the baseline never reached first light".to_owned(),
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
    let _ = write!(text, "\nClock: {}.\n", words::clock(e.clock));
    if let Some(spread) = words::spread(e) {
        let _ = write!(text, "\n{spread}\n");
    }
    for r in &e.recording {
        let cost = match r.cost {
            Some(cost) => format!("moves first light by {}", change(cost)),
            None => "has an unknown overhead".to_owned(),
        };
        let (variant, asked) = (cell(&r.variant), r.asked.join(", "));
        let _ = write!(text, "\n{variant}: recording {asked} {cost}.\n");
    }
    for pair in &e.exact {
        let said = match &pair.difference {
            None => format!("identical to the byte, digest `{}`", pair.digests[0]),
            Some(difference) => format!("**not identical**: {}", cell(difference)),
        };
        let _ = write!(text, "\n{}, booted twice: {said}.\n", cell(&pair.variant));
    }
    for trial in &e.trials {
        let Some(failure) = &trial.failure else {
            continue;
        };
        let _ = write!(
            text,
            "\n{}, boot {}, never reached first light: {}\n\n",
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

/// How many hexadecimal digits of a digest a document shows.
const MADE_BY: usize = 16;

/// Published results beside the figures measured here, a section each.
#[must_use]
pub fn classics(results: &[ClassicResult]) -> String {
    let published = |r: &ClassicResult| r.values.iter().any(ClassicValue::is_published);
    let title = match results.iter().any(published) {
        true => {
            "# The classics\n\nPublished results of boot-time engineers, reproduced in exact time. \
             Generated by\n`firstlight lab classics --all --markdown`"
        }
        false => {
            "# Measured in exact time\n\nGenerated by `firstlight lab classics FILE.toml... \
             --markdown`"
        }
    };
    let mut text = format!(
        "{title}. Ratios are relative to the first row of\neach group. Measured times are \
         virtual: instructions at a stated rate, not board seconds.\n\
         A row's basis is `measured`, or `modeled` where console bytes or the loading of the\n\
         kernel are added by a formula. A row is partial if the published figure is not of the\n\
         same thing.\n"
    );
    let figures = || results.iter().flat_map(|r| &r.values);
    let measured = figures().filter(|v| v.is_measured()).count();
    // Writing into a string does not fail.
    let _ = writeln!(
        text,
        "\n{}, {measured} of {} measured.",
        words::counted(results.len(), "result"),
        words::counted(figures().count(), "figure")
    );
    for r in results {
        let _ = write!(
            text,
            "\n## {}\n\n`{}`. {}.\n\n| | published | ratio | measured | ratio | basis |\n\
             |---|---:|---:|---:|---:|---|\n",
            cell(&r.classic.title),
            r.classic.id,
            r.classic.source
        );
        for v in &r.values {
            let [published, of_first, here, ratio] = v.cells();
            let _ = writeln!(
                text,
                "| {} | {published} | {of_first} | {here} | {ratio} | {} |",
                cell(&v.name),
                cell(&v.basis_cell())
            );
        }
        let _ = write!(
            text,
            "\nMeasured: {}\n\nWhy the figures differ: {}\n",
            r.classic.here, r.classic.why
        );
        let _ = writeln!(text, "\nMachine: {}.", r.machine);
        let of = |name: &str| Some((name.to_owned(), r.made_by.get(name)?.get(..MADE_BY)?));
        let made = ["experiment", "emulator", "artifacts"]
            .into_iter()
            .filter_map(of);
        let made: Vec<String> = made
            .map(|(name, digest)| format!("{name} `{digest}`"))
            .collect();
        if !made.is_empty() {
            let _ = writeln!(text, "\nMade by: {}.", made.join(", "));
        }
        for failure in &r.failures {
            let _ = writeln!(text, "\nFailed: {}.", cell(failure));
        }
    }
    text
}

/// What tuning found, as the file `tune.md`.
#[must_use]
pub fn tune(t: &Tuned) -> String {
    let time = |n: Option<Nanos>, otherwise: &str| {
        n.map_or_else(|| otherwise.to_owned(), |n| n.to_string())
    };
    let mut text = format!(
        "# Result of tuning\n\nFirst light came at {} and now comes at {} ({}): {:.3} times, in {} \
         boots.\n\n",
        t.baseline,
        t.best,
        if t.is_wall {
            "wall time"
        } else {
            "virtual time"
        },
        t.ratio(),
        t.boots
    );
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    line("| kept | later without it | spread |\n|---|---|---|".to_owned());
    for k in &t.kept {
        let (share, spread) = (time(k.share, "not measured"), time(k.spread, ""));
        line(format!("| `{}` | {share} | {spread} |", k.treatment));
    }
    line("\n| not kept | why |\n|---|---|".to_owned());
    for x in &t.dropped {
        line(format!(
            "| `{}` | {} |",
            x.treatment,
            x.why.replace('|', "/")
        ));
    }
    line("\n| health | |\n|---|---|".to_owned());
    for h in &t.health {
        let ok = if h.ok { "fine" } else { "broken" };
        let detail = h.detail.replace('|', "/");
        line(format!("| {} | {ok}: {detail} |", h.check));
    }
    line("\n| longest waits now | |\n|---|---|".to_owned());
    for (name, length) in &t.limits {
        line(format!("| {name} | {length} |"));
    }
    line(format!("\n    {}", t.command));
    text
}
