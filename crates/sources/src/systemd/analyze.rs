//! The texts of `systemd-analyze time`, `blame` and `critical-chain`, alone or
//! one after the other in one file. Units of the ledger are lines.

use super::clocks::{MONOTONIC, USERSPACE_CLOCK};
use super::joined;
use super::notes::{BLANK_LINE, BOOT_NOT_FINISHED};
use super::startup::{self, StartupTimes, parse_time_line};
use super::timespan;
use super::unit::is_name as is_unit;
use crate::several_boots::{SEVERAL_BOOTS, ranges, read_last};
use crate::source::{Input, Sniff, Source};
use crate::text::{self, Line};
use record::{
    ClockKind, DependencyKind, NoteKind, Origin, Phase, Recorder, Severity, SourceId, SpanKind,
    mark,
};
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

/// A line that systemd-analyze prints.
#[derive(Debug, PartialEq)]
enum Row<'a> {
    Blank,
    Startup(StartupTimes, Option<(&'a str, i64)>),
    /// A target, and when it was reached.
    Reached(&'a str, i64),
    NotReached,
    NotFinished,
    /// A unit, and how long it took to start.
    Blame(&'a str, i64),
    Chain(Link<'a>),
    Caption,
    Unknown,
}

/// One row of the critical chain. Times count from the start of userspace.
#[derive(Debug, PartialEq)]
struct Link<'a> {
    /// In which column the unit's name begins, in characters.
    column: usize,
    /// What is drawn before it.
    drawn: Drawn,
    name: &'a str,
    /// When it began to start, if it took time, else when it was active.
    at: Option<i64>,
    took: Option<i64>,
}

/// The end of a branch of the tree that is drawn before a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    /// None, as before the root.
    Nothing,
    /// `├─`: others follow on the same level.
    More,
    /// `└─`: it is the last of its level.
    Last,
}

/// Above this a unit's time is the wall clock, which systemd 245 printed for units that it
/// had started in the initrd, nanoseconds: 30 days.
const NO_START_TAKES: i64 = 30 * 86_400 * 1_000_000_000;

const WALL_CLOCK: NoteKind = NoteKind {
    name: "time_of_unit_impossible",
    severity: Severity::Doubt,
    advice: "systemd-analyze blame gives these units more than 30 days, which no start takes. \
        Some versions of systemd print the wall clock for units of the initrd.",
};

/// What systemd-analyze prints around its numbers.
const CAPTIONS: [&str; 7] = [
    "The time when unit became active or started is printed",
    "The time after the unit is active or started is printed",
    "The time the unit took to start is printed",
    "The time the unit takes to start is printed",
    "Please try again later",
    "Hint: Use 'systemctl list-jobs'",
    "Hint: Use 'systemctl --user list-jobs'",
];

/// A line without the marks of a quotation in a mail: `> ` once or more.
fn unquoted(line: &str) -> &str {
    let mut rest = line;
    while let Some(tail) = rest.trim_start().strip_prefix('>') {
        rest = tail.strip_prefix(' ').unwrap_or(tail);
    }
    rest
}

impl<'a> Row<'a> {
    fn of(line: &'a str) -> Self {
        let line = unquoted(line);
        let text = line.trim();
        if text.is_empty() {
            return Self::Blank;
        }
        if is_fence(text) {
            return Self::Caption;
        }
        // Pages put a line between back quotes.
        let text = text.trim_matches('`');
        if let Some((name, ns)) = label(text) {
            return Self::Blame(name, ns);
        }
        if text.starts_with("Startup finished in ") {
            let target = startup::joined_target(text);
            return parse_time_line(text)
                .map_or(Self::Unknown, |times| Self::Startup(times, target));
        }
        if text.starts_with("Bootup is not yet finished") {
            return Self::NotFinished;
        }
        if CAPTIONS.iter().any(|c| text.starts_with(c)) || is_command(text) {
            return Self::Caption;
        }
        if let Some(row) = about_target(text) {
            return row;
        }
        if let Some(times) = startup::parse_quoted(text) {
            return Self::Startup(times, startup::joined_target(text));
        }
        // Pages that lost their blanks.
        if let Some((ns, name)) = tight(text) {
            return Self::Blame(name, ns);
        }
        let listed = item(text);
        if let Some((ns, name)) = timespan::prefix(listed) {
            return match before_remark(name) {
                Some(name) => Self::Blame(name, ns),
                None => Self::Unknown,
            };
        }
        if let Some((name, ns)) = name_first(listed) {
            return Self::Blame(name, ns);
        }
        link(line.trim_end()).map_or(Self::Unknown, Self::Chain)
    }
}

/// A row of a list without the mark of its item: `- `, `* `, `3. `.
fn item(text: &str) -> &str {
    let Some((mark, rest)) = text.split_once(char::is_whitespace) else {
        return text;
    };
    let number = mark.strip_suffix(['.', ')']).unwrap_or_default();
    let is_numbered = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let is_mark = matches!(mark, "-" | "*" | "+" | "•" | "·" | "–" | "—" | "◦");
    match is_mark || is_numbered {
        true => rest.trim_start(),
        false => text,
    }
}

/// What a remark begins with that somebody put behind a unit or a time.
const REMARK: [char; 11] = ['(', '#', '<', '-', '–', '—', '→', '=', ':', ';', ','];

/// The unit at the start of the words behind a time, if nothing but a remark follows it.
fn before_remark(text: &str) -> Option<&str> {
    if is_unit(text) || is_cut(text) {
        return Some(text);
    }
    let (name, remark) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let name = name.trim_end_matches([':', ',', ';', '.']);
    let is_remark = remark.is_empty() || remark.trim_start().starts_with(REMARK);
    (is_unit(name) && is_remark).then_some(name)
}

/// Tables and lists of people have the name first: `a.service 3s`, `a.service: 3s`,
/// `a.service took 3s (why?)`.
fn name_first(text: &str) -> Option<(&str, i64)> {
    let (name, rest) = text.split_once(char::is_whitespace)?;
    let name = name.trim_end_matches([':', ',', '=']);
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || "-–—:=→>".contains(c));
    let words = ["took ", "takes "];
    let time = words.iter().find_map(|w| rest.strip_prefix(w));
    let (ns, remark) = timespan::prefix(time.unwrap_or(rest))?;
    let is_remark = remark.is_empty() || remark.starts_with(REMARK);
    (is_unit(name) && is_remark).then_some((name, ns))
}

/// The label of a bar in a plot, `a.service (1min 2s)`, with or without what an SVG file has
/// around it: somebody may quote the one that is long.
fn label(text: &str) -> Option<(&str, i64)> {
    let inner = match text.strip_prefix("<text ") {
        Some(rest) => rest.split_once('>')?.1.strip_suffix("</text>")?,
        None => text,
    };
    let (name, time) = inner.strip_suffix(')')?.split_once(" (")?;
    is_unit(name).then_some((name, timespan::parse(time)?))
}

/// `1min 6.826siscsi.service`: a time without a blank before the unit.
fn tight(text: &str) -> Option<(i64, &str)> {
    let (before, word) = match text.rsplit_once(char::is_whitespace) {
        Some((before, word)) => (timespan::parse(before)?, word),
        None => (0, text),
    };
    let (ns, name) = timespan::joined(word)?;
    is_unit(name).then_some((before.checked_add(ns)?, name))
}

/// `graphical.target reached after 13.4s in userspace.`, or that it was not.
fn about_target(text: &str) -> Option<Row<'_>> {
    let (name, rest) = text.split_once(' ')?;
    if !is_unit(name) {
        return None;
    }
    if let Some(after) = rest.strip_prefix("reached after ") {
        let after = after.trim_end_matches('.').strip_suffix(" in userspace")?;
        return timespan::parse(after).map(|ns| Row::Reached(name, ns));
    }
    ["was never reached", "is not active", "is inactive"]
        .iter()
        .any(|words| rest.starts_with(words))
        .then_some(Row::NotReached)
}

