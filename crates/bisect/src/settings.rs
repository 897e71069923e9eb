//! How a search goes.

/// How a search goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How many boots both ends get at first; at least 2.
    pub first: usize,
    /// How many boots a set gets at most.
    pub most: usize,
    /// The smallest difference that matters. Smaller ones are "no difference".
    pub see: See,
    /// The accepted probability of a wrong answer.
    pub error: f64,
}

/// The smallest difference that matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum See {
    /// In nanoseconds.
    Ns(i64),
    /// As a part of the first system's time, such as 0.005.
    Part(f64),
}
