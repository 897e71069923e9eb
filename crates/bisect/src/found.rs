//! What a search finds.

/// The boots of one set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The differences that were applied, ascending.
    pub set: Vec<usize>,
    /// The time of each boot, in nanoseconds.
    pub times: Vec<i64>,
}

/// A comparison of two sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The second median minus the first, in nanoseconds.
    pub delta_ns: i64,
    /// The confidence interval of that, in nanoseconds.
    pub interval_ns: [i64; 2],
    /// The probability of such a difference by chance.
    pub p: f64,
}

/// Differences that make the boot slower or faster.
#[derive(Clone, Debug, PartialEq)]
pub struct Culprit {
    /// The differences, ascending. Several: the boots between them cannot be judged, so that
    /// they could not be separated.
    pub members: Vec<usize>,
    /// What they change when they alone are applied to the first system. In a history: what
    /// this step changes.
    pub alone: Option<Comparison>,
    /// What leaving them out of all culprits changes, where there are several.
    pub left_out: Option<Comparison>,
}

/// What came of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The two systems do not differ by as much as was asked for.
    NoDifference,
    /// The boots scatter too much to say whether the systems differ.
    CannotTell,
    /// These differences make the change.
    Found {
        /// The culprits. All of them together give the whole change, up to `rest_ns`.
        culprits: Vec<Culprit>,
        /// What they change together.
        together: Comparison,
        /// What applying all others changes; `None`: that set cannot be judged, or there are
        /// no others.
        others: Option<Comparison>,
        /// Whether several culprits act only together: their sum alone is less than half.
        interact: bool,
        /// What remains unexplained of the change, in nanoseconds.
        rest_ns: i64,
    },
    /// The systems differ, but no culprit was confirmed.
    Unconfirmed {
        /// In a history: the step is among these.
        among: Vec<usize>,
    },
}

/// A search's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What was found.
    pub outcome: Outcome,
    /// The first system against the second.
    pub ends: Comparison,
    /// The smallest difference that matters, in nanoseconds.
    pub see_ns: i64,
    /// The boots of the first system, in nanoseconds.
    pub first: Vec<i64>,
    /// The boots of the second.
    pub second: Vec<i64>,
    /// How many boots there were.
    pub boots: usize,
    /// How many sets cannot be judged, and why the first of them could not.
    pub unbootable: (usize, Option<String>),
    /// All sets that were booted.
    pub samples: Vec<Sample>,
}