/// A shell's prompt with the command that printed what follows.
fn is_command(text: &str) -> bool {
    let words = text.trim_start_matches(|c: char| c != ' ').trim_start();
    [text, words]
        .iter()
        .any(|t| t.starts_with("systemd-analyze") || t.starts_with("sudo systemd-analyze"))
}

/// What pages put around an output.
fn is_fence(text: &str) -> bool {
    text.starts_with("```") || text.starts_with("~~~") || matches!(text, "..." | "…" | "[...]")
}

/// Whether `name` is the name of a unit that a narrow screen cut: without its kind, and
/// with an escape, an instance or what the pager puts at the edge.
fn is_cut(name: &str) -> bool {
    let is_at_edge = name.ends_with('>') || name.ends_with('…');
    let stem = name.trim_end_matches(['>', '…']);
    let valid = |b: u8| b.is_ascii_alphanumeric() || b":-_.\\@".contains(&b);
    let is_unit_like = is_at_edge || stem.contains("\\x2d") || stem.contains('@');
    stem.len() >= SHORTEST_CUT && is_unit_like && stem.bytes().all(valid)
}

/// No screen is so narrow that it cuts a shorter name.
const SHORTEST_CUT: usize = 16;

/// A row of the critical chain: the tree drawn before it (in UTF-8 or ASCII), the unit, `@`
/// and `+`.
fn link(line: &str) -> Option<Link<'_>> {
    let is_trunk = |c: char| c.is_whitespace() || c == '│' || c == '|';
    // `|-` is a branch, and `| ` is not.
    let end = line.find("|-").unwrap_or(line.len());
    let trunk = line.get(..end)?.find(|c| !is_trunk(c)).unwrap_or(end);
    let mut rest = line.get(trunk..)?;
    let mut drawn = Drawn::Nothing;
    for (branch, kind) in [
        ("└─", Drawn::Last),
        ("├─", Drawn::More),
        ("`-", Drawn::Last),
        ("|-", Drawn::More),
    ] {
        if let Some(tail) = rest.strip_prefix(branch) {
            // Some pages put a blank between the drawing and the unit.
            rest = tail.trim_start();
            drawn = kind;
            break;
        }
    }
    // Forums cut the drawing down to dashes; a name may begin with one.
    let dashes = rest.bytes().take_while(|b| *b == b'-').count();
    if dashes > 1 && drawn == Drawn::Nothing {
        rest = rest.get(dashes - dashes % 2..)?;
        drawn = Drawn::Last;
    }
    let before = line.len() - rest.len();
    let column = line.get(..before)?.chars().count();
    // Pages that lost their blanks lost these, too; an instance has an `@` of its own.
    let spaceless = || {
        let (name, times) = rest.rsplit_once('@')?;
        let at = times.split('+').next().unwrap_or(times);
        timespan::parse(at.trim())?;
        is_unit(name.trim_end()).then_some((name.trim_end(), times))
    };
    let (name, times) = match rest.split_once(" @").or_else(spaceless) {
        Some((name, times)) => (name.trim_end(), Some(times)),
        // The unit that was asked for has only the time that it took.
        None => match rest.split_once(" +") {
            Some((name, took)) if is_unit(name.trim_end()) => {
                let took = Some(timespan::parse(took)?);
                let name = name.trim_end();
                return Some(Link {
                    column,
                    drawn,
                    name,
                    at: None,
                    took,
                });
            }
            _ => (rest, None),
        },
    };
    // The pager cuts what is deep in the tree.
    if !(is_unit(name) || drawn != Drawn::Nothing && is_cut(name)) {
        return None;
    }
    let halves = |t: &'_ str| {
        t.split_once('+')
            .map_or((t.trim().to_owned(), String::new()), |(a, b)| {
                (a.trim().to_owned(), b.trim().to_owned())
            })
    };
    let times = times.map(halves);
    let (at, took) = match times
        .as_ref()
        .map(|(at, took)| (at.as_str(), took.as_str()))
    {
        None => (None, None),
        Some((at, "")) => (Some(time_before_words(at)?), None),
        Some((at, took)) => (Some(timespan::parse(at)?), Some(time_before_words(took)?)),
    };
    Some(Link {
        column,
        drawn,
        name,
        at,
        took,
    })
}

