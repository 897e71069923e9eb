//! What the console cost, as a part of a boot's screen.

use super::layout::{DIM, PLAIN, Screen, fit, left, time};
use super::place::place;
use crate::words::{counted, thousands};
use analysis::{Boot, Console, Delay, Flush, RateSource, Written};
use record::{ClockKind, Nanos};

const LABEL: usize = 10;

/// A late line is worth a row from here on.
const LATE: Nanos = Nanos(10_000_000);

pub(super) fn section(screen: &mut Screen, boot: &Boot) {
    let Some(console) = &boot.console else { return };
    // In virtual time a line takes none; a console that only has a name cost nothing.
    let silent = console.kernel.lines == 0 && console.others.is_none_or(|o| o.lines == 0);
    let nothing = silent && console.flush.is_none();
    if nothing || boot.phases.clock == Some(ClockKind::Virtual) {
        return;
    }
    screen.heading("Console", &about(console));
    row(screen, "kernel", &written(&console.kernel));
    if let Some(others) = console.others.filter(|o| o.lines > 0) {
        row(screen, "others", &written(&others));
    }
    if let Some(flush) = &console.flush {
        row(screen, "flush", &flush_text(flush));
    }
    if let Some(delay) = &console.delay {
        delays(screen, delay);
    }
}

fn about(console: &Console) -> String {
    let name = console.name.as_deref().unwrap_or("serial line");
    match console.rate {
        Some(rate) => {
            let from = match rate.from {
                RateSource::Capture => "as set on the capturing port",
                RateSource::CommandLine => "from the kernel command line",
                RateSource::Arrivals => "estimated from the arrival of bytes",
                RateSource::Flush => "estimated from the flush when it was enabled",
            };
            let faster = if rate.kept {
                ""
            } else {
                "; bytes arrived faster, so this is an emulated UART"
            };
            let baud = thousands(rate.baud.unsigned_abs());
            format!("{name}, {baud} baud ({from}){faster}")
        }
        None => format!("{name}, baud rate unknown"),
    }
}

/// `30 lines (1,234 bytes)`.
fn amount(w: &Written) -> String {
    let lines = counted(usize::try_from(w.lines).unwrap_or(usize::MAX), "line");
    format!("{lines} ({} bytes)", thousands(w.bytes.unsigned_abs()))
}

fn written(w: &Written) -> String {
    match w.time {
        Some(time) => format!("{} before first light: {time} to send", amount(w)),
        None => format!("{} before first light", amount(w)),
    }
}

fn flush_text(flush: &Flush) -> String {
    let w = &flush.written;
    let rate = w
        .time
        .map_or_else(String::new, |t| format!("; {t} at this baud rate"));
    let text = format!("{} buffered before the console was enabled", amount(w));
    if flush.measured {
        format!("{} for {text}{rate}", flush.end - flush.start)
    } else {
        format!("{text}{rate}; not measured, as the kernel clock was not running yet")
    }
}

fn delays(screen: &mut Screen, delay: &Delay) {
    let error = delay
        .error
        .map_or_else(String::new, |e| format!(" (up to {e} more)"));
    let mut text = format!(
        "median {} of {}, 95 % within {}, maximum {}{error}",
        delay.median,
        counted(delay.lines, "line"),
        delay.most,
        delay.longest
    );
    if let Some(missing) = delay.not_on_console.filter(|m| *m > 0) {
        text += &format!(
            "; {} never reached the console",
            counted(missing, "log line")
        );
    }
    row(screen, "delay", &text);
    for line in delay.latest.iter().filter(|l| l.delay >= LATE) {
        let room = screen.width().saturating_sub(2 + LABEL + 2 + 9 + 2);
        let text = if line.text.is_empty() {
            place(&line.place)
        } else {
            line.text.clone()
        };
        let text = format!(
            "  {}  {}  {}",
            left("", LABEL),
            time(Some(line.delay)),
            screen.paint(DIM, &fit(&text, room))
        );
        screen.line(&text);
    }
}

fn row(screen: &mut Screen, label: &str, text: &str) {
    screen.wrapped(&format!("  {label}"), 2 + LABEL + 2, PLAIN, text);
}
