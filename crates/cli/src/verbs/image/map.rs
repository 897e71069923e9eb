//! `firstlight image map`: who owns what was read.

use super::args::Map as Args;
use crate::args::Reading;
use crate::input;
use crate::out::Out;
use crate::progress;
use anyhow::{Context, Result, bail};
use inspect::map::{self, Owners, Wanted};
use inspect::paths;
use inspect::requests::{self, Requests, Unit};
use views::json::image::{Map, MapRows};
use views::terminal::image::{MapLines, map_by_file, map_head};

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    progress::mapping(&args.image);
    let disk = inspect::disk::map(&args.image, args.partition)?;
    progress::clear();
    let given = args.unit.unwrap_or(Unit::SECTORS);
    let mut notes = map::notes(&disk);
    let base = |unit: Unit| {
        let base = args.base.checked_mul(unit.bytes);
        base.with_context(|| format!("--base {} lies behind every disk", args.base))
    };
    let wanted = if args.requests.is_empty() {
        let Some(list) = &args.files else {
            bail!("expected --requests FILE, or --files LIST");
        };
        Wanted::Files(paths::list(list)?)
    } else {
        progress::say("reading the requests");
        let requests = read(args)?;
        notes.extend(requests.notes.clone());
        let base = base(requests.unit)?;
        Wanted::Requests(requests, base)
    };
    progress::clear();
    let unit = wanted.unit(given);
    if out.json {
        let map = Map::of(&shown, unit, base(unit)?, &notes);
        out.text(&map.head())?;
        let mut rows = MapRows::new(unit);
        wanted.rows(&disk, &shown, &mut |row| out.text(&rows.next(row)))?;
        return out.text(Map::END);
    }
    if args.by_file {
        let mut owners = Owners::default();
        wanted.rows(&disk, &shown, &mut |row| {
            owners.add(row);
            anyhow::Ok(())
        })?;
        let owners = owners.sorted();
        return out.text(&map_by_file(
            &shown, unit, &notes, &owners, args.top, &out.style,
        ));
    }
    out.text(&map_head(&shown, unit, &notes, &out.style))?;
    let mut lines = MapLines::new(unit, &out.style);
    wanted.rows(&disk, &shown, &mut |row| out.text(&lines.next(row)))
}

/// Lists of `start+len`, or a trace.
fn read(args: &Args) -> Result<Requests> {
    // Each is opened once: what comes out of a pipe is gone when it was read.
    let files = args.requests.iter().map(|p| input::file(p));
    let mut files = files.collect::<Result<Vec<_>>>()?;
    let Some((first, path)) = files.first_mut() else {
        bail!("expected a list of requests");
    };
    let shown = path.display().to_string();
    if requests::is_plain(first, path)? {
        return Ok(requests::plain(files, args.unit.unwrap_or(Unit::SECTORS))?);
    }
    if args.unit.is_some_and(|u| u != Unit::SECTORS) {
        bail!("--unit is for lines of `start+len`; traces count in sectors of 512 bytes");
    }
    let inputs = files
        .into_iter()
        .map(|(file, path)| input::read_named(file, &path))
        .collect::<Result<Vec<_>>>()?;
    let record = input::record_from(&inputs, &Reading::default())?;
    Ok(requests::traced(&record, args.device.as_deref(), &shown)?)
}
