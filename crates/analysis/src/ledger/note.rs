//! A note on the data, as the ledger lists it.

use crate::place::Place;
use record::Severity;

/// A kind of note as it occurred in one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerNote {
    /// How much it matters.
    pub severity: Severity,
    /// The kind's name.
    pub kind: String,
    /// How often it occurred.
    pub count: u64,
    /// What it means and what the user can do.
    pub advice: String,
    /// What is particular to the first occurrence; may be empty.
    pub detail: String,
    /// The first place, where there is one.
    pub first: Option<Place>,
}
