//! An image with a summary in each block: what `sumtool` of mtd-utils does.
//!
//! The nodes are packed anew, in their order, and behind those of each block
//! stands its summary. [`Mode::Compatible`] makes the same bytes as `sumtool`.
//! [`Mode::Safe`] differs where that tool does harm: it brings obsolete nodes
//! back to life, takes any erase size, says nothing about what it drops, and
//! counts each node twice when it looks for room.

use super::detect::{self, LARGEST};
use super::error::Error;
use super::loss::Lost;
use super::oob::Oob;
use super::options::{Cleanmarkers, Mode, Options};
use super::pack::Packer;
use super::plan::Plan;
use crate::transfer::TransferError;
use rawimage::ReadAt;
use std::io::Write;
use std::sync::mpsc;

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Length of the input.
    pub bytes_in: u64,
    /// Length of the output.
    pub bytes_out: u64,
    /// Nodes that were copied.
    pub nodes: u64,
    /// Summaries that were written.
    pub summaries: u64,
    /// Obsolete nodes that came back to life ([`Mode::Compatible`] only).
    pub resurrected: u64,
    /// What was not copied, by reason. Clean markers, padding and old summaries
    /// are not lost: they are made anew.
    pub lost: Vec<Lost>,
}

impl Outcome {
    fn add(&mut self, more: Lost) {
        Lost::add(&mut self.lost, more);
    }
}

/// How many threads read and check blocks: that is most of the work.
const READERS: u64 = 2;

/// Writes `input` with summaries to `output`. Memory is a few erase blocks,
/// whatever the length of the image.
///
/// # Errors
/// An option that is not possible, an erase size or a node that forbids the
/// work, or what reading and writing say. The output is then incomplete.
pub fn summarize(
    input: &(dyn ReadAt + Sync),
    output: &mut dyn Write,
    options: &Options,
) -> Result<Outcome, Error> {
    let given = options.erase_size;
    if !(8192..=LARGEST).contains(&given) || !given.is_multiple_of(4) {
        return Err(Error::ImpossibleEraseSize { given });
    }
    if let Cleanmarkers::Sized(size) = options.cleanmarkers
        && !(12..=given / 2).contains(&size)
    {
        return Err(Error::ImpossibleCleanmarker(size));
    }
    let length = input.length().map_err(TransferError::Length)?;
    if options.mode == Mode::Safe {
        Oob::refuse(input, options.endian)?;
        let read = |source| TransferError::Read {
            offset: 0,
            length: 0,
            source,
        };
        match detect::erase_size(input, options.endian).map_err(read)? {
            Some(found) if found.bytes != given => {
                return Err(Error::WrongEraseSize { given, found });
            }
            _ => {}
        }
    }
    let mut packer = Packer::new(output, options);
    let mut outcome = Outcome {
        bytes_in: length,
        ..Outcome::default()
    };
    let block = u64::from(given);
    let blocks = length.div_ceil(block);
    // Reading and checking overlap with copying and writing. The readers take turns
    // with the blocks; each holds one, and one waits between it and the packer.
    std::thread::scope(|scope| {
        let mut readers = Vec::new();
        for first in 0..READERS {
            let (full, to_pack) = mpsc::sync_channel::<Result<Plan, Error>>(1);
            let (done, empty) = mpsc::channel::<Plan>();
            scope.spawn(move || {
                for number in (first..blocks).step_by(READERS as usize) {
                    let mut plan = empty.try_recv().unwrap_or_default();
                    let at = number * block;
                    let take = usize::try_from(block.min(length - at)).unwrap_or(0);
                    let result = plan.make(input, at, take, options);
                    let failed = result.is_err();
                    if full.send(result.map(|()| plan)).is_err() || failed {
                        return;
                    }
                }
            });
            readers.push((to_pack, done));
        }
        for (to_pack, done) in readers.iter().cycle() {
            // A reader ends behind the last block, or behind its error.
            let Ok(plan) = to_pack.recv() else {
                return Ok::<(), Error>(());
            };
            let plan = plan?;
            for lost in &plan.lost {
                outcome.add(*lost);
            }
            outcome.resurrected += plan.resurrected;
            outcome.nodes += packer.block(&plan)?;
            // The other side may have ended; then nobody needs the buffer.
            done.send(plan).ok();
        }
        Ok(())
    })?;
    packer.finish()?;
    outcome.bytes_out = packer.written();
    outcome.summaries = packer.summaries();
    outcome.lost.sort_by_key(|l| l.why);
    Ok(outcome)
}
