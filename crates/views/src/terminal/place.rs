//! Where evidence stands.

use super::layout::fit_end;
use analysis::Place;

/// How much of an input's name is shown.
const NAME: usize = 40;

/// The input and the byte in it: `kmsg, byte 8399`. The end of a long path says
/// more than its beginning.
pub(super) fn place(p: &Place) -> String {
    format!("{}, byte {}", fit_end(&p.source, NAME), p.offset)
}
