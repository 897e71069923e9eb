//! The type of a file.

/// Type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileType {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// A block device.
    BlockDevice,
    /// A character device.
    CharacterDevice,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// None of these.
    Unknown,
}

impl FileType {
    /// That of a file's mode.
    #[must_use]
    pub fn of_mode(mode: u32) -> Self {
        match mode & 0o170_000 {
            0o040_000 => Self::Directory,
            0o100_000 => Self::File,
            0o120_000 => Self::Symlink,
            0o060_000 => Self::BlockDevice,
            0o020_000 => Self::CharacterDevice,
            0o010_000 => Self::Fifo,
            0o140_000 => Self::Socket,
            _ => Self::Unknown,
        }
    }

    /// That of a directory entry (`DT_`).
    #[must_use]
    pub fn of_dirent(value: u8) -> Self {
        Self::of_mode(u32::from(value) << 12)
    }

    /// Whether it has the numbers of a device.
    #[must_use]
    pub fn is_device(self) -> bool {
        matches!(self, Self::BlockDevice | Self::CharacterDevice)
    }
}
