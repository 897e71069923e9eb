//! What in the input supports a finding.

use crate::place::Place;

/// How many pieces of evidence a finding shows.
pub(super) const SHOWN: usize = 3;

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What it says.
    pub text: String,
    /// Where it stands.
    pub place: Place,
}
