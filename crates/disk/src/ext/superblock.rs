//! The superblock of ext2, ext3 and ext4: 1024 bytes at byte 1024.
//!
//! Fields and values: the kernel's `fs/ext4/ext4.h` and its
//! `Documentation/filesystems/ext4/super.rst`.

use crate::Error;
use crate::facts::{Facts, State, uuid};
use rawimage::Part;
use rawimage::bytes::{le16, le32, le64, text};

/// Where the superblock begins, bytes from the start of the filesystem.
pub const AT: u64 = 1024;
const MAGIC: u16 = 0xef53;

/// Bits of `s_feature_compat`.
pub mod compat {
    /// There is a journal.
    pub const HAS_JOURNAL: u32 = 0x4;
    /// Files have extended attributes.
    pub const EXT_ATTR: u32 = 0x8;
    /// Only the groups that the superblock names hold copies.
    pub const SPARSE_SUPER2: u32 = 0x200;
}

/// Bits of `s_feature_incompat`.
pub mod incompat {
    /// The journal has to be replayed.
    pub const RECOVER: u32 = 0x4;
    /// It is a journal of another filesystem.
    pub const JOURNAL_DEV: u32 = 0x8;
    /// Descriptors lie in the groups that they describe.
    pub const META_BG: u32 = 0x10;
    /// Content is mapped by extents.
    pub const EXTENTS: u32 = 0x40;
    /// Block numbers have 64 bits.
    pub const BITS_64: u32 = 0x80;
    /// A block keeps it from being mounted twice.
    pub const MMP: u32 = 0x100;
    /// Content may lie in inodes.
    pub const INLINE_DATA: u32 = 0x8000;
    /// All that can be read here; what is not is compression (0x1).
    pub const KNOWN: u32 = 0x3f7de;
}

/// Bits of `s_feature_ro_compat`.
pub mod ro_compat {
    /// Not every group has a copy of the superblock.
    pub const SPARSE_SUPER: u32 = 0x1;
    /// Descriptors have checksums, and say what is not initialised.
    pub const GDT_CSUM: u32 = 0x10;
    /// All metadata has checksums.
    pub const METADATA_CSUM: u32 = 0x400;
    /// Blocks of equal content belong to several files.
    pub const SHARED_BLOCKS: u32 = 0x4000;
}

/// Names of the bits, as `dumpe2fs` prints them.
const FEATURES: [(usize, u32, &str); 46] = [
    (0, 0x1, "dir_prealloc"),
    (0, 0x2, "imagic_inodes"),
    (0, 0x4, "has_journal"),
    (0, 0x8, "ext_attr"),
    (0, 0x10, "resize_inode"),
    (0, 0x20, "dir_index"),
    (0, 0x200, "sparse_super2"),
    (0, 0x400, "fast_commit"),
    (0, 0x800, "stable_inodes"),
    (0, 0x1000, "orphan_file"),
    (1, 0x1, "compression"),
    (1, 0x2, "filetype"),
    (1, 0x4, "needs_recovery"),
    (1, 0x8, "journal_dev"),
    (1, 0x10, "meta_bg"),
    (1, 0x40, "extent"),
    (1, 0x80, "64bit"),
    (1, 0x100, "mmp"),
    (1, 0x200, "flex_bg"),
    (1, 0x400, "ea_inode"),
    (1, 0x1000, "dirdata"),
    (1, 0x2000, "metadata_csum_seed"),
    (1, 0x4000, "large_dir"),
    (1, 0x8000, "inline_data"),
    (1, 0x1_0000, "encrypt"),
    (1, 0x2_0000, "casefold"),
    (2, 0x1, "sparse_super"),
    (2, 0x2, "large_file"),
    (2, 0x4, "btree_dir"),
    (2, 0x8, "huge_file"),
    (2, 0x10, "uninit_bg"),
    (2, 0x20, "dir_nlink"),
    (2, 0x40, "extra_isize"),
    (2, 0x80, "has_snapshot"),
    (2, 0x100, "quota"),
    (2, 0x200, "bigalloc"),
    (2, 0x400, "metadata_csum"),
    (2, 0x800, "replica"),
    (2, 0x1000, "read-only"),
    (2, 0x2000, "project"),
    (2, 0x4000, "shared_blocks"),
    (2, 0x8000, "verity"),
    (2, 0x1_0000, "orphan_present"),
    (0, 0x40, "lazy_bg"),
    (0, 0x80, "exclude_inode"),
    (0, 0x100, "exclude_bitmap"),
];

