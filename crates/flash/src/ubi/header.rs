//! The two headers of a physical erase block (`drivers/mtd/ubi/ubi-media.h` of
//! Linux). All fields are big-endian.
//!
//! ```text
//! EC   0 'UBI#'  4 u8 version  8 u64 erase counter  16 u32 VID header's place
//!      20 u32 data's place  24 u32 image sequence  60 u32 CRC of 0..60
//! VID  0 'UBI!'  4 u8 version  5 u8 type  6 u8 copy flag  7 u8 compatibility
//!      8 u32 volume  12 u32 logical block  20 u32 data size  24 u32 used blocks
//!      28 u32 data pad  32 u32 data CRC  40 u64 sequence number  60 u32 CRC of 0..60
//! ```

use super::format::{INTERNAL_VOLUMES, MOST_VOLUMES, crc};
use rawimage::endian::{Endian, Fields};
use std::fmt;

/// Length of either header, bytes.
pub const HEADER: usize = 64;
/// The magic number of an erase counter header.
pub const EC_MAGIC: [u8; 4] = *b"UBI#";
/// The magic number of a volume identifier header.
pub const VID_MAGIC: [u8; 4] = *b"UBI!";
/// The only version that there is.
pub const VERSION: u8 = 1;
/// The largest erase counter.
pub const MOST_ERASES: u64 = 0x7fff_ffff;

/// What 64 bytes turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read<T> {
    /// Nothing but 0xff.
    Erased,
    /// No such header: a wrong magic number or checksum.
    Bad(Broken),
    /// A header with a right checksum.
    Good(T),
}

/// Why there is no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// No magic number.
    Magic,
    /// A wrong checksum.
    Crc,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Magic => "no magic number",
            Self::Crc => "wrong checksum",
        })
    }
}

/// The erase counter header, at the front of each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ec {
    /// The version of the format.
    pub version: u8,
    /// How often the block was erased.
    pub erases: u64,
    /// Where the volume identifier header is in the block.
    pub vid_offset: u32,
    /// Where the data begins in the block.
    pub data_offset: u32,
    /// A number that all blocks of one image share; 0 is none.
    pub image_sequence: u32,
}

/// A header: checks magic number and checksum, then reads the fields between them.
fn framed<T>(bytes: &[u8], magic: [u8; 4], fields: impl Fn(&[u8]) -> Option<T>) -> Read<T> {
    let Some(header) = bytes.get(..HEADER) else {
        return Read::Bad(Broken::Magic);
    };
    if !header.starts_with(&magic) {
        return if header.iter().all(|b| *b == 0xff) {
            Read::Erased
        } else {
            Read::Bad(Broken::Magic)
        };
    }
    let (body, stored) = header.split_at(HEADER - 4);
    if stored != crc(body).to_be_bytes() {
        return Read::Bad(Broken::Crc);
    }
    match fields(body.get(4..).unwrap_or_default()) {
        Some(header) => Read::Good(header),
        None => Read::Bad(Broken::Magic),
    }
}

/// Lays a header out, with its checksum.
fn frame(magic: [u8; 4], body: &[u8; HEADER - 8]) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..4].copy_from_slice(&magic);
    bytes[4..HEADER - 4].copy_from_slice(body);
    let sum = crc(&bytes[..HEADER - 4]);
    bytes[HEADER - 4..].copy_from_slice(&sum.to_be_bytes());
    bytes
}

impl Ec {
    /// Reads the header at the front of `bytes`.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Read<Self> {
        framed(bytes, EC_MAGIC, Self::fields)
    }

    fn fields(body: &[u8]) -> Option<Self> {
        let mut f = Fields::new(Endian::Big, body);
        let version = f.u8()?;
        f.bytes(3)?;
        Some(Self {
            version,
            erases: f.u64()?,
            vid_offset: f.u32()?,
            data_offset: f.u32()?,
            image_sequence: f.u32()?,
        })
    }

    /// As it stands on flash.
    #[must_use]
    pub fn bytes(&self) -> [u8; HEADER] {
        let mut body = [0; HEADER - 8];
        body[0] = self.version;
        body[4..12].copy_from_slice(&self.erases.to_be_bytes());
        body[12..16].copy_from_slice(&self.vid_offset.to_be_bytes());
        body[16..20].copy_from_slice(&self.data_offset.to_be_bytes());
        body[20..24].copy_from_slice(&self.image_sequence.to_be_bytes());
        frame(EC_MAGIC, &body)
    }
}

