//! How a filesystem was left.

/// Whether a mount has something to do before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountState {
    /// It was left as it should be, or cannot be written.
    Clean,
    /// Its journal or log is replayed.
    Replay,
}

impl MountState {
    /// One word, for programs; it stays the same.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Replay => "replay",
        }
    }

    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Replay => "replay due",
        }
    }
}
