//! Reads that are sent, and what of them is in flight.

use super::probe::{Probe, Seen};
use super::ring::Ring;
use super::settings::{Played, Settings};
use std::collections::HashMap;
use std::io;
use std::iter::repeat_with;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use storage::prefetch::DEPTH;

/// A read to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// The entry of the list.
    pub file: usize,
    pub offset: u64,
    pub bytes: u64,
    /// When the first of it is needed, in microseconds.
    pub first_us: u64,
    /// Where it lies on the device, if that is known.
    pub physical: u64,
}

impl Piece {
    /// Its place in the order of need, which is that of a device on which all was laid out
    /// so.
    pub(super) const fn in_need(&self) -> (u64, usize, u64) {
        (self.first_us, self.file, self.offset)
    }
}

/// Sends reads, and counts what is in flight.
pub(super) struct Reader {
    pub ring: Option<Ring>,
    /// Open files, by their entries.
    files: Vec<Option<OwnedFd>>,
    /// Devices, by their entries; `None`: not those of the list.
    pub devices: HashMap<usize, Option<OwnedFd>>,
    /// The reads in flight, by token.
    flying: Vec<Option<Flying>>,
    /// Tokens that are free.
    free: Vec<u64>,
    flying_bytes: u64,
    /// The most that may be.
    pub most_bytes: u64,
    /// Reads that are put in, and not sent yet.
    waiting: u64,
    /// How often reads were sent.
    batch: u64,
    /// Asked for so far.
    pub bytes: u64,
    pub reads: u64,
    /// Of these bytes, those that were there as soon as they were asked for.
    pub resident_bytes: u64,
}

/// A read in flight.
struct Flying {
    bytes: u64,
    /// With which others it was sent.
    batch: u64,
}

impl Reader {
    /// For a list of so many entries.
    pub fn new(entries: usize, settings: &Settings, in_flight_bytes: u64) -> Self {
        let ring = match settings.ring {
            true => Ring::new(DEPTH, settings.request_bytes as usize).ok(),
            false => None,
        };
        Self {
            ring,
            files: repeat_with(|| None).take(entries).collect(),
            devices: HashMap::new(),
            flying: repeat_with(|| None).take(DEPTH as usize).collect(),
            free: (0..u64::from(DEPTH)).rev().collect(),
            flying_bytes: 0,
            most_bytes: in_flight_bytes.max(u64::from(settings.request_bytes)),
            waiting: 0,
            batch: 0,
            bytes: 0,
            reads: 0,
            resident_bytes: 0,
        }
    }

    /// The open file of an entry.
    pub fn file(&self, entry: usize) -> Option<&OwnedFd> {
        self.files.get(entry)?.as_ref()
    }

    /// Adds what was asked for since the last time to `played`; gives how many bytes of it
    /// were not in memory.
    pub fn counted(&mut self, played: &mut Played) -> u64 {
        let resident_bytes = std::mem::take(&mut self.resident_bytes);
        let read_bytes = std::mem::take(&mut self.bytes).saturating_sub(resident_bytes);
        played.resident_bytes += resident_bytes;
        played.bytes += read_bytes;
        played.reads += std::mem::take(&mut self.reads);
        read_bytes
    }

    /// How many files are open.
    pub fn open(&self) -> usize {
        self.files.iter().flatten().count()
    }

    /// Keeps an entry's file open.
    pub fn keep(&mut self, entry: usize, file: OwnedFd) {
        if let Some(place) = self.files.get_mut(entry) {
            *place = Some(file);
        }
    }

    /// Closes all files.
    pub fn close(&mut self) {
        self.files.fill_with(|| None);
    }

