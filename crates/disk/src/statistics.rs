//! What a filesystem holds, in figures that decide how it is best made: sizes of directories
//! and files, and what a check of it has to read.

use crate::ext::ROOT;
use crate::map::{Kind, Map};

/// How many directories or files have at most so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeClass {
    /// The largest size in this class; `None`: all that is larger.
    pub at_most: Option<u64>,
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What a full check reads (e2fsck).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Each read: where, and how many bytes, in order.
    pub reads: Vec<(u64, u64)>,
    /// The bytes of all.
    pub bytes: u64,
    /// Whether unused inodes are skipped, so that the bytes of inode tables are estimated from
    /// the inodes in use.
    pub skips_unused: bool,
}

/// Figures of a filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Which: `ext4`.
    pub filesystem: &'static str,
    /// The size of a block, in bytes.
    pub block_size: u32,
    /// The size of an inode, in bytes; `None` where that is not known.
    pub inode_size: Option<u64>,
    /// Directories by their size: one block, two, up to four, up to sixteen, larger.
    pub directories: Vec<SizeClass>,
    /// Files by their size: empty, up to what fits beside an inode, one block, up to 16, larger.
    pub files: Vec<SizeClass>,
    /// The largest file that fits beside its inode (`inline_data`), in bytes; `None` where
    /// nothing does.
    pub inline_limit: Option<u64>,
    /// How many files would fit there that have a block of their own now.
    pub inline_files: u64,
    /// What a check reads; `None` for filesystems without one that is known here.
    pub check: Option<Check>,
}

/// An inode without its extension, and that extension (`i_extra_isize` of Linux since 2.6.23):
/// what is left of it holds attributes.
const INODE_BYTES: u64 = 128 + 32;

/// What `inline_data` has in an inode besides: the 60 bytes of block numbers hold content, and
/// an attribute of its own takes a header and an entry (`fs/ext4/inline.c`).
const BLOCK_NUMBERS: u64 = 60;
const ATTRIBUTE: u64 = 4 + 16 + 4 + 4;

/// The inodes of ext below this one are the filesystem's own, but for the root's
/// (`EXT4_GOOD_OLD_FIRST_INO`).
const FIRST_OF_A_USER: u32 = 11;

/// The kernel reads ahead so much of a device that is read from start to end.
const READ_AHEAD: u64 = 128 << 10;

/// The figures of a mapped filesystem.
#[must_use]
pub fn statistics(map: &Map) -> Statistics {
    let facts = &map.facts;
    let block = u64::from(facts.block_size).max(1);
    let is_ext = facts.filesystem.starts_with("ext");
    let tables = map.extents().filter(|e| e.kind == Kind::InodeTable);
    let table_bytes = tables.fold(0_u64, |sum, e| sum.saturating_add(e.len));
    let inode_size = table_bytes
        .checked_div(facts.inodes)
        .filter(|size| is_ext && *size >= 128);
    let inline_limit = inode_size
        .and_then(|size| size.checked_sub(INODE_BYTES + ATTRIBUTE))
        .map(|rest| rest + BLOCK_NUMBERS);
    let of_kind = |kind: Kind, limits: &[u64]| {
        let mut classes: Vec<SizeClass> = limits
            .iter()
            .map(|limit| Some(*limit))
            .chain([None])
            .map(|at_most| SizeClass {
                at_most,
                count: 0,
                bytes: 0,
            })
            .collect();
        let is_own = |number| is_ext && number < FIRST_OF_A_USER && number != ROOT;
        let inodes = map.inodes().iter();
        for inode in inodes.filter(|i| i.kind == kind && !is_own(i.number)) {
            let fits = |c: &&mut SizeClass| c.at_most.is_none_or(|most| inode.size <= most);
            if let Some(class) = classes.iter_mut().find(fits) {
                class.count += 1;
                class.bytes = class.bytes.saturating_add(inode.size);
            }
        }
        classes
    };
    let mut of_files = vec![0];
    of_files.extend(inline_limit);
    of_files.extend([block, 16 * block]);
    let files = of_kind(Kind::File, &of_files);
    let has_inline = facts.features.iter().any(|f| f == "inline_data");
    let inline_files = files
        .iter()
        .find(|c| inline_limit.is_some() && c.at_most == inline_limit)
        .map_or(0, |c| if has_inline { 0 } else { c.count });
    Statistics {
        filesystem: facts.filesystem,
        block_size: facts.block_size,
        inode_size,
        directories: of_kind(Kind::Directory, &[block, 2 * block, 4 * block, 16 * block]),
        files,
        inline_limit,
        inline_files,
        check: is_ext.then(|| check(map, inode_size.unwrap_or(0))),
    }
}

/// What e2fsck reads: inodes, then directories, then bitmaps; descriptors and what maps files
/// as it comes to them. Content of files is not read.
fn check(map: &Map, inode_size: u64) -> Check {
    let facts = &map.facts;
    let skips = |f: &String| matches!(f.as_str(), "uninit_bg" | "gdt_csum" | "metadata_csum");
    let skips_unused = facts.features.iter().any(skips);
    let used = facts.inodes.saturating_sub(facts.free_inodes.unwrap_or(0));
    let mut tables_left = match skips_unused {
        true => used.saturating_mul(inode_size),
        false => u64::MAX,
    };
    let mut reads = Vec::new();
    let passes: [&[Kind]; 3] = [
        &[
            Kind::Superblock,
            Kind::GroupDescriptors,
            Kind::InodeTable,
            Kind::ExtentTree,
            Kind::IndirectBlock,
            Kind::Xattr,
        ],
        &[Kind::Directory],
        &[Kind::Bitmap],
    ];
    for kinds in passes {
        for extent in map.extents().filter(|e| kinds.contains(&e.kind)) {
            let mut len = extent.len;
            if extent.kind == Kind::InodeTable {
                len = len.min(tables_left);
                tables_left = tables_left.saturating_sub(len);
            }
            let mut at = extent.start;
            while len > 0 {
                let piece = len.min(READ_AHEAD);
                reads.push((at, piece));
                at = at.saturating_add(piece);
                len -= piece;
            }
        }
    }
    let bytes = reads.iter().fold(0_u64, |sum, r| sum.saturating_add(r.1));
    Check {
        reads,
        bytes,
        skips_unused,
    }
}

#[cfg(test)]
mod tests {
    use super::statistics;
    use crate::disk::Disk;
    use crate::facts::State;
    use rawimage::Part;

    #[test]
    fn a_small_filesystem_is_counted_whole() {
        let bytes: &[u8] = include_bytes!("../../../corpus/disk/small.ext4");
        let disk = Disk::open(&Part::whole(&bytes).unwrap(), None).unwrap();
        let (_, map) = disk.maps().next().unwrap();
        assert_eq!(map.facts.state, State::Clean);
        let found = statistics(map);
        assert_eq!((found.filesystem, found.block_size), ("ext4", 1_024));
        assert_eq!(found.inode_size, Some(256));
        // 256 - 160 of an inode, less the attribute's own, and the room of block numbers.
        assert_eq!(found.inline_limit, Some(128));
        let count = |classes: &[super::SizeClass]| classes.iter().map(|c| c.count).sum::<u64>();
        // As `find` counts them in the mounted image.
        assert_eq!((count(&found.files), count(&found.directories)), (5, 3));
        let check = found.check.unwrap();
        assert!(check.skips_unused);
        assert_eq!(check.bytes, check.reads.iter().map(|r| r.1).sum::<u64>());
        // All of its inodes are in six blocks; content is not read.
        assert!(check.bytes < bytes.len() as u64 / 2, "{}", check.bytes);
    }
}
