//! What reads the captures of a search and compares their times.

use super::outcome::Health;
use record::Nanos;
use std::error::Error;
use std::path::Path;

/// Why a capture cannot be judged.
pub type JudgeError = Box<dyn Error + Send + Sync>;

/// Reads captures and compares times. Captures are named by their folders.
pub trait Judge {
    /// When first light came; `None`: the capture does not say.
    ///
    /// # Errors
    /// The capture cannot be read.
    fn first_light(&mut self, capture: &Path) -> Result<Option<Nanos>, JudgeError>;

    /// Whether the boot `after` does what the boot `before` did. The units in `masked` are
    /// left out on purpose.
    ///
    /// # Errors
    /// A capture cannot be read.
    fn health(
        &mut self,
        before: &Path,
        after: &Path,
        masked: &[String],
    ) -> Result<Vec<Health>, JudgeError>;

    /// What the findings of a boot recommend, the most promising first.
    ///
    /// # Errors
    /// The capture cannot be read.
    fn recommended(&mut self, capture: &Path) -> Result<Vec<Recommended>, JudgeError>;

    /// What first light waited for in a boot, the longest first, with its length.
    ///
    /// # Errors
    /// The capture cannot be read.
    fn limits(&mut self, capture: &Path) -> Result<Vec<(String, Nanos)>, JudgeError>;

    /// The typical time of an ensemble; `None` of nothing.
    fn typical(&self, times: &[Nanos]) -> Option<Typical>;

    /// So many sets are compared next, with at most `ensemble` boots each: the more there
    /// are, the more a rule against false alarms asks of each.
    fn compares(&mut self, _sets: usize, _ensemble: u32) {}

    /// The effect of a change on an ensemble; `None` if one is empty.
    fn effect(&self, base: &[Nanos], variant: &[Nanos]) -> Option<Effect>;

    /// Why a difference of `boots` boots each is none, in a clause for a reader who sees that
    /// it is not zero.
    fn no_effect(&self, e: &Effect, boots: usize) -> String {
        format!(
            "no effect: first light moves by {}, and neutral perturbations alone move it by {}; \
             with {boots} boots each, only a change of more than {} counts",
            e.delta, e.spread, e.least
        )
    }

    /// Makes the files of the root in `image` known by name, for [`Self::access_list`].
    ///
    /// # Errors
    /// The image cannot be opened.
    fn open_root(&mut self, image: &Path) -> Result<(), JudgeError>;

    /// Writes what a boot of that root read into the access list `list`.
    ///
    /// # Errors
    /// The capture has no accesses, or the list cannot be written.
    fn access_list(&mut self, capture: &Path, list: &Path) -> Result<(), JudgeError>;
}

/// The typical time of an ensemble.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Typical {
    /// The median.
    pub median: Nanos,
    /// From the smallest to the largest.
    pub spread: Nanos,
}

/// What a change does to first light.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// What it means.
    pub verdict: Verdict,
    /// The variant's median minus the base's.
    pub delta: Nanos,
    /// How much neutral perturbations alone move first light.
    pub spread: Nanos,
    /// The least difference that counts.
    pub least: Nanos,
}

/// What a difference means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// First light comes earlier.
    Faster,
    /// First light comes later.
    Slower,
    /// No significant difference.
    NoDifference,
}

/// A treatment that a finding recommends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recommended {
    /// The finding.
    pub finding: String,
    /// The treatment's text; `None`: the finding names none.
    pub treatment: Option<String>,
    /// What following it costs, in a clause.
    pub price: String,
    /// Whether it is a rule of thumb without an expected saving: not worth a boot.
    pub is_vague: bool,
}