/// A time at the end of a row, and what people put behind it: an arrow, a remark.
fn time_before_words(text: &str) -> Option<i64> {
    timespan::prefix(text).map(|(ns, _)| ns)
}

/// Tags of pages around words, with or without a slash before them.
const TAGS: [&str; 9] = ["b", "br", "code", "em", "i", "pre", "samp", "strong", "tt"];

/// Characters that pages write as a name between `&` and `;`.
const ENTITIES: [(&str, char); 5] = [
    ("amp", '&'),
    ("gt", '>'),
    ("lt", '<'),
    ("nbsp", ' '),
    ("quot", '"'),
];

/// A line without the tags of a page, and with the characters that it writes by name or number.
fn without_markup(line: String) -> String {
    if !line.contains(['<', '&']) {
        return line;
    }
    let mut clean = String::with_capacity(line.len());
    let mut rest = line.as_str();
    while let Some(at) = rest.find(['<', '&']) {
        let (before, marked) = rest.split_at(at);
        clean.push_str(before);
        rest = match markup(marked) {
            Some((character, after)) => {
                clean.extend(character);
                after
            }
            None => {
                let mut characters = marked.chars();
                clean.extend(characters.next());
                characters.as_str()
            }
        };
    }
    clean.push_str(rest);
    clean
}

