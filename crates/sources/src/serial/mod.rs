//! Serial logs with a host's time stamp on each line: grabserial's, this
//! program's own, and others' with the time of day, a date or seconds, in brackets
//! or not.
//!
//! Units of the ledger are lines.
//!
//! This program's own form begins with the line `# firstlight-serial 1`. Each
//! other line is `FIRST LAST text`: the arrival of the line's first and of its
//! last character, in seconds with nine digits, from any zero. Between them,
//! lines that begin with `# ` say what was done and seen:
//!
//! | line | meaning |
//! |---|---|
//! | `# line 115200 baud, 10 bits a byte` | the serial line |
//! | `# power-on BEGAN ENDED` | a command switched power on, and ran from the one to the other |
//! | `# reset AT` | times count from here, because a pattern fitted |
//! | `# mark AT NAME` | so did another one |
//! | `# end AT` | so did the one that ends the boot |
//! | `# lost COUNT WHAT` | the serial driver lost or damaged characters |
//! | `# latency N ms` | so long the adapter may keep characters back |

mod lengths;
mod notes;
mod own;
mod relation;
mod stages;
mod stamp;

pub use stages::{Stages, StagesError, stages_from_toml};

use crate::bootstage::Reader as BootstageReader;
use crate::kernel_log::{At, Outcome, Reader as KernelReader, Units};
use crate::several_boots::ranges;
use crate::source::{Input, Sniff, Source};
use crate::text::{self, Line};
use lengths::Lengths;
use notes as note;
use own::{Begin, Said};
use record::{ClockId, ClockKind, Nanos, NoteKind, Origin, Phase, Recorder, SourceId, mark};
use relation::Relation;
use stamp::{Form, Step, Unroller, has_kernel_stamp};
use std::borrow::Cow;
use std::ops::Range;

/// A stamped serial log.
///
/// All times are on the clock `serial`, which goes on where the stamps begin
/// anew. Lines of the kernel are read as a kernel log; where the kernel stamps
/// them, its clock is related to this one. Known lines of firmware and loaders
/// begin phases. A report of U-Boot's `bootstage` is read as such, and its clock
/// related to this one by when it was printed.
#[derive(Debug)]
pub struct Serial;

/// A stamped serial log, with a user's own stages: [`Serial::with_stages`].
#[derive(Debug)]
pub struct SerialWithStages(Stages);

impl Serial {
    /// This source with a table of stages in place of [`Stages::builtin`].
    #[must_use]
    pub const fn with_stages(stages: Stages) -> SerialWithStages {
        SerialWithStages(stages)
    }
}

impl Source for Serial {
    fn name(&self) -> &'static str {
        "serial"
    }

    fn description(&self) -> &'static str {
        "timestamped serial log: `firstlight capture serial`, `grabserial -t`, `ts` or similar tools"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        sniff(head, Stages::builtin())
    }

    fn boots(&self, bytes: &[u8]) -> Vec<Range<u64>> {
        boots_of(bytes, Stages::builtin())
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        read(input, Stages::builtin(), recorder);
    }

    fn read_boot(&self, input: Input<'_>, boot: Range<u64>, recorder: &mut Recorder) {
        read_boot(input, Some(boot), Stages::builtin(), recorder);
    }
}

impl Source for SerialWithStages {
    fn name(&self) -> &'static str {
        Serial.name()
    }

    fn description(&self) -> &'static str {
        Serial.description()
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        sniff(head, &self.0)
    }

    fn boots(&self, bytes: &[u8]) -> Vec<Range<u64>> {
        boots_of(bytes, &self.0)
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        read(input, &self.0, recorder);
    }

    fn read_boot(&self, input: Input<'_>, boot: Range<u64>, recorder: &mut Recorder) {
        read_boot(input, Some(boot), &self.0, recorder);
    }
}

