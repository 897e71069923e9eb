//! Raw flash: JFFS2, and UBI with UBIFS or squashfs in a volume.
//!
//! What is read is counted by the modules of these formats; here the counts become
//! one time. The figures of chips hold what the driver does for each page, so that
//! there is no processor beside them.

use crate::jffs2::{self, CheckOptions};
use crate::ubi;
use crate::ubi::cost::{Profile, Reads};
use crate::ubifs::{Home, inspect};
pub use rawimage::MountState as State;
use rawimage::{Foreign, Part, ReadAt};

/// Says what a mount reads of the squashfs in a volume: places and lengths, in bytes;
/// `None` if it cannot be read. The filesystem is not of flash alone, so that whoever
/// knows it says so.
pub type SquashfsReads<'f> = dyn Fn(&dyn ReadAt) -> Option<Vec<(u64, u64)>> + 'f;

/// One thing that is done until a filesystem on flash is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// What: `attach`, `check`, `mount`.
    pub what: &'static str,
    /// How many reads.
    pub reads: u64,
    /// How many bytes.
    pub bytes: u64,
    /// How long it takes, nanoseconds.
    pub ns: u64,
}

/// A mount of a filesystem on raw flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flash {
    /// `jffs2`, `ubifs`, `ubi` if nothing in it is known, `ubiblock+squashfs`.
    pub filesystem: &'static str,
    /// How it was left.
    pub state: State,
    /// What is done, in order.
    pub stages: Vec<Stage>,
    /// The chip.
    pub chip: &'static str,
    /// By how much the time may be wrong, percent.
    pub error_percent: u32,
    /// Where the figures of the chip are from.
    pub source: &'static str,
}

impl Flash {
    /// Until it is mounted, nanoseconds.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.sum(|s| s.ns)
    }

    /// Reads in all.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.sum(|s| s.reads)
    }

    /// Bytes in all.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sum(|s| s.bytes)
    }

    fn sum(&self, of: impl Fn(&Stage) -> u64) -> u64 {
        self.stages.iter().map(of).fold(0, u64::saturating_add)
    }
}

/// What mounting the flash image `image` costs: JFFS2, or the volume of UBI whose
/// name begins with `root`, or else the first that holds a filesystem. `chip` is a
/// name of [`jffs2::mount::PROFILES`], which are those of [`ubi::cost::PROFILES`] too,
/// or `None` for the one that fits the image; `chip_bytes` the size of the chip, if it
/// is larger than the image. `squashfs` knows what a mount reads of a squashfs in a
/// volume. `None` if the image is no flash image.
///
/// # Errors
/// What looking at the blocks says, in words.
pub fn look(
    image: &dyn ReadAt,
    chip: Option<&str>,
    chip_bytes: Option<u64>,
    squashfs: &SquashfsReads<'_>,
) -> Result<Option<Flash>, String> {
    let whole = Part::whole(image).map_err(|e| e.to_string())?;
    let head = whole.read(0, 4096).map_err(|e| e.to_string())?;
    match Foreign::recognise(&head) {
        Foreign::Ubi => ubi(image, chip, chip_bytes, squashfs).map(Some),
        Foreign::Unknown => jffs2(image, chip, chip_bytes),
        _ => Ok(None),
    }
}

fn jffs2(
    image: &dyn ReadAt,
    chip: Option<&str>,
    chip_bytes: Option<u64>,
) -> Result<Option<Flash>, String> {
    let mut options = CheckOptions {
        profile: jffs2::mount::PROFILES
            .into_iter()
            .find(|p| Some(p.name) == chip),
        ..CheckOptions::default()
    };
    let Ok(mut report) = jffs2::check(image, &options) else {
        return Ok(None);
    };
    if report.endian.is_none() {
        return Ok(None);
    }
    if let Some(bytes) = chip_bytes {
        options.device_blocks = Some(bytes / u64::from(report.erase_size.max(1)));
        report = jffs2::check(image, &options).map_err(|e| e.to_string())?;
    }
    let (mount, profile) = (&report.mount, report.mount.profile);
    Ok(Some(Flash {
        filesystem: "jffs2",
        state: State::Clean,
        stages: vec![Stage {
            what: "mount",
            reads: mount.now.calls + mount.now.spares,
            bytes: mount.now.bytes,
            ns: mount.now_ns,
        }],
        chip: profile.name,
        error_percent: profile.error_percent,
        source: profile.source,
    }))
}

