//! Everything that a record knows of, on tracks: what other viewers are fed.

use crate::io::Owners;
use crate::phases::Phases;
use crate::spans;
use record::{
    AccessKind, Doubt, NameId, Nanos, Origin, Record, Request, SpanKind, TaskState, Unit,
};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// What a group of tracks is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrackKind {
    /// The parts of the boot, and within them their stages.
    Phase,
    /// Initcalls.
    Initcall,
    /// Drivers probing devices.
    Probe,
    /// systemd units that start.
    Unit,
    /// Processes: their lives, and within them what they did.
    Process,
    /// Files, each at its first need.
    File,
    /// Requests to a block device.
    Request,
    /// Parts of firmware or a loader that they timed themselves.
    Stage,
}

impl TrackKind {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Phase => "phase",
            Self::Initcall => "initcall",
            Self::Probe => "probe",
            Self::Unit => "unit",
            Self::Process => "process",
            Self::File => "file",
            Self::Request => "request",
            Self::Stage => "stage",
        }
    }
}

/// An interval on a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice<'r> {
    /// What is written on it.
    pub name: Cow<'r, str>,
    /// When it began.
    pub start: Nanos,
    /// When it ended; never before `start`.
    pub end: Nanos,
    /// More to know of it.
    pub about: About,
    /// The process that asked for it, of a request or a file.
    pub by: Option<&'r str>,
    /// The file that a request is for, where that is known.
    pub of: Option<&'r str>,
    /// The evidence, if it has a place of its own.
    pub origin: Option<Origin>,
}

/// What is particular to an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// Nothing more.
    Plain,
    /// A call, a probe or a unit.
    Span {
        /// The duration that the source itself states.
        reported: Option<Nanos>,
        /// Why the numbers should not be taken at face value.
        doubt: Option<Doubt>,
        /// What it returned.
        outcome: Option<i32>,
    },
    /// A process.
    Process {
        /// Its id.
        pid: u32,
        /// Its parent's id.
        parent: Option<u32>,
    },
    /// A file at its first need.
    File {
        /// Bytes that were needed of it, or came into memory.
        bytes: u64,
    },
    /// A request.
    Request {
        /// The first sector, of 512 bytes.
        sector: u64,
        /// How much, in bytes.
        bytes: u64,
    },
}

/// Intervals that nest, or follow each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Track<'r> {
    /// Its name, if it is more than one of several lanes.
    pub name: Option<Cow<'r, str>>,
    /// By start; of two that start together the longer one comes first. Each
    /// begins after the one before it ended, or lies within it.
    pub slices: Vec<Slice<'r>>,
}

/// Tracks about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackGroup<'r> {
    /// What they are about.
    pub kind: TrackKind,
    /// The group's name: `initcalls`, `requests 8:52`.
    pub name: Cow<'r, str>,
    /// Its tracks.
    pub tracks: Vec<Track<'r>>,
}

/// A named instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instant<'r> {
    /// Its name.
    pub name: &'r str,
    /// When.
    pub at: Nanos,
    /// The evidence.
    pub origin: Origin,
}

/// Readings over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter<'r> {
    /// What was read, and of which one: `cpu.user`, `disk.read sda`.
    pub name: Cow<'r, str>,
    /// What the values count.
    pub unit: Unit,
    /// The readings, by time.
    pub samples: &'r [record::Sample],
}

/// A boot on tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracks<'r> {
    /// The name of the mark at time zero.
    pub zero: &'r str,
    /// Groups, in the order in which a boot is looked at.
    pub groups: Vec<TrackGroup<'r>>,
    /// Marks, by time.
    pub instants: Vec<Instant<'r>>,
    /// Readings, in the order of their evidence.
    pub counters: Vec<Counter<'r>>,
}

/// Everything that has a start and an end, on tracks. What has no end is left
/// out; a process that was not seen to end lasts until it was last seen.
#[must_use]
pub fn tracks<'r>(record: &'r Record, phases: &Phases) -> Tracks<'r> {
    tracks_with(record, phases, None)
}

