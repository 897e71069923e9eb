//! cloud-init: its log (`/var/log/cloud-init.log`), its output and `cloud-init analyze`.
//!
//! The log has two clocks: the time of day before each line, and at the beginning of each
//! stage the seconds since the kernel started, as `/proc/uptime` has them. So stages and
//! their parts lie on the clock `monotonic` too. `analyze show` counts from the first event
//! of the log, and `blame` has durations only.
//!
//! Units of the ledger are lines.

mod row;

use crate::several_boots::{SEVERAL_BOOTS, ranges, read_last};
use crate::source::{Input, Sniff, Source};
use crate::systemd::MONOTONIC;
use crate::text;
use record::{
    ClockId, ClockKind, NoteKind, Origin, Phase, Recorder, Severity, SourceId, SpanKind, mark,
};
use row::{Outcome, Row, Wall};
use std::collections::BTreeMap;
use std::ops::Range;

/// cloud-init's log or the text of `cloud-init analyze`.
#[derive(Debug)]
pub struct CloudInit;

/// The time of day, of which the log has milliseconds.
const WALL: &str = "cloud-init";
const WALL_STEP_NS: u64 = 1_000_000;

/// What `analyze show` counts on.
const SHOWN: &str = "cloud-init-analyze";
const SHOWN_STEP_NS: u64 = 10_000;

/// `/proc/uptime` has hundredths of a second, and some time passes until the line is stamped.
const UPTIME_ERROR_NS: u64 = 20_000_000;

/// systemd-timesyncd sets a clock that is wrong by this much, and slews one that is less wrong
/// (`NTP_MAX_ADJUST` in src/timesync/timesyncd-manager.c).
const CLOCK_SET_NS: u64 = 400_000_000;

/// So many lines are looked at to know the format.
const LOOKED_AT: usize = 200;

const BLANK_LINE: NoteKind = NoteKind::new(
    "blank_line",
    Severity::Info,
    "Blank lines were skipped. No action needed.",
);

const CAPTION: NoteKind = NoteKind::new(
    "caption",
    Severity::Info,
    "These lines explain the output and contain no times.",
);

const DETAIL: NoteKind = NoteKind::new(
    "detail_line",
    Severity::Info,
    "These lines of the log neither begin nor end a stage or a part of one.",
);

const UNSTAMPED: NoteKind = NoteKind::new(
    "unstamped_line",
    Severity::Info,
    "Lines without a timestamp are output of the programs that cloud-init ran, or continue the \
     line before.",
);

const FAILED: NoteKind = NoteKind::new(
    "part_failed",
    Severity::Doubt,
    "cloud-init says that these parts did not do what they should, so their times may be those of \
     a failure.",
);

const NOT_ENDED: NoteKind = NoteKind::new(
    "part_not_ended",
    Severity::DataLoss,
    "The log ends before these parts of cloud-init do. Take it when `cloud-init status` says done.",
);

const ONLY_LENGTHS: NoteKind = NoteKind::new(
    "only_lengths",
    Severity::Info,
    "`cloud-init analyze` does not say when the kernel started. Use /var/log/cloud-init.log.",
);

