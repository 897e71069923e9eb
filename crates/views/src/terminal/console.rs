//! What the console cost, as a part of a boot's screen.

use super::layout::{DIM, PLAIN, Screen, fit, left, time};
use crate::words::thousands;
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
    let name = console.name.as_deref().unwrap_or("a serial line");
    match console.rate {
        Some(rate) => {
            let from = match rate.from {
                RateSource::Capture => "as the port was set that listened",
                RateSource::CommandLine => "by the command line",
                RateSource::Arrivals => "by how fast bytes came",
            };
            let faster = if rate.kept {
                ""
            } else {
                ", but bytes came faster: an emulator's line"
            };
            let baud = thousands(rate.baud.unsigned_abs());
            format!("{name}, {baud} baud {from}{faster}")
        }
        None => format!("{name}, rate unknown"),
    }
}

fn written(w: &Written) -> String {
    let bytes = thousands(w.bytes.unsigned_abs());
    let amount = format!("{} lines, {bytes} bytes", thousands(w.lines));
    match w.time {
        Some(time) => format!("{amount}: {time} of the line's time until first light"),
        None => format!("{amount} until first light"),
    }
}

fn flush_text(flush: &Flush) -> String {
    let w = &flush.written;
    let amount = format!(
        "{} lines, {} bytes when it was enabled",
        thousands(w.lines),
        thousands(w.bytes.unsigned_abs())
    );
    let by_rate = w
        .time
        .map_or_else(String::new, |t| format!(", {t} by the rate"));
    if flush.measured {
        format!("{} for {amount}{by_rate}", flush.end - flush.start)
    } else {
        format!("{amount}{by_rate}; the kernel's clock did not run yet")
    }
}

fn delays(screen: &mut Screen, delay: &Delay) {
    let error = delay
        .error
        .map_or_else(String::new, |e| format!(", up to {e} more"));
    let mut text = format!(
        "{} in the middle of {} lines, 95 % within {}, the latest {}{error}",
        delay.median,
        thousands(delay.lines as u64),
        delay.most,
        delay.longest
    );
    if let Some(missing) = delay.not_on_console.filter(|m| *m > 0) {
        text += &format!(
            "; {} lines of the log never came",
            thousands(missing as u64)
        );
    }
    row(screen, "delay", &text);
    for line in delay.latest.iter().filter(|l| l.delay >= LATE) {
        let room = screen.width().saturating_sub(2 + LABEL + 2 + 9 + 2);
        let text = if line.text.is_empty() {
            super::show::place(&line.place)
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
