//! A record as the rules see it.

use super::evidence::{Evidence, SHOWN};
use super::group::Group;
use super::text::view as text;
use super::watched::Watched;
use crate::kernel_work::is_beside;
use crate::path::{CriticalPath, Model, Through};
use crate::phases::Phases;
use crate::place::Place;
use crate::system::{CommandLine, SystemFacts};
use record::{ClockKind, Message, Nanos, Origin, Phase, Record, SourceId, Span, SpanKind, mark};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// A pattern is looked at this often: a log that repeats itself says nothing
/// more, and may be long.
const MOST_LINES: usize = 4_096;

/// systemd prints the parts of a boot and its units to the millisecond.
const ROUNDING: Nanos = Nanos::from_millis(5);

/// An initcall: its name, its duration and its span.
pub(super) type Initcall<'a> = (&'a str, Nanos, &'a Span);

/// A record as the rules see it.
pub(super) struct View<'a> {
    pub record: &'a Record,
    pub phases: &'a Phases,
    pub system: &'a SystemFacts,
    /// The length of the boot.
    pub total: Nanos,
    /// The part of it that is surely boot (see [`Phases::booted`]): what a saving is compared
    /// with to be worth a word.
    pub booted: Nanos,
    cmdline: Option<CommandLine>,
    said: BTreeMap<&'static str, Vec<usize>>,
    model: OnceCell<Model<'a>>,
    path: OnceCell<CriticalPath>,
    /// Each with its function, the longest first: most rules ask for some of them.
    initcalls: OnceCell<Vec<(&'a str, Initcall<'a>)>>,
    /// For each message, whether it was written beside the kernel's work.
    beside: OnceCell<Vec<bool>>,
}

impl<'a> View<'a> {
    pub fn new(
        record: &'a Record,
        phases: &'a Phases,
        system: &'a SystemFacts,
        watched: &Watched,
    ) -> Self {
        let start = phases.phases.first().map_or(Nanos::ZERO, |p| p.start);
        let mut said: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
        for (at, message) in record.messages().iter().enumerate() {
            for text in watched.within(record.text(message)) {
                let lines = said.entry(text).or_default();
                if lines.len() < MOST_LINES && lines.last() != Some(&at) {
                    lines.push(at);
                }
            }
        }
        Self {
            record,
            phases,
            system,
            total: phases.end() - start.min(Nanos::ZERO),
            booted: phases.booted(record) - start.min(Nanos::ZERO),
            cmdline: cmdline(record).or_else(|| system.cmdline.clone()),
            said,
            model: OnceCell::new(),
            path: OnceCell::new(),
            initcalls: OnceCell::new(),
            beside: OnceCell::new(),
        }
    }

    /// What first light waited for.
    pub fn path(&self) -> &CriticalPath {
        self.path.get_or_init(|| self.model().path())
    }