/// What is needed of the superblock.
#[derive(Clone, Debug)]
pub struct Superblock {
    /// Bytes of a block.
    pub block_size: u32,
    /// How many blocks.
    pub blocks: u64,
    /// How many inodes.
    pub inodes: u32,
    /// The first block of the first group: 1 where blocks have 1 KiB.
    pub first_data_block: u32,
    /// Blocks of a group; the last one may have less.
    pub blocks_per_group: u32,
    /// Inodes of a group.
    pub inodes_per_group: u32,
    /// The first inode that the filesystem does not keep for itself.
    pub first_inode: u32,
    /// Bytes of an inode.
    pub inode_size: u16,
    /// Bytes of a group's descriptor.
    pub descriptor_size: u16,
    /// Features in three words: compatible, incompatible, compatible read-only.
    pub features: [u32; 3],
    /// Blocks behind the descriptors, kept for more of them.
    pub reserved_descriptors: u16,
    /// With `meta_bg`: the first meta group whose descriptors lie in it.
    pub first_meta_bg: u32,
    /// With `sparse_super2`: the groups with copies.
    pub backup_groups: [u32; 2],
    /// The journal's inode, or 0.
    pub journal: u32,
    /// Inodes of quotas, each or 0.
    pub quotas: [u32; 3],
    /// The inode of the orphan file, or 0.
    pub orphan_file: u32,
    /// The first of the inodes that were deleted while open, or 0.
    pub last_orphan: u32,
    /// The block that keeps it from being mounted twice, or 0.
    pub mmp: u64,
    /// What is said of it.
    pub facts: Facts,
}

impl Superblock {
    /// Reads it.
    ///
    /// # Errors
    /// There is none, it contradicts itself, or uses what cannot be read.
    pub fn read(volume: &Part<'_>) -> Result<Self, Error> {
        let bytes = volume.read(AT, 1024)?;
        if bytes.len() < 1024 || le16(&bytes, 0x38) != Some(MAGIC) {
            return Err(Error::corrupt(
                AT + 0x38,
                "expected the magic number 0xef53",
            ));
        }
        let n16 = |at| le16(&bytes, at).unwrap_or(0);
        let n32 = |at| le32(&bytes, at).unwrap_or(0);
        let slice = |at: usize, len: usize| bytes.get(at..at + len).unwrap_or_default();
        let dynamic = n32(0x4c) >= 1;
        let features = match dynamic {
            true => [n32(0x5c), n32(0x60), n32(0x64)],
            false => [0; 3],
        };
        let wide = features[1] & incompat::BITS_64 != 0;
        let high = |at| if wide { u64::from(n32(at)) << 32 } else { 0 };
        check_features(&features)?;
        let log = n32(0x18);
        if log > 6 {
            return Err(Error::corrupt(
                AT + 0x18,
                format!("expected a block size exponent of at most 6, found {log}"),
            ));
        }
        let block_size = 1024 << log;
        let blocks = u64::from(n32(0x4)) | high(0x150);
        let state = state(&features, n16(0x3a));
        let label = text(slice(0x78, 16));
        let mount_time = u64::from(n32(0x2c));
        let facts = Facts {
            filesystem: generation(&features),
            bytes: blocks.saturating_mul(u64::from(block_size)),
            block_size,
            blocks,
            free_blocks: Some(u64::from(n32(0xc)) | high(0x158)),
            inodes: u64::from(n32(0)),
            free_inodes: Some(u64::from(n32(0x10))),
            label,
            uuid: uuid(slice(0x68, 16)),
            features: names(&features),
            compression: None,
            state,
            made: u64::from(n32(0x108)),
            mounted: (mount_time != 0).then_some(mount_time),
            written: Some(u64::from(n32(0x30))).filter(|t| *t != 0),
            mounts: Some(u32::from(n16(0x34))),
            mounted_on: text(slice(0x88, 64)),
            // `s_kbytes_written`, which ext4 alone counts.
            lifetime_written: (u64::from(n32(0x178)) | u64::from(n32(0x17c)) << 32)
                .checked_mul(1_024)
                .filter(|bytes| *bytes > 0),
        };
        let found = Self {
            block_size,
            blocks,
            inodes: n32(0),
            first_data_block: n32(0x14),
            blocks_per_group: n32(0x20),
            inodes_per_group: n32(0x28),
            first_inode: if dynamic { n32(0x54).max(11) } else { 11 },
            inode_size: if dynamic { n16(0x58) } else { 128 },
            descriptor_size: if wide { n16(0xfe).max(64) } else { 32 },
            features,
            reserved_descriptors: n16(0xce),
            first_meta_bg: n32(0x104),
            backup_groups: [n32(0x24c), n32(0x250)],
            journal: if features[0] & compat::HAS_JOURNAL != 0 {
                n32(0xe0)
            } else {
                0
            },
            quotas: [n32(0x240), n32(0x244), n32(0x26c)],
            orphan_file: n32(0x280),
            last_orphan: n32(0xe8),
            mmp: if features[1] & incompat::MMP != 0 {
                le64(&bytes, 0x168).unwrap_or(0)
            } else {
                0
            },
            facts,
        };
        found.check(volume)?;
        Ok(found)
    }

