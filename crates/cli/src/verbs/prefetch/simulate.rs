//! `firstlight prefetch simulate`: what a list's owner would wait for a device.

use super::args::Simulate;
use crate::out::Out;
use anyhow::{Result, bail};
use lab::layout::read_list;
use lab::profiles::named;
use lab::reads::Reads;
use proof::layout::simulated;
use storage::Costs;
use storage::profiles::profiles;
use views::json::{Document, PrefetchSimulation};
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
            .map(|p| simulated(p, costs, &reads, &ordered))
            .collect(),
    };
    out.show(|| &report, |_| terminal::prefetch::simulation(&report))
}