/// The character that a tag or an entity at the start of `text` stands for, if it is one that
/// stands for any, and what follows it.
fn markup(text: &str) -> Option<(Option<char>, &str)> {
    if let Some(tag) = text.strip_prefix('<') {
        let (name, after) = tag.split_once('>')?;
        let name = name.trim_matches(['/', ' ']);
        return TAGS.contains(&name).then_some((None, after));
    }
    let (name, after) = text.strip_prefix('&')?.split_once(';')?;
    let number = name.strip_prefix('#').map(|n| match n.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => n.parse().ok(),
    });
    let character = match number {
        Some(number) => char::from_u32(number?)?,
        None => ENTITIES.iter().find(|e| e.0 == name)?.1,
    };
    Some((Some(character), after))
}

/// A line as systemd-analyze printed it: without terminal controls, without the stars that
/// pages put around what they stress, and without the lines of a table.
fn printed(line: &[u8]) -> String {
    let clean = text::without_controls(line);
    let mut text = without_markup(text::lossy(&clean).replace("**", ""));
    // Pages put names and times between back quotes; a tree may be drawn with them.
    if !text.contains("`-") && !is_fence(text.trim()) {
        text.retain(|c| c != '`');
    }
    let row = text
        .trim()
        .strip_prefix('|')
        .and_then(|t| t.strip_suffix('|'));
    match row {
        Some(row) => row.split('|').map(str::trim).collect::<Vec<_>>().join(" "),
        None => text,
    }
}

/// How a line font of terminals (DEC Special Graphics) draws a branch, and what text that was
/// copied without the switch to this font has in its place.
const LETTERS: [(&str, &str); 2] = [("mq", "└─"), ("tq", "├─")];

/// The trunk and the branch of a row that was drawn with letters: `x mqa.service`.
fn letters(line: &str) -> Option<(&str, &'static str, &str)> {
    let rest = line.trim_start_matches([' ', 'x']);
    let trunk = line.strip_suffix(rest)?;
    let mut forms = LETTERS.iter();
    forms.find_map(|(drawn, branch)| Some((trunk, *branch, rest.strip_prefix(drawn)?)))
}

/// Whether the tree of a chain is drawn with letters: then all its branches are.
fn is_lettered<'a>(lines: impl Iterator<Item = Line<'a>>) -> bool {
    let mut branches = 0_usize;
    for line in lines {
        let text = printed(line.bytes);
        let row = unquoted(&text).trim_end();
        let is_branch = letters(row).is_some();
        // A row at the margin that is none decides nothing.
        if !is_branch && !row.starts_with(' ') {
            continue;
        }
        if matches!(Row::of(row), Row::Chain(Link { at: Some(_), .. })) {
            if !is_branch {
                return false;
            }
            branches = branches.saturating_add(1);
        }
    }
    branches > 1
}

/// Such a row as it was meant.
fn drawn(text: String) -> String {
    match letters(&text) {
        Some((trunk, branch, unit)) => format!("{}{branch}{unit}", trunk.replace('x', "│")),
        None => text,
    }
}

