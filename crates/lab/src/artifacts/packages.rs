//! Debian's packages for a machine of the lab, with all that they depend on.

use super::apt::Apt;
use super::{Cache, hash_bytes};
use crate::error::{LabError, io_error};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of `packages` and of all that they depend on, for Debian's `architecture`: from
/// the cache, or fetched. What is in the cache stays as it is when Debian has newer ones.
///
/// # Errors
/// If they have to be fetched and that fails.
pub fn get(
    cache: &Cache,
    architecture: &str,
    packages: &[String],
    say: &mut dyn FnMut(String),
) -> Result<Vec<PathBuf>, LabError> {
    if packages.is_empty() {
        return Ok(Vec::new());
    }
    let mut names = packages.to_vec();
    names.sort();
    names.dedup();
    let key = hash_bytes(names.join(" ").as_bytes());
    let place = cache.path(&format!("packages/{architecture}-{key}"));
    if place.is_dir() {
        return listed(&place);
    }
    let making = cache.make("packages")?;
    if place.is_dir() {
        return listed(&place);
    }
    let working = making.folder.path();
    let apt = Apt::apart(architecture, &working.join("apt"), say)?;
    say(format!(
        "fetching {} for {architecture} from Debian",
        names.join(", ")
    ));
    let all = working.join("all");
    apt.download_all(&names, &all)?;
    let partial = all.join("partial");
    fs::remove_dir_all(&partial).map_err(io_error(&partial, "cannot be removed"))?;
    let _ = fs::remove_file(all.join("lock"));
    fs::create_dir_all(place.parent().unwrap_or(working))
        .and_then(|()| fs::rename(&all, &place))
        .map_err(io_error(&place, "cannot be moved into place"))?;
    listed(&place)
}

/// The packages in a folder; their names have their versions.
fn listed(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let failed = || io_error(folder, "cannot be listed");
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed())? {
        all.push(entry.map_err(failed())?.path());
    }
    all.retain(|path| path.extension().is_some_and(|e| e == "deb"));
    all.sort();
    Ok(all)
}
