//! What the kernel would do with an image.

use super::blocks::{Blocks, State};
use super::cost::{self, Estimate, NANDSIM, NOR, Profile, Reads};
use super::device::Misfit;
use super::error::Error;
use super::fastmap::{self, Fastmap};
use super::format::MOST_VOLUMES;
use super::header::VolumeType;
use super::image::Image;
use super::layout::Layout;
use super::options::Options;
use super::problem::{self, Problem, What};
use super::table::{self, Record};
use super::volume::StaticCheck;
use rawimage::Foreign;
use rawimage::ReadAt;

/// How often blocks were erased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EraseCounters {
    /// Blocks whose counter is known.
    pub known: u64,
    /// The smallest.
    pub min: u32,
    /// The largest.
    pub max: u32,
    /// The mean, rounded down as the kernel does.
    pub mean: u32,
    /// How many are below 10, 100, 1000, 10,000, 100,000, and above.
    pub histogram: [u64; 6],
}

impl EraseCounters {
    fn of(blocks: &Blocks) -> Self {
        let mut counters = Self {
            min: u32::MAX,
            ..Self::default()
        };
        let mut sum = 0_u64;
        for erases in blocks.erases.iter().flatten() {
            counters.known += 1;
            sum += u64::from(*erases);
            counters.min = counters.min.min(*erases);
            counters.max = counters.max.max(*erases);
            let digits = erases.checked_ilog10().unwrap_or(0).min(5) as usize;
            if let Some(bucket) = counters.histogram.get_mut(digits) {
                *bucket += 1;
            }
        }
        let mean = sum.checked_div(counters.known).unwrap_or(0);
        counters.mean = u32::try_from(mean).unwrap_or(u32::MAX);
        counters.min = counters.min.min(counters.max);
        counters
    }
}

