//! A boot under way: what is in memory, and the queue before the device.

use super::plan::{Mount, MountStep};
use super::queue::{Queue, read};
use crate::device::{Kind, Request};
use crate::page_cache::{Access, Cached, File, MOST_REQUEST_BYTES, PAGE};

/// A boot under way.
pub(super) struct Run<'a> {
    pub files: &'a [File],
    pub cached: Vec<Cached>,
    pub queue: Queue,
    /// Whether programs take the processor time of the lab.
    pub in_lab: bool,
    /// Whether a program works, and does not wait.
    pub is_busy: bool,
    /// The most pages that are read ahead.
    pub most: u64,
}

impl Run<'_> {
    /// Mounts the root; gives when that is done.
    pub fn mount(&mut self, mount: &Mount, mut now: u64) -> u64 {
        let device = self.files.iter().position(|f| f.access == Access::Device);
        let mut ahead: Vec<(u64, u64)> = Vec::new();
        for step in &mount.steps {
            let (kind, at, bytes) = match *step {
                MountStep::Read(at, bytes) | MountStep::Ahead(at, bytes) => (Kind::Read, at, bytes),
                MountStep::Write(at, bytes) => (Kind::Write, at, bytes),
                MountStep::Flush => (Kind::Flush, 0, 0),
                MountStep::Wait(at) => {
                    let asked = ahead.iter().find(|a| a.0 == at);
                    let end = asked.and_then(|a| self.queue.end(a.1)).unwrap_or(now);
                    now = self.queue.idle(now, end);
                    continue;
                }
            };
            let request = Request { kind, at, bytes };
            let (number, _) = self.queue.ask(now, request, false);
            if kind == Kind::Read
                && let Some(device) = device
            {
                let pages = at / PAGE..(at + bytes) / PAGE;
                let pages: Vec<_> = pages.map(|page| (device, page)).collect();
                self.put(&pages, number);
            }
            if let MountStep::Ahead(..) = step {
                ahead.push((at, number));
            } else {
                let end = self.queue.end(number).unwrap_or(now);
                self.queue.advance(end);
                now = self.queue.idle(now, end.max(now));
            }
        }
        now
    }

    /// A page is needed, the first of `left`; the request to wait for, if it is not there.
    pub fn demand(&mut self, now: u64, file: usize, page: u64, left: u64) -> Option<u64> {
        let (of, cached) = (self.files.get(file)?, self.cached.get_mut(file)?);
        let asked = cached.asks(of, page, left, self.most);
        // The block with an inode is locked when those beside it are read ahead, and so is a
        // request of its own (`__ext4_get_inode_loc`); the scheduler sends the first that
        // came, and then what lies behind it.
        let own = page..page + 1;
        let parts = match of.is_inode(page) {
            true if asked.start < page => vec![asked.start..page, own, page + 1..asked.end],
            true if !asked.is_empty() => vec![page + 1..asked.end, own],
            _ => vec![asked],
        };
        for (request, pages) in parts
            .into_iter()
            .flat_map(|p| self.missing(file, p.start, p.end))
            .collect::<Vec<_>>()
        {
            let (number, _) = self.queue.ask(now, request, false);
            self.put(&pages, number);
        }
        let number = self.number(file, page)?;
        let is_there = self.queue.end(number).is_some_and(|end| end <= now);
        (!is_there).then_some(number)
    }

    /// The requests for those pages of a file that nobody asked for yet, and their pages.
    pub fn missing(&self, file: usize, start: u64, end: u64) -> Vec<(Request, Vec<(usize, u64)>)> {
        let mut all: Vec<(Request, Vec<(usize, u64)>)> = Vec::new();
        let Some(of) = self.files.get(file) else {
            return all;
        };
        for page in start..end {
            let Some(place) = of.place(page).filter(|_| self.number(file, page).is_none()) else {
                continue;
            };
            match all.last_mut() {
                Some((last, pages))
                    if last.at + last.bytes == place
                        && pages.last() == Some(&(file, page.wrapping_sub(1)))
                        && last.bytes + PAGE <= MOST_REQUEST_BYTES =>
                {
                    last.bytes += PAGE;
                    pages.push((file, page));
                }
                _ => all.push((read(place, PAGE), vec![(file, page)])),
            }
        }
        all
    }

    /// Pages come with a request.
    pub fn put(&mut self, pages: &[(usize, u64)], number: u64) {
        for (file, page) in pages {
            if let Some(cached) = self.cached.get_mut(*file) {
                cached.put(*page, number);
            }
        }
    }

    /// The request that a page comes with, if it was asked for.
    pub fn number(&self, file: usize, page: u64) -> Option<u64> {
        self.cached.get(file)?.ready(page)
    }

    /// When pages that were asked for are there, if that is known.
    pub fn end_of(&self, file: usize, page: u64, pages: u64) -> Option<u64> {
        let places = (page..page + pages).filter(|p| {
            let of = self.files.get(file);
            of.is_some_and(|of| of.place(*p).is_some())
        });
        let mut ends = places.map(|page| self.queue.end(self.number(file, page)?));
        ends.try_fold(0, |last: u64, end| Some(last.max(end?)))
    }
}
