//! What every view gives for two small boots, to the byte.
//! `FIRSTLIGHT_BLESS=1 cargo test -p firstlight-views` rewrites the expectations.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod boots;

use analysis::BlameKind;
use firstlight_views::terminal::{self, Style};
use firstlight_views::{csv, html, json};
use std::path::Path;

fn check(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("FIRSTLIGHT_BLESS").is_some_and(|v| v == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, got).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected != got {
        let at = expected
            .lines()
            .zip(got.lines())
            .take_while(|(a, b)| a == b)
            .count();
        panic!(
            "{} differs from line {} on:\nexpected: {:?}\ngot:      {:?}\n\
             look at the difference, then bless it with FIRSTLIGHT_BLESS=1",
            path.display(),
            at + 1,
            expected.lines().nth(at),
            got.lines().nth(at)
        );
    }
}

fn plain(width: usize) -> Style {
    Style {
        color: false,
        width,
    }
}

#[test]
fn terminal_screens() {
    let (base, variant) = (boots::base(), boots::variant());
    for width in [80, 120] {
        let of = |name: &str| format!("{name}-{width}.txt");
        let style = plain(width);
        check(&of("show"), &terminal::show(&boots::boot(&base), &style));
        check(
            &of("show-variant"),
            &terminal::show(&boots::boot(&variant), &style),
        );
        check(
            &of("blame"),
            &terminal::blame(&analysis::blame(&base, None, 0), &style),
        );
        check(
            &of("diff"),
            &terminal::diff(&boots::comparison(), 5, &style),
        );
        let gate = terminal::gate(&boots::gate(), 5, &style);
        check(&of("gate"), &gate);
        for (name, compared) in [("boots", false), ("boots-against", true)] {
            let several = boots::several(compared);
            check(&of(name), &terminal::boots(&several, 5, &style));
        }
        check(&of("lab"), &terminal::lab(&boots::experiment(), &style));
        check(
            &of("lab-sampled"),
            &terminal::lab(&boots::sampled_experiment(), &style),
        );
        let board = boots::board::report();
        check(&of("lab-board"), &terminal::lab_board(&board, &style));
        check(&of("doctor"), &terminal::doctor(&boots::checks(), &style));
    }
    for width in [80, 100] {
        let plan = terminal::lab_plan(&boots::lab_plan(), &plain(width));
        check(&format!("lab-plan-{width}.txt"), &plan);
    }
    for width in [80, 120] {
        let style = plain(width);
        let rows = [boots::classic(&[]), boots::classic(&["mkfs.x is missing"])];
        let list = terminal::classics(&rows, &style);
        check(&format!("classics-{width}.txt"), &list);
        let result = terminal::classics_result(&boots::classic_result(), &style);
        check(&format!("classics-result-{width}.txt"), &result);
    }
    check(
        "classics.md",
        &firstlight_views::markdown::classics(&[boots::classic_result()]),
    );
    check(
        "lab.md",
        &firstlight_views::markdown::lab(&boots::experiment()),
    );
    check(
        "lab-sampled.md",
        &firstlight_views::markdown::lab(&boots::sampled_experiment()),
    );
    let board = boots::board::report();
    check(
        "lab-board.md",
        &firstlight_views::markdown::lab_board(&board),
    );
    check("lab-board.csv", &csv::lab_board(&board));
    let bare = terminal::lab(&boots::bare_experiment(), &plain(80));
    check("lab-unperturbed-80.txt", &bare);
    let empty = boots::record("");
    check(
        "show-empty-80.txt",
        &terminal::show(&boots::boot(&empty), &plain(80)),
    );
    check(
        "blame-empty-80.txt",
        &terminal::blame(&analysis::blame(&empty, None, 0), &plain(80)),
    );
}

#[test]
fn functions() {
    let record = boots::functions();
    let all = analysis::functions(&record, analysis::FunctionOrder::Time, 0);
    let some = analysis::functions(&record, analysis::FunctionOrder::Local, 2);
    let tree = analysis::calls(&record, 0);
    for width in [80, 120] {
        let style = plain(width);
        let of = |name: &str| format!("{name}-{width}.txt");
        check(&of("functions"), &terminal::functions(&all, &style));
        check(&of("functions-local"), &terminal::functions(&some, &style));
        check(&of("calls"), &terminal::calls(&tree, &style));
        for screen in [
            terminal::functions(&all, &style),
            terminal::calls(&tree, &style),
        ] {
            assert!(
                screen.lines().all(|l| l.chars().count() <= width),
                "{screen}"
            );
        }
    }
    check("functions.json", &json::text(&json::functions(&all)));
    check("functions.csv", &csv::functions(&all));
    check("calls.csv", &csv::calls(&tree));
    let empty = analysis::functions(&boots::record(""), analysis::FunctionOrder::Time, 0);
    check(
        "functions-empty-80.txt",
        &terminal::functions(&empty, &plain(80)),
    );
}

#[test]
fn colour_only_adds_escape_sequences() {
    let boot = boots::boot(&boots::base());
    let colored = terminal::show(
        &boot,
        &Style {
            color: true,
            width: 80,
        },
    );
    assert!(colored.contains("\u{1b}["));
    let mut bare = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        bare += before;
        rest = after.split_once('m').unwrap().1;
    }
    bare += rest;
    let bare: Vec<&str> = bare.lines().map(str::trim_end).collect();
    let plain = terminal::show(&boot, &plain(80));
    assert_eq!(bare.join("\n").trim_end(), plain.trim_end());
    assert!(!plain.contains('\u{1b}'));
}