    fn check(&self, volume: &Part<'_>) -> Result<(), Error> {
        let size = u64::from(self.block_size);
        let inode_size = u32::from(self.inode_size);
        if inode_size < 128 || inode_size > self.block_size || !inode_size.is_power_of_two() {
            return Err(Error::corrupt(
                AT + 0x58,
                format!("expected an inode size, found {inode_size}"),
            ));
        }
        let most = u64::from(self.block_size) * 8;
        if self.blocks_per_group == 0 || u64::from(self.blocks_per_group) > most * 64 {
            return Err(Error::corrupt(
                AT + 0x20,
                format!(
                    "expected the number of blocks per group, found {}",
                    self.blocks_per_group
                ),
            ));
        }
        if self.inodes_per_group == 0 || u64::from(self.inodes_per_group) > most {
            return Err(Error::corrupt(
                AT + 0x28,
                format!(
                    "expected 1 to {most} inodes per group, found {}",
                    self.inodes_per_group
                ),
            ));
        }
        let descriptor = u32::from(self.descriptor_size);
        if !descriptor.is_power_of_two() || descriptor > self.block_size {
            return Err(Error::corrupt(
                AT + 0xfe,
                format!("expected a descriptor size, found {descriptor}"),
            ));
        }
        if u64::from(self.first_data_block) >= self.blocks {
            return Err(Error::corrupt(
                AT + 0x4,
                format!("expected a number of blocks, found {}", self.blocks),
            ));
        }
        // Groups that are not there cannot be read; so much of the first has to
        // be there that their descriptors are.
        let table = self.groups().saturating_mul(u64::from(descriptor));
        if table > volume.len() {
            return Err(Error::corrupt(
                AT + 0x4,
                format!(
                    "expected {} blocks of {size} bytes, but the image has {} bytes",
                    self.blocks,
                    volume.len()
                ),
            ));
        }
        Ok(())
    }

    /// How many groups.
    #[must_use]
    pub fn groups(&self) -> u64 {
        let blocks = self.blocks.saturating_sub(u64::from(self.first_data_block));
        blocks.div_ceil(u64::from(self.blocks_per_group.max(1)))
    }

    /// The first block of a group.
    #[must_use]
    pub fn first_block(&self, group: u64) -> u64 {
        let first = group.saturating_mul(u64::from(self.blocks_per_group));
        first.saturating_add(u64::from(self.first_data_block))
    }

    /// Whether a group begins with a copy of the superblock
    /// (`ext4_bg_has_super`).
    #[must_use]
    pub fn has_copy(&self, group: u64) -> bool {
        if group == 0 {
            return true;
        }
        if self.features[0] & compat::SPARSE_SUPER2 != 0 {
            return self.backup_groups.iter().any(|g| u64::from(*g) == group);
        }
        if group == 1 || self.features[2] & ro_compat::SPARSE_SUPER == 0 {
            return true;
        }
        let is_power = |base: u64| {
            let mut power = base;
            while power < group {
                power = power.saturating_mul(base);
            }
            power == group
        };
        group % 2 == 1 && [3, 5, 7].into_iter().any(is_power)
    }

    /// Whether a feature is used.
    #[must_use]
    pub fn has(&self, word: usize, bit: u32) -> bool {
        self.features.get(word).is_some_and(|f| f & bit != 0)
    }
}

fn check_features(features: &[u32; 3]) -> Result<(), Error> {
    if features[1] & incompat::JOURNAL_DEV != 0 {
        return Err(Error::NotYet {
            what: "an external journal of ext4, which holds no files,".to_owned(),
        });
    }
    let unknown = features[1] & !incompat::KNOWN;
    if unknown != 0 {
        let named = names(&[0, unknown, 0]);
        let what = match named.as_slice() {
            [] => format!("ext4 with the incompatible features {unknown:#x}"),
            named => format!("ext4 with {}", named.join(", ")),
        };
        return Err(Error::NotYet { what });
    }
    Ok(())
}

fn names(features: &[u32; 3]) -> Vec<String> {
    let used = FEATURES
        .iter()
        .filter(|(word, bit, _)| features.get(*word).is_some_and(|f| f & bit != 0));
    used.map(|(_, _, name)| (*name).to_owned()).collect()
}

/// Which of the three it is, as `blkid` decides: by what their drivers can.
fn generation(features: &[u32; 3]) -> &'static str {
    // What the drivers of ext3 and ext2 know (`EXT3_FEATURE_*_SUPP`).
    let old = features[1] & !0x16 == 0 && features[2] & !0x7 == 0;
    match (old, features[0] & compat::HAS_JOURNAL != 0) {
        (false, _) => "ext4",
        (true, true) => "ext3",
        (true, false) => "ext2",
    }
}

fn state(features: &[u32; 3], state: u16) -> State {
    if state & 2 != 0 {
        State::Errors
    } else if features[1] & incompat::RECOVER != 0 {
        State::NeedsRecovery
    } else if state & 1 == 0 {
        State::NotClean
    } else {
        State::Clean
    }
}
