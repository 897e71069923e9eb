//! Deflate streams without a header, into a buffer that is used again.

use flate2::{Decompress, FlushDecompress};

/// A decompressor and its output.
pub(crate) struct Inflater {
    deflate: Decompress,
    /// The output.
    pub out: Vec<u8>,
}

impl Default for Inflater {
    fn default() -> Self {
        Self {
            deflate: Decompress::new(false),
            out: Vec::new(),
        }
    }
}

impl Inflater {
    /// Makes room for `length` bytes of output, all zero.
    pub fn clear(&mut self, length: usize) {
        self.out.clear();
        self.out.resize(length, 0);
    }

    /// Decompresses `data` into the output; gives the number of bytes.
    pub fn inflate(&mut self, data: &[u8]) -> Option<usize> {
        self.deflate.reset(false);
        let finish = FlushDecompress::Finish;
        self.deflate.decompress(data, &mut self.out, finish).ok()?;
        usize::try_from(self.deflate.total_out()).ok()
    }
}
