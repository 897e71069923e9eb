//! What an image says of a file, beside its content.

use rawimage::FileType;

/// Metadata of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The inode's number.
    pub ino: u32,
    /// File type.
    pub file_type: FileType,
    /// File type and permissions.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Length in bytes.
    pub size: u64,
    /// Last access, seconds since 1970.
    pub atime: i64,
    /// Last change of the content, seconds since 1970.
    pub mtime: i64,
    /// Last change of the metadata, seconds since 1970.
    pub ctime: i64,
    /// Names that lead to it.
    pub links: u32,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name: any bytes.
    pub name: Vec<u8>,
    /// What it leads to.
    pub ino: u32,
    /// Type that the name says it is.
    pub file_type: FileType,
}

/// Numbers of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

impl Device {
    /// Reads the 16 bits of old programs.
    #[must_use]
    pub fn of_old(number: u16) -> Self {
        Self {
            major: u32::from(number >> 8),
            minor: u32::from(number & 0xff),
        }
    }

    /// Reads the 32 bits that the kernel writes (`new_encode_dev`).
    #[must_use]
    pub fn of_new(number: u32) -> Self {
        Self {
            major: (number >> 8) & 0xfff,
            minor: (number & 0xff) | ((number >> 12) & 0xf_ff00),
        }
    }
}

/// An extended attribute of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The whole name: `user.comment`.
    pub name: Vec<u8>,
    /// The value.
    pub value: Vec<u8>,
}
