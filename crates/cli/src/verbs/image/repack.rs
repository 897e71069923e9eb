//! `firstlight image repack`: an initramfs, packed in another way.

use super::args::Repack;
use crate::out::Out;
use crate::{beside, progress};
use anyhow::{Context, Result, bail};
use bootimage::{Part, initramfs};
use inspect::open;
use rawimage::compression::LIMIT;
use std::io::{BufWriter, Write};
use views::{json, terminal};

pub fn run(args: &Repack, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    let file = open::image(&args.image)?;
    let part = Part::whole(&file).with_context(|| shown.clone())?;
    progress::say(format!("packing {shown}"));
    let done = beside::write(&args.out, |file| {
        let mut output = BufWriter::with_capacity(1 << 20, &mut *file);
        let done = initramfs::repack(&part, args.compression, LIMIT, &mut output)
            .with_context(|| shown.clone())?;
        output
            .flush()
            .with_context(|| format!("{}: cannot be written", args.out.display()))?;
        drop(output);
        // What was written is read, before it takes the place of anything.
        let written = Part::whole(&*file)?;
        let same = initramfs::fingerprint(&written, LIMIT)
            .is_ok_and(|after| initramfs::fingerprint(&part, LIMIT).is_ok_and(|b| b == after));
        if !same {
            bail!("{shown}: what was written does not hold the same entries; it was thrown away");
        }
        let after = initramfs::read(&written, LIMIT)?;
        Ok((done, after.segments))
    })?;
    progress::clear();
    let (done, after) = done;
    let to = args.out.display().to_string();
    out.show(
        || json::image::Repack::of(&shown, &to, args.compression, &done, &after),
        |style| terminal::image::repack(&to, args.compression, &done, style),
    )
}
