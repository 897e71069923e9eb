//! `bootstage report`, as U-Boot prints it.

use super::notes as note;
use super::table::{Entry, Table, Time, clock, ns};
use record::{ClockId, NoteKind, Origin, Recorder, SourceId};

/// What a report begins with.
pub(super) const TITLE: &str = "Timer summary in microseconds";

/// How far the host's stamp of a report's first line may lie from the mark that
/// U-Boot makes just before it prints it: some characters of a serial line.
const PRINTED_AFTER_NS: u64 = 20_000_000;

/// How many lines of others may stand between two rows of marks.
const MOST_FOREIGN: u8 = 4;

/// What a mark is called that its loader did not name.
const UNNAMED: &str = "unnamed mark";

/// What the mark before the first row is called, in a report whose beginning is not there.
const BEFORE: &str = "earlier stages";

/// The heads of the columns of marks, which follow the title.
fn is_columns(text: &str) -> bool {
    text.starts_with("Mark") && text.ends_with("Stage")
}

/// Whether a report begins with its columns: only its title is not there.
pub(super) fn has_columns(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|l| !l.is_empty());
    first.is_some_and(is_columns)
}

/// Whether these are rows of a report without what it begins with: each mark is the one
/// before it and the time between the two.
pub(super) fn is_headless(text: &str) -> bool {
    let lines = text.lines().map(str::trim);
    let mut rows = lines.filter(|l| !l.is_empty() && !is_columns(l));
    let is_sure = has_columns(text);
    let row = |line: &str| -> Option<(u64, u64)> {
        let (mark, rest) = grouped(line)?;
        let (elapsed, name) = grouped(rest.strip_prefix([' ', '\t'])?.trim_start())?;
        let is_named = name.starts_with([' ', '\t']) && !name.trim().is_empty();
        let has_commas = mark.contains(',');
        (is_named && (has_commas || is_sure)).then_some((number(mark)?, number(elapsed)?))
    };
    let Some(mut last) = rows.next().and_then(row) else {
        return false;
    };
    let mut count = 0_u32;
    for line in rows.take(8) {
        let Some(next) = row(line) else { break };
        if last.0.checked_add(next.1) != Some(next.0) {
            return false;
        }
        (last, count) = (next, count + 1);
    }
    count > 0
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is a line of a report.
    Report,
    /// It is one that holds nothing.
    Noted(&'static NoteKind),
    /// It is none of a report.
    Other,
}

/// The part of a report that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Outside,
    Marks,
    Accumulated,
}

/// Reads reports, line by line, from a log that may hold more.
#[derive(Debug)]
pub(crate) struct Reader {
    source: SourceId,
    part: Part,
    /// The report that is being read: where it begins, and when the host saw
    /// that.
    title: Option<(Origin, Option<(ClockId, i64)>)>,
    /// How many records its first line says.
    records: Option<u64>,
    rows: Vec<Entry>,
    /// How many lines of others came since the last row.
    foreign: u8,
    /// The mark of the row before.
    before: u64,
    table: Table,
    /// The host's stamp of a report, and the last mark in it.
    printed: Option<Printed>,
    /// The host's stamp of the first line.
    first: Option<i64>,
    /// Whether the first row is still to come, of a report whose beginning is not there.
    headless: bool,
}

/// When a host saw a report.
#[derive(Clone, Copy, Debug)]
struct Printed {
    host: (ClockId, i64),
    last_us: u64,
    origin: Origin,
    /// U-Boot printed it by itself, right after its last mark.
    at_handoff: bool,
}

impl Reader {
    pub(crate) fn new(source: SourceId) -> Self {
        Self {
            source,
            part: Part::Outside,
            title: None,
            records: None,
            rows: Vec::new(),
            foreign: 0,
            before: 0,
            table: Table::default(),
            printed: None,
            first: None,
            headless: false,
        }
    }

    /// Begins a report whose title is not there. `headless`: nor are its first marks.
    pub(super) const fn begin(&mut self, origin: Origin, headless: bool) {
        self.part = Part::Marks;
        self.title = Some((origin, None));
        self.headless = headless;
    }

    /// Reads a line. `host` is when it arrived, on the clock of whoever took
    /// the log.
    pub(crate) fn line(
        &mut self,
        line: &str,
        offset: u64,
        host: Option<(ClockId, i64)>,
        recorder: &mut Recorder,
    ) -> Outcome {
        let origin = Origin {
            source: self.source,
            offset,
        };
        self.first = self.first.or(host.map(|(_, at)| at));
        let text = line.trim();
        if let Some(rest) = text.strip_prefix(TITLE) {
            self.close(recorder);
            self.part = Part::Marks;
            self.foreign = 0;
            self.title = Some((origin, host));
            self.before = 0;
            self.records = rest
                .trim_start_matches([' ', '('])
                .split_once(" records")
                .and_then(|(n, _)| n.parse().ok());
            return Outcome::Report;
        }
        if self.part == Part::Outside {
            return Outcome::Other;
        }
        if text.is_empty() {
            return Outcome::Noted(&note::BLANK_LINE);
        }
        if text == "Accumulated time:" {
            self.part = Part::Accumulated;
            return Outcome::Report;
        }
        if is_columns(text) {
            return Outcome::Report;
        }
        // Older U-Boots write these two in brackets that they do not close.
        let remark = text.trim_start_matches(['(', '-', ' ']);
        if let Some(lost) = remark.strip_prefix("Overflowed internal boot id table by ") {
            let lost = lost.split(' ').next().and_then(|n| n.parse().ok());
            recorder.note_many(origin, &note::TABLE_FULL, lost.unwrap_or(1), String::new);
            return Outcome::Report;
        }
        if remark.starts_with("Please increase CONFIG_")
            || remark.starts_with("please increase CONFIG_")
            || text.contains(" stages were proceeded")
        {
            return Outcome::Report;
        }
        let row = match self.part {
            Part::Marks => self.mark(text, origin, recorder),
            _ => accumulated(text),
        };
        match row {
            Some((time, name)) => {
                self.foreign = 0;
                self.rows.push(Entry {
                    name: name.to_owned(),
                    time,
                    origin,
                });
                Outcome::Report
            }
            None => {
                // Others print on the same line of the console.
                self.foreign += 1;
                if self.part == Part::Accumulated || self.foreign > MOST_FOREIGN {
                    self.close(recorder);
                }
                Outcome::Other
            }
        }
    }