    /// The boot as activities that wait for each other.
    pub fn model(&self) -> &Model<'a> {
        self.model
            .get_or_init(|| Model::new(self.record, self.phases, Through::Units))
    }

    /// Whether a line was written beside the kernel's work (see [`is_beside`]).
    pub fn is_beside(&self, line: &Line<'_>) -> bool {
        let beside = self.beside.get_or_init(|| {
            let messages = self.record.messages().iter();
            messages.map(|m| is_beside(self.record.text(m))).collect()
        });
        beside.get(line.at).copied().unwrap_or_default()
    }

    /// Whether a source is the kernel's own log: of systemd's lines it has only those from
    /// before the journal takes them.
    pub fn is_kernel_log(&self, source: SourceId) -> bool {
        self.record
            .source(source)
            .is_some_and(|s| s.format == "kernel-log")
    }

    pub fn is_virtual(&self) -> bool {
        self.phases.clock == Some(ClockKind::Virtual)
    }

    /// The kernel command line; empty if it is not known.
    pub fn cmdline(&self) -> &str {
        self.cmdline.as_ref().map_or("", |c| &c.text)
    }

    pub fn knows_cmdline(&self) -> bool {
        self.cmdline.is_some()
    }

    /// The words of the kernel command line.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.cmdline().split_whitespace()
    }

    /// The value behind `key=`, the last one if there are several.
    pub fn value(&self, key: &str) -> Option<&str> {
        let values = self.words().filter_map(|w| {
            let (k, value) = w.split_once('=')?;
            (k == key).then_some(value)
        });
        values.last()
    }

    /// Whether the command line sets this flag. Dashes and underscores are the
    /// same to the kernel.
    pub fn has_flag(&self, flag: &str) -> bool {
        let same = |a: &str| a.replace('-', "_") == flag.replace('-', "_");
        self.words().any(|w| match w.split_once('=') {
            Some((name, value)) => same(name) && !matches!(value, "0" | "n" | "N" | "off"),
            None => same(w),
        })
    }

    pub fn evidence(&self, text: String, origin: Origin) -> Evidence {
        Evidence {
            text,
            place: Place::of(self.record, origin),
        }
    }

    pub fn cmdline_evidence(&self, text: &str) -> Option<Evidence> {
        Some(Evidence {
            text: text::cmdline(text),
            place: self.cmdline.as_ref()?.place.clone(),
        })
    }

    /// The lines that contain one of the rules' texts, by evidence, up to first
    /// light.
    pub fn said(&self, pattern: &str) -> impl Iterator<Item = Line<'_>> {
        let lines = self.said.get(pattern).map_or(&[][..], Vec::as_slice);
        let end = self.phases.end();
        lines
            .iter()
            .filter_map(move |&at| self.line(at))
            .filter(move |l| l.message.at.is_none_or(|t| t <= end))
    }

    pub fn line(&self, at: usize) -> Option<Line<'_>> {
        let message = self.record.messages().get(at)?;
        let text = self.record.text(message);
        Some(Line { at, message, text })
    }

    /// The lines of the same source behind this one.
    pub fn after(&self, line: &Line<'_>) -> impl Iterator<Item = Line<'_>> {
        let source = line.message.origin.source;
        let rest = line.at.saturating_add(1)..self.record.messages().len();
        rest.map_while(move |at| self.line(at).filter(|l| l.message.origin.source == source))
    }

    /// How long it took until the same source said something else.
    pub fn silence_after(&self, line: &Line<'_>) -> Option<Nanos> {
        let from = line.message.at?;
        let next = self.after(line).find_map(|l| l.message.at)?;
        Some((next - from).max(Nanos::ZERO))
    }

    /// The speed of the processor: stated, as virtual time's is, or measured, or else assumed.
    pub fn speed(&self) -> Speed {
        let known = self.stated_speed().or_else(|| self.measured_speed());
        match (known, self.is_virtual()) {
            (Some(rate), _) => Speed::known(rate),
            (None, true) => Speed::known(1_000_000_000),
            (None, false) => Speed {
                rate: USUAL_SPEED,
                is_assumed: true,
            },
        }
    }

    /// The rate that a capture in virtual time states in its words about the machine: `at 1
    /// GIPS`, `at 125 MIPS`, `at 62.5 MIPS`.
    fn stated_speed(&self) -> Option<u64> {
        let machine = self.record.fact("machine").filter(|_| self.is_virtual())?;
        let (rate, unit) = machine.split(" at ").find_map(|part| {
            let (rate, rest) = part.split_once(' ')?;
            let unit = rest.split(' ').next()?;
            let unit = [("GIPS", 1e9), ("MIPS", 1e6)]
                .iter()
                .find(|u| u.0 == unit)?;
            Some((rate.parse::<f64>().ok()?, unit.1))
        })?;
        let rate = (rate * unit).round();
        let is_one = (1.0..=1e12).contains(&rate);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and 10^12"
        )]
        is_one.then_some(rate as u64)
    }

    /// The instructions a second of the processor, as long as each takes a cycle: if the
    /// kernel measured its delay loop, a BogoMIPS is a million of them; else a cycle of an x86
    /// is one of its time stamp counter, whose rate the kernel writes.
    fn measured_speed(&self) -> Option<u64> {
        self.delay_loop_speed().or_else(|| self.counter_speed())
    }

    /// `tsc: Detected 2400.012 MHz processor`, in older kernels without `tsc: `.
    fn counter_speed(&self) -> Option<u64> {
        let mut rates = self.said(COUNTER_RATE).filter_map(|l| {
            let (rate, _) = l.behind("Detected ")?.split_once(COUNTER_RATE)?;
            let (whole, parts) = rate.split_once('.')?;
            let thousandths: u64 = parts.get(..3)?.parse().ok()?;
            let millions: u64 = whole.parse().ok()?;
            let kilo = millions.checked_mul(1_000)?.checked_add(thousandths)?;
            kilo.checked_mul(1_000)
        });
        rates.next().filter(|s| *s > 0)
    }

    fn delay_loop_speed(&self) -> Option<u64> {
        let measured = self.said("Calibrating delay loop");
        let mut rates = measured
            .filter(|l| !l.text.contains("skipped"))
            .filter_map(|l| {
                let (rate, _) = l.behind("Calibrating delay loop")?.split_once("BogoMIPS")?;
                let millions = number(rate.trim_start_matches(['.', ' ']))?;
                Some(millions.saturating_mul(1_000_000))
            });
        rates.next().filter(|s| *s > 0)
    }

    /// What the kernel says of its 32-bit ARM processor; `None`: it has none, or
    /// says nothing.
    pub fn arm(&self) -> Option<Arm> {
        let line = self.said("CPU: ARM").next()?;
        let aligned = line.text.contains("(ARMv4") || line.text.contains("(ARMv5");
        Some(Arm { aligned })
    }

    /// How long the same source had said nothing when it said this.
    pub fn silence_before(&self, line: &Line<'_>) -> Option<Nanos> {
        let at = line.message.at?;
        let before = (0..line.at).rev().take(8).filter_map(|i| self.line(i));
        let source = line.message.origin.source;
        let mut before = before.filter(|l| l.message.origin.source == source);
        let last = before.find_map(|l| l.message.at)?;
        Some((at - last).max(Nanos::ZERO))
    }

    /// How long before the first of two lines their source had said something, and how long
    /// after the second one it did again, as far as neither is a silence of its own. A line is
    /// stamped when it is written: what it is about begins before it, and ends behind it.
    pub fn beside(&self, first: &Line<'_>, last: &Line<'_>) -> Nanos {
        let both = [self.silence_before(first), self.silence_after(last)];
        let near = both.into_iter().flatten().filter(|t| *t <= NEAR);
        near.fold(Nanos::ZERO, |sum, t| sum + t)
    }

    /// The line as evidence.
    pub fn quote(&self, line: &Line<'_>) -> Evidence {
        let text: String = match line.text.trim() {
            "" => text::EMPTY_LINE.to_owned(),
            text => text.chars().take(100).collect(),
        };
        self.evidence(text, line.message.origin)
    }

    /// How long a phase took.
    pub fn length(&self, phase: Phase) -> Nanos {
        let rows = self.phases.phases.iter().filter(|p| p.name == phase);
        rows.fold(Nanos::ZERO, |sum, p| sum + (p.end - p.start))
    }

    /// Whether a unit took longer than systemd ran until it was done: then a timer, or a
    /// person, started it afterwards.
    pub fn is_beyond_boot(&self, time: Nanos) -> bool {
        let userspace = self.length(Phase::Userspace);
        let light = self.phases.first_light.as_ref();
        let is_told = light.is_some_and(|l| l.mark == mark::STARTUP_FINISHED);
        let systemd = self.length(Phase::Initrd) + userspace;
        is_told && userspace > Nanos::ZERO && time > systemd + ROUNDING
    }

    /// The elapsed time of the part of the boot that a group of rules is about.
    pub fn elapsed_of(&self, group: Group) -> Nanos {
        let rows = &self.phases.phases;
        let kernel = rows.iter().find(|p| p.name >= Phase::Kernel);
        match (group, rows.first(), kernel) {
            // Nothing of a loader is left once the kernel runs.
            (Group::Loader, Some(first), Some(kernel)) if first.name < Phase::Kernel => {
                kernel.start - first.start
            }
            // A log that begins with the kernel may quote a loader without times.
            (Group::Loader, Some(first), _) if first.name >= Phase::Kernel => Nanos(i64::MAX),
            // An image or a configuration alone has no boot.
            _ if self.total <= Nanos::ZERO => Nanos(i64::MAX),
            _ => self.total,
        }
    }

    /// The processor time of a unit's processes, where its control group was asked.
    pub fn processor_time(&self, unit: &str) -> Option<Nanos> {
        let spans = self.record.spans().iter();
        let is_it = |s: &&Span| s.kind == SpanKind::Unit && self.record.name(s.name) == unit;
        // Lines of a log tell of the unit, too, but not of its control group.
        spans.filter(is_it).find_map(|s| s.processor)
    }

    /// The initcalls that `wanted` picks by function name and that ended before
    /// first light, the longest first.
    pub fn initcalls(&self, wanted: impl Fn(&str) -> bool) -> Vec<Initcall<'a>> {
        self.initcalls_from(Nanos(1), wanted)
    }

    /// The same of those that took at least this long.
    pub fn initcalls_from(&self, least: Nanos, wanted: impl Fn(&str) -> bool) -> Vec<Initcall<'a>> {
        let all = self.initcalls.get_or_init(|| self.all_initcalls());
        let long = all.iter().take_while(|(_, call)| call.1 >= least);
        long.filter(|(function, _)| wanted(function))
            .map(|(_, call)| *call)
            .collect()
    }

    fn all_initcalls(&self) -> Vec<(&'a str, Initcall<'a>)> {
        let end = self.phases.end();
        let initcalls = self.record.spans().iter().filter(|s| {
            s.kind == SpanKind::Initcall && s.start.or(s.end).is_none_or(|at| at <= end)
        });
        let mut all: Vec<(&str, Initcall<'_>)> = initcalls
            .filter_map(|s| Some((self.record.name(s.name), s.duration()?, s)))
            .filter(|(_, time, _)| *time > Nanos::ZERO)
            .map(|call| (function(call.0), call))
            .collect();
        all.sort_by_key(|(_, (_, time, s))| (std::cmp::Reverse(*time), s.origin));
        all
    }

    /// The evidence for the longest of some initcalls.
    pub fn initcall_evidence(&self, initcalls: &[(&str, Nanos, &Span)]) -> Vec<Evidence> {
        let shown = initcalls.iter().take(SHOWN);
        shown
            .map(|(name, time, s)| self.evidence(text::took(name, time), s.origin))
            .collect()
    }
}