impl Source for CloudInit {
    fn name(&self) -> &'static str {
        "cloud-init"
    }

    fn description(&self) -> &'static str {
        "cloud-init: /var/log/cloud-init.log, `cloud-init analyze show`, `blame` or `boot`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let (mut logged, mut said, mut all) = (0_usize, false, 0_usize);
        for line in text::lines(head).take(LOOKED_AT) {
            let line = text::lossy(line.bytes);
            all += usize::from(!line.trim().is_empty());
            match Row::of(&line) {
                Row::Record => return Sniff::Yes,
                Row::Begins(None, ..) => said = true,
                _ => logged += usize::from(row::stamped(&line).is_some()),
            }
        }
        match logged {
            2.. if logged * 2 > all => Sniff::Yes,
            _ if said => Sniff::Maybe,
            _ => Sniff::No,
        }
    }

    fn boots(&self, bytes: &[u8]) -> Vec<Range<u64>> {
        let begins = |text: &str| match Row::of(text) {
            Row::Begins(_, stage, _) => stage == "init-local",
            row => row == Row::Record,
        };
        let lines = text::lines(bytes).filter(|l| begins(&text::lossy(l.bytes)));
        // What stands before the first is of the first boot.
        let starts: Vec<u64> = lines.map(|l| l.offset).skip(1).collect();
        ranges(&starts, bytes.len() as u64)
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        read_last(self, input, recorder);
    }

    fn read_boot(&self, input: Input<'_>, boot: Range<u64>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let mut reader = Reader::new(source);
        for line in text::lines(input.bytes) {
            let offset = line.offset;
            let origin = Origin { source, offset };
            if boot.contains(&offset) {
                reader.line(&text::lossy(line.bytes), origin, recorder);
            } else {
                recorder.skipped(origin, &SEVERAL_BOOTS);
            }
        }
        reader.finish(recorder);
    }
}

/// What has begun and not ended: when, and where that stands.
type Open = BTreeMap<String, (i64, Origin)>;

struct Reader {
    source: SourceId,
    open: Open,
    /// The stage whose rows `analyze show` prints.
    stage: String,
    /// What `analyze boot` has of the kernel.
    kernel: i64,
    together: Vec<Together>,
}

/// A line with both clocks: the time of day at which it was written, and how long ago the kernel
/// had started, in nanoseconds.
struct Together {
    wall: i64,
    up: i64,
    origin: Origin,
}

impl Reader {
    fn new(source: SourceId) -> Self {
        Self {
            source,
            open: Open::new(),
            stage: String::new(),
            kernel: 0,
            together: Vec::new(),
        }
    }

    fn line(&mut self, line: &str, origin: Origin, recorder: &mut Recorder) {
        match Row::of(line) {
            Row::Blank => return recorder.skipped(origin, &BLANK_LINE),
            Row::Caption | Row::Record => return recorder.skipped(origin, &CAPTION),
            Row::Other => return recorder.skipped(origin, &DETAIL),
            Row::Unknown => return recorder.skipped(origin, &UNSTAMPED),
            Row::Stage(name) => {
                name.clone_into(&mut self.stage);
                return recorder.skipped(origin, &CAPTION);
            }
            Row::Waits(text) => {
                let clock = recorder.clock(WALL, ClockKind::Wall, WALL_STEP_NS);
                recorder.message(clock, None, None, text, origin);
            }
            Row::Begins(wall, stage, up) => {
                self.since_kernel(stage, wall, up, origin, recorder);
                if let Some(at) = wall {
                    self.open.insert(stage.to_owned(), (at, origin));
                }
            }
            Row::Finished(wall, up) => {
                self.since_kernel("finished", wall, up, origin, recorder);
            }
            Row::Start(at, name) => {
                self.open.entry(name.to_owned()).or_insert((at, origin));
            }
            Row::Finish(at, name, outcome) => {
                if outcome != Outcome::Success {
                    recorder.note(origin, &FAILED, || name.to_owned());
                }
                self.ended(name, at, origin, recorder);
            }
            Row::Ended(at, stage) => self.ended(stage, at, origin, recorder),
            Row::Done(what, from, took) => {
                let clock = recorder.clock(SHOWN, ClockKind::Wall, SHOWN_STEP_NS);
                let name = format!("{}/{}", self.stage, of_row(what));
                let end = from.saturating_add(took);
                span(&name, clock, (Some(from), Some(end)), origin, recorder);
                recorder.note(origin, &ONLY_LENGTHS, String::new);
            }
            Row::Took(name, took) => {
                let clock = recorder.clock(SHOWN, ClockKind::Wall, SHOWN_STEP_NS);
                let name = recorder.name(&format!("{WALL}/{name}"));
                let span = recorder.span_of(clock, SpanKind::Stage, name, origin);
                recorder.span(span.reported(Some(took)));
                recorder.note(origin, &ONLY_LENGTHS, String::new);
            }
            Row::Kernel(took) => {
                let clock = monotonic(recorder);
                let kernel = Some(Phase::Kernel);
                recorder.mark(clock, mark::KERNEL_CLOCK_START, 0, kernel, origin);
                let userspace = Some(Phase::Userspace);
                recorder.mark(clock, mark::USERSPACE_START, took, userspace, origin);
                self.kernel = took;
            }
            Row::Activation(took) => {
                let clock = monotonic(recorder);
                let at = self.kernel.saturating_add(took);
                recorder.mark(clock, &format!("{WALL}/activated"), at, None, origin);
            }
        }
        recorder.took(self.source);
    }

