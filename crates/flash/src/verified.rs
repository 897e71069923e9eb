//! Every file and every checksum of an image, whatever its filesystem.

use crate::files::Findings;
use crate::jffs2::{self, Compressed, Endian, Lost};
use crate::ubifs;

/// What reading all of an image found.
#[derive(Clone, Debug)]
pub struct Verified {
    /// `jffs2` or `ubifs`.
    pub filesystem: &'static str,
    /// The byte order.
    pub endian: Endian,
    /// Size of an erase block, or of a logical block, bytes.
    pub erase_size: u32,
    /// Inodes.
    pub inodes: u64,
    /// Names in directories.
    pub names: u64,
    /// Bytes of files that were read.
    pub bytes: u64,
    /// Nodes of data by compression; none in UBIFS.
    pub compressed: Vec<Compressed>,
    /// What the kernel would not use; none in UBIFS.
    pub lost: Vec<Lost>,
    /// Where the first node of an unknown type is, and its type.
    pub unknown_node: Option<(u64, u16)>,
    /// Parts of an index that cannot be read: logical block, and place in it.
    pub damage: Vec<(u32, u32)>,
    /// What is wrong with files.
    pub findings: Findings,
}

impl Verified {
    /// Obsolete nodes, and bytes between nodes, are no damage.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.findings.list.is_empty()
            && self.damage.is_empty()
            && !self.lost.iter().any(Lost::is_damage)
    }

    /// Reads all of a JFFS2 image.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn jffs2(filesystem: &jffs2::Filesystem) -> Result<Self, jffs2::Error> {
        let done = jffs2::verify(filesystem)?;
        Ok(Self {
            filesystem: "jffs2",
            endian: filesystem.endian(),
            erase_size: filesystem.erase_size(),
            inodes: done.inodes,
            names: done.names,
            bytes: done.bytes,
            compressed: done.compressed,
            lost: filesystem.lost().to_vec(),
            unknown_node: filesystem.unknown_node(),
            damage: Vec::new(),
            findings: done.findings,
        })
    }

    /// Reads all of a UBIFS image.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn ubifs(filesystem: &ubifs::Filesystem) -> Result<Self, ubifs::Error> {
        let done = ubifs::verify(filesystem)?;
        let damage = filesystem.damage().iter();
        Ok(Self {
            filesystem: "ubifs",
            endian: Endian::Little,
            erase_size: filesystem.superblock().leb_size,
            inodes: filesystem.inodes().count() as u64,
            names: done.names,
            bytes: done.bytes,
            compressed: Vec::new(),
            lost: Vec::new(),
            unknown_node: None,
            damage: damage.map(|d| (d.leb, d.offset)).collect(),
            findings: done.findings,
        })
    }
}
