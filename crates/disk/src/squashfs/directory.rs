//! Names in the directory table.

use rawimage::bytes::{le16, le32};

/// Calls `each` with the inode's number and the name of every entry. `false`
/// if the directory is damaged from some entry on.
pub(super) fn entries(mut rest: &[u8], each: &mut dyn FnMut(u32, &[u8])) -> bool {
    while !rest.is_empty() {
        let (Some(count), Some(base)) = (le32(rest, 0), le32(rest, 8)) else {
            return false;
        };
        // One less is stored; a header has at most 256 entries.
        if count > 255 {
            return false;
        }
        rest = rest.get(12..).unwrap_or_default();
        for _ in 0..=count {
            let delta = le16(rest, 2);
            let length = le16(rest, 6).map(|l| usize::from(l) + 1);
            let (Some(delta), Some(length)) = (delta, length) else {
                return false;
            };
            let Some(name) = rest.get(8..8 + length) else {
                return false;
            };
            // The difference has a sign.
            let delta = i32::from(i16::from_le_bytes(delta.to_le_bytes()));
            each(base.wrapping_add_signed(delta), name);
            rest = rest.get(8 + length..).unwrap_or_default();
        }
    }
    true
}
