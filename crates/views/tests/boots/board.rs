//! A run on a board, for the views.

use analysis::{
    BoardOutcome, BoardProof, BoardPurpose, BoardQuestion, BoardReport, BoardTrial, board,
};
use record::Nanos;

/// A baseline and three variants: one clearly faster, one equal, one that does not boot.
pub fn report() -> BoardReport {
    let variants = ["baseline", "quiet", "same", "broken"];
    let mut trials = Vec::new();
    let mut add = |variant: &str, round: u32, purpose, us: i64, void: Option<&str>| {
        let number = i64::try_from(trials.len()).unwrap();
        let light = |more: i64| void.is_none().then_some(Nanos((us + more) * 1_000));
        trials.push(BoardTrial {
            variant: variant.to_owned(),
            round,
            attempt: 0,
            purpose,
            begun_unix_ms: 1_760_000_000_000 + u64::try_from(number).unwrap() * 7_000,
            power_on: light(120_000 + number * 37 % 11),
            loader: light(0),
            light_error: Nanos::ZERO,
            power_error: Nanos(6_000_000),
            off: Some(Nanos(5_000_000_000)),
            void: void.map(str::to_owned),
            resets: 0,
            proof: BoardProof {
                by: "nonce".to_owned(),
                expected: format!("firstlight.nonce={number:08x}"),
                seen: void.is_none(),
            },
            // The board becomes warm, and first light does not follow.
            state: [
                ("clock_hz".to_owned(), "1500000000".to_owned()),
                ("temperature_c".to_owned(), format!("{}", 41 + number / 9)),
            ]
            .into(),
            capture: format!("out/trials/{variant}/{round}/capture"),
        });
    };
    for n in 0..6 {
        let us = 4_000_000 + i64::from(n) * 4_811 % 9_000;
        add("baseline", n, BoardPurpose::Scatter, us, None);
    }
    for round in 0..14 {
        let noise = |k: i64| (i64::from(round) * 6_113 + k * 3_307) % 12_000;
        add(
            "baseline",
            round,
            BoardPurpose::Result,
            4_000_000 + noise(0),
            None,
        );
        add(
            "quiet",
            round,
            BoardPurpose::Result,
            3_700_000 + noise(1),
            None,
        );
        add(
            "same",
            round,
            BoardPurpose::Result,
            4_000_500 + noise(2),
            None,
        );
    }
    let panic = "panic: the console showed `Kernel panic - not syncing`";
    add("broken", 0, BoardPurpose::Result, 0, Some(panic));
    let question = BoardQuestion {
        baseline: "baseline".to_owned(),
        variants: variants.map(str::to_owned).to_vec(),
        minimum_effect: 0.0025,
        most: 40,
    };
    let outcome = BoardOutcome {
        board: "bench".to_owned(),
        ended: "limit_cycles".to_owned(),
        sentence: "The run stopped after 60 power cycles (`--limit-cycles`); run the same command \
                   again to continue."
            .to_owned(),
        left: "baseline_proven".to_owned(),
        cycles: 60,
        given_up: vec![("broken".to_owned(), panic.to_owned())],
    };
    board(trials, &question, outcome).unwrap()
}
