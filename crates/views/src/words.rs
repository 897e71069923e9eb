//! Words that several views share.

use record::ClockKind;

/// What a reader must know of the times of this clock.
pub(crate) const fn clock(kind: ClockKind) -> &'static str {
    match kind {
        ClockKind::Virtual => {
            "virtual time: instructions at a stated rate, exact from run to run; not board seconds"
        }
        ClockKind::Counter => "time of a hardware counter that runs from reset",
        ClockKind::Wall => "wall time of the machine that watched",
        ClockKind::Printk => "time of the kernel log's clock",
        ClockKind::Monotonic => "monotonic time of the target",
    }
}

/// `initcall` or `initcalls`.
#[must_use]
pub fn plural(n: usize, word: &str) -> String {
    match (n, word) {
        (1, _) => word.to_owned(),
        (_, "process") => "processes".to_owned(),
        _ => format!("{word}s"),
    }
}

/// What the ledger of a format counts, where its sources are listed.
pub(crate) fn units(format: &str) -> &'static str {
    match format {
        // Samples, entries and records.
        "bootchart" | "systemd-bootchart" => "units",
        _ => "lines",
    }
}

/// `1,332`.
#[must_use]
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
