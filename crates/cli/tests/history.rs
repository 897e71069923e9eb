//! Histories through the command line: stores, tables, and what is wrong with them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{Scratch, firstlight, json, valid};
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn said(args: &[&str], code: i32) -> String {
    let out = firstlight(args);
    assert_eq!(out.status.code(), Some(code), "{args:?}: {out:?}");
    String::from_utf8([out.stdout, out.stderr].concat()).unwrap()
}

fn document(args: &[&str], code: i32) -> Value {
    let out = firstlight(args);
    assert_eq!(out.status.code(), Some(code), "{args:?}: {out:?}");
    serde_json::from_slice(&out.stdout).unwrap()
}

/// A table of `rows` commits: around 1 s, and from `at` on `step` ms more; the kernel has
/// all of the step.
fn table(rows: usize, at: usize, step: f64) -> String {
    let mut text = String::from("commit,date,first_light_ms,kernel_ms,machine\n");
    for i in 0..rows {
        let noise = (i * 7919 % 101) as f64 / 10.0;
        let kernel = 300.0 + noise + if i >= at { step } else { 0.0 };
        let rest = 700.0 + (i * 104_729 % 97) as f64 / 10.0;
        let (day, light) = (i % 28 + 1, kernel + rest);
        writeln!(
            text,
            "c{i},2026-{:02}-{day:02},{light:.1},{kernel:.1},board",
            i / 28 + 1
        )
        .unwrap();
    }
    text
}

#[test]
fn a_table_is_checked() {
    let scratch = Scratch::new();
    let slow = scratch.file("slow.csv", table(80, 60, 30.0).as_bytes());
    let of = [
        "history",
        "check",
        "--json",
        &slow,
        "--of",
        "first_light_ms",
    ];
    let check = document(&of, 1);
    valid(&check, "history");
    assert_eq!(check["verdict"], "regressed");
    assert_eq!(check["notes"], serde_json::json!([]));
    let point = check["change_points"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["item"] == "first_light_ms")
        .unwrap();
    assert_eq!(point["index"], 60);
    assert_eq!(point["commit"], "c60");
    assert!(point["p"].as_f64().unwrap() < 0.01);
    let change = point["change_ns"].as_i64().unwrap();
    assert!((28_000_000..32_000_000).contains(&change), "{change}");
    let interval = |i: usize| point["interval_ns"][i].as_i64().unwrap();
    assert!(interval(0) < change && change < interval(1));
    let screen = said(&["history", "check", &slow, "--of", "first_light_ms"], 1);
    assert!(screen.starts_with("slower  first_light_ms  +"), "{screen}");
    assert!(screen.contains("since c60"), "{screen}");
    // Nothing can be noted in a table.
    assert!(screen.contains("accept it: --allow SIZE"), "{screen}");
    let noted = ["annotate", &slow, "--entry", "c60", "--accept", "wanted"];
    let refused = said(&[&["history"][..], &noted].concat(), 2);
    assert!(
        refused.contains("only a store keeps annotations"),
        "{refused}"
    );
    // A gain is no regression, and neither is nothing.
    for (rows, at, step) in [(80, 60, -30.0), (80, 80, 0.0)] {
        let fine = scratch.file("fine.csv", table(rows, at, step).as_bytes());
        assert_eq!(
            document(&["history", "check", "--json", &fine], 0)["verdict"],
            "fine"
        );
    }
    let few = scratch.file("few.csv", table(5, 5, 0.0).as_bytes());
    let few = said(&["history", "check", &few], 2);
    assert!(few.contains("5 of the 10 entries"), "{few}");
    said(&["history", "check", &slow, "--allow", "50ms"], 0);
    let blind = said(
        &[
            "history", "check", &slow, "--allow", "50ms", "--see", "0.001ms",
        ],
        2,
    );
    assert!(blind.contains("cannot be seen"), "{blind}");
}