/// Brackets with a number in them are the kernel's too, so those forms need
/// something that only a serial line shows: a kernel's stamp behind the host's,
/// or what firmware and loaders print.
fn sniff(head: &[u8], stages: &Stages) -> Sniff {
    let Some(form) = Form::of(head) else {
        return Sniff::No;
    };
    let (mut stamped, mut nested, mut loader) = (0_usize, 0_usize, false);
    for line in text::lines(head).take(500) {
        let line = plain_blanks(line.bytes);
        if let Some((_, text)) = form.split(&line) {
            stamped = stamped.saturating_add(1);
            nested = nested.saturating_add(usize::from(has_kernel_stamp(text)));
            loader |= stages
                .find(&screen(text))
                .and_then(|at| stages.get(at))
                .is_some_and(|s| s.phase() < Phase::Decompression);
        }
    }
    match form {
        Form::Own | Form::Elapsed | Form::Allwinner | Form::Qualcomm | Form::RaspberryPi => {
            Sniff::Yes
        }
        _ if loader || nested.saturating_mul(2) > stamped => Sniff::Yes,
        Form::TimeOfDay => Sniff::Maybe,
        // A loader of which nothing is known may stamp its lines so; prose does not.
        Form::Seconds if stamped >= FEWEST_STAMPS => Sniff::Maybe,
        // So has any log of a program.
        Form::Seconds | Form::Bare | Form::Plain => Sniff::No,
    }
}

/// So many lines with seconds in brackets are no chance.
const FEWEST_STAMPS: usize = 4;

fn form(bytes: &[u8]) -> Option<Form> {
    Form::of(bytes.get(..crate::source::SNIFF_BYTES).unwrap_or(bytes))
}

fn begin(bytes: &[u8], form: Option<Form>) -> Begin {
    match form {
        Some(Form::Own) => Begin::of(bytes),
        _ => Begin::default(),
    }
}

/// The boots of a log that a user can choose from.
fn boots_of(bytes: &[u8], stages: &Stages) -> Vec<Range<u64>> {
    let form = form(bytes);
    let boots = boots(bytes, form, begin(bytes, form), stages);
    if boots.len() > 1 { boots } else { Vec::new() }
}

/// Reads the boot of a log that it tells, or the last one.
fn read(input: Input<'_>, stages: &Stages, recorder: &mut Recorder) {
    let bytes = input.bytes;
    let form = form(bytes);
    let last = boots(bytes, form, begin(bytes, form), stages).pop();
    read_boot(input, last, stages, recorder);
}

fn read_boot(input: Input<'_>, boot: Option<Range<u64>>, stages: &Stages, recorder: &mut Recorder) {
    let source = recorder.source(input.name, Serial.name());
    let form = form(input.bytes);
    let begin = begin(input.bytes, form);
    let boot = boot.unwrap_or(0..input.bytes.len() as u64);
    let mut reader = Reader {
        source,
        form,
        begin,
        stages,
        seen: vec![false; stages.len()],
        clock: None,
        step_ns: 1,
        first: None,
        last: None,
        quiet_since: None,
        time: Unroller::default(),
        kernel: KernelReader::new(source),
        bootstage: BootstageReader::new(source),
        units: Units::default(),
        relation: Relation::default(),
        lengths: Lengths::default(),
    };
    for line in text::lines(input.bytes) {
        let offset = line.offset;
        if form == Some(Form::Own) && line.bytes.starts_with(b"#") {
            reader.said(line, offset < boot.end, recorder);
        } else if boot.contains(&offset) {
            reader.line(line, recorder);
        } else {
            reader.outside(line, offset < boot.start, recorder);
        }
    }
    reader.finish(recorder);
}

/// A console ends its lines with CR LF, of which logs keep one or the other.
const LINE_END: usize = 2;

/// A power command that runs longer leaves zero in doubt by more than a stamp.
const UNCERTAIN_NS: i64 = 10_000_000;

/// How much of a line is searched for what begins a stage.
const LONGEST_BANNER: usize = 4_096;

