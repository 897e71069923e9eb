//! `firstlight prefetch simulate`: what a list's owner would wait for a device.

use super::args::Simulate;
use crate::out::Out;
use agent::prefetch::{DISK_INFILL_BYTES, INFILL_BYTES, WINDOW_US};
use anyhow::{Result, bail};
use lab::layout::read_list;
use lab::profiles::named;
use lab::reads::Reads;
use storage::profiles::profiles;
use storage::{Costs, Model, Profile, Way, simulate};
use views::json::{Document, PrefetchCase, PrefetchProfile, PrefetchSimulation};
use views::terminal;

/// Simulates.
pub fn run(args: &Simulate, out: &mut Out) -> Result<()> {
    let list = read_list(&args.list)?;
    let (reads, ordered) = match &args.image {
        Some(image) => Reads::inside(&list, image)?,
        None => {
            let reads = Reads::below(&list, &args.root);
            let ordered = reads.in_order();
            (reads, ordered)
        }
    };
    if reads.needs.is_empty() {
        let place = args.image.as_ref().unwrap_or(&args.root);
        bail!(
            "{}: none of its files can be found on a device below {}",
            args.list.display(),
            place.display()
        );
    }
    let all = match args.storage.is_empty() {
        true => profiles()?,
        false => {
            let named = args.storage.iter().map(|name| named(name));
            named.collect::<Result<_, _>>()?
        }
    };
    let costs = match args.in_lab {
        true => Costs::LAB,
        false => Costs::default(),
    };
    let report = PrefetchSimulation {
        schema: PrefetchSimulation::SCHEMA,
        list: args.list.display().to_string(),
        work_ns: reads.work_ns(),
        bytes: reads.bytes(),
        missing_files: reads.missing,
        profiles: all
            .iter()
            .map(|p| row(p, costs, &reads, &ordered))
            .collect(),
    };
    out.show(|| &report, |_| terminal::prefetch::simulation(&report))
}

fn row(profile: &Profile, costs: Costs, reads: &Reads, ordered: &Reads) -> PrefetchProfile {
    let storage = &profile.storage;
    let costs = match storage.model {
        // Nothing serves it.
        Model::None => Costs::default(),
        _ => costs,
    };
    let size = reads.size();
    let case = |reads: &Reads, way| {
        let done = simulate(
            &reads.needs,
            (&reads.files, reads.mount.as_ref()),
            (storage, size),
            costs,
            way,
        );
        PrefetchCase {
            total_ns: done.total_ns,
            stall_ns: done.stall_ns,
            requests: done.requests,
        }
    };
    // As the prefetcher chooses by itself.
    let infill_bytes = match storage.model {
        Model::Disk => DISK_INFILL_BYTES,
        _ => INFILL_BYTES,
    };
    let ahead = Way::Prefetch {
        window_ns: WINDOW_US * 1000,
        infill_bytes,
    };
    let bytes = reads.bytes();
    let transfer = u128::from(bytes) * 1_000_000_000 / u128::from(storage.read_bytes_per_s.max(1));
    let least = match storage.model {
        Model::None => 0,
        _ => u64::try_from(transfer)
            .unwrap_or(u64::MAX)
            .saturating_add(storage.command_ns),
    };
    PrefetchProfile {
        storage: profile.name.clone(),
        demand: case(reads, Way::Demand),
        prefetch: case(reads, ahead),
        ordered: case(ordered, ahead),
        limit_ns: reads.work_ns().max(least),
    }
}
