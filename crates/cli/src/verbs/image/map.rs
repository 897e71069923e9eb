//! `firstlight image map`: who owns what was read.

use super::args::Map as Args;
use super::list::paths;
use super::requests::{self, Options, Request, Requests, Unit};
use crate::out::Out;
use crate::verbs::flash::text;
use crate::{progress, size};
use anyhow::{Context, Result, bail};
use disk::{Disk, Extent, Kind, Piece};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use views::terminal::layout::{self, DIM, PLAIN, Screen, WARN, clean, left, right};
use views::thousands;

/// A path as text, and in hexadecimal digits if it is not UTF-8.
type Shown = (String, Option<String>);

/// Paths that were made once: rows come in runs of one file.
#[derive(Default)]
struct Paths {
    /// By where the volume begins, and the inode.
    known: HashMap<(u64, u32), Option<Shown>>,
}

/// So many paths are kept at once.
const MOST_PATHS: usize = 1 << 16;

impl Paths {
    /// The path of a piece's owner.
    fn of(&mut self, piece: &Piece<'_>) -> Option<&Shown> {
        let inode = piece.extent.inode?;
        self.named(piece, inode)
    }

    fn named(&mut self, piece: &Piece<'_>, inode: u32) -> Option<&Shown> {
        let volume = piece.volume?;
        let map = volume.map.as_ref().ok()?;
        if self.known.len() >= MOST_PATHS {
            self.known.clear();
        }
        let path = self
            .known
            .entry((volume.start, inode))
            .or_insert_with(|| map.path(inode).map(|p| text(&p)));
        path.as_ref()
    }
}

/// A piece of a request, in the units of the list.
struct Row<'d> {
    request: Option<usize>,
    operation: Option<&'static str>,
    piece: Piece<'d>,
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    progress::mapping(&args.image);
    let disk = inspect::disk::map(&args.image, args.partition)?;
    progress::clear();
    let wanted = if args.requests.is_empty() {
        None
    } else {
        let options = Options {
            unit: args.unit,
            device: args.device.as_deref(),
        };
        progress::say("reading the requests");
        Some(requests::read(&args.requests, &options)?)
    };
    progress::clear();
    let unit = match &wanted {
        Some(wanted) => wanted.unit,
        None => args.unit.unwrap_or(Unit::SECTORS),
    };
    let base = args.base.checked_mul(unit.bytes);
    let base = base.with_context(|| format!("--base {} lies behind every disk", args.base))?;
    let mut notes = notes(&disk);
    notes.extend(wanted.iter().flat_map(|w| w.notes.clone()));
    let mut walk = |each: &mut dyn FnMut(Row<'_>) -> Result<()>| match &wanted {
        Some(wanted) => of_requests(&disk, wanted, base, each),
        None => of_files(&disk, args, each),
    };
    if out.json {
        return json(&shown, unit, base, &notes, &mut walk, out);
    }
    if args.by_file {
        return by_file(&shown, unit, &notes, args.top, &mut walk, out);
    }
    in_order(&shown, unit, &notes, &mut walk, out)
}

/// What is doubtful, and which partitions are not mapped.
pub fn notes(disk: &Disk) -> Vec<String> {
    let mut notes = disk.notes.clone();
    for volume in &disk.volumes {
        let place = match volume.partition {
            Some(number) => format!("partition {number}: "),
            None => String::new(),
        };
        match &volume.map {
            Ok(map) => notes.extend(map.notes.iter().map(|n| format!("{place}{n}"))),
            Err(e) => notes.push(format!("{place}{e}")),
        }
    }
    notes
}

type Walk<'a> = dyn FnMut(&mut dyn FnMut(Row<'_>) -> Result<()>) -> Result<()> + 'a;

fn of_requests(
    disk: &Disk,
    requests: &Requests,
    base: u64,
    each: &mut dyn FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut done = Ok(());
    for (number, request) in requests.list.iter().enumerate() {
        let Request {
            start,
            len,
            operation,
        } = *request;
        let start = start.saturating_mul(requests.unit.bytes);
        let len = len.saturating_mul(requests.unit.bytes);
        // What lies before the image is nobody's that is known.
        let before = base.saturating_sub(start).min(len);
        let mut put = |piece: Piece<'_>| {
            if done.is_ok() {
                done = each(Row {
                    request: Some(number),
                    operation,
                    piece,
                });
            }
        };
        if before > 0 {
            let extent = Extent {
                start,
                len: before,
                kind: Kind::Unmapped,
                inode: None,
                offset: None,
                is_packed: false,
            };
            put(Piece {
                extent,
                volume: None,
            });
        }
        let from = start.saturating_add(before).saturating_sub(base);
        disk.pieces(from, len - before, &mut |mut piece| {
            piece.extent.start = piece.extent.start.saturating_add(base);
            put(piece);
        });
    }
    done
}