#[test]
fn no_line_is_wider_than_the_screen() {
    let boot = boots::boot(&boots::base());
    for width in [80, 100, 132] {
        let style = plain(width);
        let screens = [
            terminal::show(&boot, &style),
            terminal::blame(&analysis::blame(&boots::base(), None, 0), &style),
            terminal::diff(&boots::comparison(), 0, &style),
            terminal::lab(&boots::experiment(), &style),
            terminal::doctor(&boots::checks(), &style),
        ];
        for line in screens.iter().flat_map(|s| s.lines()) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn json_documents() {
    let base = boots::base();
    check("show.json", &json::text(&json::show(&boots::boot(&base))));
    check(
        "blame.json",
        &json::text(&json::blame(&analysis::blame(&base, None, 0))),
    );
    check("diff.json", &json::text(&json::diff(&boots::comparison())));
    check("lab.json", &json::text(&json::lab(&boots::experiment())));
    check(
        "lab-sampled.json",
        &json::text(&json::lab(&boots::sampled_experiment())),
    );
    check("doctor.json", &json::text(&json::doctor(&boots::checks())));
}

#[test]
fn csv_tables() {
    let base = boots::base();
    check("blame.csv", &csv::blame(&analysis::blame(&base, None, 0)));
    check("phases.csv", &csv::phases(&analysis::phases(&base)));
    let phases = analysis::blame(&base, Some(BlameKind::Phase), 0);
    check("blame-phases.csv", &csv::blame(&phases));
    check("lab.csv", &csv::lab(&boots::experiment()));
}

#[test]
fn the_data_block_of_the_page() {
    // One value a line, so that a difference can be read.
    let (base, variant) = (boots::base(), boots::variant());
    let data = html::data(&boots::page(&base, &variant));
    let value: serde_json::Value = serde_json::from_str(&data).unwrap();
    check("page-data.json", &json::text(&value));
}

#[test]
fn pictures() {
    type Picture = fn(&record::Record, &analysis::Tracks<'_>, &analysis::Phases, &str) -> String;
    let bootgraph: Picture = firstlight_views::export::bootgraph;
    let bootchart: Picture = firstlight_views::export::bootchart;
    let charted = boots::charted(3);
    let base = boots::base();
    for (name, record, picture) in [
        ("bootgraph.svg", &base, bootgraph),
        ("bootchart.svg", &charted, bootchart),
        // Neither has what the other one is made of.
        ("bootgraph-none.svg", &charted, bootgraph),
        ("bootchart-none.svg", &base, bootchart),
    ] {
        let phases = analysis::phases(record);
        let tracks = analysis::tracks(record, &phases);
        let svg = picture(record, &tracks, &phases, "a <boot> & \"more\"");
        assert!(
            svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
            "{name}"
        );
        assert!(
            svg.contains("a &lt;boot&gt; &amp; &quot;more&quot;"),
            "{name}"
        );
        check(name, &svg);
    }
    let crowded = boots::charted(200);
    let phases = analysis::phases(&crowded);
    let tracks = analysis::tracks(&crowded, &phases);
    let svg = bootchart(&crowded, &tracks, &phases, "many");
    assert!(svg.contains("120 of 201: the busiest"));
    assert_eq!(svg.matches("<title>&lt;child ").count(), 119);
}

/// A pair that acts only together, and two systems of which nothing was confirmed.
#[test]
fn what_a_bisection_found() {
    use bisect::{Comparison, Culprit, Found, Outcome, Sample};
    use firstlight_views::Bisected;
    let comparison = |delta_ns| Comparison {
        delta_ns,
        interval_ns: [delta_ns - 1_000_000, delta_ns + 1_000_000],
        p: 0.000_2,
    };
    let culprit = |member| Culprit {
        members: vec![member],
        alone: Some(comparison(300_000)),
        left_out: Some(comparison(-9_800_000)),
    };
    let mut bisected = Bisected {
        kind: "config",
        ends: ["old.config".to_owned(), "new.config".to_owned()],
        names: [
            "CONFIG_A n -> y",
            "CONFIG_B n -> m",
            "CONFIG_HZ 250 -> 1000",
        ]
        .map(str::to_owned)
        .to_vec(),
        error: 0.01,
        found: Found {
            outcome: Outcome::Found {
                culprits: vec![culprit(0), culprit(2)],
                together: comparison(10_000_000),
                others: Some(comparison(-100_000)),
                interact: true,
                rest_ns: 200_000,
            },
            ends: comparison(10_200_000),
            see_ns: 5_000_000,
            first: vec![1_000_000_000, 1_000_200_000],
            second: vec![1_010_300_000, 1_010_200_000],
            boots: 19,
            unbootable: (1, Some("Kernel panic".to_owned())),
            samples: vec![Sample {
                set: vec![0, 2],
                times: vec![1_010_000_000],
            }],
        },
    };
    check("bisect.txt", &terminal::bisect(&bisected, &plain(100)));
    check("bisect.json", &json::text(&json::bisect(&bisected)));
    bisected.found.outcome = Outcome::Unconfirmed { among: vec![0, 1] };
    check(
        "bisect_unconfirmed.txt",
        &terminal::bisect(&bisected, &plain(100)),
    );
}
