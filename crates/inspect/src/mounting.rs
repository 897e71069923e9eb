//! What mounting the filesystems of an image costs.

use crate::whole::{Item, Kind};
use ::disk::mount::{self, Cost, LAB, Plan, State, error_percent};
use bootimage::info;
use rawimage::{Foreign, Part};
use std::collections::BTreeMap;

/// What a filesystem appears to lie on.
#[derive(Clone, Copy, Debug)]
pub enum On<'a> {
    /// The block device with this profile.
    Block(&'a str),
    /// This flash chip.
    Chip(&'static str),
}

/// What a mount on a block device costs, and the profile of that device: of a plan, and
/// the bytes of the device. Or why that is not known.
pub type OfBlock<'a> = dyn Fn(&Plan, u64) -> Result<(Cost, String), String> + 'a;

/// What a mount costs.
#[derive(Clone, Debug)]
pub struct Mount {
    /// Which filesystem.
    pub filesystem: &'static str,
    /// How it was left.
    pub state: State,
    /// Requests to read.
    pub reads: u64,
    /// Bytes of these.
    pub read_bytes: u64,
    /// Requests to write; none on flash.
    pub writes: u64,
    /// Bytes of these.
    pub written_bytes: u64,
    /// Until it is mounted, nanoseconds.
    pub total_ns: u64,
    /// What of it the processor adds; `None` if that is within the chip's figures.
    pub processor_ns: Option<u64>,
    /// Whether `total_ns` is all of it, and not the least.
    pub is_whole: bool,
    /// By how much `total_ns` may be wrong; `None`: the model was not checked for this
    /// filesystem.
    pub error_percent: Option<u32>,
    /// The profile or chip.
    pub storage: String,
    /// Whether the user named the storage.
    pub is_named: bool,
    /// Where the figures are from.
    pub source: &'static str,
}

/// What mounts cost, or why that is not known: by the place of what is mounted.
#[derive(Clone, Debug, Default)]
pub struct Mounts(BTreeMap<u64, Result<Mount, String>>);

impl Mounts {
    /// What mounting each filesystem among `items` of an image costs; `on` is the storage
    /// that the user named.
    pub fn of(
        image: &Part<'_>,
        items: &[&Item],
        on: Option<On<'_>>,
        of_block: &OfBlock<'_>,
    ) -> Self {
        let mounts = items
            .iter()
            .filter_map(|item| Some((item.offset, of(image, item, on, of_block)?)));
        Self(mounts.collect())
    }

    /// Of an item. A disk is not mounted, but what begins where it does.
    #[must_use]
    pub fn get(&self, item: &Item) -> Option<&Result<Mount, String>> {
        let is_mounted = !matches!(item.kind, Kind::Disk(..));
        self.0.get(&item.offset).filter(|_| is_mounted)
    }
}

/// What mounting `item` costs, if it is a filesystem; or why that cannot be said.
fn of(
    image: &Part<'_>,
    item: &Item,
    on: Option<On<'_>>,
    of_block: &OfBlock<'_>,
) -> Option<Result<Mount, String>> {
    let part = image.part(item.offset, item.size);
    match &item.kind {
        Kind::Jffs2 { .. } | Kind::Boot(info::Kind::Foreign(Foreign::Ubi)) => {
            let chip = match on {
                Some(On::Block(name)) => {
                    return Some(Err(format!(
                        "not estimated: {name} is a block device, and this is an image of raw flash"
                    )));
                }
                Some(On::Chip(name)) => Some(name),
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
                is_named: on.is_some(),
                source: flash.source,
            }))
        }
        Kind::Filesystem(_) | Kind::Boot(info::Kind::Foreign(_)) => {
            let plan = mount::look(&part).map_err(|e| format!("not estimated: {e}"));
            let plan = match plan.transpose()? {
                Ok(plan) => plan,
                Err(why) => return Some(Err(why)),
            };
            if let Some(On::Chip(name)) = on {
                return Some(Err(format!(
                    "not estimated: {name} is raw flash, and {} needs a block device",
                    plan.filesystem
                )));
            }
            Some(of_block(&plan, part.len()).map(|(cost, storage)| Mount {
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
                storage,
                is_named: on.is_some(),
                source: LAB.source,
            }))
        }
        _ => None,
    }
}
