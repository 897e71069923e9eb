//! The properties that `systemctl show` prints: of the manager alone, or of
//! units (`systemctl show --all '*'`), or both in one file.
//!
//! Units of the ledger are blocks of `KEY=VALUE` lines. Blank lines stand
//! between them.

use super::clocks::{MONOTONIC, USERSPACE_CLOCK};
use super::notes::BOOT_NOT_FINISHED;
use super::startup::Boundaries;
use super::unit::{self, NEVER_ACTIVE, Times};
use crate::source::{Input, Sniff, Source};
use crate::text::{self, Line};
use record::{
    ClockId, ClockKind, DependencyKind, NoteKind, Origin, Recorder, Severity, SourceId, SpanKind,
};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// `systemctl show` properties.
///
/// A unit's span is its start as `systemd-analyze blame` counts it, on the
/// clock `monotonic`, to the microsecond. The manager's own times become marks.
#[derive(Debug)]
pub struct Show;

const NO_UNIT: NoteKind = NoteKind {
    name: "block_without_unit",
    severity: Severity::DataLoss,
    advice: "These properties do not name their unit, or the block is truncated. Run `systemctl \
        show --all '*'` without `-p`, or include `Id`.",
};

const GLUED: NoteKind = NoteKind {
    name: "glued_blocks",
    severity: Severity::Doubt,
    advice: "The blank line between the properties of two units is missing. The first few \
        properties may be attributed to the wrong unit.",
};

const TOLD_AGAIN: NoteKind = NoteKind {
    name: "unit_told_again",
    severity: Severity::Info,
    advice: "A unit is there twice. The first answer counts: each answer takes processor time of \
        systemd itself.",
};

/// Nanoseconds in the microseconds that systemd counts.
pub(super) const MICROSECOND_NS: i64 = 1_000;

/// Where programs see a kernel that did not boot for them, by the words of
/// `Virtualization=`, `systemd-detect-virt(1)`.
const CONTAINERS: [&str; 12] = [
    "openvz",
    "lxc",
    "lxc-libvirt",
    "systemd-nspawn",
    "docker",
    "podman",
    "rkt",
    "wsl",
    "proot",
    "pouch",
    "container-other",
    "apple",
];

/// The manager's times that no phase begins with, and the marks they become.
/// The marks have the names that `systemd-analyze dump` prints.
const MANAGER_MARKS: [(&str, &str); 12] = [
    ("SecurityStart", "security-start"),
    ("SecurityFinish", "security-finish"),
    ("GeneratorsStart", "generators-start"),
    ("GeneratorsFinish", "generators-finish"),
    ("UnitsLoadStart", "units-load-start"),
    ("UnitsLoadFinish", "units-load-finish"),
    ("InitRDSecurityStart", "initrd-security-start"),
    ("InitRDSecurityFinish", "initrd-security-finish"),
    ("InitRDGeneratorsStart", "initrd-generators-start"),
    ("InitRDGeneratorsFinish", "initrd-generators-finish"),
    ("InitRDUnitsLoadStart", "initrd-units-load-start"),
    ("InitRDUnitsLoadFinish", "initrd-units-load-finish"),
];

