//! What is known of a filesystem before anything in it is read.

/// Whether a filesystem was left as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Unmounted properly, or never written.
    Clean,
    /// Its journal has to be replayed before it is what it should be.
    NeedsRecovery,
    /// It was mounted and not unmounted, and has no journal to replay.
    NotClean,
    /// The kernel found damage in it.
    Errors,
    /// It cannot be written, so there is nothing to be left in disorder.
    ReadOnly,
}

impl State {
    /// One word, for programs; it stays the same.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::NeedsRecovery => "needs_recovery",
            Self::NotClean => "not_clean",
            Self::Errors => "errors",
            Self::ReadOnly => "read_only",
        }
    }

    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::NeedsRecovery => "its journal must be replayed",
            Self::NotClean => "not cleanly unmounted",
            Self::Errors => "the kernel found errors",
            Self::ReadOnly => "read-only by design",
        }
    }
}

/// A filesystem in a few figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Which: `ext4`, `squashfs`, `erofs`, `FAT32`.
    pub filesystem: &'static str,
    /// Its length, bytes.
    pub bytes: u64,
    /// The size of a block, bytes.
    pub block_size: u32,
    /// How many blocks.
    pub blocks: u64,
    /// How many blocks are free; `None` where none can be, or nothing says it.
    pub free_blocks: Option<u64>,
    /// How many inodes there are or can be; 0 where files have none.
    pub inodes: u64,
    /// How many inodes are free; `None` where none can be.
    pub free_inodes: Option<u64>,
    /// Its label; empty if it has none.
    pub label: String,
    /// Its UUID, as text; `None` if it has none.
    pub uuid: Option<String>,
    /// What it uses, by the names that the filesystem's own tools give.
    pub features: Vec<String>,
    /// How data is compressed; `None` if not at all.
    pub compression: Option<String>,
    /// How it was left.
    pub state: State,
    /// When it was made, seconds since 1970; 0 if that is not said.
    pub made: u64,
    /// When it was mounted last, seconds since 1970; `None` if never or not said.
    pub mounted: Option<u64>,
    /// When it was written last, seconds since 1970; `None` if not said.
    pub written: Option<u64>,
    /// How often it was mounted since it was checked; `None` if not said.
    pub mounts: Option<u32>,
    /// Where it was mounted last; empty if that is not said.
    pub mounted_on: String,
    /// How many bytes were written to it since it was made, as it counts itself; `None` if it
    /// does not.
    pub lifetime_written: Option<u64>,
}

impl Facts {
    /// A filesystem of that size, of which nothing else is known or said.
    pub(super) const fn bare(
        filesystem: &'static str,
        bytes: u64,
        block_size: u32,
        state: State,
    ) -> Self {
        Self {
            filesystem,
            bytes,
            block_size,
            blocks: 0,
            free_blocks: None,
            inodes: 0,
            free_inodes: None,
            label: String::new(),
            uuid: None,
            features: Vec::new(),
            compression: None,
            state,
            made: 0,
            mounted: None,
            written: None,
            mounts: None,
            mounted_on: String::new(),
            lifetime_written: None,
        }
    }

    /// Whether it is a FAT, of which no root is made: it knows no owners and no links.
    #[must_use]
    pub fn is_fat(&self) -> bool {
        self.filesystem.starts_with("FAT")
    }
}

/// Sixteen bytes in the usual form; `None` if all are zero.
pub(super) fn uuid(bytes: &[u8]) -> Option<String> {
    if bytes.len() != 16 || bytes.iter().all(|b| *b == 0) {
        return None;
    }
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    Some(text)
}
