//! The state between two lines of a kernel log.

use super::at::At;
use super::call::{Call, Returned, call};
use super::counter::Counter;
use super::journal;
use super::local_clock::LocalClock;
use super::milestone::Milestones;
use super::notes::{self, LONGEST_LINE, Tally};
use super::plain::{Kind, Parsed, Plain, Said, dropped};
use super::relative::Relative;
use super::shape::{self, Shaped, Stamp};
use super::spans::{Moment, Spans, untimed};
use super::units::{self, Units};
use crate::systemd::startup::{self, StartupTimes, parse_time_line};
use crate::text::{lossy, without_controls, without_cr};
use hashbrown::DefaultHashBuilder;
use record::{ClockId, ClockKind, NoteKind, Origin, Phase, Recorder, SourceId, mark};
use std::borrow::Cow;

/// The level of messages that only inform.
const INFORMATION: u8 = 6;

/// Stamps of this step or more make a note.
const COARSE_NS: u64 = 1_000_000_000;

/// How many stamped lines are looked at for the name of a journal's host.
const HOST_LINES: u64 = 100;

/// Ticks of kernels that have no better clock for their stamps, in nanoseconds.
const TICKS_NS: [i64; 2] = [10_000_000, 4_000_000];

/// Fewer stamps on whole ticks may be chance.
const FEWEST_TICKS: u64 = 20;

/// A log of so many lines or fewer may be a quiet console's.
const QUIET_LINES: u64 = 60;

/// Words of lines that complain, of which a quiet console has more than of others.
const COMPLAINS: [&[u8]; 9] = [
    b"rror",
    b"ail",
    b"arning",
    b"nable",
    b"imeout",
    b"imed out",
    b"nvalid",
    b"issing",
    b"ulnerable",
];

/// The words with which systemd ends a boot.
const FINISHED: &[u8] = b"Startup finished in ";

/// What became of a line that a [`Reader`] was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A kernel line: it was recorded. The caller counts it as taken.
    Kernel {
        /// Its stamp on the `printk` clock, if it has one.
        printk_ns: Option<i64>,
    },
    /// Nothing was recorded. The caller counts it as skipped, for this reason.
    Noted(&'static NoteKind),
    /// It has no kernel stamp and says nothing that only the kernel says;
    /// nothing was recorded. The caller records or skips it.
    Other,
}

/// A stamp of the line, and the clock it is on.
#[derive(Clone, Copy, Debug)]
struct Time {
    clock: ClockId,
    ns: i64,
    /// The step of the clock's stamps.
    resolution_ns: u64,
    printk: bool,
}

impl Time {
    const fn at(self, origin: Origin) -> At {
        At {
            clock: self.clock,
            ns: self.ns,
            origin,
        }
    }
}

/// Reads kernel lines, one at a time.
#[derive(Debug)]
pub(crate) struct Reader {
    source: SourceId,
    printk: Option<ClockId>,
    monotonic: Option<ClockId>,
    realtime: Option<(ClockId, u64)>,
    /// The last stamp, to see steps.
    last: Option<(ClockId, i64)>,
    stamped: u64,
    first_stamp: Option<(Origin, i64, bool)>,
    /// Whether zero of the kernel's clock is marked.
    clock_start: bool,
    zero_stretch: bool,
    /// The host's name before each text, in `journalctl -o short-monotonic`.
    host: Option<Vec<u8>>,
    last_sequence: Option<u64>,
    in_kmsg: bool,
    later_boot: bool,
    milestones: Milestones,
    local_clock: LocalClock,
    counter: Counter,
    /// Whether a line was another's than the agent's.
    has_others: bool,
    relative: Relative,
    spans: Spans,
    units: Units,
    /// What systemd said of the whole boot, in a log that the kernel did not stamp.
    finished: Option<(StartupTimes, Option<At>, Origin)>,
    /// Where the wall clock was least ahead of the kernel's, in a log that has both: the two
    /// times and the line. A syslog daemon stamps a line late, never early.
    beside: Option<(i64, i64, Origin)>,
    /// Which of [`TICKS_NS`] all stamps are multiples of.
    on_ticks: [bool; 2],
    /// How many stamps above zero there were.
    ticks: u64,
    /// A level was seen that only informs.
    informs: bool,
    /// How many of the first lines complain.
    complaints: u64,
    /// For texts that are unescaped.
    unescaped: Vec<u8>,
    hasher: DefaultHashBuilder,
    tallies: Tallies,
}

