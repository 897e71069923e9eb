//! The texts of `systemd-analyze time`, `blame` and `critical-chain`, alone or
//! one after the other in one file. Units of the ledger are lines.

mod beside;
mod printed;
mod prose;
mod row;

use super::clocks::{MONOTONIC, USERSPACE_CLOCK};
use super::joined;
use super::notes::{BLANK_LINE, BOOT_NOT_FINISHED};
use super::startup;
use crate::several_boots::{SEVERAL_BOOTS, ranges, read_last};
use crate::source::{Input, Sniff, Source};
use crate::text::{self, Line};
use beside::Beside;
use printed::{drawn, is_lettered, whole_lines};
use prose::Part;
use record::{
    ClockKind, DependencyKind, NoteKind, Origin, Phase, Recorder, Severity, SourceId, SpanKind,
    mark,
};
use row::{Drawn, Link, Row};
use std::collections::BTreeMap;
use std::ops::Range;

/// `systemd-analyze time`, `blame` and `critical-chain` text.
///
/// `time` gives marks on the clock `monotonic`. `critical-chain` counts from
/// the start of userspace, on the clock `userspace`, which `time` relates to
/// the other one. `blame` gives durations only.
#[derive(Debug)]
pub struct Analyze;

const CAPTION: NoteKind = NoteKind {
    name: "caption",
    severity: Severity::Info,
    advice: "These lines explain the output and contain no times.",
};

const NOT_UNDERSTOOD: NoteKind = NoteKind {
    name: "unrecognized_line",
    severity: Severity::Doubt,
    advice: "These lines are truncated or not systemd-analyze output. Use the unedited output.",
};

const TARGET_NOT_REACHED: NoteKind = NoteKind {
    name: "target_not_reached",
    severity: Severity::Doubt,
    advice: "systemd had not reached the default target yet. Run `systemctl list-jobs` to see \
        what it is waiting for.",
};

const UNIT_WITHOUT_TIME: NoteKind = NoteKind {
    name: "unit_without_time",
    severity: Severity::Info,
    advice: "The critical chain lists these units without a time because they never became active.",
};

/// In a text of more lines for each unit with a time, such a unit is an aside.
const MOST_LINES: usize = 4;

/// So many lines of words for each line of a log or of systemd-analyze are a post about them.
const MOST_WORDS: usize = 4;

/// Above this a unit's time is the wall clock, which systemd 245 printed for units that it
/// had started in the initrd, nanoseconds: 30 days.
const NO_START_TAKES: i64 = 30 * 86_400 * 1_000_000_000;

const WALL_CLOCK: NoteKind = NoteKind {
    name: "time_of_unit_impossible",
    severity: Severity::Doubt,
    advice: "systemd-analyze blame gives these units more than 30 days, which no start takes. \
        Some versions of systemd print the wall clock for units of the initrd.",
};

