//! From ranges to requests.

/// Pieces (offset, length) with the holes between them that are no longer than
/// `gap` filled in, if `may` says so of where a hole begins and ends. The pieces are
/// in order and do not overlap.
#[must_use]
pub fn infilled(
    pieces: &[(u64, u64)],
    gap: u64,
    may: &dyn Fn(u64, u64) -> bool,
) -> Vec<(u64, u64)> {
    let mut wide: Vec<(u64, u64)> = Vec::new();
    for &(offset, length) in pieces {
        match wide.last_mut() {
            Some((at, before))
                if offset.saturating_sub(at.saturating_add(*before)) <= gap
                    && (offset <= at.saturating_add(*before)
                        || may(at.saturating_add(*before), offset)) =>
            {
                *before = offset.saturating_add(length).saturating_sub(*at);
            }
            _ => wide.push((offset, length)),
        }
    }
    wide
}
