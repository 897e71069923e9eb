//! The volume table (`drivers/mtd/ubi/vtbl.c`): one record for each volume, and
//! two copies of all of them in the layout volume.
//!
//! ```text
//! 0 u32 reserved blocks  4 u32 alignment  8 u32 data pad  12 u8 type
//! 13 u8 being updated  14 u16 length of the name  16 name  144 u8 flags
//! 168 u32 CRC of 0..168
//! ```

use super::format::{MOST_VOLUMES, crc};
use super::header::VolumeType;
use rawimage::endian::{Endian, Fields};

/// Length of a record, bytes.
pub const RECORD: usize = 172;
/// Where the flags are in a record.
pub const FLAGS: usize = 144;
/// Where the checksum is in a record.
pub const RECORD_CRC: usize = 168;
/// The longest name, bytes.
pub const LONGEST_NAME: u16 = 127;

/// The volume gets all free blocks when it is attached for the first time.
pub const AUTORESIZE: u8 = 1;
/// The data of a static volume is not checked when it is opened.
pub const SKIP_CHECK: u8 = 2;

/// A record of the volume table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// How many logical blocks the volume may have.
    pub reserved: u32,
    /// What the size of its blocks is a multiple of, bytes.
    pub alignment: u32,
    /// Bytes at the end of each block that are not used.
    pub data_pad: u32,
    /// Type of the volume, as on flash.
    pub volume_type: u8,
    /// 1 while its content is being replaced.
    pub updating: u8,
    /// Length of the name.
    pub name_length: u16,
    /// The name, with zeros behind it.
    pub name: [u8; 128],
    /// [`AUTORESIZE`] and [`SKIP_CHECK`].
    pub flags: u8,
}

impl Record {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut f = Fields::new(Endian::Big, bytes);
        let (reserved, alignment, data_pad) = (f.u32()?, f.u32()?, f.u32()?);
        let (volume_type, updating, name_length) = (f.u8()?, f.u8()?, f.u16()?);
        let mut name = [0; 128];
        name.copy_from_slice(f.bytes(128)?);
        Some(Self {
            reserved,
            alignment,
            data_pad,
            volume_type,
            updating,
            name_length,
            name,
            flags: f.u8()?,
        })
    }

    /// As it stands on flash.
    #[must_use]
    pub fn bytes(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        bytes[..4].copy_from_slice(&self.reserved.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.alignment.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.data_pad.to_be_bytes());
        bytes[12] = self.volume_type;
        bytes[13] = self.updating;
        bytes[14..16].copy_from_slice(&self.name_length.to_be_bytes());
        bytes[16..FLAGS].copy_from_slice(&self.name);
        bytes[FLAGS] = self.flags;
        let sum = crc(&bytes[..RECORD_CRC]);
        bytes[RECORD_CRC..].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    /// The volume's name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        let length = usize::from(self.name_length);
        self.name.get(..length).unwrap_or(&self.name)
    }

    /// What the volume is for; `None` if that is not known.
    #[must_use]
    pub fn kind(&self) -> Option<VolumeType> {
        VolumeType::of(self.volume_type)
    }

    /// What the kernel (`vtbl_check`) finds wrong with a record of a volume.
    fn fault(&self, limits: &Limits) -> Option<&'static str> {
        const SIGN: u32 = 1 << 31;
        let misaligned = limits.min_io.is_some_and(|m| self.alignment & (m - 1) != 0);
        if (self.reserved | self.alignment | self.data_pad) & SIGN != 0 {
            Some("negative number")
        } else if self.alignment > limits.leb_size || self.alignment == 0 {
            Some("impossible alignment")
        } else if self.alignment != 1 && misaligned {
            Some("alignment is not a multiple of the minimum I/O unit")
        } else if self.data_pad != limits.leb_size % self.alignment {
            Some("data pad does not match the alignment")
        } else if self.kind().is_none() {
            Some("unknown volume type")
        } else if self.updating > 1 {
            Some("update marker is neither 0 nor 1")
        } else if limits.blocks.is_some_and(|b| u64::from(self.reserved) > b) {
            Some("more LEBs than the chip has")
        } else if self.name_length > LONGEST_NAME {
            Some("name too long")
        } else if self.name[0] == 0 {
            Some("no name")
        } else if self.name().contains(&0) || self.name.get(self.name().len()) != Some(&0) {
            Some("wrong name length")
        } else {
            None
        }
    }
}

/// What a table must fit.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of data in a logical block.
    pub leb_size: u32,
    /// The smallest write, a power of two, if it is known.
    pub min_io: Option<u32>,
    /// Good blocks of the chip, if that is known.
    pub blocks: Option<u64>,
}

/// How many records a table has in logical blocks of this size.
#[must_use]
pub fn slots(leb_size: u32) -> u32 {
    (leb_size / RECORD as u32).min(MOST_VOLUMES)
}