/// The boots of a log, each from its first byte to that of the next.
///
/// A line of firmware or a loader after a kernel's lines begins another boot, and so does a
/// kernel's first line after another kernel's. A log that says when power came on or what
/// its base time is has one, which begins there.
fn boots(bytes: &[u8], form: Option<Form>, begin: Begin, stages: &Stages) -> Vec<Range<u64>> {
    let mut starts: Vec<u64> = Vec::new();
    let (mut kernel, mut version) = (false, false);
    let mut before = i64::MIN;
    let is_told = begin.power.is_some() || begin.reset.is_some();
    let mut told = !is_told;
    let end = bytes.len() as u64;
    for line in text::lines(bytes) {
        let offset = line.offset;
        let line = plain_blanks(line.bytes);
        let (first, text) = match form.and_then(|f| f.split(&line)) {
            Some((stamp, text)) => (Some(stamp.first), text),
            None => (None, &*line),
        };
        // A counter that runs from reset begins anew with it.
        if form.is_some_and(Form::is_from_reset)
            && let Some(first) = first
            && std::mem::replace(&mut before, first) > first
        {
            starts.push(offset);
        }
        if !told {
            told = match begin.power {
                Some(power) => first.is_some_and(|first| first >= power),
                None => begin.reset.is_some_and(|r| r.0 == offset),
            };
            if !told {
                continue;
            }
            starts.push(offset);
        }
        let is_first = begins_kernel(kernel_words(text));
        if is_first && version {
            starts.push(offset);
            (kernel, version) = (false, false);
        }
        version |= is_first && text.windows(LINUX.len()).any(|w| w == LINUX);
        if has_kernel_stamp(text) {
            kernel = true;
            continue;
        }
        // A banner is at the start of its line; longer lines are no banners.
        let text = text.get(..LONGEST_BANNER).unwrap_or(text);
        let stage = stages.find(&screen(text)).and_then(|at| stages.get(at));
        let Some(phase) = stage.map(|s| s.phase()) else {
            continue;
        };
        if phase < Phase::Decompression && kernel {
            starts.push(offset);
            (kernel, version) = (false, false);
        }
        kernel |= phase == Phase::Kernel;
    }
    if is_told {
        // Where nothing comes after it, nothing is the boot's.
        let from = starts.first().copied().unwrap_or(end);
        let to = starts.get(1).copied().unwrap_or(end);
        return std::iter::once(from..to).collect();
    }
    ranges(&starts, end)
}

/// What the first line of a kernel has.
const LINUX: &[u8] = b"Linux version ";

struct Reader<'a> {
    source: SourceId,
    form: Option<Form>,
    begin: Begin,
    stages: &'a Stages,
    /// The stages that were found.
    seen: Vec<bool>,
    clock: Option<ClockId>,
    /// The step of its stamps, in nanoseconds.
    step_ns: u64,
    /// The first stamped line, and the last one.
    first: Option<(ClockId, i64, Origin)>,
    last: Option<(ClockId, i64)>,
    /// When the last character arrived.
    quiet_since: Option<i64>,
    time: Unroller,
    kernel: KernelReader,
    bootstage: BootstageReader,
    units: Units,
    relation: Relation,
    /// What Qualcomm's loaders timed.
    lengths: Lengths,
}

