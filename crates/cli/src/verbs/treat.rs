//! `firstlight treat`: change files so that a boot is faster, and take it back.

mod target;

use crate::args::{Treat, TreatAs, TreatOn, TreatPlan, TreatUndo, TreatVerb};
use crate::out::Out;
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::path::Path;
use target::Opened;
use treat::FileTreatment;
use treat::files::{Applied, Change, Form, Journal, KINDS, Kept, Plan, export};
use views::json::{self, Document};
use views::terminal::layout::{BOLD, DIM, GOOD, PLAIN, Screen, clean};

pub fn run(args: &Treat, out: &mut Out) -> Result<()> {
    match &args.verb {
        TreatVerb::List { target } => list(target.as_deref(), out),
        TreatVerb::Plan(args) => plan(args, out),
        TreatVerb::Apply(args) => apply(args, out),
        TreatVerb::Undo(args) => undo(args, out),
    }
}

/// Nothing stops before a step but a real fault.
fn go_on(_: &str) -> std::io::Result<()> {
    Ok(())
}

fn kept_json(kept: Kept) -> json::TreatEntry {
    json::TreatEntry {
        entry: kept.entry,
        treatment: kept.treatment,
        paths: kept.paths,
    }
}

fn tell(recovered: &[String]) {
    for sentence in recovered {
        anstream::eprintln!("firstlight: an earlier run was cut off: {sentence}");
    }
}

/// The findings whose treatment is of this form.
fn findings(form: &str) -> Vec<&'static str> {
    let word = |t: &str| t.find('=').map_or(t.len(), |e| e + 1);
    let same = |t: &str| t.get(..word(t)) == form.get(..word(form));
    let rules = analysis::CATALOGUE.iter();
    rules
        .filter(|r| r.treatment.is_some_and(same))
        .map(|r| r.id)
        .collect()
}

fn list(target: Option<&Path>, out: &mut Out) -> Result<()> {
    let mut applied = None;
    if let Some(path) = target {
        let opened = Opened::new(path, None, false)?;
        let journal = Journal::open(opened.target(), &mut go_on)?;
        tell(journal.recovered());
        applied = Some(journal.kept()?);
        drop(journal);
        opened.close()?;
    }
    if out.json {
        let treatments = KINDS.iter().map(|k| json::TreatKind {
            id: k.example,
            form: k.form,
            title: k.what,
            targets: k.targets,
            risk: k.risk,
            then: k.then,
            undo: true,
            in_lab: k.in_lab,
            findings: findings(k.form),
        });
        return out.text(&json::text(&json::TreatList {
            schema: json::TreatList::SCHEMA,
            treatments: treatments.collect(),
            applied: applied.map(|all| all.into_iter().map(kept_json).collect()),
        }));
    }
    let mut screen = Screen::new(&out.style);
    if let (Some(path), Some(applied)) = (target, &applied) {
        screen.heading("Applied", &path.display().to_string());
        if applied.is_empty() {
            screen.line("  nothing that can be taken back");
        }
        for kept in applied {
            let paths = clean(&kept.paths.join(", "));
            let line = format!(
                "  {:>4}  {}  {}",
                kept.entry,
                screen.paint(BOLD, &clean(&kept.treatment)),
                screen.paint(DIM, &paths)
            );
            screen.line(&line);
        }
        return out.text(&screen.finish());
    }
    screen.heading(
        "Treatments",
        "each is planned, applied and undone by its text",
    );
    for kind in KINDS {
        let line = format!("  {}", screen.paint(GOOD, kind.form));
        screen.line(&line);
        screen.wrapped("", 5, PLAIN, &format!("{}.", kind.what));
        screen.wrapped("     on:", 11, DIM, &kind.targets.join(", "));
        screen.wrapped("     cost:", 11, DIM, kind.risk);
        if !kind.then.is_empty() {
            screen.wrapped("     then:", 11, DIM, kind.then);
        }
    }
    out.text(&screen.finish())
}

