//! The events of one processor, page after page, and of all in the order of
//! time.

use super::compress::{Compression, Unpacker};
use super::cursor::Order;
use super::header::CpuData;
use super::page::{Page, PageLayout, Step, step};
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};

/// How much memory the unpacked chunks of all processors may take together.
/// trace-cmd packs ten pages together, 40 KB.
const CHUNKS: usize = 128 << 20;

/// No chunk is larger, however few processors there are.
const LARGEST_CHUNK: usize = 16 << 20;

/// What all streams of a buffer have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub order: Order,
    pub layout: PageLayout,
    pub page_bytes: usize,
    pub compression: Compression,
    pub packed: bool,
}

/// What could not be read of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// Events were lost before a page; how many, if the page says it.
    Missed(Option<u64>),
    /// A page's events cannot be followed to their end.
    BrokenPage,
    /// A chunk cannot be unpacked, or is too large.
    BadChunk,
    /// The file ends before the stream.
    Cut,
}

/// How often something was found, and the first place of it in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub count: u64,
    pub first: u64,
}

impl Found {
    fn add(&mut self, at: u64) {
        self.first = match self.count {
            0 => at,
            _ => self.first.min(at),
        };
        self.count = self.count.saturating_add(1);
    }
}

/// All that could not be read of some streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Troubles {
    /// Pages before which events were lost.
    pub missed: Found,
    /// How many events were lost on each processor, where pages say it.
    pub lost: BTreeMap<u32, u64>,
    /// Pages that cannot be followed to their end.
    pub broken_pages: Found,
    /// Chunks that cannot be unpacked.
    pub bad_chunks: Found,
    /// Streams that the file ends before.
    pub cut: Found,
}

impl Troubles {
    fn add(&mut self, cpu: u32, what: Trouble, at: u64) {
        match what {
            Trouble::Missed(count) => {
                self.missed.add(at);
                let lost = self.lost.entry(cpu).or_default();
                *lost = lost.saturating_add(count.unwrap_or(0));
            }
            Trouble::BrokenPage => self.broken_pages.add(at),
            Trouble::BadChunk => self.bad_chunks.add(at),
            Trouble::Cut => self.cut.add(at),
        }
    }
}

/// The pages of a processor: those in the file, or those of one chunk that was
/// unpacked.
#[derive(Debug)]
struct Pages<'a> {
    file: &'a [u8],
    /// Where the next page or chunk begins in the file.
    next: usize,
    /// Where the stream ends in the file.
    end: usize,
    /// How many chunks are still packed; `None` before the first.
    chunks: Option<u32>,
    /// The unpacked chunk, where it began in the file, and the place in it.
    chunk: Vec<u8>,
    chunk_at: u64,
    in_chunk: usize,
}

/// The events of one processor.
#[derive(Debug)]
struct Stream<'a> {
    cpu: u32,
    pages: Pages<'a>,
    /// The page that is being read: its place in the file or in the chunk.
    page: (usize, usize),
    /// Where the next step begins in the page, and where its events end.
    at: usize,
    end: usize,
    time: u64,
    /// The event that the stream stands at.
    event: (usize, usize),
}

/// An event of the ring buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event<'a> {
    /// Its stamp, as the kernel wrote it.
    pub time: u64,
    /// The processor.
    pub cpu: u32,
    /// The event itself: the fields that all have, then its own.
    pub data: &'a [u8],
    /// How often events were lost so far.
    pub missed: u64,
    /// Where it stands in the file; of packed events, where the chunk begins.
    pub at: u64,
}

