//! Debian's static busybox for each architecture: the programs of a workload.

use super::Cache;
use super::apt::Apt;
use crate::error::{LabError, io_error};
use crate::files::read;
use crate::tools::Tool;
use std::fs;
use std::path::PathBuf;

/// The package.
const PACKAGE: &str = "busybox-static";

/// Where the program lies in the package, in Debian 12 and in later ones.
const PLACES: [&str; 2] = ["bin/busybox", "usr/bin/busybox"];

/// The static busybox for Debian's `architecture`: from the cache, or fetched.
///
/// # Errors
/// If it has to be fetched and that fails.
pub fn get(
    cache: &Cache,
    architecture: &str,
    say: &mut dyn FnMut(String),
) -> Result<PathBuf, LabError> {
    let place = cache.path(&format!("busybox/busybox-{architecture}"));
    if place.is_file() {
        return Ok(place);
    }
    let making = cache.make("busybox")?;
    if place.is_file() {
        return Ok(place);
    }
    let working = making.folder.path();
    let apt = Apt::open(architecture, &working.join("apt"), say)?;
    say(format!("fetching {PACKAGE} for {architecture} from Debian"));
    let (download, tree) = (working.join("deb"), working.join("tree"));
    for new in [&download, &tree] {
        fs::create_dir(new).map_err(io_error(new, "cannot be created"))?;
    }
    let deb = apt.download(PACKAGE, &download)?;
    let why = "unpack the busybox package";
    Tool::new("dpkg-deb", "dpkg", why)
        .args(["-x".as_ref(), deb.as_os_str(), tree.as_os_str()])
        .run()?;
    let found = PLACES
        .map(|p| tree.join(p))
        .into_iter()
        .find(|p| p.is_file());
    let found = found.ok_or_else(|| LabError::ToolFailed {
        what: format!("unpacking {PACKAGE}"),
        detail: "the package contains no bin/busybox".into(),
    })?;
    cache.write(&place, &read(&found)?)?;
    Ok(place)
}
