//! `firstlight.flash.ubi/1`.

use super::super::text;
use super::{Seen, ubifs};
use image::ubi::fastmap::Rule;
use image::ubi::{EraseCounters, VolumeReport};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub struct Json<'a> {
    schema: &'static str,
    image: &'a str,
    attaches: bool,
    refusal: Option<String>,
    erase_size: u32,
    vid_offset: u32,
    data_offset: u32,
    leb_size: u32,
    oob: Option<Oob>,
    blocks: u64,
    chip_blocks: u64,
    map: &'a str,
    states: BTreeMap<&'static str, u64>,
    image_sequence: Option<u32>,
    last_sequence: u64,
    erase_counters: Erases,
    tables: [&'static str; 2],
    volumes: Vec<Volume>,
    device: Option<Device>,
    fits: Vec<Fits>,
    fastmap: Fastmap,
    attach_estimate_ns: Attach,
    storage: Storage,
    problems: Vec<Problem>,
}

#[derive(Serialize)]
struct Oob {
    page: u32,
    spare: u32,
}

#[derive(Serialize)]
struct Erases {
    known: u64,
    min: u32,
    mean: u32,
    max: u32,
    histogram: Vec<Bucket>,
}

#[derive(Serialize)]
struct Bucket {
    from: u32,
    to: Option<u32>,
    blocks: u64,
}

#[derive(Serialize)]
struct Volume {
    id: u32,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_hex: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    reserved: u32,
    mapped: u64,
    leb_size: u32,
    alignment: u32,
    bytes: u64,
    autoresize: bool,
    skip_check: bool,
    updating: bool,
    content: Option<&'static str>,
    check: Option<Check>,
    open_ns: u64,
    ubifs: Option<ubifs::Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ubifs_error: Option<String>,
}

#[derive(Serialize)]
struct Check {
    ok: bool,
    bytes: u64,
    missing: u32,
    wrong: Vec<u32>,
}

#[derive(Serialize)]
struct Device {
    min_io: u32,
    subpage: u32,
    vid_offset: u32,
    data_offset: u32,
    read_only: bool,
    misfit: Option<Misfit>,
}

#[derive(Serialize)]
struct Misfit {
    kind: &'static str,
    what: String,
    advice: String,
}

#[derive(Serialize)]
struct Fits {
    min_io: u32,
    subpage: u32,
}

#[derive(Serialize)]
struct Fastmap {
    present: bool,
    valid: bool,
    anchor: Option<u32>,
    blocks: Vec<u32>,
    size: u64,
    broken: Option<&'static str>,
    why: Option<String>,
    rules: Vec<RuleState>,
    disagrees: u64,
}

#[derive(Serialize)]
struct RuleState {
    rule: &'static str,
    state: &'static str,
}

#[derive(Serialize)]
struct Attach {
    scan: u64,
    fastmap: Option<u64>,
    now: u64,
}

#[derive(Serialize)]
struct Storage {
    name: &'static str,
    error_percent: u32,
    source: &'static str,
}

#[derive(Serialize)]
struct Problem {
    block: Option<u64>,
    blocks: u64,
    kind: &'static str,
    refuses: bool,
    what: String,
    advice: &'static str,
}

impl<'a> Json<'a> {
    pub fn of(seen: &'a Seen) -> Self {
        let report = &seen.report;
        let layout = &report.layout;
        let refusal = report.refusal();
        let profile = &report.attach.profile;
        let oob = layout.oob.map(|oob| Oob {
            page: oob.page,
            spare: oob.spare,
        });
        let fits = image::ubi::Device::fitting((layout.vid_offset, layout.data_offset));
        Self {
            schema: "firstlight.flash.ubi/1",
            image: &seen.image,
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
    fn of(volume: &VolumeReport, seen: &Seen) -> Self {
        use image::ubi::table::{AUTORESIZE, SKIP_CHECK};
        let record = &volume.record;
        let (name, name_hex) = text(record.name());
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
            content: volume.content.map(image::foreign::Foreign::word),
            check: volume.check.as_ref().map(|c| Check {
                ok: c.missing == 0 && c.wrong.is_empty(),
                bytes: c.bytes,
                missing: c.missing,
                wrong: c.wrong.clone(),
            }),
            open_ns: volume.open_ns,
            ubifs: match seen.ubifs.get(&volume.id) {
                Some(Ok(report)) => Some(ubifs::Json::of(report)),
                _ => None,
            },
            ubifs_error: match seen.ubifs.get(&volume.id) {
                Some(Err(why)) => Some(why.clone()),
                _ => None,
            },
        }
    }
}

fn device_of(device: &image::ubi::Device, seen: &Seen) -> Device {
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

fn fastmap(seen: &Seen) -> Fastmap {
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
