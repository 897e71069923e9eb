//! `firstlight image relocate`: files put one behind the other on disk, in the
//! order in which they are read.

use super::args::Relocate as Args;
use crate::out::Out;
use crate::progress;
use anyhow::Result;
use inspect::paths;
use proof::layout::{profile_or_usual, reading_ns};
use treat::relocate::{Apply, Extent, Step, relocate};
use views::{json, terminal};

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let shown = args.root.display().to_string();
    let list = paths::some(&args.files)?;
    let profile = profile_or_usual(args.storage.as_ref())?;
    let forecast = |files: &[Vec<Extent>], size| reading_ns(files, size, &profile);
    let apply = match (args.apply, args.force) {
        (false, _) => Apply::No,
        (true, false) => Apply::IfSooner,
        (true, true) => Apply::Always,
    };
    let done = relocate(&args.root, &list, &args.files, apply, &forecast, &|step| {
        progress::say(match step {
            Step::Looking => "looking where the files lie".to_owned(),
            Step::Moving(number, all) => format!("file {number} of {all}"),
            Step::Checking => "checking where they lie now".to_owned(),
        });
    })?;
    progress::clear();
    let storage = &*profile.name;
    out.show(
        || json::image::Relocate::of(&shown, &done, storage),
        |style| terminal::image::relocate(&shown, &done, storage, style),
    )
}
