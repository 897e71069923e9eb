//! `firstlight image order --for ext4`: an image laid out in the order in which it
//! is read.

use super::args::Order as Args;
use crate::beside;
use crate::out::Out;
use agent::access::{AccessList, KIND, encode};
use anyhow::{Context, Result, bail};
use inspect::paths;
use lab::layout;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use views::{json, terminal};

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let Some(image) = &args.image else {
        bail!("--for ext4 needs --image IMAGE: the image that is laid out anew");
    };
    let list = list(&args.list, image)?;
    let unit = layout::Unit::new(args.read_around);
    let done = match &args.out {
        Some(to) => beside::write(to, |f| Ok(layout::order(image, &list, unit, (f, to))?))?,
        None => layout::plan(image, &list, unit)?,
    };
    if let Some(path) = &args.new_list {
        let bytes = encode(&done.list);
        beside::write(path, |f| Ok(f.write_all(&bytes)?))?;
    }
    if !out.json {
        for (inode, reason) in &done.arrangement.left {
            anstream::eprintln!("firstlight: inode {inode} stays where it is: {reason}");
        }
    }
    let to = args.out.as_ref().map(|o| o.display().to_string());
    let (to, found, inodes) = (to.as_deref(), &done.arrangement, &done.inodes);
    out.show(
        || json::image::Order::arranged(to, found, inodes, done.missing),
        |_| terminal::image::arranged(to, found, inodes, done.missing),
    )
}

/// The access list at `path`; of one path in a line, whole files in that order.
fn list(path: &Path, image: &Path) -> Result<AccessList> {
    let mut head = Vec::new();
    let shown = path.display();
    File::open(path)
        .and_then(|f| f.take(KIND.len() as u64).read_to_end(&mut head))
        .with_context(|| format!("{shown}: cannot be read"))?;
    if head == KIND.as_bytes() {
        return Ok(layout::read_list(path)?);
    }
    Ok(layout::list_of_paths(image, &paths::list(path)?)?)
}