    /// A line says how long ago the kernel started.
    fn since_kernel(
        &mut self,
        what: &str,
        wall: Wall,
        up: i64,
        origin: Origin,
        recorder: &mut Recorder,
    ) {
        let clock = monotonic(recorder);
        recorder.mark(clock, &format!("{WALL}/{what}"), up, None, origin);
        let both = wall.map(|wall| Together { wall, up, origin });
        self.together.extend(both);
    }

    /// A part, or a stage, has ended.
    fn ended(&mut self, name: &str, at: i64, origin: Origin, recorder: &mut Recorder) {
        let clock = recorder.clock(WALL, ClockKind::Wall, WALL_STEP_NS);
        let begun = self.open.remove(name);
        let from = begun.map(|b| b.0);
        let origin = begun.map_or(origin, |b| b.1);
        span(name, clock, (from, Some(at)), origin, recorder);
    }

    fn finish(self, recorder: &mut Recorder) {
        relate(&self.together, recorder);
        for (name, (at, origin)) in self.open {
            let clock = recorder.clock(WALL, ClockKind::Wall, WALL_STEP_NS);
            span(&name, clock, (Some(at), None), origin, recorder);
            recorder.note(origin, &NOT_ENDED, || name);
        }
    }
}

fn span(
    name: &str,
    clock: ClockId,
    (from, to): (Option<i64>, Option<i64>),
    origin: Origin,
    recorder: &mut Recorder,
) {
    let name = recorder.name(&format!("{WALL}/{name}"));
    let span = recorder.span_of(clock, SpanKind::Stage, name, origin);
    recorder.span(span.start(from).end(to));
}

/// What a row of `analyze show` is of: `config-ssh` of `config-ssh ran successfully`, and of
/// other rows all.
fn of_row(what: &str) -> &str {
    let module = what.split(' ').next().unwrap_or(what);
    match module.starts_with("config-") {
        true => module,
        false => what,
    }
}

/// Both clocks of a kernel run at one rate, and a line is written a while after the uptime in it
/// was read. So of lines that agree but for that, the one that was written soonest holds for all.
fn relate(together: &[Together], recorder: &mut Recorder) {
    let apart = |t: &Together| t.wall.saturating_sub(t.up);
    let is_same = |a: &Together, b: &Together| apart(a).abs_diff(apart(b)) < CLOCK_SET_NS;
    for same in together.chunk_by(is_same) {
        let least = same.iter().map(apart).min().unwrap_or_default();
        for Together { up, origin, .. } in same {
            let wall = recorder.clock(WALL, ClockKind::Wall, WALL_STEP_NS);
            let clock = monotonic(recorder);
            let at = up.saturating_add(least);
            recorder.relate((wall, at), (clock, *up), UPTIME_ERROR_NS, Some(*origin));
        }
    }
}

fn monotonic(recorder: &mut Recorder) -> ClockId {
    recorder.clock(MONOTONIC, ClockKind::Monotonic, 0)
}
