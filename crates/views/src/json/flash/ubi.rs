//! `firstlight.flash.ubi/1`.

use super::ubifs;
use crate::words::utf8;
use flash::attached::Attached;
use flash::ubi::fastmap::Rule;
use flash::ubi::{EraseCounters, VolumeReport};
use serde::Serialize;
use std::collections::BTreeMap;

/// A UBI image, as the kernel would attach it. Sizes are in bytes.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Ubi<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as crate::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: &'a str,
    /// Whether the kernel attaches it.
    attaches: bool,
    /// Why the kernel refuses to attach it; null if it does not.
    #[schemars(length(min = 1))]
    refusal: Option<String>,
    /// Erase block size.
    erase_size: u32,
    /// Offset of the volume identifier header.
    vid_offset: u32,
    /// Offset of the data.
    data_offset: u32,
    /// Size of a logical erase block.
    leb_size: u32,
    /// Spare area of each page; null if the image has none.
    oob: Option<Oob>,
    /// Number of erase blocks in the image.
    blocks: u64,
    /// Number of erase blocks of the chip.
    chip_blocks: u64,
    /// One character for each erase block.
    #[schemars(regex(pattern = "^[B.x!~LF?0-9a-w+-]*$"))]
    map: &'a str,
    /// Number of erase blocks in each state.
    #[schemars(extend("propertyNames" = {"enum": ["bad", "empty", "free", "volume", "layout", "fastmap", "old", "erase", "corrupted", "foreign"]}, "minProperties" = 10))]
    states: BTreeMap<&'static str, u64>,
    /// Image sequence number; null if unknown.
    image_sequence: Option<u32>,
    /// Highest sequence number.
    last_sequence: u64,
    /// Erase counters.
    erase_counters: Erases,
    /// State of the two copies of the volume table.
    #[schemars(inner(regex(pattern = "^(good|missing|broken|impossible)$")))]
    tables: [&'static str; 2],
    /// Volumes.
    volumes: Vec<Volume>,
    /// Flash device that the image is checked against; null if none was given.
    device: Option<Device>,
    /// Devices whose geometry the image fits.
    fits: Vec<Fits>,
    /// Fastmap.
    fastmap: Fastmap,
    /// Estimated attach time.
    attach_estimate_ns: Attach,
    /// Flash chip of the estimates.
    storage: Storage,
    /// Problems.
    problems: Vec<Problem>,
}

impl crate::json::Document for Ubi<'_> {
    const SCHEMA: &'static str = "firstlight.flash.ubi/1";
    const TITLE: &'static str = "Output of `firstlight flash ubi --json`";
}

/// Spare area of a page.
#[derive(schemars::JsonSchema, Serialize)]
struct Oob {
    /// Page size.
    page: u32,
    /// Size of the spare area.
    spare: u32,
}

/// Erase counters.
#[derive(schemars::JsonSchema, Serialize)]
struct Erases {
    /// Number of erase blocks with a known counter.
    known: u64,
    /// Minimum.
    min: u32,
    /// Mean.
    mean: u32,
    /// Maximum.
    max: u32,
    /// Histogram.
    #[schemars(length(equal = 6))]
    histogram: Vec<Bucket>,
}

/// A bucket of the histogram.
#[derive(schemars::JsonSchema, Serialize)]
struct Bucket {
    /// Lowest counter.
    from: u32,
    /// Highest counter; null for the last bucket.
    to: Option<u32>,
    /// Number of erase blocks.
    blocks: u64,
}

/// A UBI volume.
#[derive(schemars::JsonSchema, Serialize)]
struct Volume {
    /// Number.
    id: u32,
    /// Name.
    #[schemars(length(min = 1))]
    name: String,
    /// Name as hexadecimal digits. Present only if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^([0-9a-f]{2})+$"))]
    name_hex: Option<String>,
    /// Type of volume.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["dynamic", "static", "unknown"]))]
    kind: String,
    /// Reserved logical erase blocks.
    reserved: u32,
    /// Mapped logical erase blocks.
    mapped: u64,
    /// Size of a logical erase block of the volume.
    leb_size: u32,
    /// Alignment.
    alignment: u32,
    /// Size of the volume.
    bytes: u64,
    /// Whether the volume grows at the first attach.
    autoresize: bool,
    /// Whether the kernel skips the checksum of a static volume.
    skip_check: bool,
    /// Whether an update was interrupted.
    updating: bool,
    /// Format of the content; null if unknown.
    #[schemars(length(min = 1))]
    content: Option<&'static str>,
    /// Checksum test of a static volume; null for others.
    check: Option<Check>,
    /// Estimated time to open the volume.
    open_ns: u64,
    /// UBIFS in the volume; null if there is none.
    ubifs: Option<ubifs::Ubifs>,
    /// Why UBIFS in the volume could not be read. Present only if that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    ubifs_error: Option<String>,
}