impl Reader<'_> {
    fn origin(&self, offset: u64) -> Origin {
        Origin {
            source: self.source,
            offset,
        }
    }

    fn clock(&mut self, digits: u8, recorder: &mut Recorder) -> ClockId {
        *self.clock.get_or_insert_with(|| {
            self.step_ns = 10_u64.pow(9 - u32::from(digits.min(9)));
            let kind = match self.form {
                Some(form) if form.is_from_reset() => ClockKind::Counter,
                _ => ClockKind::Wall,
            };
            recorder.clock("serial", kind, self.step_ns)
        })
    }

    /// A line of another boot. Its stamp still counts for where zero is.
    fn outside(&mut self, line: Line<'_>, before: bool, recorder: &mut Recorder) {
        let bytes = plain_blanks(line.bytes);
        if let Some((form, (stamp, _))) = self.form.and_then(|f| Some((f, f.split(&bytes)?))) {
            self.time.next(form, &stamp);
        }
        let told = self.begin != Begin::default();
        let kind = if before && told {
            &note::BEFORE_BOOT
        } else {
            &note::OTHER_BOOT
        };
        recorder.skipped(self.origin(line.offset), kind);
    }

    /// What the log says of itself, before the end of the boot's lines or not.
    fn said(&mut self, line: Line<'_>, in_time: bool, recorder: &mut Recorder) {
        let origin = self.origin(line.offset);
        let Some(said) = Said::of(line.bytes) else {
            let first = line.offset == 0;
            let kind = if first {
                &note::NEWER
            } else {
                &note::UNKNOWN_WORD
            };
            recorder.skipped(origin, kind);
            return;
        };
        let is_last = self.begin.reset.is_some_and(|r| r.0 == line.offset);
        let clock = self.clock(9, recorder);
        match said {
            Said::Header => {
                recorder.skipped(origin, &note::HEADER);
                return;
            }
            Said::Reset { at } | Said::Mark { at, .. } | Said::End { at }
                if !in_time || !self.begin.is_before(at) =>
            {
                let kind = if in_time {
                    &note::BEFORE_BOOT
                } else {
                    &note::OTHER_BOOT
                };
                recorder.skipped(origin, kind);
                return;
            }
            Said::PowerOn { began, .. } if self.begin.power != Some(began) => {
                recorder.skipped(origin, &note::BEFORE_BOOT);
                return;
            }
            Said::Line { baud, bits } => {
                recorder.fact("serial.baud", &baud.to_string(), origin);
                recorder.fact("serial.bits_per_byte", &bits.to_string(), origin);
            }
            Said::PowerOn { began, ended } => self.power_on(began, ended, origin, recorder),
            // What the user's pattern fits is the zero that was asked for.
            Said::Reset { at } if is_last => {
                recorder.mark(clock, mark::POWER_ON, at, None, origin);
            }
            Said::Reset { at } => recorder.mark(clock, "base-time-reset", at, None, origin),
            Said::Mark { at, name } => recorder.mark(clock, &name, at, None, origin),
            Said::End { at } => recorder.mark(clock, mark::FIRST_LIGHT, at, None, origin),
            Said::Lost { count, what } => {
                let lost = matches!(&*what, "overrun" | "buffer");
                let kind = if lost {
                    &note::CHARACTERS_LOST
                } else {
                    &note::CHARACTERS_DAMAGED
                };
                recorder.note_many(origin, kind, count, || format!("first error: {what}"));
            }
            Said::Latency { ms } => {
                recorder.note(origin, &note::ADAPTER_LATENCY, || format!("{ms} ms"));
            }
        }
        recorder.took(self.source);
    }

    /// Power came on while a command ran.
    fn power_on(&mut self, began: i64, ended: i64, origin: Origin, recorder: &mut Recorder) {
        let clock = self.clock(9, recorder);
        if self.begin.reset.is_some() {
            recorder.mark(clock, "power-command", ended, None, origin);
            return;
        }
        recorder.mark(clock, mark::POWER_ON, ended, Some(Phase::Firmware), origin);
        let took = Nanos(ended.saturating_sub(began));
        if took.get() > UNCERTAIN_NS {
            recorder.note(origin, &note::POWER_UNCERTAIN, || {
                format!("the command ran for {took}")
            });
        }
        // Lines stand behind what was said before they ended.
        if let Some((_, last)) = self.last.filter(|(_, at)| (began..ended).contains(at)) {
            recorder.note(origin, &note::OUTPUT_BEFORE_POWER, || {
                format!("up to {} earlier", Nanos(ended.saturating_sub(last)))
            });
        }
    }

    fn line(&mut self, line: Line<'_>, recorder: &mut Recorder) {
        let origin = self.origin(line.offset);
        let bytes = plain_blanks(line.bytes);
        // Such loaders stamp their own lines; those of the kernel are its own.
        if self.form.is_some_and(Form::is_until_kernel) && begins_kernel(kernel_words(&bytes)) {
            self.form = None;
            self.relation.join(self.last, origin, recorder);
        }
        let Some((form, (stamp, text))) = self.form.and_then(|f| Some((f, f.split(&bytes)?)))
        else {
            if self.form == Some(Form::Qualcomm) && self.length(&bytes, origin, recorder) {
                return;
            }
            self.unstamped(&bytes, origin, recorder);
            return;
        };
        if form == Form::Seconds && self.time.goes_back(&stamp) && begins_kernel(text) {
            // The loader stamped its own lines, and the kernel does so now.
            self.loader_began(recorder);
            self.form = None;
            self.relation.join(self.last, origin, recorder);
            self.unstamped(&bytes, origin, recorder);
            return;
        }
        let clock = self.clock(stamp.digits, recorder);
        if stamp.digits == 0 {
            recorder.note(origin, &note::COARSE_STAMPS, String::new);
        }
        let (at, step) = self.time.next(form, &stamp);
        if form.is_from_reset() {
            self.counts_from_reset(clock, origin, recorder);
        }
        if form == Form::Qualcomm {
            self.lengths.stamped(&screen(text), at, clock, recorder);
        }
        let silence = at.saturating_sub(self.quiet_since.unwrap_or(i64::MIN));
        self.first.get_or_insert((clock, at, origin));
        self.last = Some((clock, at));
        step_notes(step, clock, origin, recorder);
        let took = stamp.last.map(|last| last.saturating_sub(stamp.first));
        let ended = took.map(|took| at.saturating_add(took));
        self.quiet_since = Some(ended.unwrap_or(at));
        if took.is_some_and(|took| took < 0) {
            recorder.note(origin, &note::LAST_BEFORE_FIRST, String::new);
        }
        if text.trim_ascii().is_empty() {
            // It says nothing, but the console was written to.
            recorder.message(clock, Some(at), None, "", origin);
            recorder.took(self.source);
            return;
        }
        let within = match bytes {
            Cow::Borrowed(b) => b.len().saturating_sub(text.len()),
            Cow::Owned(_) => 0,
        };
        let offset = line.offset.saturating_add(within as u64);
        let bytes = text.len().saturating_add(LINE_END);
        match self.kernel.line(recorder, text, offset, Some((clock, at))) {
            Outcome::Kernel { printk_ns } => {
                let moment = At {
                    clock,
                    ns: at,
                    origin,
                };
                // A script's line may have the kernel's in it.
                self.units.initramfs(recorder, moment, text);
                // Behind other output, the line's first character was not the kernel's.
                let whole = has_kernel_stamp(text);
                let began = if whole { Some(at) } else { ended };
                if !whole && printk_ns.is_some() {
                    self.stage(&screen(text), clock, at, None, origin, recorder);
                }
                let mut stamped = None;
                if let (Some(host), Some(printk)) = (began, printk_ns) {
                    self.relation.add(host, printk, silence, origin);
                    let kernel = recorder.clock("printk", ClockKind::Printk, 1_000);
                    stamped = Some((kernel, printk));
                }
                let arrived = (began.unwrap_or(at), ended);
                recorder.arrival(clock, arrived, stamped, bytes, origin);
                recorder.took(self.source);
            }
            Outcome::Noted(kind) => recorder.skipped(origin, kind),
            Outcome::Other => {
                recorder.arrival(clock, (at, ended), None, bytes, origin);
                let text = screen(text);
                self.stage(&text, clock, at, took, origin, recorder);
                let moment = At {
                    clock,
                    ns: at,
                    origin,
                };
                self.units.line(recorder, moment, text.as_bytes());
                self.units.initramfs(recorder, moment, text.as_bytes());
                let host = Some((clock, at));
                self.bootstage.line(&text, origin.offset, host, recorder);
                recorder.message(clock, Some(at), None, &text, origin);
                recorder.took(self.source);
            }
        }
    }

    /// A loader of which no line begins a known stage began with its first one.
    fn loader_began(&self, recorder: &mut Recorder) {
        if let Some((clock, at, origin)) = self.first.filter(|_| !self.seen.contains(&true)) {
            recorder.mark(clock, "loader", at, Some(Phase::Loader), origin);
        }
    }

    /// Loaders of that kind count from the reset.
    fn counts_from_reset(&self, clock: ClockId, origin: Origin, recorder: &mut Recorder) {
        if self.last.is_none() {
            let firmware = Some(Phase::Firmware);
            recorder.mark(clock, mark::POWER_ON, 0, firmware, origin);
            recorder.note(origin, &note::FROM_RESET, String::new);
        }
    }

    /// A line of Qualcomm's loaders that says how long something took.
    fn length(&mut self, line: &[u8], origin: Origin, recorder: &mut Recorder) -> bool {
        let clock = self.clock(6, recorder);
        let stages = self.stages;
        let is_stage = |text: &str| stages.find(text).is_some();
        let text = screen(line);
        let is_length = self
            .lengths
            .line(&text, is_stage, (clock, origin), recorder);
        if is_length {
            recorder.message(clock, None, None, &text, origin);
            recorder.took(self.source);
        }
        is_length
    }

    /// Marks the stage that a line begins.
    fn stage(
        &mut self,
        text: &str,
        clock: ClockId,
        at: i64,
        took: Option<i64>,
        origin: Origin,
        recorder: &mut Recorder,
    ) {
        let Some((place, stage)) = self
            .stages
            .find(text)
            .and_then(|at| Some((at, self.stages.get(at)?)))
        else {
            return;
        };
        let seen = self.seen.get_mut(place);
        if seen.is_none_or(|seen| std::mem::replace(seen, true)) {
            return;
        }
        let phase = stage.phase();
        recorder.mark(clock, &stage.name, at, Some(phase), origin);
        // The decompressor ends its line when it is done.
        if let Some(took) = took
            && phase == Phase::Decompression
            && text.contains("booting the kernel")
        {
            let end = at.saturating_add(took);
            recorder.mark(clock, mark::KERNEL_ENTRY, end, Some(Phase::Kernel), origin);
        }
    }

    /// A line without a stamp in a log with stamps.
    fn unstamped(&mut self, bytes: &[u8], origin: Origin, recorder: &mut Recorder) {
        let text = screen(bytes);
        let trimmed = text.trim();
        let skip: Option<&NoteKind> = if trimmed.is_empty() {
            Some(&note::BLANK_LINE)
        } else if trimmed == "..." {
            Some(&note::ELISION)
        } else if note::REPORTS.iter().any(|r| trimmed.starts_with(r)) {
            Some(&note::REPORT)
        } else {
            None
        };
        if let Some(kind) = skip {
            recorder.skipped(origin, kind);
            return;
        }
        match self.kernel.line(recorder, bytes, origin.offset, None) {
            Outcome::Kernel { .. } => recorder.took(self.source),
            Outcome::Noted(kind) => recorder.skipped(origin, kind),
            Outcome::Other => {
                let clock = self.clock(6, recorder);
                self.bootstage.line(&text, origin.offset, None, recorder);
                recorder.message(clock, None, None, &text, origin);
                recorder.note(origin, &note::UNSTAMPED, String::new);
                recorder.took(self.source);
            }
        }
    }

    fn finish(self, recorder: &mut Recorder) {
        self.kernel.finish(recorder);
        self.bootstage.finish(recorder);
        if let Some(clock) = self.clock {
            self.lengths.finish(clock, recorder);
            self.relation.record(clock, self.step_ns, recorder);
        }
    }
}