#[derive(Debug, Default)]
struct Tallies {
    glued: Tally,
    records_lost: Tally,
    backward: Tally,
    zero: Tally,
    coarse: Tally,
    yearless: Tally,
    unstamped: Tally,
}

/// The first stamp that is not zero is less than this where the kernel's clock starts with the
/// kernel: ticks and counters begin near zero.
const RAN_BEFORE_NS: i64 = 500_000_000;

/// A whole log has many lines before its clock runs; where there are fewer, lines are missing.
const FEWEST_ZEROS: u64 = 5;

/// A program's line that came so much later than the kernel's is of a day that was set from
/// the network meanwhile.
const LONGEST_BESIDE_NS: i64 = 3_600_000_000_000;

impl Reader {
    /// A reader whose events and notes belong to `source`.
    pub(crate) fn new(source: SourceId) -> Self {
        Self {
            source,
            printk: None,
            monotonic: None,
            realtime: None,
            last: None,
            stamped: 0,
            first_stamp: None,
            clock_start: false,
            zero_stretch: true,
            host: None,
            last_sequence: None,
            in_kmsg: false,
            later_boot: false,
            milestones: Milestones::default(),
            local_clock: LocalClock::default(),
            counter: Counter::default(),
            has_others: false,
            relative: Relative::default(),
            spans: Spans::default(),
            units: Units::default(),
            beside: None,
            finished: None,
            on_ticks: [true; 2],
            ticks: 0,
            informs: false,
            complaints: 0,
            unescaped: Vec::new(),
            hasher: DefaultHashBuilder::default(),
            tallies: Tallies::default(),
        }
    }

    /// What makes the keys of calls.
    pub(super) fn hasher(&self) -> DefaultHashBuilder {
        self.hasher.clone()
    }

    /// Reads a line that was parsed ahead, with this reader's hasher.
    #[inline]
    pub(super) fn parsed(&mut self, recorder: &mut Recorder, parsed: &Parsed<'_>) -> Outcome {
        let line = parsed.line;
        let origin = self.origin(line.offset, 0);
        // The name of a journal's host may still stand in it.
        if self.host.is_some() || self.stamped < HOST_LINES {
            return self.line(recorder, line.bytes, line.offset, None);
        }
        let (ns, text) = match &parsed.kind {
            Kind::Begin(initcall, _) | Kind::End(initcall, ..) => (initcall.ns, &[][..]),
            Kind::Plain(plain) => (plain.ns, plain.text()),
            Kind::Odd => return self.line(recorder, line.bytes, line.offset, None),
        };
        self.in_kmsg = false;
        let time = Time {
            clock: self.printk_clock(recorder),
            ns,
            resolution_ns: 1_000,
            printk: true,
        };
        if self.later_boot || self.begins_again(time, text) {
            return Outcome::Noted(&notes::LATER_BOOT);
        }
        self.stamp(recorder, time, origin);
        match &parsed.kind {
            Kind::Begin(i, task) => {
                let at = time.at(origin);
                self.local_clock.calling(at, i.function);
                self.spans
                    .begin(recorder, at, i.function, i.key, Some(*task));
            }
            Kind::End(i, value, after_ns) => {
                let moment = self.moment(time, origin, None);
                let returned = Returned {
                    value: Some(*value),
                    after_ns: Some(*after_ns),
                    torn: false,
                    whole: true,
                };
                self.spans
                    .end(recorder, moment, i.function, i.key, returned);
            }
            Kind::Plain(plain) => {
                self.words(recorder, time, origin, plain, true);
            }
            Kind::Odd => {}
        }
        Outcome::Kernel {
            printk_ns: Some(ns),
        }
    }

