//! `firstlight.image.statistics/1`.

use serde::Serialize;

/// The time of a check on a storage profile.
#[derive(Clone, Debug, PartialEq, Eq, schemars::JsonSchema, Serialize)]
pub struct CheckCost {
    /// Name of the storage profile.
    #[schemars(length(min = 1))]
    pub profile: String,
    /// Modeled time of the reads.
    pub ns: u64,
}

/// Sizes of directories and files in the file systems of an image. Sizes are in bytes.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Statistics<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as crate::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: &'a str,
    /// File systems, by place.
    filesystems: Vec<FilesystemStatistics>,
}

impl crate::json::Document for Statistics<'_> {
    const SCHEMA: &'static str = "firstlight.image.statistics/1";
    const TITLE: &'static str = "Output of `firstlight image statistics --json`";
}

/// Sizes in a file system.
#[derive(schemars::JsonSchema, Serialize)]
struct FilesystemStatistics {
    /// Byte offset in the image.
    offset: u64,
    /// Name of the file system.
    filesystem: &'static str,
    /// Size of a block.
    block_size: u32,
    /// Size of an inode; null if unknown.
    inode_size: Option<u64>,
    /// Directories by size.
    directories: Vec<SizeClass>,
    /// Files by size.
    files: Vec<SizeClass>,
    /// Largest file that fits beside its inode with `inline_data`; null if none does.
    inline_limit: Option<u64>,
    /// Files that would fit there and have a block of their own now.
    inline_files: u64,
    /// Bytes that a full check reads; null if unknown.
    check_bytes: Option<u64>,
    /// Number of reads of a full check; null if unknown.
    check_reads: Option<usize>,
    /// Modeled time of these reads.
    check_costs: Vec<CheckCost>,
}

/// How many have at most a size.
#[derive(schemars::JsonSchema, Serialize)]
struct SizeClass {
    /// Largest size; null for all that is larger.
    at_most: Option<u64>,
    /// Number.
    count: u64,
    /// Sum of their sizes.
    bytes: u64,
}

impl<'a> Statistics<'a> {
    /// The document of the file systems of `image`: offset, figures, costs of a check.
    #[must_use]
    pub fn of(image: &'a str, all: &[(u64, ::disk::Statistics, Vec<CheckCost>)]) -> Self {
        let class = |c: &::disk::SizeClass| SizeClass {
            at_most: c.at_most,
            count: c.count,
            bytes: c.bytes,
        };
        let filesystems = all.iter().map(|(offset, s, costs)| FilesystemStatistics {
            offset: *offset,
            filesystem: s.filesystem,
            block_size: s.block_size,
            inode_size: s.inode_size,
            directories: s.directories.iter().map(class).collect(),
            files: s.files.iter().map(class).collect(),
            inline_limit: s.inline_limit,
            inline_files: s.inline_files,
            check_bytes: s.check.as_ref().map(|c| c.bytes),
            check_reads: s.check.as_ref().map(|c| c.reads.len()),
            check_costs: costs.clone(),
        });
        Self {
            schema: <Statistics<'_> as crate::json::Document>::SCHEMA,
            image,
            filesystems: filesystems.collect(),
        }
    }
}
