//! `firstlight.advise/1`.

use super::document::Document;
use record::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// Treatments that would make the boot shorter, ranked by saving.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Advise {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Findings, the largest expected saving on the critical path first.
    pub findings: Vec<AdviseFinding>,
    /// Saving of the first 1, 2, 3, ... findings together. Findings overlap, so this is not the sum
    /// of their savings.
    pub joint: Vec<AdviseJoint>,
    /// The findings in the order of work. Present only with `--plan`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Vec<AdviseStep>>,
    /// Findings that do not apply. Present only with `--all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent: Option<Vec<AdviseSilent>>,
}

impl Document for Advise {
    const SCHEMA: &'static str = "firstlight.advise/1";
    const TITLE: &'static str = "Output of `firstlight advise --json`";
}

/// A piece of advice.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct AdviseFinding {
    /// Identifier of the finding.
    #[schemars(regex(pattern = "^[a-z0-9-]+$"))]
    pub id: &'static str,
    /// Part of the boot that the change is made in.
    #[schemars(extend("enum" = ["application", "userspace", "storage", "command-line", "kernel", "loader"]))]
    pub group: &'static str,
    /// What is slow, in a few words.
    #[schemars(length(min = 1))]
    pub title: String,
    /// Why it takes time.
    #[schemars(length(min = 1))]
    pub why: String,
    /// Lines of the input that show it.
    pub evidence: Vec<AdviseEvidence>,
    /// Expected saving; 0 if the input does not show it.
    #[schemars(range(min = 0))]
    pub saving_ns: i64,
    /// Least and greatest saving; both 0 if the input does not show them.
    #[schemars(inner(range(min = 0)))]
    pub saving_range_ns: [i64; 2],
    /// How the saving is estimated.
    #[schemars(length(min = 1))]
    pub model: &'static str,
    /// Confidence in the finding.
    #[schemars(extend("enum" = ["low", "medium", "high"]))]
    pub confidence: &'static str,
    /// Whether first light waits for it, as far as the input shows.
    pub on_critical_path: bool,
    /// Cost of the change: what you lose or risk.
    #[schemars(length(min = 1))]
    pub risk: String,
    /// Treatment that makes the change; null if the change cannot be automated.
    pub treatment: Option<String>,
    /// Units, parameters, options, drivers and devices that the finding is about.
    pub names: Vec<String>,
}

/// Saving of the first findings together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct AdviseJoint {
    /// Number of findings, from the first.
    #[schemars(range(min = 1))]
    pub findings: usize,
    /// Expected saving.
    #[schemars(range(min = 0))]
    pub saving_ns: i64,
    /// Least and greatest saving.
    #[schemars(inner(range(min = 0)))]
    pub saving_range_ns: [i64; 2],
}

/// A step of the work on a boot.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct AdviseStep {
    /// Position of its finding in `findings`, from 0.
    pub finding: usize,
    /// Identifier of the finding.
    #[schemars(regex(pattern = "^[a-z0-9-]+$"))]
    pub id: &'static str,
    /// Positions in `plan`, from 0, of the steps that must come first.
    pub after: Vec<usize>,
    /// Why they must; null if nothing must.
    pub why: Option<&'static str>,
}

/// A line of the input that supports a finding.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct AdviseEvidence {
    /// Name of the input.
    #[schemars(length(min = 1))]
    pub source: String,
    /// Byte offset in the input's file.
    pub offset: u64,
    /// Text of the line.
    pub text: String,
}

/// A finding that does not apply.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct AdviseSilent {
    /// Identifier of the finding.
    #[schemars(length(min = 1))]
    pub id: &'static str,
    /// What the finding is about.
    #[schemars(length(min = 1))]
    pub title: &'static str,
    /// Why it does not apply.
    #[schemars(length(min = 1))]
    pub why: String,
}

/// Advice, in the shape of `schemas/advise.json`, with the order of work if there is one; with
/// `all`, also the findings that do not apply.
#[must_use]
pub fn advise(advice: &analysis::Advice, steps: Option<&[analysis::Step]>, all: bool) -> Advise {
    let evidence = |e: &analysis::Evidence| AdviseEvidence {
        source: e.place.source.clone(),
        offset: e.place.offset,
        text: e.text.clone(),
    };
    let finding = |f: &analysis::Finding| {
        let (low, high) = f.saving.unwrap_or_default();
        AdviseFinding {
            id: f.id,
            group: f.group.as_str(),
            title: f.title.clone(),
            why: f.why.clone(),
            evidence: f.evidence.iter().map(evidence).collect(),
            saving_ns: Nanos::get(f.expected),
            saving_range_ns: [low.get(), high.get()],
            model: f.model,
            confidence: f.confidence.as_str(),
            on_critical_path: f.on_critical_path,
            risk: f.cost.clone(),
            treatment: f.treatment.clone(),
            names: f.names.clone(),
        }
    };
    let silent = |s: &analysis::Silent| AdviseSilent {
        id: s.id,
        title: s.title,
        why: s.why.clone(),
    };
    let joint = |j: &analysis::Joint| AdviseJoint {
        findings: j.findings,
        saving_ns: j.saving.expected.get(),
        saving_range_ns: [j.saving.least.get(), j.saving.most.get()],
    };
    let step = |s: &analysis::Step| AdviseStep {
        finding: s.finding,
        id: advice.findings.get(s.finding).map_or("", |f| f.id),
        after: s.after.clone(),
        why: (!s.after.is_empty()).then_some(s.why),
    };
    Advise {
        schema: Advise::SCHEMA,
        findings: advice.findings.iter().map(finding).collect(),
        joint: advice.joint.iter().map(joint).collect(),
        plan: steps.map(|steps| steps.iter().map(step).collect()),
        silent: all.then(|| advice.silent.iter().map(silent).collect()),
    }
}
