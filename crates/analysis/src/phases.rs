//! The parts of a boot, each between two named marks.

mod agent;
mod beyond;
mod end;
mod manager;
mod stage;
mod start_kernel;

pub(crate) use beyond::begins_late;

use crate::place::Place;
use record::{ClockKind, Mark, Nanos, Phase, Record, SpanKind, mark};
use std::collections::BTreeSet;

pub use end::{FirstLight, Options, first_light};
pub use stage::Stage;
pub(crate) use {
    manager::UNIT_STAGE, start_kernel::INITCALL_STAGE, start_kernel::PROTECTION_STAGE,
};

/// The end mark of a last phase that nothing ended.
pub const LAST_EVENT: &str = "last-event";

/// A part of the boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseRow {
    /// Which part.
    pub name: Phase,
    /// When it began.
    pub start: Nanos,
    /// When it ended; never before `start`.
    pub end: Nanos,
    /// The name of the mark that begins it.
    pub start_mark: String,
    /// The name of the mark that ends it, or [`LAST_EVENT`].
    pub end_mark: String,
    /// The evidence of the mark that begins it.
    pub origin: Place,
    /// Its parts, where there are at least two: loaders, what the kernel does before its first
    /// initcalls, or what systemd does before its first unit.
    pub stages: Vec<Stage>,
}

/// A named instant of the boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Milestone {
    /// The mark's name.
    pub name: String,
    /// When it was first passed.
    pub at: Nanos,
    /// Whether a phase or a stage begins with it.
    pub begins: bool,
    /// The evidence.
    pub origin: Place,
}

/// A boot in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phases {
    /// The name of the mark at time zero.
    pub zero: String,
    /// What the record's clock counts; `None` if nothing carries a time.
    pub clock: Option<ClockKind>,
    /// The parts in order. They never overlap; each kind occurs at most once.
    pub phases: Vec<PhaseRow>,
    /// Every mark, by time, each name once.
    pub milestones: Vec<Milestone>,
    /// The end of the boot, if there is one.
    pub first_light: Option<FirstLight>,
    /// The time of the last event.
    pub last: Nanos,
    /// Whether the boot was over long before the first line: nothing of it is known.
    pub is_over: bool,
}

impl Phases {
    /// When the boot ended: at first light, else with the last phase, else
    /// with the last event; of a log that holds nothing of it, at zero.
    #[must_use]
    pub fn end(&self) -> Nanos {
        if self.is_over {
            return Nanos::ZERO;
        }
        let first_light = self.first_light.as_ref().map(|f| f.at);
        first_light
            .or_else(|| self.phases.last().map(|p| p.end))
            .unwrap_or(self.last)
    }

    /// Up to when the boot surely went on. Where nothing says when it ended and the record is
    /// a kernel's log alone, that is the first program of the root, or the last unit that
    /// systemd wrote of there: such a log goes on for as long as the machine runs.
    #[must_use]
    pub fn booted(&self, record: &Record) -> Nanos {
        let is_log = self.first_light.is_none()
            && record.arrivals().is_empty()
            && record.processes().is_empty();
        let mut rows = self.phases.iter().skip(1);
        let programs = rows.find(|p| p.name >= Phase::Userspace);
        let units = record.spans().iter().filter(|s| s.kind == SpanKind::Unit);
        let last = units.filter_map(|s| s.end).max();
        match programs.filter(|_| is_log) {
            Some(programs) => programs.start.max(last.unwrap_or(programs.start)),
            None => self.end(),
        }
    }
}

/// A kernel writes its first words as it starts. If its clock stands at so much by then, the
/// clock ran before, through firmware and loader: on a PC of 2003 from the reset on.
const RAN_BEFORE: Nanos = Nanos::from_millis(1_000);

/// The parts of a boot, with the default end.
#[must_use]
pub fn phases(record: &Record) -> Phases {
    phases_with(record, &Options::default())
}

