//! A part of a phase.

use record::Nanos;

/// A part of a phase: a loader that hands over to the next one, or a part of the
/// start of the kernel or of systemd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The name of the mark that begins it; of the kernel and of systemd, what they do.
    pub name: String,
    /// When it began.
    pub start: Nanos,
    /// When the next stage, or the next phase, began.
    pub end: Nanos,
}

/// Stages up to `end`, each at least `least` long but for the first.
pub(super) fn whole(begun: &[(&str, Nanos)], end: Nanos, least: Nanos) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    let ends = begun.iter().skip(1).map(|(_, at)| *at).chain([end]);
    for ((name, start), end) in begun.iter().zip(ends) {
        match stages.last_mut() {
            Some(before) if end - *start < least.max(Nanos(1)) || before.name == *name => {
                before.end = end;
            }
            _ if end > *start => stages.push(Stage {
                name: (*name).to_owned(),
                start: *start,
                end,
            }),
            _ => {}
        }
    }
    stages
}
