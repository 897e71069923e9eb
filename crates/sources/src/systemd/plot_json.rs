//! `systemd-analyze plot --json=short` (or `pretty`): an array of objects, one a unit, with
//! times in microseconds since the start of the kernel's monotonic clock. systemd 254 and
//! later; `produce_plot_as_text()` in its `analyze-plot.c`.
//!
//! Units of the ledger are objects.

use super::clocks::MONOTONIC;
use super::notes::MALFORMED_JSON;
use super::unit::{self, NEVER_ACTIVE, Times};
use crate::source::{Input, Sniff, Source};
use memchr::memmem;
use record::{ClockKind, Origin, Recorder};
use serde::Deserialize;

/// The reader of such arrays.
#[derive(Debug)]
pub struct PlotJson;

#[derive(Deserialize)]
struct Row {
    name: String,
    #[serde(default)]
    activating: Option<u64>,
    #[serde(default)]
    activated: Option<u64>,
    #[serde(default)]
    deactivated: Option<u64>,
}

impl Source for PlotJson {
    fn name(&self) -> &'static str {
        "systemd-plot-json"
    }

    fn description(&self) -> &'static str {
        "units with their times: `systemd-analyze plot --json=short`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let has = |key: &[u8]| memmem::find(head, key).is_some();
        let is_array = head.trim_ascii_start().starts_with(b"[");
        match is_array && has(b"\"activating\"") && has(b"\"activated\"") && has(b"\"name\"") {
            true => Sniff::Yes,
            false => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let clock = recorder.clock(MONOTONIC, ClockKind::Monotonic, 1_000);
        let start = Origin { source, offset: 0 };
        let Ok(rows) = serde_json::from_slice::<Vec<serde_json::Value>>(input.bytes) else {
            recorder.skipped(start, &MALFORMED_JSON);
            return;
        };
        let mut from = 0;
        for row in rows {
            let Ok(row) = serde_json::from_value::<Row>(row) else {
                recorder.skipped(start, &MALFORMED_JSON);
                continue;
            };
            // Objects stand in their order, so each name is behind the one before it.
            let rest = input.bytes.get(from..).unwrap_or_default();
            let at = memmem::find(rest, row.name.as_bytes()).map_or(from, |at| from + at);
            let origin = Origin {
                source,
                offset: at as u64,
            };
            from = at;
            let ns = |us: Option<u64>| {
                let us = us.filter(|us| *us > 0)?;
                i64::try_from(us).ok()?.checked_mul(1_000)
            };
            let times = Times {
                activating: ns(row.activating),
                activated: ns(row.activated),
                deactivated: ns(row.deactivated),
            };
            let span = match unit::is_name(&row.name) {
                true => times.span(&row.name, clock, origin, recorder),
                false => None,
            };
            match span {
                Some(span) => {
                    recorder.span(span);
                    recorder.took(source);
                }
                None => recorder.skipped(origin, &NEVER_ACTIVE),
            }
        }
    }
}
