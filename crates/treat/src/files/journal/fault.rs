//! Where a test stops the journal.

use std::io;

/// Told before each step that changes something; an error stops there, as a
/// crash would. For tests of what a crash leaves.
pub type Fault<'f> = &'f mut dyn FnMut(&str) -> io::Result<()>;