    /// Asks for a piece; waits if too much is in flight.
    pub fn read(&mut self, piece: Piece) -> io::Result<()> {
        let Some(file) = self.files.get(piece.file).and_then(Option::as_ref) else {
            return Ok(());
        };
        self.bytes += piece.bytes;
        self.reads += 1;
        let Some(ring) = &mut self.ring else {
            let bytes = usize::try_from(piece.bytes).unwrap_or(usize::MAX);
            // An error here is an error at need, and told there.
            crate::sys::readahead(file, piece.offset, bytes).ok();
            return Ok(());
        };
        // Below half of all are taken when this begins.
        let Some(token) = self.free.pop() else {
            return Ok(());
        };
        let bytes = u32::try_from(piece.bytes).unwrap_or(u32::MAX);
        let file: BorrowedFd<'_> = file.as_fd();
        ring.read(file, piece.offset, bytes, token)?;
        if let Some(place) = self.flying.get_mut(token as usize) {
            let (bytes, batch) = (piece.bytes, self.batch);
            *place = Some(Flying { bytes, batch });
        }
        self.flying_bytes += piece.bytes;
        self.waiting += 1;
        if self.flying_bytes >= self.most_bytes || self.free.is_empty() {
            // Half of it has to come back before more goes out, and that together.
            self.drain(self.most_bytes / 2)?;
        }
        Ok(())
    }

    /// Asks for a piece by itself, and has `probe` see how the device answers.
    pub fn read_alone(&mut self, piece: Piece, probe: &mut Probe) {
        let Some(file) = self.file(piece.file) else {
            return;
        };
        let bytes = usize::try_from(piece.bytes).unwrap_or(usize::MAX);
        let seen = probe.watch(file, (piece.offset, piece.bytes), || {
            // An error here is an error at need, and told there.
            crate::sys::readahead(file, piece.offset, bytes).ok();
        });
        // Content comes into memory by pages, and so this is certain.
        if seen == Seen::Absent {
            probe.close();
        }
        if seen == Seen::Nothing {
            self.resident_bytes += piece.bytes;
        }
        self.bytes += piece.bytes;
        self.reads += 1;
    }

    /// Whether asking for so much more would have to wait.
    pub fn would_wait(&self, bytes: u64) -> bool {
        self.ring.is_some()
            && (self.flying_bytes.saturating_add(bytes) >= self.most_bytes || self.free.len() <= 1)
    }

    /// Whether nothing is in flight of what was sent through the ring.
    pub fn is_idle(&self) -> bool {
        self.ring.is_some() && self.in_flight() == 0
    }

    fn in_flight(&self) -> usize {
        self.flying.len() - self.free.len()
    }

    /// Sends what waits to be sent.
    pub fn send(&mut self) -> io::Result<()> {
        if self.waiting == 0 {
            return Ok(());
        }
        let Some(ring) = &mut self.ring else {
            return Ok(());
        };
        self.waiting = 0;
        let done = ring.submit(0)?;
        // What came back from being sent did not have to be read.
        self.came_back(&done, Some(self.batch));
        self.batch += 1;
        Ok(())
    }

    fn came_back(&mut self, tokens: &[u64], sent: Option<u64>) {
        for token in tokens {
            let place = self.flying.get_mut(*token as usize);
            let Some(read) = place.and_then(Option::take) else {
                continue;
            };
            self.free.push(*token);
            self.flying_bytes -= read.bytes;
            if sent == Some(read.batch) {
                self.resident_bytes += read.bytes;
            }
        }
    }

    /// Sends what waits, and waits until no more than `bytes` are in flight.
    fn drain(&mut self, bytes: u64) -> io::Result<()> {
        self.send()?;
        while self.flying_bytes > bytes || self.free.len() < DEPTH as usize / 2 {
            let Some(ring) = self.ring.as_mut() else {
                break;
            };
            let done = ring.submit(1)?;
            self.came_back(&done, None);
        }
        Ok(())
    }

    /// Waits until nothing is in flight.
    pub fn finish(&mut self) -> io::Result<()> {
        while self.ring.is_some() && self.in_flight() > 0 {
            self.drain(0)?;
        }
        Ok(())
    }
}
