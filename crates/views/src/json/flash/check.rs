//! `firstlight.flash.check/1`.

use flash::jffs2::detect::{EraseSize, Evidence};
use flash::jffs2::{Class, Oob, Report};
use serde::Serialize;
use std::collections::BTreeMap;

/// Erase blocks of a JFFS2 image, its problems, and its mount time. Sizes are in bytes.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Check<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as crate::json::Document>::SCHEMA))]
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
    /// Memory that a mount takes for the summary of the block being written, in a kernel with
    /// CONFIG_JFFS2_SUMMARY.
    summary_memory_bytes: u32,
    /// Problems.
    problems: Vec<JsonProblem>,
    /// Estimated mount time.
    mount_estimate_ns: JsonMount,
    /// Estimated mount time of the image as it is.
    mount_now_ns: u64,
    /// Flash chip of the estimates.
    storage: JsonStorage,
}

impl crate::json::Document for Check<'_> {
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

impl<'a> Check<'a> {
    /// The document of a report; `image` is the path.
    #[must_use]
    pub fn of(image: &'a str, report: &'a Report) -> Self {
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
            schema: <Check<'_> as crate::json::Document>::SCHEMA,
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
            summary_memory_bytes: report.summary_memory(),
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