/// What a jump of the stamps means to the reader of the record.
fn step_notes(step: Step, clock: ClockId, origin: Origin, recorder: &mut Recorder) {
    match step {
        Step::On => {}
        Step::Back => recorder.note(origin, &note::HOST_CLOCK_BACK, String::new),
        Step::Reset(at) => {
            recorder.mark(clock, "base-time-reset", at, None, origin);
            recorder.note(origin, &note::BASE_TIME_RESET, String::new);
        }
        Step::ResetUnseen(at) => {
            recorder.mark(clock, "base-time-reset", at, None, origin);
            recorder.note(origin, &note::RESET_UNSEEN, String::new);
        }
    }
}

/// The words behind a kernel's stamp, if there is one.
fn kernel_words(line: &[u8]) -> &[u8] {
    let end = memchr::memchr(b']', line).filter(|_| has_kernel_stamp(line));
    let words = end.and_then(|at| line.get(at.saturating_add(1)..));
    words.map_or(line, text::without_indent)
}

/// Whether this is the first line of a kernel.
fn begins_kernel(text: &[u8]) -> bool {
    text.starts_with(b"Linux version ") || text.starts_with(b"Booting Linux on ")
}

/// A line with its no-break blanks (U+00A0) made plain ones: pages that show
/// logs put them in, and no log means them.
fn plain_blanks(line: &[u8]) -> Cow<'_, [u8]> {
    const NO_BREAK: &[u8] = &[0xc2, 0xa0];
    if memchr::memmem::find(line, NO_BREAK).is_none() {
        return Cow::Borrowed(line);
    }
    let mut plain = Vec::with_capacity(line.len());
    let mut from = 0;
    for at in memchr::memmem::find_iter(line, NO_BREAK) {
        plain.extend_from_slice(line.get(from..at).unwrap_or_default());
        plain.push(b' ');
        from = at.saturating_add(NO_BREAK.len());
    }
    plain.extend_from_slice(line.get(from..).unwrap_or_default());
    Cow::Owned(plain)
}