impl Source for Analyze {
    fn name(&self) -> &'static str {
        "systemd-analyze"
    }

    fn description(&self) -> &'static str {
        "systemd summaries: `systemd-analyze time`, `blame` or `critical-chain`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let (mut known, mut unknown, mut logged) = (0_usize, 0_usize, 0_usize);
        let (mut named, mut parts) = (0_usize, Vec::new());
        // A whole plot has the times of its units, too.
        if memchr::memmem::find(head, b"<svg").is_some() {
            return Sniff::No;
        }
        for (whole, line, _) in whole_lines(text::lines(head).take(200)) {
            for row in joined::rows(&line) {
                match Row::of(row) {
                    // A unit's name alone could be any list, and any page has fences.
                    Row::Blank | Row::Caption | Row::Chain(Link { at: None, .. }) => {}
                    // People post what systemd-analyze says, and a log beside it.
                    Row::Unknown if beside::is_of_log(whole.bytes, &line) => {
                        logged = logged.saturating_add(1);
                    }
                    Row::Unknown => {
                        unknown = unknown.saturating_add(1);
                        named = named.saturating_add(prose::mentions(row).len());
                        parts.extend(prose::phases(row));
                    }
                    _ => known = known.saturating_add(1),
                }
            }
        }
        let is_about_units = named > 0 && unknown <= MOST_LINES.saturating_mul(named);
        match known {
            0 if prose::startup(&parts).is_some() || is_about_units => Sniff::Maybe,
            0 => Sniff::No,
            _ if known >= unknown => Sniff::Yes,
            // Between words about both, this reads both.
            2.. if logged > 0
                && unknown <= MOST_WORDS.saturating_mul(known.saturating_add(logged)) =>
            {
                Sniff::Yes
            }
            _ => Sniff::Maybe,
        }
    }

    fn boots(&self, bytes: &[u8]) -> Vec<Range<u64>> {
        let says = |l: &Line<'_>| memchr::memmem::find(l.bytes, b"Startup finished in ").is_some();
        let starts = text::lines(bytes).filter(says).map(|l| l.offset);
        // What stands before the first is of the first boot.
        ranges(&starts.skip(1).collect::<Vec<_>>(), bytes.len() as u64)
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        read_last(self, input, recorder);
    }

    fn read_boot(&self, input: Input<'_>, boot: Range<u64>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let mut reader = Reader::new(source, input.name);
        let within = |line: &Line<'_>| boot.contains(&line.offset);
        for line in text::lines(input.bytes).filter(|l| !within(l)) {
            let offset = line.offset;
            recorder.skipped(Origin { source, offset }, &SEVERAL_BOOTS);
        }
        let is_lettered = is_lettered(text::lines(input.bytes).filter(within));
        for (line, text, others) in whole_lines(text::lines(input.bytes).filter(within)) {
            let text = if is_lettered { drawn(text) } else { text };
            for _ in 0..others {
                recorder.took(source);
            }
            reader.line(line, &text, recorder);
        }
        reader.finish(recorder);
    }
}

fn reached(target: &str, at: i64, origin: Origin, recorder: &mut Recorder) {
    let clock = recorder.clock(USERSPACE_CLOCK, ClockKind::Monotonic, 1_000_000);
    recorder.mark(clock, target, at, None, origin);
}

/// What is known of a unit after some lines.
#[derive(Debug)]
struct Unit {
    at: Option<i64>,
    took: Option<i64>,
    /// Whether the chain tells the moment at which a device appeared: it prints that without a
    /// duration, although `blame` may have one.
    is_moment: bool,
    origin: Origin,
}

#[derive(Debug)]
struct Reader {
    source: SourceId,
    /// Whether `Startup finished` was said.
    finished: bool,
    /// `blame` and the chain name the same units: one span for each.
    units: BTreeMap<String, Unit>,
    /// The chain's units from the root to the last row, each with its column and drawing.
    parents: Vec<(usize, Drawn, String)>,
    /// The chain's first unit, and when it was active.
    root: Option<(String, i64, Origin)>,
    /// The unit that a chain was asked for, if only its duration is printed: it began when
    /// the unit of the next row was active.
    asked: Option<(String, i64, Origin)>,
    /// Whether a row of the chain was drawn or indented as a tree.
    is_tree: bool,
    /// The lines of a log that somebody posted together with this.
    beside: Beside,
    /// What is told in words, for a text without any output: units, and phases.
    named: Vec<(String, i64, Origin)>,
    parts: Vec<(Part, i64)>,
    /// Where the phases begin.
    parts_at: Option<Origin>,
}

impl Reader {
    fn new(source: SourceId, name: &str) -> Self {
        Self {
            source,
            beside: Beside::new(name),
            named: Vec::new(),
            parts: Vec::new(),
            parts_at: None,
            finished: false,
            units: BTreeMap::new(),
            parents: Vec::new(),
            root: None,
            asked: None,
            is_tree: false,
        }
    }