impl Source for Analyze {
    fn name(&self) -> &'static str {
        "systemd-analyze"
    }

    fn description(&self) -> &'static str {
        "systemd summaries: `systemd-analyze time`, `blame` or `critical-chain`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let (mut known, mut unknown) = (0_usize, 0_usize);
        // A whole plot has the times of its units, too.
        if memchr::memmem::find(head, b"<svg").is_some() {
            return Sniff::No;
        }
        for (_, line, _) in whole_lines(text::lines(head).take(200)) {
            for row in joined::rows(&line) {
                match Row::of(row) {
                    // A unit's name alone could be any list, and any page has fences.
                    Row::Blank | Row::Caption | Row::Chain(Link { at: None, .. }) => {}
                    Row::Unknown => unknown = unknown.saturating_add(1),
                    _ => known = known.saturating_add(1),
                }
            }
        }
        match known {
            0 => Sniff::No,
            _ if known >= unknown => Sniff::Yes,
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
        let mut reader = Reader::new(source);
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

/// The lines with their texts. A `Startup finished` line that a mail broke is one text, with
/// how many lines follow its first.
fn whole_lines<'a>(
    lines: impl Iterator<Item = Line<'a>>,
) -> impl Iterator<Item = (Line<'a>, String, usize)> {
    let mut lines = lines.peekable();
    std::iter::from_fn(move || {
        let first = lines.next()?;
        let mut whole = printed(first.bytes);
        let mut others = 0_usize;
        while is_open(&whole) {
            let next = lines.peek().map(|line| printed(line.bytes));
            let Some(rest) = next.as_deref().and_then(|next| continues(&whole, next)) else {
                break;
            };
            whole = format!("{} {rest}", whole.trim_end());
            others = others.saturating_add(1);
            lines.next();
        }
        Some((first, whole, others))
    })
}

/// Whether a line begins what systemd says of the whole boot, and has no end.
fn is_open(line: &str) -> bool {
    let text = unquoted(line).trim();
    text.starts_with("Startup finished in ") && !text.contains(" = ")
}

/// What a line adds to such a one: another part, the name of the last part, or the time that
/// a sign at the end of the line before announces.
fn continues<'a>(begun: &str, line: &'a str) -> Option<&'a str> {
    let text = unquoted(line).trim();
    let is_rest = ["+ ", "= ", "("].iter().any(|t| text.starts_with(t));
    let is_announced = begun.trim_end().ends_with(['+', '=']);
    (is_rest || is_announced && timespan::prefix(text).is_some()).then_some(text)
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
}

