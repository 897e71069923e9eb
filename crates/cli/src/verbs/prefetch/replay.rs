//! `firstlight prefetch replay`: what the agent does at boot, now.

use super::args::Replay;
use crate::out::Out;
use crate::size::show as size;
use agent::prefetch::{Order, Settings, play};
use anyhow::{Context, Result};

/// Replays.
pub fn run(args: &Replay, out: &mut Out) -> Result<()> {
    let list = super::read(&args.list)?;
    let settings = Settings {
        root: args.root.clone(),
        order: match args.need_order {
            true => Some(Order::Need),
            false => Some(Order::Physical),
        },
        ..Settings::default()
    };
    let begun = std::time::Instant::now();
    let played = play(&list, &settings).context("the list cannot be played")?;
    let elapsed = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    if out.json {
        let done = serde_json::json!({
            "schema": "firstlight.prefetch.replay/1", "list": args.list, "files": played.files,
            "stale": played.stale, "bytes": played.bytes, "metadata_bytes": played.metadata_bytes,
            "resident_bytes": played.resident_bytes, "reads": played.reads,
            "io_uring": played.ring, "stopped": played.stopped, "elapsed_ns": elapsed,
        });
        return out.text(&views::json::text(&done));
    }
    if let Some(why) = &played.stopped {
        anstream::eprintln!("firstlight: {why}");
    }
    out.text(&format!(
        "{} of {} files read ahead in {} reads, {:.1} ms; {} were in memory; {} files are not what \
         was recorded\n",
        size(played.bytes),
        played.files,
        played.reads,
        elapsed as f64 / 1e6,
        size(played.resident_bytes),
        played.stale
    ))
}
