//! The lines of cloud-init's log, of its output and of `cloud-init analyze`.
//!
//! The names of stages are those of `cloudinit/analyze/dump.py`.

use crate::decimal;
use crate::walltime::iso_or_blank;

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Row<'a> {
    Blank,
    /// A stage begins, so long after the kernel.
    Begins(Wall, &'a str, i64),
    /// A stage has ended, by the log.
    Ended(i64, &'a str),
    /// All stages have ended, so long after the kernel.
    Finished(Wall, i64),
    /// A part of a stage begins.
    Start(i64, &'a str),
    /// A part of a stage has ended, and whether it did what it should.
    Finish(i64, &'a str, Outcome),
    /// An address did not answer, with how long that has been so.
    Waits(&'a str),
    /// Another line of the log.
    Other,
    /// `analyze show`: the rows of a stage follow.
    Stage(&'a str),
    /// `analyze show`: what was done, from when on and for how long.
    Done(&'a str, i64, i64),
    /// `analyze show` and `blame`: a stage, or a part of one, and how long it took.
    Took(&'a str, i64),
    /// `analyze boot`: how long the kernel took, and how long it was from its end until
    /// systemd started cloud-init.
    Kernel(i64),
    Activation(i64),
    /// A boot of `analyze` follows.
    Record,
    Caption,
    Unknown,
}

/// The stamp before a line, in nanoseconds since 1970; the output has none.
pub(super) type Wall = Option<i64>;

/// How a part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Success,
    Warn,
    Fail,
}

/// What the tool prints around its numbers.
const CAPTIONS: [&str; 8] = [
    "The total time elapsed since completing an event is printed",
    "The time the event takes is printed after the",
    "character.",
    "Total Time: ",
    "Kernel Started at: ",
    "Kernel ended boot at: ",
    "Cloud-init activated by systemd at: ",
    "Cloud-init start: ",
];

impl<'a> Row<'a> {
    pub fn of(line: &'a str) -> Self {
        if let Some((at, text)) = stamped(line) {
            return Self::logged(at, text);
        }
        let text = line.trim();
        if text.is_empty() {
            return Self::Blank;
        }
        Self::said(None, text)
            .or_else(|| Self::analyzed(text))
            .unwrap_or(Self::Unknown)
    }

    /// A line of the log behind its stamp and module.
    fn logged(at: i64, text: &'a str) -> Self {
        if let Some(name) = text.strip_prefix("start: ").and_then(part) {
            return Self::Start(at, name.0);
        }
        if let Some((name, rest)) = text.strip_prefix("finish: ").and_then(part) {
            let outcome = match rest.split(':').next() {
                Some("SUCCESS") => Outcome::Success,
                Some("WARN") => Outcome::Warn,
                _ => Outcome::Fail,
            };
            return Self::Finish(at, name, outcome);
        }
        // cloud-init mode 'init' took 1.234 seconds (1.23)
        let mode = text.strip_prefix("cloud-init mode '");
        if let Some((mode, rest)) = mode.and_then(|m| m.split_once('\''))
            && rest.starts_with(" took ")
        {
            return Self::Ended(at, stage(mode));
        }
        if text.contains("' failed [") || text.starts_with("Giving up on ") {
            return Self::Waits(text);
        }
        Self::said(Some(at), text).unwrap_or(Self::Other)
    }

    /// `Cloud-init v. 23.3 running 'init' at ... Up 5.12 seconds.`, or `finished at`.
    fn said(at: Wall, text: &'a str) -> Option<Self> {
        let text = text.strip_prefix("Cloud-init v. ")?;
        let (_, up) = text
            .rsplit_once(". Up ")
            .or_else(|| text.rsplit_once(" Up "))?;
        let up = seconds(
            up.strip_suffix(" seconds.")
                .or_else(|| up.strip_suffix(" seconds"))?,
        )?;
        if let Some((_, rest)) = text.split_once(" running '") {
            let (mode, _) = rest.split_once('\'')?;
            return Some(Self::Begins(at, stage(mode), up));
        }
        text.contains(" finished at ")
            .then_some(Self::Finished(at, up))
    }

    /// A line of `cloud-init analyze`.
    fn analyzed(text: &'a str) -> Option<Self> {
        if text.starts_with("-- ") && text.ends_with(" --") && text.contains(" Record") {
            return Some(Self::Record);
        }
        if let Some(name) = text.strip_prefix("Starting stage: ") {
            return Some(Self::Stage(name));
        }
        if let Some(rest) = text.strip_prefix("Finished stage: (") {
            let (name, time) = rest.split_once(')')?;
            return Some(Self::Took(
                name,
                seconds(time.trim().strip_suffix(" seconds")?)?,
            ));
        }
        if let Some((_, rest)) = text.split_once("`->") {
            let (rest, took) = rest.rsplit_once(" +")?;
            let (what, from) = rest.rsplit_once(" @")?;
            return Some(Self::Done(what.trim(), time(from)?, time(took)?));
        }
        if let Some(rest) = text.strip_prefix("Kernel time to boot (seconds): ") {
            return Some(Self::Kernel(seconds(rest)?));
        }
        let between = "Time between Kernel end boot and Cloud-init activation (seconds): ";
        if let Some(rest) = text.strip_prefix(between) {
            return Some(Self::Activation(seconds(rest)?));
        }
        if CAPTIONS.iter().any(|c| text.starts_with(c)) || text.ends_with(" boot records analyzed")
        {
            return Some(Self::Caption);
        }
        // 00.80300s (init-network/config-growpart)
        let (took, name) = text.split_once(" (")?;
        Some(Self::Took(name.strip_suffix(')')?, time(took.trim())?))
    }
}

/// `2023-10-03 12:00:01,123 - util.py[DEBUG]: text`: the stamp and the text.
pub(super) fn stamped(line: &str) -> Option<(i64, &str)> {
    let iso = iso_or_blank(line.as_bytes())?;
    let rest = line.get(line.len().checked_sub(iso.rest.len())?..)?;
    let (module, text) = rest.strip_prefix(" - ")?.split_once("]: ")?;
    let (module, level) = module.split_once('[')?;
    let is_word = |w: &str| !w.is_empty() && !w.contains(char::is_whitespace);
    (is_word(module) && is_word(level)).then_some((iso.ns, text))
}

/// `init-network/config-ssh: running config-ssh ...`: the name and what follows.
fn part(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once(": ")?;
    (!name.is_empty() && !name.contains(' ')).then_some((name, rest))
}

/// A stage as its parts name it.
fn stage(mode: &str) -> &str {
    match mode {
        "init" => "init-network",
        "modules:config" => "modules-config",
        "modules:final" => "modules-final",
        other => other,
    }
}

/// `00.80300s`.
fn time(text: &str) -> Option<i64> {
    seconds(text.strip_suffix('s')?)
}

/// Seconds with a point, in nanoseconds.
fn seconds(text: &str) -> Option<i64> {
    decimal::nanoseconds(text, decimal::SECONDS).filter(|ns| *ns >= 0)
}
