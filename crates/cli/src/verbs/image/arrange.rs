//! `firstlight image order --for ext4`: an image laid out in the order in which it
//! is read.

use super::args::Order as Args;
use super::list::paths;
use crate::beside;
use crate::out::Out;
use crate::size::show as size;
use agent::access::{AccessList, KIND, encode};
use anyhow::{Context, Result, bail};
use lab::layout::{self, Ordered};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use views::thousands;

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let Some(image) = &args.image else {
        bail!("--for ext4 needs --image IMAGE: the image that is laid out anew");
    };
    let list = list(&args.list, image)?;
    let done = match &args.out {
        Some(to) => beside::write(to, |f| Ok(layout::order(image, &list, (f, to))?))?,
        None => layout::plan(image, &list)?,
    };
    if let Some(path) = &args.new_list {
        let bytes = encode(&done.list);
        beside::write(path, |f| Ok(f.write_all(&bytes)?))?;
    }
    let moved = done.arrangement.blocks * u64::from(done.arrangement.block_bytes);
    if out.json {
        let skipped = done.arrangement.left.iter().map(
            |(inode, reason)| serde_json::json!({ "path": format!("inode {inode}"), "reason": reason }),
        );
        return out.text(&views::json::text(&serde_json::json!({
            "schema": "firstlight.image.order/1",
            "for": args.builder.word(),
            "out": args.out.as_ref().map(|o| o.to_string_lossy()),
            "files": done.arrangement.inodes,
            "skipped": skipped.collect::<Vec<_>>(),
            "moved_bytes": moved,
            "runs": done.arrangement.runs,
            "runs_before": done.arrangement.runs_before,
            "missing": done.missing,
            "renumbered_inodes": done.inodes.numbers.len(),
            "inodes_kept_for": done.inodes.kept_for,
        })));
    }
    for (inode, reason) in &done.arrangement.left {
        anstream::eprintln!("firstlight: inode {inode} stays where it is: {reason}");
    }
    out.text(&screen(args, &done, moved))
}

fn screen(args: &Args, done: &Ordered, moved: u64) -> String {
    let found = &done.arrangement;
    let mut text = format!(
        "{} of {} files and directories, in the order of need: {} pieces now, {} then\n",
        size(moved),
        found.inodes,
        found.runs_before,
        found.runs
    );
    text += &match (done.inodes.numbers.len(), done.inodes.kept_for) {
        (0, None) => String::new(),
        (count, None) => format!(
            "{} inodes, with new numbers: {}\n",
            thousands(count as u64),
            match done.inodes.runs {
                1 => "one behind the other".to_owned(),
                runs => format!("in {} pieces", thousands(runs)),
            }
        ),
        (_, Some(feature)) => {
            format!("Inodes stay where they are: the filesystem has the feature `{feature}`\n")
        }
    };
    if done.missing > 0 {
        text += &format!(
            "{} files of the list are not in the image, or have another size, and are left out\n",
            done.missing
        );
    }
    text += &match &args.out {
        Some(path) => format!("{}: written\n", path.display()),
        None => "Nothing was written: name the new image with -o.\n".to_owned(),
    };
    text
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
    Ok(layout::list_of_paths(image, &paths(path)?)?)
}
