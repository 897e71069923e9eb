//! What the search says: JSON, Markdown, a screen, and patch sets.

use super::search::Found;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use treat::files::{Form, export};
use treat::{FileTreatment, Treatment};
use views::terminal::Style;
use views::terminal::layout::{BOLD, DIM, GOOD, PLAIN, Screen, clean, left, right};

/// `firstlight.tune/1`.
#[derive(Serialize)]
pub struct Document {
    schema: &'static str,
    baseline_ns: i64,
    best_ns: i64,
    /// First light with everything that helps, of which `best_ns` has the most.
    whole_ns: i64,
    ratio: f64,
    boots: usize,
    kept: Vec<KeptJson>,
    dropped: Vec<DroppedJson>,
    health: Vec<HealthJson>,
    limits: Vec<LimitJson>,
    command: String,
}

#[derive(Serialize)]
struct KeptJson {
    treatment: String,
    share_ns: Option<i64>,
    spread_ns: Option<i64>,
}

#[derive(Serialize)]
struct DroppedJson {
    treatment: String,
    why: String,
}

#[derive(Serialize)]
struct HealthJson {
    check: &'static str,
    ok: bool,
    detail: String,
}

#[derive(Serialize)]
struct LimitJson {
    name: String,
    length_ns: i64,
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for a reader")]
fn ratio(part: i64, whole: i64) -> f64 {
    let ratio = part as f64 / (whole.max(1)) as f64;
    (ratio * 10_000.0).round() / 10_000.0
}

pub fn document(found: &Found, command: &str) -> Document {
    let (baseline, best) = (found.baseline.median().get(), found.best.median().get());
    Document {
        schema: "firstlight.tune/1",
        baseline_ns: baseline,
        best_ns: best,
        whole_ns: found.whole.get(),
        ratio: ratio(best, baseline),
        boots: found.boots,
        kept: found
            .kept
            .iter()
            .map(|k| KeptJson {
                treatment: k.treatment.to_string(),
                share_ns: k.share.map(|(share, _)| share.get()),
                spread_ns: k.share.map(|(_, spread)| spread.get()),
            })
            .collect(),
        dropped: found
            .dropped
            .iter()
            .map(|d| DroppedJson {
                treatment: d.treatment.clone(),
                why: d.why.clone(),
            })
            .collect(),
        health: found
            .best
            .health
            .iter()
            .map(|h| HealthJson {
                check: h.check,
                ok: h.ok,
                detail: h.detail.clone(),
            })
            .collect(),
        limits: found
            .limits
            .iter()
            .map(|(name, length)| LimitJson {
                name: name.clone(),
                length_ns: length.get(),
            })
            .collect(),
        command: command.to_owned(),
    }
}

fn ns(n: i64) -> record::Nanos {
    record::Nanos(n)
}

/// A time, if it was measured.
fn measured(n: Option<i64>, otherwise: &str) -> String {
    n.map_or_else(|| otherwise.to_owned(), |n| ns(n).to_string())
}

pub fn markdown(d: &Document) -> String {
    let mut text = format!(
        "# What tuning brought\n\nFirst light came at {} and comes at {}: {:.3} times, in {} boots.\n\n",
        ns(d.baseline_ns),
        ns(d.best_ns),
        d.ratio,
        d.boots
    );
    // Writing to a string does not fail.
    let mut line = |words: std::fmt::Arguments<'_>| {
        let _ = text.write_fmt(words);
        text.push('\n');
    };
    line(format_args!(
        "| kept | later without it | spread |\n|---|---|---|"
    ));
    for k in &d.kept {
        line(format_args!(
            "| `{}` | {} | {} |",
            k.treatment,
            measured(k.share_ns, "not measured"),
            measured(k.spread_ns, "")
        ));
    }
    line(format_args!("\n| not kept | why |\n|---|---|"));
    for x in &d.dropped {
        line(format_args!(
            "| `{}` | {} |",
            x.treatment,
            x.why.replace('|', "/")
        ));
    }
    line(format_args!("\n| health | |\n|---|---|"));
    for h in &d.health {
        let ok = if h.ok { "fine" } else { "broken" };
        line(format_args!(
            "| {} | {ok}: {} |",
            h.check,
            h.detail.replace('|', "/")
        ));
    }
    line(format_args!("\n| what limits it now | |\n|---|---|"));
    for l in &d.limits {
        line(format_args!("| {} | {} |", l.name, ns(l.length_ns)));
    }
    line(format_args!("\n    {}", d.command));
    text
}

