//! Why an image cannot be laid out.

use crate::Error;
use std::io;

/// Why an image cannot be laid out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArrangeError {
    /// It cannot be read, or is no ext2, ext3 or ext4.
    #[error(transparent)]
    Image(#[from] Error),
    /// Its journal has to be replayed first.
    #[error(
        "the filesystem was not cleanly unmounted ({state}), so data in its journal would be \
         lost; run `e2fsck -p` on the image first"
    )]
    NotClean {
        /// How it was left.
        state: &'static str,
    },
    /// A feature that is not known here.
    #[error(
        "rearranging ext4 with the feature `{feature}` is not supported; create the filesystem \
         without it"
    )]
    Feature {
        /// Its name.
        feature: &'static str,
    },
    /// It has no extents.
    #[error("the filesystem is not ext4: it has no extents")]
    NoExtents,
    /// Its inodes have no room for content.
    #[error(
        "the inodes have 128 bytes and no room for content; create the filesystem anew with `-I 256`"
    )]
    SmallInodes,
    /// The image ends too early.
    #[error("the image ends within group {group}; it is truncated or damaged, so copy it again")]
    Cut {
        /// The group.
        group: u64,
    },
    /// A block is used and counts as free.
    #[error(
        "block {block} is in use, but the bitmap of group {group} marks it as free; run `e2fsck \
         -f` on the image first"
    )]
    Bitmap {
        /// The group.
        group: u64,
        /// The block.
        block: u64,
    },
    /// The superblock contradicts itself.
    #[error(
        "the superblock states {inodes} inodes, but {groups} groups have {each} each; run `e2fsck \
         -f` on the image first"
    )]
    Inodes {
        /// How many the superblock names.
        inodes: u32,
        /// How many groups there are.
        groups: u64,
        /// Inodes of a group.
        each: u32,
    },
    /// An inode is used and counts as free.
    #[error(
        "inode {inode} is in use, but the bitmap of its group marks it as free; run `e2fsck -f` \
         on the image first"
    )]
    InodeBitmap {
        /// Its number.
        inode: u32,
    },
    /// An inode, or what says where its content lies, is not as its sum says.
    #[error("inode {inode} is damaged; run `e2fsck -f` on the image first")]
    Inode {
        /// Its number.
        inode: u32,
    },
    /// A block of a directory cannot be read, or is not as its sum says.
    #[error("the directory of inode {inode} is damaged; run `e2fsck -f` on the image first")]
    Directory {
        /// Its number.
        inode: u32,
    },
    /// There is not enough free space.
    #[error(
        "the files to move need {blocks} free blocks, which the filesystem does not have; enlarge \
         it with `resize2fs`"
    )]
    Full {
        /// How many.
        blocks: u64,
    },
}

impl From<io::Error> for ArrangeError {
    fn from(error: io::Error) -> Self {
        Self::Image(Error::Read(error))
    }
}
