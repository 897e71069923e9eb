//! What people write of units and phases in their own words, where they quote no output.

use super::row::{item, unquoted};
use crate::systemd::startup::StartupTimes;
use crate::systemd::timespan;
use crate::systemd::unit::{ends, is_name as is_unit};
use record::Nanos;

/// Words that stand between a unit and its time: `a.service takes about 3s`.
const BETWEEN: [&str; 16] = [
    "a",
    "about",
    "almost",
    "approximately",
    "around",
    "at",
    "for",
    "is",
    "nearly",
    "needed",
    "needs",
    "over",
    "take",
    "takes",
    "taking",
    "took",
];

/// Signs that stand there. A comma parts a unit from a time that is of something else.
const SIGNS: &str = "(:=-–—→>~≈\"'*`|";

/// So many words stand there at most.
const MOST_WORDS: usize = 3;

/// The units of a sentence that have their times behind them.
pub(super) fn mentions(line: &str) -> Vec<(&str, i64)> {
    if ends(line).next().is_none() {
        return Vec::new();
    }
    let words = line.split_whitespace().filter_map(|word| {
        let begin = word.as_ptr() as usize - line.as_ptr() as usize;
        let name = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let at = begin + word.find(name)? + name.len();
        let rest = line.get(at..)?;
        is_unit(name)
            .then(|| time_behind(rest))
            .flatten()
            .map(|ns| (name, ns))
    });
    words.collect()
}

/// The time that follows, at most some words later.
fn time_behind(text: &str) -> Option<i64> {
    let mut rest = text;
    for _ in 0..=MOST_WORDS {
        let behind = rest.trim_start_matches(|c: char| c.is_whitespace() || SIGNS.contains(c));
        // What became less is no length.
        let signs = rest.strip_suffix(behind)?;
        if signs.ends_with(['-', '–', '−']) && !signs.trim_end_matches(['-', '–', '−']).is_empty()
        {
            return None;
        }
        rest = behind;
        let end = rest.find([')', ',', ';', '|']).unwrap_or(rest.len());
        let time = rest.get(..end)?.trim_end_matches(['.', '!', '?']);
        if let Some((ns, _)) = timespan::prefix(time).filter(|(ns, _)| *ns > 0) {
            return Some(ns);
        }
        let (word, behind) = rest.split_once(char::is_whitespace)?;
        if !BETWEEN.contains(&word) {
            return None;
        }
        rest = behind;
    }
    None
}

/// What people put between phases that they name in one line.
const BETWEEN_PHASES: [&str; 5] = [", ", "; ", " + ", " & ", " and "];

/// The phases that a line names, one or several: `kernel 3s, userspace 40s`.
pub(super) fn phases(line: &str) -> Vec<(Part, i64)> {
    if let Some(one) = phase(line) {
        return vec![one];
    }
    let mut parts = vec![unquoted(line).trim()];
    for between in BETWEEN_PHASES {
        parts = parts.iter().flat_map(|p| p.split(between)).collect();
    }
    let found: Vec<_> = parts.into_iter().filter_map(in_words).collect();
    match found.len() {
        0 | 1 => Vec::new(),
        _ => found,
    }
}

/// A phase of a sentence: `kernel 3s`, `It takes 3s in the kernel`.
fn in_words(text: &str) -> Option<(Part, i64)> {
    let text = text.trim().trim_end_matches(['.', '!', '?']);
    // What stands before a colon tells what of.
    let text = text.rsplit(": ").next().unwrap_or(text);
    phase(text).or_else(|| {
        let digit = text.find(|c: char| c.is_ascii_digit())?;
        let (ns, name) = timespan::prefix(text.get(digit..)?)?;
        let name = name.trim_start_matches(['(']).trim_end_matches([')']);
        let name = ["in the ", "in ", "for the ", "for ", "of the ", "of "]
            .iter()
            .find_map(|word| name.strip_prefix(word))
            .unwrap_or(name)
            .to_ascii_lowercase();
        let (_, part) = PHASES.iter().find(|(phase, _)| *phase == name)?;
        (ns > 0).then_some((*part, ns))
    })
}

/// A phase of the boot and its length, in a line or a row of a table: `Kernel: 3.2s`.
pub(super) fn phase(line: &str) -> Option<(Part, i64)> {
    let text = item(unquoted(line).trim()).to_ascii_lowercase();
    let (part, rest) = PHASES
        .iter()
        .find_map(|(name, part)| Some((*part, text.strip_prefix(name)?)))?;
    // `Firmware (UEFI)`.
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(remark) => remark.split_once(')')?.1,
        None => rest,
    };
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || SIGNS.contains(c));
    let (ns, behind) = timespan::prefix(rest)?;
    // A share, or a remark.
    let is_end = behind.is_empty() || behind.ends_with('%') || behind.starts_with(['(', '—', '#']);
    (ns > 0 && is_end).then_some((part, ns))
}

