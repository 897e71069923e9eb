//! `firstlight prefetch replay`: what the agent does at boot, now.

use super::args::Replay;
use crate::out::Out;
use crate::size::show as size;
use agent::prefetch::{Order, Settings, play};
use anyhow::{Context, Result};
use views::json::{self, Document};

/// Replays.
pub fn run(args: &Replay, out: &mut Out) -> Result<()> {
    let list = super::read(&args.on.list)?;
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
    if out.json {
        let done = json::PrefetchReplay {
            bytes: played.bytes,
            elapsed_ns: elapsed,
            files: played.files,
            io_uring: played.ring,
            list: args.on.list.display().to_string(),
            metadata_bytes: played.metadata_bytes,
            reads: played.reads,
            resident_bytes: played.resident_bytes,
            schema: json::PrefetchReplay::SCHEMA,
            stale: played.stale,
            stopped: played.stopped,
        };
        return out.text(&json::text(&done));
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
