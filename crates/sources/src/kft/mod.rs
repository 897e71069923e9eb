//! Kernel Function Trace (KFT, before: KFI): its log, and what `kd` makes of
//! it, a table of functions or a tree of calls.
//!
//! A unit is a row, or a line that should be one; the log's header is facts
//! and marks.

mod log;
mod notes;
mod row;
mod table;
mod tree;

use crate::source::{Input, Sniff, Source};
use crate::text::{Line, lines};
use record::{Origin, Recorder, SourceId};
use row::Row;
use std::borrow::Cow;

/// How many lines may stand before the head of a table: the log's header lists
/// what it was set to record.
const MOST_LINES_BEFORE: usize = 2_000;

/// A log of KFT (`/proc/kft_data`, also after `addr2sym`), the table that `kd`
/// prints of one, or its tree (`kd -c`); and the tables of `ftd`, which has
/// `kd`'s columns.
#[derive(Debug)]
pub struct Kft;

/// Which of the three forms an input has: its column heads say it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Log,
    Table(Vec<table::Column>),
    Tree(Vec<tree::Column>),
}

impl Form {
    /// The form whose column heads this line is.
    fn of(line: &[u8]) -> Option<Self> {
        if log::is_head(line) {
            return Some(Self::Log);
        }
        if let Some(columns) = tree::columns(line) {
            return Some(Self::Tree(columns));
        }
        table::columns(line).map(Self::Table)
    }
}

impl Source for Kft {
    fn name(&self) -> &'static str {
        "kft"
    }

    fn description(&self) -> &'static str {
        "Kernel Function Trace log, table or call tree: `/proc/kft_data`, `kd`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let mut lines = lines(head).take(MOST_LINES_BEFORE).map(|l| plain(l.bytes));
        let known = lines.any(|line| log::is_run(&line) || Form::of(&line).is_some());
        match known {
            true => Sniff::Yes,
            false => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let mut reader = Reader {
            source,
            form: None,
            log: log::Log::default(),
            tree: tree::Tree::default(),
        };
        for line in lines(input.bytes) {
            reader.line(line, recorder);
        }
        let Reader { log, tree, .. } = reader;
        log.finish(source, recorder);
        tree.finish(recorder);
    }

    fn is_bounded(&self) -> bool {
        true
    }
}

/// Reads line by line.
struct Reader {
    source: SourceId,
    form: Option<Form>,
    log: log::Log,
    tree: tree::Tree,
}

impl Reader {
    fn line(&mut self, line: Line<'_>, recorder: &mut Recorder) {
        let origin = Origin {
            source: self.source,
            offset: line.offset,
        };
        let text = plain(line.bytes);
        let words = text.trim_ascii();
        // A second run begins with its own header and head.
        if let Some(form) = Form::of(words) {
            self.form = Some(form);
            return;
        }
        if words.is_empty() || is_rule(words) || self.log.header(words, origin, recorder) {
            return;
        }
        let read = match &self.form {
            None => return,
            Some(Form::Log) => self.log.row(words, origin, recorder),
            Some(Form::Table(columns)) => table::row(columns, words, origin, recorder),
            Some(Form::Tree(columns)) => self.tree.row(columns, &text, origin, recorder),
        };
        match read {
            Row::Taken => recorder.took(self.source),
            Row::Mark => {}
            Row::Noted(kind) => recorder.skipped(origin, kind),
        }
    }
}

/// `---- ----` between a head and its rows.
fn is_rule(line: &[u8]) -> bool {
    line.starts_with(b"--") && line.iter().all(|b| matches!(b, b'-' | b' '))
}

/// A line without what pages put into it: no-break spaces (U+00A0).
fn plain(line: &[u8]) -> Cow<'_, [u8]> {
    const NO_BREAK: &[u8] = b"\xc2\xa0";
    if memchr::memmem::find(line, NO_BREAK).is_none() {
        return Cow::Borrowed(line);
    }
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = memchr::memmem::find(rest, NO_BREAK) {
        plain.extend_from_slice(rest.get(..at).unwrap_or_default());
        plain.push(b' ');
        rest = rest.get(at + NO_BREAK.len()..).unwrap_or_default();
    }
    plain.extend_from_slice(rest);
    Cow::Owned(plain)
}
