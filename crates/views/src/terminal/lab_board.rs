//! A run on a board.

use super::layout::{BAD, BOLD, DIM, GOOD, PLAIN, Screen, WARN, clean, delta};
use super::style::Style;
use super::table::{Cell, Column, Table, cell};
use crate::words::{chance, counted};
use analysis::{BoardBasis, BoardReport, BoardVariant, Verdict};

/// Every variant against the baseline, and what the board did.
#[must_use]
pub fn lab_board(r: &BoardReport, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let from = match r.basis {
        BoardBasis::PowerOn => "power-on",
        BoardBasis::Loader => "the loader's first byte",
    };
    screen.heading(
        &format!(
            "First light of each variant on {}, from {from}",
            r.outcome.board
        ),
        "",
    );
    let mut table = Table::new([
        Column::name("variant").at_least(8),
        Column::number("boots"),
        Column::number("void"),
        Column::time("power-on"),
        Column::time("loader"),
        Column::time("change"),
        Column::number("95 % interval"),
        Column::text("verdict"),
    ]);
    for v in &r.variants {
        let [change, interval, verdict] = judged(v, &r.baseline);
        table.row([
            cell(&v.variant),
            cell(v.boots),
            cell(v.void),
            cell(v.power_on.map(|m| m.0)),
            cell(v.loader.map(|m| m.0)),
            change,
            interval,
            verdict,
        ]);
    }
    table.print(&mut screen);
    screen.blank();
    for line in explained(r) {
        screen.wrapped("", 2, DIM, &line);
    }
    for v in &r.variants {
        if let Some(why) = &v.given_up {
            let text = format!("`{}` was given up: {}", v.variant, clean(why));
            screen.wrapped("", 2, BAD, &text);
        }
    }
    voids(&mut screen, r);
    screen.blank();
    let ansi = match r.outcome.ended.as_str() {
        "all_rounds" | "decided" => PLAIN,
        _ => WARN,
    };
    screen.wrapped("", 2, ansi, &clean(&r.outcome.sentence));
    let left = match r.outcome.left.as_str() {
        "baseline_proven" => "The board has its baseline again, and booted it.",
        "baseline_restored" => "The board has its baseline again. It was not booted since.",
        "untouched" => "The board was not changed.",
        _ => {
            "The baseline could not be put back; run `firstlight lab restore --board FILE` when \
             the board can be reached."
        }
    };
    let cycles = counted(
        usize::try_from(r.outcome.cycles).unwrap_or(usize::MAX),
        "power cycle",
    );
    screen.wrapped("", 2, PLAIN, &format!("{left} This run made {cycles}."));
    screen.finish()
}

fn judged(v: &BoardVariant, baseline: &str) -> [Cell; 3] {
    let Some(c) = v.comparison else {
        let word = match (&v.given_up, v.variant == baseline) {
            (Some(_), _) => cell("given up").ansi(BAD),
            (None, true) => cell("baseline").ansi(BOLD),
            (None, false) => cell("no boots to compare").ansi(WARN),
        };
        return [Cell::default(), Cell::default(), word];
    };
    let effect = c.answer.effect;
    let (ansi, word) = match c.answer.verdict {
        Some(Verdict::Faster) => (GOOD, "faster"),
        Some(Verdict::Slower) => (BAD, "slower"),
        Some(Verdict::NoDifference) => (PLAIN, "not significant"),
        None => (WARN, "undecided"),
    };
    let (low, high) = effect.interval;
    [
        cell(delta(effect.delta).trim()).ansi(ansi),
        cell(format!("{} to {}", delta(low).trim(), delta(high).trim())).dim(),
        cell(word).ansi(ansi),
    ]
}

/// How to read the table: scatter, rule, drift, off time, state.
pub(crate) fn explained(r: &BoardReport) -> Vec<String> {
    let percent = |part: f64| format!("{:.2} %", part * 100.0);
    let mut lines = Vec::new();
    if let Some(s) = &r.scatter {
        let needed = s.needed.iter().map(|(effect, boots)| match boots {
            &usize::MAX => format!("{} is below the smallest effect", percent(*effect)),
            boots => format!("{} needs {boots} boots", percent(*effect)),
        });
        let needed: Vec<String> = needed.collect();
        lines.push(format!(
            "Scatter of the baseline: {} of {} ({}). An effect of {}, of each variant.",
            percent(s.scatter),
            s.median,
            counted(s.boots, "boot"),
            needed.join(", ")
        ));
        if s.p_value <= 0.01 {
            lines.push(format!(
                "The two halves of the baseline differ ({}). The board is not steady: look for a \
                 cause before you trust small effects.",
                chance(s.p_value)
            ));
        }
    }
    let looks: Vec<String> = r.looks.iter().map(ToString::to_string).collect();
    lines.push(format!(
        "A difference counts if it is at least {} of the baseline, its interval does not contain \
         zero, and p is at most {:.5}. The run looks after {} boots of each variant. All looks \
         together raise a false alarm in at most 1 of 100 runs.",
        percent(r.minimum_effect),
        r.level,
        looks.join(", ")
    ));
    if let Some(d) = &r.drift {
        let word = match d.p_value <= 0.01 {
            true => "First light drifted",
            false => "No significant drift",
        };
        lines.push(format!(
            "{word} over the run: {} from the first boot to the last ({}).",
            delta(d.change).trim(),
            chance(d.p_value)
        ));
    }
    if let Some((least, most)) = r.off {
        // Half as long again: capacitors and caches may be in another state.
        let advice = match most.get() > least.get().saturating_mul(3) / 2 {
            true => " To hold it constant, set `power.off_s` above the duration of a deployment.",
            false => "",
        };
        let (least, most) = (least.to_string(), most.to_string());
        let time = match least == most {
            true => least,
            false => format!("{least} to {most}"),
        };
        lines.push(format!(
            "The board was without power for {time} before each boot.{advice}"
        ));
    }
    for s in &r.states {
        let range = match s.least.total_cmp(&s.most).is_eq() {
            true => format!("{} was {}", s.name, s.least),
            false => format!("{} was {} to {}", s.name, s.least, s.most),
        };
        let follows = s.follows.map(|f| {
            let word = match f.p_value <= 0.01 {
                true => "First light follows it",
                false => "First light does not significantly follow it",
            };
            let (r, p) = (f.correlation, chance(f.p_value));
            format!(" {word}: rank correlation {r:.2} ({p}).")
        });
        let boots = counted(s.boots, "boot");
        lines.push(clean(&format!(
            "State: {range} ({boots}).{}",
            follows.unwrap_or_default()
        )));
    }
    lines
}

/// The boots that say nothing, and why.
fn voids(screen: &mut Screen, r: &BoardReport) {
    const SHOWN: usize = 8;
    let void: Vec<_> = r
        .trials
        .iter()
        .filter_map(|t| Some((t, t.void.as_ref()?)))
        .collect();
    if void.is_empty() {
        return;
    }
    screen.heading("Void boots", "");
    for (trial, why) in void.iter().take(SHOWN) {
        let text = format!("{}, round {}: {}", trial.variant, trial.round, clean(why));
        screen.wrapped("", 2, PLAIN, &text);
    }
    if void.len() > SHOWN {
        let more = void.len() - SHOWN;
        screen.wrapped("", 2, DIM, &format!("and {more} more"));
    }
}
