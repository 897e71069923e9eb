//! `firstlight.treat.list/1`, `.plan/1`, `.apply/1` and `.undo/1`.

use super::document::Document;
use analysis::CATALOGUE;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use treat::FileTreatment;
use treat::files::{Change, KINDS, Kept, Plan, TreatmentKind};

/// All kinds of treatments, and those applied to a target.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TreatList {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Kinds of treatments.
    pub treatments: Vec<TreatKind>,
    /// Treatments applied to the target, and not undone. Present only with a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Vec<TreatEntry>>,
}

impl Document for TreatList {
    const SCHEMA: &'static str = "firstlight.treat.list/1";
    const TITLE: &'static str = "Output of `firstlight treat list --json`";
}

/// A kind of treatment.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TreatKind {
    /// An example.
    #[schemars(length(min = 1))]
    pub id: &'static str,
    /// Text form of the treatment, with placeholders.
    #[schemars(length(min = 1))]
    pub form: &'static str,
    /// What the treatment does.
    #[schemars(length(min = 1))]
    pub title: &'static str,
    /// Files that it can change.
    pub targets: &'static [&'static str],
    /// Cost of the treatment: what you lose or risk.
    #[schemars(length(min = 1))]
    pub risk: &'static str,
    /// What to do afterwards; may be empty.
    pub then: &'static str,
    /// Whether the treatment can be undone.
    pub undo: bool,
    /// Whether experiments of the lab can use it.
    pub in_lab: bool,
    /// Findings that recommend it.
    pub findings: Vec<&'static str>,
}

/// A treatment in the journal of a target.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TreatEntry {
    /// Number in the journal, counted from 1.
    #[schemars(range(min = 1))]
    pub entry: u32,
    /// The treatment.
    #[schemars(length(min = 1))]
    pub treatment: String,
    /// Files that it changed.
    pub paths: Vec<String>,
}

/// What a treatment would change.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TreatPlan {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// The treatment.
    #[schemars(length(min = 1))]
    pub treatment: String,
    /// Path of the target.
    #[schemars(length(min = 1))]
    pub target: String,
    /// Kind of the target.
    #[schemars(extend("enum" = ["root tree", "file"]))]
    pub target_kind: &'static str,
    /// Whether the target is already treated, so that nothing would change.
    pub already: bool,
    /// Changes, file by file.
    pub changes: Vec<TreatChange>,
    /// Description of the changes, in sentences.
    pub sentences: Vec<String>,
    /// Cost of the treatment: what you lose or risk.
    #[schemars(length(min = 1))]
    pub risk: &'static str,
    /// What to do afterwards; may be empty.
    pub then: String,
    /// Command that undoes the treatment.
    #[schemars(length(min = 1))]
    pub undo: String,
    /// What was restored after an interrupted run, in sentences.
    pub recovered: Vec<String>,
}

impl Document for TreatPlan {
    const SCHEMA: &'static str = "firstlight.treat.plan/1";
    const TITLE: &'static str = "Output of `firstlight treat plan --json`";
}

/// The change of one file.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TreatChange {
    /// Path of the file.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Kind of change.
    #[schemars(extend("enum" = ["create", "change", "replace", "remove"]))]
    pub action: &'static str,
    /// SHA-256 checksum of the file before the change, or `absent`.
    #[schemars(length(min = 1))]
    pub before: String,
    /// SHA-256 checksum of the file after the change, or `absent`.
    #[schemars(length(min = 1))]
    pub after: String,
    /// The change as a unified diff.
    #[schemars(length(min = 1))]
    pub diff: String,
}

/// What a treatment changed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TreatApply {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// The treatment.
    #[schemars(length(min = 1))]
    pub treatment: String,
    /// Path of the target.
    #[schemars(length(min = 1))]
    pub target: String,
    /// Whether anything changed.
    pub changed: bool,
    /// Files that changed.
    pub paths: Vec<String>,
    /// Path of the journal, which keeps the old bytes.
    #[schemars(length(min = 1))]
    pub journal: String,
    /// Number in the journal; null if nothing changed.
    pub entry: Option<u32>,
    /// What to do afterwards; may be empty.
    pub then: String,
    /// What was restored after an interrupted run, in sentences.
    pub recovered: Vec<String>,
}