impl Source for Show {
    fn name(&self) -> &'static str {
        "systemd-show"
    }

    fn description(&self) -> &'static str {
        "unit properties with times in microseconds: `systemctl show --all '*'`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let (mut properties, mut others, mut times) = (0_usize, 0_usize, false);
        for line in text::lines(head).filter(|l| !l.bytes.is_empty()) {
            match text::lossy(line.bytes).split_once('=') {
                Some((key, _)) if is_key(key) => {
                    properties = properties.saturating_add(1);
                    times |= key.ends_with("TimestampMonotonic");
                }
                _ => others = others.saturating_add(1),
            }
        }
        // A value may run over several lines, so not every line has a key.
        match (times, properties > others.saturating_mul(4)) {
            (true, true) => Sniff::Yes,
            (true, false) if properties > others => Sniff::Maybe,
            _ => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let clock = recorder.clock(MONOTONIC, ClockKind::Monotonic, MICROSECOND_NS as u64);
        let mut block: Option<Block> = None;
        let mut told = BTreeSet::new();
        let mut record = |block: Block, recorder: &mut Recorder| {
            let is_told = unit::is_name(&block.id) && !told.insert(block.id.clone());
            match is_told {
                true => recorder.skipped(block.origin, &TOLD_AGAIN),
                false => block.record(clock, recorder),
            }
        };
        for line in text::lines(input.bytes) {
            if text::without_indent(line.bytes).is_empty() {
                if let Some(block) = block.take() {
                    record(block, recorder);
                }
                continue;
            }
            block = Some(match block.take() {
                None => Block::new(source, line.offset).with(line),
                Some(open) if open.has(&line) => {
                    record(open, recorder);
                    let next = Block::new(source, line.offset);
                    recorder.note(next.origin, &GLUED, String::new);
                    next.with(line)
                }
                Some(open) => open.with(line),
            });
        }
        if let Some(block) = block {
            record(block, recorder);
        }
    }
}

/// A property's name: letters and digits, the first one a capital.
fn is_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_uppercase())
        && key.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// The properties that are used, of one block.
#[derive(Debug)]
pub(super) struct Block {
    origin: Origin,
    id: String,
    unit: Times,
    /// In nanoseconds, of all its processes.
    processor: Option<i64>,
    exit_status: Option<i32>,
    exited: bool,
    main: Main,
    dependencies: Vec<(DependencyKind, String)>,
    manager: Manager,
}

/// The main process of a service: the program of `ExecStart=`.
#[derive(Debug, Default)]
struct Main {
    started: Option<i64>,
    exited: Option<i64>,
    /// How many programs `ExecStart=` has: the times are of the last.
    programs: u32,
}

/// A part of a unit's start is told from here on.
const LEAST_PART_NS: i64 = 10_000_000;

/// Parts are told if all but the main process are at least this part of a start.
const LEAST_PART: i64 = 10;

impl Main {
    /// The parts of a start from `start` to `end`: what goes before the main process
    /// (`ExecCondition=`, `ExecStartPre=`), the process itself, and what comes after it
    /// (`ExecStartPost=`). None if the process is all of it, or is another start's.
    fn parts(&self, start: i64, end: i64) -> Vec<(&'static str, i64, i64)> {
        // systemd forks the first process of a start a little before the unit changes its
        // state.
        let from = start.saturating_sub(LEAST_PART_NS);
        let Some(started) = self.started.filter(|at| (from..=end).contains(at)) else {
            return Vec::new();
        };
        let started = started.max(start);
        let exited = self.exited.filter(|at| (started..=end).contains(at));
        let behind = exited.unwrap_or(end);
        let parts = [
            ("before ExecStart", start, started),
            ("ExecStart", started, behind),
            ("after ExecStart", behind, end),
        ];
        let is_long = |p: &(&str, i64, i64)| p.2.saturating_sub(p.1) >= LEAST_PART_NS;
        // A process that is nearly all of the start would stand there twice.
        let process = behind.saturating_sub(started);
        let whole = end.saturating_sub(start);
        let nearly_all = process >= whole.saturating_sub(whole / LEAST_PART);
        if self.programs > 1 || nearly_all {
            return Vec::new();
        }
        parts.into_iter().filter(is_long).collect()
    }
}

/// The manager's own properties.
#[derive(Debug, Default)]
struct Manager {
    version: Option<String>,
    virtualization: Option<String>,
    /// Before the kernel, in nanoseconds.
    firmware: Option<i64>,
    loader: Option<i64>,
    initrd: Option<i64>,
    userspace: Option<i64>,
    finish: Option<i64>,
    marks: Vec<(&'static str, i64)>,
}

impl Block {
    pub(super) fn new(source: SourceId, offset: u64) -> Self {
        Self {
            origin: Origin { source, offset },
            id: String::new(),
            unit: Times::default(),
            processor: None,
            exit_status: None,
            exited: false,
            main: Main::default(),
            dependencies: Vec::new(),
            manager: Manager::default(),
        }
    }

