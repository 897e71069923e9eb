//! What mounting the filesystems of an image costs.

use bootimage::info;
use disk::mount::{self, LAB, State, error_percent};
use flash::jffs2::mount::PROFILES;
use inspect::whole::{Item, Kind};
use lab::LabError;
use lab::profiles::{named, of_file};
use rawimage::Part;
use rawimage::foreign::Foreign;
use record::Nanos;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use storage::{Profile, ProfileError};

/// The profile of a block device, if none is named.
const DEFAULT: &str = "emmc";

/// What a filesystem appears to lie on.
#[derive(Clone, Debug)]
pub enum Storage {
    /// A storage profile of the lab, or of a file of the user's.
    Block(Box<Profile>),
    /// A flash chip.
    Chip(&'static str),
}

impl Storage {
    /// Finds it by its name.
    pub fn parse(name: &str) -> Result<Self, String> {
        if let Some(chip) = PROFILES.iter().find(|p| p.name == name) {
            return Ok(Self::Chip(chip.name));
        }
        match named(name) {
            Ok(profile) => Ok(Self::Block(Box::new(profile))),
            Err(e @ LabError::Profile(ProfileError::Unknown { .. })) if of_file(name).is_none() => {
                let chips: Vec<_> = PROFILES.iter().map(|p| p.name).collect();
                Err(format!("{e}, and of chips {}", chips.join(", ")))
            }
            Err(e) => Err(e.to_string()),
        }
    }
}

/// What a mount costs.
pub struct Mount {
    pub filesystem: &'static str,
    pub state: State,
    pub reads: u64,
    pub read_bytes: u64,
    /// Requests to write, and bytes; none on flash.
    pub writes: u64,
    pub written_bytes: u64,
    pub total_ns: u64,
    /// What of it the processor adds; `None` if that is within the chip's figures.
    pub processor_ns: Option<u64>,
    /// Whether `total_ns` is all of it, and not the least.
    pub is_whole: bool,
    /// `None`: the model was not checked for this filesystem.
    pub error_percent: Option<u32>,
    pub storage: String,
    /// Whether the user named the storage.
    pub is_named: bool,
    pub source: &'static str,
}

/// What mounts cost, or why that is not known: by the place of what is mounted.
#[derive(Default)]
pub struct Mounts(BTreeMap<u64, Result<Mount, String>>);

impl Mounts {
    /// What mounting each filesystem among `items` of an image costs.
    pub fn of(image: &Part<'_>, items: &[&Item], storage: Option<&Storage>) -> Self {
        let mounts = items
            .iter()
            .filter_map(|item| Some((item.offset, of(image, item, storage)?)));
        Self(mounts.collect())
    }

    /// Of an item. A disk is not mounted, but what begins where it does.
    pub fn get(&self, item: &Item) -> Option<&Result<Mount, String>> {
        let is_mounted = !matches!(item.kind, Kind::Disk(..));
        self.0.get(&item.offset).filter(|_| is_mounted)
    }
}

/// What mounting `item` costs, if it is a filesystem; or why that cannot be said.
fn of(image: &Part<'_>, item: &Item, on: Option<&Storage>) -> Option<Result<Mount, String>> {
    let part = image.part(item.offset, item.size);
    let is_named = on.is_some();
    match &item.kind {
        Kind::Jffs2 { .. } | Kind::Boot(info::Kind::Foreign(Foreign::Ubi)) => {
            let chip = match on {
                Some(Storage::Block(profile)) => {
                    let name = &profile.name;
                    return Some(Err(format!(
                        "not estimated: {name} is a block device, and this is an image of raw flash"
                    )));
                }
                Some(Storage::Chip(name)) => Some(*name),
                None => None,
            };
            let flash =
                flash::mount::look(&part, chip, None, &mount::squashfs_reads).transpose()?;
            Some(flash.map(|flash| Mount {
                filesystem: flash.filesystem,
                state: flash.state,
                reads: flash.reads(),
                read_bytes: flash.bytes(),
                writes: 0,
                written_bytes: 0,
                total_ns: flash.total_ns(),
                processor_ns: None,
                is_whole: flash.state == State::Clean,
                error_percent: Some(flash.error_percent),
                storage: flash.chip.to_owned(),
                is_named,
                source: flash.source,
            }))
        }
        Kind::Filesystem(_) | Kind::Boot(info::Kind::Foreign(_)) => {
            let plan = mount::look(&part).map_err(|e| format!("not estimated: {e}"));
            let plan = match plan.transpose()? {
                Ok(plan) => plan,
                Err(why) => return Some(Err(why)),
            };
            let profile = match on {
                Some(Storage::Chip(name)) => {
                    return Some(Err(format!(
                        "not estimated: {name} is raw flash, and {} needs a block device",
                        plan.filesystem
                    )));
                }
                Some(Storage::Block(profile)) => (**profile).clone(),
                None => match named(DEFAULT) {
                    Ok(profile) => profile,
                    Err(e) => return Some(Err(e.to_string())),
                },
            };
            let cost = lab::mounts::cost(&plan, &LAB, &profile.storage, part.len());
            Some(Ok(Mount {
                filesystem: plan.filesystem,
                state: plan.state,
                reads: cost.reads,
                read_bytes: cost.read_bytes,
                writes: cost.writes,
                written_bytes: cost.written_bytes,
                total_ns: cost.total_ns,
                processor_ns: Some(cost.processor_ns()),
                is_whole: plan.is_whole,
                // What a replay takes was not looked at.
                error_percent: error_percent(plan.filesystem).filter(|_| plan.is_whole),
                storage: profile.name,
                is_named,
                source: LAB.source,
            }))
        }
        _ => None,
    }
}

fn time(ns: u64) -> String {
    Nanos(i64::try_from(ns).unwrap_or(i64::MAX)).to_string()
}

impl Mount {
    /// In a sentence.
    pub fn text(&self) -> String {
        let moved = |n: u64, word: &str, bytes: u64| {
            let word = views::plural(usize::try_from(n).unwrap_or(usize::MAX), word);
            let (n, bytes) = (views::thousands(n), crate::size::show(bytes));
            format!("{n} {word} of {bytes}")
        };
        let reads = moved(self.reads, "read", self.read_bytes);
        let mut text = format!("{}, {}: {reads}", self.filesystem, self.state.name());
        if self.writes > 0 {
            let writes = moved(self.writes, "write", self.written_bytes);
            text.push_str(&format!(", {writes}"));
        }
        let about = if self.is_whole { "about" } else { "at least" };
        text.push_str(&format!(
            ", {about} {} on {}",
            time(self.total_ns),
            self.storage
        ));
        if let Some(percent) = self.error_percent {
            text.push_str(&format!(" (+- {percent} %)"));
        } else if !self.is_whole {
            text.push_str(" (without the replay)");
        } else {
            text.push_str(" (not checked)");
        }
        if let Some(ns) = self.processor_ns {
            text.push_str(&format!(
                ", {} of it the processor's at 1000 MIPS",
                time(ns)
            ));
        }
        if !self.is_named {
            text.push_str("; --storage names another");
        }
        text
    }

    /// The object `mount` of `firstlight.image.info/1`.
    pub fn json(&self) -> Value {
        json!({
            "filesystem": self.filesystem,
            "state": self.state.word(),
            "reads": self.reads,
            "read_bytes": self.read_bytes,
            "writes": self.writes,
            "written_bytes": self.written_bytes,
            "total_ns": self.total_ns,
            "processor_ns": self.processor_ns,
            "at_least": !self.is_whole,
            "error_percent": self.error_percent,
            "storage": self.storage,
            "source": self.source,
        })
    }
}
