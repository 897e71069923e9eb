//! `firstlight flash ubi`: what the kernel would do with a UBI image.

mod copy;
mod json;
mod screen;
mod skip_check;
mod ubifs;

use super::args::{Chip, Ubi};
use crate::out::Out;
use crate::progress;
use anyhow::{Context, Result, bail};
use flash::jffs2::Spare;
use flash::ubi::cost::NANDSIM;
use flash::ubi::{Device, Image, Layout, Options, Report, report};
use flash::ubifs::Home;
use inspect::open::{self, Mtd};
use rawimage::ReadAt;
use rawimage::foreign::Foreign;
use rawimage::read::From;
use std::collections::BTreeMap;

pub fn run(args: &Ubi, out: &mut Out) -> Result<()> {
    match (&args.skip_check, &args.check) {
        (Some(volume), _) => return skip_check::run(args, volume, true, out),
        (None, Some(volume)) => return skip_check::run(args, volume, false, out),
        (None, None) if args.out.is_some() && args.copy.is_none() => {
            bail!("-o FILE goes with --skip-check, --check or --copy VOLUME");
        }
        (None, None) => {}
    }
    let shown = args.image.display().to_string();
    let file = open::image(&args.image)?;
    let mtd = Mtd::of(&args.image, &file)?;
    let mut options = args.chip.options(mtd.as_ref());
    options.check_static = !args.headers_only;
    let start = args.chip.offset.unwrap_or(0);
    let tell = progress::reading(&args.image);
    let watched = open::Watched::new(&file, &tell);
    let part = From {
        image: &watched,
        start,
    };
    let mut head = [0; 4096];
    if part.read_exact_at(0, &mut head).is_ok() && Foreign::recognise(&head) == Foreign::Ubifs {
        let profile = options.profile.unwrap_or(NANDSIM);
        return ubifs::run(&shown, &file, &profile, out);
    }
    if let Some(size) = args.chip.chip_size {
        let layout = Layout::find(&part, options.erase_size, options.spare);
        let layout = layout.with_context(|| shown.clone())?;
        options.chip_blocks = Some(size / u64::from(layout.erase_size.max(1)));
    }
    let opened = Image::open(&part, &options).with_context(|| shown.clone())?;
    if let (Some(volume), Some(to)) = (&args.copy, &args.out) {
        return copy::run(&shown, &opened, volume, to, out);
    }
    let report = report(&opened, &options);
    if report.chip_blocks < report.blocks {
        bail!(
            "{shown}: the image has {} erase blocks, and does not fit a chip of {}",
            report.blocks,
            report.chip_blocks
        );
    }
    let ubifs = inspect(&opened, &report, options.device);
    crate::progress::clear();
    let seen = Seen {
        image: shown,
        device: options.device,
        report,
        ubifs,
    };
    let text = if out.json {
        views::json::text(&json::Json::of(&seen))
    } else {
        screen::screen(&seen, &out.style)
    };
    out.text(&text)
}

/// What there is to show.
pub struct Seen {
    pub image: String,
    pub device: Option<Device>,
    pub report: Report,
    /// By number of the volume; or why it cannot be looked at.
    pub ubifs: BTreeMap<u32, Result<flash::ubifs::Report, String>>,
}

/// Looks at the volumes that hold UBIFS.
fn inspect(
    opened: &Image,
    report: &Report,
    device: Option<Device>,
) -> BTreeMap<u32, Result<flash::ubifs::Report, String>> {
    let profile = &report.attach.profile;
    let with_ubifs = report
        .volumes
        .iter()
        .filter(|v| v.content == Some(Foreign::Ubifs));
    with_ubifs
        .map(|seen| {
            let volume = opened.volume(seen.id, &seen.record);
            let home = Home {
                leb_size: volume.leb_size,
                // How far it will grow is not known yet.
                lebs: (!volume.is_autoresize()).then_some(seen.record.reserved),
                min_io: device.map(|d| d.min_io),
            };
            let found = flash::ubifs::inspect(&volume, Some(home), profile);
            (seen.id, found.map_err(|e| e.to_string()))
        })
        .collect()
}

impl Chip {
    /// What is given, and what the kernel says of a device.
    pub fn options(&self, mtd: Option<&Mtd>) -> Options {
        let device = match (self.min_io, mtd) {
            (Some(min_io), _) => Some(Device {
                min_io,
                subpage: self.subpage.unwrap_or(min_io),
                vid_offset: self.vid_offset,
                erase_size: mtd.map(|m| m.erase_size),
                blocks: None,
            }),
            (None, Some(mtd)) => Some(Device {
                min_io: mtd.write_size,
                subpage: mtd.subpage_size,
                vid_offset: None,
                erase_size: Some(mtd.erase_size),
                blocks: Some(mtd.blocks),
            }),
            (None, None) => None,
        };
        Options {
            erase_size: self.erase_size.or(mtd.map(|m| m.erase_size)),
            spare: match (self.oob, mtd) {
                (Some(given), _) => given,
                (None, Some(_)) => Spare::None,
                (None, None) => Spare::Detect,
            },
            bad_blocks: mtd.map(|m| m.bad_blocks.clone()).unwrap_or_default(),
            device,
            chip_blocks: mtd.map(|m| m.blocks),
            profile: self.storage,
            check_static: true,
        }
    }
}

/// The schemas of what is printed here.
#[cfg(test)]
pub fn schema_files() -> Vec<views::json::SchemaFile> {
    use views::json::schema_file;
    vec![
        schema_file::<copy::Json<'_>>(),
        schema_file::<json::Json<'_>>(),
        schema_file::<skip_check::Json>(),
        schema_file::<ubifs::Bare<'_>>(),
    ]
}
