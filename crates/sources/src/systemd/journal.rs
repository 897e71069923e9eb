//! systemd's own words in the journal: `journalctl -o json` (or `json-pretty`,
//! `json-sse`, `json-seq`, `export`), with or without `_PID=1`.
//!
//! It has what no other answer of systemd has: the units of an initramfs, and of
//! boots that are over (`journalctl -b -1 -o json`). Units of the ledger are
//! lines; those that are no news of a unit are read as a kernel log is.

use super::clocks::MONOTONIC;
use super::notes::BLANK_LINE;
use super::startup::{Boundaries, parse_time_line};
use super::unit;
use crate::journal_forms::{Form, Piece, pieces};
use crate::kernel_log::{Outcome, Reader as KernelReader};
use crate::source::{Input, Sniff, Source};
use memchr::memmem;
use record::{
    ClockId, ClockKind, Doubt, Nanos, NoteKind, Origin, Recorder, Severity, SourceId, SpanKind,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Message ids of systemd's catalogue, `systemd/sd-messages.h`.
const STARTING: &str = "7d4958e842da4a758f6c1cdc7b36dcc5";
const STARTED: &str = "39f53479d3a045ac8e11786248231fbf";
const FAILED: &str = "be02cf6855d2428ba40df7e9d022f03d";
const STARTUP_FINISHED: &str = "b07a249cd024414a82dd00cd181378ff";

/// The last unit of an initramfs: it hands over to the root filesystem.
const SWITCH_ROOT: &str = "initrd-switch-root.service";

/// What tells a unit of the initramfs from the one of the same name that runs
/// from the root filesystem.
const IN_INITRD: &str = " (initrd)";

/// A record that the journal got later than this after it was sent has a clock
/// that was set in between.
const LONGEST_WAY_NS: i64 = 60_000_000_000;

/// Longer lines hold no news of a unit.
const LONGEST_LINE: usize = 64 << 10;

/// The journal, with systemd's news of units.
///
/// A unit's span runs from "Starting" to "Started", as the manager stamped its
/// words, on the clock `monotonic`; a unit of the initramfs has ` (initrd)` behind
/// its name. `Startup finished` gives the phases.
#[derive(Debug)]
pub struct Journal;

const OTHER_BOOT: NoteKind = NoteKind {
    name: "other_boot",
    severity: Severity::DataLoss,
    advice: "The journal contains other boots. Only the first boot was read. Export one boot with \
        `journalctl -b`.",
};

const NO_RECORD: NoteKind = NoteKind {
    name: "line_without_record",
    severity: Severity::DataLoss,
    advice: "These lines are truncated or not journal records. Export the journal again with \
        `journalctl -b -o json`.",
};

const STARTED_ONLY: NoteKind = NoteKind {
    name: "unit_started_only",
    severity: Severity::Info,
    advice: "The journal records that these units started, but not when they began to start. \
        Targets and devices start instantly. Other units began before the journal was running.",
};

/// The fields that matter here (systemd.journal-fields). Numbers are strings.
#[derive(Deserialize)]
struct Fields {
    #[serde(rename = "MESSAGE_ID", default)]
    message_id: Value,
    #[serde(rename = "UNIT", default)]
    unit: Value,
    #[serde(rename = "_PID", default)]
    pid: Value,
    #[serde(rename = "_TRANSPORT", default)]
    transport: Value,
    #[serde(rename = "MESSAGE", default)]
    message: Value,
    #[serde(rename = "PRIORITY", default)]
    priority: Value,
    #[serde(rename = "SYSLOG_IDENTIFIER", default)]
    identifier: Value,
    #[serde(rename = "_BOOT_ID", default)]
    boot: Value,
    #[serde(rename = "__MONOTONIC_TIMESTAMP", default)]
    monotonic: Value,
    #[serde(rename = "__REALTIME_TIMESTAMP", default)]
    realtime: Value,
    #[serde(rename = "_SOURCE_REALTIME_TIMESTAMP", default)]
    sent: Value,
    #[serde(rename = "KERNEL_USEC", default)]
    kernel: Value,
    #[serde(rename = "INITRD_USEC", default)]
    initrd: Value,
    #[serde(rename = "USERSPACE_USEC", default)]
    userspace: Value,
}

impl Source for Journal {
    fn name(&self) -> &'static str {
        "systemd-journal"
    }

    fn description(&self) -> &'static str {
        "systemd journal of one boot: `journalctl -b -o json`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let has = |id: &str| memmem::find(head, id.as_bytes()).is_some();
        let is_json = head.starts_with(b"{") && has("\"__CURSOR\"");
        let is_journal = is_json || Form::of(head).is_some();
        if is_journal && (has(STARTING) || has(STARTED)) {
            Sniff::Yes
        } else {
            Sniff::No
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let mut reader = Reader {
            source,
            clock: recorder.clock(MONOTONIC, ClockKind::Monotonic, 1_000),
            boot: None,
            root_from: switch_root(input.bytes),
            open: BTreeMap::new(),
            kernel: KernelReader::new(source),
        };
        for piece in pieces(input.bytes) {
            reader.piece(&piece, recorder);
        }
        reader.finish(recorder);
    }
}