fn of_files(disk: &Disk, args: &Args, each: &mut dyn FnMut(Row<'_>) -> Result<()>) -> Result<()> {
    let Some(list) = &args.files else {
        bail!("expected --requests FILE, or --files LIST");
    };
    for path in paths(list)? {
        let mut found = disk
            .maps()
            .filter_map(|(v, m)| Some((v, m, m.find(&path)?)));
        let Some((volume, map, inode)) = found.next() else {
            let path = String::from_utf8_lossy(&path).into_owned();
            bail!("{path} is not in {}", args.image.display());
        };
        for mut extent in map.extents_of(&[inode]).into_iter().flatten() {
            extent.start = extent.start.saturating_add(volume.start);
            extent.inode = Some(inode);
            each(Row {
                request: None,
                operation: None,
                piece: Piece {
                    extent,
                    volume: Some(volume),
                },
            })?;
        }
    }
    Ok(())
}

/// Where a piece begins and how long it is, in units: outwards to whole ones.
fn in_units(extent: &Extent, unit: Unit) -> (u64, u64, bool) {
    let end = extent.start.saturating_add(extent.len);
    let start = extent.start / unit.bytes;
    let exact = extent.start.is_multiple_of(unit.bytes) && extent.len.is_multiple_of(unit.bytes);
    (start, end.div_ceil(unit.bytes) - start, exact)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// `firstlight.image.map/1`, written as it is made: there may be millions of
/// rows.
fn json(
    image: &str,
    unit: Unit,
    base: u64,
    notes: &[String],
    walk: &mut Walk<'_>,
    out: &mut Out,
) -> Result<()> {
    let head = serde_json::json!({
        "schema": "firstlight.image.map/1", "image": image, "unit": unit.word(),
        "unit_bytes": unit.bytes, "base": base / unit.bytes, "notes": notes,
    });
    let head = head.to_string();
    let head = head.strip_suffix('}').unwrap_or(&head);
    write!(out, "{head},\"rows\":[")?;
    let mut paths = Paths::default();
    let mut text = String::new();
    let mut first = true;
    walk(&mut |row| {
        let extent = &row.piece.extent;
        let (start, len, exact) = in_units(extent, unit);
        text.clear();
        text.push_str(if first { "\n" } else { ",\n" });
        first = false;
        write!(text, "{{\"start\":{start},\"len\":{len},\"path\":")?;
        let path = paths.of(&row.piece);
        match path {
            Some((path, _)) => text.push_str(&quoted(path)),
            None => text.push_str("null"),
        }
        let hex = path.and_then(|p| p.1.clone());
        match extent.inode {
            Some(inode) => write!(text, ",\"inode\":{inode}")?,
            None => text.push_str(",\"inode\":null"),
        }
        match extent.offset {
            Some(offset) => write!(text, ",\"offset\":{offset}")?,
            None => text.push_str(",\"offset\":null"),
        }
        write!(text, ",\"kind\":\"{}\"", extent.kind.word())?;
        if let Some(hex) = hex {
            write!(text, ",\"path_hex\":\"{hex}\"")?;
        }
        if let Some(request) = row.request {
            write!(text, ",\"request\":{request}")?;
        }
        if let Some(operation) = row.operation {
            write!(text, ",\"operation\":\"{operation}\"")?;
        }
        if let Some(partition) = row.piece.volume.and_then(|v| v.partition) {
            write!(text, ",\"partition\":{partition}")?;
        }
        if extent.is_packed {
            text.push_str(",\"packed\":true");
        }
        if !exact {
            write!(text, ",\"byte\":{},\"bytes\":{}", extent.start, extent.len)?;
        }
        if extent.kind == Kind::Fragment
            && let Some(map) = row.piece.volume.and_then(|v| v.map.as_ref().ok())
        {
            let start = row.piece.volume.map_or(0, |v| v.start).saturating_add(base);
            let mut files = Vec::new();
            for inode in map.sharers(extent.start.saturating_sub(start)) {
                files.extend(paths.named(&row.piece, inode).map(|p| quoted(&p.0)));
            }
            write!(text, ",\"files\":[{}]", files.join(","))?;
        }
        text.push('}');
        out.write_all(text.as_bytes())?;
        Ok(())
    })?;
    Ok(out.write_all(b"]}\n")?)
}

/// The owner of a piece in words.
fn owner(row: &Row<'_>, paths: &mut Paths) -> String {
    let extent = &row.piece.extent;
    let path = paths.of(&row.piece).map(|p| clean(&p.0));
    let mut text = match (path, extent.inode) {
        (Some(path), _) => path,
        (None, Some(inode)) => format!("inode {inode}"),
        (None, None) => "-".to_owned(),
    };
    if let Some(offset) = extent.offset {
        write!(text, " +{}", thousands(offset)).ok();
    }
    text
}

fn heading(image: &str, unit: Unit, out: &Out) -> Screen {
    let mut screen = Screen::new(&out.style);
    screen.heading(image, &format!("places in {}", unit.word()));
    screen
}

fn say_notes(screen: &mut Screen, notes: &[String]) {
    for note in notes {
        screen.wrapped("  ", 2, WARN, &clean(note));
    }
}

/// A line for each piece.
fn in_order(
    image: &str,
    unit: Unit,
    notes: &[String],
    walk: &mut Walk<'_>,
    out: &mut Out,
) -> Result<()> {
    let mut screen = heading(image, unit, out);
    say_notes(&mut screen, notes);
    screen.blank();
    let title = format!(
        "  {}  {}  {}  {}",
        right("start", 12),
        right("len", 8),
        left("kind", 26),
        "owner"
    );
    let title = screen.paint(DIM, &title);
    screen.line(&title);
    out.text(&screen.finish())?;
    let width = out.style.width;
    let mut paths = Paths::default();
    walk(&mut |row| {
        let (start, len, _) = in_units(&row.piece.extent, unit);
        let line = format!(
            "  {}  {}  {}  {}",
            right(&start.to_string(), 12),
            right(&len.to_string(), 8),
            left(row.piece.extent.kind.word(), 26),
            owner(&row, &mut paths)
        );
        writeln!(out, "{}", layout::fit(&line, width).trim_end())?;
        Ok(())
    })
}

/// What one owner was asked for.
#[derive(Default)]
struct Sum {
    bytes: u64,
    pieces: u64,
    first: usize,
}

/// A line for each owner, the largest first.
fn by_file(
    image: &str,
    unit: Unit,
    notes: &[String],
    top: usize,
    walk: &mut Walk<'_>,
    out: &mut Out,
) -> Result<()> {
    let mut sums: HashMap<(Kind, String), Sum> = HashMap::new();
    let mut paths = Paths::default();
    let mut count = 0;
    walk(&mut |row| {
        let extent = &row.piece.extent;
        let path = paths.of(&row.piece).map(|p| clean(&p.0));
        let name = match (path, extent.inode) {
            (Some(path), _) => path,
            (None, Some(inode)) => format!("inode {inode}"),
            (None, None) => String::new(),
        };
        let sum = sums.entry((extent.kind, name)).or_insert(Sum {
            first: count,
            ..Sum::default()
        });
        sum.bytes = sum.bytes.saturating_add(extent.len);
        sum.pieces += 1;
        count += 1;
        Ok(())
    })?;
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|(_, s)| (std::cmp::Reverse(s.bytes), s.first));
    let mut screen = heading(image, unit, out);
    say_notes(&mut screen, notes);
    screen.blank();
    let title = format!(
        "  {}  {}  {}  {}",
        right("bytes", 15),
        right("pieces", 8),
        left("kind", 26),
        "owner"
    );
    let title = screen.paint(DIM, &title);
    screen.line(&title);
    let shown = if top == 0 { rows.len() } else { top };
    for ((kind, name), sum) in rows.iter().take(shown) {
        let line = format!(
            "  {}  {}  {}  {name}",
            right(&thousands(sum.bytes), 15),
            right(&thousands(sum.pieces), 8),
            left(kind.word(), 26),
        );
        let line = layout::fit(&line, screen.width());
        screen.line(line.trim_end());
    }
    if let Some(more) = rows.len().checked_sub(shown).filter(|m| *m > 0) {
        let rest: u64 = rows.iter().skip(shown).map(|r| r.1.bytes).sum();
        let text = format!(
            "and {} more with {}; --top 0 shows all",
            thousands(more as u64),
            size::show(rest)
        );
        screen.wrapped("  ", 2, PLAIN, &text);
    }
    out.text(&screen.finish())
}
