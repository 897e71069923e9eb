//! `firstlight flash check`: a picture of an image, block by block.

use super::args::Check;
use super::problems::{self, Told};
use crate::out::Out;
use crate::{progress, size};
use anyhow::{Context, Result};
use flash::jffs2::detect::{EraseSize, Evidence};
use flash::jffs2::{CheckOptions, Class, Oob, Report, What, check};
use inspect::open::{self, Mtd};
use record::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
use views::terminal::Style;
use views::terminal::layout::{Ansi, BAD, BOLD, DIM, GOOD, OTHER, PLAIN, Screen, WARN, right};
use views::{plural, thousands};

/// Characters of the picture in a line, as `nand_check` has it.
const COLUMNS: usize = 80;

pub fn run(args: &Check, out: &mut Out) -> Result<()> {
    let shown = args.image.display().to_string();
    let file = open::image(&args.image)?;
    let mtd = Mtd::of(&args.image, &file)?;
    let layout = args.layout.known().options(mtd.as_ref());
    let mut options = CheckOptions {
        erase_size: layout.erase_size,
        endian: layout.endian,
        spare: layout.spare,
        clean_blocks: mtd
            .as_ref()
            .map(|m| m.clean_blocks(&file))
            .unwrap_or_default(),
        bad_blocks: mtd.map(|m| m.bad_blocks).unwrap_or_default(),
        device_blocks: None,
        profile: args.storage,
    };
    let tell = progress::reading(&args.image);
    let watched = open::Watched::new(&file, &tell);
    let mut report = check(&watched, &options).with_context(|| shown.clone())?;
    if let Some(chip) = args.chip_size {
        // How many blocks that is, is known only now, unless it was given.
        options.device_blocks = Some(chip / u64::from(report.erase_size));
        report = check(&watched, &options).with_context(|| shown.clone())?;
    }
    progress::clear();
    let text = if out.json {
        views::json::text(&Json::of(&shown, &report))
    } else {
        screen(&shown, &report, &out.style)
    };
    out.text(&text)
}

/// Erase blocks of a JFFS2 image, its problems, and its mount time. Sizes are in bytes.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Json<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as views::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: &'a str,
    /// Erase block size.
    erase_size: u32,
    /// Evidence for the erase block size; null if it was given.
    erase_size_found: Option<JsonFound>,
    /// Byte order; null if unknown.
    #[schemars(extend("enum" = ["little", "big"]))]
    endian: Option<String>,
    /// Spare area of each page; null if the image has none.
    oob: Option<JsonOob>,
    /// Number of erase blocks.
    blocks: u64,
    /// One character for each erase block.
    #[schemars(regex(pattern = "^[B.=sS-]*$"))]
    map: &'a str,
    /// Number of erase blocks in each class.
    #[schemars(extend("propertyNames" = {"enum": ["bad", "erased", "erased_cleanmarker", "partial", "partial_summary", "full", "full_summary", "broken_summary", "foreign"]}, "minProperties" = 9))]
    classes: BTreeMap<&'static str, u64>,
    /// Bytes by content.
    bytes: JsonBytes,
    /// Share of obsolete bytes, per mille.
    #[schemars(range(max = 1000))]
    obsolete_per_mille: u64,
    /// Problems.
    problems: Vec<JsonProblem>,
    /// Estimated mount time.
    mount_estimate_ns: JsonMount,
    /// Estimated mount time of the image as it is.
    mount_now_ns: u64,
    /// Flash chip of the estimates.
    storage: JsonStorage,
}

impl views::json::Document for Json<'_> {
    const SCHEMA: &'static str = "firstlight.flash.check/1";
    const TITLE: &'static str = "Output of `firstlight flash check --json`";
}

/// Evidence for the erase block size.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Found")]
struct JsonFound {
    /// Erase block size.
    bytes: u32,
    /// Structures that show it.
    #[schemars(extend("enum" = ["summaries", "cleanmarkers", "boundaries"]))]
    evidence: &'static str,
    /// Number of these structures.
    count: u64,
}

/// Spare area of a page.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Oob")]
struct JsonOob {
    /// Page size.
    page: u32,
    /// Size of the spare area.
    spare: u32,
}