fn form(wanted: TreatAs) -> Option<Form> {
    match wanted {
        TreatAs::Diff => None,
        TreatAs::Buildroot => Some(Form::Buildroot),
        TreatAs::Yocto => Some(Form::Yocto),
        TreatAs::Debian => Some(Form::Debian),
        TreatAs::Setenv => Some(Form::Setenv),
    }
}

fn plan(args: &TreatPlan, out: &mut Out) -> Result<()> {
    let treatment = FileTreatment::parse(&args.change.treatment)?;
    if let Some(form) = args.form.and_then(form) {
        let text = export(&treatment, form);
        let Some(text) = text else {
            bail!(
                "`{treatment}` has no form for {}; `--as diff` shows the change of the files",
                form.as_str()
            );
        };
        return out.text(&text);
    }
    let opened = Opened::new(&args.change.target, Some(&treatment), false)?;
    let target_kind = opened.target().kind();
    let journal = Journal::open(opened.target(), &mut go_on)?;
    let recovered = journal.recovered().to_vec();
    tell(&recovered);
    let plan = treatment.plan(opened.target())?;
    drop(journal);
    opened.close()?;
    if args.form.is_some() {
        return out.text(&plan.diff());
    }
    let undo = treat::shell::undo_command(&treatment, &args.change.target);
    let kind = treatment.kind();
    if out.json {
        let change = |c: &Change| json::TreatChange {
            path: c.path.clone(),
            action: c.action(),
            before: c.before.digest(),
            after: c.after.digest(),
            diff: c.diff(),
        };
        return out.text(&json::text(&json::TreatPlan {
            schema: json::TreatPlan::SCHEMA,
            treatment: treatment.to_string(),
            target: args.change.target.display().to_string(),
            target_kind,
            already: plan.is_empty(),
            changes: plan.changes.iter().map(change).collect(),
            sentences: plan.sentences,
            risk: kind.risk,
            then: plan.then,
            undo,
            recovered,
        }));
    }
    let mut screen = Screen::new(&out.style);
    if plan.is_empty() {
        screen.line(&already(&args.change.target, &plan, "nothing would change"));
        return out.text(&screen.finish());
    }
    let about = format!("{treatment} on {}", args.change.target.display());
    screen.heading("What would change", &clean(&about));
    for sentence in &plan.sentences {
        screen.wrapped("  ", 4, PLAIN, &format!("{sentence}."));
    }
    screen.blank();
    for line in plan.diff().lines() {
        screen.line(&clean(line));
    }
    screen.blank();
    screen.wrapped("  cost:", 9, PLAIN, kind.risk);
    if !plan.then.is_empty() {
        screen.wrapped("  then:", 9, PLAIN, &plan.then);
    }
    // On one line, so that it can be copied.
    screen.line(&format!("  undo:  {}", clean(&undo)));
    out.text(&screen.finish())
}

/// What a plan in a file was made for.
fn basis(path: &Path, treatment: &FileTreatment) -> Result<Vec<treat::files::Basis>> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("{shown}: cannot be read"))?;
    let plan: serde_json::Value = serde_json::from_str(&text).with_context(|| {
        format!("{shown}: is no plan; expected what `firstlight treat plan --json` prints")
    })?;
    let of = |key: &str| plan.get(key).and_then(serde_json::Value::as_str);
    if of("schema") != Some(json::TreatPlan::SCHEMA) {
        bail!("{shown}: is no plan; expected what `firstlight treat plan --json` prints");
    }
    if of("treatment") != Some(&treatment.to_string()) {
        bail!(
            "{shown}: is a plan of `{}`, and not of `{treatment}`",
            of("treatment").unwrap_or_default()
        );
    }
    let changes = plan.get("changes").cloned().unwrap_or_default();
    serde_json::from_value(changes).with_context(|| format!("{shown}: its changes are no plan's"))
}

