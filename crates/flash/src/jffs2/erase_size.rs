//! An erase size, and the evidence for it.

/// What shows the erase size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// So many summaries end where a block of that size ends.
    Summaries(u64),
    /// So many clean markers lie at multiples of it.
    Cleanmarkers(u64),
    /// No node lies across so many multiples of it, and nodes do lie across
    /// multiples of its half.
    Boundaries(u64),
}

/// An erase size, and why it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EraseSize {
    /// Bytes.
    pub bytes: u32,
    /// What shows it.
    pub evidence: Evidence,
}
