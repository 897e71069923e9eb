//! Small work on bytes, small in code too: the agent has little room.

/// Where `needle` first begins in `haystack`.
#[must_use]
pub fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let (first, _) = needle.split_first()?;
    let mut from = 0;
    loop {
        let rest = haystack.get(from..)?;
        let at = from + rest.iter().position(|b| b == first)?;
        if haystack.get(at..)?.starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// The CRC-32 of Ethernet and zlib, in pieces. Half a byte at a time, by a table
/// of 64 bytes: faster ones take 20 KB.
#[derive(Clone, Copy, Debug)]
pub struct Crc32(u32);

/// What half a byte does to the CRC; the polynomial is 0x04c11db7, reflected.
const HALF_BYTES: [u32; 16] = {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 4 {
            crc = crc >> 1 ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1));
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

impl Default for Crc32 {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

impl Crc32 {
    /// Takes more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let half = |crc: u32| crc >> 4 ^ HALF_BYTES[(crc & 15) as usize];
        for byte in bytes {
            self.0 = half(half(self.0 ^ u32::from(*byte)));
        }
    }

    /// The CRC of all bytes so far.
    #[must_use]
    pub const fn value(self) -> u32 {
        !self.0
    }
}

/// The CRC-32 of `bytes`.
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc32::default();
    crc.update(bytes);
    crc.value()
}

#[cfg(test)]
mod tests {
    use super::{crc32, find};

    #[test]
    fn the_crc_is_the_usual_one() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn the_first_place_is_found() {
        assert_eq!(find(b"aabaab", b"ab"), Some(1));
        assert_eq!(find(b"aab", b"aab"), Some(0));
        assert_eq!(find(b"aab", b"aabb"), None);
        assert_eq!(find(b"aab", b"x"), None);
        assert_eq!(find(b"", b"x"), None);
        assert_eq!(find(b"x", b""), None);
    }
}
