//! Whose what boots asked of their devices is: by images of these, or by what
//! the page cache got.

use crate::{Error, disk};
use ::disk::{Disk, Kind, Piece};
use analysis::Owners;
use record::{Device, Record, Request};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Images that name the files behind block requests.
#[derive(Clone, Copy, Debug)]
pub struct Images<'a> {
    /// Images, devices or mounted folders: of the first boot, and of the second.
    pub images: &'a [PathBuf],
    /// Where the image begins on the traced device, in sectors of 512 bytes.
    pub base: u64,
    /// The device of the image, as in 8:0; else the one with the most requests.
    pub device: Option<&'a str>,
}

const SECTOR_BYTES: u64 = 512;

/// Owners of the requests of one or two boots: by images, else by what the
/// page cache got. `mapping` is told of each image before it is read.
///
/// # Errors
/// An image cannot be mapped, or does not fit the boots.
pub fn of_boots(
    a: &Record,
    b: Option<&Record>,
    images: Images<'_>,
    mapping: &dyn Fn(&Path),
) -> Result<(Owners, Owners), Error> {
    if images.images.len() > usize::from(b.is_some()) + 1 {
        return Err(Error::Choice(format!(
            "{} images for {}; expected one for each boot at most",
            images.images.len(),
            if b.is_some() { "two boots" } else { "one boot" }
        )));
    }
    let Some(first) = images.images.first() else {
        let of_b = b.map(Owners::of_page_cache).unwrap_or_default();
        return Ok((Owners::of_page_cache(a), of_b));
    };
    let second = images.images.get(1).unwrap_or(first);
    let of_b = b
        .map(|b| of_image(b, second, images, mapping))
        .transpose()?;
    Ok((
        of_image(a, first, images, mapping)?,
        of_b.unwrap_or_default(),
    ))
}

fn of_image(
    record: &Record,
    path: &Path,
    images: Images<'_>,
    mapping: &dyn Fn(&Path),
) -> Result<Owners, Error> {
    let device = device(record, images)?;
    let base = images.base.checked_mul(SECTOR_BYTES);
    let base = base
        .ok_or_else(|| Error::Choice(format!("--base {} lies behind every disk", images.base)))?;
    mapping(path);
    let disk = disk::map(path, None)?;
    Ok(Owners::told(
        record,
        |r| (Some(r.device) == device).then(|| owner(&disk, r, base))?,
        |of, inode| path_of(&disk, device?, of, inode),
    ))
}

/// The path of an inode on a filesystem's device: the disk that the image is
/// of, or a partition of it, whose minor number follows the disk's.
fn path_of(disk: &Disk, device: Device, of: Device, inode: u64) -> Option<String> {
    if of.major != device.major {
        return None;
    }
    let number = of.minor.checked_sub(device.minor)?;
    let mut maps = disk.maps();
    let (_, map) = maps.find(|(v, _)| v.partition.unwrap_or(0) == number || number == 0)?;
    Some(text(&map.path(u32::try_from(inode).ok()?)?))
}

/// The device that an image is of.
fn device(record: &Record, images: Images<'_>) -> Result<Option<Device>, Error> {
    let mut all: BTreeMap<Device, usize> = BTreeMap::new();
    for request in record.requests() {
        *all.entry(request.device).or_default() += 1;
    }
    if let Some(wanted) = images.device {
        let found = all.keys().find(|d| d.to_string() == wanted);
        if found.is_none() {
            let all: Vec<String> = all.keys().map(Device::to_string).collect();
            return Err(Error::Choice(format!(
                "no requests of device {wanted}; there are {}",
                if all.is_empty() {
                    "none at all".to_owned()
                } else {
                    all.join(", ")
                }
            )));
        }
        return Ok(found.copied());
    }
    Ok(all.into_iter().max_by_key(|(_, n)| *n).map(|(d, _)| d))
}

/// A path as text.
fn text(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// Whose most of a request is.
fn owner(disk: &Disk, request: &Request, base: u64) -> Option<String> {
    let start = request.sector.checked_mul(SECTOR_BYTES)?;
    let mut most: Option<(u64, Piece<'_>)> = None;
    let mut sums: BTreeMap<(Kind, Option<u32>), u64> = BTreeMap::new();
    disk.pieces(start.checked_sub(base)?, request.bytes, &mut |piece| {
        let sum = sums
            .entry((piece.extent.kind, piece.extent.inode))
            .or_default();
        *sum = sum.saturating_add(piece.extent.len);
        if most.as_ref().is_none_or(|(bytes, _)| *sum > *bytes) {
            most = Some((*sum, piece));
        }
    });
    let (_, piece) = most?;
    let map = piece.volume.and_then(|v| v.map.as_ref().ok());
    let path = map
        .zip(piece.extent.inode)
        .and_then(|(m, i)| m.path(i))
        .map(|p| text(&p));
    let word = piece.extent.kind.word().replace('_', " ");
    Some(match (piece.extent.kind, path) {
        (Kind::File, Some(path)) => path,
        (_, Some(path)) => format!("{word} of {path}"),
        (_, None) => format!("({word})"),
    })
}