    /// Whether `line` cannot be of this block, since it names its unit again.
    fn has(&self, line: &Line<'_>) -> bool {
        !self.id.is_empty() && line.bytes.starts_with(b"Id=")
    }

    fn with(mut self, line: Line<'_>) -> Self {
        let text = text::lossy(line.bytes);
        if let Some((key, value)) = text.split_once('=') {
            self.set(key, value);
        }
        self
    }

    /// Takes a property, if it is one that is used. Lists are separated by blanks.
    pub(super) fn set(&mut self, key: &str, value: &str) {
        match key {
            "Id" => self.id = value.to_owned(),
            "Version" => self.manager.version = Some(value.to_owned()),
            "Virtualization" => self.manager.virtualization = Some(value.to_owned()),
            "ExecStart" => self.main.programs = self.main.programs.saturating_add(1),
            // All ones, or `[not set]`: systemd does not count it.
            "CPUUsageNSec" => self.processor = value.parse().ok(),
            "ExecMainStatus" => self.exit_status = value.parse().ok(),
            _ => {}
        }
        if let Some(name) = key.strip_suffix("TimestampMonotonic") {
            if let Some(ns) = microseconds(value) {
                self.time(name, ns);
            }
        } else if let Some(kind) = unit::dependency(key) {
            let names = value.split_ascii_whitespace();
            self.dependencies
                .extend(names.map(|name| (kind, unquoted(name).into_owned())));
        }
    }

    fn time(&mut self, name: &str, ns: i64) {
        match name {
            "InactiveExit" => self.unit.activating = Some(ns),
            "ActiveEnter" => self.unit.activated = Some(ns),
            "InactiveEnter" => self.unit.deactivated = Some(ns),
            "ExecMainStart" => self.main.started = Some(ns),
            "ExecMainExit" => {
                self.exited = true;
                self.main.exited = Some(ns);
            }
            "Firmware" => self.manager.firmware = Some(ns),
            "Loader" => self.manager.loader = Some(ns),
            "InitRD" => self.manager.initrd = Some(ns),
            "Userspace" => self.manager.userspace = Some(ns),
            "Finish" => self.manager.finish = Some(ns),
            _ => {
                if let Some((_, mark)) = MANAGER_MARKS.iter().find(|m| m.0 == name) {
                    self.manager.marks.push((mark, ns));
                }
            }
        }
    }

    pub(super) fn record(self, clock: ClockId, recorder: &mut Recorder) {
        let is_manager = self.manager.userspace.is_some();
        if is_manager {
            self.manager.record(self.origin, clock, recorder);
        }
        let is_unit = unit::is_name(&self.id);
        let span = is_unit
            .then(|| self.unit.span(&self.id, clock, self.origin, recorder))
            .flatten();
        if let Some(span) = span {
            let outcome = self.exit_status.filter(|_| self.exited);
            recorder.span(span.outcome(outcome).processor(self.processor));
            if let Some((start, end)) = self.unit.started() {
                for (part, from, to) in self.main.parts(start, end) {
                    let name = recorder.name(&format!("{}: {part}", self.id));
                    let span = recorder.span_of(clock, SpanKind::Stage, name, self.origin);
                    recorder.span(span.start(Some(from)).end(Some(to)));
                }
            }
            for (kind, on) in &self.dependencies {
                recorder.dependency(&self.id, on, *kind, self.origin);
            }
        }
        if is_manager || span.is_some() {
            recorder.took(self.origin.source);
        } else {
            let why = if is_unit { &NEVER_ACTIVE } else { &NO_UNIT };
            recorder.skipped(self.origin, why);
        }
    }
}

impl Manager {
    fn record(&self, origin: Origin, clock: ClockId, recorder: &mut Recorder) {
        for (key, value) in [
            ("systemd.version", &self.version),
            ("systemd.virtualization", &self.virtualization),
        ] {
            if let Some(value) = value.as_deref().filter(|v| !v.is_empty()) {
                recorder.fact(key, value, origin);
            }
        }
        if self.finish.is_none() {
            recorder.note(origin, &BOOT_NOT_FINISHED, String::new);
        }
        let virtualization = self.virtualization.as_deref().unwrap_or("");
        if CONTAINERS.contains(&virtualization) {
            self.record_container(origin, clock, recorder);
        } else {
            let loader = self.loader.map(i64::saturating_neg);
            Boundaries {
                power_on: self.firmware.map(i64::saturating_neg),
                loader,
                kernel: Some(0),
                initrd: self.initrd,
                userspace: self.userspace,
                finish: self.finish,
                resolution_ns: MICROSECOND_NS as u64,
            }
            .record(origin, recorder);
        }
        for (name, at) in &self.marks {
            recorder.mark(clock, name, *at, None, origin);
        }
    }

