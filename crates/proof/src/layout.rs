//! What reading takes, as files lie and as they would lie: forecasts of a layout and of a
//! prefetcher.

use crate::Error;
use agent::access::AccessList;
use agent::prefetch::{DISK_INFILL_BYTES, INFILL_BYTES, WINDOW_US};
use lab::layout::Ordered;
use lab::profiles::named;
use lab::reads::Reads;
use std::path::Path;
use storage::{Costs, Model, Profile, Simulated, Storage, Way, read_whole, simulate, way_to};
use treat::relocate::Extent;
use views::json::image::{Change, Forecast, ForecastWay};
use views::json::{PrefetchCase, PrefetchProfile};

/// The storage of forecasts where none is named: there a layout matters most.
const DEFAULT: &str = "hdd-laptop";

/// A profile by its name, on which reading takes time.
///
/// # Errors
/// There is none of that name, or reading takes no time on it.
pub fn profile(name: &str) -> Result<Profile, String> {
    let found = named(name).map_err(|e| e.to_string())?;
    match found.storage.model {
        Model::None => Err("expected a profile on which reading takes time".to_owned()),
        _ => Ok(found),
    }
}

/// The profile that was named, or the usual one: `hdd-laptop`.
///
/// # Errors
/// The lab's own profiles cannot be read.
pub fn profile_or_usual(profile: Option<&Profile>) -> Result<Profile, Error> {
    Ok(match profile {
        Some(profile) => profile.clone(),
        None => named(DEFAULT)?,
    })
}

/// What reading `list` takes from `image`, and from the image that `done` describes.
/// `decides` says which way of reading the new image is for.
///
/// # Errors
/// The image cannot be read.
pub fn of_image(
    list: &AccessList,
    image: &Path,
    done: &Ordered,
    profile: &Profile,
    decides: ForecastWay,
) -> Result<Forecast, Error> {
    let (before, after) = Reads::then(list, image, done)?;
    let storage = &profile.storage;
    let time = |reads: &Reads, way| {
        let done = played(reads, (storage, reads.size()), Costs::default(), way);
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
    Ok(Forecast {
        storage: profile.name.clone(),
        decides,
        on_demand: change(Way::Demand),
        read_ahead: change(ahead(storage)),
    })
}

/// What whoever needs `reads` waits for on a device: on demand, with a prefetcher, and with one whose
/// files lie in order, as `ordered` says.
#[must_use]
pub fn simulated(
    profile: &Profile,
    costs: Costs,
    reads: &Reads,
    ordered: &Reads,
) -> PrefetchProfile {
    let storage = &profile.storage;
    let costs = match storage.model {
        // Nothing serves it.
        Model::None => Costs::default(),
        _ => costs,
    };
    let device = (storage, reads.size());
    let case = |reads: &Reads, way| {
        let done = played(reads, device, costs, way);
        PrefetchCase {
            total_ns: done.total_ns,
            stall_ns: done.stall_ns,
            requests: done.requests,
        }
    };
    let bytes = reads.bytes();
    let transfer = u128::from(bytes) * 1_000_000_000 / u128::from(storage.read_bytes_per_s.max(1));
    let least = match storage.model {
        Model::None => 0,
        _ => u64::try_from(transfer)
            .unwrap_or(u64::MAX)
            .saturating_add(storage.command_ns),
    };
    PrefetchProfile {
        storage: profile.name.clone(),
        demand: case(reads, Way::Demand),
        prefetch: case(reads, ahead(storage)),
        ordered: case(ordered, ahead(storage)),
        limit_ns: reads.work_ns().max(least),
    }
}

/// What the simulator makes of `reads` on storage of so many bytes.
fn played(reads: &Reads, device: (&Storage, u64), costs: Costs, way: Way) -> Simulated {
    let known = (&*reads.files, reads.mount.as_ref());
    simulate(&reads.needs, known, device, costs, way)
}

/// A prefetcher that chooses by itself, as it does on this storage.
fn ahead(storage: &Storage) -> Way {
    let infill_bytes = match storage.model {
        Model::Disk => DISK_INFILL_BYTES,
        _ => INFILL_BYTES,
    };
    Way::Prefetch {
        window_ns: WINDOW_US * 1000,
        infill_bytes,
    }
}

/// How long reading `files` whole takes, one after another, in nanoseconds: each is given by where
/// its content lies, on a filesystem of `size` bytes.
#[must_use]
pub fn reading_ns(files: &[Vec<Extent>], size: u64, profile: &Profile) -> u64 {
    let files: Vec<Pieces> = files.iter().flat_map(|f| reads(f, size)).collect();
    read_whole(&files, &profile.storage, size)
}

/// Offset, place on the device and length, in bytes.
type Pieces = Vec<(u64, u64, u64)>;

/// So many pieces of a file lie in its inode (`fs/ext4/ext4_extents.h`: four extents in
/// `i_block`); of more, a block of its own says where they lie.
const IN_INODE: usize = 4;

/// The bytes of a block group with blocks of 4 KiB.
const GROUP_BYTES: u64 = 128 << 20;

/// What is read of a file: first the block that says where its content lies, if there is one.
/// The kernel looks for its place in the file's block group and does not tell it. Two places
/// in one group are a third of it apart on average.
fn reads(extents: &[Extent], size: u64) -> Vec<Pieces> {
    let mut content: Pieces = Vec::new();
    for e in extents {
        match content.last_mut() {
            Some((offset, place, bytes))
                if *offset + *bytes == e.offset && *place + *bytes == e.physical =>
            {
                *bytes += e.bytes;
            }
            _ => content.push((e.offset, e.physical, e.bytes)),
        }
    }
    let first = content.first().map_or(0, |p| p.1);
    let away = GROUP_BYTES.min(size) / 3;
    let place = first.checked_sub(away).unwrap_or(first + away);
    let block = vec![(0, place, 4096)];
    match content.len() > IN_INODE {
        true => vec![block, content],
        false => vec![content],
    }
}

#[cfg(test)]
mod tests {
    use super::{Extent, GROUP_BYTES, reads};

    #[test]
    fn a_file_in_more_pieces_than_its_inode_holds_has_a_block_for_them() {
        let extent = |n: u64| Extent {
            offset: n * 4096,
            physical: 500_000_000 + n * 8192,
            bytes: 4096,
        };
        let pieces = |count: u64| (0..count).map(extent).collect::<Vec<_>>();
        assert_eq!(reads(&pieces(4), 1 << 30).len(), 1);
        let five = reads(&pieces(5), 1 << 30);
        assert_eq!(five[0], [(0, 500_000_000 - GROUP_BYTES / 3, 4096)]);
        assert_eq!(five[1].len(), 5);
        // What follows directly is one piece.
        let whole: Vec<Extent> = (0..5)
            .map(|n| Extent {
                physical: n * 4096,
                ..extent(n)
            })
            .collect();
        assert_eq!(reads(&whole, 1 << 30), [vec![(0, 0, 5 * 4096)]]);
    }
}
