//! What was seen of a boot, and how it ended.

/// An instant, and by how much it may be late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// In nanoseconds.
    pub at_ns: u64,
    /// The true instant may be earlier by this much, in nanoseconds.
    pub error_ns: u64,
}

/// How a boot ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// First light came.
    Light,
    /// It did not come in time.
    Hang,
    /// The console was silent for too long.
    Silent,
    /// The kernel panicked: the text that matched.
    Panic(String),
    /// The board was reset again and again.
    Loop,
    /// The console went away: why.
    Closed(String),
    /// The console wrote more than a boot does.
    Full,
    /// The user wants to end.
    Stopped,
}
