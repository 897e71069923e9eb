//! What a prefetcher remembers of its earlier runs: it does not go on doing what
//! does not help.

use crate::bytes::crc32;
use std::fs;
use std::io;
use std::path::Path;

/// After so many runs in a row that did not help, it rests until the list changes.
pub const MOST_IDLE_RUNS: u32 = 3;

/// The first line of the file.
const KIND: &str = "firstlight-prefetch-memory 1";

/// How many runs with this list did not help, the last ones in a row.
#[must_use]
pub fn idle_runs(memory: &Path, list: &[u8]) -> u32 {
    let text = fs::read_to_string(memory).unwrap_or_default();
    let mut lines = text.lines();
    if lines.next() != Some(KIND) {
        return 0;
    }
    let (Some(crc), Some(runs)) = (lines.next(), lines.next()) else {
        return 0;
    };
    match crc == format!("list {:08x}", crc32(list)) {
        true => runs
            .strip_prefix("idle ")
            .and_then(|n| n.parse().ok())
            .unwrap_or(0),
        false => 0,
    }
}

/// Keeps the number. A system that is read-only forgets.
///
/// # Errors
/// If it cannot be written.
pub fn keep(memory: &Path, list: &[u8], idle_runs: u32) -> io::Result<()> {
    let text = format!("{KIND}\nlist {:08x}\nidle {idle_runs}\n", crc32(list));
    if fs::read_to_string(memory).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let beside = memory.with_extension("new");
    fs::write(&beside, text)?;
    fs::rename(&beside, memory)
}
