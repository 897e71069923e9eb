//! What the first of the findings save together.
//!
//! Findings overlap: two are about the same time, or one makes another way the longest. So
//! their sum is not the saving. Those about units and initcalls are taken out of the graph
//! of activities at once. Of those about a part of the boot nothing says how they overlap:
//! each takes its share of what the others leave.

use super::finding::{Finding, Joint};
use super::found::Scope;
use super::group::Group;
use super::view::View;
use crate::path::{Estimate, Model, Shorter};
use record::{Nanos, Phase};

/// A finding, and what it has to do with the boot.
pub(super) struct Effect {
    scope: Scope,
    group: Group,
    saving: Estimate,
}

impl Effect {
    pub fn of(finding: &Finding, scope: &Scope) -> Self {
        let (low, high) = finding.saving.unwrap_or_default();
        Self {
            scope: scope.clone(),
            group: finding.group,
            saving: Estimate {
                least: low,
                expected: finding.expected,
                most: high,
            },
        }
    }
}

/// The parts of a boot that findings are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pool {
    Loader,
    Kernel,
    Programs,
}

const POOLS: [Pool; 3] = [Pool::Loader, Pool::Kernel, Pool::Programs];

impl Pool {
    const fn of(group: Group) -> Self {
        match group {
            Group::Loader => Self::Loader,
            Group::Kernel | Group::CommandLine => Self::Kernel,
            Group::Storage | Group::Userspace | Group::Application => Self::Programs,
        }
    }

    /// How long this part of the boot is.
    fn length(self, view: &View<'_>) -> Nanos {
        let phases: &[Phase] = match self {
            Self::Loader => &[Phase::Firmware, Phase::Loader],
            Self::Kernel => &[Phase::Decompression, Phase::Kernel, Phase::Initrd],
            Self::Programs => &[Phase::Initrd, Phase::Userspace, Phase::App],
        };
        let lengths = phases.iter().map(|p| view.length(*p));
        lengths.fold(Nanos::ZERO, |sum, l| sum + l)
    }
}

/// What the first 1, 2, 3, ... of the findings save.
pub(super) fn joint(view: &View<'_>, effects: &[Effect]) -> Vec<Joint> {
    let model = view.model();
    let mut items = Items::default();
    let mut pools = POOLS.map(|p| Shares::new(p.length(view)));
    let mut all: Vec<Joint> = Vec::new();
    let mut last = Estimate::default();
    for (i, effect) in effects.iter().enumerate() {
        let is_of_graph = items.add(model, effect);
        let place = POOLS.iter().position(|p| *p == Pool::of(effect.group));
        if !is_of_graph && let Some(pool) = place.and_then(|p| pools.get_mut(p)) {
            pool.add(effect.saving);
        }
        let start = items.saving(model);
        let sum = pools.iter().fold(start, |sum, p| add(sum, p.saving()));
        // An image or a configuration alone has no boot.
        let limit = match view.total > Nanos::ZERO {
            true => view.total,
            false => Nanos(i64::MAX),
        };
        last = Estimate::within(
            sum.least.max(last.least),
            sum.expected.max(last.expected),
            sum.most.max(last.most),
            limit,
        );
        all.push(Joint {
            findings: i + 1,
            saving: last,
        });
    }
    all
}

fn add(a: Estimate, b: Estimate) -> Estimate {
    Estimate {
        least: a.least + b.least,
        expected: a.expected + b.expected,
        most: a.most + b.most,
    }
}

fn each(a: Estimate, f: impl Fn(Nanos) -> Nanos) -> Estimate {
    Estimate {
        least: f(a.least),
        expected: f(a.expected),
        most: f(a.most),
    }
}

/// Findings about activities of the graph.
#[derive(Default)]
struct Items {
    /// All that is shorter.
    shorter: Shorter,
    /// What each saves alone by its finding, added up.
    findings: Estimate,
    /// The same by the graph.
    alone: Nanos,
}

impl Items {
    /// Adds a finding; `false` if it is about no activity.
    fn add(&mut self, model: &Model<'_>, effect: &Effect) -> bool {
        let (Scope::Items(names) | Scope::Shared(names)) = &effect.scope else {
            return false;
        };
        let mut one = Shorter::default();
        let found = names.iter().filter_map(|n| model.matching(n));
        let found: Vec<_> = found.filter(|m| !m.is_empty()).collect();
        let whole = found.iter().map(|m| model.time(m));
        let whole = whole.fold(Nanos::ZERO, |sum, t| sum + t);
        if whole <= Nanos::ZERO {
            return false;
        }
        for matched in &found {
            // What the finding leaves is spread over its items.
            let time = model.time(matched);
            let gone = i128::from(effect.saving.most.get().clamp(0, whole.get()))
                * i128::from(time.get())
                / i128::from(whole.get());
            let left = time - Nanos(i64::try_from(gone).unwrap_or(i64::MAX));
            model.shorten(&mut one, matched, left);
            model.shorten(&mut self.shorter, matched, left);
        }
        self.findings = add(self.findings, effect.saving);
        self.alone = self.alone + model.saving_of_graph(&one);
        true
    }

    /// What all save together: as much more or less than their sum as by the graph.
    fn saving(&self, model: &Model<'_>) -> Estimate {
        if self.alone <= Nanos::ZERO {
            return self.findings;
        }
        let together = model.saving_of_graph(&self.shorter);
        each(self.findings, |saving| {
            let share = i128::from(saving.get()) * i128::from(together.get());
            let share = share / i128::from(self.alone.get());
            Nanos(i64::try_from(share).unwrap_or(i64::MAX))
        })
    }
}

/// Findings about a part of the boot, which overlap in an unknown way.
struct Shares {
    length: Nanos,
    /// What is left of the part.
    left: Estimate,
}

impl Shares {
    const fn new(length: Nanos) -> Self {
        Self {
            length,
            left: Estimate {
                least: length,
                expected: length,
                most: length,
            },
        }
    }

    fn add(&mut self, saving: Estimate) {
        // A part that is shorter than what is saved of it is not known whole.
        if saving.most > self.length {
            let more = saving.most - self.length;
            self.length = self.length + more;
            self.left = each(self.left, |l| l + more);
        }
        let length = i128::from(self.length.get().max(1));
        let stays = |left: Nanos, saving: Nanos| {
            let stays = i128::from(left.get()) * (length - i128::from(saving.get())) / length;
            Nanos(i64::try_from(stays).unwrap_or_default())
        };
        self.left = Estimate {
            least: stays(self.left.least, saving.least),
            expected: stays(self.left.expected, saving.expected),
            most: stays(self.left.most, saving.most),
        };
    }

    fn saving(&self) -> Estimate {
        each(self.left, |left| self.length - left)
    }
}