impl Reader {
    fn new(source: SourceId) -> Self {
        Self {
            source,
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
        match skip.filter(|_| !took) {
            Some(kind) => recorder.skipped(origin, kind),
            None => recorder.took(self.source),
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

    fn finish(self, recorder: &mut Recorder) {
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
    use super::Drawn::{Last, More, Nothing};
    use super::{Analyze, Drawn, Link, Row, drawn, is_lettered, printed};
    use crate::source::{Sniff, Source as _};

    fn chain(
        (column, drawn): (usize, Drawn),
        name: &str,
        at: Option<i64>,
        took: Option<i64>,
    ) -> Row<'_> {
        Row::Chain(Link {
            column,
            drawn,
            name,
            at,
            took,
        })
    }

    #[test]
    fn a_tree_of_letters_is_one_only_if_all_its_branches_are() {
        let is = |text: &str| is_lettered(crate::text::lines(text.as_bytes()));
        assert!(is("a.target @3s\nmqb.target @2s\n  mqmqtt.service @1s\n"));
        assert!(!is(
            "a.target @3s\nmqtt.service @2s\n  mqtt-b.service @1s\n    c.target @1s\n"
        ));
        assert!(!is(
            "a.target @3s\n└─mqb.target @2s\n  └─mqtt.service @1s\n"
        ));
        let row = drawn("  x   tqa.service @1s".to_owned());
        assert_eq!(row, "  │   ├─a.service @1s");
    }

    #[test]
    fn a_table_is_its_rows() {
        for (line, row) in [
            ("| 1.5s | **a.service** |", "1.5s a.service"),
            (" |a.service|1.5s|", "a.service 1.5s"),
            ("| `-b.service @1s", "| `-b.service @1s"),
            ("- `1.5s` `a.service`", "- 1.5s a.service"),
            ("```text", "```text"),
            ("&#9492;&#9472;a.target @1s", "└─a.target @1s"),
            ("<pre>1.5s <b>a.service</b><br/>", "1.5s a.service"),
            ("a &lt;-&#x20;b &c; < d", "a <- b &c; < d"),
            (
                "<text x=\"2\">a.service (2s)</text>",
                "<text x=\"2\">a.service (2s)</text>",
            ),
        ] {
            assert_eq!(printed(line.as_bytes()), row);
        }
    }

    #[test]
    fn every_row_is_told_apart() {
        const MS: i64 = 1_000_000;
        for (line, row) in [
            ("", Row::Blank),
            (" 912ms x.service", Row::Blame("x.service", 912 * MS)),
            ("1min 2s 5.service", Row::Blame("5.service", 62_000 * MS)),
            ("a.mount (1min 2s)", Row::Blame("a.mount", 62_000 * MS)),
            (
                "  <text class=\"right\" x=\"2.0\" y=\"14.0\">a.swap (2s)</text>",
                Row::Blame("a.swap", 2_000 * MS),
            ),
            ("a.swap (two)", Row::Unknown),
            ("- 2s a.swap", Row::Blame("a.swap", 2_000 * MS)),
            ("3. 2s a.swap", Row::Blame("a.swap", 2_000 * MS)),
            ("*  2s a.swap (not mine)", Row::Blame("a.swap", 2_000 * MS)),
            ("2s a.swap, for whom?", Row::Unknown),
            ("2s a.swap, # for whom?", Row::Blame("a.swap", 2_000 * MS)),
            ("2s a.swap for whom?", Row::Unknown),
            ("a.swap: 2s", Row::Blame("a.swap", 2_000 * MS)),
            ("• a.swap took 2s (why?)", Row::Blame("a.swap", 2_000 * MS)),
            ("a.swap 2s of 3s", Row::Unknown),
            ("912ms of work", Row::Unknown),
            (
                "graphical.target @1min 5.569s",
                chain((0, Nothing), "graphical.target", Some(65_569 * MS), None),
            ),
            (
                "└─a.service @25.864s +39.703s",
                chain((2, Last), "a.service", Some(25_864 * MS), Some(39_703 * MS)),
            ),
            (
                "  │ └─-.mount @2ms",
                chain((6, Last), "-.mount", Some(2 * MS), None),
            ),
            (
                "  `--.slice @2ms",
                chain((4, Last), "-.slice", Some(2 * MS), None),
            ),
            ("  ├─b.socket", chain((4, More), "b.socket", None, None)),
            (
                "----c.service @2ms",
                chain((4, Last), "c.service", Some(2 * MS), None),
            ),
            (
                "-----.mount @2ms",
                chain((4, Last), "-.mount", Some(2 * MS), None),
            ),
            (
                "-.slice @2ms",
                chain((0, Nothing), "-.slice", Some(2 * MS), None),
            ),
            (
                "> └─d.socket @2ms",
                chain((2, Last), "d.socket", Some(2 * MS), None),
            ),
            (
                "└─ e.target   @2ms",
                chain((3, Last), "e.target", Some(2 * MS), None),
            ),
            (
                "└─a.service @1s +2ms  :confused:",
                chain((2, Last), "a.service", Some(1_000 * MS), Some(2 * MS)),
            ),
            (
                "└─a.target @1s  <-- here",
                chain((2, Last), "a.target", Some(1_000 * MS), None),
            ),
            (
                "  └─dev-disk-by\\x2duuid-cf5ae7b8>",
                chain((4, Last), "dev-disk-by\\x2duuid-cf5ae7b8>", None, None),
            ),
            (
                "f.service +2ms",
                chain((0, Nothing), "f.service", None, Some(2 * MS)),
            ),
            (
                "2s systemd-fsck@dev-disk-by\\x2duuid-1a",
                Row::Blame("systemd-fsck@dev-disk-by\\x2duuid-1a", 2_000 * MS),
            ),
            ("2s of-several-things-at-once", Row::Unknown),
            ("a.service   1min 2s", Row::Blame("a.service", 62_000 * MS)),
            ("a.service is slow", Row::Unknown),
            ("```", Row::Caption),
            ("└─a.service @soon", Row::Unknown),
            (
                "└─g@t1.service@5.5s+2ms",
                chain((2, Last), "g@t1.service", Some(5_500 * MS), Some(2 * MS)),
            ),
            (
                "multi-user.target reached after 275ms in userspace",
                Row::Reached("multi-user.target", 275 * MS),
            ),
            ("graphical.target was never reached", Row::NotReached),
            ("Bootup is not yet finished (x=0).", Row::NotFinished),
            ("$ systemd-analyze blame", Row::Caption),
            ("total 12", Row::Unknown),
        ] {
            assert_eq!(Row::of(line), row, "{line:?}");
        }
    }

    #[test]
    fn a_page_with_something_left_out_is_no_list_of_units() {
        let page =
            b"The area is divided into records.\n\n  [...]\n\nSee the header.\n```\nx\n```\n";
        assert_eq!(Analyze.sniff(page), Sniff::No);
        let list = b"[...]\n  2.5s a.service\n  1.2s b.service\n";
        assert_eq!(Analyze.sniff(list), Sniff::Yes);
    }
}