/// The command line that the boot had.
fn cmdline(record: &Record) -> Option<CommandLine> {
    let mut facts = record.facts().iter();
    let fact = facts.find(|f| record.name(f.key) == "kernel.cmdline")?;
    Some(CommandLine {
        text: record.name(fact.value).to_owned(),
        place: Place::of(record, fact.origin),
    })
}

/// Lines that are no further apart are no silence.
const NEAR: Nanos = Nanos::from_millis(50);

/// How the first line of a kernel's log begins.
pub(super) const BANNER: &str = "Linux version ";

/// What stands behind the rate of an x86's time stamp counter.
const COUNTER_RATE: &str = " MHz processor";

/// The lines that tell how fast a processor is.
pub(super) const SPEED: [&str; 2] = ["Calibrating delay loop", COUNTER_RATE];

/// Instructions a second where nothing tells.
pub(super) const USUAL_SPEED: u64 = 500_000_000;

/// The speed of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Speed {
    /// Instructions a second.
    pub rate: u64,
    /// Whether nothing of this boot tells it.
    pub is_assumed: bool,
}

impl Speed {
    pub const fn known(rate: u64) -> Self {
        Self {
            rate,
            is_assumed: false,
        }
    }
}

/// What is known of a 32-bit ARM processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arm {
    /// Whether it reads words only where they are aligned: before ARMv6.
    pub aligned: bool,
}

