//! Boots of a board, compared.
#![allow(clippy::unwrap_used, reason = "tests")]

use firstlight_analysis::{
    BoardBasis, BoardOutcome, BoardProof, BoardPurpose, BoardQuestion, BoardTrial, Verdict, board,
    board_settled,
};
use record::Nanos;

fn trial(variant: &str, round: u32, us: i64) -> BoardTrial {
    BoardTrial {
        variant: variant.to_owned(),
        round,
        attempt: 0,
        purpose: BoardPurpose::Result,
        begun_unix_ms: u64::from(round) * 10_000,
        power_on: Some(Nanos((us + 100_000) * 1_000)),
        loader: Some(Nanos(us * 1_000)),
        light_error: Nanos::ZERO,
        power_error: Nanos::ZERO,
        off: None,
        void: None,
        resets: 0,
        proof: BoardProof::default(),
        state: std::collections::BTreeMap::new(),
        capture: String::new(),
    }
}

fn void(variant: &str, round: u32) -> BoardTrial {
    BoardTrial {
        power_on: None,
        loader: None,
        void: Some("hang".to_owned()),
        ..trial(variant, round, 0)
    }
}

/// Two variants, of which one takes a tenth less; a hundredth of scatter without order.
fn rounds(count: u32) -> Vec<BoardTrial> {
    let noise = |round: u32, k: u32| i64::from((round * 7 + k * 3) % 11) * 1_000;
    (0..count)
        .flat_map(|n| {
            [
                trial("baseline", n, 2_000_000 + noise(n, 0)),
                trial("fast", n, 1_800_000 + noise(n, 1)),
            ]
        })
        .collect()
}

fn question() -> BoardQuestion {
    BoardQuestion {
        baseline: "baseline".to_owned(),
        variants: vec!["baseline".to_owned(), "fast".to_owned()],
        minimum_effect: 0.0025,
        most: 40,
    }
}

fn report(trials: Vec<BoardTrial>) -> firstlight_analysis::BoardReport {
    board(trials, &question(), BoardOutcome::default()).unwrap()
}

#[test]
fn an_answer_is_known_at_a_look_and_not_before() {
    assert_eq!(board_settled(&rounds(7), &question()), Vec::<String>::new());
    assert_eq!(board_settled(&rounds(8), &question()), ["fast"]);
    let seven = report(rounds(7));
    let compared = seven.variants[1].comparison.unwrap();
    assert_eq!(
        (compared.answer.verdict, compared.verdict()),
        (None, "undecided")
    );
    // Boots after the answer do not change it.
    for count in [8, 9, 20] {
        let compared = report(rounds(count)).variants[1].comparison.unwrap();
        assert_eq!(compared.answer.verdict, Some(Verdict::Faster));
        assert_eq!(compared.answer.boots, 8);
    }
}

#[test]
fn a_void_boot_counts_nowhere_and_its_round_is_not_compared() {
    let mut trials = rounds(8);
    trials.retain(|t| !(t.variant == "fast" && t.round == 3));
    trials.push(void("fast", 3));
    let report = report(trials);
    let fast = &report.variants[1];
    assert_eq!((fast.boots, fast.void), (7, 1));
    assert_eq!(fast.comparison.unwrap().answer.boots, 7);
    assert_eq!(fast.comparison.unwrap().answer.verdict, None);
}

#[test]
fn times_run_from_the_loader_only_if_every_boot_has_it() {
    assert_eq!(report(rounds(8)).basis, BoardBasis::Loader);
    let mut trials = rounds(8);
    trials[5].loader = None;
    let report = report(trials);
    assert_eq!(report.basis, BoardBasis::PowerOn);
    let median = report.variants[0].power_on.unwrap().0;
    assert!(median > Nanos(2_100_000_000), "{median}");
    assert_eq!(report.variants[0].boots, 8);
}

#[test]
fn a_variant_that_was_given_up_is_not_compared() {
    let outcome = BoardOutcome {
        given_up: vec![("fast".to_owned(), "panic".to_owned())],
        ..BoardOutcome::default()
    };
    let report = board(rounds(8), &question(), outcome).unwrap();
    assert_eq!(report.variants[1].comparison, None);
    assert_eq!(report.variants[1].given_up.as_deref(), Some("panic"));
    let wrong = BoardQuestion {
        baseline: "none".to_owned(),
        ..question()
    };
    assert!(board(rounds(1), &wrong, BoardOutcome::default()).is_err());
}

#[test]
fn scatter_comes_from_its_own_boots_and_drift_from_all() {
    let mut trials = rounds(12);
    for n in 0..10 {
        let mut one = trial("baseline", n, 2_000_000 + i64::from(n % 3) * 6_000);
        one.purpose = BoardPurpose::Scatter;
        trials.push(one);
    }
    let steady = report(trials.clone());
    let scatter = steady.scatter.unwrap();
    assert_eq!(scatter.boots, 10);
    assert!((0.002..0.006).contains(&scatter.scatter), "{scatter:?}");
    let boots: Vec<usize> = scatter.needed.iter().map(|n| n.1).collect();
    assert!(boots[0] <= boots[1] && boots[1] <= boots[2], "{boots:?}");
    assert!(steady.drift.unwrap().p_value > 0.01);
    for trial in &mut trials {
        let later = Nanos(i64::from(trial.round) * 5_000_000);
        trial.loader = trial.loader.map(|l| l + later);
    }
    let drift = report(trials).drift.unwrap();
    assert!(
        drift.p_value < 0.01 && drift.change > Nanos(40_000_000),
        "{drift:?}"
    );
}

/// A board that becomes warm while it is measured, whatever is on it: first light follows its
/// temperature, and not a value that goes up and down.
#[test]
fn state_and_off_time_are_told_and_what_first_light_follows() {
    let with = |light: fn(u32) -> i64| {
        let mut trials = rounds(10);
        for t in &mut trials {
            let n = t.round;
            t.loader = t.loader.map(|l| Nanos(l.get() + light(n)));
            t.off = Some(Nanos(3_000_000_000 + i64::from(n)));
            t.state
                .insert("temperature_c".to_owned(), format!("{}.5", 40 + n));
            t.state
                .insert("clock_hz".to_owned(), "1500000000".to_owned());
        }
        report(trials)
    };
    let warm = with(|n| i64::from(n) * 20_000_000);
    assert_eq!(warm.off, Some((Nanos(3_000_000_000), Nanos(3_000_000_009))));
    let names: Vec<&str> = warm.states.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["clock_hz", "temperature_c"]);
    let [clock, temperature] = warm.states.as_slice() else {
        unreachable!("{:?}", warm.states);
    };
    // What never changes explains nothing.
    assert_eq!((clock.follows, clock.boots), (None, 20));
    assert_eq!((temperature.least, temperature.most), (40.5, 49.5));
    let follows = temperature.follows.unwrap();
    assert!(
        follows.correlation > 0.9 && follows.p_value < 0.001,
        "{follows:?}"
    );
    let steady = with(|_| 0);
    let follows = steady.states[1].follows.unwrap();
    assert!(follows.p_value > 0.01, "{follows:?}");
}
