//! `firstlight boots`: several boots of one system, and several after a change.

use crate::args::{Boots, Reading};
use crate::input::{self, table};
use crate::out::Out;
use analysis::BootTimes;
use anyhow::Result;
use std::path::{Path, PathBuf};

pub fn run(args: &Boots, out: &mut Out) -> Result<()> {
    let base = all(&args.boots, &args.reading)?;
    let against = match args.against.is_empty() {
        true => None,
        false => Some(all(&args.against, &args.reading)?),
    };
    let boots = analysis::boots(&base, against.as_deref())?;
    let text = if out.json {
        views::json::text(&views::json::boots(&boots))
    } else {
        let top = if args.top == 0 { usize::MAX } else { args.top };
        views::terminal::boots(&boots, top, &out.style)
    };
    out.text(&text)
}

fn all(paths: &[PathBuf], reading: &Reading) -> Result<Vec<BootTimes>> {
    let boots = paths.iter().map(|path| of(path, reading));
    Ok(boots.collect::<Result<Vec<_>>>()?.concat())
}

/// A table holds several boots, anything else one.
fn of(path: &Path, reading: &Reading) -> Result<Vec<BootTimes>> {
    if table::is_one(path) {
        return table::boots(path);
    }
    let record = input::boot(&[path.to_owned()], reading)?;
    Ok(vec![BootTimes::of(&record, &reading.options())])
}