/// A line of a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Its place among the record's messages.
    pub at: usize,
    pub message: &'a Message,
    pub text: &'a str,
}

impl<'a> Line<'a> {
    /// What stands behind `text` in the line.
    pub fn behind(&self, text: &str) -> Option<&'a str> {
        self.text.split_once(text).map(|(_, rest)| rest)
    }

    /// The number that stands behind `text`, blanks between allowed.
    pub fn number(&self, text: &str) -> Option<u64> {
        number(self.behind(text)?)
    }
}

/// The decimal number that a text begins with, blanks before it allowed.
pub(super) fn number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// `fuse_init` of `fuse_init+0x0/0x1b0 [fuse]`.
pub(super) fn function(name: &str) -> &str {
    let end = name.find(['+', ' ']).unwrap_or(name.len());
    name.get(..end).unwrap_or(name)
}

/// The time in which at least one of some calls ran. Of calls without times it is their
/// sum.
pub(super) fn elapsed(calls: &[(&str, Nanos, &Span)]) -> Nanos {
    let mut times: Vec<(Nanos, Nanos)> = Vec::new();
    let mut all = Nanos::ZERO;
    for (_, time, span) in calls {
        match (span.start, span.end) {
            (Some(from), Some(to)) => times.push((from, to)),
            _ => all = all + *time,
        }
    }
    times.sort_unstable();
    let mut until: Option<Nanos> = None;
    for (from, to) in times {
        let from = until.map_or(from, |u| from.max(u));
        if to > from {
            all = all + (to - from);
            until = Some(to);
        }
    }
    all
}

pub(super) fn sum<'a>(times: impl Iterator<Item = &'a Nanos>) -> Nanos {
    times.fold(Nanos::ZERO, |a, b| a + *b)
}

/// `count` times `each` nanoseconds, at most what fits.
pub(super) fn times(count: u64, each: i64) -> Nanos {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    Nanos(count.saturating_mul(each))
}

/// How long `bytes` take at `rate` bytes a second.
pub(super) fn transfer(bytes: u64, rate: u64) -> Nanos {
    let ns = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
    Nanos(i64::try_from(ns).unwrap_or(i64::MAX))
}
