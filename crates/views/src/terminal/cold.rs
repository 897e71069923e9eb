//! The screen of `firstlight cold`.

use crate::json::{Cold, ColdBounds};
use crate::words::size;

/// The report for a reader, at most `width` columns where paths allow it.
#[must_use]
pub fn cold(report: &Cold, width: usize) -> String {
    let mut text = format!("{}\n", report.command.join(" "));
    if let Some(host) = &report.host {
        text += &format!("on {host}\n");
    }
    text +=
        "\n  case                  median   95 % interval           cpu    from storage  waited\n";
    for case in &report.cases {
        text += &format!(
            "  {:<18} {:>9}   {:<20} {:>9}   {:>11}  {}\n",
            case.case.replace('_', " and "),
            time(case.bounds.median_ns),
            range(&case.bounds),
            time(case.processor_ns),
            size(u64::try_from(case.read_bytes).unwrap_or(0)),
            case.storage_wait_ns.map_or_else(|| "-".to_owned(), time),
        );
    }
    let median = |name: &str| {
        let case = report.cases.iter().find(|c| c.case == name);
        case.map_or(0, |c| c.bounds.median_ns)
    };
    let costs = &report.cold_costs;
    text += &format!(
        "\nA cold start takes {} more ({}), {:.1} times a warm one; {} runs each.\n",
        time(costs.median_ns),
        range(costs),
        median("cold") as f64 / (median("warm").max(1)) as f64,
        report.runs
    );
    let remedies = [
        ("Reading ahead", &report.prefetch_saves),
        ("The other order", &report.order_saves),
        ("Both together", &report.order_prefetch_saves),
    ];
    for (what, saves) in remedies {
        if let Some(saves) = saves {
            text += &saved(what, saves, costs);
        }
    }
    for moved in &report.moved {
        text += &format!(
            "On {}, {} of {} files lay one behind the other: {} discontinuities, {} before{}\n",
            moved.place,
            size(moved.bytes),
            moved.files,
            moved.discontinuities,
            moved.discontinuities_before,
            match moved.is_back {
                true => "; they are back.",
                false => ".",
            }
        );
        for file in &moved.skipped {
            text += &format!("  stayed: {}: {}\n", file.path.escape_debug(), file.reason);
        }
    }
    if let Some(reads) = &report.reads {
        text += &format!(
            "\nIt reads {} of {} files in {} pieces, {} of metadata, and opens {} directories.\n",
            size(reads.bytes),
            reads.files,
            reads.pieces,
            size(reads.metadata_bytes),
            reads.directories
        );
        for from in &reads.filesystems {
            text += &format!(
                "  {:>10} of {} files from {} ({} on {})\n",
                size(from.bytes),
                from.files,
                from.place,
                from.kind,
                from.device
            );
        }
        text += "\n       bytes  pieces  file\n";
        for file in &reads.largest {
            text += &format!(
                "  {:>10}  {:>6}  {}\n",
                size(file.bytes),
                file.pieces,
                file.path.escape_debug()
            );
        }
    }
    if !report.notes.is_empty() {
        text.push('\n');
    }
    for note in &report.notes {
        let mut column = 0;
        for word in format!("note: {note}").split(' ') {
            if column > 0 && column + word.len() + 1 > width {
                text.push_str("\n ");
                column = 1;
            }
            if column > 0 {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += word.len();
        }
        text.push('\n');
    }
    text
}

/// What a remedy brings.
fn saved(what: &str, saves: &ColdBounds, costs: &ColdBounds) -> String {
    match (saves.low_ns > 0, saves.high_ns < 0) {
        (true, _) => format!(
            "{what} saves {} ({}), {:.0} % of that.\n",
            time(saves.median_ns),
            range(saves),
            saves.median_ns as f64 * 100.0 / costs.median_ns.max(1) as f64
        ),
        (_, true) => format!(
            "{what} makes it slower, by {} ({}).\n",
            time(-saves.median_ns),
            range(saves)
        ),
        _ => format!(
            "{what} makes no difference that can be seen ({}).\n",
            range(saves)
        ),
    }
}

fn range(bounds: &ColdBounds) -> String {
    format!("{} to {}", time(bounds.low_ns), time(bounds.high_ns))
}

/// Durations print as `1.234 s`, `56.7 ms`, `890 us`.
fn time(ns: i64) -> String {
    match ns.unsigned_abs() {
        0..1_000_000 => format!("{} us", ns / 1000),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.3} s", ns as f64 / 1e9),
    }
}
