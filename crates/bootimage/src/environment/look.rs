//! Everything that is known of the environments of an image.

use super::copies::Environment;
use super::data::{Change, Difference, diff};
use super::error::Error;
use super::proposal::{Proposals, proposals};
use super::{Found, Options, find};
use crate::barebox::{self, Barebox};
use rawimage::bytes::Part;

/// The environments of an image, and what could be better.
#[derive(Clone, Debug)]
pub struct Look {
    /// Size of the image.
    pub bytes: u64,
    /// Environments of U-Boot.
    pub found: Found,
    /// One for each of these.
    pub proposals: Vec<Proposals>,
    /// Environments of Barebox.
    pub barebox: Vec<Barebox>,
}

/// As [`find`]; none, if there is one of Barebox and none of U-Boot.
///
/// # Errors
/// There is none at all, or the options contradict the image.
pub fn find_any(image: &Part<'_>, options: &Options) -> Result<Found, Error> {
    match find(image, options) {
        Err(Error::None {
            barebox: Some(_),
            gave_up,
            ..
        }) => Ok(Found {
            environments: Vec::new(),
            gave_up,
        }),
        found => found,
    }
}

/// Looks for what could be better in environments that were found; `signed` says whether
/// a FIT image with signatures is booted, `None` if no FIT image is known.
///
/// # Errors
/// The image cannot be read.
pub fn look(image: &Part<'_>, found: Found, signed: Option<bool>) -> Result<Look, Error> {
    let propose = |environment: &Environment| match environment.data() {
        Some(data) => proposals(data, Some(image), signed).map_err(Error::Length),
        None => Ok(Proposals::default()),
    };
    let proposals = found.environments.iter().map(propose);
    Ok(Look {
        bytes: image.len(),
        proposals: proposals.collect::<Result<_, _>>()?,
        barebox: barebox::find(image).map_err(Error::Length)?,
        found,
    })
}

impl Found {
    /// The one environment that there is.
    ///
    /// # Errors
    /// [`Error::Nowhere`], or [`Error::Several`].
    pub fn one(&self) -> Result<&Environment, Error> {
        match self.environments.as_slice() {
            [one] => Ok(one),
            [] => Err(Error::Nowhere),
            several => {
                let places = several.iter().filter_map(|e| Some(e.active()?.offset));
                Err(Error::Several {
                    offsets: places.collect(),
                })
            }
        }
    }

    /// What differs between the one environment here and that of `other`.
    ///
    /// # Errors
    /// There is not one whole environment on each side.
    pub fn differences(&self, other: &Self) -> Result<Vec<Difference>, Error> {
        match (self.one()?.data(), other.one()?.data()) {
            (Some(a), Some(b)) => Ok(diff(a, b)),
            _ => Err(Error::NotWhole),
        }
    }
}

impl Change {
    /// Reads changes: `NAME=VALUE` to set, `NAME` to unset.
    ///
    /// # Errors
    /// One is none, or a variable is changed twice.
    pub fn parse_all(set: &[String], unset: &[String]) -> Result<Vec<Self>, Error> {
        let set = set.iter().map(|t| Self::parse_set(t));
        let unset = unset.iter().map(|t| Self::parse_unset(t));
        let changes: Vec<Self> = set.chain(unset).collect::<Result<_, _>>()?;
        for (i, change) in changes.iter().enumerate() {
            if changes.iter().take(i).any(|c| c.name() == change.name()) {
                let name = String::from_utf8_lossy(change.name()).into_owned();
                return Err(Error::Twice(name));
            }
        }
        Ok(changes)
    }
}

/// Reads a changed image: U-Boot must find there what was asked for. `before` is the
/// environment that was changed, and `options` are those by which it was found.
///
/// # Errors
/// [`Error::NotAsWanted`], or the image cannot be read.
pub fn check_changed(
    changed: &Part<'_>,
    before: &Environment,
    changes: &[Change],
) -> Result<(), Error> {
    let options = Options {
        // Exactly where it was written: no search, which may give up.
        offset: before.copies.first().map(|c| c.offset),
        redundant: before.copies.get(1).map(|c| c.offset),
        size: before.active().map(|c| c.size),
        scheme: before.scheme,
    };
    let found = find(changed, &options)?;
    let places = |e: &Environment| e.copies.iter().map(|c| c.offset).collect::<Vec<_>>();
    let after = found
        .environments
        .iter()
        .find(|e| places(e) == places(before));
    let wanted = match (before.data(), after.and_then(Environment::data)) {
        (Some(before), Some(after)) => before.with(changes)?.bytes() == after.bytes(),
        _ => false,
    };
    match wanted {
        true => Ok(()),
        false => Err(Error::NotAsWanted),
    }
}
