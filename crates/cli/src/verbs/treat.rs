//! `firstlight treat`: change files so that a boot is faster, and take it back.

use crate::args::{Treat, TreatAs, TreatOn, TreatPlan, TreatUndo, TreatVerb};
use crate::out::Out;
use anyhow::{Context, Result, bail};
use std::path::Path;
use treat::FileTreatment;
use treat::files::{Applied, Form, Journal, Opened, export};
use views::json::{self, Document};
use views::terminal;

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

fn tell(recovered: &[String]) {
    for sentence in recovered {
        anstream::eprintln!("firstlight: an earlier run was cut off: {sentence}");
    }
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
    out.show(
        || json::TreatList::of(applied.as_deref()),
        |style| match (target, &applied) {
            (Some(path), Some(applied)) => terminal::treat::applied(path, applied, style),
            _ => terminal::treat::list(style),
        },
    )
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
    let target = &args.change.target;
    out.show(
        || json::TreatPlan::of(&treatment, target, target_kind, &plan, recovered),
        |style| terminal::treat::plan(&treatment, target, &plan, style),
    )
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
    let target = &args.change.target;
    out.show(
        || json::TreatApply::of(&treatment, target, &plan, (&side, entry), recovered),
        |_| terminal::treat::apply(&treatment, target, &plan, &side),
    )
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
    out.show(
        || json::TreatUndo::of(Path::new(path), &undone, recovered),
        |_| terminal::treat::undo(&undone),
    )
}