/// The parts of a boot.
///
/// Marks that begin a phase split the time line. Phases only advance, in the
/// order of [`Phase`]: a mark that begins an earlier phase than the current one
/// is a stage where loaders hand over to and fro (U-Boot SPL, TF-A, U-Boot),
/// and else comes from a clock that nothing relates, or from a second source
/// that saw the same moment a little later. So no length is ever negative. A
/// phase of no length is left out. A phase that begins after first light is
/// left out too: the boot was over. So is all of a log that holds nothing of a boot.
///
/// The kernel begins at its first instruction where that was seen
/// (`kernel-entry`). A mark of its log at or before that instant comes from a
/// clock that is not known so well, and begins nothing.
#[must_use]
pub fn phases_with(record: &Record, options: &Options) -> Phases {
    let last = record.last().unwrap_or_default();
    let first_light = end::first_light(record, options);
    let (end, end_mark) = match &first_light {
        Some(f) => (f.at, f.mark.clone()),
        None => (last, LAST_EVENT.to_owned()),
    };

    let is_over = first_light.is_none() && begins_late(record).is_some();
    let begins_kernel = |m: &&Mark| m.begins == Some(Phase::Kernel);
    let is_entry = |m: &&Mark| record.name(m.name) == mark::KERNEL_ENTRY;
    let mut of_kernel = record.marks().iter().filter(begins_kernel);
    let entry = of_kernel.find(is_entry).map(|m| m.at);
    let before_entry =
        |m: &Mark| begins_kernel(&m) && !is_entry(&m) && entry.is_some_and(|e| m.at <= e);
    let own = told_userspace(record);
    let is_coarse = |m: &Mark| own.is_some_and(|own| is_coarser(m, own));
    let first_words = record.mark(mark::KERNEL_START);
    let ran_before = |m: &Mark| {
        let is_clock = record.name(m.name) == mark::KERNEL_CLOCK_START;
        // Of another line, it may be of another clock.
        let words = first_words.filter(|words| is_clock && words.origin == m.origin);
        words.is_some_and(|words| words.at - m.at >= RAN_BEFORE)
    };
    let mut parts: Vec<Part<'_>> = Vec::new();
    for mark in record.marks() {
        let is_one =
            |_: &Phase| mark.at < end && !is_over && !before_entry(mark) && !is_coarse(mark);
        let Some(phase) = mark.begins.filter(is_one) else {
            continue;
        };
        let phase = match ran_before(mark) {
            true => Phase::Firmware,
            false => phase,
        };
        match parts.last_mut() {
            Some(part) if phase <= part.phase => {
                if part.has_stages() && phase <= Phase::Loader {
                    part.marks.push(mark);
                }
            }
            Some(part) if part.first().at == mark.at => *part = Part::new(phase, mark),
            _ => parts.push(Part::new(phase, mark)),
        }
    }

    kernel_ends(record, &mut parts, end);

    let mut rows: Vec<PhaseRow> = Vec::with_capacity(parts.len());
    for (i, part) in parts.iter().enumerate() {
        let (end, end_mark) = match parts.get(i + 1) {
            Some(next) => (next.first().at, record.name(next.first().name).to_owned()),
            None => (end, end_mark.clone()),
        };
        rows.push(PhaseRow {
            name: part.phase,
            start: part.first().at,
            end,
            start_mark: record.name(part.first().name).to_owned(),
            end_mark,
            origin: Place::of(record, part.first().origin),
            stages: part.stages(record, end),
        });
    }
    Phases {
        zero: record.zero().to_owned(),
        clock: record.last().and(record.clock()).map(|c| c.kind),
        phases: rows,
        milestones: match is_over {
            true => Vec::new(),
            false => milestones(record),
        },
        first_light,
        last,
        is_over,
    }
}

/// The fact of the time in userspace as systemd printed it.
pub(crate) const STARTUP_USERSPACE: &str = "systemd.startup_userspace_ns";

/// When userspace began as systemd itself says at the end of the boot, if nothing in that log
/// is stamped by the kernel's clock.
fn told_userspace(record: &Record) -> Option<&Mark> {
    let mut facts = record.facts().iter();
    let told = facts.find(|f| record.name(f.key) == STARTUP_USERSPACE)?;
    let is_told = |m: &&Mark| m.begins == Some(Phase::Userspace) && m.origin == told.origin;
    record.marks().iter().find(is_told)
}

/// Whether a line of the same log says that programs ran a little earlier: its stamp was cut
/// to a whole second.
fn is_coarser(mark: &Mark, own: &Mark) -> bool {
    let by = own.at - mark.at;
    mark.begins.is_some_and(|phase| phase >= Phase::Initrd)
        && mark.origin != own.origin
        && mark.origin.source == own.origin.source
        && Nanos::ZERO < by
        && by <= Nanos::from_millis(1_000)
}