impl Document for TreatApply {
    const SCHEMA: &'static str = "firstlight.treat.apply/1";
    const TITLE: &'static str = "Output of `firstlight treat apply --json`";
}

/// Treatments that were undone.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TreatUndo {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Path of the target.
    #[schemars(length(min = 1))]
    pub target: String,
    /// Treatments that were undone, the last one first.
    pub undone: Vec<TreatEntry>,
    /// What was restored after an interrupted run, in sentences.
    pub recovered: Vec<String>,
}

impl Document for TreatUndo {
    const SCHEMA: &'static str = "firstlight.treat.undo/1";
    const TITLE: &'static str = "Output of `firstlight treat undo --json`";
}

/// The findings whose treatment is of this form.
fn findings(form: &str) -> Vec<&'static str> {
    let word = |t: &str| t.find('=').map_or(t.len(), |e| e + 1);
    let same = |t: &str| t.get(..word(t)) == form.get(..word(form));
    let rules = CATALOGUE.iter();
    rules
        .filter(|r| r.treatment.is_some_and(same))
        .map(|r| r.id)
        .collect()
}

impl TreatKind {
    fn of(kind: &TreatmentKind) -> Self {
        Self {
            id: kind.example,
            form: kind.form,
            title: kind.what,
            targets: kind.targets,
            risk: kind.risk,
            then: kind.then,
            undo: true,
            in_lab: kind.in_lab,
            findings: findings(kind.form),
        }
    }
}

impl TreatEntry {
    fn of(kept: &Kept) -> Self {
        Self {
            entry: kept.entry,
            treatment: kept.treatment.clone(),
            paths: kept.paths.clone(),
        }
    }
}

impl TreatChange {
    fn of(change: &Change) -> Self {
        Self {
            path: change.path.clone(),
            action: change.action(),
            before: change.before.digest(),
            after: change.after.digest(),
            diff: change.diff(),
        }
    }
}

impl TreatList {
    /// The document of all treatments, and of those that were applied to a target.
    #[must_use]
    pub fn of(applied: Option<&[Kept]>) -> Self {
        Self {
            schema: Self::SCHEMA,
            treatments: KINDS.iter().map(TreatKind::of).collect(),
            applied: applied.map(|all| all.iter().map(TreatEntry::of).collect()),
        }
    }
}

impl TreatPlan {
    /// The document of a plan; `kind` says what the target is, and `recovered` what was
    /// finished of an earlier run.
    #[must_use]
    pub fn of(
        treatment: &FileTreatment,
        target: &Path,
        kind: &'static str,
        plan: &Plan,
        recovered: Vec<String>,
    ) -> Self {
        Self {
            schema: Self::SCHEMA,
            treatment: treatment.to_string(),
            target: target.display().to_string(),
            target_kind: kind,
            already: plan.is_empty(),
            changes: plan.changes.iter().map(TreatChange::of).collect(),
            sentences: plan.sentences.clone(),
            risk: treatment.kind().risk,
            then: plan.then.clone(),
            undo: treat::shell::undo_command(treatment, target),
            recovered,
        }
    }
}

impl TreatApply {
    /// The document of a plan that was followed; `entry` is that of the journal in
    /// `side`, if anything was changed.
    #[must_use]
    pub fn of(
        treatment: &FileTreatment,
        target: &Path,
        plan: &Plan,
        (side, entry): (&Path, Option<u32>),
        recovered: Vec<String>,
    ) -> Self {
        Self {
            schema: Self::SCHEMA,
            treatment: treatment.to_string(),
            target: target.display().to_string(),
            changed: entry.is_some(),
            paths: plan.changes.iter().map(|c| c.path.clone()).collect(),
            journal: side.display().to_string(),
            entry,
            then: plan.then.clone(),
            recovered,
        }
    }
}

impl TreatUndo {
    /// The document of what was taken back.
    #[must_use]
    pub fn of(target: &Path, undone: &[Kept], recovered: Vec<String>) -> Self {
        Self {
            schema: Self::SCHEMA,
            target: target.display().to_string(),
            undone: undone.iter().map(TreatEntry::of).collect(),
            recovered,
        }
    }
}
