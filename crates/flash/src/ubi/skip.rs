//! Sparing the check of a static volume.

use super::blocks::Leb;
use super::cost::{NANDSIM, Profile, Reads};
use super::error::Error;
use super::format::{LAYOUT_VOLUME, crc};
use super::header::VolumeType;
use super::image::Image;
use super::options::Options;
use super::table::{Copy, FLAGS, RECORD, RECORD_CRC, SKIP_CHECK};
use crate::transfer::TransferError;
use rawimage::ReadAt;
use std::io::Write;

/// How much is copied at a time.
const PIECE: usize = 1 << 20;

/// What was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The volume's number.
    pub id: u32,
    /// The volume's name.
    pub name: Vec<u8>,
    /// Where its records are in the image, one for each copy of the table.
    pub places: Vec<u64>,
    /// Whether the flag was as wanted already.
    pub was_so: bool,
    /// Bytes that the kernel reads and checks, or did, when the volume is opened.
    pub bytes: u64,
    /// How long that takes, nanoseconds.
    pub open_ns: u64,
    /// The chip of that estimate.
    pub profile: Profile,
}

/// Copies an image, with the flag of one static volume set (or, if `skip` is
/// false, cleared) in each copy of the volume table, as `ubinize` does for
/// `vol_flags=skip-check`. The volume is given by name or by number.
///
/// With the flag the kernel does not read the whole volume when it is opened
/// for the first time after attaching. Damage to it is then found only by what
/// reads it.
///
/// # Errors
/// There is no such volume, it is dynamic, the dump has spare bytes, or what
/// reading and writing say. The output is then incomplete.
pub fn skip_check(
    image: &dyn ReadAt,
    volume: &str,
    skip: bool,
    options: &Options,
    output: &mut dyn Write,
) -> Result<Skipped, Error> {
    let attached = Image::open(image, options)?;
    if attached.blocks.layout.oob.is_some() {
        return Err(Error::SpareBytes);
    }
    let (id, record) = attached.find(volume)?;
    let shown = || String::from_utf8_lossy(record.name()).into_owned();
    if record.kind() != Some(VolumeType::Static) {
        return Err(Error::NotStatic(shown()));
    }
    let mut changed = record.clone();
    changed.flags = if skip {
        record.flags | SKIP_CHECK
    } else {
        record.flags & !SKIP_CHECK
    };
    let places = places(&attached, id)?;
    let lebs = attached.blocks.of_volume(id);
    let bytes = lebs.iter().map(|l| u64::from(l.data_size)).sum();
    let profile = options.profile.unwrap_or(NANDSIM);
    let mut reads = Reads::default();
    reads.read(bytes);
    let skipped = Skipped {
        id,
        name: record.name().to_vec(),
        was_so: changed == *record,
        bytes,
        open_ns: profile.time_ns(reads),
        profile,
        places,
    };
    copy(image, &skipped.places, changed.flags, output)?;
    Ok(skipped)
}

/// Where the record of a volume is in each copy of the table. A copy that is
/// not good is left as it is: the kernel writes it anew from the other one.
fn places(attached: &Image, id: u32) -> Result<Vec<u64>, Error> {
    if let [Copy::Good(first), Copy::Good(second)] = &attached.copies
        && first != second
    {
        let why = "its two copies differ; attach the image once to let the kernel repair them";
        return Err(Error::NoTable(why.to_owned()));
    }
    let layout = &attached.blocks.layout;
    let lebs: &[Leb] = attached.blocks.of_volume(LAYOUT_VOLUME);
    let good = (0_u32..).zip(&attached.copies);
    let good = good.filter(|(_, copy)| matches!(copy, Copy::Good(_)));
    let places = good.filter_map(|(number, _)| {
        let leb = lebs.iter().find(|l| l.leb == number)?;
        let start = u64::from(leb.block) * u64::from(layout.erase_size);
        Some(start + u64::from(layout.data_offset) + u64::from(id) * RECORD as u64)
    });
    Ok(places.collect())
}

/// Copies the image, changing the flags of the records at `places`.
fn copy(
    image: &dyn ReadAt,
    places: &[u64],
    flags: u8,
    output: &mut dyn Write,
) -> Result<(), Error> {
    let length = image.length().map_err(TransferError::Length)?;
    let read = |offset, length| {
        move |source| TransferError::Read {
            offset,
            length,
            source,
        }
    };
    let mut records = Vec::new();
    for &place in places {
        let mut record = [0; RECORD];
        image
            .read_exact_at(place, &mut record)
            .map_err(read(place, RECORD))?;
        record[FLAGS] = flags;
        let sum = crc(&record[..RECORD_CRC]);
        record[RECORD_CRC..].copy_from_slice(&sum.to_be_bytes());
        records.push((place, record));
    }
    let mut buffer = vec![0; PIECE];
    let mut at = 0;
    while at < length {
        let take = PIECE.min(usize::try_from(length - at).unwrap_or(PIECE));
        let piece = &mut buffer[..take];
        image.read_exact_at(at, piece).map_err(read(at, take))?;
        for (place, record) in &records {
            // A record may lie across two pieces.
            for (i, byte) in record.iter().enumerate() {
                let offset = (place + i as u64).checked_sub(at);
                let offset = offset.and_then(|o| usize::try_from(o).ok());
                if let Some(there) = offset.and_then(|o| piece.get_mut(o)) {
                    *there = *byte;
                }
            }
        }
        output.write_all(piece).map_err(TransferError::Write)?;
        at += take as u64;
    }
    Ok(())
}