/// Ends the kernel by the best evidence there is, where its own line that it runs the first
/// program is missing: kernels before 4.17 have none, and a quiet console shows none. That
/// is when it freed its memory, else the first line of systemd or of another program, else
/// the mount of the root. An initramfs, too, ends when the root is mounted if nothing else
/// says that it did.
fn kernel_ends<'r>(record: &'r Record, parts: &mut Vec<Part<'r>>, end: Nanos) {
    let Some(at) = parts.iter().position(|p| p.phase == Phase::Kernel) else {
        return;
    };
    let begun = parts.get(at).map_or(end, |p| p.first().at);
    let known = |name: &str, from: Nanos| {
        let mut marks = record.marks().iter();
        marks.find(|m| record.name(m.name) == name && m.at > from && m.at < end)
    };
    let runs = record
        .mark(mark::INIT_STARTED)
        .is_some_and(|m| m.at > begun && m.at <= end);
    let next = parts.get(at + 1).map(|p| p.first().at);
    let before_next = |m: &&Mark| next.is_none_or(|n| m.at < n);
    let freed = known(mark::MEMORY_FREED, begun).filter(before_next);
    match (freed, next) {
        (Some(freed), _) if !runs => {
            // What mounts the root behind that is an initramfs.
            let mounted = known(mark::ROOT_MOUNTED, freed.at);
            let has_initrd = parts.get(at + 1).is_some_and(|p| p.phase == Phase::Initrd);
            if has_initrd {
                parts.remove(at + 1);
                parts.insert(at + 1, Part::new(Phase::Initrd, freed));
            } else if let Some(mounted) = mounted.filter(|_| !mounted_by_kernel(record)) {
                parts.insert(at + 1, Part::new(Phase::Initrd, freed));
                if next.is_none() {
                    parts.insert(at + 2, Part::new(Phase::Userspace, mounted));
                }
            } else {
                if next.is_some() {
                    parts.remove(at + 1);
                }
                parts.insert(at + 1, Part::new(Phase::Userspace, freed));
            }
        }
        (None, None) => {
            let programs = [
                mark::SYSTEMD_STARTED,
                mark::FIRST_USERSPACE_LINE,
                mark::ROOT_MOUNTED,
            ];
            let evidence = programs.iter().find_map(|name| known(name, begun));
            parts.extend(evidence.map(|m| Part::new(Phase::Userspace, m)));
        }
        _ => {}
    }
    if let Some(initrd) = parts.last().filter(|p| p.phase == Phase::Initrd) {
        let mounted = known(mark::ROOT_MOUNTED, initrd.first().at);
        parts.extend(mounted.map(|m| Part::new(Phase::Userspace, m)));
    }
}

/// Whether the kernel itself mounted the root: then no initramfs did.
fn mounted_by_kernel(record: &Record) -> bool {
    let by_kernel = |m: &record::Message| record.text(m).starts_with("VFS: Mounted root ");
    record.messages().iter().any(by_kernel)
}

/// Marks that begin one phase; the first is where it begins.
struct Part<'a> {
    phase: Phase,
    first: &'a Mark,
    marks: Vec<&'a Mark>,
}

impl<'a> Part<'a> {
    fn new(phase: Phase, first: &'a Mark) -> Self {
        Self {
            phase,
            first,
            marks: vec![first],
        }
    }

    fn first(&self) -> &'a Mark {
        self.first
    }

    /// Elsewhere several marks of a phase are several views of one moment.
    fn has_stages(&self) -> bool {
        self.phase <= Phase::Loader
    }

    fn stages(&self, record: &Record, end: Nanos) -> Vec<Stage> {
        let start = self.first().at;
        match self.phase {
            Phase::Kernel => return start_kernel::stages(record, start, end),
            Phase::Initrd => {
                let stages = manager::stages(record, "initrd-", start, end);
                return match stages.is_empty() {
                    true => agent::stages(record, start, end),
                    false => stages,
                };
            }
            Phase::Userspace => return manager::stages(record, "", start, end),
            _ if !self.has_stages() => return Vec::new(),
            _ => {}
        }
        let mut stages: Vec<Stage> = Vec::new();
        for (i, mark) in self.marks.iter().enumerate() {
            let end = self.marks.get(i + 1).map_or(end, |m| m.at);
            let name = record.name(mark.name);
            match stages.last_mut() {
                Some(stage) if stage.name == name => stage.end = end,
                _ if end > mark.at => stages.push(Stage {
                    name: name.to_owned(),
                    start: mark.at,
                    end,
                }),
                _ => {}
            }
        }
        if stages.len() < 2 {
            stages.clear();
        }
        stages
    }
}

fn milestones(record: &Record) -> Vec<Milestone> {
    let mut seen = BTreeSet::new();
    let mut milestones = Vec::new();
    for mark in record.marks() {
        if seen.insert(mark.name) {
            milestones.push(Milestone {
                name: record.name(mark.name).to_owned(),
                at: mark.at,
                begins: mark.begins.is_some(),
                origin: Place::of(record, mark.origin),
            });
        }
    }
    milestones
}
