//! The console's part of `firstlight.show/1`.

use super::place::Place;
use schemars::JsonSchema;
use serde::Serialize;

/// Cost of the console.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowConsole {
    /// Device of the console; null if unknown.
    pub name: Option<String>,
    /// Line rate; null if unknown.
    pub rate: Option<ShowRate>,
    /// Output of the kernel up to first light.
    pub kernel: ShowWritten,
    /// Output of other programs up to first light; null if no host captured the console.
    pub others: Option<ShowWritten>,
    /// Output of earlier messages when the console was enabled; null if there was none.
    pub flush: Option<ShowFlush>,
    /// Delay of console lines: arrival of the first character after the kernel's time stamp.
    /// Null if no host captured the console.
    pub delay: Option<ShowDelay>,
}

/// Rate of a serial line.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowRate {
    /// Bits per second.
    #[schemars(range(min = 1))]
    pub baud: i64,
    /// Bits per byte on the line, including start and stop bits.
    #[schemars(range(min = 1))]
    pub bits_per_byte: i64,
    /// Where the rate comes from.
    #[schemars(extend("enum" = ["capture", "command_line", "arrivals", "flush"]))]
    pub from: &'static str,
    /// Whether bytes arrived no faster than this rate. If false, the line belongs to an
    /// emulator and takes no time.
    pub kept: bool,
}

/// Amount of output on the console.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowWritten {
    /// Number of lines.
    pub lines: u64,
    /// Number of bytes.
    #[schemars(range(min = 0))]
    pub bytes: i64,
    /// Time that the line needs to transmit them; null if its rate is unknown.
    pub line_time_ns: Option<i64>,
}

/// Output of earlier messages when the console was enabled.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowFlush {
    /// Last time stamp before the output.
    pub start_ns: i64,
    /// Time stamp of the line that reports the new console.
    pub end_ns: i64,
    /// Whether the kernel's clock was running at the start.
    pub measured: bool,
    /// Amount of output.
    pub written: ShowWritten,
    /// Evidence.
    pub origin: Place,
}

/// Delay of console lines.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowDelay {
    /// Number of lines with both times.
    pub lines: usize,
    /// Number of kernel log lines that never reached the console; null without a kernel log.
    pub not_on_console: Option<usize>,
    /// All delays may be longer by up to this; null if the two clocks cannot be aligned.
    pub error_ns: Option<i64>,
    /// Median delay.
    pub median_ns: i64,
    /// 95th percentile of the delay.
    pub p95_ns: i64,
    /// Longest delay.
    pub max_ns: i64,
    /// Lines with the longest delays.
    pub latest: Vec<ShowLateLine>,
}

/// A console line that arrived late.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ShowLateLine {
    /// Text of the line.
    pub text: String,
    /// Time stamp of the kernel.
    pub stamped_ns: i64,
    /// Arrival of the first character.
    pub arrived_ns: i64,
    /// Arrival minus time stamp.
    pub delay_ns: i64,
    /// Evidence.
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