    fn line(&mut self, line: Line<'_>, text: &str, recorder: &mut Recorder) {
        let origin = Origin {
            source: self.source,
            offset: line.offset,
        };
        let rows = joined::rows(text);
        // The line counts once: as what it holds, or else as what it is not.
        let mut skip = None;
        let mut took = false;
        for row in rows {
            match self.row(&Row::of(row), origin, recorder) {
                None => took = true,
                Some(kind) if skip.is_none_or(|s: &NoteKind| s.severity < kind.severity) => {
                    skip = Some(kind);
                }
                Some(_) => {}
            }
        }
        let skip = skip.filter(|_| !took);
        if skip.is_some_and(|kind| kind.name == NOT_UNDERSTOOD.name)
            && (self.beside.line(line, text, recorder) || self.words(text, origin, recorder))
        {
            return;
        }
        match skip {
            Some(kind) => recorder.skipped(origin, kind),
            None => recorder.took(self.source),
        }
    }

    /// Keeps what a line says in words; whether it says anything.
    fn words(&mut self, text: &str, origin: Origin, recorder: &mut Recorder) -> bool {
        let named = prose::mentions(text).into_iter();
        let before = self.named.len();
        self.named
            .extend(named.map(|(name, ns)| (name.to_owned(), ns, origin)));
        let parts = prose::phases(text);
        if !parts.is_empty() {
            self.parts_at.get_or_insert(origin);
        }
        let is_any = !parts.is_empty() || self.named.len() > before;
        self.parts.extend(parts);
        if is_any {
            recorder.took(self.source);
        }
        is_any
    }

    /// Takes what was said in words, where no output says more.
    fn take_words(&mut self, recorder: &mut Recorder) {
        if self.units.is_empty() {
            for (name, ns, origin) in std::mem::take(&mut self.named) {
                self.unit(&name, None, Some(ns), origin);
            }
        }
        let times = prose::startup(&self.parts).filter(|_| !self.finished);
        if let Some((times, origin)) = times.zip(self.parts_at) {
            self.finished = true;
            startup::record(&times, origin, recorder);
        }
    }

