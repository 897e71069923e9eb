//! What the search for the best set of treatments found.

use analysis::HealthCheck;
use record::Nanos;

/// What tuning found.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// Whether times are wall time; else they are virtual time of the lab.
    pub is_wall: bool,
    /// First light of the baseline.
    pub baseline: Nanos,
    /// First light with what is kept.
    pub best: Nanos,
    /// First light with everything that helps, of which `best` has the most.
    pub whole: Nanos,
    /// How many boots it took.
    pub boots: usize,
    /// What is kept.
    pub kept: Vec<TunedKept>,
    /// What is not.
    pub dropped: Vec<TunedDropped>,
    /// Whether the best boot does what the baseline does.
    pub health: Vec<HealthCheck>,
    /// What first light waits for in the best boot, the longest first.
    pub limits: Vec<(String, Nanos)>,
    /// The command that repeats it.
    pub command: String,
}

/// A treatment that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunedKept {
    /// The treatment.
    pub treatment: String,
    /// How much later first light comes without it; `None`: not measured.
    pub share: Option<Nanos>,
    /// How much neutral perturbations move these two.
    pub spread: Option<Nanos>,
}

/// A treatment that is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunedDropped {
    /// The treatment.
    pub treatment: String,
    /// Why.
    pub why: String,
}

/// What a search would try, as far as it is known before the first boot.
#[derive(Clone, Debug, PartialEq)]
pub struct TunePlan {
    /// The machine, in words.
    pub machine: String,
    /// The treatments that are known.
    pub candidates: Vec<String>,
    /// How many boots each set gets.
    pub ensemble: u32,
    /// How long a boot takes here, in seconds.
    pub wall_s_each: f64,
}

impl Tuned {
    /// The best first light as a part of the baseline's, to four decimals.
    pub(crate) fn ratio(&self) -> f64 {
        let ratio = self.best.get() as f64 / self.baseline.get().max(1) as f64;
        (ratio * 10_000.0).round() / 10_000.0
    }
}
