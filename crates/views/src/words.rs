//! Words that several views share.

use analysis::{Experiment, margin};
use record::ClockKind;
use std::collections::BTreeSet;

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

/// What the spread is, and from where on a difference counts with as many boots as the
/// variants have; `None` where no two ensembles are judged by it.
pub(crate) fn spread(e: &Experiment) -> Option<String> {
    if e.variants.iter().any(|v| v.sample.is_some()) {
        return None;
    }
    let base = e.variants.iter().find(|v| v.variant == e.baseline)?;
    let judged = e.variants.iter();
    let judged = judged.filter(|v| v.effect.is_some_and(|e| !e.unperturbed));
    let boots: BTreeSet<usize> = judged.map(|v| v.boots.min(base.boots)).collect();
    let apart = |boots: &usize| match margin(*boots) {
        1.0 => format!("that, with {boots} boots each"),
        times => format!("{times} times that, with {boots} boots each"),
    };
    let apart: Vec<String> = boots.iter().map(apart).collect();
    (!apart.is_empty()).then(|| {
        format!(
            "Spread: how far innocent changes alone, such as an unused word on the command line, \
             move first light. A variant is faster or slower only if its range and the \
             baseline's do not overlap, and it is further away than {}.",
            apart.join(" or ")
        )
    })
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
    use super::bytes;

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
