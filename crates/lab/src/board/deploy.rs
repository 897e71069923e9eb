//! Getting a variant onto a board, and off it.

use crate::error::LabError;
use crate::experiment::{Experiment, Variant};
use crate::trial::Plan;
use capture::board::{Board, Deployment, NONCE};
use std::io;
use std::path::Path;
use treat::files::{Journal, Opened, Plan as Planned};
use treat::{CommandLine, FileTreatment, Treatment};

/// What the commands of the board's file are told of a boot.
pub fn deployment(plan: &Plan, variant: &Variant, nonce: &str) -> Deployment {
    let nonce = format!("{NONCE}={nonce}");
    let mut cmdline = plan.spec.cmdline.clone();
    cmdline.add(&nonce);
    let environment = plan.spec.environment.iter();
    Deployment {
        variant: variant.name.clone(),
        treatments: variant.treatments.iter().map(ToString::to_string).collect(),
        cmdline: cmdline.to_string(),
        environment: environment.map(|(n, v)| (n.clone(), v.clone())).collect(),
        nonce,
    }
}

/// What a deployment would do, in sentences, before it is done.
pub fn plan(experiment: &Experiment, board: &Board, variant: &Variant) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(files) = &board.deploy.files {
        for treatment in of_files(experiment, variant).unwrap_or_default() {
            said.push(format!("{}: {treatment}", files.display()));
        }
    }
    if let Some(run) = &board.deploy.run {
        said.push(format!("runs `{run}`"));
    }
    said
}

/// The treatments that make of the baseline's files those of `variant`. What the
/// description of the boot changes on the command line is changed there, word by word.
fn of_files(experiment: &Experiment, variant: &Variant) -> Result<Vec<FileTreatment>, LabError> {
    let before: &CommandLine = &experiment.base.cmdline;
    let after = &variant.spec.cmdline;
    let gone = before.words().iter().filter(|w| !after.contains(w));
    let new = after.words().iter().filter(|w| !before.contains(w));
    let mut texts: Vec<String> = gone.map(|w| format!("cmdline-={w}")).collect();
    texts.extend(new.map(|w| format!("cmdline+={w}")));
    for treatment in &variant.treatments {
        match treatment {
            Treatment::AddWord(_)
            | Treatment::RemoveWord(_)
            | Treatment::Mask(_)
            | Treatment::UbiFastmap => {}
            other => texts.push(other.to_string()),
        }
    }
    let parse = |text: &String| {
        FileTreatment::parse(text).map_err(|e| LabError::BoardFiles {
            path: "deploy.files".into(),
            why: e.to_string(),
        })
    };
    texts.iter().map(parse).collect()
}

/// Treats the files that the board boots from. A crash leaves a journal, by which
/// [`restore_files`] takes everything back.
///
/// # Errors
/// If a treatment does not apply. What was applied before stays in the journal.
pub fn treat_files(
    experiment: &Experiment,
    files: &Path,
    variant: &Variant,
    nonce: &str,
) -> Result<(), LabError> {
    let mut treatments = of_files(experiment, variant)?;
    let wrong = |why: String| LabError::BoardFiles {
        path: files.to_owned(),
        why,
    };
    let word = format!("cmdline+={nonce}");
    treatments.push(FileTreatment::parse(&word).map_err(|e| wrong(e.to_string()))?);
    for treatment in &treatments {
        let opened = Opened::new(files, Some(treatment), true).map_err(|e| wrong(e.to_string()))?;
        let mut journal =
            Journal::open(opened.target(), &mut go_on).map_err(|e| wrong(e.to_string()))?;
        journal
            .apply(treatment, None, &mut go_on)
            .map_err(|e| wrong(e.to_string()))?;
        drop(journal);
        opened.close().map_err(|e| wrong(e.to_string()))?;
    }
    Ok(())
}

/// The files that the board boots from, if this host can read them at any time.
fn reachable(board: &Board) -> Option<&Path> {
    let is_mounted = board.deploy.mount.is_none();
    board.deploy.files.as_deref().filter(|_| is_mounted)
}

/// Whether the files that `board` boots from can carry what proves a boot; a clause if not.
/// Nothing is changed. `None`: the board's own command deploys.
///
/// # Errors
/// What is wrong with the files, and what to do.
pub fn check_files(board: &Board) -> Option<Result<String, String>> {
    let files = reachable(board)?;
    let check = || {
        let plan = planned(files, &format!("cmdline+={NONCE}=00000000"))?;
        let changes = plan.changes.iter().map(|c| c.path.as_str());
        Ok(changes.collect::<Vec<_>>().join(", "))
    };
    Some(check())
}

/// What a treatment of the board's files would change.
fn planned(files: &Path, treatment: &str) -> Result<Planned, String> {
    let treatment = FileTreatment::parse(treatment).map_err(|e| e.to_string())?;
    let opened = Opened::new(files, Some(&treatment), false).map_err(|e| e.to_string())?;
    let planned = treatment.plan(opened.target()).map_err(|e| e.to_string());
    opened.close().map_err(|e| e.to_string())?;
    planned
}

/// Why a treatment cannot be put onto a board, in a clause; `None`: it can, or only the
/// board's own command knows.
pub fn unfit(board: &Board, treatment: &Treatment) -> Option<String> {
    let files = reachable(board)?;
    let text = match treatment {
        // These become words of the command line.
        Treatment::Mask(unit) => format!("cmdline+=systemd.mask={unit}"),
        Treatment::UbiFastmap => return None,
        other => other.to_string(),
    };
    unfit_for(files, &text)
}

/// Why files cannot take a treatment, in a clause.
fn unfit_for(files: &Path, treatment: &str) -> Option<String> {
    match planned(files, treatment) {
        Ok(plan) if plan.changes.is_empty() => {
            Some("it changes nothing in the board's files".to_owned())
        }
        Ok(_) => None,
        Err(why) => Some(format!("the board's files do not take it: {why}")),
    }
}

/// Takes back every treatment of the files that the board boots from. Returns how many.
///
/// # Errors
/// If they cannot be taken back: somebody changed the files since.
pub fn restore_files(files: &Path) -> Result<usize, LabError> {
    let wrong = |why: String| LabError::BoardFiles {
        path: files.to_owned(),
        why,
    };
    let opened = Opened::new(files, None, true).map_err(|e| wrong(e.to_string()))?;
    let mut journal =
        Journal::open(opened.target(), &mut go_on).map_err(|e| wrong(e.to_string()))?;
    let mut undone = 0;
    while !journal.kept().map_err(|e| wrong(e.to_string()))?.is_empty() {
        journal
            .undo(None, &mut go_on)
            .map_err(|e| wrong(e.to_string()))?;
        undone += 1;
    }
    drop(journal);
    opened.close().map_err(|e| wrong(e.to_string()))?;
    Ok(undone)
}

/// How many treatments the files have.
///
/// # Errors
/// If their journal cannot be read.
pub fn treated(files: &Path) -> Result<usize, LabError> {
    let wrong = |why: String| LabError::BoardFiles {
        path: files.to_owned(),
        why,
    };
    let opened = Opened::new(files, None, false).map_err(|e| wrong(e.to_string()))?;
    let journal = Journal::open(opened.target(), &mut go_on).map_err(|e| wrong(e.to_string()))?;
    let kept = journal.kept().map_err(|e| wrong(e.to_string()))?.len();
    drop(journal);
    opened.close().map_err(|e| wrong(e.to_string()))?;
    Ok(kept)
}

/// Nothing stops before a step but a real fault.
fn go_on(_: &str) -> io::Result<()> {
    Ok(())
}
