//! Whose what boots asked of their devices is: by images of these, or by what
//! the page cache got.

use crate::args::Images;
use crate::disk;
use crate::verbs::flash::text;
use analysis::Owners;
use anyhow::{Context, Result, bail};
use image::blocks::{Disk, Kind, Piece};
use record::{Device, Record, Request};
use std::collections::BTreeMap;
use std::path::Path;

const SECTOR_BYTES: u64 = 512;

/// Owners of the requests of one or two boots: by images, else by what the
/// page cache got.
pub fn of_boots(a: &Record, b: Option<&Record>, images: &Images) -> Result<(Owners, Owners)> {
    if images.images.len() > usize::from(b.is_some()) + 1 {
        bail!(
            "{} images for {}; expected one for each boot at most",
            images.images.len(),
            if b.is_some() { "two boots" } else { "one boot" }
        );
    }
    let Some(first) = images.images.first() else {
        let of_b = b.map(Owners::of_page_cache).unwrap_or_default();
        return Ok((Owners::of_page_cache(a), of_b));
    };
    let second = images.images.get(1).unwrap_or(first);
    let of_b = b.map(|b| of_image(b, second, images)).transpose()?;
    Ok((of_image(a, first, images)?, of_b.unwrap_or_default()))
}

fn of_image(record: &Record, path: &Path, images: &Images) -> Result<Owners> {
    let device = device(record, images)?;
    let base = images.base.checked_mul(SECTOR_BYTES);
    let base = base.with_context(|| format!("--base {} lies behind every disk", images.base))?;
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
    Some(text(&map.path(u32::try_from(inode).ok()?)?).0)
}

/// The device that an image is of.
fn device(record: &Record, images: &Images) -> Result<Option<Device>> {
    let mut all: BTreeMap<Device, usize> = BTreeMap::new();
    for request in record.requests() {
        *all.entry(request.device).or_default() += 1;
    }
    if let Some(wanted) = &images.device {
        let found = all.keys().find(|d| d.to_string() == *wanted);
        if found.is_none() {
            let all: Vec<String> = all.keys().map(Device::to_string).collect();
            bail!(
                "no requests of device {wanted}; there are {}",
                if all.is_empty() {
                    "none at all".to_owned()
                } else {
                    all.join(", ")
                }
            );
        }
        return Ok(found.copied());
    }
    Ok(all.into_iter().max_by_key(|(_, n)| *n).map(|(d, _)| d))
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
        .map(|p| text(&p).0);
    let word = piece.extent.kind.word().replace('_', " ");
    Some(match (piece.extent.kind, path) {
        (Kind::File, Some(path)) => path,
        (_, Some(path)) => format!("{word} of {path}"),
        (_, None) => format!("({word})"),
    })
}
