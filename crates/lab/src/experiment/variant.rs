//! A variant of an experiment.

use treat::{BootSpec, Treatment};

/// The variant without treatments.
pub const BASELINE: &str = "baseline";

/// A named set of treatments.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name: letters, digits, `-`, `_`, `.`.
    pub name: String,
    /// What is changed, in order.
    pub treatments: Vec<Treatment>,
    /// What is booted.
    pub spec: BootSpec,
}