    /// Takes a row; why it is no event.
    fn row(
        &mut self,
        row: &Row<'_>,
        origin: Origin,
        recorder: &mut Recorder,
    ) -> Option<&'static NoteKind> {
        if let Row::Chain(link) = row {
            self.climb(link);
            if let Some(at) = link.at {
                let end = at.saturating_add(link.took.unwrap_or(0));
                let asked = self.asked.take().map(|(name, took, origin)| {
                    self.unit(&name, Some(end), Some(took), origin);
                    (name, end.saturating_add(took), origin)
                });
                if self.root.is_none() {
                    self.root = asked.or_else(|| Some((link.name.to_owned(), end, origin)));
                }
            } else if let (true, Some(took)) = (self.parents.is_empty(), link.took) {
                self.asked = Some((link.name.to_owned(), took, origin));
            }
        }
        Some(match row {
            Row::Blank => &BLANK_LINE,
            Row::Caption => &CAPTION,
            Row::Unknown => &NOT_UNDERSTOOD,
            Row::NotReached => &TARGET_NOT_REACHED,
            Row::NotFinished => &BOOT_NOT_FINISHED,
            Row::Blame(_, ns) if *ns >= NO_START_TAKES => &WALL_CLOCK,
            Row::Chain(link) if !self.has_event(link) => {
                self.push(link);
                &UNIT_WITHOUT_TIME
            }
            row => {
                self.event(row, origin, recorder);
                return None;
            }
        })
    }

    fn event(&mut self, row: &Row<'_>, origin: Origin, recorder: &mut Recorder) {
        match row {
            Row::Startup(times, target) => {
                self.finished = true;
                startup::record(times, origin, recorder);
                if let Some((target, at)) = target {
                    reached(target, *at, origin, recorder);
                }
            }
            Row::Reached(target, at) => reached(target, *at, origin, recorder),
            Row::Blame(name, ns) => self.unit(name, None, Some(*ns), origin),
            Row::Chain(link) => {
                if let Some((_, _, parent)) = self.parents.last() {
                    recorder.dependency(parent, link.name, DependencyKind::After, origin);
                }
                self.push(link);
                if link.at.is_some() || link.took.is_some() {
                    self.unit(link.name, link.at, link.took, origin);
                }
            }
            _ => {}
        }
    }

    /// Whether a row has a time or a parent.
    fn has_event(&self, link: &Link<'_>) -> bool {
        link.at.is_some() || link.took.is_some() || !self.parents.is_empty()
    }

    /// Goes back to the unit that a row hangs from: the last one whose name begins further
    /// left, however far. Pages change how wide an indentation is.
    ///
    /// A page that lost the indentation lost all of it. Then each row hangs from the one
    /// before: no level has two last units, and no list two roots.
    fn climb(&mut self, link: &Link<'_>) {
        let root = self.parents.first().map(|(column, ..)| *column);
        self.is_tree |= link.drawn != Drawn::Nothing || root.is_some_and(|r| link.column > r);
        let is_flat = |column: usize, drawn: Drawn| {
            column == link.column
                && drawn == link.drawn
                && (drawn == Drawn::Last || drawn == Drawn::Nothing && !self.is_tree)
        };
        while let Some((column, drawn, _)) = self.parents.last() {
            if *column < link.column || is_flat(*column, *drawn) {
                break;
            }
            self.parents.pop();
        }
    }

    fn push(&mut self, link: &Link<'_>) {
        let name = link.name.to_owned();
        self.parents.push((link.column, link.drawn, name));
    }

    fn unit(&mut self, name: &str, at: Option<i64>, took: Option<i64>, origin: Origin) {
        let is_moment = at.is_some() && took.is_none() && name.ends_with(".device");
        match self.units.get_mut(name) {
            Some(unit) => {
                unit.is_moment |= is_moment && unit.at.is_none();
                unit.at = unit.at.or(at);
                unit.took = unit.took.or(took);
            }
            None => {
                let unit = Unit {
                    at,
                    took,
                    is_moment,
                    origin,
                };
                self.units.insert(name.to_owned(), unit);
            }
        }
    }

    fn finish(mut self, recorder: &mut Recorder) {
        self.take_words(recorder);
        self.beside.finish(recorder);
        // A chain alone ends where its first unit does.
        if let Some((root, end, origin)) = self.root.filter(|_| !self.finished) {
            let clock = recorder.clock(USERSPACE_CLOCK, ClockKind::Monotonic, 1_000_000);
            let userspace = Some(Phase::Userspace);
            recorder.mark(clock, mark::USERSPACE_START, 0, userspace, origin);
            recorder.mark(clock, &root, end, None, origin);
        }
        for (name, unit) in &self.units {
            let name = recorder.name(name);
            // Without a time a span needs a clock only in form.
            let clock = match unit.at {
                Some(_) => recorder.clock(USERSPACE_CLOCK, ClockKind::Monotonic, 1_000_000),
                None => recorder.clock(MONOTONIC, ClockKind::Monotonic, 1_000_000),
            };
            let took = unit.took.filter(|_| !unit.is_moment).unwrap_or(0);
            let end = unit.at.map(|at| at.saturating_add(took));
            let span = recorder
                .span_of(clock, SpanKind::Unit, name, unit.origin)
                .start(unit.at)
                .end(end)
                .reported(unit.took);
            recorder.span(span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Analyze;
    use crate::source::{Sniff, Source as _};

    #[test]
    fn a_page_with_something_left_out_is_no_list_of_units() {
        let page =
            b"The area is divided into records.\n\n  [...]\n\nSee the header.\n```\nx\n```\n";
        assert_eq!(Analyze.sniff(page), Sniff::No);
        let list = b"[...]\n  2.5s a.service\n  1.2s b.service\n";
        assert_eq!(Analyze.sniff(list), Sniff::Yes);
    }
}
