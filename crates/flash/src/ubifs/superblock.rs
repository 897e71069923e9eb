//! The superblock: one node at the front of logical block 0.

use super::node::{Fault, Header, kind};
use rawimage::endian::{Endian, Fields};

/// Length of the node, bytes.
pub const LENGTH: usize = 4096;

/// Flags of the superblock.
pub mod flag {
    /// The table of block properties is a large one.
    pub const BIG_LPT: u32 = 0x02;
    /// Free space is rewritten on the first mount.
    pub const SPACE_FIXUP: u32 = 0x04;
    /// Directory entries have a second hash.
    pub const DOUBLE_HASH: u32 = 0x08;
    /// Some files are encrypted.
    pub const ENCRYPTION: u32 = 0x10;
    /// The filesystem is signed.
    pub const AUTHENTICATION: u32 = 0x20;
    /// All that there are.
    pub const KNOWN: u32 = 0x3e;
}

/// The version of the format up to which Linux 6.1 mounts for writing.
pub const NEWEST: u32 = 5;

/// The superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// How names are hashed: 0 is `r5`.
    pub key_hash: u8,
    /// The format of keys; 0 is the only one.
    pub key_format: u8,
    /// See [`flag`].
    pub flags: u32,
    /// The smallest write, bytes.
    pub min_io: u32,
    /// Bytes in a logical block.
    pub leb_size: u32,
    /// Logical blocks of the filesystem.
    pub leb_count: u32,
    /// Logical blocks that it can grow to.
    pub most_lebs: u32,
    /// How large the journal may become, bytes.
    pub most_bud_bytes: u64,
    /// Blocks of the log.
    pub log_lebs: u32,
    /// Blocks of the table of block properties.
    pub lpt_lebs: u32,
    /// Blocks for inodes without a name.
    pub orphan_lebs: u32,
    /// Heads of the journal for data.
    pub journal_heads: u32,
    /// Branches of an index node.
    pub fanout: u32,
    /// Size of the table of blocks to save.
    pub saved: u32,
    /// Version of the format.
    pub version: u32,
    /// Compression of new files; see [`super::compression`].
    pub compression: u16,
    /// Bytes that are kept for one user.
    pub reserved: u64,
    /// Steps of time stamps, nanoseconds.
    pub time_step: u32,
    /// The filesystem's identifier.
    pub uuid: [u8; 16],
    /// Version of the format that is enough for reading.
    pub read_version: u32,
}