/// A line as a terminal shows it when it is done: without controls, and with
/// what a backspace or a carriage return lets later characters overwrite.
#[must_use]
pub fn screen(bytes: &[u8]) -> Cow<'_, str> {
    if memchr::memchr2(8, b'\r', bytes).is_none() {
        return match text::without_controls(bytes) {
            Cow::Borrowed(plain) => text::lossy(plain),
            Cow::Owned(plain) => Cow::Owned(text::lossy(&plain).into_owned()),
        };
    }
    let mut shown: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut column = 0_usize;
    let mut rest = bytes;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match byte {
            8 => column = column.saturating_sub(1),
            b'\r' => column = 0,
            0x1b => match tail {
                // A status line is erased before it is drawn again.
                [b'[', b'K', tail @ ..] | [b'[', b'0', b'K', tail @ ..] => {
                    shown.truncate(column);
                    rest = tail;
                }
                _ => rest = text::after_escape(tail),
            },
            _ => {
                match shown.get_mut(column) {
                    Some(cell) => *cell = *byte,
                    None => shown.push(*byte),
                }
                column = column.saturating_add(1);
            }
        }
    }
    Cow::Owned(text::lossy(&text::without_controls(&shown)).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{plain_blanks, screen};

    #[test]
    fn a_line_is_what_a_terminal_shows() {
        for (bytes, shown) in [
            (&b"plain"[..], "plain"),
            (b"autoboot:  1 \x08\x08\x08 0 ", "autoboot:  0 "),
            (b"Loading 5%\rLoading 100%", "Loading 100%"),
            (b"\x08\x08x", "x"),
            (b"\x1b[2JSeaBIOS", "SeaBIOS"),
            (
                b"\r[\x1b[31m*  \x1b[0m] a (10s)\r\x1b[K[\x1b[31m * \x1b[0m] b\r",
                "[ * ] b",
            ),
            (b"a\0\0b", "ab"),
            (b"\xff!", "\u{fffd}!"),
        ] {
            assert_eq!(screen(bytes), shown);
        }
        assert_eq!(&*plain_blanks("a\u{a0}\u{a0}b".as_bytes()), b"a  b");
    }
}
