//! The demonstration's experiment: a base, and what the findings of its first boot recommend.

use analysis::{ExactPair, Finding};
use lab::search::in_lab;
use std::fmt::Write as _;
use treat::Treatment;

/// What is booted first; the variants are added when the findings are known.
pub const BASE: &str = include_str!("demo.toml");

/// At most this many findings are tried, the largest expected saving first.
const TRIED: usize = 3;

/// The findings that the lab can follow, each kind once, and how: three at most.
#[must_use]
pub fn recommended(findings: &[Finding]) -> Vec<(&Finding, Treatment)> {
    let mut tried: Vec<(&Finding, Treatment)> = Vec::new();
    for finding in findings {
        let treatment = finding.treatment.as_deref().and_then(in_lab);
        let is_new = tried.iter().all(|(f, _)| f.id != finding.id);
        if let (Some(treatment), true) = (treatment, is_new) {
            tried.push((finding, treatment));
        }
    }
    tried.truncate(TRIED);
    tried
}

/// The experiment with one variant that applies all findings; with `each`, also a
/// variant for every finding alone.
#[must_use]
pub fn with_variants(tried: &[(&Finding, Treatment)], each: bool) -> String {
    let mut text = BASE.to_owned();
    let mut variant = |name: &str, why: &str, treatments: &[&Treatment]| {
        let list: Vec<String> = treatments.iter().map(|t| format!("\"{t}\"")).collect();
        write!(
            text,
            "\n# {why}.\n[[variant]]\nname = \"{name}\"\ntreatments = [{}]\n",
            list.join(", ")
        )
        .ok();
    };
    if each || tried.len() == 1 {
        for (finding, treatment) in tried {
            variant(finding.id, &finding.title, &[treatment]);
        }
    }
    if tried.len() > 1 {
        let all: Vec<&Treatment> = tried.iter().map(|(_, treatment)| treatment).collect();
        variant("all", "All of them together", &all);
    }
    text
}

/// A line for each trial: its digest, the fingerprint of its inputs, its name. A
/// demonstration leaves them for the next one.
#[must_use]
pub fn digests(trials: &[lab::Trial]) -> String {
    let lines = trials
        .iter()
        .map(|t| format!("{}  {}  {}\n", t.digest, t.fingerprint, t.id));
    lines.collect()
}

/// `trial` beside the boot of the same inputs in the last demonstration, which left
/// `digests`; `None` if that booted other inputs.
#[must_use]
pub fn booted_before(trial: &lab::Trial, digests: &str) -> Option<ExactPair> {
    let id = trial.id.to_string();
    let then = digests.lines().find_map(|line| {
        let (digest, rest) = line.split_once("  ")?;
        let same = rest.split_once("  ")? == (trial.fingerprint.as_str(), id.as_str());
        same.then_some(digest)
    })?;
    let difference = "the same inputs had another digest in the last demo";
    Some(ExactPair {
        variant: trial.id.variant.clone(),
        digests: [then.to_owned(), trial.digest.clone()],
        difference: (then != trial.digest).then(|| difference.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{booted_before, digests, recommended, with_variants};
    use analysis::Finding;
    use lab::Experiment;
    use record::{ClockKind, Recorder};
    use treat::Treatment;

    fn finding(id: &'static str, treatment: Option<&str>) -> Finding {
        let mut rec = Recorder::new();
        let source = rec.source("boot.log", "kernel-log");
        let clock = rec.clock("printk", ClockKind::Printk, 1_000);
        let origin = record::Origin { source, offset: 0 };
        let line = "alg: self-tests for sha1 (sha1-generic) passed";
        rec.message(clock, Some(1), None, line, origin);
        let name = rec.name("crypto_algapi_init");
        let span = rec.span_of(clock, record::SpanKind::Initcall, name, origin);
        rec.span(span.start(Some(0)).end(Some(700_000_000)));
        let some = analysis::findings(&rec.finish()).swap_remove(0);
        Finding {
            id,
            treatment: treatment.map(str::to_owned),
            ..some
        }
    }

    #[test]
    fn a_boot_is_compared_with_one_of_the_same_inputs_only() {
        let trial = |fingerprint: &str, digest: &str| -> lab::Trial {
            serde_json::from_value(serde_json::json!({
                "firstlight_trial": 1, "variant": "baseline", "perturbation": 0,
                "fingerprint": fingerprint, "digest": digest, "capture": "c",
                "virtual_end_ns": 1, "wall_s": 1.0, "failure": null, "kernel": "image",
                "cmdline": "quiet",
            }))
            .unwrap()
        };
        let left = digests(&[trial("f1", "d1")]);
        let pair = booted_before(&trial("f1", "d1"), &left).unwrap();
        assert_eq!(pair.digests, ["d1", "d1"]);
        assert_eq!(pair.difference, None);
        let pair = booted_before(&trial("f1", "d2"), &left).unwrap();
        assert!(pair.difference.is_some());
        assert_eq!(booted_before(&trial("f2", "d1"), &left), None);
        // What older versions left has no fingerprints.
        assert_eq!(booted_before(&trial("f1", "d1"), "d1  baseline/0\n"), None);
    }

    #[test]
    fn the_lab_can_boot_what_is_tried() {
        let findings = [
            finding("unpack", Some("kernel=uncompressed")),
            finding("flush", Some("journald=volatile")),
            finding("flush", Some("mask=other.service")),
            finding("probes", None),
            finding("options", Some("fstab=/:+noatime")),
            finding("tests", Some("cmdline+=cryptomgr.notests")),
        ];
        let tried = recommended(&findings);
        let wanted = [
            "kernel=uncompressed",
            "mask=systemd-journal-flush.service",
            "cmdline+=cryptomgr.notests",
        ];
        let wanted = wanted.map(|t| Treatment::parse(t).unwrap());
        assert!(tried.iter().map(|(_, t)| t).eq(&wanted));
        let parsed = |each| {
            let text = with_variants(&tried, each);
            Experiment::parse("experiment.toml", &text).unwrap()
        };
        let names =
            |e: &Experiment| -> Vec<String> { e.variants.iter().map(|v| v.name.clone()).collect() };
        let experiment = parsed(false);
        assert_eq!(names(&experiment), ["baseline", "all"]);
        assert_eq!(experiment.variants[1].treatments, wanted);
        let experiment = parsed(true);
        assert_eq!(
            names(&experiment),
            ["baseline", "unpack", "flush", "tests", "all"]
        );
        assert_eq!(experiment.variants[4].treatments, wanted);
    }
}
