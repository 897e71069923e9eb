//! Lines of a console as they come in.

use super::layout::{DIM, clean, fit};
use super::style::Style;
use crate::json::Capture;
use record::Nanos;

/// A console that was captured: `why` it ended, and how long the adapter may keep
/// characters back, in milliseconds.
#[must_use]
pub fn serial_capture(done: &Capture, why: &str, latency_ms: Option<u32>) -> String {
    let mut text = String::new();
    if let Some(serial) = &done.serial {
        text += &format!(
            "{}: {} lines, {} bytes; {why}\n",
            done.capture, serial.lines, serial.bytes
        );
        let widest = serial.marks.iter().map(|m| m.name.chars().count()).max();
        let widest = widest.unwrap_or(0);
        for mark in &serial.marks {
            let at = Nanos(mark.at_ns).to_string();
            text += &format!("  {:widest$}  {at:>10}  {}\n", mark.name, mark.text);
        }
    }
    if let Some(serial) = done.serial.as_ref().filter(|s| s.resets > 1) {
        text += &format!(
            "firstlight: {} resets; times count from the last one\n",
            serial.resets
        );
    }
    for loss in &done.missing {
        text += &format!("firstlight: {loss}\n");
    }
    if let Some(ms) = latency_ms {
        text += &format!(
            "firstlight: the adapter may keep characters back for {ms} ms; for better stamps write 1 \
             into its latency_timer in /sys/class/tty/*/device\n"
        );
    }
    text
}

/// A boot of a board that was captured.
#[must_use]
pub fn board_capture(done: &Capture) -> String {
    let mut text = String::new();
    let Some(board) = &done.board else {
        return text;
    };
    let time =
        |ns: Option<i64>| ns.map_or_else(|| "unknown".to_owned(), |ns| Nanos(ns).to_string());
    let light = board.first_light_ns.power_on;
    let mut rows = vec![("first light from power-on", time(light))];
    if let Some(ns) = board.first_light_ns.loader {
        rows.push(("first light from the loader", time(Some(ns))));
    }
    if let Some(ns) = board.light_error_ns.filter(|ns| *ns > 0) {
        rows.push(("first light is late by at most", time(Some(ns))));
    }
    rows.push((
        "power-on is late by at most",
        time(Some(board.power_error_ns)),
    ));
    rows.push(("time without power before", time(board.off_ns)));
    rows.push(("resets", board.resets.to_string()));
    text += &format!("{}: {} files\n", done.capture, done.files.len());
    let state = board.state.iter();
    let state = state.map(|v| (v.name.as_str(), v.value.to_string()));
    for (name, value) in rows.into_iter().chain(state) {
        text += &format!("  {:30}  {:>10}\n", clean(name), clean(&value));
    }
    for note in &done.missing {
        text += &format!("firstlight: {}\n", clean(note));
    }
    text
}

/// A line of a console, behind the stamps `[first delta last]`, in seconds:
/// when its first character arrived, how long after that of the line before,
/// and when its last character arrived; dots as long as that has not.
///
/// The first two stand as grabserial prints them. An open line is cut to what a
/// terminal can draw again.
#[must_use]
pub fn serial_line(
    first: Nanos,
    delta: Nanos,
    last: Option<Nanos>,
    text: &str,
    style: &Style,
) -> String {
    let end = last.map_or_else(|| "...".to_owned(), seconds);
    let stamps = format!("[{:>11} {:>9} {end:>11}]", seconds(first), seconds(delta));
    let text = text.replace('\t', "    ");
    let text = match last {
        Some(_) => clean(&text),
        None => fit(&text, style.width.saturating_sub(stamps.len() + 2)),
    };
    if style.color {
        format!("{DIM}{stamps}{DIM:#} {text}")
    } else {
        format!("{stamps} {text}")
    }
}

/// Seconds with six digits; they are cut, as a later line never gets an
/// earlier stamp by that.
fn seconds(t: Nanos) -> String {
    let sign = if t < Nanos::ZERO { "-" } else { "" };
    let us = t.get().unsigned_abs() / 1_000;
    format!("{sign}{}.{:06}", us / 1_000_000, us % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::serial_line;
    use crate::terminal::Style;
    use record::Nanos;

    #[test]
    fn a_line_stands_behind_its_stamps() {
        let us = |us: i64| Nanos(us * 1_000);
        let style = Style {
            color: false,
            width: 60,
        };
        assert_eq!(
            serial_line(
                us(12_345_678),
                us(1_234),
                Some(us(12_350_000)),
                "U-Boot \x1b7",
                &style
            ),
            "[  12.345678  0.001234   12.350000] U-Boot \u{fffd}7"
        );
        let open = serial_line(us(-5), us(0), None, &"x".repeat(99), &style);
        assert!(
            open.starts_with("[  -0.000005  0.000000         ...] xxx"),
            "{open}"
        );
        assert!(open.chars().count() < 60);
    }
}
