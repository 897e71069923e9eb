//! `firstlight image info`: what an image is.

use super::args::Info;
use super::mount;
use crate::out::Out;
use crate::progress;
use anyhow::Result;
use inspect::contents::{Wanted, contents, kernel_config};
use views::{json, terminal};

pub fn run(args: &Info, out: &mut Out) -> Result<()> {
    if args.config {
        for path in &args.files {
            out.bytes(&kernel_config(path)?)?;
        }
        return Ok(());
    }
    let storage = args.storage.as_ref();
    let of_block = mount::of_block(storage);
    let mut files = Vec::new();
    for path in &args.files {
        progress::say(format!("reading {}", path.display()));
        let wanted = Wanted {
            entries: args.entries,
            storage: storage.map(mount::Storage::on),
            of_block: &of_block,
        };
        files.push(contents(path, &wanted)?);
    }
    progress::clear();
    out.show(
        || json::image::Info::of(&files),
        |style| terminal::image::info(&files, style),
    )
}
