//! What reading files takes, as they lie and as they would lie.

use agent::access::AccessList;
use agent::prefetch::{DISK_INFILL_BYTES, INFILL_BYTES, WINDOW_US};
use anyhow::Result;
use lab::layout::Ordered;
use lab::profiles::named;
use lab::reads::Reads;
use std::path::Path;
use storage::{Costs, Model, Profile, Way, simulate, way_to};
use views::json::image::{Change, Forecast, ForecastWay};

/// The storage of forecasts where none is named: there a layout matters most.
const DEFAULT: &str = "hdd-laptop";

/// A profile by its name, on which reading takes time.
pub fn profile(name: &str) -> Result<Profile, String> {
    let found = named(name).map_err(|e| e.to_string())?;
    match found.storage.model {
        Model::None => Err("expected a profile on which reading takes time".to_owned()),
        _ => Ok(found),
    }
}

/// The profile that was named, or the usual one.
pub fn profile_or_usual(profile: Option<&Profile>) -> Result<Profile> {
    Ok(match profile {
        Some(profile) => profile.clone(),
        None => named(DEFAULT)?,
    })
}

/// What reading `list` takes from `image`, and from the image that `done` describes.
/// `decides` says which way of reading the new image is for.
pub fn of_image(
    list: &AccessList,
    image: &Path,
    done: &Ordered,
    profile: &Profile,
    decides: ForecastWay,
) -> Result<Forecast> {
    let (before, after) = Reads::then(list, image, done)?;
    let storage = &profile.storage;
    let time = |reads: &Reads, way| {
        let known = (&*reads.files, reads.mount.as_ref());
        let device = (storage, reads.size());
        let done = simulate(&reads.needs, known, device, Costs::default(), way);
        // A boot begins at the superblock; where the way to another first need leads from is
        // not known.
        let first = reads.needs.first().filter(|_| reads.mount.is_none());
        let first = first.and_then(|n| reads.files.get(n.file)?.place(n.page));
        let way = first.map_or(0, |place| way_to(place, storage, reads.size()));
        done.total_ns.saturating_sub(way)
    };
    let change = |way| Change {
        before_ns: time(&before, way),
        after_ns: time(&after, way),
    };
    // As the prefetcher chooses by itself.
    let infill_bytes = match storage.model {
        Model::Disk => DISK_INFILL_BYTES,
        _ => INFILL_BYTES,
    };
    let ahead = Way::Prefetch {
        window_ns: WINDOW_US * 1000,
        infill_bytes,
    };
    Ok(Forecast {
        storage: profile.name.clone(),
        decides,
        on_demand: change(Way::Demand),
        read_ahead: change(ahead),
    })
}
