//! `proc_meminfo.log`: memory, from /proc/meminfo.

use super::log::{Found, Log};
use crate::text;
use record::{Recorder, SeriesId, Unit};

/// The lines that are read, and the series that they make.
const LINES: [(&str, &str); 6] = [
    ("MemFree", "memory.free"),
    ("MemAvailable", "memory.available"),
    ("Buffers", "memory.buffers"),
    ("Cached", "memory.cached"),
    ("SwapFree", "memory.swap_free"),
    ("Dirty", "memory.dirty"),
];

/// Bytes of a line such as `MemFree:  123 kB`, with its key.
pub(crate) fn line(line: &[u8]) -> Option<(&[u8], i64)> {
    let colon = memchr::memchr(b':', line)?;
    let (key, rest) = line.split_at(colon);
    let rest = text::without_indent(rest.get(1..)?);
    let (value, unit) = text::number(rest)?;
    let unit = match unit.trim_ascii() {
        b"kB" => 1_024,
        b"" => 1,
        _ => return None,
    };
    let value = i64::try_from(value).ok()?.checked_mul(unit)?;
    Some((key, value))
}

/// Records a series for each kind of memory, in bytes.
pub(super) fn read(log: &Log<'_>, recorder: &mut Recorder) {
    let mut series: [Option<SeriesId>; LINES.len()] = [None; LINES.len()];
    let mut total = None;
    log.each_sample(recorder, |block, recorder| {
        let mut found = Found::Nothing;
        for l in block.lines() {
            let Some((key, bytes)) = line(l.bytes.trim_ascii()) else {
                continue;
            };
            found = Found::Events;
            if key == b"MemTotal" {
                total = Some(bytes);
            }
            let known = LINES.iter().position(|(name, _)| name.as_bytes() == key);
            let Some(slot) = known.and_then(|at| Some((LINES.get(at)?, series.get_mut(at)?)))
            else {
                continue;
            };
            let ((_, name), id) = slot;
            let id = *id.get_or_insert_with(|| {
                let name = recorder.name(name);
                let origin = log.origin(l.offset);
                recorder.series(log.clock, (name, None), Unit::Bytes, origin)
            });
            recorder.sample(id, block.at, bytes);
        }
        found
    });
    if let Some(total) = total {
        log.fact("total_bytes", total, recorder);
    }
}
