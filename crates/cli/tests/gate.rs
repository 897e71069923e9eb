//! Several boots, and gates of them, through the command line.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Scratch, firstlight, json, valid};

fn said(args: &[&str], code: i32) -> String {
    let out = firstlight(args);
    assert_eq!(out.status.code(), Some(code), "{args:?}: {out:?}");
    String::from_utf8([out.stdout, out.stderr].concat()).unwrap()
}

const BASE: &str = "n,start_s\n1,10.0\n2,10.1\n3,10.2\n4,10.05\n5,10.15\n";
const SLOW: &str = "n,start_s\n1,11.0\n2,11.1\n3,11.2\n4,11.05\n5,11.15\n";

#[test]
fn a_gate_of_tables() {
    let scratch = Scratch::new();
    let base = scratch.file("base.csv", BASE.as_bytes());
    let slow = scratch.file("slow.csv", SLOW.as_bytes());
    let of =
        |a: &str, b: &str, code: i32| said(&["gate", a, "--against", b, "--of", "start_s"], code);
    let closed = of(&base, &slow, 1);
    assert!(
        closed.contains("slower") && closed.contains("+1.000 s (+9.90 %)"),
        "{closed}"
    );
    assert!(of(&slow, &base, 0).starts_with("passed"));
    of(&base, &base, 0);
    let words = [
        "gate",
        &base,
        "--against",
        &slow,
        "--of",
        "start_s",
        "--allow",
        "10%",
        "--json",
    ];
    let document = json(&words);
    valid(&document, "gate");
    assert_eq!(document["allowed_ns"], 1_010_000_000);
    assert_eq!(document["passed"], true);
    // Nothing of it is called first light.
    let none = said(&["gate", &base, "--against", &slow], 2);
    assert!(
        none.contains("none of the base boots has this time"),
        "{none}"
    );
    let four: String = BASE.lines().take(5).map(|l| format!("{l}\n")).collect();
    let four = scratch.file("four.csv", four.as_bytes());
    let few = of(&four, &slow, 2);
    assert!(few.contains("4 against 5"), "{few}");
}

/// What a gate says with no boot, one boot and five boots of a base is one of these sentences.
#[test]
fn few_base_boots_have_their_own_answers() {
    let scratch = Scratch::new();
    let rows = |name: &str, rows: usize, text: &str| {
        let text: String = text
            .lines()
            .take(rows + 1)
            .map(|l| format!("{l}\n"))
            .collect();
        scratch.file(name, text.as_bytes())
    };
    let gate = |base: &[&str], new: &str, more: &[&str], code: i32| {
        let words = [
            &["gate"],
            base,
            &["--against", new, "--of", "start_s"],
            more,
        ]
        .concat();
        said(&words, code)
    };
    let [none, one, five] = [0, 1, 5].map(|n| rows(&format!("base{n}.csv"), n, BASE));
    let [new_one, new_five] = [1, 5].map(|n| rows(&format!("new{n}.csv"), n, SLOW));
    // None: only budgets can be judged, and a table without boots is an error.
    let budget = gate(&[], &new_five, &["--budget", "start_s=12s"], 0);
    assert!(budget.contains("start_s"), "{budget}");
    gate(&[], &new_five, &["--budget", "start_s=10.9s"], 1);
    let empty = gate(&[&none], &new_five, &[], 2);
    assert!(empty.contains("base0.csv"), "{empty}");
    // One: its scatter is unknown, however large the difference is.
    let single = gate(&[&one], &new_one, &[], 2);
    assert!(single.starts_with("cannot tell"), "{single}");
    assert!(single.contains("1 against 1"), "{single}");
    let single = gate(&[&one], &new_five, &[], 2);
    assert!(single.contains("1 against 5"), "{single}");
    // Five: ranks decide, and the resolution is stated.
    let enough = gate(&[&five], &new_five, &[], 1);
    assert!(enough.contains("resolution"), "{enough}");
}

/// A folder holds the captures of several boots; one of a run with several variants is
/// none of one system.
#[test]
fn boots_of_a_folder() {
    let scratch = Scratch::new();
    let corpus = common::workspace().join("corpus/captures/v1-debian.tar.zst");
    for place in [
        "run/trials/base/0",
        "run/trials/base/1",
        "run/trials/other/0",
    ] {
        let folder = scratch.path(place);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy(&corpus, format!("{folder}/boot.tar.zst")).unwrap();
    }
    let run = scratch.path("run");
    scratch.file("run/trials.jsonl", b"");
    let base = scratch.path("run/trials/base");
    let document = json(&["boots", "--json", &base]);
    valid(&document, "boots");
    assert_eq!(document["boots"], 2);
    assert_eq!(document["clock"], "virtual");
    let light = &document["times"][0];
    assert_eq!(light["kind"], "first_light");
    assert_eq!(light["base"]["sd_ns"], 0);
    assert_eq!(document["against"], serde_json::Value::Null);
    for folder in [run.clone(), format!("{run}/trials")] {
        let several = said(&["boots", &folder], 2);
        assert!(several.contains("has 2 variants"), "{several}");
    }
    // Virtual time is never beside real time.
    let real = scratch.file(
        "real.txt",
        b"Startup finished in 1s (kernel) + 2s (userspace) = 3s\n",
    );
    let mixed = said(&["boots", &base, "--against", &real], 2);
    assert!(
        mixed.contains("boot 1 is in virtual time but boot 3 is not"),
        "{mixed}"
    );
    let passed = said(&["gate", &base, "--against", &base], 0);
    assert!(passed.starts_with("passed  first light  0 s"), "{passed}");
}
