//! `firstlight flash ubi --skip-check`: a static volume that is not checked when
//! it is opened.

use super::super::text;
use super::Ubi;
use crate::out::Out;
use crate::{beside, size};
use anyhow::{Context, Result, bail};
use flash::ubi::{Error, Skipped, skip_check};
use inspect::open;
use record::Nanos;
use serde::Serialize;
use std::io::{BufWriter, Write};
use views::terminal::Style;
use views::terminal::layout::{DIM, PLAIN, Screen, WARN};

pub fn run(args: &Ubi, volume: &str, skip: bool, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    let Some(to) = &args.out else {
        bail!("-o FILE is missing: where to write the changed image");
    };
    if args.chip.offset.is_some() {
        bail!("{shown}: --offset and a changed image do not go together; cut the partition out");
    }
    let file = open::image(&args.image)?;
    let mtd = open::Mtd::of(&args.image, &file)?;
    let options = args.chip.options(mtd.as_ref());
    let profile = options.profile.unwrap_or(flash::ubi::cost::NANDSIM);
    let skipped = beside::write(to, |new| {
        let mut output = BufWriter::with_capacity(1 << 20, new);
        let done = skip_check(&file, volume, skip, &options, &mut output);
        let done = done.map_err(|e| {
            let about = match e {
                Error::Transfer(flash::TransferError::Write(_)) => to.display().to_string(),
                _ => shown.clone(),
            };
            anyhow::Error::new(e).context(about)
        })?;
        output
            .flush()
            .with_context(|| format!("{}: cannot be written", to.display()))?;
        Ok(done)
    })?;
    let mut reads = flash::ubi::cost::Reads::default();
    reads.read(skipped.bytes);
    let result = Outcome {
        image: shown,
        out: to.display().to_string(),
        skip,
        open_ns: profile.time_ns(reads),
        profile: profile.name,
        error_percent: profile.error_percent,
        skipped,
    };
    let printed = if out.json {
        views::json::text(&Json::of(&result))
    } else {
        screen(&result, &out.style)
    };
    out.text(&printed)
}

struct Outcome {
    image: String,
    out: String,
    skip: bool,
    open_ns: u64,
    profile: &'static str,
    error_percent: u32,
    skipped: Skipped,
}

/// Change of the skip-check flag of a static UBI volume.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Json {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as views::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: String,
    /// Path of the new image.
    #[schemars(length(min = 1))]
    out: String,
    /// Number of the volume.
    volume: u32,
    /// Name of the volume.
    #[schemars(length(min = 1))]
    name: String,
    /// New value of the flag.
    skip_check: bool,
    /// Whether the flag already had this value.
    was_so: bool,
    /// Byte offsets of the changes.
    places: Vec<u64>,
    /// Size of the volume in bytes.
    bytes: u64,
    /// Time that the checksum takes when the volume is opened.
    open_ns: u64,
}

impl views::json::Document for Json {
    const SCHEMA: &'static str = "firstlight.flash.skip-check/1";
    const TITLE: &'static str = "Output of `firstlight flash ubi --skip-check --json`";
}

impl Json {
    fn of(result: &Outcome) -> Self {
        let skipped = &result.skipped;
        Self {
            schema: <Json as views::json::Document>::SCHEMA,
            image: result.image.clone(),
            out: result.out.clone(),
            volume: skipped.id,
            name: text(&skipped.name).0,
            skip_check: result.skip,
            was_so: skipped.was_so,
            places: skipped.places.clone(),
            bytes: skipped.bytes,
            open_ns: result.open_ns,
        }
    }
}

fn screen(result: &Outcome, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let skipped = &result.skipped;
    let name = text(&skipped.name).0;
    let places: Vec<String> = skipped.places.iter().map(u64::to_string).collect();
    let about = format!(
        "volume {} ({name}), records at byte {}",
        skipped.id,
        places.join(" and ")
    );
    screen.heading(&result.out, &about);
    if skipped.was_so {
        screen.wrapped(
            "",
            2,
            DIM,
            "The flag was so already: the image is a plain copy.",
        );
    }
    let time = Nanos(i64::try_from(result.open_ns).unwrap_or(i64::MAX));
    let all = size::show(skipped.bytes);
    let cost = format!(
        "{all}, {time} on {} ({} % either way)",
        result.profile, result.error_percent
    );
    let said = if result.skip {
        format!(
            "The kernel no longer reads and checks all of the volume when it is opened: {cost}."
        )
    } else {
        format!("The kernel reads and checks all of the volume when it is opened: {cost}.")
    };
    screen.wrapped("", 2, PLAIN, &said);
    if result.skip {
        screen.wrapped(
            "",
            2,
            WARN,
            "What is lost: a damaged or half-written volume is then not refused. It is found by \
             what reads it: squashfs has no checksums, and notices only what does not decompress; \
             dm-verity, fs-verity or a signature on the content find all of it.",
        );
        if skipped.places.len() == 1 {
            screen.wrapped(
                "",
                2,
                WARN,
                "One copy of the volume table is damaged, and was left so; the kernel writes it \
                 anew from the other one.",
            );
        }
        let undo = format!("firstlight flash ubi {} --check {name} -o FILE", result.out);
        screen.wrapped("  Undo:", 9, DIM, &undo);
    }
    screen.finish()
}