fn log(scratch: &Scratch, name: &str, userspace_ms: u64) -> String {
    let (kernel, total) = (
        1_200 + userspace_ms % 7,
        1_200 + userspace_ms % 7 + userspace_ms,
    );
    let text = format!(
        "Startup finished in {}.{:03}s (kernel) + {}.{:03}s (userspace) = {}.{:03}s\n\
         graphical.target reached after {}.{:03}s in userspace.\n",
        kernel / 1000,
        kernel % 1000,
        userspace_ms / 1000,
        userspace_ms % 1000,
        total / 1000,
        total % 1000,
        userspace_ms / 1000,
        userspace_ms % 1000,
    );
    scratch.file(name, text.as_bytes())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found.sort();
    found
}

/// A store of `count` commits, the last `slow` of them slower.
fn filled(scratch: &Scratch, count: u64, slow: u64) -> String {
    let store = scratch.path("store");
    for i in 0..count {
        let extra = if i + slow >= count { 400 } else { 0 };
        let log = log(scratch, "boot.txt", 3_000 + i * 37 % 41 + extra);
        let (commit, at) = (format!("c{i:02}"), i.to_string());
        let words = [
            "history", "add", &store, &log, "--commit", &commit, "--at", &at,
        ];
        said(&words, 0);
    }
    store
}

#[test]
fn a_store_is_filled_checked_accepted_and_shown() {
    let scratch = Scratch::new();
    let store = filled(&scratch, 16, 6);
    let check = ["history", "check", "--json", &store];
    let regressed = document(&check, 1);
    valid(&regressed, "history");
    assert_eq!(regressed["entries"], 16);
    assert_eq!(regressed["change_points"][0]["commit"], "c10");
    // The same boot twice is one entry.
    let log = log(&scratch, "boot.txt", 3_000);
    let words = [
        "history", "add", "--json", &store, &log, "--commit", "c00", "--at", "0",
    ];
    let again = document(&words, 0);
    valid(&again, "history.add");
    assert_eq!(
        (&again["known"], &again["added"]),
        (&1.into(), &serde_json::json!([]))
    );
    let unknown = said(
        &[
            "history", "annotate", &store, "--entry", "x", "--accept", "why",
        ],
        2,
    );
    assert!(unknown.contains("no entry is called x"), "{unknown}");
    let words = [
        "history", "annotate", "--json", &store, "--entry", "c10", "--accept", "wanted",
    ];
    valid(&document(&words, 0), "history.annotate");
    // A remark withdraws nothing. Later ones count, and a second is the unit.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let words = [
        "history",
        "annotate",
        &store,
        "--entry",
        "c10",
        "--text",
        "see <b>5</b>",
    ];
    said(&words, 0);
    let fine = document(&check, 0);
    assert_eq!(fine["change_points"][0]["accepted"], "wanted");
    let mark = serde_json::json!([{"index": 10, "commit": "c10", "text": "see <b>5</b>"}]);
    assert_eq!(fine["marks"], mark);
    let page = scratch.path("trend.html");
    said(&["history", "show", &store, "-o", &page], 0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("accepted: wanted") && page.contains("c10: see &lt;b&gt;5"));
    assert!(!page.contains("http") && !page.contains("<script"));
    valid(
        &document(&["history", "show", "--json", &store], 0),
        "history.show",
    );
}

/// Two branches add entries: git merges the store without a conflict.
#[test]
fn two_branches_of_a_store_merge() {
    let scratch = Scratch::new();
    let store = filled(&scratch, 3, 0);
    let git = |args: &[&str]| {
        let out = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-C", &store])
            .args(args)
            .output()
            .unwrap();
        assert!(out.status.success(), "{args:?}: {out:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    let commit = || {
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "boots"]);
    };
    let add = |name: &str, ms: u64| {
        let log = log(&scratch, "boot.txt", ms);
        said(
            &[
                "history", "add", &store, &log, "--commit", name, "--at", "7",
            ],
            0,
        );
        commit();
    };
    commit();
    git(&["checkout", "-q", "-b", "other"]);
    add("other", 3_001);
    git(&["checkout", "-q", "main"]);
    add("main", 3_002);
    git(&["merge", "-q", "-m", "both", "other"]);
    let both = document(&["history", "check", "--json", &store], 2);
    assert_eq!(both["entries"], 5);
}

