//! How files lie.

use agent::extents::Extent;

/// How files lie, in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How often what comes next does not follow what came last.
    pub discontinuities: u64,
    /// The sum of the jumps, in bytes.
    pub distance: u64,
}

/// How files lie, read one after the other: the extents of all of them.
pub(super) fn layout<'a>(extents: impl IntoIterator<Item = &'a Extent>) -> Layout {
    let mut layout = Layout {
        discontinuities: 0,
        distance: 0,
    };
    let mut end: Option<u64> = None;
    for extent in extents {
        if let Some(end) = end.filter(|e| *e != extent.physical) {
            layout.discontinuities += 1;
            layout.distance = layout
                .distance
                .saturating_add(end.abs_diff(extent.physical));
        }
        end = Some(extent.physical.saturating_add(extent.bytes));
    }
    layout
}
