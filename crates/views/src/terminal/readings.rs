//! Series of readings: their course, mean and peak.

use super::layout::Screen;
use super::table::{Column, Table, cell};
use analysis::Readings;
use record::Unit;

/// Heights of a peak, in eighths of a line.
const HEIGHTS: [char; 9] = [
    ' ', '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}',
    '\u{2588}',
];

/// How many series fit the screen of a boot that has very many.
const ROWS: usize = 16;

/// The columns beside the curves.
const BESIDE: usize = 2 + 24 + 2 + 2 + 10 + 2 + 10;

/// A line for each series.
pub(super) fn readings(screen: &mut Screen, all: &[Readings]) {
    let moved: Vec<&Readings> = all.iter().filter(|r| r.min != 0 || r.max != 0).collect();
    let total = all.len();
    if total == 0 {
        return;
    }
    let still = total - moved.len();
    let about = match (moved.len().min(ROWS), still) {
        (shown, 0) if shown == total => format!("{total} series"),
        (shown, 0) => format!("{shown} of {total} series"),
        (shown, still) => format!("{shown} of {total} series; {still} stayed at zero"),
    };
    screen.heading("Resource use", &about);
    let width = screen.width().saturating_sub(BESIDE);
    let width = width.min(all.iter().map(|r| r.peaks.len()).max().unwrap_or(0));
    let mut table = Table::new([
        Column::path("series"),
        Column::text("peaks over time").at_least(width),
        Column::number("mean"),
        Column::number("peak"),
    ]);
    for r in moved.into_iter().take(ROWS) {
        let name = match &r.of {
            Some(of) => format!("{} {of}", r.name),
            None => r.name.clone(),
        };
        table.row([
            cell(name),
            cell(curve(r, width)),
            cell(value(r.mean, r.unit)),
            cell(value(r.max, r.unit)),
        ]);
    }
    table.print(screen);
}

/// Peaks as heights, in `width` columns.
fn curve(r: &Readings, width: usize) -> String {
    let most = match r.unit {
        Unit::Permille => 1_000,
        Unit::Bytes | Unit::BytesPerSecond | Unit::Count => r.max,
    };
    let column = |at: usize| {
        let from = at * r.peaks.len() / width.max(1);
        let to = (at + 1) * r.peaks.len() / width.max(1);
        let peaks = r.peaks.get(from..to.max(from + 1)).unwrap_or_default();
        let Some(peak) = peaks.iter().flatten().max() else {
            return ' ';
        };
        let eighths = (i128::from(*peak) * 8).checked_div(i128::from(most));
        let eighths = eighths.map_or(0, |e| e.clamp(0, 8));
        // Something is never shown as nothing.
        let least = usize::from(*peak > 0);
        let height = usize::try_from(eighths).unwrap_or(0).max(least);
        HEIGHTS.get(height).copied().unwrap_or(' ')
    };
    (0..width).map(column).collect()
}

/// A value with its unit: `98.4 %`, `12.3 MB/s`.
fn value(value: i64, unit: Unit) -> String {
    match unit {
        Unit::Permille => format!("{}.{} %", value / 10, (value % 10).abs()),
        Unit::Bytes => bytes(value),
        Unit::BytesPerSecond => format!("{}/s", bytes(value)),
        Unit::Count => value.to_string(),
    }
}

fn bytes(value: i64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    let mut tenths = i128::from(value) * 10;
    let mut unit = "B";
    for next in UNITS {
        if tenths.abs() < 10_000 {
            break;
        }
        tenths = (tenths + 500) / 1_000;
        unit = next;
    }
    if unit == "B" {
        return format!("{value} B");
    }
    format!("{}.{} {unit}", tenths / 10, (tenths % 10).abs())
}

#[cfg(test)]
mod tests {
    use super::{bytes, value};
    use record::Unit;

    #[test]
    fn values_have_their_units() {
        for (of, unit, text) in [
            (984, Unit::Permille, "98.4 %"),
            (999, Unit::Bytes, "999 B"),
            (12_345, Unit::Bytes, "12.3 kB"),
            (1_234_567_890, Unit::BytesPerSecond, "1.2 GB/s"),
            (7, Unit::Count, "7"),
        ] {
            assert_eq!(value(of, unit), text);
        }
        assert_eq!(bytes(i64::MAX), "9223.4 PB");
    }
}
