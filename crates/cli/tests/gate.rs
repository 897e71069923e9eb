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

/// Each phase of captures may have a budget, beside a budget for first light. Limits are what
/// `show` prints of the boot.
#[test]
fn phases_of_captures_have_budgets() {
    let scratch = Scratch::new();
    let one = common::workspace().join("corpus/captures/v1-debian.tar.zst");
    let one = one.to_string_lossy().into_owned();
    let boots = scratch.path("boots");
    std::fs::create_dir_all(&boots).unwrap();
    for copy in 0..2 {
        std::fs::copy(&one, format!("{boots}/{copy}.tar.zst")).unwrap();
    }
    let phases = json(&["show", "--json", &one])["phases"].clone();
    let ns = |value: &serde_json::Value| value.as_i64().unwrap();
    let ms = |ns: i64| format!("{}.{:06}ms", ns / 1_000_000, ns % 1_000_000);
    let phases: Vec<(String, i64)> = phases
        .as_array()
        .unwrap()
        .iter()
        .map(|p| {
            let name = p["name"].as_str().unwrap().to_owned();
            (name, ns(&p["end_ns"]) - ns(&p["start_ns"]))
        })
        .filter(|(_, took)| *took > 0)
        .collect();
    assert!(
        phases.iter().any(|(name, _)| name == "userspace"),
        "{phases:?}"
    );
    for input in [&one, &boots] {
        for (name, took) in &phases {
            let of = |limit: i64, code: i32| {
                let budget = format!("{name}={}", ms(limit));
                said(&["gate", "--against", input, "--budget", &budget], code)
            };
            assert!(of(*took, 0).starts_with("passed"), "{name}");
            let over = of(took - 1, 1);
            assert!(over.starts_with("over budget"), "{over}");
        }
    }
    // Several at once: one that is exceeded decides, and each has its own verdict.
    let [kernel, userspace] = ["kernel", "userspace"].map(|wanted| {
        let found = phases.iter().find(|(name, _)| name == wanted);
        found.unwrap_or_else(|| panic!("{wanted}: {phases:?}")).1
    });
    let kernel = format!("kernel={}", ms(kernel));
    let short = format!("userspace={}", ms(userspace - 1));
    let words = [
        &["gate", "--against", &boots, "--json"][..],
        &["--budget", "first-light=1h"],
        &["--budget", &kernel, "--budget", &short],
    ]
    .concat();
    let out = firstlight(&words);
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    let document: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    valid(&document, "gate");
    let budgets = document["budgets"].as_array().unwrap();
    let verdicts: Vec<&str> = budgets
        .iter()
        .map(|b| b["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["within", "within", "over"]);
    assert_eq!(ns(&budgets[2]["median_ns"]), userspace);
    assert_eq!(document["verdict"], "over_budget");
    // A phase that the boots do not have is no phase that is fast enough.
    let none = said(&["gate", "--against", &boots, "--budget", "firmwear=1h"], 2);
    assert!(none.contains("firmwear"), "{none}");
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

/// The verdict of the gate in the formats that others read, beside the terminal's text.
#[test]
fn a_gate_is_written_for_other_programs() {
    let scratch = Scratch::new();
    let base = scratch.file("base.csv", BASE.as_bytes());
    let slow = scratch.file("slow.csv", SLOW.as_bytes());
    let one = scratch.file("one.csv", b"n,start_s\n1,10.0\n");
    for (new, code, outcome, results) in [
        (&slow, 1, "failure", 1),
        (&base, 0, "system-out", 0),
        (&one, 2, "error", 1),
    ] {
        let [junit, markdown, sarif] = ["xml", "md", "sarif"].map(|n| scratch.path(n));
        let words = [
            &["gate", &base, "--against", new, "--of", "start_s"][..],
            &[
                "--junit",
                &junit,
                "--markdown",
                &markdown,
                "--sarif",
                &sarif,
            ],
        ]
        .concat();
        let screen = said(&words, code);
        let read = |path: &str| std::fs::read_to_string(path).unwrap();
        let text = read(&junit);
        let document = roxmltree::Document::parse(&text).unwrap();
        let case = document
            .descendants()
            .find(|n| n.has_tag_name("testcase"))
            .unwrap();
        assert_eq!(case.attribute("classname"), Some("firstlight.gate"));
        assert_eq!(case.attribute("name"), Some("start_s"));
        assert!(case.children().any(|n| n.has_tag_name(outcome)), "{text}");
        let sarif: serde_json::Value = serde_json::from_str(&read(&sarif)).unwrap();
        let found = sarif["runs"][0]["results"].as_array().unwrap();
        assert_eq!(found.len(), results, "{sarif}");
        let markdown = read(&markdown);
        let mark = ["✅ passed", "❌ failed", "⚠️ cannot tell"][usize::try_from(code).unwrap()];
        assert!(
            markdown.starts_with(&format!("### Boot time: {mark}\n")),
            "{markdown}"
        );
        assert!(!screen.contains("<testcase") && !screen.is_empty());
    }
}

/// Exact boots are judged by work, too, in every format.
#[test]
fn a_gate_of_captures_says_what_work_changed() {
    let scratch = Scratch::new();
    for (side, name) in [("base", "v1-debian"), ("new", "v1-debian-all")] {
        let corpus = common::workspace().join(format!("corpus/captures/{name}.tar.zst"));
        std::fs::create_dir_all(scratch.path(side)).unwrap();
        for copy in ["0", "1"] {
            let to = scratch.path(&format!("{side}/{copy}.tar.zst"));
            std::fs::copy(&corpus, to).unwrap();
        }
    }
    let [base, new, junit] = ["base", "new", "junit"].map(|n| scratch.path(n));
    let words = ["gate", &new, "--against", &base, "--junit", &junit];
    let screen = said(&words, 1);
    assert!(screen.contains("judged by work, too: +15.3 ms"), "{screen}");
    let text = std::fs::read_to_string(&junit).unwrap();
    assert!(text.contains("name=\"work\""), "{text}");
    let document = json(&["gate", &base, "--against", &base, "--json"]);
    valid(&document, "gate");
    assert_eq!(document["work"]["verdict"], "passed");
    assert_eq!(document["work"]["delta_ns"], 0);
    // One boot each does not say how far work moves by itself.
    let one = format!("{base}/0.tar.zst");
    let document = json(&["gate", &one, "--against", &one, "--json"]);
    assert_eq!(document["work"], serde_json::Value::Null);
}

/// Six boots of a whole Debian, three of which have a service that works more. Four services start
/// at once, so that time moves by more from boot to boot than by that work, and names others.
#[test]
fn work_shows_what_a_busy_order_of_services_hides() {
    let folder = common::workspace().join("experiments/gate/work");
    let [base, new] = ["base", "new"].map(|n| folder.join(n).to_string_lossy().into_owned());
    let document = |args: &[&str], code: i32| {
        let words = [
            &["gate", &base, "--against", &new, "--see", "20%", "--json"],
            args,
        ]
        .concat();
        let out = firstlight(&words);
        assert_eq!(out.status.code(), Some(code), "{args:?}");
        let document: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        valid(&document, "gate");
        document
    };
    let gate = document(&[], 1);
    assert_eq!(gate["verdict"], "slower");
    // By time alone it would have passed, and other services changed more.
    assert_eq!(gate["time"]["change"]["verdict"], "no_difference");
    assert_eq!(
        document(&["--of", "userspace"], 0)["work"],
        serde_json::Value::Null
    );
    let names = |rows: &serde_json::Value| -> Vec<String> {
        let rows = rows.as_array().unwrap().iter();
        rows.map(|r| r["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(names(&gate["slower"]).contains(&"ssh.service".to_owned()));
    assert_eq!(names(&gate["work"]["items"]), ["work of app.service"]);
    let delta = gate["work"]["delta_ns"].as_i64().unwrap();
    assert!((56_000_000..57_000_000).contains(&delta), "{delta}");
    // So much more work is fine if somebody says so.
    assert_eq!(document(&["--allow", "60ms"], 0)["verdict"], "passed");
}
