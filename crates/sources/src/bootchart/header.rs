//! `header`: what was booted, as `key = value` lines.

use super::notes::BAD_PAIR;
use crate::text;
use record::{Origin, Recorder, SourceId};

/// Records what the header says. Units are lines; a value that goes on, as that
/// of `system.cpu` does for a second processor, goes on with a line without a
/// key.
pub(super) fn read(bytes: &[u8], source: SourceId, recorder: &mut Recorder) {
    let mut open: Option<(String, String, Origin)> = None;
    for line in text::lines(bytes) {
        let origin = line.origin(source);
        let words = text::lossy(line.bytes);
        let words = words.trim();
        if let Some((key, value)) = key_and_value(words) {
            record(open.take(), recorder);
            open = Some((key.to_owned(), value.to_owned(), origin));
        } else if let Some((_, value, _)) = &mut open {
            if !words.is_empty() {
                value.push_str("; ");
                value.push_str(words);
            }
        } else {
            recorder.skipped(origin, &BAD_PAIR);
            continue;
        }
        recorder.took(source);
    }
    record(open, recorder);
}

/// `system.cpu = ...`. The values hold `=` too, so the key must look like one.
pub(super) fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once('=')?;
    let key = key.trim_end();
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (!key.is_empty() && key.bytes().all(plain)).then_some((key, value.trim()))
}

fn record(entry: Option<(String, String, Origin)>, recorder: &mut Recorder) {
    let Some((key, value, origin)) = entry else {
        return;
    };
    recorder.fact(&format!("bootchart.{key}"), &value, origin);
    let shared = match key.as_str() {
        "system.uname" => "kernel.version",
        "system.kernel.options" => "kernel.cmdline",
        "system.cpu" => "machine",
        _ => return,
    };
    let value = match key.as_str() {
        // `model name : Intel(R) ... (2)`, as /proc/cpuinfo has it; the first.
        "system.cpu" => {
            let first = value.split("; ").next().unwrap_or(&value);
            first.split_once(':').map_or(first, |(_, v)| v).trim()
        }
        "system.uname" => value.strip_prefix("Linux ").unwrap_or(&value),
        _ => &value,
    };
    recorder.fact(shared, value, origin);
}
