//! Which difference of two systems makes the boot slower.

use super::Style;
use super::layout::{BAD, BOLD, DIM, GOOD, PLAIN, Screen, WARN, clean};
use crate::bisected::{BisectPlan, Bisected};
use crate::words::{chance, counted, percent, signed};
use bisect::{Comparison, Culprit, Outcome};
use record::Nanos;

/// Where the lines below a verdict begin.
const INDENT: usize = 8;

/// So many differences are listed.
const LISTED: usize = 40;

/// What a bisection found.
#[must_use]
pub fn bisect(b: &Bisected, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let found = &b.found;
    let whole = Nanos(found.ends.delta_ns);
    let [first, second] = [&found.first, &found.second].map(|times| median(times));
    let (ansi, word) = match found.outcome {
        Outcome::Found { .. } if whole < Nanos::ZERO => (GOOD, "found"),
        Outcome::Found { .. } => (BAD, "found"),
        Outcome::NoDifference => (GOOD, "no difference"),
        Outcome::CannotTell | Outcome::Unconfirmed { .. } => (WARN, "cannot tell"),
    };
    let text = match &found.outcome {
        Outcome::Found { culprits, .. } => names(b, culprits),
        Outcome::NoDifference => {
            format!("first light differs by less than {}", Nanos(found.see_ns))
        }
        Outcome::CannotTell if found.first.is_empty() || found.second.is_empty() => {
            "one of the two systems cannot be booted".to_owned()
        }
        Outcome::CannotTell => format!(
            "the boots scatter too much to see a difference of {}",
            Nanos(found.see_ns)
        ),
        Outcome::Unconfirmed { .. } => {
            "the systems differ, but boots did not confirm any difference as the cause".to_owned()
        }
    };
    let line = format!("{}  {}", screen.paint(ansi, word), clean(&text));
    screen.line(&line);
    if let Outcome::Found { together, .. } = &found.outcome {
        let text = format!(
            "first light {}, {}",
            moved(together, first),
            sure(together, b.error)
        );
        screen.wrapped("", INDENT, PLAIN, &text);
    }
    if !found.first.is_empty() && !found.second.is_empty() {
        let text = format!(
            "{} {first}, {} {second}: {} ({})",
            clean(&b.ends[0]),
            clean(&b.ends[1]),
            signed(whole),
            percent(whole, first)
        );
        screen.wrapped("", INDENT, DIM, &text);
    }
    let text = format!(
        "{}, {}; accepted probability of a wrong answer: {} %",
        counted(b.names.len(), Bisected::noun(b.kind)),
        counted(found.boots, "boot"),
        b.error * 100.0
    );
    screen.wrapped("", INDENT, DIM, &text);
    match &found.outcome {
        Outcome::Found {
            culprits,
            others,
            interact,
            rest_ns,
            ..
        } => {
            explained(&mut screen, b, culprits, *interact, first);
            if let Some(others) = others {
                let text = format!("all other differences together: {}", moved(others, first));
                screen.wrapped("  ", 4, DIM, &text);
            }
            // What scatter explains is no rest.
            let scatter = found.ends.interval_ns[1].abs_diff(found.ends.interval_ns[0]) / 2;
            let is_same_way = (*rest_ns > 0) == (found.ends.delta_ns > 0);
            if is_same_way && rest_ns.unsigned_abs() > scatter.max(found.see_ns.unsigned_abs()) {
                let text = format!("{} of the change remain unexplained", Nanos(*rest_ns));
                screen.wrapped("  ", 4, WARN, &text);
            }
        }
        Outcome::Unconfirmed { among } if among.len() < b.names.len() => {
            listed(&mut screen, "In question", b.kind, &b.named(among));
        }
        _ => {}
    }
    if let (count, Some(why)) = &found.unbootable {
        let text = format!(
            "{} could not be booted: {}",
            counted(*count, "set"),
            clean(why)
        );
        screen.wrapped("", INDENT, WARN, &text);
    }
    screen.finish()
}

/// The culprits' names, in one line.
fn names(b: &Bisected, culprits: &[Culprit]) -> String {
    let all = culprits.iter().map(|c| b.named(&c.members).join(" or "));
    all.collect::<Vec<_>>().join(", and ")
}

fn median(times: &[i64]) -> Nanos {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    Nanos(sorted.get(sorted.len() / 2).copied().unwrap_or(0))
}

fn moved(of: &Comparison, whole: Nanos) -> String {
    let delta = Nanos(of.delta_ns);
    format!("{} ({})", signed(delta), percent(delta, whole))
}

fn sure(of: &Comparison, error: f64) -> String {
    format!(
        "{} % confidence interval {} to {}, {}",
        100.0 - error * 100.0,
        signed(Nanos(of.interval_ns[0])),
        signed(Nanos(of.interval_ns[1])),
        chance(of.p)
    )
}

/// What each of several culprits does.
fn explained(
    screen: &mut Screen,
    b: &Bisected,
    culprits: &[Culprit],
    interact: bool,
    first: Nanos,
) {
    if culprits.len() > 1 {
        let about = match interact {
            true => "they have their effect only together",
            false => "each has an effect of its own",
        };
        screen.heading("Culprits", about);
    }
    for culprit in culprits {
        if culprits.len() > 1 {
            let name = names(b, std::slice::from_ref(culprit));
            let line = format!("  {}", screen.paint(BOLD, &clean(&name)));
            screen.line(&line);
        }
        if culprit.members.len() > 1 {
            let text = "no boot separates these, because the sets between them do not boot";
            screen.wrapped("", INDENT, WARN, text);
        }
        let mut parts = Vec::new();
        if let (Some(alone), true) = (&culprit.alone, culprits.len() > 1) {
            parts.push(format!("alone: {}", moved(alone, first)));
        }
        if let Some(left_out) = &culprit.left_out {
            parts.push(format!("left out: {}", moved(left_out, first)));
        }
        if !parts.is_empty() {
            screen.wrapped("", INDENT, DIM, &parts.join(", "));
        }
    }
}

fn listed(screen: &mut Screen, title: &str, kind: &str, names: &[String]) {
    screen.heading(title, &counted(names.len(), Bisected::noun(kind)));
    for name in names.iter().take(LISTED) {
        screen.wrapped("  ", 4, PLAIN, &clean(name));
    }
    let more = names.len().saturating_sub(LISTED);
    if more > 0 {
        screen.wrapped("  ", 4, DIM, &format!("and {more} more"));
    }
}

/// What a bisection would search.
#[must_use]
pub fn bisect_plan(plan: &BisectPlan, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let title = format!("{} against {}", clean(&plan.ends[0]), clean(&plan.ends[1]));
    listed(&mut screen, &title, plan.kind, &plan.names);
    screen.finish()
}
