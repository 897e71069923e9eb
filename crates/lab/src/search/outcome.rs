//! What a search finds.

use record::Nanos;
use std::path::PathBuf;
use treat::Treatment;

/// Something that must not break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// What was checked: `first-light`, `units`, `errors` or `sockets`.
    pub check: &'static str,
    /// Whether it is as it was.
    pub ok: bool,
    /// What was seen, in a sentence.
    pub detail: String,
}

/// A set of treatments, booted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// First light of each boot of its ensemble.
    pub times: Vec<Nanos>,
    /// The median of these; the latest time that there is, if no boot came to first light.
    pub median: Nanos,
    /// First light of the set that it was compared with, in the same rounds; empty where
    /// boots need not be made beside each other.
    pub beside: Vec<Nanos>,
    /// From the smallest of these to the largest.
    pub spread: Nanos,
    /// The capture of the first boot.
    pub capture: PathBuf,
    /// Whether it does what the baseline does.
    pub health: Vec<Health>,
}

impl Measured {
    /// The times that it is compared with: those made beside it, or else `otherwise`.
    pub(super) fn base<'a>(&'a self, otherwise: &'a [Nanos]) -> &'a [Nanos] {
        match self.beside.is_empty() {
            true => otherwise,
            false => &self.beside,
        }
    }

    pub(super) fn is_healthy(&self) -> bool {
        !self.times.is_empty() && self.health.iter().all(|h| h.ok)
    }

    /// What is wrong with it, in a clause.
    pub(super) fn trouble(&self) -> String {
        let broken = self.health.iter().filter(|h| !h.ok);
        let details: Vec<&str> = broken.map(|h| h.detail.as_str()).collect();
        match details.is_empty() {
            true => "the boot did not reach first light".to_owned(),
            false => details.join("; "),
        }
    }
}

/// A treatment that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The treatment.
    pub treatment: Treatment,
    /// How much later first light comes without it, and how much neutral perturbations alone
    /// move the two; `None`: it was not left out.
    pub share: Option<(Nanos, Nanos)>,
    /// What it costs, in a clause.
    pub price: String,
}

/// A treatment that is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The treatment's text.
    pub treatment: String,
    /// Why, in a clause.
    pub why: String,
}

/// What came of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The boot without treatments.
    pub baseline: Measured,
    /// The boot with the kept ones.
    pub best: Measured,
    /// First light with the largest set that helps.
    pub whole: Nanos,
    /// What is kept.
    pub kept: Vec<Kept>,
    /// What is not.
    pub dropped: Vec<Dropped>,
    /// How many boots that took, those of an earlier run included.
    pub boots: usize,
    /// What first light waits for in the best boot, the longest first.
    pub limits: Vec<(String, Nanos)>,
}
