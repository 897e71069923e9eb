//! `firstlight image repack`: an initramfs, packed in another way.

use super::args::Repack;
use crate::out::Out;
use crate::{beside, progress, size};
use anyhow::{Context, Result, bail};
use bootimage::initramfs::{self, Repacked, Segment};
use bootimage::{Compression, Part};
use inspect::open;
use rawimage::compression::LIMIT;
use serde::Serialize;
use std::io::{BufWriter, Write};
use views::terminal::Style;
use views::terminal::layout::{PLAIN, Screen};
use views::thousands;

pub fn run(args: &Repack, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    let file = open::image(&args.image)?;
    let part = Part::whole(&file).with_context(|| shown.clone())?;
    progress::say(format!("packing {shown}"));
    let done = beside::write(&args.out, |file| {
        let mut output = BufWriter::with_capacity(1 << 20, &mut *file);
        let done = initramfs::repack(&part, args.compression, LIMIT, &mut output)
            .with_context(|| shown.clone())?;
        output
            .flush()
            .with_context(|| format!("{}: cannot be written", args.out.display()))?;
        drop(output);
        // What was written is read, before it takes the place of anything.
        let written = Part::whole(&*file)?;
        let same = initramfs::fingerprint(&written, LIMIT)
            .is_ok_and(|after| initramfs::fingerprint(&part, LIMIT).is_ok_and(|b| b == after));
        if !same {
            bail!("{shown}: what was written does not hold the same entries; it was thrown away");
        }
        let after = initramfs::read(&written, LIMIT)?;
        Ok((done, after.segments))
    })?;
    progress::clear();
    let (done, after) = done;
    let text = if out.json {
        json(args, &done, &after)
    } else {
        screen(args, &done, &out.style)
    };
    out.text(&text)
}

/// An image whose initramfs was recompressed. Sizes are in bytes.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Json<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as views::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the old image.
    #[schemars(length(min = 1))]
    image: &'a str,
    /// Path of the new image.
    #[schemars(length(min = 1))]
    out: &'a str,
    /// New compression.
    #[schemars(extend("enum" = ["none", "gzip", "bzip2", "lzma", "xz", "lzo", "lz4", "lz4-frame", "zstd"]))]
    compression: &'static str,
    /// Size of the old image.
    bytes_before: u64,
    /// Size of the new image.
    bytes_after: u64,
    /// Number of files.
    entries: u64,
    /// Number of segments copied unchanged.
    kept_segments: usize,
    /// Segments of the old image.
    segments_before: Vec<JsonSegment>,
    /// Segments of the new image.
    segments_after: Vec<JsonSegment>,
}

impl views::json::Document for Json<'_> {
    const SCHEMA: &'static str = "firstlight.image.repack/1";
    const TITLE: &'static str = "Output of `firstlight image repack --json`";
}

/// A segment of an initramfs.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Segment")]
struct JsonSegment {
    /// Byte offset in the image.
    offset: u64,
    /// Compressed size.
    size: u64,
    /// Compression.
    #[schemars(extend("enum" = ["none", "gzip", "bzip2", "lzma", "xz", "lzo", "lz4", "lz4-frame", "zstd"]))]
    compression: &'static str,
    /// Uncompressed size.
    unpacked: u64,
    /// Number of files.
    entries: u64,
}

fn json(args: &Repack, done: &Repacked, after: &[Segment]) -> String {
    let segment = |s: &Segment| JsonSegment {
        offset: s.offset,
        size: s.size,
        compression: s.compression.name(),
        unpacked: s.unpacked,
        entries: s.count(),
    };
    views::json::text(&Json {
        schema: <Json<'_> as views::json::Document>::SCHEMA,
        image: &args.image.to_string_lossy(),
        out: &args.out.to_string_lossy(),
        compression: args.compression.name(),
        bytes_before: done.before.end,
        bytes_after: done.bytes,
        entries: done.before.count(),
        kept_segments: done.kept,
        segments_before: done.before.segments.iter().map(segment).collect(),
        segments_after: after.iter().map(segment).collect(),
    })
}

fn screen(args: &Repack, done: &Repacked, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let how = match args.compression {
        Compression::None => "not packed".to_owned(),
        other => format!("packed with {other}"),
    };
    let entries = match done.before.count() {
        1 => "1 entry".to_owned(),
        n => format!("{} entries", thousands(n)),
    };
    screen.heading(
        &args.out.display().to_string(),
        &format!(
            "{how}: {}, where before it was {}",
            size::show(done.bytes),
            size::show(done.before.end)
        ),
    );
    let text = format!("{entries}, the same to the byte, read back");
    screen.wrapped("", 2, PLAIN, &text);
    if done.kept > 0 {
        let text = "The first part is read before anything is unpacked: it stays as it was.";
        screen.wrapped("", 2, PLAIN, text);
    }
    screen.finish()
}
