//! Whether the device answers while it is asked.
//!
//! A read from memory that serves as a disk (persistent memory, a RAM disk, zram) is done by
//! the processor, inside the call that starts it. Reading ahead takes the processor as long
//! as reading at need does, and nothing else gets done meanwhile: it saves nothing and costs
//! itself. Such a device is known by the first reads: pages that are absent before the call
//! are present when it returns. Nobody waits for this: of a device that takes time the pages
//! are still absent then, and the read is under way like any other.

use crate::resident::resident_from;
use std::os::fd::AsFd;

/// So many reads have to be answered in the call. One may be by chance: the processor is
/// taken away between the call and the look, and a device that takes time is done by then.
const READS: u32 = 3;

/// So many reads are looked at. A look takes some 3 us at 1 GIPS, and of a list that is in
/// memory already each read would get one.
const LOOKS: u32 = 16;

/// What the first reads have shown.
#[derive(Debug)]
pub(super) struct Probe {
    page_bytes: u32,
    looks: u32,
    at_once: u32,
}

/// What became of a read when the call that started it returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nobody looked, or all was there before.
    Nothing,
    /// Pages arrived.
    Arrived,
    /// Pages are absent that were absent before, and none arrived. A page of a device that a
    /// filesystem has read by blocks counts as absent for ever.
    Absent,
}

impl Probe {
    /// Nothing yet; pages are of `page_bytes` bytes.
    pub const fn new(page_bytes: u32) -> Self {
        Self {
            page_bytes,
            looks: LOOKS,
            at_once: 0,
        }
    }

    /// Whether the device has answered so many reads in the call that it is memory.
    pub const fn is_memory(&self) -> bool {
        self.at_once >= READS
    }

    /// Whether more reads have to be looked at.
    pub const fn is_open(&self) -> bool {
        self.looks > 0 && !self.is_memory()
    }

    /// Looks at no more reads: the device takes time.
    pub const fn close(&mut self) {
        self.looks = 0;
    }

    /// Calls `start`, which starts to read `bytes` bytes of `file` from `offset` on, and
    /// sees whether some of them arrive by it.
    pub fn watch(
        &mut self,
        file: impl AsFd,
        (offset, bytes): (u64, u64),
        start: impl FnOnce(),
    ) -> Seen {
        let page_bytes = u64::from(self.page_bytes.max(1));
        let from = offset / page_bytes * page_bytes;
        let length = offset.saturating_add(bytes).saturating_sub(from);
        // How many pages are absent; none if the kernel does not say.
        let absent = || {
            let pages = resident_from(file.as_fd(), from, length, self.page_bytes);
            pages.map_or(0, |p| p.iter().filter(|here| !**here).count())
        };
        let before = if self.is_open() { absent() } else { 0 };
        start();
        let seen = match before {
            0 => Seen::Nothing,
            _ if absent() < before => Seen::Arrived,
            _ => Seen::Absent,
        };
        self.looks = self.looks.saturating_sub(1);
        self.at_once += u32::from(seen == Seen::Arrived);
        seen
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::{Probe, Seen};
    use rustix::fs::{Advice, fadvise};
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsFd;

    const PAGE: u64 = 4096;

    /// A file of so many pages, of which none is in memory.
    fn absent(pages: u64) -> File {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");
        let mut file = tempfile::tempfile_in(folder).unwrap();
        file.write_all(&vec![1; (pages * PAGE) as usize]).unwrap();
        file.sync_all().unwrap();
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        fadvise(&file, 0, None, Advice::Random).unwrap();
        file
    }

    /// Reads a page as a device does that is memory: it is there when this returns.
    fn at_once(file: impl AsFd, page: u64) {
        rustix::io::pread(file, &mut [0; 1], page * PAGE).unwrap();
    }

    #[test]
    fn three_reads_that_are_there_when_the_call_returns_are_memory() {
        let file = absent(8);
        let mut probe = Probe::new(4096);
        for page in 0..3 {
            assert!(probe.is_open() && !probe.is_memory());
            let seen = probe.watch(&file, (page * PAGE, PAGE), || at_once(&file, page));
            assert_eq!(seen, Seen::Arrived);
        }
        assert!(probe.is_memory() && !probe.is_open());
    }

    #[test]
    fn a_device_that_takes_time_is_not_memory() {
        let file = absent(40);
        let mut probe = Probe::new(4096);
        for page in 0..2 {
            probe.watch(&file, (page * PAGE, PAGE), || at_once(&file, page));
        }
        for page in 2..20 {
            assert!(!probe.is_memory());
            let seen = probe.watch(&file, (page * PAGE, PAGE), || {});
            assert_eq!(seen == Seen::Absent, page < 16, "{page}");
        }
        assert!(!probe.is_open());
        // Nobody looks any more.
        let seen = probe.watch(&file, (30 * PAGE, PAGE), || at_once(&file, 30));
        assert_eq!(seen, Seen::Nothing);
        assert!(!probe.is_memory());
        let mut closed = Probe::new(4096);
        closed.close();
        assert!(!closed.is_open());
    }

    #[test]
    fn pages_that_were_there_say_nothing_and_are_not_looked_at_for_ever() {
        let file = absent(8);
        at_once(&file, 0);
        let mut probe = Probe::new(4096);
        for _ in 0..16 {
            assert!(probe.is_open());
            assert_eq!(probe.watch(&file, (10, 100), || {}), Seen::Nothing);
        }
        assert!(!probe.is_open() && !probe.is_memory());
    }

    #[test]
    fn pages_of_another_length_say_nothing() {
        let file = absent(1);
        let mut probe = Probe::new(1);
        let mut started = false;
        let seen = probe.watch(&file, (0, PAGE), || started = true);
        assert!(started && seen == Seen::Nothing && !probe.is_memory());
    }
}
