//! `firstlight io`: what was asked of block devices.

use crate::args::Io;
use crate::beside;
use crate::input;
use crate::out::Out;
use crate::owners;
use anyhow::Result;
use std::io::Write;
use views::export::SeekPicture;

/// How many parts the timeline has in `--json`, and on the screen.
const STRETCHES: usize = 100;
const ROWS: usize = 20;

/// What the picture is of: traces have a file for each processor.
fn title(args: &Io) -> String {
    let inputs = &args.inputs.inputs;
    let first = inputs.first().map(|p| p.display().to_string());
    match (first, inputs.len()) {
        (Some(first), 1) => first,
        (first, n) => format!(
            "{} and {} more",
            first.unwrap_or_default(),
            n.saturating_sub(1)
        ),
    }
}

pub fn run(args: &Io, out: &mut Out) -> Result<()> {
    let record = input::boot(&args.inputs.inputs, &args.inputs.reading)?;
    if args.svg.is_some() || args.png.is_some() {
        let picture = SeekPicture::of(analysis::seek(&record).as_ref(), &title(args));
        if let Some(path) = &args.svg {
            beside::write(path, |f| Ok(f.write_all(picture.svg().as_bytes())?))?;
        }
        if let Some(path) = &args.png {
            let png = picture.png()?;
            beside::write(path, |f| Ok(f.write_all(&png)?))?;
        }
    }
    let (owners, _) = owners::of_boots(&record, None, &args.images)?;
    let of = |stretches| analysis::io(&record, Some(&owners), stretches);
    let text = if args.csv {
        views::csv::requests(analysis::io_requests(&record, &owners))
    } else if out.json {
        views::json::text(&views::json::io(&of(STRETCHES)))
    } else {
        views::terminal::io(&of(ROWS), args.top, &out.style)
    };
    out.text(&text)
}
