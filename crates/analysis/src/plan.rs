//! The order of work: what comes late in a boot first, and what needs another change behind
//! it.
//!
//! Source of the order: Opdenacker, Embedded Linux Conference 2014: begin with the last steps
//! of the boot, so that its first steps, which tell what goes on, are silenced last.

use crate::findings::{Advice, Finding};
use std::cmp::Reverse;

/// A step of the work on a boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The finding, by its place in [`Advice::findings`].
    pub finding: usize,
    /// The steps that come before it for a reason, by their places in the plan, from 0.
    pub after: Vec<usize>,
    /// Why they do; empty: nothing has to.
    pub why: &'static str,
}

/// Findings that wait for others: which, for which, and why.
const WAITS: &[(&[&str], &[&str], &str)] = &[
    (
        &["small-reads", "read-ahead"],
        &[
            "spare-unit",
            "optional-unit",
            "waiting-unit",
            "spare-modules",
            "spare-libraries",
            "unstripped",
            "languages-and-fonts",
            "many-scripts",
            "script-cats",
            "root-unpacked",
            "ext-indirect-blocks",
        ],
        "the access list must hold what is still read",
    ),
    (
        &["ext-indirect-blocks", "directory-index", "journal-on-flash"],
        &["unclean-filesystem", "journal-replay"],
        "the file system must be clean before it is changed",
    ),
    (
        &[
            "initramfs-compression",
            "initramfs-unpacking",
            "initramfs-packed-twice",
        ],
        &[
            "initramfs-modules",
            "initramfs-unused-modules",
            "spare-libraries",
        ],
        "the best compression depends on what is left in the initramfs",
    ),
    (
        &[
            "kernel-compression",
            "kernel-decompression",
            "oversized-load",
            "moved-kernel",
        ],
        &[
            "unused-parts",
            "debug-kernel",
            "kernel-symbols",
            "instrumentation",
            "kernel-for-size",
            "built-in-certificates",
            "kernel-self-tests",
        ],
        "the best compression and the size to load depend on what is left in the kernel",
    ),
    (
        &["initcall-debug", "log-buffer"],
        &[
            "long-initcalls",
            "long-probes",
            "deferred-probes",
            "absent-devices",
            "empty-ports",
        ],
        "these messages are needed to see what the kernel waits for",
    ),
    (
        &["console-output", "console-speed"],
        &[
            "long-initcalls",
            "long-probes",
            "deferred-probes",
            "absent-devices",
            "empty-ports",
            "kernel-silence",
            "initcall-debug",
            "root-wait",
            "missing-hardware",
        ],
        "the console shows what is still to be found",
    ),
    (
        &["loader-console"],
        &[
            "loader-probes",
            "loader-script",
            "loader-checksums",
            "loader-checks",
            "loader-whole-partition",
            "oversized-load",
            "moved-kernel",
            "boot-delay",
            "boot-countdown",
            "loader-stages",
            "firmware-stages",
        ],
        "the loader's lines show what is still to be found",
    ),
    (
        &["falcon-mode"],
        &[
            "loader-script",
            "loader-checksums",
            "oversized-load",
            "moved-kernel",
            "boot-delay",
        ],
        "without U-Boot proper its variables have no effect, so settle them first",
    ),
];

/// What `id` waits for.
fn waits_for(id: &str) -> Option<(&'static [&'static str], &'static str)> {
    let found = WAITS.iter().find(|(ids, _, _)| ids.contains(&id));
    found.map(|(_, before, why)| (*before, *why))
}

/// The findings of `advice` as steps, each after all that it waits for.
#[must_use]
pub fn plan(advice: &Advice) -> Vec<Step> {
    let findings = &advice.findings;
    let mut open: Vec<usize> = (0..findings.len()).collect();
    let key = |f: &Finding| (f.group, Reverse(f.expected));
    open.sort_by_key(|at| findings.get(*at).map(key));
    let id = |at: usize| findings.get(at).map_or("", |f| f.id);
    let mut steps: Vec<Step> = Vec::new();
    while !open.is_empty() {
        // The first that nothing open has to come before. The list has no circle; if it had,
        // the first would go.
        let free = open.iter().position(|at| {
            let before = waits_for(id(*at)).map_or(&[][..], |w| w.0);
            !open.iter().any(|other| before.contains(&id(*other)))
        });
        let finding = open.remove(free.unwrap_or(0));
        let mut step = Step {
            finding,
            after: Vec::new(),
            why: "",
        };
        if let Some((before, why)) = waits_for(id(finding)) {
            let done = steps.iter().enumerate();
            let done = done.filter(|(_, s)| before.contains(&id(s.finding)));
            step.after = done.map(|(number, _)| number).collect();
            if !step.after.is_empty() {
                step.why = why;
            }
        }
        steps.push(step);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::{WAITS, plan};
    use crate::findings::{Advice, CATALOGUE, Finding};
    use record::Nanos;

    fn advice(of: &[(&str, i64)]) -> Advice {
        let finding = |(id, expected): &(&str, i64)| {
            let rule = CATALOGUE.iter().find(|r| r.id == *id).unwrap();
            Finding {
                id: rule.id,
                group: rule.group,
                title: String::new(),
                why: String::new(),
                evidence: Vec::new(),
                saving: None,
                expected: Nanos(*expected),
                model: "",
                on_critical_path: true,
                confidence: rule.confidence,
                cost: String::new(),
                treatment: None,
                names: Vec::new(),
            }
        };
        Advice {
            findings: of.iter().map(finding).collect(),
            ..Advice::default()
        }
    }

    #[test]
    fn what_is_last_in_the_boot_is_first_in_the_plan() {
        let advice = advice(&[
            ("boot-delay", 3_000),
            ("console-output", 900),
            ("kernel-decompression", 800),
            ("spare-unit", 70),
            ("optional-unit", 80),
            ("long-initcalls", 60),
            ("unused-parts", 50),
            ("small-reads", 40),
            ("relocations", 1),
        ]);
        let steps = plan(&advice);
        let ids: Vec<_> = steps
            .iter()
            .map(|s| advice.findings[s.finding].id)
            .collect();
        assert_eq!(
            ids,
            [
                "relocations",
                "optional-unit",
                "spare-unit",
                "small-reads",
                "long-initcalls",
                "console-output",
                "unused-parts",
                "kernel-decompression",
                "boot-delay",
            ]
        );
        assert_eq!(steps[3].after, [1, 2]);
        assert!(steps[3].why.contains("access list"));
        assert_eq!(steps[5].after, [4]);
        assert!(steps[8].after.is_empty() && steps[8].why.is_empty());
    }

    #[test]
    fn each_id_is_one_of_the_catalogue_and_none_waits_for_itself() {
        let known = |id: &str| CATALOGUE.iter().any(|r| r.id == id);
        for (ids, before, _) in WAITS {
            for id in ids.iter().chain(*before) {
                assert!(known(id), "{id}");
            }
            assert!(!ids.iter().any(|id| before.contains(id)));
        }
        // All rules together: each comes after all that it waits for.
        let all: Vec<(&str, i64)> = CATALOGUE.iter().map(|r| (r.id, 0)).collect();
        let advice = advice(&all);
        let steps = plan(&advice);
        assert_eq!(steps.len(), all.len());
        let place = |id: &str| {
            steps
                .iter()
                .position(|s| advice.findings[s.finding].id == id)
        };
        for (ids, before, _) in WAITS {
            for id in *ids {
                assert!(before.iter().all(|b| place(b) < place(id)), "{id}");
            }
        }
    }
}
