//! `firstlight flash list`: the files that the kernel would see.

use super::args::List;
use crate::out::Out;
use anyhow::{Result, bail};
use flash::listing::{Listing, relative};
use inspect::open::Filesystem;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use views::{json, terminal};

pub fn run(args: &List, out: &mut Out) -> Result<()> {
    let wanted = args.path.as_deref().unwrap_or(Path::new(""));
    let listing = args.inside.filesystem(&args.image, |filesystem| {
        let wanted = wanted.as_os_str().as_bytes();
        let listing = match filesystem {
            Filesystem::Jffs2(jffs2) => Listing::jffs2(jffs2, wanted, args.nodes)?,
            Filesystem::Ubifs(_) if args.nodes => {
                bail!("--nodes is for JFFS2, which is a log of nodes; this is UBIFS")
            }
            Filesystem::Ubifs(ubifs) => Listing::ubifs(ubifs, wanted)?,
        };
        if listing.is_empty() {
            bail!("there is no `{}` in it", relative(wanted).escape_ascii());
        }
        Ok(listing)
    })?;
    out.show(
        || json::flash::List::of(&args.image.display().to_string(), &listing),
        |style| terminal::flash::list(&listing, style),
    )
}
