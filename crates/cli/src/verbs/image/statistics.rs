//! `firstlight image statistics`: sizes of directories and files, and what a check costs.

use super::args::Statistics as Args;
use super::mount::Storage;
use crate::out::Out;
use crate::progress;
use anyhow::{Result, bail};
use lab::profiles::named;
use views::json::image::CheckCost;
use views::{json, terminal};

/// The profiles that a check is foretold on, if none is named.
const USUAL: [&str; 4] = ["emmc", "sd-card", "usb-flash", "hdd-laptop"];

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    progress::mapping(&args.image);
    let disk = inspect::disk::map(&args.image, args.partition)?;
    progress::clear();
    let profiles = match &args.storage {
        Some(Storage::Block(profile)) => vec![(**profile).clone()],
        Some(Storage::Chip(name)) => {
            bail!("{name} is a flash chip; name the profile of a block device")
        }
        None => USUAL.iter().map(|n| named(n)).collect::<Result<_, _>>()?,
    };
    let all: Vec<_> = disk
        .maps()
        .map(|(volume, map)| {
            let statistics = disk::statistics(map);
            let size = map.facts.bytes;
            let costs = profiles.iter().filter_map(|p| {
                let reads = statistics.check.as_ref()?.reads.iter().copied();
                Some(CheckCost {
                    profile: p.name.clone(),
                    ns: storage::in_sequence(&p.storage, size, reads),
                })
            });
            let costs: Vec<CheckCost> = costs.collect();
            (volume.start, statistics, costs)
        })
        .collect();
    out.show(
        || json::image::Statistics::of(&shown, &all),
        |style| terminal::image::statistics(&shown, &all, style),
    )
}