    /// In a container the monotonic clock is the host's: its zero is the
    /// host's boot, and the boot that is looked at begins with userspace.
    fn record_container(&self, origin: Origin, clock: ClockId, recorder: &mut Recorder) {
        let Some(userspace) = self.userspace else {
            return;
        };
        let from_userspace = recorder.clock(USERSPACE_CLOCK, ClockKind::Monotonic, 0);
        recorder.relate((clock, userspace), (from_userspace, 0), 0, Some(origin));
        Boundaries {
            userspace: Some(0),
            finish: self.finish.map(|at| at.saturating_sub(userspace)),
            resolution_ns: MICROSECOND_NS as u64,
            ..Boundaries::default()
        }
        .record(origin, recorder);
    }
}

/// A time in microseconds; systemd prints 0 or all ones for "never".
fn microseconds(value: &str) -> Option<i64> {
    let us: u64 = value.trim().parse().ok()?;
    let us = Some(us).filter(|&us| us != 0 && us != u64::MAX)?;
    i64::try_from(us).ok()?.checked_mul(MICROSECOND_NS)
}

/// A name in a list. `systemctl show` quotes those that a shell would not take as they
/// stand, which are all with an escape: `"dev-disk-by\\x2duuid-1.device"`.
fn unquoted(name: &str) -> Cow<'_, str> {
    let inner = name.strip_prefix('"').and_then(|n| n.strip_suffix('"'));
    let Some(inner) = inner else {
        return Cow::Borrowed(name);
    };
    let mut plain = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => chars.next().unwrap_or(c),
            c => c,
        });
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::{Main, unquoted};

    #[test]
    fn names_lose_their_quotes_and_keep_their_escapes() {
        for (printed, name) in [
            ("basic.target", "basic.target"),
            (
                r#""dev-disk-by\\x2duuid-1.device""#,
                r"dev-disk-by\x2duuid-1.device",
            ),
            (r#""a\""#, r"a\"),
            (r#"""#, r#"""#),
            (r#""""#, ""),
        ] {
            assert_eq!(unquoted(printed), name);
        }
    }

    const MS: i64 = 1_000_000;

    fn parts(started: i64, exited: Option<i64>, programs: u32) -> Vec<(&'static str, i64, i64)> {
        let main = Main {
            started: Some(started * MS),
            exited: exited.map(|at| at * MS),
            programs,
        };
        let parts = main.parts(1_000 * MS, 2_000 * MS).into_iter();
        parts
            .map(|(name, from, to)| (name, from / MS, to / MS))
            .collect()
    }

    #[test]
    fn a_start_has_parts_before_and_behind_its_main_process() {
        let pre = [
            ("before ExecStart", 1_000, 1_800),
            ("ExecStart", 1_800, 2_000),
        ];
        assert_eq!(parts(1_800, None, 1), pre);
        let post = [
            ("ExecStart", 1_005, 1_100),
            ("after ExecStart", 1_100, 2_000),
        ];
        assert_eq!(parts(1_005, Some(1_100), 1), post);
        // It was forked before the unit began to start.
        assert_eq!(
            parts(999, Some(1_004), 1),
            [("after ExecStart", 1_004, 2_000)]
        );
        // It is ready while its process goes on, or exits later.
        assert_eq!(parts(1_005, None, 1), []);
        assert_eq!(parts(1_005, Some(3_000), 1), []);
        // A later start's, and one of several programs.
        assert_eq!(parts(2_500, Some(2_600), 1), []);
        assert_eq!(parts(1_800, None, 2), []);
    }
}
