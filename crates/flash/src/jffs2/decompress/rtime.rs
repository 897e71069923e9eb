//! `rtime`: each byte is followed by how many bytes to repeat of what came
//! after the last occurrence of that byte.

/// Fills all of `out`; `None` if the data does not allow it.
pub(super) fn decompress(data: &[u8], out: &mut [u8]) -> Option<()> {
    let mut after = [0_usize; 256];
    let mut pairs = data.chunks_exact(2);
    let mut at = 0;
    while at < out.len() {
        let pair = pairs.next()?;
        let (byte, repeat) = (pair[0], usize::from(pair[1]));
        *out.get_mut(at)? = byte;
        at += 1;
        let from = std::mem::replace(&mut after[usize::from(byte)], at);
        if at + repeat > out.len() {
            return None;
        }
        // Source and target may overlap: what is copied may be copied again.
        for i in 0..repeat {
            out[at + i] = out[from + i];
        }
        at += repeat;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_repeat_what_followed_them() {
        let mut out = [0; 9];
        let data = [b'a', 0, b'b', 0, b'c', 0, b'a', 5];
        assert!(decompress(&data, &mut out).is_some());
        assert_eq!(&out, b"abcabcabc");
        assert!(decompress(&data[..6], &mut out).is_none());
        assert!(decompress(&[b'a', 9], &mut out).is_none());
    }
}