/// A phase that systemd sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Firmware,
    Loader,
    Kernel,
    Initrd,
    Userspace,
}

/// What people call them.
const PHASES: [(&str, Part); 11] = [
    ("firmware", Part::Firmware),
    ("bios", Part::Firmware),
    ("uefi", Part::Firmware),
    ("loader", Part::Loader),
    ("bootloader", Part::Loader),
    ("boot loader", Part::Loader),
    ("kernel", Part::Kernel),
    ("initrd", Part::Initrd),
    ("initramfs", Part::Initrd),
    ("userspace", Part::Userspace),
    ("user space", Part::Userspace),
];

/// Fewer phases are no list of them.
const FEWEST: usize = 2;

/// The phases as systemd prints them, the first of each; `None` if they are no list of a boot.
pub(super) fn startup(parts: &[(Part, i64)]) -> Option<StartupTimes> {
    let of = |part: Part| {
        let found = parts.iter().find(|p| p.0 == part);
        found.map(|p| Nanos(p.1))
    };
    let mut times = StartupTimes {
        firmware: of(Part::Firmware),
        loader: of(Part::Loader),
        kernel: of(Part::Kernel),
        initrd: of(Part::Initrd),
        userspace: of(Part::Userspace),
        total: None,
    };
    let all = [
        times.firmware,
        times.loader,
        times.kernel,
        times.initrd,
        times.userspace,
    ];
    let known: Vec<Nanos> = all.into_iter().flatten().collect();
    times.total = Some(known.iter().fold(Nanos(0), |sum, t| sum + *t));
    // systemd has one of these in every boot.
    let is_boot = times.kernel.is_some() && times.userspace.is_some();
    (known.len() >= FEWEST && is_boot).then_some(times)
}

#[cfg(test)]
mod tests {
    use super::{Part, mentions, phase, phases, startup};

    #[test]
    fn phases_of_a_sentence_are_told_together() {
        const S: i64 = 1_000_000_000;
        let both = vec![(Part::Kernel, 3 * S), (Part::Userspace, 40 * S)];
        for line in [
            "kernel 3s, userspace 40s",
            "My boot is slow: 3s kernel and 40s in userspace.",
            "3 seconds (kernel); 40 seconds (userspace)",
        ] {
            assert_eq!(phases(line), both, "{line}");
        }
        for line in ["the kernel of 2024, and 40s of patience", "a kernel and 3s"] {
            assert_eq!(phases(line), Vec::new(), "{line}");
        }
    }

    #[test]
    fn units_of_a_sentence_have_the_times_behind_them() {
        const S: i64 = 1_000_000_000;
        for (line, found) in [
            (
                "My a.service takes about 1min 2s to start.",
                vec![("a.service", 62 * S)],
            ),
            (
                "Slow: a.service (3s), `b.mount`: 2 seconds; c.service.",
                vec![("a.service", 3 * S), ("b.mount", 2 * S)],
            ),
            (
                "I masked a.service, and b.service is fine: 3 of them",
                vec![],
            ),
            ("a.service: Consumed 3s CPU time.", vec![]),
            ("nothing takes 3s", vec![]),
            ("a.service -3s, and 5s in all", vec![]),
            ("Without a.service, 3s less", vec![]),
            ("a.service - 3s", vec![("a.service", 3 * S)]),
        ] {
            assert_eq!(mentions(line), found, "{line}");
        }
    }

    #[test]
    fn phases_are_known_in_lines_and_tables() {
        const S: i64 = 1_000_000_000;
        for (line, found) in [
            ("Kernel: 3s", Some((Part::Kernel, 3 * S))),
            (
                "- user space = 1min 2s (slow)",
                Some((Part::Userspace, 62 * S)),
            ),
            ("Firmware (UEFI) 5s 15%", Some((Part::Firmware, 5 * S))),
            ("kernel 6.1.0", None),
            ("Kernel: 3s of patience are needed", None),
        ] {
            assert_eq!(phase(line), found, "{line}");
        }
        let times = startup(&[
            (Part::Kernel, S),
            (Part::Userspace, 2 * S),
            (Part::Kernel, 9 * S),
        ]);
        assert_eq!(times.and_then(|t| t.total).map(|t| t.0), Some(3 * S));
        assert_eq!(startup(&[(Part::Kernel, S), (Part::Initrd, S)]), None);
    }
}
