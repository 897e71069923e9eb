//! Reads that are sent, and what of them is in flight.

use super::pieces::Piece;
use super::play::Settings;
use super::ring::Ring;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How many reads may be in the ring, and how many files open, at once.
pub const DEPTH: u32 = 256;

/// Sends reads, and counts what is in flight.
pub(super) struct Reader {
    pub ring: Option<Ring>,
    /// Open files, by their entries.
    pub files: HashMap<usize, OwnedFd>,
    /// Devices, by their entries; `None`: not those of the list.
    pub devices: HashMap<usize, Option<OwnedFd>>,
    /// The lengths of the reads in flight, by token.
    flying: HashMap<u64, u64>,
    flying_bytes: u64,
    /// The most that may be.
    pub most_bytes: u64,
    /// Reads that are put in, and not sent yet.
    waiting: u64,
    token: u64,
    /// Asked for so far.
    pub bytes: u64,
    pub reads: u64,
}

impl Reader {
    pub fn new(settings: &Settings, in_flight_bytes: u64) -> Self {
        let ring = match settings.ring {
            true => Ring::new(DEPTH, settings.request_bytes as usize).ok(),
            false => None,
        };
        Self {
            ring,
            files: HashMap::new(),
            devices: HashMap::new(),
            flying: HashMap::new(),
            flying_bytes: 0,
            most_bytes: in_flight_bytes.max(u64::from(settings.request_bytes)),
            waiting: 0,
            token: 0,
            bytes: 0,
            reads: 0,
        }
    }

    /// Asks for a piece; waits if too much is in flight.
    pub fn read(&mut self, piece: Piece) -> io::Result<()> {
        let device = || self.devices.get(&piece.file).and_then(Option::as_ref);
        let Some(file) = self.files.get(&piece.file).or_else(device) else {
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
        self.token += 1;
        let bytes = u32::try_from(piece.bytes).unwrap_or(u32::MAX);
        let file: BorrowedFd<'_> = file.as_fd();
        ring.read(file, piece.offset, bytes, self.token)?;
        self.flying.insert(self.token, piece.bytes);
        self.flying_bytes += piece.bytes;
        self.waiting += 1;
        if self.flying_bytes >= self.most_bytes || self.flying.len() >= DEPTH as usize {
            // Half of it has to come back before more goes out, and that together.
            self.drain(self.most_bytes / 2)?;
        }
        Ok(())
    }

    /// Whether asking for so much more would have to wait.
    pub fn would_wait(&self, bytes: u64) -> bool {
        self.ring.is_some()
            && (self.flying_bytes.saturating_add(bytes) >= self.most_bytes
                || self.flying.len() + 1 >= DEPTH as usize)
    }

    /// Whether nothing is in flight of what was sent through the ring.
    pub fn is_idle(&self) -> bool {
        self.ring.is_some() && self.flying.is_empty()
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
        self.came_back(&done);
        Ok(())
    }

    fn came_back(&mut self, tokens: &[u64]) {
        for token in tokens {
            let bytes = self.flying.remove(token).unwrap_or(0);
            self.flying_bytes = self.flying_bytes.saturating_sub(bytes);
        }
    }

    /// Sends what waits, and waits until no more than `bytes` are in flight.
    fn drain(&mut self, bytes: u64) -> io::Result<()> {
        while self.waiting > 0
            || self.flying_bytes > bytes
            || self.flying.len() >= DEPTH as usize / 2
        {
            let Some(ring) = self.ring.as_mut().filter(|_| !self.flying.is_empty()) else {
                break;
            };
            self.waiting = 0;
            let done = ring.submit(1)?;
            self.came_back(&done);
        }
        Ok(())
    }

    /// Waits until nothing is in flight.
    pub fn finish(&mut self) -> io::Result<()> {
        while !self.flying.is_empty() && self.ring.is_some() {
            self.drain(0)?;
        }
        Ok(())
    }
}
