//! What ends a boot.

use crate::place::Place;
use crate::spans;
use record::{Mark, Message, Nanos, Origin, Record, SpanKind, mark};

/// What a user can say about the end of the boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What ends the boot: the name of a mark, a unit (its end), or a text that
    /// a message contains, looked for in this order. `None`: the mark `first-light`, else
    /// `startup-finished`, the first prompt for a login, procd's `init complete`, Android's
    /// `sys.boot_completed` or the end of its boot animation, or the target of a critical chain.
    pub first_light: Option<String>,
}

/// The end of the boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstLight {
    /// The mark's name, or the text that was looked for.
    pub mark: String,
    /// When.
    pub at: Nanos,
    /// How much later it may have been: the line that says so has no time, and this is the
    /// time between the lines before and behind it that have one. Zero if it is exact.
    pub uncertain: Nanos,
    /// The evidence.
    pub origin: Place,
}

/// The end of the boot: what the user named, else the mark for it. `None` if nothing is
/// that.
#[must_use]
pub fn first_light(record: &Record, options: &Options) -> Option<FirstLight> {
    let Some(text) = options.first_light.as_deref().filter(|t| !t.is_empty()) else {
        return default(record);
    };
    let of_mark = || record.mark(text).map(|m| (m.at, Nanos::ZERO, m.origin));
    let of_unit = || {
        let units = spans::distinct(record);
        let mut ends = units
            .iter()
            .filter(|s| s.kind == SpanKind::Unit && record.name(s.name) == text)
            .filter_map(|s| Some((s.end?, Nanos::ZERO, s.origin)));
        ends.next()
    };
    let (at, uncertain, origin) = of_mark()
        .or_else(of_unit)
        .or_else(|| of_messages(record, text))?;
    Some(FirstLight {
        mark: text.to_owned(),
        at,
        uncertain,
        origin: Place::of(record, origin),
    })
}

/// What ends a boot if the user says nothing: the mark for it, systemd's last word, the first
/// prompt for a user, the last word of OpenWrt's init or of Android's, or the target of a chain
/// that is all there is.
fn default(record: &Record) -> Option<FirstLight> {
    let end = |mark: &str, (at, uncertain, origin): (Nanos, Nanos, Origin)| FirstLight {
        mark: mark.to_owned(),
        at,
        uncertain,
        origin: Place::of(record, origin),
    };
    let of_mark = |m: &Mark| end(record.name(m.name), (m.at, Nanos::ZERO, m.origin));
    let told = [mark::FIRST_LIGHT, mark::STARTUP_FINISHED];
    if let Some(mark) = told.iter().find_map(|name| record.mark(name)) {
        return Some(of_mark(mark));
    }
    let prompt = || first(record, |line| line.trim_end().ends_with(LOGIN));
    let procd = || first(record, |line| line.contains(PROCD));
    if let Some(found) = prompt() {
        return Some(end(LOGIN, found));
    }
    if let Some(found) = procd() {
        return Some(end(PROCD, found));
    }
    if let Some(found) = first(record, is_completed) {
        return Some(end(COMPLETED, found));
    }
    if let Some(found) = first(record, is_shown) {
        return Some(end(ANIMATION, found));
    }
    let targets = record.marks().iter();
    let targets = targets.filter(|m| record.name(m.name).ends_with(".target"));
    targets.max_by_key(|m| m.at).map(of_mark)
}

/// The prompt of a terminal, and what OpenWrt's init says last.
const LOGIN: &str = "login:";
const PROCD: &str = "procd: - init complete -";

/// What Android's init does once the boot is complete, and the service that draws until then.
///
/// <https://android.googlesource.com/platform/system/core/+/refs/heads/main/init/>
const COMPLETED: &str = "sys.boot_completed=1";
const ANIMATION: &str = "end of the boot animation";