fn apply(args: &TreatOn, out: &mut Out) -> Result<()> {
    let treatment = FileTreatment::parse(&args.change.treatment)?;
    let planned = args.planned.as_deref();
    let basis = planned.map(|p| basis(p, &treatment)).transpose()?;
    let opened = Opened::new(&args.change.target, Some(&treatment), true)?;
    let side = opened.target().side();
    let mut journal = Journal::open(opened.target(), &mut go_on)?;
    let recovered = journal.recovered().to_vec();
    tell(&recovered);
    let (plan, applied) = journal.apply(&treatment, basis.as_deref(), &mut go_on)?;
    drop(journal);
    opened.close()?;
    let entry = match applied {
        Applied::Already => None,
        Applied::Changed { entry } => Some(entry),
    };
    let paths: Vec<String> = plan.changes.iter().map(|c| c.path.clone()).collect();
    if out.json {
        return out.text(&json::text(&json::TreatApply {
            schema: json::TreatApply::SCHEMA,
            treatment: treatment.to_string(),
            target: args.change.target.display().to_string(),
            changed: entry.is_some(),
            paths,
            journal: side.display().to_string(),
            entry,
            then: plan.then,
            recovered,
        }));
    }
    out.text(&applied_text(&treatment, args, &plan, &side))
}

/// What is said where a treatment has nothing to do; what it did not find is told, since a
/// name may be mistyped.
fn already(target: &Path, plan: &Plan, outcome: &str) -> String {
    let shown = target.display();
    let why = plan.sentences.iter().map(|s| format!("{}; ", clean(s)));
    let why: String = why.collect();
    match plan.sentences.is_empty() {
        true => format!("{shown} is treated so already: {outcome}."),
        false => format!("There is nothing to do on {shown}: {why}{outcome}."),
    }
}

fn applied_text(treatment: &FileTreatment, args: &TreatOn, plan: &Plan, side: &Path) -> String {
    if plan.is_empty() {
        return already(&args.change.target, plan, "nothing was changed") + "\n";
    }
    let mut text = String::new();
    for sentence in &plan.sentences {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}.", clean(sentence));
    }
    if !plan.then.is_empty() {
        let _ = writeln!(text, "then: {}", plan.then);
    }
    let _ = writeln!(
        text,
        "undo: {}\nThe original bytes are in {}.",
        clean(&treat::shell::undo_command(treatment, &args.change.target)),
        side.display()
    );
    text
}

fn undo(args: &TreatUndo, out: &mut Out) -> Result<()> {
    let (treatment, path) = match args.what.as_slice() {
        [target] => (None, target),
        [treatment, target] => (Some(treatment.to_string_lossy()), target),
        _ => bail!("expected a target, or a treatment and a target"),
    };
    let treatment = treatment.map(|t| FileTreatment::parse(&t)).transpose()?;
    let opened = Opened::new(Path::new(path), treatment.as_ref(), true)?;
    let mut journal = Journal::open(opened.target(), &mut go_on)?;
    tell(journal.recovered());
    let mut undone = Vec::new();
    if args.all {
        while !journal.kept()?.is_empty() {
            undone.push(journal.undo(None, &mut go_on)?);
        }
    } else {
        undone.push(journal.undo(treatment.as_ref(), &mut go_on)?);
    }
    let recovered = journal.recovered().to_vec();
    drop(journal);
    opened.close()?;
    if out.json {
        return out.text(&json::text(&json::TreatUndo {
            schema: json::TreatUndo::SCHEMA,
            target: Path::new(path).display().to_string(),
            undone: undone.into_iter().map(kept_json).collect(),
            recovered,
        }));
    }
    let mut text = String::new();
    for kept in &undone {
        let _ = writeln!(
            text,
            "`{}` was undone: {}",
            clean(&kept.treatment),
            clean(&kept.paths.join(", "))
        );
    }
    if undone.is_empty() {
        text.push_str("nothing was applied here, so nothing was changed.\n");
    }
    out.text(&text)
}
