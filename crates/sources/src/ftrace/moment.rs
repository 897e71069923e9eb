//! What all events have.

use record::Origin;

/// What every event says, besides its own fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment<'a> {
    /// When, in nanoseconds on the trace's clock.
    pub at: i64,
    /// On which processor.
    pub cpu: u32,
    /// Which task ran.
    pub pid: u32,
    /// Its name, where the trace says it.
    pub comm: Option<&'a [u8]>,
    /// Where the event stands.
    pub origin: Origin,
}