/// The same, with the files that requests are for.
#[must_use]
pub fn tracks_with<'r>(
    record: &'r Record,
    phases: &Phases,
    owners: Option<&'r Owners>,
) -> Tracks<'r> {
    let mut groups = vec![of_phases(phases)];
    for (kind, of, name) in [
        (TrackKind::Stage, SpanKind::Stage, "stages"),
        (TrackKind::Initcall, SpanKind::Initcall, "initcalls"),
        (TrackKind::Probe, SpanKind::Probe, "probes"),
        (TrackKind::Unit, SpanKind::Unit, "units"),
    ] {
        groups.push(TrackGroup {
            kind,
            name: Cow::Borrowed(name),
            tracks: in_lanes(of_spans(record, of)),
        });
    }
    groups.push(of_processes(record));
    groups.push(TrackGroup {
        kind: TrackKind::File,
        name: Cow::Borrowed("first use of files"),
        tracks: in_lanes(of_files(record, owners)),
    });
    let devices: BTreeSet<_> = record.requests().iter().map(|r| r.device).collect();
    for device in devices {
        let of_device = record.requests().iter().enumerate();
        let of_device = of_device.filter(|(_, r)| r.device == device);
        groups.push(TrackGroup {
            kind: TrackKind::Request,
            name: Cow::Owned(format!("requests {device}")),
            tracks: in_lanes(
                of_device
                    .filter_map(|(i, r)| of_request(record, r, owners.and_then(|o| o.name(i))))
                    .collect(),
            ),
        });
    }
    groups.retain(|g| g.tracks.iter().any(|t| !t.slices.is_empty()));
    let marks = record.marks().iter().map(|m| Instant {
        name: record.name(m.name),
        at: m.at,
        origin: m.origin,
    });
    let counters = record.series().iter().map(|s| {
        let name = record.name(s.name);
        Counter {
            name: match s.of {
                Some(of) => Cow::Owned(format!("{name} {}", record.name(of))),
                None => Cow::Borrowed(name),
            },
            unit: s.unit,
            samples: &s.samples,
        }
    });
    Tracks {
        zero: record.zero(),
        groups,
        instants: marks.collect(),
        counters: counters.collect(),
    }
}

fn of_phases<'r>(phases: &Phases) -> TrackGroup<'r> {
    let mut slices = Vec::new();
    let mut add = |name: String, start, end| {
        slices.push(Slice {
            name: Cow::Owned(name),
            start,
            end,
            about: About::Plain,
            by: None,
            of: None,
            origin: None,
        });
    };
    for phase in &phases.phases {
        add(phase.name.as_str().to_owned(), phase.start, phase.end);
        for stage in &phase.stages {
            add(stage.name.clone(), stage.start, stage.end.min(phase.end));
        }
    }
    TrackGroup {
        kind: TrackKind::Phase,
        name: Cow::Borrowed("phases"),
        tracks: vec![Track { name: None, slices }],
    }
}

fn of_spans(record: &Record, kind: SpanKind) -> Vec<Slice<'_>> {
    let all = spans::distinct(record);
    let of_kind = all.iter().filter(|s| s.kind == kind);
    of_kind
        .filter_map(|s| {
            let (start, end) = (s.start?, s.end?);
            (start <= end).then(|| Slice {
                name: Cow::Borrowed(record.name(s.name)),
                start,
                end,
                about: About::Span {
                    reported: s.reported,
                    doubt: s.doubt,
                    outcome: s.outcome,
                },
                by: None,
                of: None,
                origin: Some(s.origin),
            })
        })
        .collect()
}

/// One track a process: its life, and within it what it did.
fn of_processes(record: &Record) -> TrackGroup<'_> {
    let mut did: BTreeMap<u32, Vec<&record::Slice>> = BTreeMap::new();
    for slice in record.slices() {
        if slice.state != TaskState::Sleeping && slice.start < slice.end {
            did.entry(slice.pid).or_default().push(slice);
        }
    }
    let tracks = record.processes().iter().map(|p| {
        let start = p.start.unwrap_or(p.first_seen);
        let end = p.end.unwrap_or(p.last_seen).max(start);
        let life = Slice {
            name: Cow::Borrowed(record.name(p.command.unwrap_or(p.name))),
            start,
            end,
            about: About::Process {
                pid: p.pid,
                parent: p.parent,
            },
            by: None,
            of: None,
            origin: Some(p.origin),
        };
        let within = did.get(&p.pid).map_or(&[][..], Vec::as_slice);
        let within = within.iter().filter(|s| s.start >= start && s.end <= end);
        let within = within.map(|s| Slice {
            name: Cow::Borrowed(s.state.as_str()),
            start: s.start,
            end: s.end,
            about: About::Plain,
            by: None,
            of: None,
            origin: Some(s.origin),
        });
        let name = format!("{} {}", record.name(p.name), p.pid);
        Track {
            name: Some(Cow::Owned(name)),
            slices: std::iter::once(life)
                .chain(without_overlap(within))
                .collect(),
        }
    });
    TrackGroup {
        kind: TrackKind::Process,
        name: Cow::Borrowed("processes"),
        tracks: tracks.collect(),
    }
}

