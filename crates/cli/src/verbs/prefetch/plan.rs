//! `firstlight prefetch plan`: what a list would read.

use super::args::Plan;
use crate::out::Out;
use crate::size::show as size;
use agent::access::{AccessList, Entry, RangeKind};
use agent::prefetch::{INFILL_BYTES, State, infilled, state_of};
use anyhow::{Result, bail};
use views::json::{
    self, Document, PrefetchAround, PrefetchFile, PrefetchInfill, PrefetchMetadata, PrefetchPlan,
    PrefetchRange,
};

/// Prints the plan.
pub fn run(args: &Plan, out: &mut Out) -> Result<()> {
    if !(0.0..=1.0).contains(&args.stable) {
        bail!("--stable takes a part from 0 to 1, and not {}", args.stable);
    }
    let mut list = super::read(&args.on.list)?;
    let least = args.stable * f64::from(list.recordings);
    for entry in &mut list.entries {
        entry.ranges.retain(|r| f64::from(r.seen) >= least);
    }
    list.entries.retain(|e| !e.ranges.is_empty());
    let report = report(args, &list);
    match out.json {
        true => out.text(&json::text(&report)),
        false => out.text(&screen(&report, args.top)),
    }
}

fn pieces(entry: &Entry, kind: RangeKind, page_bytes: u32) -> Vec<PrefetchRange> {
    let pieces = entry.pieces(kind, page_bytes).into_iter();
    pieces
        .map(|(offset, len)| PrefetchRange { offset, len })
        .collect()
}

fn word(state: State) -> &'static str {
    match state {
        State::Same => "same",
        State::Moved => "moved",
        State::Changed => "changed",
        State::Missing => "missing",
    }
}

fn report(args: &Plan, list: &AccessList) -> PrefetchPlan {
    let (mut bytes, mut requests) = (0, 0);
    let (mut infill_bytes, mut infill_requests) = (0, 0);
    let mut files = Vec::new();
    let (mut around, mut metadata) = (Vec::new(), Vec::new());
    let mut entries: Vec<&Entry> = list.entries.iter().collect();
    entries.sort_by_key(|e| e.first_us());
    for entry in entries {
        let path = String::from_utf8_lossy(&entry.path).into_owned();
        let ranges = pieces(entry, RangeKind::Touched, list.page_bytes);
        let state = word(state_of(&args.on.root, entry));
        if entry.is_device() {
            metadata.push(PrefetchMetadata {
                filesystem: path,
                ranges,
                state,
            });
            continue;
        }
        let near = pieces(entry, RangeKind::Around, list.page_bytes);
        if !near.is_empty() {
            let (path, ranges) = (path.clone(), near);
            around.push(PrefetchAround { path, ranges });
        }
        if ranges.is_empty() {
            continue;
        }
        bytes += ranges.iter().map(|r| r.len).sum::<u64>();
        requests += ranges.len() as u64;
        let wide = infilled(
            &entry.pieces(RangeKind::Touched, list.page_bytes),
            INFILL_BYTES,
            &|_, _| true,
        );
        infill_bytes += wide.iter().map(|p| p.1).sum::<u64>();
        infill_requests += wide.len() as u64;
        let (seen, all) = entry.ranges.iter().fold((0, 0), |(seen, all), r| {
            (seen + r.pages * u64::from(r.seen), all + r.pages)
        });
        let program = list.programs.get(entry.program as usize);
        files.push(PrefetchFile {
            path,
            ranges,
            first_need_ns: entry.first_us().saturating_mul(1000),
            program: program.cloned().unwrap_or_default(),
            stability: seen as f64 / (all.max(1) as f64 * f64::from(list.recordings.max(1))),
            state,
        });
    }
    PrefetchPlan {
        schema: PrefetchPlan::SCHEMA,
        list: args.on.list.display().to_string(),
        title: list.title.clone(),
        machine: list.machine.clone(),
        recordings: list.recordings,
        files,
        bytes,
        requests,
        infill: PrefetchInfill {
            gap_bytes: INFILL_BYTES,
            bytes: infill_bytes.saturating_sub(bytes),
            requests: infill_requests,
        },
        around,
        metadata,
        directories: list.directories,
    }
}

fn screen(report: &PrefetchPlan, top: usize) -> String {
    let mut text = format!(
        "{}: {} ({} {})\n\n",
        report.list,
        report.title,
        report.recordings,
        if report.recordings == 1 {
            "recording"
        } else {
            "recordings"
        },
    );
    let top = if top == 0 { usize::MAX } else { top };
    if !report.files.is_empty() {
        text += "    first need       bytes  pieces  file\n";
    }
    for file in report.files.iter().take(top) {
        let bytes: u64 = file.ranges.iter().map(|r| r.len).sum();
        text += &format!(
            "{:>11.3} ms {:>11} {:>7}  {}{}\n",
            file.first_need_ns as f64 / 1e6,
            size(bytes),
            file.ranges.len(),
            file.path.escape_debug(),
            if file.state == "same" {
                String::new()
            } else {
                format!(" ({})", file.state)
            },
        );
    }
    let more = report.files.len().saturating_sub(top);
    if more > 0 {
        text += &format!("  and {more} more; --top 0 shows all\n");
    }
    let metadata: u64 = report
        .metadata
        .iter()
        .flat_map(|m| &m.ranges)
        .map(|r| r.len)
        .sum();
    let metadata_pieces: usize = report.metadata.iter().map(|m| m.ranges.len()).sum();
    text += &format!(
        "\n{} of {} files in {} pieces, and {} of metadata in {}\n",
        size(report.bytes),
        report.files.len(),
        report.requests,
        size(metadata),
        metadata_pieces,
    );
    text += &format!(
        "with holes of up to {} read as well: {} more, in {} pieces\n",
        size(report.infill.gap_bytes),
        size(report.infill.bytes),
        report.infill.requests
    );
    let around: u64 = report
        .around
        .iter()
        .flat_map(|a| &a.ranges)
        .map(|r| r.len)
        .sum();
    if around > 0 {
        text += &format!(
            "{} more in {} files were in use by other programs, and perhaps touched\n",
            size(around),
            report.around.len()
        );
    }
    let stale = report
        .files
        .iter()
        .filter(|f| matches!(f.state, "changed" | "missing"));
    match stale.count() {
        0 => {}
        n => text += &format!("{n} files changed since, or are gone: they are not read ahead\n"),
    }
    text
}
