//! `firstlight.advise/1`.

use record::Nanos;
use serde::Serialize;

/// What to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advise {
    /// `firstlight.advise/1`.
    pub schema: &'static str,
    /// The largest expected saving on the critical path first.
    pub findings: Vec<AdviseFinding>,
    /// The findings that do not apply, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent: Option<Vec<AdviseSilent>>,
}

/// A piece of advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdviseFinding {
    /// Which advice.
    pub id: &'static str,
    /// Where in the work it belongs: `application`, `userspace`, `storage`,
    /// `command-line`, `kernel` or `loader`.
    pub group: &'static str,
    /// What it is, in a few words.
    pub title: String,
    /// Why it takes time.
    pub why: String,
    /// What says so.
    pub evidence: Vec<AdviseEvidence>,
    /// What following it is expected to save; 0 if nothing says it.
    pub saving_ns: i64,
    /// From the least to the most; both 0 if nothing says it.
    pub saving_range_ns: [i64; 2],
    /// How that is estimated.
    pub model: &'static str,
    /// `low`, `medium` or `high`.
    pub confidence: &'static str,
    /// Whether first light waits for it, as far as these sources say.
    pub on_critical_path: bool,
    /// What following it costs.
    pub risk: String,
    /// The treatment that follows it; null if no program can.
    pub treatment: Option<String>,
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdviseEvidence {
    /// The source's name.
    pub source: String,
    /// The byte in the source's file.
    pub offset: u64,
    /// What it says.
    pub text: String,
}

/// A finding that does not apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdviseSilent {
    /// Which one.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// Why it is silent.
    pub why: String,
}

/// Advice, in the shape of `schemas/advise.json`; with `all`, also the findings
/// that do not apply.
#[must_use]
pub fn advise(advice: &analysis::Advice, all: bool) -> Advise {
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
        }
    };
    let silent = |s: &analysis::Silent| AdviseSilent {
        id: s.id,
        title: s.title,
        why: s.why.clone(),
    };
    Advise {
        schema: "firstlight.advise/1",
        findings: advice.findings.iter().map(finding).collect(),
        silent: all.then(|| advice.silent.iter().map(silent).collect()),
    }
}
