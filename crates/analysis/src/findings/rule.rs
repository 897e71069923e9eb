//! What holds for all findings of one kind.

use super::found::Found;
use super::group::Group;
use super::view::View;

/// How sure it is that following a finding brings its expected saving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// It may apply, and the figure is a rule of thumb.
    Low,
    /// It applies, and the figure is modelled.
    Medium,
    /// It applies, and the figure was measured in this boot.
    High,
}

impl Confidence {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What holds for all findings of one kind, and what looks for them.
pub struct Rule {
    /// Which finding: `crypto-self-tests`.
    pub id: &'static str,
    /// Where in the work it belongs.
    pub group: Group,
    /// What it is, in general.
    pub title: &'static str,
    /// Why it costs time.
    pub about: &'static str,
    /// How its saving is estimated.
    pub model: &'static str,
    /// What following it costs.
    pub risk: &'static str,
    /// How sure the estimate is.
    pub confidence: Confidence,
    /// What must be known for it to be looked for, in words.
    pub needs: &'static str,
    /// The treatment that follows it, as a form; `None`: no program can.
    pub treatment: Option<&'static str>,
    /// The texts of log lines that it looks for.
    pub(super) watch: &'static [&'static str],
    /// Looks for it.
    pub(super) find: fn(&View<'_>) -> Vec<Found>,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