    /// Reads one line. `offset` is where `bytes` begins in the source; `host`
    /// is the stamp that a host gave the line, in nanoseconds on its clock.
    pub(crate) fn line(
        &mut self,
        recorder: &mut Recorder,
        bytes: &[u8],
        offset: u64,
        host: Option<(ClockId, i64)>,
    ) -> Outcome {
        if self.later_boot {
            return Outcome::Noted(&notes::LATER_BOOT);
        }
        if bytes.len() > LONGEST_LINE {
            return Outcome::Noted(&notes::LINE_TOO_LONG);
        }
        let clean = without_controls(without_cr(bytes));
        // With controls removed, places within the line are not those of the file.
        let exact = matches!(clean, Cow::Borrowed(_));
        let line: &[u8] = &clean;
        if line.trim_ascii().is_empty() {
            return Outcome::Noted(&notes::BLANK_LINE);
        }
        if self.in_kmsg && line.first() == Some(&b' ') {
            return Outcome::Noted(&notes::KMSG_PROPERTY);
        }
        if line.first() == Some(&b'{') && journal::is_json(line) {
            return match journal::entry(line) {
                Some(entry) => self.entry(recorder, &entry, offset),
                None => Outcome::Noted(&notes::BAD_JSON),
            };
        }
        let shaped = self.without_host(shape::shape(line));
        self.in_kmsg = shaped.sequence.is_some();
        self.pieces(recorder, line, shaped, offset, exact, host)
    }

    /// A line, and the lines that are glued to its end.
    fn pieces(
        &mut self,
        recorder: &mut Recorder,
        line: &[u8],
        mut shaped: Shaped<'_>,
        offset: u64,
        exact: bool,
        host: Option<(ClockId, i64)>,
    ) -> Outcome {
        let mut outcome = Outcome::Other;
        let mut at = 0;
        loop {
            let alone = call(shaped.text).is_some_and(|c| c.is_whole_initcall());
            let glued = match shaped.sequence {
                None if !alone => shape::glued(shaped.text),
                _ => None,
            };
            let origin = self.origin(offset, if exact { at } else { 0 });
            let rest = glued.and_then(|cut| {
                let (head, tail) = shaped.text.split_at_checked(cut)?;
                shaped.text = head;
                Some(tail)
            });
            if rest.is_some() {
                self.tallies.glued.add(origin, String::new);
            }
            if let Some(lost) = dropped(shaped.text) {
                let lost_here = || format!("first: {lost} dropped, as reported by the log");
                self.tallies.records_lost.add_many(origin, lost, lost_here);
            }
            let empty = rest.is_some() && shaped.stamp == Stamp::None && shaped.text.is_empty();
            if !empty {
                match (self.piece(recorder, shaped, origin, host), outcome) {
                    (Outcome::Kernel { printk_ns }, Outcome::Kernel { printk_ns: first }) => {
                        outcome = Outcome::Kernel {
                            printk_ns: first.or(printk_ns),
                        };
                    }
                    (Outcome::Other, _) if rest.is_some() => {
                        self.unstamped(recorder, shaped.text, origin, host);
                        outcome = Outcome::Kernel { printk_ns: None };
                    }
                    (new, Outcome::Other) => outcome = new,
                    // Events of the line are recorded: it stays taken.
                    (_, old) => outcome = old,
                }
            }
            let Some(tail) = rest else { break };
            at = line.len().saturating_sub(tail.len());
            shaped = self.without_host(shape::shape(tail));
        }
        outcome
    }

    const fn origin(&self, offset: u64, within: usize) -> Origin {
        Origin {
            source: self.source,
            offset: offset.saturating_add(within as u64),
        }
    }