#[test]
fn a_damaged_store_is_told_and_nothing_else_is_lost() {
    let scratch = Scratch::new();
    let store = filled(&scratch, 12, 0);
    let entries = files(&Path::new(&store).join("entries"));
    assert_eq!(entries.len(), 12);
    let whole = std::fs::read(&entries[0]).unwrap();
    std::fs::write(&entries[0], &whole[..whole.len() / 2]).unwrap();
    std::fs::write(entries[1].with_file_name("stranger.json"), b"{\"a\":1}").unwrap();
    std::fs::write(entries[1].with_file_name(".firstlight-x.new"), b"half").unwrap();
    let newer = b"{\"firstlight_history\":7}\n";
    let name = Path::new(&store)
        .join("entries")
        .join(history::name_of(newer));
    std::fs::create_dir_all(name.parent().unwrap()).unwrap();
    std::fs::write(&name, newer).unwrap();
    let check = document(&["history", "check", "--json", &store], 0);
    assert_eq!(check["entries"], 11);
    let notes = check["notes"].to_string();
    for what in [
        "is truncated or was changed",
        "is not an entry of a history",
        "is in version 7",
        "no entry of a history: 1 file",
    ] {
        assert!(notes.contains(what), "{what}: {notes}");
    }
    let head = Path::new(&store).join("firstlight-history.json");
    std::fs::write(&head, b"{\"firstl").unwrap();
    let damaged = said(&["history", "check", &store], 2);
    assert!(damaged.contains("is damaged; expected"), "{damaged}");
    std::fs::remove_file(&head).unwrap();
    let none = said(&["history", "check", &store], 2);
    assert!(none.contains("is no history"), "{none}");
    let log = log(&scratch, "boot.txt", 3_000);
    let foreign = said(&["history", "add", &store, &log], 2);
    assert!(foreign.contains("is no history and not empty"), "{foreign}");
    // A store that a power cut ended before it was one is made again.
    let cut_off = scratch.path("cut_off");
    std::fs::create_dir(&cut_off).unwrap();
    std::fs::write(Path::new(&cut_off).join(".firstlight-aB3xYz.new"), b"{").unwrap();
    said(&["history", "add", &cut_off, &log], 0);
    let file = said(&["history", "check", &log], 2);
    assert!(file.contains("not a table of boots"), "{file}");
}

#[test]
fn clocks_that_go_backwards_and_releases_are_put_in_order() {
    let scratch = Scratch::new();
    let store = scratch.path("store");
    for (i, release) in ["1.10", "1.9", "1.10-rc1", "1.2"].into_iter().enumerate() {
        let log = log(&scratch, "boot.txt", 3_000 + i as u64);
        said(&["history", "add", &store, &log, "--release", release], 0);
    }
    let show = json(&["history", "show", "--json", &store]);
    assert_eq!(
        show["labels"],
        serde_json::json!(["1.2", "1.9", "1.10-rc1", "1.10"])
    );
    let dated = scratch.path("dated");
    for (release, at) in [
        ("1.9", "2026-05-01"),
        ("1.10", "2026-04-01"),
        ("2.0", "1970-01-02"),
    ] {
        let log = log(&scratch, "boot.txt", 3_000);
        said(
            &[
                "history",
                "add",
                &dated,
                &log,
                "--release",
                release,
                "--at",
                at,
            ],
            0,
        );
    }
    let notes = document(&["history", "check", "--json", &dated], 2)["notes"].to_string();
    assert!(
        notes.contains("dated before an older release: 2 entries"),
        "{notes}"
    );
    assert!(notes.contains("dated before 2000"), "{notes}");
    let wrong = said(&["history", "add", &dated, "x", "--at", "yesterday"], 2);
    assert!(wrong.contains("expected a date"), "{wrong}");
}

