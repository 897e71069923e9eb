//! The state of a filesystem, and what a mount does.

use super::Error;
use super::journal::{Broken, Journal};
use super::lebs::Lebs;
use super::master::{self, Master, NO_ORPHANS};
use super::superblock::{LENGTH, Superblock, flag};
use crate::ubi::cost::{Profile, Reads};
use rawimage::ReadAt;

/// Where a filesystem is: what the kernel knows of it before it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// Bytes in a logical block of the volume.
    pub leb_size: u32,
    /// Logical blocks of the volume, if that is known.
    pub lebs: Option<u32>,
    /// The chip's smallest write, bytes, if that is known.
    pub min_io: Option<u32>,
}

/// Why the kernel does not mount a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Logical blocks of the volume are of another size.
    LebSize {
        /// The filesystem's.
        found: u32,
        /// The volume's.
        expected: u32,
    },
    /// The volume has too few logical blocks.
    LebCount {
        /// What the filesystem needs.
        found: u32,
        /// What the volume has.
        there: u32,
    },
    /// The chip's smallest write is another one.
    MinIo {
        /// The filesystem's.
        found: u32,
        /// The chip's.
        expected: u32,
    },
    /// The superblock is impossible.
    Superblock(&'static str),
    /// No master node can be trusted.
    NoMaster,
    /// The journal cannot be replayed.
    Journal(Broken),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LebSize { found, expected } => {
                write!(
                    f,
                    "LEB size mismatch: {found} in superblock, {expected} real"
                )
            }
            Self::LebCount { found, there } => write!(
                f,
                "bad LEB count: {found} in superblock, {there} on UBI volume"
            ),
            Self::MinIo { found, expected } => write!(
                f,
                "min. I/O unit mismatch: {found} in superblock, {expected} real"
            ),
            Self::Superblock(why) => write!(f, "bad superblock: {why}"),
            Self::NoMaster => write!(f, "failed to recover master node"),
            Self::Journal(broken) => write!(f, "{broken}"),
        }
    }
}

/// What a mount reads, and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// Reads of it.
    pub reads: Reads,
    /// Logical blocks that the first mount writes anew to erase their free
    /// space.
    pub fixed_lebs: u32,
    /// How long reading takes, nanoseconds.
    pub read_ns: u64,
}

/// What is known of a filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its superblock.
    pub superblock: Superblock,
    /// Its master node.
    pub master: master::State,
    /// Its journal.
    pub journal: Journal,
    /// Why the kernel does not mount it, if it does not.
    pub refusal: Option<Refusal>,
    /// Whether it was not unmounted: the kernel then looks for damage.
    pub needs_recovery: bool,
    /// Whether the first mount for writing rewrites free space.
    pub needs_fixup: bool,
    /// What a mount does.
    pub mount: Mount,
}

impl Report {
    /// Whether a mount replays anything.
    #[must_use]
    pub fn needs_replay(&self) -> bool {
        self.journal.nodes > 0
    }
}

/// Looks at the filesystem in a volume, or in what `mkfs.ubifs` wrote.
///
/// # Errors
/// There is no superblock, or it is impossible, or reading fails.
pub fn inspect(image: &dyn ReadAt, home: Option<Home>, profile: &Profile) -> Result<Report, Error> {
    let superblock = superblock(image)?;
    let lebs = Lebs::new(image, superblock.leb_size)?;
    let master = master::find(&lebs, superblock.min_io)?;
    let needs_recovery = match &master {
        master::State::Good(node) => node.is_dirty(),
        master::State::Recovered(..) => true,
        master::State::Lost => false,
    };
    let journal = match master.master() {
        Some(node) => Journal::read(&lebs, &superblock, node, needs_recovery, &mut |_, _, _| {})?,
        None => Journal::default(),
    };
    let refusal = misfit(&superblock, home).or(match &master {
        master::State::Lost => Some(Refusal::NoMaster),
        _ => journal.broken.map(Refusal::Journal),
    });
    let needs_fixup = superblock.flags & flag::SPACE_FIXUP != 0;
    let mut mount = Mount {
        reads: reads(&superblock, master.master(), &journal, needs_recovery),
        fixed_lebs: 0,
        read_ns: 0,
    };
    if needs_fixup {
        mount.fixed_lebs = partial(&lebs, &superblock)?;
    }
    mount.read_ns = profile.time_ns(mount.reads);
    Ok(Report {
        superblock,
        master,
        journal,
        refusal,
        needs_recovery,
        needs_fixup,
        mount,
    })
}

/// Why a filesystem cannot be mounted where it is.
fn misfit(superblock: &Superblock, home: Option<Home>) -> Option<Refusal> {
    if let Some(home) = home {
        let (found, expected) = (superblock.min_io, home.min_io);
        if let Some(expected) = expected.filter(|e| *e != found) {
            return Some(Refusal::MinIo { found, expected });
        }
        let (found, expected) = (superblock.leb_size, home.leb_size);
        if found != expected {
            return Some(Refusal::LebSize { found, expected });
        }
        let found = superblock.leb_count;
        if let Some(there) = home.lebs.filter(|there| *there < found) {
            return Some(Refusal::LebCount { found, there });
        }
    }
    let fault = superblock.fault(home.and_then(|h| h.lebs));
    fault.map(Refusal::Superblock)
}

/// Reads the superblock.
pub(super) fn superblock(image: &dyn ReadAt) -> Result<Superblock, Error> {
    let mut bytes = vec![0xff; LENGTH];
    let there = image.length()?.min(LENGTH as u64);
    let (data, _) = bytes.split_at_mut(usize::try_from(there).unwrap_or(0));
    image.read_exact_at(0, data)?;
    let superblock = Superblock::parse(&bytes).map_err(Error::NoSuperblock)?;
    match superblock.unreadable() {
        Some(why) => Err(Error::Superblock(why)),
        None => Ok(superblock),
    }
}

/// What a mount reads, each block of its areas whole.
fn reads(
    superblock: &Superblock,
    master: Option<&Master>,
    journal: &Journal,
    recover: bool,
) -> Reads {
    let leb_size = u64::from(superblock.leb_size);
    let mut reads = Reads::default();
    reads.read(LENGTH as u64);
    reads.read(leb_size);
    reads.read(leb_size);
    for _ in 0..journal.log_lebs {
        reads.read(leb_size);
    }
    for bud in &journal.buds {
        reads.read(leb_size.saturating_sub(bud.start.into()));
    }
    // The sizes of the table of block properties, and the way to the root
    // directory: a few nodes each.
    for _ in 0..8 {
        reads.read(u64::from(superblock.min_io));
    }
    let no_orphans = master.is_some_and(|m| m.flags & NO_ORPHANS != 0);
    if recover && !no_orphans {
        for _ in 0..superblock.orphan_lebs {
            reads.read(leb_size);
        }
    }
    reads
}

/// How many blocks are used in part.
fn partial(lebs: &Lebs, superblock: &Superblock) -> Result<u32, Error> {
    let count = u32::try_from(lebs.count()).unwrap_or(u32::MAX);
    let mut partial = 0;
    let mut end = [0; 8];
    let mut front = [0; 8];
    for leb in superblock.main_first()..count {
        lebs.read(leb, superblock.leb_size.saturating_sub(8), &mut end)?;
        if end == [0xff; 8] {
            lebs.read(leb, 0, &mut front)?;
            partial += u32::from(front != [0xff; 8]);
        }
    }
    Ok(partial)
}
