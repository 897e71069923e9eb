//! From ranges to requests.

/// Pieces (offset, length) with the holes between them that are no longer than
/// `gap` filled in. The pieces are in order and do not overlap.
#[must_use]
pub fn infilled(pieces: &[(u64, u64)], gap: u64) -> Vec<(u64, u64)> {
    let mut wide: Vec<(u64, u64)> = Vec::new();
    for &(offset, length) in pieces {
        match wide.last_mut() {
            Some((at, before)) if offset.saturating_sub(at.saturating_add(*before)) <= gap => {
                *before = offset.saturating_add(length).saturating_sub(*at);
            }
            _ => wide.push((offset, length)),
        }
    }
    wide
}