/// Every output is written, and those with a known shape have it.
#[test]
fn outputs_for_other_programs() {
    let scratch = Scratch::new();
    let slow = scratch.file("slow<&>.csv", table(80, 60, 30.0).as_bytes());
    let kinds = [
        "markdown",
        "junit",
        "sarif",
        "tap",
        "prometheus",
        "kcidb",
        "bencher",
        "benchmark",
        "badge",
    ];
    let paths: Vec<String> = kinds.iter().map(|k| scratch.path(k)).collect();
    let mut words = vec!["history", "check", &slow, "--of", "first_light_ms"];
    let flags: Vec<String> = kinds.iter().map(|k| format!("--{k}")).collect();
    for (flag, path) in flags.iter().zip(&paths) {
        words.extend([flag.as_str(), path.as_str()]);
    }
    said(&words, 1);
    let of = |kind: &str| std::fs::read_to_string(scratch.path(kind)).unwrap();
    let junit = of("junit");
    let document = roxmltree::Document::parse(&junit).unwrap();
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "testsuites");
    assert_eq!(root.attribute("failures"), Some("1"));
    let case = root
        .descendants()
        .find(|n| n.has_tag_name("testcase"))
        .unwrap();
    let failure = case.children().find(|n| n.has_tag_name("failure")).unwrap();
    assert!(failure.attribute("message").unwrap().contains("since c60"));
    assert!(failure.text().unwrap().contains("slow<&>.csv"));
    xmllint(&scratch, &junit);
    let sarif: Value = serde_json::from_str(&of("sarif")).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "first_light_ms");
    assert!(of("tap").starts_with("TAP version 13\n1..1\nnot ok 1 - first_light_ms"));
    let metrics = of("prometheus");
    assert!(metrics.contains("firstlight_check_outcome{check=\"first_light_ms\"} 1\n"));
    let kcidb: Value = serde_json::from_str(&of("kcidb")).unwrap();
    assert_eq!(kcidb["tests"][0]["status"], "FAIL");
    let bencher: Value = serde_json::from_str(&of("bencher")).unwrap();
    assert!(
        bencher["first_light_ms"]["latency"]["value"]
            .as_i64()
            .unwrap()
            > 1_000_000_000
    );
    let benchmark: Value = serde_json::from_str(&of("benchmark")).unwrap();
    assert_eq!(benchmark[0]["unit"], "ms");
    let badge = of("badge");
    roxmltree::Document::parse(&badge).unwrap();
    let markdown = of("markdown");
    assert!(markdown.contains("| first light ms | ❌ failed |") && markdown.contains("^"));
    // GitHub: annotations on standard output, and the summary in its file.
    let summary = scratch.path("summary.md");
    let out = Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args([
            "history",
            "check",
            &slow,
            "--of",
            "first_light_ms",
            "--github",
        ])
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(
        text.starts_with("::error title=Boot time%3A first light ms::"),
        "{text}"
    );
    assert_eq!(std::fs::read_to_string(summary).unwrap(), markdown);
}

/// Validates JUnit XML by the schema of Jenkins' xUnit plugin, where xmllint is.
fn xmllint(scratch: &Scratch, junit: &str) {
    let file = scratch.file("report.xml", junit.as_bytes());
    let schema = common::workspace().join("crates/cli/tests/junit.xsd");
    let run = Command::new("xmllint")
        .args(["--noout", "--schema", &schema.to_string_lossy(), &file])
        .output();
    match run {
        Ok(out) => assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        ),
        Err(_) => eprintln!("skipped: xmllint is not installed"),
    }
}

/// The steps that CI runs, as a CI runs them: red on a regression, green on noise.
#[test]
fn the_steps_of_a_ci() {
    let scratch = Scratch::new();
    let store = filled(&scratch, 12, 0);
    let log = log(&scratch, "new.txt", 3_000);
    let step = |step: &str, commit: &str| {
        Command::new(common::workspace().join("ci/steps.sh"))
            .arg(step)
            .current_dir(scratch.path("."))
            .env("FIRSTLIGHT", env!("CARGO_BIN_EXE_firstlight"))
            .env("STORE", &store)
            .env("BOOTS", &log)
            .env("BUDGET", "first-light=9s")
            .env("COMMIT", commit)
            .env("GITHUB_OUTPUT", scratch.path("output"))
            .env_remove("GITHUB_ACTIONS")
            .output()
            .unwrap()
    };
    for words in ["add", "check"] {
        let out = step(words, "n0");
        assert!(out.status.success(), "{out:?}");
    }
    let output = std::fs::read_to_string(scratch.path("output")).unwrap();
    assert_eq!(output, "verdict=fine\n");
    assert!(
        std::fs::read_to_string(scratch.path("boot-time.html"))
            .unwrap()
            .contains("n0")
    );
    for i in 0..8 {
        self::log(&scratch, "new.txt", 3_600 + i);
        assert!(step("add", &format!("n{}", i + 1)).status.success());
    }
    assert_eq!(step("check", "n8").status.code(), Some(1));
}

