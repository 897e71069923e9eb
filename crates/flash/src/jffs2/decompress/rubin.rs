//! `rubinmips` and `dynrubin`: a binary arithmetic coder with 16-bit registers,
//! the bits of each byte coded from the lowest to the highest with a fixed
//! probability each.

/// The highest bit of a register.
const TOP: u64 = 1 << 15;

/// The chance of a one, of [`MIPS_SCALE`], for bits 0 to 7 of a byte of MIPS
/// machine code.
const MIPS: [u64; 8] = [277, 249, 290, 267, 229, 341, 212, 241];
const MIPS_SCALE: u64 = 1043;

/// With the fixed table for MIPS code.
pub(super) fn mips(data: &[u8], out: &mut [u8]) -> Option<()> {
    decompress(data, MIPS, MIPS_SCALE, out)
}

/// With a table, of 256, in the first eight bytes.
pub(super) fn dynamic(data: &[u8], out: &mut [u8]) -> Option<()> {
    let (table, data) = data.split_first_chunk::<8>()?;
    decompress(data, table.map(u64::from), 256, out)
}

fn decompress(data: &[u8], ones: [u64; 8], scale: u64, out: &mut [u8]) -> Option<()> {
    let mut decoder = Decoder::new(data)?;
    for byte in out {
        for (bit, one) in ones.into_iter().enumerate() {
            *byte |= u8::from(decoder.bit(scale.checked_sub(one)?, scale)?) << bit;
        }
    }
    Some(())
}

/// The interval `low .. low + width`, and where in it the code is.
struct Decoder<'a> {
    data: &'a [u8],
    next: usize,
    low: u64,
    width: u64,
    code: u64,
}

impl<'a> Decoder<'a> {
    fn new(data: &'a [u8]) -> Option<Self> {
        let mut decoder = Self {
            data,
            next: 0,
            low: 0,
            width: 2 * TOP,
            code: 0,
        };
        for _ in 0..16 {
            decoder.code = decoder.code * 2 + decoder.pull()?;
        }
        Some(decoder)
    }

    /// The next bit of the input, highest first; zeros follow on the end, but
    /// only as many as an encoder can leave out.
    fn pull(&mut self) -> Option<u64> {
        let at = self.next;
        self.next += 1;
        match self.data.get(at / 8) {
            Some(byte) => Some(u64::from(byte >> (7 - at % 8) & 1)),
            None => (at < self.data.len() * 8 + 32).then_some(0),
        }
    }

    /// The next bit of the output; `zeros` of `scale` is the chance of a zero.
    fn bit(&mut self, zeros: u64, scale: u64) -> Option<bool> {
        while self.low >= TOP || self.low + self.width <= TOP {
            self.low = (self.low & (TOP - 1)) << 1;
            self.code = ((self.code & (TOP - 1)) << 1) + self.pull()?;
            self.width = self.width.checked_mul(2)?;
        }
        let zero = (zeros.checked_mul(self.width)? / scale).max(1);
        let zero = zero.min(self.width.checked_sub(1)?);
        let middle = self.low + zero;
        let one = self.code >= middle;
        if one {
            self.low = middle;
            self.width -= zero;
        } else {
            self.width = zero;
        }
        Some(one)
    }
}