    /// A row of the marks: the mark, the time since the row before, the name.
    fn mark<'l>(
        &mut self,
        row: &'l str,
        origin: Origin,
        recorder: &mut Recorder,
    ) -> Option<(Time, &'l str)> {
        let since = |mark: u64, before: u64| {
            // U-Boot's own rule for records that are out of order.
            mark - if before > mark { 0 } else { before }
        };
        let (first, rest) = grouped(row)?;
        let apart = rest.starts_with([' ', '\t']);
        let (mark, elapsed, name) = match grouped(rest.trim_start()) {
            Some((elapsed, name))
                if apart && (name.is_empty() || name.starts_with([' ', '\t'])) =>
            {
                (number(first)?, number(elapsed)?, name)
            }
            // A vendor's kernel writes the word for marks that go back.
            None if rest.trim_start().starts_with("overflow ") => {
                let (_, name) = rest.trim_start().split_once(' ')?;
                let mark = number(first)?;
                (mark, since(mark, self.before), name)
            }
            // From 1,000 seconds on, and from 100 seconds in both columns,
            // nothing stands between the two numbers.
            _ => {
                let digits: String = first.chars().filter(char::is_ascii_digit).collect();
                let split = (1..digits.len()).find_map(|at| {
                    let (mark, elapsed) = digits.split_at(at);
                    let (mark, elapsed) = (number(mark)?, number(elapsed)?);
                    (since(mark, self.before) == elapsed).then_some((mark, elapsed))
                });
                let (mark, elapsed) = split?;
                (mark, elapsed, rest)
            }
        };
        if std::mem::take(&mut self.headless)
            && let Some(before) = mark.checked_sub(elapsed)
        {
            self.before = before;
            self.rows.push(Entry {
                name: BEFORE.to_owned(),
                time: Time::Mark(before),
                origin,
            });
        }
        if since(mark, self.before) != elapsed {
            // Between lines of others, only a row that fits is one.
            if self.foreign > 0 {
                return None;
            }
            recorder.note(origin, &note::ELAPSED_DIFFERS, || row.to_owned());
        }
        self.before = mark;
        let name = name.trim();
        let name = if name.is_empty() { UNNAMED } else { name };
        Some((Time::Mark(mark), name))
    }

    /// Ends the report that is being read.
    fn close(&mut self, recorder: &mut Recorder) {
        self.part = Part::Outside;
        let rows = std::mem::take(&mut self.rows);
        let Some((origin, host)) = self.title.take() else {
            return;
        };
        if let Some(records) = self.records.take()
            && (rows.len() as u64) < records
        {
            let missing = records - rows.len() as u64;
            recorder.note_many(origin, &note::FEWER_ROWS, missing, String::new);
        }
        if rows.is_empty() {
            return;
        }
        if !self.table.merge(rows) {
            Table::refuse(origin, recorder);
            return;
        }
        let known = self.printed.is_some_and(|p| p.at_handoff);
        if let (Some(host), Some((_, last_us)), false) = (host, self.table.last(), known) {
            self.printed = Some(Printed {
                host,
                last_us,
                origin,
                at_handoff: self.table.is_final(),
            });
        }
    }

    /// Records all that was read.
    pub(crate) fn finish(mut self, recorder: &mut Recorder) {
        self.close(recorder);
        if self.table.is_empty() {
            return;
        }
        let clock = clock(recorder);
        if let Some(p) = self.printed {
            // A report that somebody asked for may come any time after its
            // last mark, but that mark was made while the log was taken.
            let began = self.first.unwrap_or(p.host.1);
            let error = if p.at_handoff {
                PRINTED_AFTER_NS
            } else {
                p.host.1.saturating_sub(began).unsigned_abs()
            };
            recorder.relate(p.host, (clock, ns(p.last_us)), error, Some(p.origin));
        }
        self.table.record(clock, recorder);
    }
}

/// A row of accumulated times: the time, the name.
fn accumulated(row: &str) -> Option<(Time, &str)> {
    let (time, name) = grouped(row)?;
    let name = name.strip_prefix([' ', '\t'])?.trim();
    let time = Time::Accumulated(number(time)?);
    (!name.is_empty()).then_some((time, name))
}

/// Digits with commas at the start of `text`, and what follows them.
fn grouped(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ',');
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    digits
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some((digits, rest))
}

/// The number that digits with commas are. U-Boot puts the commas of numbers
/// with more than nine digits in the wrong places.
fn number(digits: &str) -> Option<u64> {
    let mut value = 0_u64;
    for digit in digits.bytes().filter(u8::is_ascii_digit) {
        value = value.checked_mul(10)?.checked_add((digit - b'0').into())?;
    }
    Some(value)
}
