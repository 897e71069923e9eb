//! `firstlight image order --for ext4`: an image laid out in the order in which it
//! is read.

use super::args::Order as Args;
use crate::beside;
use crate::out::Out;
use agent::access::{AccessList, KIND, encode};
use anyhow::{Result, bail};
use inspect::{open, paths};
use lab::layout;
use proof::layout as forecast;
use std::io::Write as _;
use std::path::Path;
use views::json::image::ForecastWay;
use views::{json, terminal};

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let Some(image) = &args.image else {
        bail!("--for ext4 needs --image IMAGE: the image that is laid out anew");
    };
    let (list, is_recorded) = list(&args.list, image)?;
    let unit = layout::Unit::new(args.read_around);
    let done = layout::plan(image, &list, unit)?;
    // Pages lie in their order for a prefetcher, which has a recording.
    let decides = match is_recorded && !args.read_around {
        true => ForecastWay::ReadAhead,
        false => ForecastWay::OnDemand,
    };
    let profile = forecast::profile_or_usual(args.storage.as_ref())?;
    let foretold = forecast::of_image(&list, image, &done, &profile, decides)?;
    let is_worth = foretold.is_sooner() || args.force;
    let to = args.out.as_ref().filter(|_| is_worth);
    if let Some(to) = to {
        beside::write(to, |f| Ok(layout::order(image, &list, unit, (f, to))?))?;
    }
    if let Some(path) = args.new_list.as_ref().filter(|_| is_worth) {
        let bytes = encode(&done.list);
        beside::write(path, |f| Ok(f.write_all(&bytes)?))?;
    }
    if !out.json {
        for (inode, reason) in &done.arrangement.left {
            anstream::eprintln!("firstlight: inode {inode} stays where it is: {reason}");
        }
    }
    let to = to.map(|o| o.display().to_string());
    let (to, found, inodes) = (to.as_deref(), &done.arrangement, &done.inodes);
    out.show(
        || json::image::Order::arranged(to, found, inodes, done.missing, foretold.clone()),
        |_| terminal::image::arranged(to, found, inodes, done.missing, &foretold),
    )
}

/// The access list at `path`, and whether it was recorded; of one path in a line, whole
/// files in that order.
fn list(path: &Path, image: &Path) -> Result<(AccessList, bool)> {
    // A folder holds lists of paths.
    if path.is_dir() {
        return Ok((layout::list_of_paths(image, &paths::list(path)?)?, false));
    }
    let bytes = open::bytes(path, paths::MOST_BYTES)?;
    if bytes.starts_with(KIND.as_bytes()) {
        return Ok((layout::list_of_bytes(path, &bytes)?, true));
    }
    let paths = paths::of_bytes(path, &bytes)?;
    Ok((layout::list_of_paths(image, &paths)?, false))
}
