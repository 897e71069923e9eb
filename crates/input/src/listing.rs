//! What a folder holds that has a page: captures, experiments, logs.

use crate::boot::boot;
use crate::format::{self, Format};
use crate::reading::{Reading, Say};
use inspect::kernel_image::KERNEL_IMAGE;
use inspect::{board_run, experiment, published};
use record::ClockKind;
use sources::Source;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A folder or file that a capture made.
    Capture,
    /// A folder that `lab run` filled.
    Experiment,
    /// A published result that was run here.
    Published,
    /// A log or trace that a source knows.
    #[default]
    Log,
}

/// An entry of a folder that has a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Path within the folder.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// Size; 0 for a folder.
    pub bytes: u64,
    /// Time of the last change, in seconds since 1970.
    pub modified_s: u64,
    /// What was read of it.
    pub known: Known,
}

/// How deep folders are looked into.
const DEEPEST: usize = 6;

/// How many entries are listed.
const MOST: usize = 5_000;

/// Larger ones are not read for the list, only for their page.
const READ_BYTES: u64 = 32 << 20;

/// How long reading for one list may take; what is left is read for the next.
const READ_FOR: Duration = Duration::from_secs(2);

/// What is known of an entry from reading it, for as long as it stays the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    modified: u64,
    /// First light, in nanoseconds; for an experiment, that of the baseline.
    pub first_light_ns: Option<i64>,
    /// What its clock counts.
    pub clock: Option<ClockKind>,
    /// The machine.
    pub machine: Option<String>,
    /// The kernel's version.
    pub kernel: Option<String>,
}

/// A folder, and what was read of it so far.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    known: BTreeMap<String, Known>,
}

impl Folder {
    /// A folder of which nothing is read yet.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            known: BTreeMap::new(),
        }
    }

    /// What lies there now. Each has its path within the folder.
    pub fn list(&mut self, say: &Say<'_>) -> Vec<Entry> {
        let mut all = Vec::new();
        look(&self.root, Path::new(""), 0, &mut all);
        let until = Instant::now() + READ_FOR;
        for entry in &mut all {
            let known = self.known.get(&entry.path);
            let is_new = known.is_none_or(|k| k.modified != entry.modified_s);
            if is_new && entry.bytes <= READ_BYTES && Instant::now() < until {
                let read = read(&self.root.join(&entry.path), entry, say);
                self.known.insert(entry.path.clone(), read);
            }
            if let Some(known) = self.known.get(&entry.path) {
                entry.known.clone_from(known);
            }
        }
        all
    }

    /// The path of an entry, if it is in the list: no other path is opened.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        let mut all = Vec::new();
        look(&self.root, Path::new(""), 0, &mut all);
        let entry = all.into_iter().find(|e| e.path == name)?;
        Some(self.root.join(entry.path))
    }
}

fn look(root: &Path, within: &Path, depth: usize, all: &mut Vec<Entry>) {
    let Ok(entries) = fs::read_dir(root.join(within)) else {
        return;
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = within.join(entry.file_name());
        let (Some(shown), Ok(meta)) = (name.to_str(), entry.metadata()) else {
            continue;
        };
        // Links may lead out of the folder; what is hidden is not meant.
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if hidden || meta.is_symlink() || all.len() >= MOST {
            continue;
        }
        let kind = if meta.is_dir() {
            let path = root.join(&name);
            if path.join(agent::capture::MANIFEST).is_file() {
                Some(Kind::Capture)
            } else {
                let kind = if published::is_result(&path) {
                    Some(Kind::Published)
                } else {
                    let is_run = experiment::is_experiment(&path) || board_run::is_board_run(&path);
                    is_run.then_some(Kind::Experiment)
                };
                if depth < DEEPEST && kind.is_none() {
                    look(root, &name, depth + 1, all);
                }
                kind
            }
        } else if meta.is_file() {
            of_file(&root.join(&name))
        } else {
            None
        };
        if let Some(kind) = kind {
            all.push(Entry {
                path: shown.to_owned(),
                kind,
                bytes: if meta.is_dir() { 0 } else { meta.len() },
                modified_s: modified(&meta),
                ..Entry::default()
            });
        }
    }
}

fn modified(meta: &fs::Metadata) -> u64 {
    let at = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    at.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// A capture by its name, anything else by what is in it.
fn of_file(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    if name.ends_with(".tar") || name.ends_with(".tar.zst") {
        return Some(Kind::Capture);
    }
    match format::of_path(path, READ_BYTES) {
        Format::Archive => Some(Kind::Capture),
        // A kernel has no boot of its own.
        Format::Known(name) if name != KERNEL_IMAGE.name() => Some(Kind::Log),
        Format::Known(_) | Format::Unknown => None,
    }
}

/// First light of a boot; of an experiment, that of its baseline.
fn read(path: &Path, entry: &Entry, say: &Say<'_>) -> Known {
    let mut known = Known {
        modified: entry.modified_s,
        ..Known::default()
    };
    if entry.kind == Kind::Experiment && board_run::is_board_run(path) {
        known.clock = Some(ClockKind::Wall);
        if let Ok(run) = board_run::read(path) {
            let baseline = run.variants.iter().find(|v| v.variant == run.baseline);
            let light = baseline.and_then(|v| v.loader.or(v.power_on));
            known.first_light_ns = light.map(|(median, _, _)| median.get());
            known.machine = Some(run.outcome.board);
        }
    } else if entry.kind == Kind::Experiment {
        if let Ok(experiment) = experiment::read(path) {
            known.clock = Some(experiment.clock);
            let baseline = experiment.variants.first();
            known.first_light_ns = baseline.and_then(|v| v.median).map(record::Nanos::get);
        }
    } else if entry.kind == Kind::Published {
        // It has no boot of its own.
    } else if let Ok(record) = boot(&[path.to_owned()], &Reading::default(), say) {
        known.clock = record.clock().map(|c| c.kind);
        let light = analysis::phases(&record).first_light;
        known.first_light_ns = light.map(|f| f.at.get());
        known.machine = record.fact("machine").map(str::to_owned);
        known.kernel = record.fact("kernel.version").map(str::to_owned);
    }
    known
}
