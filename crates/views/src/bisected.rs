//! Which difference of two systems makes the boot slower.

use bisect::Found;

/// What a bisection found.
#[derive(Clone, Debug, PartialEq)]
pub struct Bisected {
    /// What was bisected: `cmdline`, `config`, `devicetree`, `packages`, `image` or `run`.
    pub kind: &'static str,
    /// The names of both ends.
    pub ends: [String; 2],
    /// The differences, by their numbers.
    pub names: Vec<String>,
    /// The accepted probability of a wrong answer.
    pub error: f64,
    /// What was found.
    pub found: Found,
}

/// What would be bisected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BisectPlan {
    /// What is bisected: `cmdline`, `config`, `devicetree`, `packages`, `image` or `run`.
    pub kind: &'static str,
    /// The names of both ends.
    pub ends: [String; 2],
    /// The differences, by their numbers.
    pub names: Vec<String>,
}

impl Bisected {
    /// What a difference is called.
    pub(crate) fn noun(kind: &str) -> &'static str {
        match kind {
            "run" => "commit",
            _ => "difference",
        }
    }

    /// The names of some differences.
    pub(crate) fn named(&self, numbers: &[usize]) -> Vec<String> {
        let found = numbers.iter().filter_map(|i| self.names.get(*i));
        found.cloned().collect()
    }
}
