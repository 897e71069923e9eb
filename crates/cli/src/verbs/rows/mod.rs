//! `firstlight rows`: the logs of many boots as two tables.

pub mod args;
mod tables;

use crate::out::Out;
use crate::progress;
use anyhow::{Context, Result, bail};
use args::Rows;
use input::rows::{Unit, each, each_of_list, each_of_stream, rows};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use tables::Tables;

/// How many boots are read side by side before their rows are written. This bounds the
/// memory, whatever the input.
const CHUNK: usize = 64;

/// How many files of archives may be open in a chunk.
const OPEN_FILES: usize = 256;

pub fn run(args: &Rows, out: &mut Out) -> Result<()> {
    // A typing error is no boot.
    let missing = |p: &&std::path::PathBuf| *p != Path::new("-") && p.symlink_metadata().is_err();
    if let Some(path) = args.inputs.iter().find(missing) {
        bail!("{}: no such file or folder", path.display());
    }
    let mut tables = Tables::new(args)?;
    let mut chunk: Vec<Unit> = Vec::new();
    let mut read = 0_u64;
    {
        let mut give = |unit: Unit| {
            chunk.push(unit);
            let open: usize = chunk.iter().map(Unit::open_files).sum();
            if chunk.len() >= CHUNK || open >= OPEN_FILES {
                read += chunk.len() as u64;
                write(std::mem::take(&mut chunk), args, &mut tables, out)
                    .map_err(|e| input::Error::Taken(e.into()))?;
                progress::say(format!("{read} boots read"));
            }
            Ok(())
        };
        for path in &args.inputs {
            if path == Path::new("-") {
                each_of_stream(std::io::stdin().lock(), &mut give)?;
            } else {
                each(path, &mut give)?;
            }
        }
        match &args.from_list {
            Some(list) if list == Path::new("-") => {
                each_of_list(std::io::stdin().lock(), &mut give)?;
            }
            Some(list) => {
                let shown = list.display();
                let file = File::open(list).with_context(|| format!("{shown}: cannot be read"))?;
                each_of_list(BufReader::new(file), &mut give)?;
            }
            None => {}
        }
    }
    write(chunk, args, &mut tables, out)?;
    let last = tables.finish()?;
    progress::clear();
    if out.json {
        return out.text(&views::json::text(&tables.done));
    }
    if args.every.is_some() {
        out.text(&last.unwrap_or_default())?;
    }
    let done = &tables.done;
    let boots = done.ok + done.no_first_light + done.implausible + done.bad;
    out.text(&format!(
        "{boots} boots in {}: {} ok, {} without first light, {} implausible, {} bad; {} items\n",
        done.dir, done.ok, done.no_first_light, done.implausible, done.bad, done.items
    ))
}

/// Reads boots side by side and writes their rows in the order of the input.
fn write(units: Vec<Unit>, args: &Rows, tables: &mut Tables<'_>, out: &mut Out) -> Result<()> {
    for (source, row) in rows(units, &args.reading.chosen()) {
        if let Some(line) = tables.add(&source, &row)?
            && !out.json
        {
            out.text(&line)?;
            out.flush()?;
        }
    }
    Ok(())
}
