//! Lines of a log between the answers of `systemd-analyze`: people post both in one text.

use crate::console::{Console, is_running_job};
use crate::kernel_log::{KernelLog, Outcome, Reader, is_logged};
use crate::source::Source as _;
use crate::text::Line;
use record::{ClockKind, Origin, Recorder, SourceId};

/// Whether a line is of a log: it begins with a time, or shows a job that systemd waits for.
pub(super) fn is_of_log(line: &[u8], text: &str) -> bool {
    is_logged(line) || is_running_job(text)
}

/// The log of a text, if one stands in it. It counts as a source of its own, so that all that
/// is known of logs holds for it.
#[derive(Debug)]
pub(super) struct Beside {
    name: String,
    log: Option<(SourceId, Reader)>,
    console: Option<SourceId>,
}

impl Beside {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            log: None,
            console: None,
        }
    }

    /// Takes a line of a log; whether it is one.
    pub(super) fn line(&mut self, line: Line<'_>, text: &str, recorder: &mut Recorder) -> bool {
        let name = &self.name;
        let offset = line.offset;
        if is_running_job(text) {
            let console = &mut self.console;
            let source = *console.get_or_insert_with(|| recorder.source(name, Console.name()));
            let clock = recorder.clock("serial", ClockKind::Wall, 1_000_000);
            // `systemctl list-jobs` has columns.
            let words: Vec<&str> = text.split_whitespace().collect();
            recorder.message(
                clock,
                None,
                None,
                &words.join(" "),
                Origin { source, offset },
            );
            recorder.took(source);
            return true;
        }
        if !is_logged(line.bytes) {
            return false;
        }
        let (source, reader) = self.log.get_or_insert_with(|| {
            let source = recorder.source(name, KernelLog.name());
            (source, Reader::new(source))
        });
        let source = *source;
        match reader.line(recorder, line.bytes, offset, None) {
            Outcome::Kernel { .. } => recorder.took(source),
            Outcome::Noted(kind) => recorder.skipped(Origin { source, offset }, kind),
            Outcome::Other => return false,
        }
        true
    }

    pub(super) fn finish(self, recorder: &mut Recorder) {
        if let Some((_, reader)) = self.log {
            reader.finish(recorder);
        }
    }
}
