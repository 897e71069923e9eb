//! A folder that `lab run` filled with boots of a real board.

use crate::error::Error;
use crate::result::Kind;
use analysis::{
    BoardOutcome, BoardProof, BoardPurpose, BoardQuestion, BoardReport, BoardTrial, Verdict,
};
use record::Nanos;
use serde::Deserialize;
use std::path::{Component, Path, PathBuf};

/// What `lab run` writes into its folder.
pub const RESULT: &str = "board.json";

const KIND: Kind = Kind {
    file: RESULT,
    schema: "firstlight.lab.board/1",
    writer: "`firstlight lab run` writes for a board",
};

/// What of `firstlight.lab.board/1` cannot be computed from the rest.
#[derive(Deserialize)]
struct Results {
    schema: String,
    board: String,
    baseline: String,
    ended: String,
    left: String,
    cycles: u64,
    minimum_effect: f64,
    looks: Vec<usize>,
    trials: Vec<OneTrial>,
    variants: Vec<OneVariant>,
}

#[derive(Deserialize)]
struct OneTrial {
    variant: String,
    round: u32,
    attempt: u32,
    purpose: String,
    begun_unix_ms: u64,
    first_light_ns: Lights,
    light_error_ns: i64,
    power_error_ns: i64,
    off_ns: Option<i64>,
    void: Option<String>,
    resets: u32,
    proof: Proof,
    #[serde(default)]
    state: Vec<Value>,
    capture: String,
}

#[derive(Deserialize)]
struct Lights {
    power_on: Option<i64>,
    loader: Option<i64>,
}

#[derive(Deserialize)]
struct Proof {
    by: String,
    expected: String,
    seen: bool,
}

#[derive(Deserialize)]
struct Value {
    name: String,
    value: f64,
}

#[derive(Deserialize)]
struct OneVariant {
    variant: String,
    given_up: Option<String>,
}

/// Whether `path` is a folder that `lab run` filled with boots of a board.
#[must_use]
pub fn is_board_run(path: &Path) -> bool {
    KIND.is_in(path)
}

/// The run in a folder. The comparison is computed again from its boots.
///
/// # Errors
/// Its result cannot be read, or is none.
pub fn read(dir: &Path) -> Result<BoardReport, Error> {
    let results: Results = KIND.read(dir, |r: &Results| &r.schema)?;
    let shown = KIND.shown(dir);
    let question = BoardQuestion {
        baseline: results.baseline,
        variants: results.variants.iter().map(|v| v.variant.clone()).collect(),
        minimum_effect: results.minimum_effect,
        // A run looks for the last time when it has all boots.
        most: results.looks.last().copied().unwrap_or(0),
    };
    let given_up = results.variants.into_iter();
    let outcome = BoardOutcome {
        board: results.board,
        ended: results.ended,
        // Nothing that is shown of a folder has it.
        sentence: String::new(),
        left: results.left,
        cycles: results.cycles,
        given_up: given_up
            .filter_map(|v| Some((v.variant, v.given_up?)))
            .collect(),
    };
    let trials = results.trials.into_iter().map(trial).collect();
    analysis::board(trials, &question, outcome).map_err(|e| Error::unusable(&shown, e.to_string()))
}

fn trial(t: OneTrial) -> BoardTrial {
    BoardTrial {
        variant: t.variant,
        round: t.round,
        attempt: t.attempt,
        purpose: match t.purpose.as_str() {
            "boot" => BoardPurpose::Result,
            "scatter" => BoardPurpose::Scatter,
            _ => BoardPurpose::WarmUp,
        },
        begun_unix_ms: t.begun_unix_ms,
        power_on: t.first_light_ns.power_on.map(Nanos),
        loader: t.first_light_ns.loader.map(Nanos),
        light_error: Nanos(t.light_error_ns),
        power_error: Nanos(t.power_error_ns),
        off: t.off_ns.map(Nanos),
        void: t.void,
        resets: t.resets,
        proof: BoardProof {
            by: t.proof.by,
            expected: t.proof.expected,
            seen: t.proof.seen,
        },
        state: t
            .state
            .into_iter()
            .map(|v| (v.name, v.value.to_string()))
            .collect(),
        capture: t.capture,
    }
}

/// The capture of a variant's boot that is nearest to its median, if it is still there: in the
/// folder as it lies now, else where it was made.
#[must_use]
pub fn capture(dir: &Path, run: &BoardReport, variant: &str) -> Option<PathBuf> {
    let of_variant = run.variants.iter().find(|v| v.variant == variant)?;
    let median = of_variant.loader.or(of_variant.power_on)?.0;
    let light = |t: &BoardTrial| match of_variant.loader {
        Some(_) => t.loader,
        None => t.power_on,
    };
    let counts = |t: &&BoardTrial| {
        t.variant == variant && t.void.is_none() && t.purpose == BoardPurpose::Result
    };
    let trials = run.trials.iter().filter(counts);
    let trials = trials.filter_map(|t| Some((t, (light(t)? - median).abs())));
    let (trial, _) = trials.min_by_key(|(_, distance)| *distance)?;
    [
        dir.join(within(&trial.capture)),
        PathBuf::from(&trial.capture),
    ]
    .into_iter()
    .find(|p| p.exists())
}