/// Where the initramfs hands over: the byte of the line that says so. Zero where
/// the journal has no initramfs.
fn switch_root(journal: &[u8]) -> u64 {
    let news = pieces(journal).filter(|p| memmem::find(&p.bytes, SWITCH_ROOT.as_bytes()).is_some());
    let news = news.filter_map(|p| Some((p.offset, fields(&p.bytes)?)));
    let mut starting = news.filter(|(_, f)| {
        f.unit.as_str() == Some(SWITCH_ROOT) && f.message_id.as_str() == Some(STARTING)
    });
    starting.next().map_or(0, |(offset, _)| offset)
}

fn fields(line: &[u8]) -> Option<Fields> {
    (line.len() <= LONGEST_LINE).then_some(())?;
    serde_json::from_slice(line).ok()
}

struct Reader {
    source: SourceId,
    clock: ClockId,
    /// The boot that is read.
    boot: Option<String>,
    /// From this byte on units are of the root filesystem.
    root_from: u64,
    /// Units that start, and since when.
    open: BTreeMap<String, (i64, Origin)>,
    kernel: KernelReader,
}

impl Reader {
    fn piece(&mut self, piece: &Piece<'_>, recorder: &mut Recorder) {
        let source = self.source;
        let offset = piece.offset;
        let origin = Origin { source, offset };
        let fields = fields(&piece.bytes);
        if let Some(boot) = fields.as_ref().and_then(|f| f.boot.as_str()) {
            let first = self.boot.get_or_insert_with(|| boot.to_owned());
            if first != boot {
                recorder.skipped(origin, &OTHER_BOOT);
                return;
            }
        }
        let Some(fields) = fields else {
            let blank = piece.bytes.trim_ascii().is_empty();
            let kind = if blank { &BLANK_LINE } else { &NO_RECORD };
            recorder.skipped(origin, kind);
            return;
        };
        if fields.transport.as_str() == Some("kernel") {
            match self.kernel.line(recorder, &piece.bytes, offset, None) {
                Outcome::Noted(kind) => recorder.skipped(origin, kind),
                Outcome::Other => recorder.skipped(origin, &NO_RECORD),
                Outcome::Kernel { .. } => recorder.took(source),
            }
            return;
        }
        self.news(&fields, origin, recorder);
        let text = fields.message.as_str().unwrap_or_default();
        let text = match fields.identifier.as_str() {
            Some(identifier) => format!("{identifier}: {text}"),
            None => text.to_owned(),
        };
        let level = fields.priority.as_str().and_then(|p| p.parse().ok());
        recorder.message(self.clock, sent(&fields), level, &text, origin);
        recorder.took(source);
    }

