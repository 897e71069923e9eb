//! Screens of `firstlight prefetch`.

use crate::json::{
    PrefetchImport, PrefetchInstall, PrefetchMerge, PrefetchPlan, PrefetchRecord, PrefetchReplay,
    PrefetchSimulation,
};
use crate::words::size;

/// What a list would read: the first `top` files; 0 is all.
#[must_use]
pub fn plan(report: &PrefetchPlan, top: usize) -> String {
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
        "\n{} of {} files ({} libraries, {} of fonts) in {} pieces, and {} of metadata in {}\n",
        size(report.bytes),
        report.files.len(),
        report.libraries,
        report.fonts,
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

/// What a list's owner would wait for devices.
#[must_use]
pub fn simulation(report: &PrefetchSimulation) -> String {
    let ms = |ns: u64| format!("{:.1}", ns as f64 / 1e6);
    let mut text = format!(
        "{}: {} ms of work, {} to read; times in ms until the last need is met\n\n",
        report.list,
        ms(report.work_ns),
        size(report.bytes)
    );
    text += "  storage         demand  requests    prefetch  requests     ordered  requests       limit\n";
    for row in &report.profiles {
        text += &format!(
            "  {:<11} {:>10} {:>9} {:>11} {:>9} {:>11} {:>9} {:>11}\n",
            row.storage,
            ms(row.demand.total_ns),
            row.demand.requests,
            ms(row.prefetch.total_ns),
            row.prefetch.requests,
            ms(row.ordered.total_ns),
            row.ordered.requests,
            ms(row.limit_ns)
        );
    }
    if report.missing_files > 0 {
        text += &format!(
            "\n{} files are not there any more, or changed, and are left out\n",
            report.missing_files
        );
    }
    text
}

/// A list that was made of a capture.
#[must_use]
pub fn import(done: &PrefetchImport) -> String {
    format!(
        "{}: {} of {} files, {} of metadata\n",
        done.list,
        size(done.bytes),
        done.files,
        size(done.metadata_bytes)
    )
}

/// A list that was merged.
#[must_use]
pub fn merge(done: &PrefetchMerge) -> String {
    format!(
        "{}: {} recordings, {} files, {} ranges, {} of them in every recording\n",
        done.list, done.recordings, done.files, done.ranges, done.always
    )
}

/// A list that was recorded.
#[must_use]
pub fn record(done: &PrefetchRecord) -> String {
    let mut text = format!(
        "{}: {} of {} files, {} of metadata, {} directories",
        done.list,
        size(done.bytes),
        done.files,
        size(done.metadata_bytes),
        done.directories
    );
    if done.around_bytes > 0 {
        text += &format!(
            "; {} more were in use by other programs, and perhaps touched",
            size(done.around_bytes)
        );
    }
    text.push('\n');
    text
}

/// A list that was played.
#[must_use]
pub fn replay(done: &PrefetchReplay) -> String {
    format!(
        "{} of {} files read ahead in {} reads, {:.1} ms; {} were in memory; {} files are not what \
         was recorded\n",
        size(done.bytes),
        done.files,
        done.reads,
        done.elapsed_ns as f64 / 1e6,
        size(done.resident_bytes),
        done.stale
    )
}

/// A prefetcher that was installed or removed, or would be.
#[must_use]
pub fn install(done: &PrefetchInstall) -> String {
    super::changes(done.action, &done.root, done.done, &done.changes)
}
