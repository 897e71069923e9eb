//! `firstlight flash env`: the environment of U-Boot.

use super::args::{Env, Flags};
use crate::beside;
use crate::out::Out;
use anyhow::{Context, Result, anyhow, bail};
use bootimage::environment::{self, Change, Difference, Found, Options, Scheme, refuse_unsafe};
use bootimage::fit::{self, Fit};
use bootimage::{Part, Patch};
use inspect::open;
use std::io::{BufWriter, Write};
use std::path::Path;
use views::{json, terminal};

pub fn run(args: &Env, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    let file = open::image(&args.image)?;
    let part = Part::whole(&file).with_context(|| shown.clone())?;
    let changes = Change::parse_all(&args.set, &args.unset)?;
    if changes.is_empty() && args.out.is_some() {
        bail!("nothing is to be changed: give --set NAME=VALUE or --unset NAME, or leave -o out");
    }
    crate::progress::say(format!("searching {shown}"));
    let found = match changes.is_empty() {
        true => environment::find_any(&part, &options(args)),
        false => environment::find(&part, &options(args)),
    };
    let found = found.with_context(|| shown.clone())?;
    let fits = fits(args, &part)?;
    let patch = match changes.as_slice() {
        [] => None,
        changes => Some(change(args, &part, &found, changes, &fits)?),
    };
    let differences = match &args.diff {
        Some(other) => Some(differences(&shown, &found, other)?),
        None => None,
    };
    let signed = (!fits.is_empty()).then(|| fits.iter().any(|(_, f)| f.is_signed()));
    let look = environment::look(&part, found, signed).with_context(|| shown.clone())?;
    crate::progress::clear();
    let to = args.out.as_ref().map(|p| p.display().to_string());
    let to = to.as_deref();
    out.show(
        || {
            let patch = patch.as_ref().map(|p| (p, to));
            json::flash::Env::of(&shown, &look, patch, differences.as_deref())
        },
        |style| match (&patch, &differences, &args.diff) {
            (Some(patch), ..) => terminal::flash::env_changed(&shown, patch, to, style),
            (None, Some(differences), Some(other)) => {
                let other = other.display().to_string();
                terminal::flash::env_differences(&shown, &other, differences, style)
            }
            _ => terminal::flash::env(&shown, &look, style),
        },
    )
}

fn options(args: &Env) -> Options {
    Options {
        offset: args.offset,
        size: args.size,
        redundant: args.redundant,
        scheme: args.flags.map(|f| match f {
            Flags::Boolean => Scheme::Boolean,
            Flags::Serial => Scheme::Serial,
        }),
    }
}

/// FIT images that are booted, as far as they are known: the name of each.
fn fits(args: &Env, part: &Part<'_>) -> Result<Vec<(String, Fit)>> {
    let shown = args.image.display();
    let within = fit::find(part).with_context(|| shown.to_string())?;
    let mut fits: Vec<(String, Fit)> = within
        .into_iter()
        .map(|(offset, fit)| (format!("{shown} at byte {offset}"), fit))
        .collect();
    if let Some(path) = &args.fit {
        let name = path.display().to_string();
        let file = open::image(path)?;
        let part = Part::whole(&file).with_context(|| name.clone())?;
        let found = fit::find(&part).with_context(|| name.clone())?;
        if found.is_empty() {
            bail!("{name}: holds no FIT image; expected a device tree with /images");
        }
        let named = found.into_iter().map(|(_, fit)| (name.clone(), fit));
        fits.extend(named);
    }
    Ok(fits)
}

/// What changes the image; written, and read back, if a file is named.
fn change(
    args: &Env,
    part: &Part<'_>,
    found: &Found,
    changes: &[Change],
    fits: &[(String, Fit)],
) -> Result<Patch> {
    let shown = args.image.display().to_string();
    let environment = found.one().map_err(|e| of(e, &shown))?;
    for (name, fit) in fits {
        refuse_unsafe(changes, fit, name)?;
    }
    let patch = environment::patch(part, environment, changes).map_err(|e| of(e, &shown))?;
    if let Some(path) = &args.out {
        beside::write(path, |file| {
            let mut output = BufWriter::with_capacity(1 << 20, &mut *file);
            patch
                .copy(part, &mut output)
                .with_context(|| shown.clone())?;
            output
                .flush()
                .with_context(|| format!("{}: cannot be written", path.display()))?;
            drop(output);
            let changed = Part::whole(&*file)?;
            environment::check_changed(&changed, environment, changes)?;
            anyhow::Ok(())
        })?;
    }
    Ok(patch)
}

/// An error with the name of its image, and the option that helps.
fn of(error: environment::Error, shown: &str) -> anyhow::Error {
    match error {
        e @ environment::Error::NoOther { .. } => anyhow!("{shown}: {e}, with --redundant BYTES"),
        environment::Error::Several { offsets } => {
            let places: Vec<String> = offsets.iter().map(u64::to_string).collect();
            anyhow!(
                "{shown}: there are {} environments, at bytes {}; say which one with --offset",
                places.len(),
                places.join(", ")
            )
        }
        e => anyhow::Error::new(e).context(shown.to_owned()),
    }
}

fn differences(shown: &str, found: &Found, other: &Path) -> Result<Vec<Difference>> {
    let name = other.display().to_string();
    let file = open::image(other)?;
    let part = Part::whole(&file).with_context(|| name.clone())?;
    let second = environment::find(&part, &Options::default()).with_context(|| name.clone())?;
    found.one().map_err(|e| of(e, shown))?;
    second.one().map_err(|e| of(e, &name))?;
    Ok(found.differences(&second)?)
}
