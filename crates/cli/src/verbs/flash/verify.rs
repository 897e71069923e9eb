//! `firstlight flash verify`: every file and every checksum.

use super::args::Verify;
use crate::out::Out;
use anyhow::Result;
use flash::verified::Verified;
use inspect::open::Filesystem;
use views::{json, terminal};

pub fn run(args: &Verify, out: &mut Out) -> Result<()> {
    let image = args.image.display().to_string();
    let result = args.inside.filesystem(&args.image, |filesystem| {
        Ok(match filesystem {
            Filesystem::Jffs2(jffs2) => Verified::jffs2(jffs2)?,
            Filesystem::Ubifs(ubifs) => Verified::ubifs(ubifs)?,
        })
    })?;
    out.gate(result.is_good());
    out.show(
        || json::flash::Verify::of(&image, &result),
        |style| terminal::flash::verify(&image, &result, style),
    )
}