/// What a volume is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VolumeType {
    /// Read and written block by block.
    Dynamic,
    /// Written whole, with a checksum for each block.
    Static,
}

impl VolumeType {
    /// As it stands on flash: 1 and 2.
    #[must_use]
    pub fn of(value: u8) -> Option<Self> {
        match value {
            1 => Some(Self::Dynamic),
            2 => Some(Self::Static),
            _ => None,
        }
    }

    /// As it stands on flash.
    #[must_use]
    pub fn value(self) -> u8 {
        match self {
            Self::Dynamic => 1,
            Self::Static => 2,
        }
    }
}

impl fmt::Display for VolumeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dynamic => "dynamic",
            Self::Static => "static",
        })
    }
}

/// What a kernel does with an internal volume that it does not know.
pub mod compatibility {
    /// Deletes it.
    pub const DELETE: u8 = 1;
    /// Attaches read-only.
    pub const READ_ONLY: u8 = 2;
    /// Leaves it alone.
    pub const PRESERVE: u8 = 4;
    /// Refuses the image.
    pub const REJECT: u8 = 5;
}

/// The volume identifier header of a block that holds a logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vid {
    /// The version of the format.
    pub version: u8,
    /// Type of the volume, as on flash.
    pub volume_type: u8,
    /// 1 if wear-levelling copied the block; then there is a checksum.
    pub copy: u8,
    /// See [`compatibility`]; 0 for a volume of the user's.
    pub compatibility: u8,
    /// Number of the volume.
    pub volume: u32,
    /// Number of the logical erase block.
    pub leb: u32,
    /// Bytes of data, of static volumes and copies.
    pub data_size: u32,
    /// Logical blocks in use, of static volumes.
    pub used_blocks: u32,
    /// Bytes at the end of each block that are not used.
    pub data_pad: u32,
    /// Checksum of the data, of static volumes and copies.
    pub data_crc: u32,
    /// The higher number is the newer block.
    pub sequence: u64,
}