/// Leaves out what begins before the one before it ended: two threads under
/// one id, or sampled stretches that round into each other.
fn without_overlap<'r>(slices: impl Iterator<Item = Slice<'r>>) -> impl Iterator<Item = Slice<'r>> {
    let mut busy_until = Nanos(i64::MIN);
    slices.filter(move |s| {
        let fits = s.start >= busy_until;
        if fits {
            busy_until = s.end;
        }
        fits
    })
}

/// Each file once, from its first need as long as that one took.
fn of_files<'r>(record: &'r Record, owners: Option<&'r Owners>) -> Vec<Slice<'r>> {
    let mut files: BTreeMap<FileKey, Slice<'r>> = BTreeMap::new();
    for a in record.accesses() {
        if matches!(a.kind, AccessKind::Write | AccessKind::Miss) {
            continue;
        }
        let key = (a.path, a.device, a.inode);
        let file = files.entry(key).or_insert_with(|| Slice {
            name: match (a.path, a.device, a.inode) {
                (Some(path), ..) => Cow::Borrowed(record.name(path)),
                (None, Some(device), Some(inode)) => {
                    match owners.and_then(|o| o.path(device, inode)) {
                        Some(path) => Cow::Borrowed(path),
                        None => Cow::Owned(format!("inode {inode} on {device}")),
                    }
                }
                _ => Cow::Borrowed("a file"),
            },
            start: a.at,
            end: a.at + a.took.get().unwrap_or_default(),
            about: About::File { bytes: 0 },
            by: a.task.map(|t| record.name(t)),
            of: None,
            origin: Some(a.origin),
        });
        if let About::File { bytes } = &mut file.about {
            *bytes = bytes.saturating_add(a.bytes);
        }
    }
    let mut slices: Vec<_> = files.into_values().collect();
    slices.sort_by_key(|s| (s.start, s.origin));
    slices
}

type FileKey = (Option<NameId>, Option<record::Device>, Option<u64>);

fn of_request<'r>(record: &'r Record, r: &Request, owner: Option<&'r str>) -> Option<Slice<'r>> {
    let (start, end) = (r.first()?, r.completed.get()?);
    (start <= end).then(|| Slice {
        name: Cow::Borrowed(r.operation.as_str()),
        start,
        end,
        about: About::Request {
            sector: r.sector,
            bytes: r.bytes,
        },
        by: r.task.map(|t| record.name(t)),
        of: owner,
        origin: Some(r.origin),
    })
}

/// Puts intervals, by start, onto the fewest tracks on which none overlap; each
/// on the first track that is free.
fn in_lanes(mut slices: Vec<Slice<'_>>) -> Vec<Track<'_>> {
    slices.sort_by_key(|s| (s.start, Reverse(s.end), s.origin));
    let mut tracks: Vec<Track<'_>> = Vec::new();
    let mut free: BTreeSet<usize> = BTreeSet::new();
    let mut busy: BinaryHeap<Reverse<(Nanos, usize)>> = BinaryHeap::new();
    for slice in slices {
        while let Some(&Reverse((until, lane))) = busy.peek()
            && until <= slice.start
        {
            busy.pop();
            free.insert(lane);
        }
        let lane = free.pop_first().unwrap_or_else(|| {
            tracks.push(Track::default());
            tracks.len() - 1
        });
        // One that takes no time is over before another begins at its place.
        busy.push(Reverse((slice.end.max(slice.start + Nanos(1)), lane)));
        if let Some(track) = tracks.get_mut(lane) {
            track.slices.push(slice);
        }
    }
    tracks
}