/// A copy of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Copy {
    /// There is none, or it could not be read.
    Missing,
    /// A record has a wrong checksum; the kernel takes the other copy.
    Broken {
        /// Which.
        record: u32,
    },
    /// A record is impossible; the kernel refuses the image.
    Impossible {
        /// Which.
        record: u32,
        /// Why.
        fault: &'static str,
    },
    /// Two volumes have one name; the kernel refuses the image.
    SameName {
        /// The one.
        volume: u32,
        /// The other.
        other: u32,
    },
    /// Good: the record of each volume that there is.
    Good(Vec<(u32, Record)>),
}

impl Copy {
    /// Reads and checks a copy.
    #[must_use]
    pub fn parse(bytes: &[u8], limits: &Limits) -> Self {
        let mut records: Vec<(u32, Record)> = Vec::new();
        let slots = slots(limits.leb_size);
        for (number, bytes) in (0..slots).zip(bytes.chunks(RECORD)) {
            let (Some(body), Some(stored)) = (bytes.get(..RECORD_CRC), bytes.get(RECORD_CRC..))
            else {
                return Self::Broken { record: number };
            };
            let record = Record::parse(bytes);
            let Some(record) = record.filter(|_| stored == crc(body).to_be_bytes()) else {
                return Self::Broken { record: number };
            };
            if record.reserved == 0 {
                if body.iter().all(|b| *b == 0) {
                    continue;
                }
                let fault = "no LEBs, but other fields";
                return Self::Impossible {
                    record: number,
                    fault,
                };
            }
            if let Some(fault) = record.fault(limits) {
                return Self::Impossible {
                    record: number,
                    fault,
                };
            }
            records.push((number, record));
        }
        if records.is_empty() && bytes.len() < RECORD {
            return Self::Missing;
        }
        for (i, (volume, record)) in records.iter().enumerate() {
            let mut later = records.iter().skip(i + 1);
            if let Some((other, _)) = later.find(|(_, r)| r.name() == record.name()) {
                return Self::SameName {
                    volume: *volume,
                    other: *other,
                };
            }
        }
        Self::Good(records)
    }

    /// A name for programs, which stays the same.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Broken { .. } => "broken",
            Self::Impossible { .. } | Self::SameName { .. } => "impossible",
            Self::Good(_) => "good",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(name: &[u8]) -> Record {
        let mut all = [0; 128];
        all[..name.len()].copy_from_slice(name);
        Record {
            reserved: 10,
            alignment: 1,
            data_pad: 0,
            volume_type: 1,
            updating: 0,
            name_length: name.len() as u16,
            name: all,
            flags: 0,
        }
    }

    const LIMITS: Limits = Limits {
        leb_size: 129_024,
        min_io: Some(2048),
        blocks: Some(100),
    };

    fn table(records: &[Record]) -> Vec<u8> {
        let empty = [0; RECORD_CRC];
        let mut bytes: Vec<u8> = records.iter().flat_map(Record::bytes).collect();
        while bytes.len() < RECORD * MOST_VOLUMES as usize {
            bytes.extend(empty);
            bytes.extend(0xf116_c36b_u32.to_be_bytes());
        }
        bytes
    }

    #[test]
    fn a_table_is_read_back() {
        let records = [record(b"rootfs"), record(b"data")];
        let Copy::Good(found) = Copy::parse(&table(&records), &LIMITS) else {
            unreachable!("the table is good");
        };
        assert_eq!(found[1], (1, records[1].clone()));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn each_rule_of_the_kernel_is_kept() {
        let change = |change: &dyn Fn(&mut Record)| {
            let mut bad = record(b"x");
            change(&mut bad);
            Copy::parse(&table(&[record(b"y"), bad]), &LIMITS)
        };
        type Change<'a> = &'a dyn Fn(&mut Record);
        let faults: [(Change, &str); 11] = [
            (&|r| r.reserved = 0, "no LEBs, but other fields"),
            (&|r| r.reserved = 1 << 31, "negative number"),
            (&|r| r.alignment = 0, "impossible alignment"),
            (
                &|r| r.alignment = 1000,
                "alignment is not a multiple of the minimum I/O unit",
            ),
            (&|r| r.data_pad = 8, "data pad does not match the alignment"),
            (&|r| r.volume_type = 3, "unknown volume type"),
            (&|r| r.updating = 2, "update marker is neither 0 nor 1"),
            (&|r| r.reserved = 101, "more LEBs than the chip has"),
            (&|r| r.name_length = 128, "name too long"),
            (&|r| r.name[0] = 0, "no name"),
            (&|r| r.name_length = 2, "wrong name length"),
        ];
        for (how, expected) in faults {
            let fault = expected;
            assert_eq!(change(how), Copy::Impossible { record: 1, fault });
        }
        let same = Copy::parse(&table(&[record(b"x"), record(b"x")]), &LIMITS);
        assert_eq!(
            same,
            Copy::SameName {
                volume: 0,
                other: 1
            }
        );
    }

    proptest! {
        #[test]
        fn a_flipped_bit_breaks_a_copy(bit in 0..RECORD * 8 * 128) {
            let mut bytes = table(&[record(b"rootfs")]);
            bytes[bit / 8] ^= 1 << (bit % 8);
            let broken = Copy::Broken { record: (bit / 8 / RECORD) as u32 };
            prop_assert_eq!(Copy::parse(&bytes, &LIMITS), broken);
        }
    }
}