/// What is known of a volume.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeReport {
    /// Its number.
    pub id: u32,
    /// Its record in the volume table.
    pub record: Record,
    /// Bytes in a logical block.
    pub leb_size: u32,
    /// Logical blocks that are there.
    pub mapped: u64,
    /// Bytes up to the end of its last block, or of the data of a static one.
    pub bytes: u64,
    /// What its content looks like; `None` if there is none.
    pub content: Option<Foreign>,
    /// What checking a static volume found, if it was checked.
    pub check: Option<StaticCheck>,
    /// How long the check takes when the volume is opened for the first time
    /// after each attach, nanoseconds; 0 if there is none.
    pub open_ns: u64,
    /// What that check reads.
    pub open: Reads,
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct Report {
    /// How the image is laid out.
    pub layout: Layout,
    /// How many erase blocks the image has.
    pub blocks: u64,
    /// How many the chip has: those of the image, if nothing else is known.
    pub chip_blocks: u64,
    /// One character per erase block; see [`State::letter`].
    pub map: String,
    /// How many blocks are in each state; those of volumes together.
    pub states: Vec<(&'static str, u64)>,
    /// The image sequence, if there is one.
    pub image_sequence: Option<u32>,
    /// The highest sequence number.
    pub last_sequence: u64,
    /// How often blocks were erased.
    pub erases: EraseCounters,
    /// The states of the two copies of the volume table.
    pub tables: [&'static str; 2],
    /// The volumes.
    pub volumes: Vec<VolumeReport>,
    /// The fastmap.
    pub fastmap: Fastmap,
    /// Why the image does not fit the device that was stated, if it does not.
    pub misfit: Option<Misfit>,
    /// Whether the device that was stated is attached read-only because both
    /// headers are in one smallest write.
    pub is_read_only: bool,
    /// What is wrong, in order; those of the whole image first.
    pub problems: Vec<Problem>,
    /// How long attaching takes.
    pub attach: Estimate,
}

impl Report {
    /// Why the kernel refuses to attach the image, if it does: the first reason.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let misfit = self.misfit.map(|m| m.to_string());
        let first = self.problems.iter().find(|p| p.what.refuses());
        misfit.or_else(|| {
            first.map(|p| match p.block {
                Some(block) => format!("block {block}: {}", p.what),
                None => p.what.to_string(),
            })
        })
    }
}

/// Checks an image or a device.
///
/// # Errors
/// It is not UBI, the erase size cannot be found or is impossible, the device
/// is impossible, or its length cannot be read.
pub fn check(image: &dyn ReadAt, options: &Options) -> Result<Report, Error> {
    Ok(report(&Image::open(image, options)?, options))
}

/// As [`check`], of an image that is open.
#[must_use]
pub fn report(image: &Image, options: &Options) -> Report {
    let mut problems = image.blocks.problems.clone();
    volumes_fit(image, options, &mut problems);
    let layout = image.blocks.layout;
    let there = image.blocks.states.len() as u64;
    let chip_blocks = options.chip_blocks.unwrap_or(there);
    let profile = options.profile.unwrap_or({
        // NOR can write single bytes: there is nothing between the headers.
        if layout.vid_offset < 256 {
            NOR
        } else {
            NANDSIM
        }
    });
    let volumes = volumes(image, options, &profile, &mut problems);
    let fastmap = fastmap::check(image.bytes(), &image.blocks, chip_blocks);
    if fastmap.disagrees > 0 {
        let blocks = fastmap.disagrees;
        problem::add(&mut problems, None, What::FastmapDisagrees { blocks });
    }
    let blocks = &image.blocks;
    let device = options.device;
    let offsets = (layout.vid_offset, layout.data_offset);
    let mut states: Vec<(&'static str, u64)> = STATES.map(|name| (name, 0)).to_vec();
    for state in &blocks.states {
        if let Some((_, count)) = states.iter_mut().find(|(name, _)| *name == state.name()) {
            *count += 1;
        }
    }
    problems.sort_by_key(|p| p.block);
    Report {
        layout,
        blocks: there,
        chip_blocks,
        map: blocks.states.iter().map(|s| s.letter()).collect(),
        states,
        image_sequence: blocks.image_sequence,
        last_sequence: blocks.last_sequence,
        erases: EraseCounters::of(blocks),
        tables: [image.copies[0].state(), image.copies[1].state()],
        volumes,
        misfit: device.and_then(|d| d.misfit(layout.erase_size, offsets, there)),
        is_read_only: device.is_some_and(|d| d.is_read_only()),
        problems,
        attach: attach(blocks, chip_blocks, &fastmap, profile),
        fastmap,
    }
}

/// The names of all states, in the order of a report.
const STATES: [&str; 10] = [
    "bad",
    "empty",
    "free",
    "volume",
    "layout",
    "fastmap",
    "old",
    "erase",
    "corrupted",
    "foreign",
];

fn attach(blocks: &Blocks, chip: u64, fastmap: &Fastmap, profile: Profile) -> Estimate {
    let rest = chip.saturating_sub(blocks.states.len() as u64);
    let scan = cost::scan(&blocks.layout, blocks.header_reads, blocks.data_reads, rest);
    let early = blocks.states.iter().take(64);
    let headers = early.map(|s| match s {
        State::Bad => 0,
        State::Empty => 1,
        _ => 2,
    });
    let by_map = cost::fastmap(&blocks.layout, chip, headers.sum());
    let scan_ns = profile.time_ns(scan);
    let fastmap_ns = by_map.map(|reads| profile.time_ns(reads));
    Estimate {
        profile,
        scan_ns,
        scan,
        fastmap_ns,
        now_ns: match fastmap_ns {
            Some(ns) if fastmap.is_valid() => ns,
            _ => scan_ns,
        },
    }
}

/// What the kernel checks of volumes against their records (`init_volumes` and
/// `check_attaching_info`).
fn volumes_fit(image: &Image, options: &Options, problems: &mut Vec<Problem>) {
    let mut problem = |what| problem::add(problems, None, what);
    let records = &image.records;
    let mut autoresize = None;
    for (id, record) in records {
        let volume = *id;
        if record.flags & table::AUTORESIZE != 0 {
            match autoresize.replace(volume) {
                Some(other) => problem(What::TwoAutoresize { volume, other }),
                None => problem(What::Autoresize { volume }),
            }
        }
        if record.updating == 1 {
            problem(What::Updating { volume });
        }
        let Some(seen) = image.blocks.seen.get(id).copied() else {
            continue;
        };
        let lebs = image.blocks.of_volume(volume);
        let highest = lebs.last().map_or(0, |l| l.leb);
        let there = lebs.len() as u64;
        let fault = if highest >= record.reserved {
            Some("an LEB past its end")
        } else if Some(seen.volume_type) != record.kind() {
            Some("another type")
        } else if seen.used_blocks > record.reserved {
            Some("more used LEBs than reserved ones")
        } else if seen.data_pad != record.data_pad {
            Some("a different data pad")
        } else {
            None
        };
        if let Some(fault) = fault {
            problem(What::VolumeContradicts { volume, fault });
        }
        let missing = u64::from(seen.used_blocks).saturating_sub(there);
        if let (VolumeType::Static, 1.., Ok(missing)) =
            (seen.volume_type, missing, u32::try_from(missing))
        {
            problem(What::MissingBlocks { volume, missing });
        }
    }
    if !records.is_empty() {
        let orphans: Vec<u32> = (image.blocks.seen.keys().copied())
            .filter(|id| *id < MOST_VOLUMES && !records.iter().any(|(known, _)| known == id))
            .collect();
        for volume in orphans {
            let blocks = image.blocks.of_volume(volume).len() as u64;
            problem(What::NoRecord { volume, blocks });
        }
    }
    if let Some(chip) = options.chip_blocks {
        let lost = image.blocks.count(State::Bad) + image.blocks.count(State::Corrupted);
        let there = chip.saturating_sub(lost);
        // The layout volume has two; wear-levelling and changing a logical
        // block in place keep one each.
        let reserved: u64 = records.iter().map(|(_, r)| u64::from(r.reserved)).sum();
        let needed = reserved + 4;
        if needed > there {
            problem(What::NotEnoughBlocks { needed, there });
        }
    }
}

fn volumes(
    image: &Image,
    options: &Options,
    profile: &Profile,
    problems: &mut Vec<Problem>,
) -> Vec<VolumeReport> {
    let mut reports = Vec::new();
    for (id, record) in &image.records {
        let volume = image.volume(*id, record);
        let bytes = volume.length().unwrap_or(0);
        let mut head = vec![0; usize::try_from(bytes.min(1 << 18)).unwrap_or(0)];
        let read = volume.read_exact_at(0, &mut head);
        let content = (read.is_ok() && !volume.lebs().is_empty()).then(|| {
            let used = head.iter().rposition(|b| *b != 0xff).map_or(0, |p| p + 1);
            Foreign::recognise(head.get(..used).unwrap_or_default())
        });
        let is_static = volume.kind() == VolumeType::Static;
        let check = (is_static && options.check_static).then(|| volume.check_static());
        let mut reads = Reads::default();
        if is_static && !volume.skips_check() {
            // The kernel reads the identifier header of each block again.
            for leb in volume.lebs() {
                reads.headers += 1;
                reads.read(u64::from(leb.data_size));
            }
        }
        let report = VolumeReport {
            id: *id,
            leb_size: volume.leb_size,
            mapped: volume.lebs().len() as u64,
            bytes,
            content,
            open_ns: profile.time_ns(reads),
            open: reads,
            check,
            record: record.clone(),
        };
        for &leb in report.check.iter().flat_map(|c| &c.wrong) {
            let lebs = image.blocks.of_volume(*id);
            let block = lebs
                .iter()
                .find(|l| l.leb == leb)
                .map(|l| u64::from(l.block));
            let volume = *id;
            let what = What::DataCrc { volume, leb };
            problem::add(problems, block, what);
        }
        reports.push(report);
    }
    reports
}