/// The part of a capture's path that lies in the folder of its run.
fn within(capture: &str) -> PathBuf {
    let parts: Vec<Component<'_>> = Path::new(capture).components().collect();
    let from = parts.iter().rposition(|c| c.as_os_str() == "trials");
    parts.into_iter().skip(from.unwrap_or(0)).collect()
}

/// The variant that a page shows beside the baseline: the one that is proven to be the fastest,
/// else the one that changes most.
#[must_use]
pub fn shown_variant(run: &BoardReport) -> Option<&str> {
    let compared = || {
        let variants = run.variants.iter();
        variants.filter_map(|v| Some((v, v.comparison?.answer)))
    };
    let faster = compared().filter(|(_, a)| a.verdict == Some(Verdict::Faster));
    let faster = faster.min_by_key(|(_, a)| a.effect.delta);
    let most = || compared().max_by_key(|(_, a)| a.effect.delta.abs());
    faster.or_else(most).map(|(v, _)| v.variant.as_str())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    fn trial_text(variant: &str, round: u32, ns: i64, void: &str) -> String {
        let light = if void == "null" {
            ns.to_string()
        } else {
            "null".to_owned()
        };
        format!(
            "{{\"variant\":\"{variant}\",\"round\":{round},\"attempt\":0,\"purpose\":\"boot\",\
             \"begun_unix_ms\":{round},\"first_light_ns\":{{\"power_on\":{light},\"loader\":{light}}},\
             \"light_error_ns\":0,\"power_error_ns\":5,\"off_ns\":9,\"void\":{void},\"resets\":0,\
             \"proof\":{{\"by\":\"nonce\",\"expected\":\"x\",\"seen\":true}},\
             \"state\":[{{\"name\":\"temperature_c\",\"value\":41.5}}],\
             \"capture\":\"/far/away/out/trials/{variant}/{round}/capture\"}}"
        )
    }

    fn results(trials: &str, schema: &str) -> String {
        format!(
            "{{\"schema\":\"{schema}\",\"board\":\"bench\",\"baseline\":\"baseline\",\
             \"ended\":\"decided\",\"left\":\"baseline_proven\",\"cycles\":19,\
             \"minimum_effect\":0.0025,\"looks\":[8],\"trials\":[{trials}],\
             \"variants\":[{{\"variant\":\"baseline\",\"given_up\":null}},\
             {{\"variant\":\"quick\",\"given_up\":null}}]}}"
        )
    }

    #[test]
    fn a_run_is_compared_anew_and_its_captures_are_found_where_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        let mut trials = Vec::new();
        for round in 0..8 {
            let noise = i64::from(round) * 1_000;
            trials.push(trial_text("baseline", round, 4_000_000 + noise, "null"));
            trials.push(trial_text("quick", round, 3_000_000 + noise, "null"));
        }
        trials.push(trial_text("quick", 8, 0, "\"panic: no root\""));
        let text = results(&trials.join(","), KIND.schema);
        std::fs::write(folder.path().join(RESULT), &text).unwrap();
        assert!(is_board_run(folder.path()));
        let run = read(folder.path()).unwrap();
        assert_eq!(shown_variant(&run), Some("quick"));
        let quick = run.variants.get(1).unwrap();
        assert_eq!((quick.boots, quick.void), (8, 1));
        let answer = quick.comparison.unwrap().answer;
        assert_eq!(answer.effect.delta, Nanos(-1_000_000));
        assert_eq!(answer.verdict, Some(Verdict::Faster));
        assert_eq!(run.states.first().unwrap().least, 41.5);
        // The median lies between rounds 3 and 4.
        assert_eq!(capture(folder.path(), &run, "quick"), None);
        let here = folder.path().join("trials/quick/3/capture");
        std::fs::create_dir_all(&here).unwrap();
        std::fs::create_dir_all(folder.path().join("trials/quick/7/capture")).unwrap();
        assert_eq!(capture(folder.path(), &run, "quick"), Some(here));

        for (bad, expected) in [
            (
                results("", "firstlight.lab/1"),
                "expected `firstlight.lab.board/1`",
            ),
            ("{}".to_owned(), "not what `firstlight lab run` writes"),
            (
                text.replace("\"baseline\":\"baseline\"", "\"baseline\":\"no\""),
                "no",
            ),
        ] {
            std::fs::write(folder.path().join(RESULT), bad).unwrap();
            let said = read(folder.path()).unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
        // No boots: nothing to compare, and no panic.
        std::fs::write(folder.path().join(RESULT), results("", KIND.schema)).unwrap();
        let empty = read(folder.path()).unwrap();
        assert_eq!(shown_variant(&empty), None);
        assert_eq!(capture(folder.path(), &empty, "baseline"), None);
    }
}
