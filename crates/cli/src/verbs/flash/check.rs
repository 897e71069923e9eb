//! `firstlight flash check`: a picture of an image, block by block.

use super::args::Check;
use crate::out::Out;
use anyhow::{Context, Result};
use image::jffs2::{CheckOptions, check};

pub fn run(args: &Check, out: &mut Out) -> Result<()> {
    let shown = args.image.display();
    let file = std::fs::File::open(&args.image).with_context(|| format!("{shown}"))?;
    let report = check(&file, &CheckOptions::default()).with_context(|| format!("{shown}"))?;
    out.text(&format!("{}\n", report.map))
}
