//! What mounting a filesystem costs, from a look at its image.
//!
//! [`look`] reads the few structures that the kernel reads first, and makes the
//! list of what a mount asks of a block device and of the processor: a [`Plan`].
//! A plan is timed on a [`Device`], which says when a request is done.
//!
//! The order of reads is that of Linux 6.1 with an empty cache, and of a mount
//! that is read-only, as the kernel mounts a root. What the processor does is
//! counted in instructions, as measured in the exact lab; see [`Processor`].

mod btrfs;
mod ext;
mod f2fs;
mod journal;
mod plain;
mod plan;
mod squashfs;
mod xfs;
mod xfs_log;

pub use crate::Error;
pub use plan::{Access, Cost, Device, LAB, Plan, Processor, Step};
pub use rawimage::MountState as State;

use rawimage::{Foreign, Part, ReadAt};

/// By how much the time of a mount may be wrong, percent: no less than what the
/// checks in the exact lab showed, on images that no figure was fitted to. `None`
/// where nothing was checked. See `experiments/mount-cost/RESULTS.md`.
#[must_use]
pub fn error_percent(filesystem: &str) -> Option<u32> {
    match filesystem {
        "ext4" | "squashfs" | "erofs" | "romfs" | "cramfs" => Some(15),
        "ext2" | "ext3" => Some(20),
        "xfs" | "f2fs" | "btrfs" => Some(30),
        _ => None,
    }
}

/// What mounting the filesystem that `volume` begins with costs; `None` if it is
/// none that a block device would hold.
///
/// # Errors
/// The filesystem is damaged where the kernel looks first, or uses what cannot be
/// read; and whatever reading says.
pub fn look(volume: &Part<'_>) -> Result<Option<Plan>, Error> {
    // The superblock of btrfs lies at 64 KiB.
    let head = volume.read(0, 68 << 10)?;
    match Foreign::recognise(&head) {
        Foreign::Ext => ext::look(volume).map(Some),
        Foreign::Squashfs => squashfs::look(volume).map(Some),
        Foreign::Erofs => plain::erofs(volume).map(Some),
        Foreign::Cramfs => plain::cramfs(volume).map(Some),
        Foreign::Romfs => plain::romfs(volume).map(Some),
        Foreign::Xfs => xfs::look(volume).map(Some),
        Foreign::Btrfs => btrfs::look(volume).map(Some),
        Foreign::F2fs => f2fs::look(volume).map(Some),
        _ => Ok(None),
    }
}

/// The places and lengths in bytes of what a mount of the squashfs in `volume` reads;
/// `None` if there is none, or if it is damaged. For a squashfs in a volume of flash.
#[must_use]
pub fn squashfs_reads(volume: &dyn ReadAt) -> Option<Vec<(u64, u64)>> {
    let plan = squashfs::look(&Part::whole(volume).ok()?).ok()?;
    let reads = plan.steps.iter().filter_map(|step| match step {
        Step::Read(at, bytes) => Some((*at, *bytes)),
        _ => None,
    });
    Some(reads.collect())
}
