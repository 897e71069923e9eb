//! What attaching costs.

use super::format::FASTMAP_SEARCHED;
use super::layout::Layout;
use super::{fastmap, table};

/// A flash chip, as far as attaching is concerned. Like the profile of a processor for
/// mounts of disks it is a table of figures, but it shares none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What it is called.
    pub name: &'static str,
    /// To read a header of 64 bytes and work on it, nanoseconds.
    pub header_ns: u64,
    /// Bytes that are read at a time.
    pub page: u32,
    /// To read a page of data and check it, nanoseconds.
    pub page_ns: u64,
    /// By how much an estimate may be wrong, percent.
    pub error_percent: u32,
    /// Where the figures are from.
    pub source: &'static str,
}

/// The kernel's `nandsim` with delays on an emulated 32-bit ARM: 128 MiB,
/// 2 KiB pages with subpages of 512 bytes, 25 us access and 40 ns a byte.
///
/// Fitted to two attaches of 1024 blocks, of which 120 and 357 were used
/// (0.303 s and 0.366 s), and to the check of a static volume of 15.2 MB
/// (2.435 s).
pub const NANDSIM: Profile = Profile {
    name: "nandsim-128m",
    header_ns: 265_000,
    page: 2048,
    page_ns: 327_000,
    error_percent: 15,
    source: "fitted to two attaches and one check under QEMU (Linux 6.1)",
};

/// A parallel NOR chip read in pages of 16 bytes, 16 bits wide.
///
/// From data sheets of that class (S29GL), not measured.
pub const NOR: Profile = Profile {
    name: "nor-s29gl",
    header_ns: 5_000,
    page: 1024,
    page_ns: 17_600,
    error_percent: 50,
    source: "S29GL data sheet, not measured",
};

/// All chips that estimates can be made for.
pub const PROFILES: [Profile; 2] = [NANDSIM, NOR];

/// What attaching reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Headers.
    pub headers: u64,
    /// Pieces of data.
    pub pieces: u64,
    /// Bytes of data, in all pieces.
    pub bytes: u64,
}

impl Reads {
    /// Adds a piece of data.
    pub fn read(&mut self, bytes: u64) {
        self.pieces += 1;
        self.bytes += bytes;
    }
}

impl Profile {
    /// How long `reads` take, nanoseconds.
    #[must_use]
    pub fn time_ns(&self, reads: Reads) -> u64 {
        let pages = reads.bytes.div_ceil(u64::from(self.page.max(1)));
        // Each piece ends in the midst of a page.
        let pages = pages.max(reads.pieces);
        (reads.headers.saturating_mul(self.header_ns))
            .saturating_add(pages.saturating_mul(self.page_ns))
    }
}

/// How long attaching takes, as estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The chip that it is for.
    pub profile: Profile,
    /// By reading all headers, nanoseconds.
    pub scan_ns: u64,
    /// By a fastmap that is valid, nanoseconds; `None` if UBI makes none on a
    /// chip of this size.
    pub fastmap_ns: Option<u64>,
    /// By a kernel with fastmap, as the image is, nanoseconds.
    pub now_ns: u64,
    /// What reading all headers reads.
    pub scan: Reads,
}

/// What a scan reads: `headers` and `bytes` as they were counted, the volume
/// tables, and the erased rest of a larger chip.
#[must_use]
pub fn scan(layout: &Layout, headers: u64, bytes: u64, rest: u64) -> Reads {
    let mut reads = tables(layout);
    reads.headers += headers + rest;
    if bytes > 0 {
        reads.read(bytes);
    }
    reads
}

/// What attaching by a valid fastmap reads.
///
/// The headers of the first 64 blocks, those of the fastmap's own blocks and of
/// the pools, which are blocks that were free when it was written, and the
/// fastmap.
#[must_use]
pub fn fastmap(layout: &Layout, blocks: u64, first_headers: u64) -> Option<Reads> {
    if blocks <= FASTMAP_SEARCHED {
        return None;
    }
    let leb_size = u64::from(layout.leb_size().max(1));
    let own = fastmap::size(blocks, layout.leb_size()) / leb_size;
    if own > u64::from(fastmap::MOST_BLOCKS) {
        return None;
    }
    // `ubi_attach` of build.c: a twentieth of the blocks, and half of that for
    // wear-levelling.
    let pool = (blocks / 100 * 5).clamp(8, u64::from(fastmap::LARGEST_POOL));
    let mut reads = tables(layout);
    reads.headers += first_headers + 2 * own + 2 * (pool + pool / 2);
    reads.read(own * leb_size);
    Some(reads)
}

fn tables(layout: &Layout) -> Reads {
    let bytes = u64::from(table::slots(layout.leb_size())) * table::RECORD as u64;
    let mut reads = Reads::default();
    reads.read(bytes);
    reads.read(bytes);
    reads
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1024 blocks of 128 KiB.
    const LAYOUT: Layout = Layout {
        erase_size: 131_072,
        vid_offset: 512,
        data_offset: 2048,
        oob: None,
    };

    #[test]
    fn the_fit_gives_back_what_was_measured() {
        for (used, measured) in [(120, 303_000_000_u64), (357, 366_000_000)] {
            let reads = scan(&LAYOUT, 2 * used, 0, 1024 - used);
            let off = NANDSIM.time_ns(reads).abs_diff(measured);
            assert!(off * 20 < measured, "{used} used: off by {off} ns");
        }
        let mut reads = Reads::default();
        reads.read(15_200_000);
        let off = NANDSIM.time_ns(reads).abs_diff(2_435_000_000);
        assert!(off < 24_350_000, "off by {off} ns");
    }

    #[test]
    fn a_small_chip_has_no_fastmap() {
        assert_eq!(fastmap(&LAYOUT, 64, 128), None);
        let by_map = NANDSIM.time_ns(fastmap(&LAYOUT, 8192, 128).unwrap_or_default());
        let by_scan = NANDSIM.time_ns(scan(&LAYOUT, 2 * 8192, 0, 0));
        assert!(by_map * 4 < by_scan, "{by_map} ns against {by_scan} ns");
    }
}
