//! A unit: its name, when it started, what it depends on.

use record::{
    ClockId, DependencyKind, Doubt, NoteKind, Origin, Recorder, Severity, SpanBuilder, SpanKind,
};

pub(super) const NEVER_ACTIVE: NoteKind = NoteKind {
    name: "unit_never_active",
    severity: Severity::Info,
    advice: "These units were loaded but never started.",
};

/// What the names of units end with, `systemd.unit(5)`.
const SUFFIXES: [&str; 12] = [
    "service",
    "socket",
    "target",
    "device",
    "mount",
    "automount",
    "swap",
    "timer",
    "path",
    "slice",
    "scope",
    "snapshot",
];

/// Whether `name` can be the name of a unit.
pub(crate) fn is_name(name: &str) -> bool {
    let Some((stem, suffix)) = name.rsplit_once('.') else {
        return false;
    };
    // `unit_name_is_valid()` in systemd: at most 255 bytes of these.
    let valid = |b: u8| b.is_ascii_alphanumeric() || b":-_.\\@".contains(&b);
    !stem.is_empty() && name.len() <= 255 && SUFFIXES.contains(&suffix) && stem.bytes().all(valid)
}

/// The places in `text` behind which the name of a unit may end: each kind of unit behind a
/// point.
pub(super) fn ends(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.match_indices('.').flat_map(move |(at, _)| {
        let rest = text.get(at + 1..).unwrap_or_default();
        let kinds = SUFFIXES.iter().filter(move |s| rest.starts_with(**s));
        kinds.map(move |s| at + 1 + s.len())
    })
}

/// When a unit changed its state, in nanoseconds on one clock; `None` if it
/// never did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// It began to start: `InactiveExitTimestamp`.
    pub activating: Option<i64>,
    /// It was started: `ActiveEnterTimestamp`.
    pub activated: Option<i64>,
    /// It was stopped, or had done its work: `InactiveEnterTimestamp`.
    pub deactivated: Option<i64>,
}

impl Times {
    /// When the unit began to start, and when it was started.
    pub(super) fn started(&self) -> Option<(i64, i64)> {
        let start = self.activating?;
        let mut ends = [self.activated, self.deactivated].into_iter().flatten();
        let end = ends.find(|&end| end >= start)?;
        Some((start, end))
    }

    /// The unit's start as a span; `None` if it never started.
    ///
    /// The end is chosen as `systemd-analyze blame` does: when it was active,
    /// else (a one-shot service that does not remain) when it was done.
    pub(super) fn span(
        &self,
        name: &str,
        clock: ClockId,
        origin: Origin,
        recorder: &mut Recorder,
    ) -> Option<SpanBuilder> {
        let (end, doubt) = match self.activating {
            Some(_) => {
                let end = self.started().map(|(_, end)| end);
                (end, end.is_none().then_some(Doubt::LostEnd))
            }
            // The properties that were asked for do not say when it began.
            None => (Some(self.activated?), Some(Doubt::LostStart)),
        };
        let name = recorder.name(name);
        let span = recorder.span_of(clock, SpanKind::Unit, name, origin);
        Some(span.start(self.activating).end(end).doubt(doubt))
    }
}

/// The kind of dependency that a property of this name holds.
///
/// `BindsTo` and `Requisite` are stronger forms of `Requires`.
pub(super) fn dependency(property: &str) -> Option<DependencyKind> {
    match property {
        "After" => Some(DependencyKind::After),
        "Requires" | "Requisite" | "BindsTo" => Some(DependencyKind::Requires),
        "Wants" => Some(DependencyKind::Wants),
        _ => None,
    }
}