impl Pages<'_> {
    /// Moves on to the next page: its place in [`Self::bytes`].
    fn advance(
        &mut self,
        shape: &Shape,
        largest: usize,
        unpacker: &mut Unpacker,
    ) -> Result<Option<(usize, usize)>, Trouble> {
        if !shape.packed {
            let start = self.next;
            if start >= self.end {
                return Ok(None);
            }
            let stop = start.saturating_add(shape.page_bytes).min(self.end);
            self.next = stop;
            return Ok(Some((start, stop)));
        }
        while self.in_chunk >= self.chunk.len() {
            if !self.unpack(shape, largest, unpacker)? {
                return Ok(None);
            }
        }
        let start = self.in_chunk;
        let stop = start.saturating_add(shape.page_bytes).min(self.chunk.len());
        self.in_chunk = stop;
        Ok(Some((start, stop)))
    }

    /// Unpacks the next chunk. Whether there was one.
    fn unpack(
        &mut self,
        shape: &Shape,
        largest: usize,
        unpacker: &mut Unpacker,
    ) -> Result<bool, Trouble> {
        let number = |pages: &mut Self| {
            let value = shape.order.u32(pages.file.get(..pages.end)?, pages.next)?;
            pages.next += 4;
            Some(value)
        };
        let left = match self.chunks {
            Some(left) => left,
            None => number(self).ok_or(Trouble::Cut)?,
        };
        self.chunks = Some(left);
        if left == 0 {
            return Ok(false);
        }
        self.chunks = Some(left - 1);
        self.chunk_at = self.next as u64;
        self.in_chunk = 0;
        self.chunk.clear();
        let (packed, unpacked) = (number(self), number(self));
        let (Some(packed), Some(unpacked)) = (packed, unpacked) else {
            self.chunks = Some(0);
            return Err(Trouble::Cut);
        };
        let stop = self.next.saturating_add(packed as usize);
        let Some(bytes) = self
            .file
            .get(..self.end)
            .and_then(|f| f.get(self.next..stop))
        else {
            self.chunks = Some(0);
            return Err(Trouble::Cut);
        };
        self.next = stop;
        if unpacked as usize > largest {
            return Err(Trouble::BadChunk);
        }
        let done = unpacker.unpack(shape.compression, bytes, unpacked as usize, &mut self.chunk);
        if done.is_none() {
            self.chunk.clear();
            return Err(Trouble::BadChunk);
        }
        Ok(true)
    }

    fn bytes(&self, shape: &Shape) -> &[u8] {
        match shape.packed {
            true => &self.chunk,
            false => self.file,
        }
    }

    /// Where a byte of [`Self::bytes`] is in the file.
    fn place(&self, shape: &Shape, at: usize) -> u64 {
        match shape.packed {
            true => self.chunk_at,
            false => at as u64,
        }
    }
}

impl Stream<'_> {
    /// Moves on to the next event. Whether there is one.
    #[inline]
    fn advance(
        &mut self,
        shape: &Shape,
        largest: usize,
        unpacker: &mut Unpacker,
        troubles: &mut Troubles,
    ) -> bool {
        loop {
            let (start, stop) = self.page;
            let page = self.pages.bytes(shape).get(start..stop).unwrap_or_default();
            match step(page, self.at, self.end, shape.order, &mut self.time) {
                Step::Event { start, end } => {
                    self.event = (start, end);
                    self.at = end;
                    return true;
                }
                Step::Skip(next) => self.at = next,
                Step::Broken => {
                    let at = self.pages.place(shape, start.saturating_add(self.at));
                    self.say(Trouble::BrokenPage, at, troubles);
                    self.at = self.end;
                }
                Step::End => {
                    if !self.next_page(shape, largest, unpacker, troubles) {
                        return false;
                    }
                }
            }
        }
    }

    fn next_page(
        &mut self,
        shape: &Shape,
        largest: usize,
        unpacker: &mut Unpacker,
        troubles: &mut Troubles,
    ) -> bool {
        loop {
            let before = self.pages.next as u64;
            let (start, stop) = match self.pages.advance(shape, largest, unpacker) {
                Ok(Some(page)) => page,
                Ok(None) => return false,
                Err(what) => {
                    self.say(what, before, troubles);
                    if what == Trouble::Cut {
                        return false;
                    }
                    continue;
                }
            };
            let at = self.pages.place(shape, start);
            let bytes = self.pages.bytes(shape).get(start..stop);
            let page = Page::of(bytes.unwrap_or_default(), shape.layout, shape.order);
            let Some(page) = page else {
                self.say(Trouble::Cut, at, troubles);
                continue;
            };
            if let Some(count) = page.missed {
                self.say(Trouble::Missed(count), at, troubles);
            }
            if page.cut {
                self.say(Trouble::BrokenPage, at, troubles);
            }
            self.page = (start, stop);
            (self.at, self.end, self.time) = (page.start, page.end, page.stamp);
            return true;
        }
    }

    fn say(&self, what: Trouble, at: u64, troubles: &mut Troubles) {
        troubles.add(self.cpu, what, at);
    }
}