/// The size of a chip's header of a block, bytes.
const HEADER: u64 = 64;

fn stage(what: &'static str, reads: Reads, ns: u64) -> Stage {
    Stage {
        what,
        reads: reads.headers + reads.pieces,
        bytes: (reads.headers.saturating_mul(HEADER)).saturating_add(reads.bytes),
        ns,
    }
}

fn ubi(
    image: &dyn ReadAt,
    chip: Option<&str>,
    chip_bytes: Option<u64>,
    squashfs: &SquashfsReads<'_>,
) -> Result<Flash, String> {
    let mut options = ubi::Options {
        profile: ubi::cost::PROFILES
            .into_iter()
            .find(|p| Some(p.name) == chip),
        check_static: false,
        ..ubi::Options::default()
    };
    let mut opened = ubi::Image::open(image, &options).map_err(|e| e.to_string())?;
    if let Some(bytes) = chip_bytes {
        let erase_size = u64::from(opened.blocks.layout.erase_size.max(1));
        options.chip_blocks = Some(bytes / erase_size);
        opened = ubi::Image::open(image, &options).map_err(|e| e.to_string())?;
    }
    let report = ubi::report(&opened, &options);
    let profile = report.attach.profile;
    let mut found = Flash {
        filesystem: "ubi",
        state: State::Clean,
        stages: vec![stage("attach", report.attach.scan, report.attach.scan_ns)],
        chip: profile.name,
        error_percent: profile.error_percent,
        source: profile.source,
    };
    let mut volumes: Vec<_> = report.volumes.iter().collect();
    // The root, if one has that name; else the first.
    volumes.sort_by_key(|v| !v.record.name.starts_with(b"root"));
    for volume in volumes {
        let bytes = opened.volume(volume.id, &volume.record);
        match volume.content {
            Some(Foreign::Ubifs) => {
                let home = Home {
                    leb_size: volume.leb_size,
                    lebs: Some(volume.record.reserved),
                    min_io: None,
                };
                let Ok(ubifs) = inspect(&bytes, Some(home), &profile) else {
                    continue;
                };
                found.filesystem = "ubifs";
                if ubifs.needs_replay() || ubifs.needs_recovery {
                    found.state = State::Replay;
                }
                let mount = ubifs.mount;
                found
                    .stages
                    .push(stage("mount", mount.reads, mount.read_ns));
                return Ok(found);
            }
            Some(Foreign::Squashfs) => {
                let Some(reads) = squashfs(&bytes) else {
                    continue;
                };
                found.filesystem = "ubiblock+squashfs";
                if volume.open.pieces > 0 {
                    found
                        .stages
                        .push(stage("check", volume.open, volume.open_ns));
                }
                found.stages.push(through_ubiblock(&reads, &profile));
                return Ok(found);
            }
            _ => {}
        }
    }
    Ok(found)
}

/// What squashfs reads of `ubiblock`: each page that a request touches, and for
/// each request as much as a header takes.
fn through_ubiblock(of: &[(u64, u64)], profile: &Profile) -> Stage {
    let page = u64::from(profile.page.max(1));
    let mut reads = Reads::default();
    let mut ns = 0_u64;
    for (at, bytes) in of {
        reads.read(*bytes);
        let pages = (at + bytes).div_ceil(page) - at / page;
        ns = ns.saturating_add(pages.saturating_mul(profile.page_ns));
    }
    stage("mount", reads, ns)
}