/// Bytes by content.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Bytes")]
struct JsonBytes {
    /// Bytes of valid nodes.
    nodes: u64,
    /// Bytes of obsolete nodes.
    obsolete: u64,
    /// Bytes of damaged nodes.
    damaged: u64,
    /// Bytes between nodes that are not part of any node.
    garbage: u64,
    /// Bytes of summaries.
    summaries: u64,
    /// Bytes of other formats.
    foreign: u64,
}

/// A problem of the image.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Problem")]
struct JsonProblem {
    /// Erase block; null if it concerns several blocks.
    block: Option<u64>,
    /// Number of erase blocks.
    blocks: u64,
    /// Kind of problem.
    #[schemars(length(min = 1))]
    kind: &'static str,
    /// Description.
    #[schemars(length(min = 1))]
    what: String,
    /// What to do.
    #[schemars(length(min = 1))]
    advice: &'static str,
}

/// Estimated mount time, in nanoseconds.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Mount")]
struct JsonMount {
    /// With a full scan.
    scan: u64,
    /// With summaries in all erase blocks.
    summary: u64,
}

/// Flash chip of the estimates.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Storage")]
struct JsonStorage {
    /// Name.
    #[schemars(length(min = 1))]
    name: &'static str,
    /// Error of the estimates, in percent.
    error_percent: u32,
    /// Source of the figures.
    #[schemars(length(min = 1))]
    source: &'static str,
}

impl<'a> Json<'a> {
    fn of(image: &'a str, report: &'a Report) -> Self {
        let found = |found: EraseSize| {
            let (evidence, count) = match found.evidence {
                Evidence::Summaries(n) => ("summaries", n),
                Evidence::Cleanmarkers(n) => ("cleanmarkers", n),
                Evidence::Boundaries(n) => ("boundaries", n),
            };
            JsonFound {
                bytes: found.bytes,
                evidence,
                count,
            }
        };
        let bytes = report.bytes;
        Self {
            schema: <Json<'_> as views::json::Document>::SCHEMA,
            image,
            erase_size: report.erase_size,
            erase_size_found: report.erase_size_found.map(found),
            endian: report.endian.map(|e| e.to_string()),
            oob: report
                .oob
                .map(|Oob { page, spare }| JsonOob { page, spare }),
            blocks: report.blocks,
            map: &report.map,
            classes: Class::ALL
                .iter()
                .map(|c| (c.name(), report.count(*c)))
                .collect(),
            bytes: JsonBytes {
                nodes: bytes.nodes,
                obsolete: bytes.obsolete,
                damaged: bytes.damaged,
                garbage: bytes.garbage,
                summaries: bytes.summaries,
                foreign: bytes.foreign,
            },
            obsolete_per_mille: report.obsolete_per_mille(),
            problems: report
                .problems
                .iter()
                .map(|p| JsonProblem {
                    block: p.block,
                    blocks: p.blocks,
                    kind: p.what.name(),
                    what: p.what.to_string(),
                    advice: p.what.advice(),
                })
                .collect(),
            mount_estimate_ns: JsonMount {
                scan: report.mount.scan_ns,
                summary: report.mount.summary_ns,
            },
            mount_now_ns: report.mount.now_ns,
            storage: JsonStorage {
                name: report.mount.profile.name,
                error_percent: report.mount.profile.error_percent,
                source: report.mount.profile.source,
            },
        }
    }
}

fn screen(image: &str, report: &Report, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let order = report.endian.map(|e| format!("JFFS2, {e}-endian, "));
    let spare = report.oob.map(|Oob { page, spare }| {
        format!(", in pages of {page} bytes with {spare} spare bytes after each")
    });
    let about = format!(
        "{}{} {} of {}{}",
        order.unwrap_or_default(),
        thousands(report.blocks),
        plural(
            usize::try_from(report.blocks).unwrap_or(usize::MAX),
            "erase block"
        ),
        size::show(report.erase_size.into()),
        spare.unwrap_or_default()
    );
    screen.heading(image, &about);
    screen.blank();
    picture(&mut screen, report);
    classes(&mut screen, report);
    problems::screen(&mut screen, &report.problems, told);
    mount(&mut screen, report);
    screen.finish()
}

