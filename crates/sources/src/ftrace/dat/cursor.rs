//! Reading numbers and texts in the file's own byte order, one after the other.

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

impl Order {
    /// A number of 2 bytes at `at`.
    #[inline]
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        })
    }

    /// A number of 4 bytes at `at`.
    #[inline]
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        })
    }

    /// A number of 8 bytes at `at`.
    #[inline]
    pub(super) fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        })
    }

    /// A number of `size` bytes (1, 2, 4 or 8) at `at`, without a sign.
    #[inline]
    pub(super) fn number(self, bytes: &[u8], at: usize, size: usize) -> Option<u64> {
        match size {
            1 => bytes.get(at).map(|&b| b.into()),
            2 => self.u16(bytes, at).map(Into::into),
            4 => self.u32(bytes, at).map(Into::into),
            8 => self.u64(bytes, at),
            _ => None,
        }
    }
}

/// Why a file could not be read on: where, and what should stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    /// The byte in the file.
    pub at: u64,
    /// What was expected.
    pub expected: &'static str,
}

/// A place in some bytes of a file.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where `bytes` begin in the file. Of decompressed bytes it is where the
    /// compressed ones begin, and all of them count as there.
    base: u64,
    packed: bool,
    order: Order,
}

impl<'a> Cursor<'a> {
    /// At `at` in a whole file.
    pub(super) fn new(bytes: &'a [u8], at: usize, order: Order) -> Self {
        Self {
            bytes,
            at,
            base: 0,
            packed: false,
            order,
        }
    }

    /// At the start of bytes that stand in the file at `base`, compressed or not.
    pub(super) fn inside(bytes: &'a [u8], base: u64, packed: bool, order: Order) -> Self {
        Self {
            bytes,
            at: 0,
            base,
            packed,
            order,
        }
    }

    /// The byte order from now on.
    pub(super) fn set_order(&mut self, order: Order) {
        self.order = order;
    }

    /// Where it is in the file.
    pub(super) fn place(&self) -> u64 {
        match self.packed {
            true => self.base,
            false => self.base.saturating_add(self.at as u64),
        }
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Damage here.
    pub(super) fn damage(&self, expected: &'static str) -> Damage {
        let at = self.place();
        Damage { at, expected }
    }

    /// The next `length` bytes.
    pub(super) fn take(&mut self, length: u64, what: &'static str) -> Result<&'a [u8], Damage> {
        let length = usize::try_from(length).map_err(|_| self.damage(what))?;
        let bytes = self.rest().get(..length);
        let bytes = bytes.ok_or_else(|| self.damage(what))?;
        self.at += length;
        Ok(bytes)
    }

    /// Exactly these bytes.
    pub(super) fn expect(&mut self, wanted: &[u8], what: &'static str) -> Result<(), Damage> {
        let here = self.damage(what);
        let found = self.take(wanted.len() as u64, what)?;
        if found == wanted { Ok(()) } else { Err(here) }
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8, Damage> {
        let bytes = self.take(1, what)?;
        Ok(bytes.first().copied().unwrap_or_default())
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, Damage> {
        let (here, order) = (self.damage(what), self.order);
        order.u16(self.take(2, what)?, 0).ok_or(here)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, Damage> {
        let (here, order) = (self.damage(what), self.order);
        order.u32(self.take(4, what)?, 0).ok_or(here)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, Damage> {
        let (here, order) = (self.damage(what), self.order);
        order.u64(self.take(8, what)?, 0).ok_or(here)
    }

    /// The bytes up to the next NUL, which is taken too.
    pub(super) fn text(&mut self, what: &'static str) -> Result<&'a [u8], Damage> {
        let end = memchr::memchr(0, self.rest()).ok_or_else(|| self.damage(what))?;
        let text = self.take(end as u64, what)?;
        self.at += 1;
        Ok(text)
    }
}