/// All words that are added to the command line, as one treatment: an option of a
/// configuration that stands twice has the value of the last.
fn added_words(found: &Found) -> Option<FileTreatment> {
    let words = found.kept.iter().filter_map(|k| match &k.treatment {
        Treatment::AddWord(word) => Some(word.as_str()),
        _ => None,
    });
    let words: Vec<&str> = words.collect();
    let all = Treatment::AddWord(words.join(" "));
    (!words.is_empty()).then_some(FileTreatment::Boot(all))
}

/// The kept treatments in each form that a build system takes.
pub fn patches(found: &Found) -> Vec<(&'static str, String)> {
    let forms = [Form::Buildroot, Form::Yocto, Form::Debian, Form::Setenv];
    let of = |form: Form| {
        let mut text = String::new();
        let words = added_words(found);
        if let Some(part) = words.as_ref().and_then(|w| export(w, form)) {
            let _ = writeln!(text, "# all words of the command line\n{part}");
        }
        for kept in &found.kept {
            let treatment = FileTreatment::from(kept.treatment.clone());
            if matches!(kept.treatment, Treatment::AddWord(_)) {
                continue;
            }
            let _ = writeln!(text, "# {treatment}");
            match export(&treatment, form) {
                Some(part) => text.push_str(&part),
                None => {
                    let then = match &kept.treatment {
                        Treatment::Order(_) => "`firstlight image order --for ext4` does it",
                        Treatment::Prefetch(_) => "`firstlight prefetch install` does it",
                        Treatment::Build(_) => "its configuration is in kernel.config",
                        _ => treatment.kind().then,
                    };
                    let _ = writeln!(text, "# (no form for {}: {then})", form.as_str());
                }
            }
            text.push('\n');
        }
        (form.as_str(), text)
    };
    forms.into_iter().map(of).collect()
}

pub fn screen(d: &Document, dir: &Path, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let about = format!(
        "first light at {}, before at {}: {:.3} times",
        ns(d.best_ns),
        ns(d.baseline_ns),
        d.ratio
    );
    screen.heading("What tuning brought", &about);
    let head = format!(
        "  {}  {}  {}",
        right("later without", 14),
        right("spread", 9),
        "kept"
    );
    screen.columns(&head);
    for k in &d.kept {
        let line = format!(
            "  {}  {}  {}",
            screen.paint(GOOD, &right(&measured(k.share_ns, "not measured"), 14)),
            right(&measured(k.spread_ns, ""), 9),
            screen.paint(BOLD, &clean(&k.treatment))
        );
        screen.line(&line);
    }
    if !d.dropped.is_empty() {
        screen.heading("Not kept", "");
        for x in &d.dropped {
            let first = format!("  {}", screen.paint(BOLD, &clean(&x.treatment)));
            screen.line(&first);
            screen.wrapped("", 6, DIM, &x.why);
        }
    }
    screen.heading("Health", "");
    for h in &d.health {
        let ok = if h.ok { "fine" } else { "broken" };
        screen.wrapped(&format!("  {}", left(ok, 7)), 9, PLAIN, &h.detail);
    }
    screen.heading("What limits it now", "");
    for l in &d.limits {
        let line = format!(
            "  {}  {}",
            right(&ns(l.length_ns).to_string(), 9),
            clean(&l.name)
        );
        screen.line(&line);
    }
    screen.blank();
    screen.wrapped("", 2, DIM, &format!("{} boots. {}", d.boots, d.command));
    let files = format!(
        "In {}: tune.json, tune.md, compare.html, and the change for build systems in patch.*",
        dir.display()
    );
    screen.wrapped("", 2, DIM, &files);
    screen.finish()
}