/// Checksum test of a static volume.
#[derive(schemars::JsonSchema, Serialize)]
struct Check {
    /// Whether the volume is good.
    ok: bool,
    /// Number of bytes tested.
    bytes: u64,
    /// Number of missing logical erase blocks.
    missing: u32,
    /// Logical erase blocks with a wrong checksum.
    wrong: Vec<u32>,
}

/// A flash device that the image is checked against.
#[derive(schemars::JsonSchema, Serialize)]
struct Device {
    /// Minimum I/O unit.
    min_io: u32,
    /// Subpage size.
    subpage: u32,
    /// Offset of the volume identifier header.
    vid_offset: u32,
    /// Offset of the data.
    data_offset: u32,
    /// Whether the kernel attaches the image read-only.
    read_only: bool,
    /// Why the image does not fit the device; null if it does.
    misfit: Option<Misfit>,
}

/// Why an image does not fit a device.
#[derive(schemars::JsonSchema, Serialize)]
struct Misfit {
    /// Kind of mismatch.
    #[schemars(extend("enum" = ["erase_size", "vid_offset", "data_offset", "length"]))]
    kind: &'static str,
    /// Description.
    #[schemars(length(min = 1))]
    what: String,
    /// What to do.
    #[schemars(length(min = 1))]
    advice: String,
}

/// Geometry of a device that the image fits.
#[derive(schemars::JsonSchema, Serialize)]
struct Fits {
    /// Minimum I/O unit.
    min_io: u32,
    /// Subpage size.
    subpage: u32,
}

/// Fastmap of a UBI image.
#[derive(schemars::JsonSchema, Serialize)]
struct Fastmap {
    /// Whether there is a fastmap.
    present: bool,
    /// Whether the kernel uses it.
    valid: bool,
    /// Erase block of the anchor; null if there is none.
    anchor: Option<u32>,
    /// Erase blocks of the fastmap.
    blocks: Vec<u32>,
    /// Size.
    size: u64,
    /// First rule that is broken; null if none is.
    #[schemars(extend("enum" = ["large_enough", "headers_good", "anchor", "superblock", "size", "blocks", "checksum", "structure", "tables", "pools", "count"]))]
    broken: Option<&'static str>,
    /// Description of the broken rule; null if none is.
    #[schemars(length(min = 1))]
    why: Option<String>,
    /// Rules that a valid fastmap satisfies.
    #[schemars(length(equal = 11))]
    rules: Vec<RuleState>,
    /// Number of erase blocks on which the fastmap and a scan disagree.
    disagrees: u64,
}

/// A rule that a valid fastmap satisfies.
#[derive(schemars::JsonSchema, Serialize)]
struct RuleState {
    /// Name of the rule.
    #[schemars(extend("enum" = ["large_enough", "headers_good", "anchor", "superblock", "size", "blocks", "checksum", "structure", "tables", "pools", "count"]))]
    rule: &'static str,
    /// Result.
    #[schemars(extend("enum" = ["holds", "broken", "not_reached"]))]
    state: &'static str,
}

/// Estimated attach time, in nanoseconds.
#[derive(schemars::JsonSchema, Serialize)]
struct Attach {
    /// With a full scan.
    scan: u64,
    /// With a fastmap; null if the image cannot have one.
    fastmap: Option<u64>,
    /// For the image as it is.
    now: u64,
}

/// Flash chip of the estimates.
#[derive(schemars::JsonSchema, Serialize)]
struct Storage {
    /// Name.
    #[schemars(length(min = 1))]
    name: &'static str,
    /// Error of the estimates, in percent.
    error_percent: u32,
    /// Source of the figures.
    #[schemars(length(min = 1))]
    source: &'static str,
}

/// A problem of the image.
#[derive(schemars::JsonSchema, Serialize)]
struct Problem {
    /// Erase block; null if it concerns several blocks.
    block: Option<u64>,
    /// Number of erase blocks.
    blocks: u64,
    /// Kind of problem.
    #[schemars(length(min = 1))]
    kind: &'static str,
    /// Whether the kernel refuses the image because of it.
    refuses: bool,
    /// Description.
    #[schemars(length(min = 1))]
    what: String,
    /// What to do.
    #[schemars(length(min = 1))]
    advice: &'static str,
}

