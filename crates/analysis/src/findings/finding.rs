//! A piece of advice, and all the advice on one boot.

use super::evidence::Evidence;
use super::group::Group;
use super::rule::Confidence;
use crate::path::Estimate;
use record::Nanos;

/// A piece of advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which advice: `crypto-self-tests`, ...
    pub id: &'static str,
    /// Where in the work it belongs.
    pub group: Group,
    /// What it is, in a few words.
    pub title: String,
    /// Why it takes time, in a sentence or two.
    pub why: String,
    /// What in the record says so.
    pub evidence: Vec<Evidence>,
    /// What following it may save, from the least to the most; `None` if
    /// nothing in the record says how much.
    pub saving: Option<(Nanos, Nanos)>,
    /// What following it is expected to save; zero if nothing says it.
    pub expected: Nanos,
    /// How that is estimated.
    pub model: &'static str,
    /// Whether first light waits for it, as far as the record knows.
    pub on_critical_path: bool,
    /// How sure that is.
    pub confidence: Confidence,
    /// What following it costs.
    pub cost: String,
    /// The treatment that does it, as the lab takes it; `None` if there is
    /// nothing that the lab could do by itself.
    pub treatment: Option<String>,
    /// Units, parameters, options, drivers and devices that it is about, each once.
    pub names: Vec<String>,
}

/// A rule that found nothing to say, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silent {
    /// Which rule.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// Why it is silent.
    pub why: String,
}

/// What the first findings save together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joint {
    /// How many of the findings, from the first on.
    pub findings: usize,
    /// What they save. It is not the sum of what each saves: findings overlap.
    pub saving: Estimate,
}

/// Advice on a boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// What could be better, the largest expected saving on the critical path
    /// first.
    pub findings: Vec<Finding>,
    /// What the first 1, 2, 3, ... of them save together.
    pub joint: Vec<Joint>,
    /// The rules that found nothing.
    pub silent: Vec<Silent>,
    /// Whether the boot was over long before the input begins (see [`crate::Phases::is_over`]).
    pub is_over: bool,
}
