//! `firstlight image score`: how well an image suits an order of access.

use super::args::Score as Args;
use crate::out::Out;
use crate::progress;
use anyhow::{Result, bail};
use disk::score;
use inspect::{map, paths};
use views::{json, terminal};

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    let list = paths::some(&args.files)?;
    progress::mapping(&args.image);
    let disk = inspect::disk::map(&args.image, args.partition)?;
    progress::clear();
    let result = score(&disk, &list);
    let notes = map::notes(&disk);
    if result.files == 0 {
        bail!(
            "{shown}: none of the {} files in {} is there; paths are those in the filesystem, from \
             its root on",
            list.len(),
            args.files.display()
        );
    }
    out.show(
        || json::image::Score::of(&shown, &result, &notes),
        |style| terminal::image::score(&shown, &result, &notes, style),
    )
}
