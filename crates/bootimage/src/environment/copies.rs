//! One environment: its one or two copies, and which of them is active.

use super::data::Data;
use rawimage::Endian;
use std::fmt;

/// What stands before the variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// A checksum.
    Plain,
    /// A checksum, and this byte of flags.
    Flags(u8),
}

impl Header {
    /// The flags.
    #[must_use]
    pub const fn flags(self) -> Option<u8> {
        match self {
            Self::Plain => None,
            Self::Flags(flags) => Some(flags),
        }
    }
}

/// How flags say which of two copies is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// 1 is active, 0 is obsolete: for NOR flash, where a bit can be cleared
    /// alone.
    Boolean,
    /// A number that grows with each write, and begins again behind 255; the
    /// higher is active. For everything else.
    Serial,
}

impl Scheme {
    /// The word used on the command line and in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Serial => "serial",
        }
    }

    /// Which of two whole copies is active: 0 or 1.
    #[must_use]
    pub fn active(self, flags: [u8; 2]) -> usize {
        let [first, second] = flags;
        match self {
            // U-Boot's `env/flash.c`.
            Self::Boolean => match (first, second) {
                (1, 0) => 0,
                (0, 1) => 1,
                _ if first == second => 0,
                (0xff, _) => 0,
                (_, 0xff) => 1,
                _ => usize::from(second > first),
            },
            // U-Boot's `env/common.c`.
            Self::Serial => match (first, second) {
                (255, 0) => 1,
                (0, 255) => 0,
                _ => usize::from(second > first),
            },
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One copy of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Where its header begins, bytes from the start of the image.
    pub offset: u64,
    /// How many bytes it takes, with its header.
    pub size: u64,
    /// What stands before the variables.
    pub header: Header,
    /// The byte order of its checksum; `None` if the checksum is wrong.
    pub endian: Option<Endian>,
    /// Its checksum, as stored.
    pub crc: u32,
    /// Its variables; `None` if the checksum is wrong.
    pub data: Option<Data>,
}

impl Copy {
    /// Whether the checksum is right.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.data.is_some()
    }
}

/// An environment, as one or two copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The copies, in the order of their places.
    pub copies: Vec<Copy>,
    /// Which of them U-Boot takes.
    pub active: usize,
    /// How the flags are read, where there are any.
    pub scheme: Option<Scheme>,
    /// Whether the flags could be read the other way, and then mean another
    /// thing for the next write.
    pub scheme_is_a_guess: bool,
}

impl Environment {
    /// The copy that U-Boot takes.
    #[must_use]
    pub fn active(&self) -> Option<&Copy> {
        self.copies.get(self.active)
    }

    /// The variables that U-Boot takes.
    #[must_use]
    pub fn data(&self) -> Option<&Data> {
        self.active()?.data.as_ref()
    }
}
