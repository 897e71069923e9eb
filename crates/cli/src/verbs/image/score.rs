//! `firstlight image score`: how well an image suits an order of access.

use super::args::Score as Args;
use super::list::paths;
use super::map::notes;
use crate::out::Out;
use crate::{progress, size};
use anyhow::{Result, bail};
use disk::{Score, score};
use views::terminal::layout::{PLAIN, Screen, WARN, clean, left, right};
use views::thousands;

/// So many missing files are named on the screen.
const ROWS: usize = 5;

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    let list = paths(&args.files)?;
    if list.is_empty() {
        bail!(
            "{}: names no file; expected one path in a line",
            args.files.display()
        );
    }
    progress::mapping(&args.image);
    let disk = inspect::disk::map(&args.image, args.partition)?;
    progress::clear();
    let result = score(&disk, &list);
    let notes = notes(&disk);
    if result.files == 0 {
        bail!(
            "{shown}: none of the {} files in {} is there; paths are those in the filesystem, from \
             its root on",
            list.len(),
            args.files.display()
        );
    }
    match out.json {
        true => out.text(&json(&shown, &result, &notes)),
        false => out.text(&screen(&shown, &result, &notes, out)),
    }
}

fn json(image: &str, s: &Score, notes: &[String]) -> String {
    let missing: Vec<String> = s
        .missing
        .iter()
        .map(|p| String::from_utf8_lossy(p).into_owned())
        .collect();
    views::json::text(&serde_json::json!({
        "schema": "firstlight.image.score/1",
        "image": image,
        "discontinuities": s.discontinuities,
        "files": s.files,
        "bytes": s.bytes,
        "requests": s.requests,
        "read_bytes": s.read_bytes,
        "over_read_bytes": s.over_read_bytes,
        "distance_bytes": s.distance_bytes,
        "requests_in_disk_order": s.requests_in_disk_order,
        "missing": missing,
        "notes": notes,
    }))
}

fn screen(image: &str, s: &Score, notes: &[String], out: &Out) -> String {
    let mut screen = Screen::new(&out.style);
    let files = thousands(s.files);
    screen.heading(image, &format!("{files} files, {}", size::show(s.bytes)));
    screen.blank();
    let rows = [
        (
            s.discontinuities,
            "discontinuities",
            "the next piece does not follow the previous one",
        ),
        (
            s.requests,
            "requests",
            "when what follows directly is read at once",
        ),
        (
            s.requests_in_disk_order,
            "in disk order",
            "the same, if all of it is read by place",
        ),
        (s.distance_bytes, "bytes of jumps", "the way between them"),
        (
            s.read_bytes,
            "bytes read",
            "whole blocks, packed as they lie",
        ),
        (
            s.over_read_bytes,
            "bytes for nothing",
            "behind the ends of files, in their last blocks",
        ),
    ];
    for (value, what, meaning) in rows {
        let first = format!("  {}  {}", right(&thousands(value), 16), left(what, 19));
        screen.wrapped(&first, 39, PLAIN, meaning);
    }
    for path in s.missing.iter().take(ROWS) {
        let text = format!("not in the image: {}", String::from_utf8_lossy(path));
        screen.wrapped("  ", 2, WARN, &clean(&text));
    }
    if let Some(more) = s.missing.len().checked_sub(ROWS).filter(|m| *m > 0) {
        let text = format!("and {} more are not in the image", thousands(more as u64));
        screen.wrapped("  ", 2, WARN, &text);
    }
    for note in notes {
        screen.wrapped("  ", 2, WARN, &clean(note));
    }
    screen.finish()
}