/// One character per erase block.
fn picture(screen: &mut Screen, report: &Report) {
    let letters = report.map.as_bytes();
    let mut paints: Vec<Ansi> = letters.iter().map(|l| of_letter(*l)).collect();
    for problem in &report.problems {
        let ansi = match problem.what {
            What::BrokenSummary(_) | What::UnreadableSummary => BAD,
            What::Foreign(_) => OTHER,
            _ => continue,
        };
        let first = problem.block.and_then(|b| usize::try_from(b).ok());
        let count = usize::try_from(problem.blocks).unwrap_or(usize::MAX);
        let painted = paints.iter_mut().skip(first.unwrap_or(usize::MAX));
        painted.take(count).for_each(|p| *p = ansi);
    }
    let rows = letters.chunks(COLUMNS).zip(paints.chunks(COLUMNS));
    for (letters, paints) in rows {
        let mut row = String::new();
        let mut rest = letters;
        for alike in paints.chunk_by(|a, b| a == b) {
            let (now, later) = rest.split_at(alike.len().min(rest.len()));
            let ansi = alike.first().copied().unwrap_or(PLAIN);
            row.push_str(&screen.paint(ansi, &String::from_utf8_lossy(now)));
            rest = later;
        }
        screen.line(&row);
    }
}

fn of_letter(letter: u8) -> Ansi {
    match letter {
        b'S' | b's' => GOOD,
        b'=' | b'-' => WARN,
        b'B' => BAD,
        _ => DIM,
    }
}

/// What the characters stand for, with counts.
fn classes(screen: &mut Screen, report: &Report) {
    screen.heading("Blocks", "");
    for class in Class::ALL {
        let count = report.count(class);
        if count == 0 {
            continue;
        }
        let (letter, ansi, words) = match class {
            Class::Bad => ("B", BAD, "bad"),
            Class::Erased => (".", DIM, "erased"),
            Class::ErasedCleanmarker => (".", DIM, "erased, with a clean marker"),
            Class::Partial => ("-", WARN, "less than half used, without a summary"),
            Class::PartialSummary => ("s", GOOD, "less than half used, with a summary"),
            Class::Full => ("=", WARN, "at least half used, without a summary"),
            Class::FullSummary => ("S", GOOD, "at least half used, with a summary"),
            Class::BrokenSummary => ("-=", BAD, "with a summary that the kernel will not use"),
            Class::Foreign => ("-=", OTHER, "not JFFS2"),
        };
        let letter = screen.paint(ansi, &right(letter, 4));
        let count = right(&thousands(count), 9);
        screen.line(&format!("{letter}  {count}  {words}"));
    }
    let bytes = report.bytes;
    let rows = [
        (bytes.nodes, "in nodes"),
        (bytes.summaries, "in summaries"),
        (bytes.obsolete, "in obsolete nodes"),
        (bytes.damaged, "in damaged nodes"),
        (bytes.garbage, "in no node"),
        (bytes.foreign, "not JFFS2"),
    ];
    screen.heading("Bytes", "");
    for (count, what) in rows.into_iter().filter(|(count, _)| *count > 0) {
        screen.line(&format!("      {}  {what}", right(&size::show(count), 9)));
    }
}

/// How bad a problem looks on the screen, what it is, and what to do about it.
fn told(what: &What) -> Told {
    let ansi = match what {
        What::NoSummary { .. } | What::NoCleanmarker { .. } | What::EraseSizeAssumed => WARN,
        What::Foreign(_) => OTHER,
        _ => BAD,
    };
    (ansi, what.to_string(), what.advice())
}

fn mount(screen: &mut Screen, report: &Report) {
    let mount = &report.mount;
    let profile = mount.profile;
    let about = format!(
        "estimated for {}, {} % either way",
        profile.name, profile.error_percent
    );
    screen.heading("Mount time", &about);
    let rows = [
        (mount.now_ns, "as the image is", BOLD),
        (mount.scan_ns, "without any summary", PLAIN),
        (
            mount.summary_ns,
            "with a summary in each block but the last, which stays open",
            PLAIN,
        ),
    ];
    for (ns, what, ansi) in rows {
        let time = Nanos(i64::try_from(ns).unwrap_or(i64::MAX)).to_string();
        let line = format!("      {}  {}", right(&time, 9), what);
        let line = screen.paint(ansi, line.trim_end());
        screen.line(&line);
    }
    screen.wrapped("", 6, DIM, profile.source);
}