/// A repository of a project whose CI runs the steps on each push: red on a regression, green
/// once it is gone, red again when a force-push brings it back under other commits. Stores of
/// two branches become one by copying their files together.
#[test]
fn the_steps_of_a_ci_in_a_repository_whose_history_is_rewritten() {
    let scratch = Scratch::new();
    let project = scratch.path("project");
    std::fs::create_dir_all(&project).unwrap();
    let git = |args: &[&str], date: u64| {
        let date = format!("{} +0000", 1_700_000_000 + date);
        let out = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-C", &project])
            .args(args)
            .env("GIT_COMMITTER_DATE", &date)
            .env("GIT_AUTHOR_DATE", &date)
            .output()
            .unwrap();
        assert!(out.status.success(), "{args:?}: {out:?}");
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q", "-b", "main"], 0);
    let step = |step: &str, store: &str, log: &str| {
        let commit = git(&["rev-parse", "HEAD"], 0);
        let out = Command::new(common::workspace().join("ci/steps.sh"))
            .arg(step)
            .current_dir(&project)
            .env("FIRSTLIGHT", env!("CARGO_BIN_EXE_firstlight"))
            .env("STORE", store)
            .env("BOOTS", log)
            .env("COMMIT", commit)
            .env_remove("GITHUB_ACTIONS")
            .env_remove("GITHUB_OUTPUT")
            .output()
            .unwrap();
        out.status.code()
    };
    let mut date = 0;
    let mut push = |store: &str, count: u64, ms: u64| {
        for i in 0..count {
            date += 60;
            let text = format!("boot at {ms}, {date}");
            git(&["commit", "-q", "--allow-empty", "-m", &text], date);
            let log = log(&scratch, "boot.txt", ms + i * 7 % 5);
            assert_eq!(step("add", store, &log), Some(0));
        }
        step("check", store, "")
    };
    let copy = |from: &str, to: &str| {
        let out = Command::new("cp")
            .args(["-r", "-T", from, to])
            .output()
            .unwrap();
        assert!(out.status.success(), "{out:?}");
    };
    let [store, one, other] = ["boots.history", "one", "other"].map(|n| scratch.path(n));
    assert_eq!(push(&store, 12, 3_000), Some(0), "noise");
    for branch in [&one, &other] {
        copy(&store, branch);
    }
    assert_eq!(push(&store, 8, 3_600), Some(1), "a regression");
    // The regression is rewritten: other commits, the same boots.
    git(&["reset", "-q", "--hard", "HEAD~8"], 0);
    assert_eq!(push(&store, 8, 3_600), Some(1), "after a force-push");
    git(&["reset", "-q", "--hard", "HEAD~8"], 0);
    assert_eq!(push(&store, 10, 3_000), Some(0), "without the regression");

    // Two branches, each with the store of its own cache.
    let count = |store: &str| files(&Path::new(store).join("entries")).len();
    let before = count(&one);
    assert_eq!(push(&one, 2, 3_000), Some(0));
    assert_eq!(push(&other, 8, 3_600), Some(1));
    copy(&other, &one);
    assert_eq!(count(&one), before + 10);
    assert_eq!(step("check", &one, ""), Some(1), "of the other branch");
}

/// A commit that was booted several times, also with equal times, is one place.
#[test]
fn boots_of_one_commit_are_one_commit_and_equal_boots_are_kept_once() {
    let scratch = Scratch::new();
    let store = filled(&scratch, 12, 0);
    let again = |ms: u64| {
        let log = log(&scratch, "again.txt", ms);
        let words = [
            "history", "add", &store, &log, "--commit", "twice", "--at", "99",
        ];
        said(&words, 0)
    };
    assert!(again(3_001).starts_with("added 1 boot"));
    assert!(again(3_001).contains("already in the history"));
    assert!(again(3_003).starts_with("added 1 boot"));
    for ms in [3_600, 3_610, 3_620, 3_630, 3_640, 3_650] {
        again(ms);
    }
    let check = document(&["history", "check", "--json", &store], 0);
    assert_eq!(check["entries"], 20, "{check:#}");
    // Slow boots of a commit that has fast ones too are scatter, not a change.
    assert_eq!(check["change_points"], serde_json::json!([]));
}

/// An entry with 100,000 items is read whole, and so is the change of one of them.
#[test]
fn an_entry_with_100_000_items_is_read() {
    let scratch = Scratch::new();
    let store = scratch.path("store");
    said(
        &[
            "history",
            "add",
            &store,
            &log(&scratch, "b.txt", 3_000),
            "--at",
            "1",
        ],
        0,
    );
    let first = files(&Path::new(&store).join("entries")).remove(0);
    let name = first.file_name().unwrap().to_str().unwrap();
    let history::Content::Entry(mut entry) =
        history::read(name, &std::fs::read(&first).unwrap(), history::Part::Whole).unwrap()
    else {
        panic!("an entry")
    };
    entry.at = Some(history::At::Sequence(2));
    let items = (0..100_000).map(|i| history::Time("unit".to_owned(), format!("s{i}.service"), i));
    entry.times = items.collect();
    let bytes = history::text_of(&entry);
    let path = Path::new(&store)
        .join("entries")
        .join(history::name_of(&bytes));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    let check = document(&["history", "check", "--json", &store], 2);
    assert_eq!(check["entries"], 2, "{check:#}");
    assert_eq!(check["notes"], serde_json::json!([]));
}

/// The files in `ci/` are valid, where the linters are.
#[test]
fn files_for_ci_are_linted() {
    let ci = common::workspace().join("ci");
    for (tool, args, file) in [
        (
            "yamllint",
            &[
                "-d",
                "{extends: default, rules: {line-length: disable, document-start: disable, comments: disable}}",
            ][..],
            "github/action.yml",
        ),
        (
            "yamllint",
            &[
                "-d",
                "{extends: default, rules: {line-length: disable, document-start: disable}}",
            ],
            "gitlab/boot-time.yml",
        ),
        ("shellcheck", &[], "steps.sh"),
    ] {
        match Command::new(tool).args(args).arg(ci.join(file)).output() {
            Ok(out) => assert!(
                out.status.success(),
                "{file}: {}",
                String::from_utf8_lossy(&out.stdout)
            ),
            Err(_) => eprintln!("skipped: {tool} is not installed"),
        }
    }
}

/// A boot of the lab has the work of its units in its entry, and so has a store that `rows` reads.
#[test]
fn entries_of_exact_boots_have_work() {
    let scratch = Scratch::new();
    let store = scratch.path("store");
    let capture = common::workspace().join("corpus/captures/v1-debian.tar.zst");
    let capture = capture.to_string_lossy();
    said(
        &[
            "history", "add", &store, &capture, "--commit", "a", "--at", "1",
        ],
        0,
    );
    let entries = files(&Path::new(&store).join("entries"));
    let text = std::fs::read_to_string(&entries[0]).unwrap();
    // The version is that of entries without work: both programs read both.
    assert!(text.starts_with("{\"firstlight_history\":1,"));
    let entry: Value = serde_json::from_str(&text).unwrap();
    let work = |wanted: &str| {
        let mut times = entry["times"].as_array().unwrap().iter();
        times.find(|t| t[1] == wanted).cloned().unwrap_or_default()
    };
    assert_eq!(work("work of dbus.service")[0], "unit_work");
    assert!(work("work of all units")[2].as_i64().unwrap() > 1_000_000_000);
    let check = document(&["history", "check", &store, "--json"], 2);
    valid(&check, "history");
}
