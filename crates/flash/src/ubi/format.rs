//! Numbers and the checksum that the whole format shares.

/// The number of the first internal volume.
pub const INTERNAL_VOLUMES: u32 = 0x7fff_efff;
/// The volume that holds the volume table.
pub const LAYOUT_VOLUME: u32 = INTERNAL_VOLUMES;
/// The volume that holds the first block of a fastmap.
pub const FASTMAP_ANCHOR: u32 = INTERNAL_VOLUMES + 1;
/// The volume that holds the other blocks of a fastmap.
pub const FASTMAP_DATA: u32 = INTERNAL_VOLUMES + 2;
/// How many volumes there can be.
pub const MOST_VOLUMES: u32 = 128;

/// How many erase blocks can be worked with.
pub const MOST_BLOCKS: u64 = 1 << 20;
/// The anchor of a fastmap is among so many blocks; a chip must have more than that.
pub const FASTMAP_SEARCHED: u64 = 64;

/// The CRC-32 of UBI and UBIFS: that of zlib without its last step.
#[must_use]
pub fn crc(bytes: &[u8]) -> u32 {
    !crc32fast::hash(bytes)
}

/// [`crc`] of bytes that come piece by piece.
#[derive(Default)]
pub(crate) struct Crc(crc32fast::Hasher);

impl Crc {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> u32 {
        !self.0.finalize()
    }
}
