//! `firstlight image order`: an order of access in the form that an image
//! builder takes.

use super::args::{Builder, Order as Args};
use crate::beside;
use crate::out::Out;
use anyhow::{Context, Result, bail};
use inspect::paths;
use std::io::Write;
use treat::order::{archive, mksquashfs};
use views::json::image::Order;

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    if args.builder == Builder::Ext4 {
        return super::arrange::run(args, out);
    }
    let list = paths::list(&args.list)?;
    let builder = args.builder.word();
    let made = match args.builder {
        Builder::Mksquashfs => mksquashfs(&list, args.root.as_deref()),
        Builder::Tar | Builder::Cpio | Builder::Ext4 => {
            let root = args.root.as_deref().with_context(|| {
                format!(
                    "--for {builder} needs --root FOLDER: the archive holds all of it, the files of \
                     the list first"
                )
            })?;
            archive(&list, root, args.null)?
        }
    };
    if made.files == 0 {
        bail!("{}: no file of it can be put in order", args.list.display());
    }
    if let Some(path) = &args.out {
        beside::write(path, |f| Ok(f.write_all(&made.text)?))?;
    }
    if out.json {
        let to = args.out.as_ref().map(|o| o.display().to_string());
        return out.text(&views::json::text(&Order::of(
            builder,
            to.as_deref(),
            &made,
        )));
    }
    for (path, reason) in &made.skipped {
        anstream::eprintln!("firstlight: {}: {reason}", String::from_utf8_lossy(path));
    }
    match args.out {
        Some(_) => Ok(()),
        None => out.bytes(&made.text),
    }
}
