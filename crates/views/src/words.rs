//! Words that several views share.

use analysis::{Experiment, GateCompared, GateParts, GateVerdict, Part, margin};
use chrono::DateTime;
use flash::files::Why;
pub use record::plural;
use record::{ClockKind, Nanos};
use std::collections::BTreeSet;

/// A time that a document has in whole nanoseconds.
pub(crate) fn nanos(ns: u64) -> Nanos {
    Nanos(i64::try_from(ns).unwrap_or(i64::MAX))
}

/// What a reader must know about the times of this clock.
pub(crate) const fn clock(kind: ClockKind) -> &'static str {
    match kind {
        ClockKind::Virtual => {
            "virtual time: instructions at a stated rate; repeatable exactly, but not board seconds"
        }
        ClockKind::Counter => "timestamps from a hardware counter that runs from reset",
        ClockKind::Wall => "wall-clock timestamps",
        ClockKind::Printk => "kernel (printk) timestamps",
        ClockKind::Monotonic => "timestamps from the target's monotonic clock",
    }
}

/// `p = 0.008`, or the least that is printed.
pub(crate) fn chance(p: f64) -> String {
    match p < 0.001 {
        true => "p < 0.001".to_owned(),
        false => format!("p = {p:.3}"),
    }
}

/// The names of the wall clocks that a machine beside the target read while it watched.
const WATCHERS: [&str; 3] = ["logic-analyzer", "serial", "video"];

/// What a reader must know about the times of the clock of this boot.
pub(crate) fn clock_of(boot: &analysis::Boot) -> Option<&'static str> {
    let kind = boot.phases.clock?;
    let own = boot.clocks.iter().find(|c| c.is_boots);
    Some(match own {
        Some(own) if kind == ClockKind::Wall && WATCHERS.contains(&own.name.as_str()) => {
            "timestamps from the machine that captured the log"
        }
        Some(_) if kind == ClockKind::Wall => "timestamps from the target's time of day",
        _ => clock(kind),
    })
}

/// What the spread is, and which difference is significant with as many boots as
/// the variants have; `None` where no two ensembles are judged by it.
pub(crate) fn spread(e: &Experiment) -> Option<String> {
    if e.variants.iter().any(|v| v.sample.is_some()) {
        return None;
    }
    let base = e.variants.iter().find(|v| v.variant == e.baseline)?;
    let judged = e.variants.iter();
    let judged = judged.filter(|v| v.effect.is_some_and(|e| !e.unperturbed));
    let boots: BTreeSet<usize> = judged.map(|v| v.boots.min(base.boots)).collect();
    let margins = boots.iter().map(|boots| {
        let times = match margin(*boots) {
            1.0 => String::new(),
            times => format!("{times} times "),
        };
        format!("{times}the spread ({} each)", counted(*boots, "boot"))
    });
    let margins: Vec<String> = margins.collect();
    (!margins.is_empty()).then(|| {
        format!(
            "Spread: how much first light moves under neutral perturbations, such as an unused \
             kernel parameter. We call a variant faster or slower only if its range and the \
             baseline's do not overlap and the difference exceeds {}.",
            margins.join(" or ")
        )
    })
}

/// A difference, with its sign.
pub(crate) fn signed(t: Nanos) -> String {
    let plus = if t > Nanos::ZERO { "+" } else { "" };
    format!("{plus}{t}")
}

/// `+4.11 %`, of `whole`; nothing of nothing.
pub(crate) fn percent(change: Nanos, whole: Nanos) -> String {
    match whole {
        Nanos::ZERO => String::new(),
        whole => format!("{:+.2} %", 100.0 * change.get() as f64 / whole.get() as f64),
    }
}

/// How the time of a gate changed: `+1.000 s (+9.90 %): 10.100 s -> 11.100 s`.
pub(crate) fn gate_moved(c: &GateCompared) -> String {
    let medians = c.time.base.as_ref().zip(c.time.against.as_ref());
    let Some((a, b)) = medians.filter(|_| c.verdict != GateVerdict::Missing) else {
        return String::new();
    };
    let change = b.median - a.median;
    let percent = match percent(change, a.median) {
        percent if percent.is_empty() => percent,
        percent => format!(" ({percent})"),
    };
    format!("{}{percent}: {} -> {}", signed(change), a.median, b.median)
}

