//! What tuning found.

use super::Style;
use super::layout::{BOLD, DIM, GOOD, PLAIN, Screen, clean, left, right};
use crate::tuned::{TunePlan, Tuned};
use crate::words::plural;
use record::Nanos;

/// What tuning found; `files` names what was written besides, in a sentence.
#[must_use]
pub fn tune(t: &Tuned, files: &str, style: &Style) -> String {
    let time = |n: Option<Nanos>, otherwise: &str| {
        n.map_or_else(|| otherwise.to_owned(), |n| n.to_string())
    };
    let mut screen = Screen::new(style);
    let about = format!(
        "first light at {}, before at {}: {:.3} times{}",
        t.best,
        t.baseline,
        t.ratio(),
        if t.is_wall { ", wall time" } else { "" }
    );
    screen.heading("Result of tuning", &about);
    let head = format!(
        "  {}  {}  {}",
        right("later without", 14),
        right("spread", 9),
        "kept"
    );
    screen.columns(&head);
    for k in &t.kept {
        let line = format!(
            "  {}  {}  {}",
            screen.paint(GOOD, &right(&time(k.share, "not measured"), 14)),
            right(&time(k.spread, ""), 9),
            screen.paint(BOLD, &clean(&k.treatment))
        );
        screen.line(&line);
    }
    if !t.dropped.is_empty() {
        screen.heading("Not kept", "");
        for x in &t.dropped {
            let first = format!("  {}", screen.paint(BOLD, &clean(&x.treatment)));
            screen.line(&first);
            screen.wrapped("", 6, DIM, &x.why);
        }
    }
    screen.heading("Health", "");
    for h in &t.health {
        let ok = if h.ok { "fine" } else { "broken" };
        screen.wrapped(&format!("  {}", left(ok, 7)), 9, PLAIN, &h.detail);
    }
    screen.heading("Longest waits now", "");
    for (name, length) in &t.limits {
        let line = format!("  {}  {}", right(&length.to_string(), 9), clean(name));
        screen.line(&line);
    }
    screen.blank();
    screen.wrapped("", 2, DIM, &format!("{} boots. {}", t.boots, t.command));
    screen.wrapped("", 2, DIM, files);
    screen.finish()
}

/// What a search would try, and how long that would take.
#[must_use]
pub fn tune_plan(plan: &TunePlan) -> String {
    let n = plan.candidates.len();
    let known = match n {
        0 => String::new(),
        _ => format!(" ({})", plan.candidates.join(", ")),
    };
    // Ten treatments are some fifteen sets.
    let minutes = plan.wall_s_each * f64::from(plan.ensemble) * 15.0 / 60.0;
    format!(
        "One boot on {} shows what its findings recommend. Then, {ensemble} {boots} each: the baseline,\n\
         all treatments together, and each of them left out. If all together do not help, each\n\
         alone before that.\n\
         Known so far: {n} {}{known}\n\
         A boot takes about {:.0} s here; with ten treatments that is {minutes:.0} minutes.\n",
        plan.machine,
        plural(n, "treatment"),
        plan.wall_s_each,
        ensemble = plan.ensemble,
        boots = plural(plan.ensemble as usize, "boot"),
    )
}
