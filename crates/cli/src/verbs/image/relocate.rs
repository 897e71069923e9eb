//! `firstlight image relocate`: files put one behind the other on disk, in the
//! order in which they are read.

use super::args::Relocate as Args;
use crate::out::Out;
use crate::progress;
use anyhow::Result;
use inspect::paths;
use treat::relocate::{Step, relocate};
use views::{json, terminal};

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let shown = args.root.display().to_string();
    let list = paths::some(&args.files)?;
    let done = relocate(&args.root, &list, &args.files, args.apply, &|step| {
        progress::say(match step {
            Step::Looking => "looking where the files lie".to_owned(),
            Step::Moving(number, all) => format!("file {number} of {all}"),
            Step::Checking => "checking where they lie now".to_owned(),
        });
    })?;
    progress::clear();
    out.show(
        || json::image::Relocate::of(&shown, &done),
        |style| terminal::image::relocate(&shown, &done, style),
    )
}