impl Superblock {
    /// The names of the flags that are set.
    #[must_use]
    pub fn flag_names(&self) -> Vec<&'static str> {
        let names = [
            (flag::BIG_LPT, "big_lpt"),
            (flag::SPACE_FIXUP, "space_fixup"),
            (flag::DOUBLE_HASH, "double_hash"),
            (flag::ENCRYPTION, "encryption"),
            (flag::AUTHENTICATION, "authentication"),
        ];
        let set = names.into_iter().filter(|(bit, _)| self.flags & bit != 0);
        set.map(|(_, name)| name).collect()
    }

    /// Reads the superblock at the front of `bytes`.
    ///
    /// # Errors
    /// What is wrong with the node. Its fields are not checked.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let header = Header::parse(bytes)?;
        if header.kind != kind::SUPERBLOCK {
            return Err(Fault::Kind { found: header.kind });
        }
        Self::fields(bytes).ok_or(Fault::Length)
    }

    fn fields(bytes: &[u8]) -> Option<Self> {
        let mut f = Fields::new(Endian::Little, bytes);
        f.bytes(26)?;
        let (key_hash, key_format, flags) = (f.u8()?, f.u8()?, f.u32()?);
        let (min_io, leb_size, leb_count, most_lebs) = (f.u32()?, f.u32()?, f.u32()?, f.u32()?);
        let most_bud_bytes = f.u64()?;
        let (log_lebs, lpt_lebs, orphan_lebs) = (f.u32()?, f.u32()?, f.u32()?);
        let (journal_heads, fanout, saved, version) = (f.u32()?, f.u32()?, f.u32()?, f.u32()?);
        let compression = f.u16()?;
        f.bytes(2 + 4 + 4)?;
        let (reserved, time_step) = (f.u64()?, f.u32()?);
        let mut uuid = [0; 16];
        uuid.copy_from_slice(f.bytes(16)?);
        Some(Self {
            key_hash,
            key_format,
            flags,
            min_io,
            leb_size,
            leb_count,
            most_lebs,
            most_bud_bytes,
            log_lebs,
            lpt_lebs,
            orphan_lebs,
            journal_heads,
            fanout,
            saved,
            version,
            compression,
            reserved,
            time_step,
            uuid,
            read_version: f.u32()?,
        })
    }

    /// The first block of the main area: what lies before it is superblock,
    /// master nodes, log, block properties and orphans.
    #[must_use]
    pub fn main_first(&self) -> u32 {
        [self.log_lebs, self.lpt_lebs, self.orphan_lebs]
            .into_iter()
            .fold(3, u32::saturating_add)
    }

    /// Why the filesystem cannot even be looked at.
    pub(super) fn unreadable(&self) -> Option<&'static str> {
        if !self.min_io.is_power_of_two() || self.min_io < 8 {
            Some("impossible minimum I/O unit")
        } else if self.leb_size < 15 * 1024 || self.leb_size > 16 << 20 {
            // `UBIFS_MIN_LEB_SZ`, and more than any chip has.
            Some("impossible LEB size")
        } else if self.key_format != 0 {
            Some("unknown key format")
        } else {
            None
        }
    }

    /// What the kernel (`ubifs_read_superblock`, `validate_sb`) finds wrong with
    /// the fields. A filesystem grows when it is mounted: `lebs` is how many
    /// logical blocks the volume has, if that is known.
    #[must_use]
    pub fn fault(&self, lebs: Option<u32>) -> Option<&'static str> {
        // Those of the garbage collector and of metadata are not counted.
        let heads = self.journal_heads.saturating_add(2);
        let room = self.most_lebs.min(lebs.unwrap_or(u32::MAX));
        let count = self.leb_count.max(room);
        let main = count.saturating_sub(self.main_first());
        let leb_size = u64::from(self.leb_size);
        let index_node = 28 + u64::from(self.fanout) * 20;
        if self.version < 3 {
            Some("format versions before 3 are not supported")
        } else if self.version > NEWEST && self.read_version > 0 {
            Some("the format version is too new")
        } else if self.key_hash > 1 {
            Some("unknown name hash")
        } else if self.flags & !flag::KNOWN != 0 {
            Some("unknown flags")
        } else if self.log_lebs < 2 || self.lpt_lebs < 2 || self.orphan_lebs < 1 || main < 9 {
            Some("too few LEBs in one of its areas")
        } else if count < self.main_first().saturating_add(heads.saturating_add(6)) {
            Some("too few LEBs")
        } else if self.most_lebs < self.leb_count {
            Some("more LEBs than its maximum")
        } else if self.most_bud_bytes < leb_size * 3 {
            Some("the journal is too small")
        } else if self.most_bud_bytes > leb_size * u64::from(main) {
            Some("the journal is too large for the volume")
        } else if heads != 3 {
            Some("impossible number of journal heads")
        } else if self.fanout < 3 || index_node > leb_size {
            Some("impossible fanout")
        } else if self.compression > 3 {
            Some("unknown compression")
        } else if !(1..=1_000_000_000).contains(&self.time_step) {
            Some("impossible timestamp granularity")
        } else if self.version >= 5 && self.flags & flag::DOUBLE_HASH == 0 {
            Some("version 5 without the double-hash flag")
        } else if self.version < 5 && self.flags & flag::ENCRYPTION != 0 {
            Some("encryption before version 5")
        } else {
            None
        }
    }
}
