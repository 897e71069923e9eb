//! `firstlight flash env`: the environment of U-Boot.

mod json;
mod screen;

use super::args::{Env, Flags};
use crate::beside;
use crate::out::Out;
use anyhow::{Context, Result, bail};
use bootimage::environment::{
    self, Change, Difference, Environment, Found, Options, Proposals, Scheme, refuse_unsafe,
};
use bootimage::fit::{self, Fit};
use bootimage::{Part, Patch, barebox};
use inspect::open;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// All that is known about the environments of an image.
struct Look {
    image: String,
    bytes: u64,
    found: Found,
    /// One for each environment.
    proposals: Vec<Proposals>,
    barebox: Vec<barebox::Barebox>,
}

/// What was changed, or would be.
struct Changed {
    patch: Patch,
    /// The file that was written.
    out: Option<String>,
}

pub fn run(args: &Env, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    let file = open::image(&args.image)?;
    let part = Part::whole(&file).with_context(|| shown.clone())?;
    let changes = changes(args)?;
    if changes.is_empty() && args.out.is_some() {
        bail!("nothing is to be changed: give --set NAME=VALUE or --unset NAME, or leave -o out");
    }
    crate::progress::say(format!("searching {shown}"));
    let found = find(&part, &options(args), changes.is_empty()).with_context(|| shown.clone())?;
    let fits = fits(args, &part)?;
    let changed = match changes.as_slice() {
        [] => None,
        changes => Some(change(args, &part, &found, changes, &fits)?),
    };
    let differences = match &args.diff {
        Some(other) => Some(differences(&shown, &found, other)?),
        None => None,
    };
    let look = look(shown, &part, found, &fits)?;
    crate::progress::clear();
    let text = if out.json {
        json::text(&look, changed.as_ref(), differences.as_deref())
    } else if let Some(changed) = &changed {
        screen::changed(&look, changed, &out.style)
    } else if let (Some(differences), Some(other)) = (&differences, &args.diff) {
        let other = other.display().to_string();
        screen::differences(&look.image, &other, differences, &out.style)
    } else {
        screen::look(&look, &out.style)
    };
    out.text(&text)
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

fn changes(args: &Env) -> Result<Vec<Change>> {
    let set = args.set.iter().map(|t| Change::parse_set(t));
    let unset = args.unset.iter().map(|t| Change::parse_unset(t));
    let changes: Vec<Change> = set.chain(unset).collect::<Result<_, _>>()?;
    for (i, change) in changes.iter().enumerate() {
        if changes.iter().take(i).any(|c| c.name() == change.name()) {
            let name = String::from_utf8_lossy(change.name()).into_owned();
            bail!("`{name}` is to be changed twice; say what it is to be in the end");
        }
    }
    Ok(changes)
}

/// The environments; none, if there is one of Barebox and that is enough.
fn find(part: &Part<'_>, options: &Options, barebox: bool) -> Result<Found> {
    match environment::find(part, options) {
        Err(environment::Error::None {
            barebox: Some(_),
            gave_up,
            ..
        }) if barebox => Ok(Found {
            environments: Vec::new(),
            gave_up,
        }),
        found => Ok(found?),
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

fn change(
    args: &Env,
    part: &Part<'_>,
    found: &Found,
    changes: &[Change],
    fits: &[(String, Fit)],
) -> Result<Changed> {
    let shown = args.image.display().to_string();
    let environment = one(found).with_context(|| shown.clone())?;
    for (name, fit) in fits {
        refuse_unsafe(changes, fit, name)?;
    }
    let patch = environment::patch(part, environment, changes).map_err(|e| match e {
        e @ environment::Error::NoOther { .. } => {
            anyhow::anyhow!("{shown}: {e}, with --redundant BYTES")
        }
        e => anyhow::Error::new(e).context(shown.clone()),
    })?;
    let Some(path) = &args.out else {
        return Ok(Changed { patch, out: None });
    };
    beside::write(path, |file| {
        let mut output = BufWriter::with_capacity(1 << 20, &mut *file);
        patch
            .copy(part, &mut output)
            .with_context(|| shown.clone())?;
        output
            .flush()
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        drop(output);
        check(file, args, environment, changes)
    })?;
    Ok(Changed {
        patch,
        out: Some(path.display().to_string()),
    })
}

/// Reads what was written: U-Boot must find there what was asked for.
fn check(file: &File, args: &Env, before: &Environment, changes: &[Change]) -> Result<()> {
    let part = Part::whole(file)?;
    let options = Options {
        offset: before
            .active()
            .map(|c| c.offset)
            .filter(|_| before.copies.len() == 1),
        size: before.active().map(|c| c.size),
        scheme: before.scheme,
        ..options(args)
    };
    let found = environment::find(&part, &options)?;
    let places = |e: &Environment| e.copies.iter().map(|c| c.offset).collect::<Vec<_>>();
    let after = found
        .environments
        .iter()
        .find(|e| places(e) == places(before));
    let wanted = match (before.data(), after.and_then(Environment::data)) {
        (Some(before), Some(after)) => before.with(changes)?.bytes() == after.bytes(),
        _ => false,
    };
    if !wanted {
        bail!("what was written does not read back as it should; nothing was changed");
    }
    Ok(())
}

/// The one environment that changes are for.
fn one(found: &Found) -> Result<&Environment> {
    match found.environments.as_slice() {
        [one] => Ok(one),
        [] => bail!("there is no U-Boot environment"),
        several => {
            let places = several.iter().filter_map(|e| Some(e.active()?.offset));
            let places: Vec<String> = places.map(|o| o.to_string()).collect();
            bail!(
                "there are {} environments, at bytes {}; say which one with --offset",
                several.len(),
                places.join(", ")
            )
        }
    }
}

fn differences(shown: &str, found: &Found, other: &Path) -> Result<Vec<Difference>> {
    let name = other.display().to_string();
    let file = open::image(other)?;
    let part = Part::whole(&file).with_context(|| name.clone())?;
    let second = find(&part, &Options::default(), false).with_context(|| name.clone())?;
    let first = one(found).with_context(|| shown.to_owned())?;
    let second = one(&second).with_context(|| name)?;
    match (first.data(), second.data()) {
        (Some(a), Some(b)) => Ok(environment::diff(a, b)),
        _ => bail!("there is no whole environment to compare"),
    }
}

fn look(image: String, part: &Part<'_>, found: Found, fits: &[(String, Fit)]) -> Result<Look> {
    let signed = match fits {
        [] => None,
        fits => Some(fits.iter().any(|(_, f)| f.is_signed())),
    };
    let mut proposals = Vec::new();
    for environment in &found.environments {
        proposals.push(match environment.data() {
            Some(data) => {
                environment::proposals(data, Some(part), signed).with_context(|| image.clone())?
            }
            None => Proposals::default(),
        });
    }
    Ok(Look {
        bytes: part.len(),
        barebox: barebox::find(part).with_context(|| image.clone())?,
        image,
        found,
        proposals,
    })
}

/// The schemas of what is printed here.
#[cfg(test)]
pub fn schema_files() -> Vec<views::json::SchemaFile> {
    use views::json::schema_file;
    vec![schema_file::<json::Json<'_>>()]
}
