//! `firstlight prefetch replay`: what the agent does at boot, now.

use super::args::Replay;
use crate::out::Out;
use agent::prefetch::{Order, Settings, play};
use anyhow::{Context, Result};
use lab::layout::read_list;
use views::json::{Document, PrefetchReplay};
use views::terminal;

/// Replays.
pub fn run(args: &Replay, out: &mut Out) -> Result<()> {
    let list = read_list(&args.on.list)?;
    let settings = Settings {
        root: args.on.root.clone(),
        order: match args.need_order {
            true => Some(Order::Need),
            false => Some(Order::Physical),
        },
        ..Settings::default()
    };
    let begun = std::time::Instant::now();
    let played = play(&list, &settings).context("the list cannot be played")?;
    let elapsed = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let done = PrefetchReplay {
        bytes: played.bytes,
        elapsed_ns: elapsed,
        files: played.files,
        io_uring: played.ring,
        list: args.on.list.display().to_string(),
        metadata_bytes: played.metadata_bytes,
        reads: played.reads,
        resident_bytes: played.resident_bytes,
        schema: PrefetchReplay::SCHEMA,
        stale: played.stale,
        stopped: played.stopped,
    };
    if let (false, Some(why)) = (out.json, &done.stopped) {
        anstream::eprintln!("firstlight: {why}");
    }
    out.show(|| &done, |_| terminal::prefetch::replay(&done))
}