impl<'a> Ubi<'a> {
    /// The document of the UBI image at `image`.
    #[must_use]
    pub fn of(image: &'a str, seen: &'a Attached) -> Self {
        let report = &seen.report;
        let layout = &report.layout;
        let refusal = report.refusal();
        let profile = &report.attach.profile;
        let oob = layout.oob.map(|oob| Oob {
            page: oob.page,
            spare: oob.spare,
        });
        let fits = flash::ubi::Device::fitting((layout.vid_offset, layout.data_offset));
        Self {
            schema: <Ubi<'_> as crate::json::Document>::SCHEMA,
            image,
            attaches: refusal.is_none(),
            refusal,
            erase_size: layout.erase_size,
            vid_offset: layout.vid_offset,
            data_offset: layout.data_offset,
            leb_size: layout.leb_size(),
            oob,
            blocks: report.blocks,
            chip_blocks: report.chip_blocks,
            map: &report.map,
            states: report.states.iter().copied().collect(),
            image_sequence: report.image_sequence,
            last_sequence: report.last_sequence,
            erase_counters: Erases::of(&report.erases),
            tables: report.tables,
            volumes: report.volumes.iter().map(|v| Volume::of(v, seen)).collect(),
            device: seen.device.map(|device| device_of(&device, seen)),
            fits: fits
                .into_iter()
                .map(|(min_io, subpage)| Fits { min_io, subpage })
                .collect(),
            fastmap: fastmap(seen),
            attach_estimate_ns: Attach {
                scan: report.attach.scan_ns,
                fastmap: report.attach.fastmap_ns,
                now: report.attach.now_ns,
            },
            storage: Storage {
                name: profile.name,
                error_percent: profile.error_percent,
                source: profile.source,
            },
            problems: report
                .problems
                .iter()
                .map(|p| Problem {
                    block: p.block,
                    blocks: p.blocks,
                    kind: p.what.name(),
                    refuses: p.what.refuses(),
                    what: p.what.to_string(),
                    advice: p.what.advice(),
                })
                .collect(),
        }
    }
}

impl Erases {
    fn of(erases: &EraseCounters) -> Self {
        let bucket = |(digits, blocks): (u32, &u64)| Bucket {
            from: if digits == 0 { 0 } else { 10_u32.pow(digits) },
            to: (digits < 5).then(|| 10_u32.pow(digits + 1) - 1),
            blocks: *blocks,
        };
        Self {
            known: erases.known,
            min: erases.min,
            mean: erases.mean,
            max: erases.max,
            histogram: (0..).zip(&erases.histogram).map(bucket).collect(),
        }
    }
}

impl Volume {
    fn of(volume: &VolumeReport, seen: &Attached) -> Self {
        use flash::ubi::table::{AUTORESIZE, SKIP_CHECK};
        let record = &volume.record;
        let (name, name_hex) = utf8(record.name());
        Self {
            id: volume.id,
            name,
            name_hex,
            kind: record
                .kind()
                .map_or("unknown".to_owned(), |k| k.to_string()),
            reserved: record.reserved,
            mapped: volume.mapped,
            leb_size: volume.leb_size,
            alignment: record.alignment,
            bytes: volume.bytes,
            autoresize: record.flags & AUTORESIZE != 0,
            skip_check: record.flags & SKIP_CHECK != 0,
            updating: record.updating == 1,
            content: volume.content.map(flash::Foreign::word),
            check: volume.check.as_ref().map(|c| Check {
                ok: c.missing == 0 && c.wrong.is_empty(),
                bytes: c.bytes,
                missing: c.missing,
                wrong: c.wrong.clone(),
            }),
            open_ns: volume.open_ns,
            ubifs: match seen.ubifs.get(&volume.id) {
                Some(Ok(report)) => Some(ubifs::Ubifs::of(report)),
                _ => None,
            },
            ubifs_error: match seen.ubifs.get(&volume.id) {
                Some(Err(why)) => Some(why.clone()),
                _ => None,
            },
        }
    }
}

fn device_of(device: &flash::ubi::Device, seen: &Attached) -> Device {
    let (vid_offset, data_offset) = device.offsets();
    Device {
        min_io: device.min_io,
        subpage: device.subpage,
        vid_offset,
        data_offset,
        read_only: seen.report.is_read_only,
        misfit: seen.report.misfit.map(|m| Misfit {
            kind: m.name(),
            what: m.to_string(),
            advice: m.advice(device),
        }),
    }
}

fn fastmap(seen: &Attached) -> Fastmap {
    let map = &seen.report.fastmap;
    let broken = map.broken.as_ref().map(|(rule, _)| *rule);
    let state = |rule: Rule| match broken {
        Some(broken) if rule == broken => "broken",
        Some(broken) if rule > broken => "not_reached",
        _ => "holds",
    };
    Fastmap {
        present: map.is_present(),
        valid: map.is_valid(),
        anchor: map.anchor,
        blocks: map.blocks.clone(),
        size: map.size,
        broken: broken.map(Rule::name),
        why: map.broken.as_ref().map(|(_, why)| why.clone()),
        rules: Rule::ALL
            .into_iter()
            .map(|rule| RuleState {
                rule: rule.name(),
                state: state(rule),
            })
            .collect(),
        disagrees: map.disagrees,
    }
}