    /// What systemd says of a unit, or of the boot.
    fn news(&mut self, fields: &Fields, origin: Origin, recorder: &mut Recorder) -> Option<()> {
        // Any program may write the same words.
        if fields.pid.as_str().is_some_and(|pid| pid != "1") {
            return None;
        }
        let id = fields.message_id.as_str()?;
        if id == STARTUP_FINISHED {
            return startup(fields, origin, recorder);
        }
        let unit = fields.unit.as_str().filter(|u| unit::is_name(u))?;
        let at = sent(fields)?;
        let in_initrd = origin.offset < self.root_from;
        let name = if in_initrd {
            format!("{unit}{IN_INITRD}")
        } else {
            unit.to_owned()
        };
        match id {
            STARTING => {
                // Started again: the first start was not finished.
                if let Some(lost) = self.open.insert(name.clone(), (at, origin)) {
                    self.span(&name, Some(lost), None, origin, recorder);
                }
            }
            STARTED | FAILED => {
                let begun = self.open.remove(&name);
                if begun.is_none() {
                    recorder.note(origin, &STARTED_ONLY, || name.clone());
                }
                self.span(&name, begun, Some(at), origin, recorder);
            }
            _ => return None,
        }
        Some(())
    }

    fn span(
        &self,
        name: &str,
        begun: Option<(i64, Origin)>,
        end: Option<i64>,
        origin: Origin,
        recorder: &mut Recorder,
    ) {
        let start = begun.map(|b| b.0);
        // The manager's stamps are of a clock that can be set back.
        let end = end.map(|end| end.max(start.unwrap_or(end)));
        let doubt = match (start, end) {
            (None, _) => Some(Doubt::LostStart),
            (_, None) => Some(Doubt::LostEnd),
            _ => None,
        };
        let place = begun.map_or(origin, |b| b.1);
        let name = recorder.name(name);
        let span = recorder.span_of(self.clock, SpanKind::Unit, name, place);
        recorder.span(span.start(start).end(end).doubt(doubt));
    }

    fn finish(mut self, recorder: &mut Recorder) {
        for (name, begun) in std::mem::take(&mut self.open) {
            self.span(&name, Some(begun), None, begun.1, recorder);
        }
        self.kernel.finish(recorder);
    }
}

/// When a record was sent, on the monotonic clock: when the journal got it, less
/// how long it was on its way. Before the journal runs, records wait for it.
fn sent(fields: &Fields) -> Option<i64> {
    let got = nanoseconds(&fields.monotonic)?;
    let way = nanoseconds(&fields.realtime).zip(nanoseconds(&fields.sent));
    let way = way.map_or(0, |(got, sent)| got.saturating_sub(sent));
    let likely = (0..LONGEST_WAY_NS).contains(&way) && way <= got;
    Some(got.saturating_sub(if likely { way } else { 0 }))
}

/// `Startup finished`: how long each part took.
fn startup(fields: &Fields, origin: Origin, recorder: &mut Recorder) -> Option<()> {
    let kernel = nanoseconds(&fields.kernel)?;
    let initrd = nanoseconds(&fields.initrd).filter(|i| *i > 0);
    let userspace = kernel.saturating_add(initrd.unwrap_or(0));
    let lasted = nanoseconds(&fields.userspace)?;
    // What came before the kernel stands in the words alone.
    let words = fields.message.as_str().and_then(parse_time_line);
    let before = words.unwrap_or_default();
    let loader = before.loader.unwrap_or_default();
    let power_on = before.firmware.map(|f| (Nanos::ZERO - loader - f).get());
    Boundaries {
        power_on,
        loader: before.loader.map(|l| (Nanos::ZERO - l).get()),
        kernel: Some(0),
        initrd: initrd.map(|_| kernel),
        userspace: Some(userspace),
        finish: Some(userspace.saturating_add(lasted)),
        resolution_ns: 1_000,
    }
    .record(origin, recorder);
    Some(())
}

/// Microseconds as the journal writes them: a string of digits.
fn nanoseconds(value: &Value) -> Option<i64> {
    let us: u64 = match value {
        Value::String(text) => text.parse().ok()?,
        value => value.as_u64()?,
    };
    i64::try_from(us).ok()?.checked_mul(1_000)
}