/// `init: processing action (sys.boot_completed=1) from (init.rc:7)`; until Android 6
/// `processing action 0x12ab (property:sys.boot_completed=1)`.
fn is_completed(line: &str) -> bool {
    line.contains("init: processing action ") && line.contains(COMPLETED)
}

/// `init: Service 'bootanim' (pid 7) exited with status 0`, and in Android 4 `init: process
/// 'bootanim', pid 7 exited`.
fn is_shown(line: &str) -> bool {
    const ENDS: [&str; 3] = ["exited", "killed", "received signal"];
    let of_it = [
        "init: Service 'bootanim' (pid ",
        "init: process 'bootanim', pid ",
    ];
    let mut rest = of_it.iter().filter_map(|words| line.split_once(words));
    rest.any(|(_, rest)| ENDS.iter().any(|e| rest.contains(e)))
}

/// What systemd says of a unit that is there.
const DONE: [&str; 4] = ["Reached target ", "Started ", "Finished ", "Mounted "];

/// What it says of one that is not there yet.
const NOT_YET: [&str; 5] = [
    "Queued start job",
    "Starting ",
    "Stopped ",
    "Stopping ",
    "Created slice",
];

/// Targets as systemd described them before it printed their names, too.
const DESCRIBED: [(&str, &str); 6] = [
    ("graphical.target", "Graphical Interface"),
    ("multi-user.target", "Multi-User System"),
    ("basic.target", "Basic System"),
    ("sysinit.target", "System Initialization"),
    ("local-fs.target", "Local File Systems"),
    ("network.target", "Network"),
];

/// The first line that says that the unit `text` is there, or that has the words `text`.
fn of_messages(record: &Record, text: &str) -> Option<(Nanos, Nanos, Origin)> {
    let described = DESCRIBED.iter().find(|(name, _)| *name == text);
    let is_unit = text
        .rsplit_once('.')
        .is_some_and(|(stem, kind)| !stem.contains(' ') && UNITS.contains(&kind));
    let is_done = |line: &str| DONE.iter().any(|d| line.contains(d));
    let reached = |line: &str| {
        let described = described.is_some_and(|(_, words)| {
            let behind = line.split_once("Reached target ");
            behind.is_some_and(|(_, rest)| rest.starts_with(words))
        });
        described || (is_done(line) && line.contains(text))
    };
    let says = |line: &str| line.contains(text) && !NOT_YET.iter().any(|n| line.contains(n));
    match is_unit {
        true => first(record, reached).or_else(|| first(record, says)),
        false => first(record, |line| line.contains(text)),
    }
}

/// What the names of units end with, of those that a boot can wait for.
const UNITS: [&str; 6] = ["target", "service", "socket", "mount", "device", "path"];

/// The first of the lines that `wanted` picks, and how much later it may have been.
fn first(record: &Record, wanted: impl Fn(&str) -> bool) -> Option<(Nanos, Nanos, Origin)> {
    let lines = record.messages();
    let picked = lines.iter().enumerate();
    let picked = picked.filter(|(_, m)| wanted(record.text(m)));
    let timed = picked.filter_map(|(at, m)| {
        let (time, uncertain) = time(lines, at, m)?;
        Some((time, uncertain, m.origin))
    });
    timed.min()
}

/// When a line came. One without a time came between those before and behind it in its
/// source that have one.
fn time(lines: &[Message], at: usize, line: &Message) -> Option<(Nanos, Nanos)> {
    if let Some(time) = line.at {
        return Some((time, Nanos::ZERO));
    }
    let same = |m: &&Message| m.origin.source == line.origin.source;
    let before = lines.get(..at)?.iter().rev().take_while(same);
    let before = before.filter_map(|m| m.at).next();
    let behind = lines.get(at..)?.iter().take_while(same);
    let behind = behind.filter_map(|m| m.at).next();
    let from = before.or(behind)?;
    let to = behind.unwrap_or(from).max(from);
    Some((from, to - from))
}