    /// `[    1.234567] host kernel: text` is the journal's: its clock is the
    /// monotonic one, and the host is no part of the text.
    fn without_host<'a>(&mut self, mut shaped: Shaped<'a>) -> Shaped<'a> {
        let Stamp::Printk(ns) = shaped.stamp else {
            return shaped;
        };
        if let Some(host) = &self.host {
            let text = shaped.text.strip_prefix(host.as_slice());
            if let Some(text) = text.and_then(|t| t.strip_prefix(b" ")) {
                let kernel = text.strip_prefix(b"kernel:");
                shaped.by_program = kernel.is_none();
                shaped.text = kernel.map_or(text, |t| t.strip_prefix(b" ").unwrap_or(t));
                shaped.stamp = Stamp::Monotonic(ns);
            }
        } else if self.stamped < HOST_LINES
            && shaped.sequence.is_none()
            && let Some((host, text, by_program)) = shape::host_and_text(shaped.text)
        {
            self.host = Some(host.to_vec());
            shaped.text = text;
            shaped.by_program = by_program;
            shaped.stamp = Stamp::Monotonic(ns);
        }
        shaped
    }

    /// A record of `journalctl -o json` or `dmesg --json`.
    pub(super) fn entry(
        &mut self,
        recorder: &mut Recorder,
        entry: &journal::Entry,
        offset: u64,
    ) -> Outcome {
        if self.later_boot {
            return Outcome::Noted(&notes::LATER_BOOT);
        }
        let text = without_controls(without_cr(&entry.text));
        let shaped = Shaped {
            stamp: entry.stamp,
            level: entry.level,
            caller: entry.caller,
            by_program: entry.by_program,
            sequence: None,
            host_stamped: false,
            beside: None,
            text: &text,
        };
        let origin = self.origin(offset, 0);
        match self.piece(recorder, shaped, origin, None) {
            Outcome::Other => {
                self.unstamped(recorder, &text, origin, None);
                Outcome::Kernel { printk_ns: None }
            }
            outcome => outcome,
        }
    }

    /// Records a line that carries no time of its own, as text.
    pub(super) fn unstamped(
        &mut self,
        recorder: &mut Recorder,
        text: &[u8],
        origin: Origin,
        host: Option<(ClockId, i64)>,
    ) {
        let (clock, ns) = match host {
            Some((clock, ns)) => (clock, Some(ns)),
            None => (self.any_clock(recorder), None),
        };
        if ns.is_none() {
            self.tallies.unstamped.add(origin, String::new);
        }
        let text = without_controls(without_cr(text));
        if ns.is_none() {
            self.finished(&text, None, origin);
        }
        if ns.is_none() && self.stamped == 0 {
            // A text that quotes a line indents it.
            if let Some(call) = call(text.trim_ascii())
                && untimed(recorder, clock, origin, &call)
            {
                return;
            }
            self.milestones.untimed(recorder, &text, origin);
        }
        recorder.message(clock, ns, None, &lossy(&text), origin);
    }

    /// A clock for what has no time.
    fn any_clock(&mut self, recorder: &mut Recorder) -> ClockId {
        let known = self.last.map(|l| l.0);
        known.unwrap_or_else(|| self.printk_clock(recorder))
    }

    fn printk_clock(&mut self, recorder: &mut Recorder) -> ClockId {
        *self
            .printk
            .get_or_insert_with(|| recorder.clock("printk", ClockKind::Printk, 1_000))
    }

    /// The line's time; the host's where the kernel stamps nothing.
    fn time(
        &mut self,
        recorder: &mut Recorder,
        stamp: Stamp,
        origin: Origin,
        host: Option<(ClockId, i64)>,
    ) -> Option<Time> {
        let time = |clock, ns, resolution_ns| Time {
            clock,
            ns,
            resolution_ns,
            printk: false,
        };
        match stamp {
            Stamp::Printk(ns) => Some(Time {
                printk: true,
                ..time(self.printk_clock(recorder), ns, 1_000)
            }),
            Stamp::Monotonic(ns) => {
                let clock = *self.monotonic.get_or_insert_with(|| {
                    recorder.clock("monotonic", ClockKind::Monotonic, 1_000)
                });
                Some(time(clock, ns, 1_000))
            }
            Stamp::Wall {
                ns,
                resolution_ns,
                yearless,
            } => {
                let clock = match self.realtime {
                    Some((clock, known)) if known <= resolution_ns => clock,
                    _ => {
                        let clock = recorder.clock("realtime", ClockKind::Wall, resolution_ns);
                        self.realtime = Some((clock, resolution_ns));
                        clock
                    }
                };
                if resolution_ns >= COARSE_NS {
                    self.tallies.coarse.add(origin, String::new);
                }
                if yearless {
                    self.tallies.yearless.add(origin, String::new);
                }
                Some(time(clock, ns, resolution_ns))
            }
            // In a log with stamps, a line without one is other output.
            Stamp::None if self.stamped == 0 => host.map(|(clock, ns)| time(clock, ns, 1_000)),
            // Those that are since the line before were added up.
            Stamp::None | Stamp::Since(_) | Stamp::Minute(_) => None,
        }
    }

    /// Records one line.
    fn piece(
        &mut self,
        recorder: &mut Recorder,
        shaped: Shaped<'_>,
        origin: Origin,
        host: Option<(ClockId, i64)>,
    ) -> Outcome {
        // In a log that the kernel stamped, a date is a part of the words, or of a clock that
        // nothing relates to the kernel's: the line came between its neighbors.
        let is_related = |wall: i64| {
            let since = self.beside.map(|(last, ..)| wall.saturating_sub(last));
            shaped.by_program && since.is_some_and(|s| s.abs() <= LONGEST_BESIDE_NS)
        };
        if let Stamp::Wall { ns, .. } = shaped.stamp
            && self.clock_start
            && !is_related(ns)
        {
            if !shaped.by_program {
                return Outcome::Other;
            }
            self.unstamped(recorder, shaped.text, origin, None);
            return Outcome::Kernel { printk_ns: None };
        }
        if let (Some(wall), Stamp::Printk(ns)) = (shaped.beside, shaped.stamp) {
            let ahead = |wall: i64, ns: i64| wall.saturating_sub(ns);
            let is_least = |(w, n, _)| ahead(wall, ns) < ahead(w, n);
            if self.beside.is_none_or(is_least) {
                self.beside = Some((wall, ns, origin));
            }
        }
        let stamp = self.relative.absolute(shaped.stamp, shaped.text, origin);
        let Some(time) = self.time(recorder, stamp, origin, host) else {
            if shaped.level.is_none() {
                return Outcome::Other;
            }
            let clock = self.any_clock(recorder);
            self.tallies.unstamped.add(origin, String::new);
            recorder.message(clock, None, shaped.level, &lossy(shaped.text), origin);
            return Outcome::Kernel { printk_ns: None };
        };
        let own_stamp = shaped.stamp != Stamp::None;
        if own_stamp {
            if self.begins_again(time, shaped.text) {
                return Outcome::Noted(&notes::LATER_BOOT);
            }
            self.stamp(recorder, time, origin);
        }
        if let Some(sequence) = shaped.sequence {
            self.sequence(sequence, origin);
        }
        let mut buffer = std::mem::take(&mut self.unescaped);
        let escaped = shaped.sequence.is_some() && shaped.text.contains(&b'\\');
        let text = if escaped {
            shape::unescape(shaped.text, &mut buffer);
            &buffer[..]
        } else {
            shaped.text
        };
        let said = Said::of(text, &self.hasher).unwrap_or_else(|| {
            if own_stamp {
                self.spans.torn(origin, text);
            }
            Said::Text(text)
        });
        let plain = Plain {
            ns: time.ns,
            caller: shaped.caller,
            level: shaped.level,
            by_program: shaped.by_program,
            said,
        };
        let recorded = self.words(recorder, time, origin, &plain, own_stamp);
        self.unescaped = buffer;
        if recorded {
            Outcome::Kernel {
                printk_ns: time.printk.then_some(time.ns),
            }
        } else {
            Outcome::Other
        }
    }

    /// Whether another boot begins in this log; all after it is not read.
    #[inline]
    fn begins_again(&mut self, time: Time, text: &[u8]) -> bool {
        let back = self
            .last
            .is_some_and(|(c, ns)| c == time.clock && time.ns < ns);
        if (back || !time.printk) && self.milestones.begins_again(text) {
            self.later_boot = true;
        }
        self.later_boot
    }

    /// What is known of a call's line besides its words.
    #[inline]
    const fn moment(&self, time: Time, origin: Origin, caller: Option<u64>) -> Moment {
        Moment {
            at: time.at(origin),
            resolution_ns: time.resolution_ns,
            printk: time.printk,
            caller,
            clock_switched: self.milestones.clock_switched(),
        }
    }

    /// Records what the words say; whether anything was recorded.
    #[inline]
    fn words(
        &mut self,
        recorder: &mut Recorder,
        time: Time,
        origin: Origin,
        line: &Plain<'_>,
        own_stamp: bool,
    ) -> bool {
        let at = time.at(origin);
        let by_kernel_clock = time.printk || Some(time.clock) == self.monotonic;
        let text = match &line.said {
            Said::Text(text) => text,
            Said::Call(call, key) => {
                if by_kernel_clock && let Call::Begin { function, .. } = call {
                    self.local_clock.calling(at, *function);
                }
                let moment = self.moment(time, origin, line.caller);
                self.spans.call(recorder, moment, call, key);
                return true;
            }
        };
        if by_kernel_clock {
            self.local_clock.line(at, text);
            self.counter.line(recorder, at, text);
        }
        self.has_others |= !text.starts_with(b"firstlight: ");
        self.informs |= line.level.is_some_and(|l| l >= INFORMATION);
        let complains = |c: &&[u8]| memchr::memmem::find(text, c).is_some();
        if self.stamped <= QUIET_LINES && COMPLAINS.iter().any(complains) {
            self.complaints = self.complaints.saturating_add(1);
        }
        if text.starts_with(b"systemd[1]: ") || units::of_init(text).is_some() {
            self.units.line(recorder, at, text);
        }
        let known = own_stamp || line.level.is_some();
        let told = !by_kernel_clock && self.finished(text, Some(at), origin);
        let milestone = !told
            && (known || self.milestones.may_be_kernel(text))
            && self.milestones.line(recorder, at, text, line.by_program);
        if milestone || known {
            recorder.message(at.clock, Some(at.ns), line.level, &lossy(text), origin);
            return true;
        }
        false
    }

    /// Keeps what systemd says of the whole boot, where no stamp of the kernel's tells when
    /// things were. Whether the line is that.
    fn finished(&mut self, text: &[u8], at: Option<At>, origin: Origin) -> bool {
        let words = text.strip_prefix(b"systemd[1]: ").unwrap_or(text);
        if !words.starts_with(FINISHED) {
            return false;
        }
        let Some(times) = parse_time_line(&lossy(words)).filter(|t| t.kernel.is_some()) else {
            return false;
        };
        self.finished = Some((times, at, origin));
        true
    }

    /// Records what systemd said of the whole boot.
    fn record_finished(&self, recorder: &mut Recorder) {
        let Some((times, at, origin)) = &self.finished else {
            return;
        };
        let before = times.firmware.unwrap_or_default() + times.loader.unwrap_or_default();
        // The kernel's own stamps are better.
        if self.clock_start || self.monotonic.is_some() {
            let of_kernel = self.printk.zip(times.total);
            let of_kernel = of_kernel.map(|(clock, total)| (clock, (total - before).get()));
            // The time of day is too coarse where both are known.
            let is_coarse = self.beside.is_some();
            let of_line = at.map(|at| (at.clock, at.ns));
            let of_line = of_line.filter(|_| !is_coarse || of_kernel.is_none());
            if let Some((clock, ns)) = of_line.or(of_kernel) {
                recorder.mark(clock, mark::STARTUP_FINISHED, ns, None, *origin);
            }
            return;
        }
        startup::record(times, *origin, recorder);
        if let (Some(at), Some((_, step)), Some(total)) = (at, self.realtime, times.total) {
            let monotonic = recorder.clock("monotonic", ClockKind::Monotonic, 1_000_000);
            let finish = (monotonic, (total - before).get());
            recorder.relate((at.clock, at.ns), finish, step, Some(*origin));
        }
    }

    /// Keeps the books on stamps: the first, steps, zeros.
    #[inline]
    fn stamp(&mut self, recorder: &mut Recorder, time: Time, origin: Origin) {
        self.stamped = self.stamped.saturating_add(1);
        if time.printk && time.ns > 0 {
            self.ticks = self.ticks.saturating_add(1);
            for (on, tick) in self.on_ticks.iter_mut().zip(TICKS_NS) {
                *on = *on && time.ns % tick == 0;
            }
        }
        // After a stamp above zero there is no more to see than steps.
        if self.zero_stretch {
            self.early_stamp(recorder, time, origin);
        }
        if let Some((clock, ns)) = self.last
            && clock == time.clock
            && time.ns < ns
        {
            let back = ns.saturating_sub(time.ns);
            self.tallies
                .backward
                .add(origin, || format!("first: {} us", back / 1_000));
        }
        self.last = Some((time.clock, time.ns));
    }

    /// The first stamp, and those of zero that may follow it.
    fn early_stamp(&mut self, recorder: &mut Recorder, time: Time, origin: Origin) {
        if self.first_stamp.is_none() {
            self.first_stamp = Some((origin, time.ns, time.printk));
        }
        if !time.printk {
            return;
        }
        if !self.clock_start {
            self.clock_start = true;
            let name = mark::KERNEL_CLOCK_START;
            recorder.mark(time.clock, name, 0, Some(Phase::Kernel), origin);
        }
        if time.ns == 0 {
            self.tallies.zero.add(origin, String::new);
        } else {
            self.zero_stretch = false;
            // A clock that starts with the kernel is small when it is first read.
            if self.tallies.zero.count() >= FEWEST_ZEROS && time.ns >= RAN_BEFORE_NS {
                recorder.note(origin, &notes::COUNTER_RAN, || {
                    format!("{} ms", time.ns / 1_000_000)
                });
            }
        }
    }

    /// Records of `/dev/kmsg` are numbered one by one.
    fn sequence(&mut self, sequence: u64, origin: Origin) {
        if let Some(last) = self.last_sequence {
            let lost = sequence.saturating_sub(last).saturating_sub(1);
            if lost > 0 {
                self.tallies.records_lost.add_many(origin, lost, || {
                    format!("first gap: between records {last} and {sequence}")
                });
            }
        }
        self.last_sequence = Some(sequence);
    }

    /// Records what only the end of the log decides: starts without an end,
    /// and what was counted.
    pub(crate) fn finish(mut self, recorder: &mut Recorder) {
        if let Some((origin, ns, printk)) = self.first_stamp
            && !self.milestones.kernel_started()
            && self.has_others
            && (ns > 0 || !printk)
        {
            let is_quiet = self.stamped <= QUIET_LINES
                && printk
                && !self.informs
                && !self.milestones.informs()
                && self.complaints.saturating_mul(2) >= self.stamped
                && self.spans.is_empty();
            let kind = match is_quiet {
                true => &notes::QUIET_LOG,
                false => &notes::LOG_START_LOST,
            };
            recorder.note(origin, kind, || match printk {
                true => format!("the first timestamp is {} us", ns / 1_000),
                false => String::new(),
            });
        }
        let ticks = self.on_ticks.iter().zip(TICKS_NS);
        let tick = ticks.filter(|(on, _)| **on).map(|(_, tick)| tick).next();
        if let (Some(tick), Some((origin, ..))) = (tick, self.first_stamp)
            && self.ticks >= FEWEST_TICKS
        {
            recorder.note(origin, &notes::TICK_CLOCK, || {
                format!("{} ms", tick / 1_000_000)
            });
        }
        self.record_finished(recorder);
        if let (Some((wall, ns, origin)), Some((realtime, step)), Some(printk)) =
            (self.beside, self.realtime, self.printk)
        {
            recorder.relate((realtime, wall), (printk, ns), step, Some(origin));
        }
        let switched = self.milestones.clock_switched();
        self.spans.finish(recorder, switched);
        self.milestones.finish(recorder);
        self.local_clock.finish(recorder);
        // One line at zero is where the clock begins, not a stretch.
        if self.tallies.zero.count() == 1 {
            self.tallies.zero = Tally::default();
        }
        let t = self.tallies;
        for (tally, kind) in [
            (t.glued, &notes::GLUED_LINE),
            (t.records_lost, &notes::RECORDS_LOST),
            (t.backward, &notes::BACKWARD_STEP),
            (t.zero, &notes::ZERO_STAMP),
            (t.coarse, &notes::COARSE_STAMPS),
            (t.yearless, &notes::NO_YEAR),
            (self.relative.unsaid, &notes::MINUTE_STAMPS),
            (t.unstamped, &notes::UNSTAMPED_LINE),
        ] {
            tally.note(recorder, kind);
        }
    }
}
