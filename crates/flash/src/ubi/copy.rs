//! The bytes of a volume, copied.

use super::error::Error;
use super::image::Image;
use crate::transfer::TransferError;
use rawimage::ReadAt;
use std::io::Write;

/// How much is copied at a time, bytes.
const PIECE: usize = 1 << 20;

/// A volume that was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The volume's number.
    pub id: u32,
    /// The volume's name.
    pub name: Vec<u8>,
    /// Its length, bytes.
    pub bytes: u64,
}

/// Copies all of a volume, which is given by name or by number. Blocks that are not
/// there are 0xff.
///
/// # Errors
/// There is no such volume, or what reading and writing say. The output is then
/// incomplete.
pub fn copy_volume(image: &Image, volume: &str, output: &mut dyn Write) -> Result<Copied, Error> {
    let (id, record) = image.find(volume)?;
    let volume = image.volume(id, record);
    let bytes = volume.length().map_err(TransferError::Length)?;
    let mut buffer = vec![0; PIECE];
    let mut at = 0;
    while at < bytes {
        let take = PIECE.min(usize::try_from(bytes - at).unwrap_or(PIECE));
        let piece = &mut buffer[..take];
        volume
            .read_exact_at(at, piece)
            .map_err(|source| Error::ReadVolume {
                offset: at,
                volume: id,
                source,
            })?;
        output.write_all(piece).map_err(TransferError::Write)?;
        at += take as u64;
    }
    Ok(Copied {
        id,
        name: record.name().to_vec(),
        bytes,
    })
}
