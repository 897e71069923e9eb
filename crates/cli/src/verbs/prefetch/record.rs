//! `firstlight prefetch record`: what a program reads.

use super::args::Record;
use crate::beside;
use crate::out::Out;
use agent::access::{RangeKind, encode};
use anyhow::{Context, Result, bail};
use capture::accesses::recording::{Options, Recorded, record};
use std::io::Write;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use views::json::{Document, PrefetchRecord};
use views::terminal;

/// Records.
pub fn run(args: &Record, out: &mut Out) -> Result<()> {
    let Some((program, arguments)) = args.command.split_first() else {
        bail!("there is no program to run; name it behind `--`");
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if out.json {
        // Standard output is for the JSON.
        let stderr = std::io::stderr().as_fd().try_clone_to_owned()?;
        command.stdout(Stdio::from(stderr));
    }
    let words: Vec<_> = args.command.iter().map(|w| w.to_string_lossy()).collect();
    let options = Options {
        keep_cache: args.keep_cache,
        limit: args.limit,
    };
    let recorded = record(
        command,
        &words.join(" "),
        &options,
        &*crate::interrupt::told()?,
    )?;
    let bytes = encode(&recorded.list);
    beside::write(&args.out, |to| {
        to.write_all(&bytes).context("the list cannot be written")
    })?;
    print(args, &recorded, bytes.len(), out)
}

fn print(args: &Record, recorded: &Recorded, list_bytes: usize, out: &mut Out) -> Result<()> {
    let list = &recorded.list;
    let files = list.entries.iter().filter(|e| !e.is_device()).count();
    let (bytes, metadata_bytes) = list.bytes_of(RangeKind::Touched);
    let (around_bytes, _) = list.bytes_of(RangeKind::Around);
    let done = PrefetchRecord {
        around_bytes,
        bytes,
        directories: list.directories,
        elapsed_ns: u64::try_from(recorded.elapsed.as_nanos()).unwrap_or(u64::MAX),
        exit_code: recorded.status.and_then(|s| s.code()),
        files,
        list: args.out.display().to_string(),
        list_bytes,
        metadata_bytes,
        notes: recorded.notes.clone(),
        schema: PrefetchRecord::SCHEMA,
    };
    if !out.json {
        for note in &recorded.notes {
            anstream::eprintln!("firstlight: {note}");
        }
        match recorded.status {
            Some(status) if !status.success() => {
                anstream::eprintln!("firstlight: the program ended with {status}");
            }
            None => anstream::eprintln!("firstlight: the program still runs"),
            _ => {}
        }
    }
    out.show(|| &done, |_| terminal::prefetch::record(&done))
}
