//! `firstlight flash ubi`: what the kernel would do with a UBI image.

use super::args::{Chip, Ubi};
use crate::out::Out;
use crate::{beside, progress};
use anyhow::{Context, Result, bail};
use flash::attached::attach;
use flash::jffs2::Spare;
use flash::ubi::cost::NANDSIM;
use flash::ubi::{Device, Error, Image, Layout, Options, copy_volume, skip_check};
use flash::ubifs;
use inspect::open::{self, Mtd};
use rawimage::ReadAt;
use rawimage::foreign::Foreign;
use rawimage::read::From;
use std::io::{BufWriter, Write};
use std::path::Path;
use views::{json, terminal};

pub fn run(args: &Ubi, out: &mut Out) -> Result<()> {
    match (&args.skip_check, &args.check) {
        (Some(volume), _) => return skipped(args, volume, true, out),
        (None, Some(volume)) => return skipped(args, volume, false, out),
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
        let report = ubifs::inspect(&file, None, &profile).with_context(|| shown.clone())?;
        let bytes = file.length()?;
        return out.show(
            || json::flash::Bare::of(&shown, &report),
            |style| terminal::flash::ubifs(&shown, bytes, &report, style),
        );
    }
    if let Some(size) = args.chip.chip_size {
        let layout = Layout::find(&part, options.erase_size, options.spare);
        let layout = layout.with_context(|| shown.clone())?;
        options.chip_blocks = Some(size / u64::from(layout.erase_size.max(1)));
    }
    let opened = Image::open(&part, &options).with_context(|| shown.clone())?;
    if let (Some(volume), Some(to)) = (&args.copy, &args.out) {
        return copied(&shown, &opened, volume, to, out);
    }
    let seen = attach(&opened, &options);
    if seen.report.chip_blocks < seen.report.blocks {
        bail!(
            "{shown}: the image has {} erase blocks, and does not fit a chip of {}",
            seen.report.blocks,
            seen.report.chip_blocks
        );
    }
    progress::clear();
    out.show(
        || json::flash::Ubi::of(&shown, &seen),
        |style| terminal::flash::ubi(&shown, &seen, style),
    )
}

/// `--copy`: the bytes of a volume.
fn copied(shown: &str, image: &Image, volume: &str, to: &Path, out: &mut Out) -> Result<()> {
    let copied = beside::write(to, |file| {
        copy_volume(image, volume, file).map_err(|e| of(e, shown, to))
    })?;
    let to = to.display().to_string();
    out.show(
        || json::flash::Copy::of(shown, &to, &copied),
        |style| terminal::flash::copy(&to, &copied, style),
    )
}

/// An error with the name of the file that it is about.
fn of(error: Error, image: &str, to: &Path) -> anyhow::Error {
    let about = match error {
        Error::Transfer(flash::TransferError::Write(_)) => to.display().to_string(),
        _ => image.to_owned(),
    };
    anyhow::Error::new(error).context(about)
}

/// `--skip-check`: a static volume that is not checked when it is opened.
fn skipped(args: &Ubi, volume: &str, skip: bool, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    let Some(to) = &args.out else {
        bail!("-o FILE is missing: where to write the changed image");
    };
    if args.chip.offset.is_some() {
        bail!("{shown}: --offset and a changed image do not go together; cut the partition out");
    }
    let file = open::image(&args.image)?;
    let mtd = Mtd::of(&args.image, &file)?;
    let options = args.chip.options(mtd.as_ref());
    let skipped = beside::write(to, |new| {
        let mut output = BufWriter::with_capacity(1 << 20, new);
        let done = skip_check(&file, volume, skip, &options, &mut output);
        let done = done.map_err(|e| of(e, &shown, to))?;
        output
            .flush()
            .with_context(|| format!("{}: cannot be written", to.display()))?;
        Ok(done)
    })?;
    let to = to.display().to_string();
    out.show(
        || json::flash::SkipCheck::of(&shown, &to, skip, &skipped),
        |style| terminal::flash::skip_check(&to, skip, &skipped, style),
    )
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
