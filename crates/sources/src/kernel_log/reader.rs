//! The state between two lines of a kernel log.

use super::call::{Call, Returned, call, sorted};
use super::counter::Counter;
use super::finished::{Clocks, Finished};
use super::journal;
use super::local_clock::LocalClock;
use super::milestone::Milestones;
use super::notes::{self, LONGEST_LINE, Tally};
use super::plain::{Kind, Parsed, Plain, Said, dropped};
use super::relative::Relative;
use super::shape::{self, Shaped, Stamp};
use super::spans::{Moment, Spans, untimed};
use super::stamps::{Stamps, Time};
use super::units::{self, Units};
use crate::text::{lossy, without_controls, without_cr};
use hashbrown::DefaultHashBuilder;
use record::{ClockId, ClockKind, NoteKind, Origin, Recorder, SourceId};
use std::borrow::Cow;

/// The level of messages that only inform.
const INFORMATION: u8 = 6;

/// Stamps of this step or more make a note.
const COARSE_NS: u64 = 1_000_000_000;

/// How many stamped lines are looked at for the name of a journal's host.
const HOST_LINES: u64 = 100;

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

/// Reads kernel lines, one at a time.
#[derive(Debug)]
pub(crate) struct Reader {
    source: SourceId,
    printk: Option<ClockId>,
    monotonic: Option<ClockId>,
    realtime: Option<(ClockId, u64)>,
    stamps: Stamps,
    /// The host's name before each text, in `journalctl -o short-monotonic`.
    host: Option<Vec<u8>>,
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
    finished: Finished,
    /// Where the wall clock was least ahead of the kernel's, in a log that has both: the two
    /// times and the line. A syslog daemon stamps a line late, never early.
    beside: Option<(i64, i64, Origin)>,
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
    coarse: Tally,
    yearless: Tally,
    unstamped: Tally,
}

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
            stamps: Stamps::default(),
            host: None,
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
            finished: Finished::default(),
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
        if self.host.is_some() || self.stamps.count < HOST_LINES {
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
        self.stamps.stamp(recorder, time, origin);
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
            // A line of a sorted list has its own stamp in the middle: no other line begins there.
            let is_sorted = || sorted(shaped.text.trim_ascii()).is_some();
            let alone = call(shaped.text).is_some_and(|c| c.is_whole_initcall()) || is_sorted();
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
                self.stamps.records_lost.add_many(origin, lost, lost_here);
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
        } else if self.stamps.count < HOST_LINES
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
            self.finished.line(&text, None, origin);
        }
        if ns.is_none() && self.stamps.count == 0 {
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
        let known = self.stamps.last.map(|l| l.0);
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
            Stamp::None if self.stamps.count == 0 => host.map(|(clock, ns)| time(clock, ns, 1_000)),
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
            && self.stamps.clock_start
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
            self.stamps.stamp(recorder, time, origin);
        }
        if let Some(sequence) = shaped.sequence {
            self.stamps.sequence(sequence, origin);
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
            .stamps
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
        self.has_others |= !text.starts_with(agent::LINES.as_bytes());
        self.informs |= line.level.is_some_and(|l| l >= INFORMATION);
        let complains = |c: &&[u8]| memchr::memmem::find(text, c).is_some();
        if self.stamps.count <= QUIET_LINES && COMPLAINS.iter().any(complains) {
            self.complaints = self.complaints.saturating_add(1);
        }
        if units::of_systemd(text).is_some() || units::of_init(text).is_some() {
            self.units.line(recorder, at, text);
        }
        let known = own_stamp || line.level.is_some();
        let told = !by_kernel_clock && self.finished.line(text, Some(at), origin);
        let milestone = !told
            && (known || self.milestones.may_be_kernel(text))
            && self.milestones.line(recorder, at, text, line.by_program);
        if milestone || known {
            recorder.message(at.clock, Some(at.ns), line.level, &lossy(text), origin);
            return true;
        }
        false
    }

    /// Records what only the end of the log decides: starts without an end,
    /// and what was counted.
    pub(crate) fn finish(self, recorder: &mut Recorder) {
        if let Some((origin, ns, printk)) = self.stamps.first
            && !self.milestones.kernel_started()
            && self.has_others
            && (ns > 0 || !printk)
        {
            let is_quiet = self.stamps.count <= QUIET_LINES
                && printk
                && !self.informs
                && !self.milestones.informs()
                && self.complaints.saturating_mul(2) >= self.stamps.count
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
        let ticks = self.stamps.note_ticks(recorder);
        let clocks = Clocks {
            printk: self.printk,
            by_kernel: self.stamps.clock_start || self.monotonic.is_some(),
            wall_step_ns: self.realtime.map(|(_, step)| step),
            both: self.beside.is_some(),
            tells_programs: self.milestones.tells_programs(),
        };
        self.finished.record(recorder, clocks);
        if let (Some((wall, ns, origin)), Some((realtime, step)), Some(printk)) =
            (self.beside, self.realtime, self.printk)
        {
            recorder.relate((realtime, wall), (printk, ns), step, Some(origin));
        }
        let switched = self.milestones.clock_switched();
        self.spans.finish(recorder, switched, ticks);
        self.milestones.finish(recorder);
        self.local_clock.finish(recorder);
        let t = self.tallies;
        t.glued.note(recorder, &notes::GLUED_LINE);
        self.stamps.finish(recorder);
        for (tally, kind) in [
            (t.coarse, &notes::COARSE_STAMPS),
            (t.yearless, &notes::NO_YEAR),
            (self.relative.unsaid, &notes::MINUTE_STAMPS),
            (t.unstamped, &notes::UNSTAMPED_LINE),
        ] {
            tally.note(recorder, kind);
        }
    }
}
