//! `firstlight flash check`: a picture of an image, block by block.

use super::args::Check;
use crate::out::Out;
use crate::progress;
use anyhow::{Context, Result};
use flash::jffs2::{CheckOptions, check};
use inspect::open::{self, Mtd};
use views::{json, terminal};

pub fn run(args: &Check, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    let file = open::image(&args.image)?;
    let mtd = Mtd::of(&args.image, &file)?;
    let layout = args.layout.known().options(mtd.as_ref());
    let mut options = CheckOptions {
        erase_size: layout.erase_size,
        endian: layout.endian,
        spare: layout.spare,
        clean_blocks: mtd
            .as_ref()
            .map(|m| m.clean_blocks(&file))
            .unwrap_or_default(),
        bad_blocks: mtd.map(|m| m.bad_blocks).unwrap_or_default(),
        device_blocks: None,
        profile: args.storage,
    };
    let tell = progress::reading(&args.image);
    let watched = open::Watched::new(&file, &tell);
    let mut report = check(&watched, &options).with_context(|| shown.clone())?;
    if let Some(chip) = args.chip_size {
        // How many blocks that is, is known only now, unless it was given.
        options.device_blocks = Some(chip / u64::from(report.erase_size));
        report = check(&watched, &options).with_context(|| shown.clone())?;
    }
    progress::clear();
    out.show(
        || json::flash::Check::of(&shown, &report),
        |style| terminal::flash::check(&shown, &report, style),
    )
}
