//! Findings, one after another.

use super::finding::finding;
use super::layout::{DIM, PLAIN, Screen};
use super::style::Style;
use super::table::{Column, Table, cell};
use crate::words::counted;
use analysis::{Advice, Finding, Step};
use record::Nanos;

/// What to change, the largest expected saving first.
#[must_use]
pub fn advise(advice: &Advice, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let n = advice.findings.len();
    if n == 0 {
        screen.wrapped("", 0, PLAIN, none(advice));
    } else {
        let about = format!("{}, the most promising first", counted(n, "finding"));
        screen.heading("What to change", &about);
        for (i, f) in advice.findings.iter().enumerate() {
            let saving = match f.saving {
                Some(_) => format!("saves {}", f.expected),
                None => String::new(),
            };
            finding(&mut screen, i + 1, f, &saving, Some(&sure(f)));
        }
        let note = "\"saves\" is the expected saving; its range follows the confidence. Start with \
                    what runs last in the boot: applications and scripts, then the kernel, then \
                    the boot loader. That keeps measuring easy.";
        screen.wrapped("", 2, DIM, note);
        together(&mut screen, advice);
    }
    if !advice.silent.is_empty() {
        screen.heading("What does not apply", "");
        for s in &advice.silent {
            screen.wrapped("  ", 4, PLAIN, &format!("{}: {}.", s.title, s.why));
        }
    }
    screen.finish()
}

/// Why there is no finding.
const fn none(advice: &Advice) -> &'static str {
    match advice.is_over {
        true => {
            "No findings: no line of this input is of the boot. Give the journal, which keeps the \
             start (`journalctl -b -o short-monotonic`), or the output of `dmesg` right after a \
             boot."
        }
        false => "No findings: no rule applies to this input.",
    }
}

/// What to change, in the order of work.
#[must_use]
pub fn plan(advice: &Advice, steps: &[Step], style: &Style) -> String {
    let mut screen = Screen::new(style);
    if steps.is_empty() {
        screen.wrapped("", 0, PLAIN, none(advice));
        return screen.finish();
    }
    let about = format!("{}, in the order of work", counted(steps.len(), "step"));
    screen.heading("Plan", &about);
    let mut group = None;
    for (i, step) in steps.iter().enumerate() {
        let Some(f) = advice.findings.get(step.finding) else {
            continue;
        };
        if group.replace(f.group) != Some(f.group) {
            screen.line(&format!("  {}", screen.paint(DIM, f.group.as_str())));
        }
        let saving = match f.saving {
            Some(_) => format!("saves {}", f.expected),
            None => String::new(),
        };
        finding(&mut screen, i + 1, f, &saving, None);
        if !step.after.is_empty() {
            let numbers: Vec<String> = step.after.iter().map(|s| (s + 1).to_string()).collect();
            let text = format!("step {}: {}", numbers.join(", "), step.why);
            screen.wrapped("     after:", 18, PLAIN, &text);
        }
    }
    let note = "What runs last in the boot comes first, because early steps remove what shows the \
                rest. Measure after each step, and drop what does not help.";
    screen.wrapped("", 2, DIM, note);
    screen.finish()
}

/// How many of the first findings a joint saving is shown for.
const SHOWN: [usize; 5] = [2, 3, 5, 10, 20];

/// What the first findings save together.
fn together(screen: &mut Screen, advice: &Advice) {
    let n = advice.joint.len();
    let shown = advice.joint.iter().filter(|j| {
        let is_last = j.findings == n && n > 1;
        (is_last || SHOWN.contains(&j.findings)) && j.saving.most > Nanos::ZERO
    });
    let shown: Vec<_> = shown.collect();
    if shown.is_empty() {
        return;
    }
    screen.heading(
        "Together",
        "findings overlap, so their savings do not add up",
    );
    let mut table = Table::new([
        Column::number("first findings"),
        Column::time("saving"),
        Column::time("at least"),
        Column::time("at most"),
    ]);
    for joint in shown {
        table.row([
            cell(joint.findings),
            cell(joint.saving.expected).bold(),
            cell(joint.saving.least).dim(),
            cell(joint.saving.most).dim(),
        ]);
    }
    table.print(screen);
}

/// How sure a saving is, and its range.
fn sure(f: &Finding) -> String {
    let path = match f.on_critical_path {
        true => "on the critical path",
        false => "possibly not on the critical path",
    };
    let range = f.saving.map_or_else(String::new, |(low, high)| {
        format!("; {low} to {high} ({})", f.model)
    });
    format!("{}, {path}{range}", f.confidence.as_str())
}