/// What became of the work or the waits, and whether the gate closed for it.
pub(crate) fn gate_parts(p: &GateParts) -> String {
    let (delta, allowed, part) = (signed(p.delta), p.allowed, p.part.as_str());
    let of = match p.part {
        Part::Work => "of processor time",
        Part::Wait => "in the process that changed most",
    };
    match p.verdict {
        GateVerdict::Slower => {
            format!("judged by {part}: {delta} {of}; allowed increase: {allowed}")
        }
        // How far waits wander depends on who waits for whom.
        _ if p.items.is_empty() && p.part == Part::Wait => {
            format!("judged by {part}, too: no change")
        }
        _ if p.items.is_empty() => format!(
            "judged by {part}, too: no change; {} more is visible in any one",
            p.resolution
        ),
        _ => format!("judged by {part}, too: {delta} {of}"),
    }
}

/// `1 initcall`, `1,332 initcalls`.
#[must_use]
pub fn counted(n: usize, word: &str) -> String {
    format!("{} {}", thousands(n as u64), plural(n, word))
}

/// What an input of a format consists of.
pub(crate) fn units(format: &str) -> &'static str {
    match format {
        // Samples, entries and records.
        "bootchart" | "systemd-bootchart" => "units",
        "blktrace" => "records",
        _ => "lines",
    }
}

/// `12.5 MiB`, `512 B`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    // The unit in which the number, to one decimal, is below 1024.
    let mut tenths = u128::from(n) * 10;
    let mut unit = "";
    for name in UNITS {
        tenths = (tenths + 512) / 1024;
        unit = name;
        if tenths < 10_235 {
            break;
        }
    }
    if tenths % 10 == 0 {
        format!("{} {unit}", tenths / 10)
    } else {
        format!("{}.{} {unit}", tenths / 10, tenths % 10)
    }
}

/// `128 KiB` where that is exact, `42.7 MiB` where it is not.
#[must_use]
pub fn size(bytes: u64) -> String {
    let units = [("GiB", 30_u32), ("MiB", 20), ("KiB", 10)];
    let Some((unit, bits)) = units.into_iter().find(|(_, bits)| bytes >> bits > 0) else {
        return format!("{bytes} bytes");
    };
    let whole = bytes >> bits;
    if whole << bits == bytes {
        return format!("{whole} {unit}");
    }
    let tenths = (u128::from(bytes) * 10 + (1 << (bits - 1))) >> bits;
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// `2026-11-21 14:05:09`, of seconds since 1970; the seconds where no calendar
/// reaches.
pub(crate) fn utc(seconds: i64) -> String {
    match DateTime::from_timestamp(seconds, 0) {
        Some(time) => time.format("%Y-%m-%d %H:%M:%S").to_string(),
        None => seconds.to_string(),
    }
}

/// The version of the boot protocol of x86: `2.15`.
pub(crate) fn protocol(version: u16) -> String {
    format!("{}.{}", version >> 8, version & 0xff)
}

/// Bytes of a name as text, and as hexadecimal digits if they are not UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> (String, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => {
            let hex = bytes.iter().map(|b| format!("{b:02x}")).collect();
            (String::from_utf8_lossy(bytes).into_owned(), Some(hex))
        }
    }
}

/// Why a file was not extracted as it was in its image.
pub(crate) fn not_extracted(why: &Why) -> String {
    match why {
        Why::Name(name, fault) => format!("`{}`: {fault}", name.name.escape_ascii()),
        Why::Data(bytes, why) => format!("{} are lost, and zero: {why}", size(*bytes)),
        Why::Gap(bytes) => format!("{} are in no node, and zero", size(*bytes)),
        Why::Damaged => "the link or device is damaged".to_owned(),
        Why::Device => "is a device node; --devices makes device nodes, as root".to_owned(),
        Why::NotMade(kind) => format!("could not be made: {kind}"),
        Why::Metadata(kind) => {
            format!("has not all of its owner, rights, times and attributes: {kind}")
        }
        _ => "is not as it was".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::{bytes, counted, size, utc};

    #[test]
    fn counts_have_the_plural_of_their_word() {
        for (n, word, text) in [
            (1, "initcall", "1 initcall"),
            (1_332, "initcall", "1,332 initcalls"),
            (0, "process", "0 processes"),
            (2, "match", "2 matches"),
            (2, "try", "2 tries"),
            (2, "day", "2 days"),
        ] {
            assert_eq!(counted(n, word), text);
        }
    }

    #[test]
    fn sizes_are_shown_short() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (131_072, "128 KiB"),
            (1 << 20, "1 MiB"),
            (1_500_000, "1.4 MiB"),
            (u64::MAX, "17179869184.0 GiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_795_269_909, "2026-11-21 14:05:09"),
            (4_294_967_295, "2106-02-07 06:28:15"),
            (-1, "1969-12-31 23:59:59"),
            (i64::MAX, "9223372036854775807"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }

    #[test]
    fn sizes_print_in_the_unit_that_fits() {
        for (n, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (13_058_048, "12.5 MiB"),
            (1 << 30, "1 GiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(bytes(n), text);
        }
    }
}
