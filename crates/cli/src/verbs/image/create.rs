//! `firstlight image create`: an image of a folder.

use super::args::Create;
use crate::out::Out;
use crate::{beside, progress};
use anyhow::{Context, Result, bail};
use lab::artifacts::Form;
use views::{json, terminal};

pub fn run(args: &Create, out: &mut Out) -> Result<()> {
    let form = Form::parse(&args.form).map_err(anyhow::Error::msg)?;
    if let Some((tool, package)) = form.missing() {
        bail!("{tool} is not installed, and creates {form}; install {package}");
    }
    progress::say(format!("creating {}", args.out.display()));
    let done = beside::write(&args.out, |file| {
        let entries = form.create(&args.folder, file)?;
        let length = file
            .metadata()
            .with_context(|| format!("{}: cannot be written", args.out.display()))?
            .len();
        Ok((entries, length))
    });
    progress::clear();
    let (entries, bytes) = done?;
    let (folder, to, form) = (
        args.folder.display().to_string(),
        args.out.display().to_string(),
        form.to_string(),
    );
    out.show(
        || json::image::Create::of(&folder, &to, &form, entries, bytes),
        |style| terminal::image::create(&to, &form, entries, bytes, style),
    )
}