impl Vid {
    /// Reads the header at the front of `bytes`.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Read<Self> {
        framed(bytes, VID_MAGIC, Self::fields)
    }

    fn fields(body: &[u8]) -> Option<Self> {
        let mut f = Fields::new(Endian::Big, body);
        let (version, volume_type, copy, compatibility) = (f.u8()?, f.u8()?, f.u8()?, f.u8()?);
        let (volume, leb) = (f.u32()?, f.u32()?);
        f.u32()?;
        let (data_size, used_blocks, data_pad) = (f.u32()?, f.u32()?, f.u32()?);
        let data_crc = f.u32()?;
        f.u32()?;
        Some(Self {
            version,
            volume_type,
            copy,
            compatibility,
            volume,
            leb,
            data_size,
            used_blocks,
            data_pad,
            data_crc,
            sequence: f.u64()?,
        })
    }

    /// As it stands on flash.
    #[must_use]
    pub fn bytes(&self) -> [u8; HEADER] {
        let mut body = [0; HEADER - 8];
        body[0] = self.version;
        body[1] = self.volume_type;
        body[2] = self.copy;
        body[3] = self.compatibility;
        body[4..8].copy_from_slice(&self.volume.to_be_bytes());
        body[8..12].copy_from_slice(&self.leb.to_be_bytes());
        body[16..20].copy_from_slice(&self.data_size.to_be_bytes());
        body[20..24].copy_from_slice(&self.used_blocks.to_be_bytes());
        body[24..28].copy_from_slice(&self.data_pad.to_be_bytes());
        body[28..32].copy_from_slice(&self.data_crc.to_be_bytes());
        body[36..44].copy_from_slice(&self.sequence.to_be_bytes());
        frame(VID_MAGIC, &body)
    }

    /// What the kernel (`validate_vid_hdr` of `io.c`) finds wrong with the
    /// fields of a header in blocks of `leb_size` usable bytes.
    #[must_use]
    pub fn fault(&self, leb_size: u32) -> Option<&'static str> {
        const SIGN: u32 = 1 << 31;
        let signed = [
            self.volume,
            self.leb,
            self.data_size,
            self.used_blocks,
            self.data_pad,
        ];
        let internal = self.volume >= INTERNAL_VOLUMES;
        let Some(volume_type) = VolumeType::of(self.volume_type) else {
            return Some("unknown volume type");
        };
        if self.copy > 1 {
            return Some("copy flag is neither 0 nor 1");
        }
        if signed.iter().any(|value| value & SIGN != 0) {
            return Some("negative number");
        }
        if self.volume >= MOST_VOLUMES && !internal {
            return Some("impossible volume ID");
        }
        let possible = match self.compatibility {
            0 => !internal,
            compatibility::DELETE
            | compatibility::READ_ONLY
            | compatibility::PRESERVE
            | compatibility::REJECT => internal,
            _ => false,
        };
        if !possible {
            return Some("impossible compatibility");
        }
        if self.data_pad >= leb_size / 2 {
            return Some("impossible data pad");
        }
        if self.data_size > leb_size {
            return Some("more data than an LEB can contain");
        }
        match volume_type {
            VolumeType::Static => self.static_fault(leb_size),
            VolumeType::Dynamic => match (self.copy, self.data_size, self.data_crc) {
                (0, _, 1..) => Some("data checksum in a dynamic volume"),
                (0, 1.., _) => Some("data size in a dynamic volume"),
                (1, 0, _) => Some("copy without a data size"),
                _ if self.used_blocks != 0 => Some("used LEB count in a dynamic volume"),
                _ => None,
            },
        }
    }

    fn static_fault(&self, leb_size: u32) -> Option<&'static str> {
        if self.used_blocks == 0 {
            return Some("no used LEBs in a static volume");
        }
        if self.data_size == 0 {
            return Some("no data in a static volume");
        }
        let last = self.used_blocks - 1;
        if self.leb < last && self.data_size != leb_size - self.data_pad {
            return Some("LEB of a static volume that is neither full nor the last");
        }
        (self.leb > last).then_some("LEB past the end of a static volume")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_ec_header_is_read_back(erases: u64, vid_offset: u32, data_offset: u32, image_sequence: u32) {
            let header = Ec { version: VERSION, erases, vid_offset, data_offset, image_sequence };
            prop_assert_eq!(Ec::parse(&header.bytes()), Read::Good(header));
        }

        #[test]
        fn a_vid_header_is_read_back(
            small: [u8; 3], volume: u32, leb: u32, data_size: u32, used_blocks: u32,
            data_pad: u32, data_crc: u32, sequence: u64
        ) {
            let [volume_type, copy, compatibility] = small;
            let header = Vid {
                version: VERSION, volume_type, copy, compatibility, volume, leb, data_size,
                used_blocks, data_pad, data_crc, sequence,
            };
            prop_assert_eq!(Vid::parse(&header.bytes()), Read::Good(header));
        }

        #[test]
        fn a_flipped_bit_is_noticed(bit in 0_usize..512) {
            let header = Ec { version: 1, erases: 7, vid_offset: 512, data_offset: 2048, image_sequence: 9 };
            let mut bytes = header.bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let why = if bit < 32 { Broken::Magic } else { Broken::Crc };
            prop_assert_eq!(Ec::parse(&bytes), Read::Bad(why));
        }
    }

    #[test]
    fn nothing_but_ff_is_erased_and_too_little_is_nothing() {
        assert_eq!(Ec::parse(&[0xff; 64]), Read::Erased);
        assert_eq!(Vid::parse(&[0xff; 64]), Read::Erased);
        assert_eq!(Ec::parse(&[0xff; 63]), Read::Bad(Broken::Magic));
        assert_eq!(Vid::parse(b""), Read::Bad(Broken::Magic));
    }
}
