//! Byte order, and reading fields one after another.

use std::fmt;

/// The byte order of an image: that of the machine it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// Both orders, the common one first.
    pub const BOTH: [Self; 2] = [Self::Little, Self::Big];

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Little => Self::Big,
            Self::Big => Self::Little,
        }
    }

    /// The bytes of `value` as they stand on flash.
    #[must_use]
    pub fn put16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    /// The bytes of `value` as they stand on flash.
    #[must_use]
    pub fn put32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }
}

impl fmt::Display for Endian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Little => "little",
            Self::Big => "big",
        })
    }
}

/// Takes fields off the front of some bytes. `None` where they end.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    endian: Endian,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Fields in that order, from the front of `bytes` on.
    #[must_use]
    pub fn new(endian: Endian, bytes: &'a [u8]) -> Self {
        Self {
            endian,
            rest: bytes,
        }
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }

    /// The next byte.
    pub fn u8(&mut self) -> Option<u8> {
        Some(self.array::<1>()?[0])
    }

    /// The next two bytes as a number.
    pub fn u16(&mut self) -> Option<u16> {
        let bytes = self.array()?;
        Some(match self.endian {
            Endian::Little => u16::from_le_bytes(bytes),
            Endian::Big => u16::from_be_bytes(bytes),
        })
    }

    /// The next four bytes as a number.
    pub fn u32(&mut self) -> Option<u32> {
        let bytes = self.array()?;
        Some(match self.endian {
            Endian::Little => u32::from_le_bytes(bytes),
            Endian::Big => u32::from_be_bytes(bytes),
        })
    }

    /// The next eight bytes as a number.
    pub fn u64(&mut self) -> Option<u64> {
        let bytes = self.array()?;
        Some(match self.endian {
            Endian::Little => u64::from_le_bytes(bytes),
            Endian::Big => u64::from_be_bytes(bytes),
        })
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }

    /// What is left.
    #[must_use]
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }
}
