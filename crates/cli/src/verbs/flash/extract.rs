//! `firstlight flash extract`: files out of an image.

use super::args::Extract;
use crate::out::Out;
use anyhow::{Context, Result, anyhow, bail};
use flash::files::{Folder, Rights, extract};
use inspect::open::Filesystem;
use std::io;
use views::{json, plural, terminal};

pub fn run(args: &Extract, out: &mut Out) -> Result<()> {
    let (image, to) = (args.image.display(), args.out.display());
    let mut damaged = 0;
    let (done, lost) = args.inside.filesystem(&args.image, |filesystem| {
        let rights = Rights {
            owners: args.owners,
            devices: args.devices,
        };
        let mut folder = Folder::new(&args.out, rights).map_err(|e| match e.kind() {
            io::ErrorKind::DirectoryNotEmpty => {
                anyhow!("{to} is not empty; extract into a new folder or an empty one")
            }
            _ => anyhow::Error::new(e).context(format!("{to} cannot be made")),
        })?;
        let extracting = || format!("extracting to {to}");
        Ok(match filesystem {
            Filesystem::Jffs2(jffs2) => {
                let done = extract(jffs2, &mut folder).with_context(extracting)?;
                (done, jffs2.lost().to_vec())
            }
            Filesystem::Ubifs(ubifs) => {
                let done = extract(ubifs, &mut folder).with_context(extracting)?;
                damaged = ubifs.damage().len();
                (done, Vec::new())
            }
        })
    })?;
    out.show(
        || json::flash::Extract::of(&image.to_string(), &to.to_string(), &done, &lost),
        |style| terminal::flash::extract(&to.to_string(), &done, &lost, style),
    )?;
    let not = done.not.iter().filter(|n| n.why.is_loss()).count();
    if not > 0 {
        out.flush()?;
        let files = plural(not, "file");
        bail!("{image}: of {not} {files} the image does not hold all; the rest was extracted");
    }
    if damaged > 0 {
        out.flush()?;
        bail!(
            "{image}: {damaged} parts of the index are damaged, and what they lead to is missing"
        );
    }
    Ok(())
}
