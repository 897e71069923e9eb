//! What a rule found, before the catalogue adds what holds for all of its kind.

use super::evidence::Evidence;
use super::text::found as text;
use super::view::Speed;
use record::Nanos;

/// What first light has to do with a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Nothing else can go on meanwhile: the loader, the kernel before its
    /// first program, a wait for the root.
    Serial,
    /// It is these things; the critical path knows whether first light waited.
    Items(Vec<String>),
    /// It is these things, and there is one processor: what they compute is taken from
    /// first light whether it waits for them or not.
    Shared(Vec<String>),
    /// Whether first light waits for it, nothing says.
    Unknown,
}

/// Something that could be better.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// What is slow, with its figure; `None`: the title of the rule.
    pub title: Option<String>,
    /// Why, and what to do about it; `None`: what the rule says.
    pub why: Option<String>,
    /// What is said after that.
    pub more: String,
    pub evidence: Vec<Evidence>,
    /// From the least over the expected to the most.
    pub saving: Option<(Nanos, Nanos, Nanos)>,
    pub scope: Scope,
    pub cost: Option<String>,
    pub treatment: Option<String>,
    /// Units, parameters, options, drivers and devices that it is about, beside those of
    /// its scope and its treatment.
    pub names: Vec<String>,
    /// The elapsed time of the span that the saving was taken from: no finding saves more
    /// than that. `None`: the part of the boot that its group is about.
    pub within: Option<Nanos>,
    /// Whether it is about the time before the kernel's first line, which a log that begins with
    /// the kernel does not have.
    pub is_before_kernel: bool,
}

impl Found {
    /// With the words of its rule, which [`title`](Self::title) and [`why`](Self::why) replace.
    pub fn new() -> Self {
        Self {
            title: None,
            why: None,
            more: String::new(),
            evidence: Vec::new(),
            saving: None,
            scope: Scope::Serial,
            cost: None,
            treatment: None,
            names: Vec::new(),
            within: None,
            is_before_kernel: false,
        }
    }

    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    pub fn why(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    pub fn evidence(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// The least, the expected and the most; in any order they are put right.
    pub fn saving(mut self, low: Nanos, expected: Nanos, high: Nanos) -> Self {
        let mut three = [low, expected, high].map(|t| t.max(Nanos::ZERO));
        three.sort();
        let [low, expected, high] = three;
        self.saving = Some((low, expected, high));
        self
    }

    /// A part of `time` in percent, least, expected and most.
    pub fn parts(self, time: Nanos, low: i64, expected: i64, high: i64) -> Self {
        let part = |percent: i64| {
            let ns = i128::from(time.0) * i128::from(percent) / 100;
            Nanos(i64::try_from(ns).unwrap_or(i64::MAX))
        };
        self.saving(part(low), part(expected), part(high))
    }

    /// No more than this can be saved.
    pub fn at_most(mut self, most: Nanos) -> Self {
        let cut = |(a, b, c): (Nanos, Nanos, Nanos)| (a.min(most), b.min(most), c.min(most));
        self.saving = self.saving.map(cut);
        self
    }

    /// The saving was worked out at this speed: one that is assumed may be far off, and
    /// nothing at all may be saved.
    pub fn at_speed(mut self, speed: Speed) -> Self {
        if speed.is_assumed {
            let text = text::assumed_speed(speed.rate / 1_000_000);
            self.more.push_str(&text);
            self.saving = self.saving.map(|(_, e, high)| (Nanos::ZERO, e, high));
        }
        self
    }

    /// What the finding is about, beside what its scope and its treatment name.
    pub fn names(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.names.extend(names.into_iter().map(Into::into));
        self
    }

    /// It is about the time before the kernel's first line.
    pub const fn before_kernel(mut self) -> Self {
        self.is_before_kernel = true;
        self
    }

    /// The elapsed time of the span that the saving was taken from.
    pub const fn within(mut self, elapsed: Nanos) -> Self {
        self.within = Some(elapsed);
        self
    }

    /// The elapsed time around what was measured, which the most that can be saved may reach.
    pub fn up_to(mut self, elapsed: Nanos) -> Self {
        self.saving = self
            .saving
            .map(|(low, e, high)| (low, e, high.max(elapsed)));
        self.within(elapsed)
    }

    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    pub fn cost(mut self, cost: impl Into<String>) -> Self {
        self.cost = Some(cost.into());
        self
    }

    pub fn treatment(mut self, treatment: impl Into<String>) -> Self {
        self.treatment = Some(treatment.into());
        self
    }

    pub fn maybe_treatment(mut self, treatment: Option<String>) -> Self {
        self.treatment = treatment;
        self
    }
}

/// For rules that find one thing at most.
pub(super) fn one(found: Option<Found>) -> Vec<Found> {
    found.into_iter().collect()
}
