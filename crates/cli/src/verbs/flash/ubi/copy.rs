//! `firstlight flash ubi --copy`: the bytes of a volume.

use crate::out::Out;
use crate::{beside, size};
use anyhow::{Context, Result};
use flash::ubi::Image;
use rawimage::ReadAt;
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use views::terminal::layout::{PLAIN, Screen};

/// How much is copied at a time.
const PIECE: usize = 1 << 20;

/// A UBI volume that was copied to a file.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Json<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as views::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: &'a str,
    /// Path of the file.
    #[schemars(length(min = 1))]
    out: String,
    /// Number of the volume.
    volume: u32,
    /// Name of the volume.
    #[schemars(length(min = 1))]
    name: String,
    /// Size in bytes.
    bytes: u64,
}

impl views::json::Document for Json<'_> {
    const SCHEMA: &'static str = "firstlight.flash.copy/1";
    const TITLE: &'static str = "Output of `firstlight flash ubi --copy --json`";
}

/// Copies all of a volume. Blocks that are not there are 0xff.
pub fn run(shown: &str, image: &Image, volume: &str, to: &Path, out: &mut Out) -> Result<()> {
    let (id, record) = image.find(volume).with_context(|| shown.to_owned())?;
    let volume = image.volume(id, record);
    let bytes = volume.length().with_context(|| shown.to_owned())?;
    beside::write(to, |file| {
        let mut buffer = vec![0; PIECE];
        let mut at = 0;
        while at < bytes {
            let take = PIECE.min(usize::try_from(bytes - at).unwrap_or(PIECE));
            let piece = &mut buffer[..take];
            volume
                .read_exact_at(at, piece)
                .with_context(|| format!("{shown}: byte {at} of volume {id} cannot be read"))?;
            file.write_all(piece)
                .with_context(|| format!("{}: cannot be written", to.display()))?;
            at += take as u64;
        }
        Ok(())
    })?;
    let done = Json {
        schema: <Json<'_> as views::json::Document>::SCHEMA,
        image: shown,
        out: to.display().to_string(),
        volume: id,
        name: super::super::text(record.name()).0,
        bytes,
    };
    if out.json {
        return out.text(&views::json::text(&done));
    }
    let mut screen = Screen::new(&out.style);
    screen.heading(&done.out, &format!("volume {id} ({})", done.name));
    screen.wrapped("", 2, PLAIN, &size::show(bytes));
    out.text(&screen.finish())
}
