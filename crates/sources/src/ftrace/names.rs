//! Names, with a bound on how many.

use super::notes::TOO_MANY_NAMES;
use hashbrown::HashMap;
use record::{NameId, Origin, Recorder};

/// How many different names a trace may bring: a kernel has some 200,000
/// functions, and the busiest boot some ten thousand processes.
const MOST: usize = 400_000;

/// How much text they may have together.
const MOST_BYTES: usize = 24 << 20;

/// What stands for all further ones.
const OTHER: &str = "(other)";

/// The names that a trace brought so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: HashMap<Box<[u8]>, NameId>,
    bytes: usize,
}

impl Names {
    /// The id of a name.
    pub(super) fn get(&mut self, name: &[u8], origin: Origin, recorder: &mut Recorder) -> NameId {
        if let Some(&known) = self.known.get(name) {
            return known;
        }
        if self.known.len() >= MOST || self.bytes.saturating_add(name.len()) > MOST_BYTES {
            recorder.note(origin, &TOO_MANY_NAMES, String::new);
            return recorder.name(OTHER);
        }
        self.bytes += name.len();
        let id = recorder.name_lossy(name);
        self.known.insert(name.into(), id);
        id
    }
}
