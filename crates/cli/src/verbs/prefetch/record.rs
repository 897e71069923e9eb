//! `firstlight prefetch record`: what a program reads.

use super::args::Record;
use crate::beside;
use crate::out::Out;
use crate::size::show as size;
use agent::access::{AccessList, RangeKind, encode};
use anyhow::{Context, Result, bail};
use capture::accesses::recording::{Options, Recorded, record};
use std::io::Write;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use views::json::{self, Document};

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

/// Bytes of this kind in files, and in devices.
fn bytes_of(list: &AccessList, kind: RangeKind) -> (u64, u64) {
    let mut sums = (0, 0);
    for entry in &list.entries {
        let pieces = entry.pieces(kind, list.page_bytes);
        let bytes: u64 = pieces.iter().map(|p| p.1).sum();
        match entry.is_device() {
            true => sums.1 += bytes,
            false => sums.0 += bytes,
        }
    }
    sums
}

fn print(args: &Record, recorded: &Recorded, list_bytes: usize, out: &mut Out) -> Result<()> {
    let list = &recorded.list;
    let files = list.entries.iter().filter(|e| !e.is_device()).count();
    let (touched, metadata) = bytes_of(list, RangeKind::Touched);
    let (around, _) = bytes_of(list, RangeKind::Around);
    let code = recorded.status.map(|s| s.code());
    if out.json {
        let elapsed = u64::try_from(recorded.elapsed.as_nanos()).unwrap_or(u64::MAX);
        let done = json::PrefetchRecord {
            around_bytes: around,
            bytes: touched,
            directories: list.directories,
            elapsed_ns: elapsed,
            exit_code: code.flatten(),
            files,
            list: args.out.display().to_string(),
            list_bytes,
            metadata_bytes: metadata,
            notes: recorded.notes.clone(),
            schema: json::PrefetchRecord::SCHEMA,
        };
        return out.text(&json::text(&done));
    }
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
    let mut text = format!(
        "{}: {} of {files} files, {} of metadata, {} directories",
        args.out.display(),
        size(touched),
        size(metadata),
        list.directories
    );
    if around > 0 {
        text += &format!(
            "; {} more were in use by other programs, and perhaps touched",
            size(around)
        );
    }
    text.push('\n');
    out.text(&text)
}