/// The events of several processors as one stream, in the order of time; of
/// equal times the lower processor's comes first, as `trace-cmd report` has it.
#[derive(Debug)]
pub(super) struct Merge<'a> {
    shape: Shape,
    streams: Vec<Stream<'a>>,
    /// The time of each stream's event, and the stream.
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    unpacker: Unpacker,
    largest: usize,
    /// What could not be read so far.
    pub troubles: Troubles,
    started: bool,
}

impl<'a> Merge<'a> {
    pub(super) fn new(file: &'a [u8], cpus: &[CpuData], shape: Shape) -> Self {
        let mut troubles = Troubles::default();
        let mut streams = Vec::new();
        for data in cpus.iter().filter(|c| c.length > 0) {
            let start = usize::try_from(data.offset).unwrap_or(usize::MAX);
            let length = usize::try_from(data.length).unwrap_or(usize::MAX);
            // The length of packed events is that of nothing in the file.
            let end = match shape.packed {
                true => file.len(),
                false => start.saturating_add(length),
            };
            if end > file.len() {
                troubles.add(data.cpu, Trouble::Cut, file.len() as u64);
            }
            streams.push(Stream {
                cpu: data.cpu,
                pages: Pages {
                    file,
                    next: start,
                    end: end.min(file.len()),
                    chunks: None,
                    chunk: Vec::new(),
                    chunk_at: 0,
                    in_chunk: 0,
                },
                page: (0, 0),
                at: 0,
                end: 0,
                time: 0,
                event: (0, 0),
            });
        }
        let share = CHUNKS / streams.len().max(1);
        Self {
            shape,
            heap: BinaryHeap::with_capacity(streams.len()),
            streams,
            unpacker: Unpacker::default(),
            largest: share.clamp(64 << 10, LARGEST_CHUNK),
            troubles,
            started: false,
        }
    }

    /// The next event; `None` after the last.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Event<'_>> {
        if self.started {
            self.move_on();
        } else {
            self.start();
        }
        let &Reverse((time, index)) = self.heap.peek()?;
        let stream = self.streams.get(index)?;
        let (start, stop) = stream.page;
        let page = stream.pages.bytes(&self.shape).get(start..stop)?;
        Some(Event {
            time,
            cpu: stream.cpu,
            missed: self.troubles.missed.count,
            data: page.get(stream.event.0..stream.event.1)?,
            at: stream.pages.place(&self.shape, start + stream.event.0),
        })
    }

    /// Brings the stream of the last event to its next one.
    #[inline]
    fn move_on(&mut self) {
        let Some(mut top) = self.heap.peek_mut() else {
            return;
        };
        let index = top.0.1;
        let Some(stream) = self.streams.get_mut(index) else {
            return;
        };
        if stream.advance(
            &self.shape,
            self.largest,
            &mut self.unpacker,
            &mut self.troubles,
        ) {
            top.0.0 = stream.time;
        } else {
            PeekMut::pop(top);
        }
    }

    fn start(&mut self) {
        self.started = true;
        for (index, stream) in self.streams.iter_mut().enumerate() {
            if stream.advance(
                &self.shape,
                self.largest,
                &mut self.unpacker,
                &mut self.troubles,
            ) {
                self.heap.push(Reverse((stream.time, index)));
            }
        }
    }
}
