//! `firstlight prefetch merge`: several recordings, one list.

use super::args::Merge;
use crate::beside;
use crate::out::Out;
use agent::access::{encode, merge};
use anyhow::{Context, Result, bail};
use lab::layout::read_list;
use std::io::Write;
use views::json::{Document, PrefetchMerge};
use views::terminal;

/// Merges.
pub fn run(args: &Merge, out: &mut Out) -> Result<()> {
    let lists = args.lists.iter().map(|p| read_list(p));
    let lists = lists.collect::<Result<Vec<_>, _>>()?;
    let (Some(first), paths) = (lists.first(), &args.lists) else {
        bail!("there is nothing to merge");
    };
    for (list, path) in lists.iter().zip(paths) {
        if (list.page_bytes, &list.machine) != (first.page_bytes, &first.machine) {
            bail!(
                "{}: is of a {} with pages of {} bytes, and {} of a {} with pages of {}; merge \
                 recordings of one machine",
                path.display(),
                list.machine,
                list.page_bytes,
                paths
                    .first()
                    .map(|p| p.display().to_string())
                    .unwrap_or_default(),
                first.machine,
                first.page_bytes
            );
        }
    }
    let merged = merge(&lists);
    let bytes = encode(&merged);
    beside::write(&args.out, |to| {
        to.write_all(&bytes).context("the list cannot be written")
    })?;
    let ranges = || merged.entries.iter().flat_map(|e| &e.ranges);
    let always = ranges().filter(|r| r.seen == merged.recordings).count();
    let (files, all) = (merged.entries.len(), ranges().count());
    let done = PrefetchMerge {
        always,
        files,
        list: args.out.display().to_string(),
        ranges: all,
        recordings: merged.recordings,
        schema: PrefetchMerge::SCHEMA,
    };
    out.show(|| &done, |_| terminal::prefetch::merge(&done))
}
