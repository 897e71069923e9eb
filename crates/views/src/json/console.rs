//! The console's part of `firstlight.show/1`.

use super::Place;
use serde::Serialize;

/// What the console cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowConsole {
    /// Its device; null if no source names it.
    pub name: Option<String>,
    /// The rate of its line; null if it is not known.
    pub rate: Option<ShowRate>,
    /// What the kernel wrote until first light.
    pub kernel: ShowWritten,
    /// What others wrote until then; null if no host listened.
    pub others: Option<ShowWritten>,
    /// The flush when it was enabled; null if there was none.
    pub flush: Option<ShowFlush>,
    /// How late lines came; null if no host listened.
    pub delay: Option<ShowDelay>,
}

/// The rate of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowRate {
    /// Bits in a second.
    pub baud: i64,
    /// Bits that a byte takes.
    pub bits_per_byte: i64,
    /// `capture`, `command_line` or `arrivals`.
    pub from: &'static str,
    /// Whether bytes came no faster.
    pub kept: bool,
}

/// Lines on a console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowWritten {
    /// How many lines.
    pub lines: u64,
    /// How many bytes.
    pub bytes: i64,
    /// How long the line needs for them; null if its rate is not known.
    pub line_time_ns: Option<i64>,
}

/// The flush when the console was enabled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowFlush {
    /// The last stamp before it.
    pub start_ns: i64,
    /// The stamp of the line that says so.
    pub end_ns: i64,
    /// Whether the kernel's clock ran at the start.
    pub measured: bool,
    /// What was written.
    pub written: ShowWritten,
    /// The evidence.
    pub origin: Place,
}

/// How late lines came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowDelay {
    /// How many have both times.
    pub lines: usize,
    /// How many of the kernel log's never came; null without one.
    pub not_on_console: Option<usize>,
    /// The bound of the error; null if nothing relates the clocks.
    pub error_ns: Option<i64>,
    /// The one in the middle.
    pub median_ns: i64,
    /// 95 of 100 are no longer.
    pub p95_ns: i64,
    /// The longest.
    pub max_ns: i64,
    /// The latest lines.
    pub latest: Vec<ShowLateLine>,
}

/// A line that came late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShowLateLine {
    /// What it says.
    pub text: String,
    /// When the kernel stamped it.
    pub stamped_ns: i64,
    /// When its first character arrived.
    pub arrived_ns: i64,
    /// The difference.
    pub delay_ns: i64,
    /// The evidence.
    pub origin: Place,
}

pub(super) fn console(c: &analysis::Console) -> ShowConsole {
    ShowConsole {
        name: c.name.clone(),
        rate: c.rate.map(|r| ShowRate {
            baud: r.baud,
            bits_per_byte: r.bits_per_byte,
            from: r.from.as_str(),
            kept: r.kept,
        }),
        kernel: written(&c.kernel),
        others: c.others.as_ref().map(written),
        flush: c.flush.as_ref().map(|f| ShowFlush {
            start_ns: f.start.get(),
            end_ns: f.end.get(),
            measured: f.measured,
            written: written(&f.written),
            origin: Place::from(&f.place),
        }),
        delay: c.delay.as_ref().map(|d| ShowDelay {
            lines: d.lines,
            not_on_console: d.not_on_console,
            error_ns: d.error.map(record::Nanos::get),
            median_ns: d.median.get(),
            p95_ns: d.most.get(),
            max_ns: d.longest.get(),
            latest: d.latest.iter().map(late_line).collect(),
        }),
    }
}

fn written(w: &analysis::Written) -> ShowWritten {
    ShowWritten {
        lines: w.lines,
        bytes: w.bytes,
        line_time_ns: w.time.map(record::Nanos::get),
    }
}

fn late_line(l: &analysis::LateLine) -> ShowLateLine {
    ShowLateLine {
        text: l.text.clone(),
        stamped_ns: l.stamped.get(),
        arrived_ns: l.arrived.get(),
        delay_ns: l.delay.get(),
        origin: Place::from(&l.place),
    }
}
