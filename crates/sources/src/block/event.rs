//! An event of a block request, whichever trace it came from.

use super::asks::Asks;
use super::notes;
use record::{Device, NameId, NoteKind, Origin};

/// What happened. The letter is what `blkparse(1)` prints for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// `Q`, `block_bio_queue`: somebody asked.
    Queue,
    /// `M`, `block_bio_backmerge`, `block_rq_merge`: the piece goes to the end
    /// of a request that ends where it begins.
    BackMerge,
    /// `F`, `block_bio_frontmerge`: the piece goes before a request that
    /// begins where it ends.
    FrontMerge,
    /// `X`, `block_split`: what was asked is cut at a sector, and goes on as
    /// two pieces.
    Split {
        /// Where the second piece begins.
        at: u64,
    },
    /// `I`, `block_rq_insert`: a request was given to the scheduler.
    Insert,
    /// `D`, `block_rq_issue`: the device got it.
    Issue,
    /// `R`, `block_rq_requeue`: it was taken back, to be issued again.
    Requeue,
    /// `C`, `block_rq_complete`, `block_bio_complete`: the device is done with
    /// so many bytes of it.
    Complete,
    /// `A`, `block_bio_remap`, `block_rq_remap`: what was asked of one device
    /// goes to another, or from a partition to the disk.
    Remap {
        /// The device that was asked.
        from: Device,
    },
    /// `P`, `U`, `UT`, `block_plug`, `block_unplug`: requests are held back to
    /// be merged, or no longer.
    Plug,
    /// `G`, `S`, `block_getrq`, `block_sleeprq`: the kernel takes a request's
    /// structure from its store, or waits for one.
    GetRequest,
    /// `B`, `block_bio_bounce`: the data is copied to where the device reaches.
    Bounce,
    /// What a driver says for itself.
    Driver,
    /// A code that stands in no version of the format that is known here.
    Unknown,
}

impl Action {
    /// The kind of note that such events belong under, if no request is ever
    /// made of them.
    #[inline]
    pub(crate) const fn passed_over(self) -> Option<&'static NoteKind> {
        match self {
            Self::Plug => Some(&notes::PLUG),
            Self::GetRequest => Some(&notes::GET_REQUEST),
            Self::Bounce => Some(&notes::BOUNCE),
            Self::Remap { .. } => Some(&notes::REMAP),
            Self::Driver => Some(&notes::DRIVER),
            Self::Unknown => Some(&notes::UNKNOWN),
            Self::Queue
            | Self::BackMerge
            | Self::FrontMerge
            | Self::Split { .. }
            | Self::Insert
            | Self::Issue
            | Self::Requeue
            | Self::Complete => None,
        }
    }
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// When, in nanoseconds on the clock of the [`Assembler`](super::Assembler).
    pub at: i64,
    /// What happened.
    pub action: Action,
    /// To a request of this device.
    pub device: Device,
    /// Where it begins, in sectors of 512 bytes.
    pub sector: u64,
    /// How much, in bytes.
    pub bytes: u64,
    /// What is asked.
    pub asks: Asks,
    /// Of a completion: the error, as a negative number; 0 is success.
    pub error: i32,
    /// Who ran then: of a queued piece the one who asks, of a completion
    /// whoever was interrupted.
    pub pid: Option<u32>,
    /// Its name.
    pub task: Option<NameId>,
    /// The evidence.
    pub origin: Origin,
}
