//! Nodes into erase blocks, with a summary at the end of each.

use super::error::Error;
use super::node::{INODE, SUMMARY, header, kind, padded};
use super::options::{Cleanmarkers, Mode, Options};
use super::plan::{Plan, Step};
use super::summary::{self, MARKER};
use crate::transfer::TransferError;
use rawimage::endian::Endian;
use std::io::Write;

/// Less room than this behind the last node is not worth keeping free: an inode
/// node with the smallest piece of data that the kernel writes.
const SMALLEST_WRITE: u64 = INODE as u64 + 256;

/// The writer of the output.
pub(super) struct Packer<'o> {
    out: &'o mut dyn Write,
    endian: Endian,
    erase_size: u32,
    mode: Mode,
    pad: bool,
    /// Size of the clean marker, if blocks get one at all.
    cleanmarker: Option<u32>,
    /// Whether the size is that of the first one in the image.
    as_found: bool,
    /// Whether the image is known to have clean markers.
    found: bool,
    /// The block in work.
    block: Vec<u8>,
    /// Its entries.
    entries: Vec<u8>,
    count: u32,
    /// Whether it holds a node that summaries cannot speak of.
    unspeakable: bool,
    written: u64,
    summaries: u64,
}

impl<'o> Packer<'o> {
    pub fn new(out: &'o mut dyn Write, options: &Options) -> Self {
        let (cleanmarker, found) = match options.cleanmarkers {
            Cleanmarkers::AsFound => (Some(12), false),
            Cleanmarkers::Sized(size) => (Some(size), true),
            Cleanmarkers::None => (None, false),
        };
        Self {
            out,
            endian: options.endian,
            erase_size: options.erase_size,
            mode: options.mode,
            pad: options.pad,
            cleanmarker,
            as_found: options.cleanmarkers == Cleanmarkers::AsFound,
            found,
            block: Vec::with_capacity(options.erase_size as usize),
            entries: Vec::new(),
            count: 0,
            unspeakable: false,
            written: 0,
            summaries: 0,
        }
    }

    /// Bytes that were written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Summaries that were written so far.
    pub fn summaries(&self) -> u64 {
        self.summaries
    }

    /// The clean marker size of the blocks; 0 if they have none.
    fn cleanmarker(&self) -> u32 {
        self.cleanmarker.filter(|_| self.found).unwrap_or(0)
    }

    /// Packs the nodes of one block of the input; returns how many.
    pub fn block(&mut self, plan: &Plan) -> Result<u64, Error> {
        let mut entries = plan.entries.as_slice();
        let mut nodes = 0;
        for step in &plan.steps {
            match *step {
                Step::Cleanmarker(size) => self.cleanmarker_found(size)?,
                Step::Copy {
                    at,
                    length,
                    entry,
                    place,
                } => {
                    let whole = plan.bytes.get(at as usize..).unwrap_or_default();
                    let node = whole.get(..length as usize).unwrap_or(whole);
                    let (entry, rest) = entries
                        .split_at_checked(entry as usize)
                        .unwrap_or((entries, &[]));
                    entries = rest;
                    self.node(node, entry, place as usize)
                        .map_err(|e| match e {
                            Error::NodeTooLong {
                                length, erase_size, ..
                            } => Error::NodeTooLong {
                                offset: plan.start + u64::from(at),
                                length,
                                erase_size,
                            },
                            other => other,
                        })?;
                    nodes += 1;
                }
            }
        }
        Ok(nodes)
    }

    fn cleanmarker_found(&mut self, size: u32) -> Result<(), Error> {
        if self.found {
            return Ok(());
        }
        if self.as_found {
            if !(12..=self.erase_size / 2).contains(&size) {
                return Err(Error::ImpossibleCleanmarker(size));
            }
            self.cleanmarker = Some(size);
        }
        self.found = true;
        Ok(())
    }

    /// Room that the summary takes if `more` bytes of entries are added.
    fn summary_size(&self, more: usize) -> u64 {
        (SUMMARY + self.entries.len() + more + MARKER) as u64
    }

    fn node(&mut self, node: &[u8], entry: &[u8], place: usize) -> Result<(), Error> {
        let length = u32::try_from(node.len()).unwrap_or(u32::MAX);
        let size = u64::from(self.erase_size);
        let used = self.block.len() as u64;
        let full = match self.mode {
            Mode::Safe => used + padded(length) + self.summary_size(entry.len()) > size,
            // The node is counted twice, here and in what is kept free, and the
            // difference is taken modulo 2^32.
            Mode::Compatible => {
                let free = self.summary_size(entry.len()) + u64::from(length);
                let kept = size.checked_sub(free.next_multiple_of(4));
                kept.is_some_and(|kept| used + u64::from(length) > kept)
            }
        };
        if full {
            self.close()?;
        }
        if self.block.is_empty() {
            self.begin();
        }
        let offset = self.block.len();
        let needed = offset as u64 + padded(length) + self.summary_size(entry.len());
        if needed > size {
            return Err(Error::NodeTooLong {
                offset: 0,
                length,
                erase_size: self.erase_size,
            });
        }
        self.block.extend_from_slice(node);
        self.block.resize(offset + padded(length) as usize, 0xff);
        if entry.is_empty() {
            self.unspeakable = true;
            return Ok(());
        }
        let before = self.entries.len();
        self.entries.extend_from_slice(entry);
        let offset = self.endian.put32(u32::try_from(offset).unwrap_or(u32::MAX));
        if let Some(field) = self.entries.get_mut(before + place..before + place + 4) {
            field.copy_from_slice(&offset);
        }
        self.count += 1;
        Ok(())
    }

    /// Writes the clean marker.
    fn begin(&mut self) {
        let size = self.cleanmarker();
        if size > 0 {
            let marker = header(self.endian, kind::CLEANMARKER, size);
            self.block.extend_from_slice(&marker);
            self.block.resize(padded(size) as usize, 0xff);
        }
    }

    /// Writes the block, with its summary if it has entries.
    fn close(&mut self) -> Result<(), Error> {
        if self.unspeakable && !self.block.is_empty() {
            self.block.resize(self.erase_size as usize, 0xff);
        } else if self.count > 0 {
            let cleanmarker = self.cleanmarker();
            let fits = summary::write(
                self.endian,
                &mut self.block,
                self.erase_size,
                &self.entries,
                self.count,
                cleanmarker,
            );
            debug_assert!(fits, "room was kept");
            self.summaries += 1;
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.out
            .write_all(&self.block)
            .map_err(TransferError::Write)?;
        self.written += self.block.len() as u64;
        self.block.clear();
        self.entries.clear();
        self.count = 0;
        self.unspeakable = false;
        Ok(())
    }

    /// Writes the last block. It gets a summary only if there is no room left
    /// that is worth keeping for later writes.
    pub fn finish(&mut self) -> Result<(), Error> {
        let used = self.block.len() as u64;
        let kept = self.summary_size(0).next_multiple_of(4);
        // Padded, and with clean markers in the input, `sumtool` makes an erased
        // block of an image without nodes.
        let quirk = self.mode == Mode::Compatible && self.pad && self.cleanmarker() > 0;
        if used == 0 && !quirk {
            return Ok(self.out.flush().map_err(TransferError::Write)?);
        }
        if used + SMALLEST_WRITE + kept > u64::from(self.erase_size) {
            self.close()?;
        } else {
            if self.pad {
                self.block.resize(self.erase_size as usize, 0xff);
            }
            self.flush()?;
        }
        Ok(self.out.flush().map_err(TransferError::Write)?)
    }
}
