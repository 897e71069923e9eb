//! Exports, checked by the tools that own the formats.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{ask_perfetto, export, firstlight, json};
use serde_json::Value;

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../corpus/captures/v1-debian.tar.zst"
);

#[test]
fn perfetto_itself_answers_what_blame_answers() {
    let dir = tempfile::tempdir().unwrap();
    let trace = export(CAPTURE, "perfetto", dir.path());
    let longest = "select s.name, s.dur, s.ts from slice s \
                   where category = 'initcall' order by dur desc limit 1";
    let wrong = "select count(*) from stats where severity = 'error' and value > 0";
    let evidence = "select display_value from args join slice using(arg_set_id) \
                    where category = 'initcall' and key = 'debug.source' limit 1";
    let Some(answers) = ask_perfetto(&trace, &[longest, wrong, evidence]) else {
        return;
    };
    let blame = json(&[
        "blame", "--json", "--kind", "initcall", "--top", "1", CAPTURE,
    ]);
    let row = &blame["rows"][0];
    let expected = serde_json::json!([[row["name"], row["wall_ns"], row["start_ns"]]]);
    assert_eq!(answers[0], expected);
    assert_eq!(
        answers[1],
        serde_json::json!([[0]]),
        "it found nothing wrong"
    );
    assert_eq!(answers[2], serde_json::json!([["kmsg"]]));
}

#[test]
fn every_format_tells_the_same_events() {
    let dir = tempfile::tempdir().unwrap();
    let csv = std::fs::read_to_string(export(CAPTURE, "csv", dir.path())).unwrap();
    let events = csv.lines().count() - 1;
    let chrome = std::fs::read(export(CAPTURE, "chrome", dir.path())).unwrap();
    let chrome: Value = serde_json::from_slice(&chrome).unwrap();
    let shown = chrome["traceEvents"].as_array().unwrap();
    let told = shown.iter().filter(|e| e["ph"] != "M").count();
    assert_eq!(told, events);
    let folded = std::fs::read_to_string(export(CAPTURE, "folded", dir.path())).unwrap();
    assert!(folded.lines().all(|l| {
        l.rsplit_once(' ')
            .is_some_and(|(_, n)| n.parse::<u64>().is_ok())
    }));
    assert!(folded.contains("boot;initcall;crypto_algapi_init 736406\n"));
    let parquet = std::fs::read(export(CAPTURE, "parquet", dir.path())).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    for format in ["svg", "bootgraph", "bootchart"] {
        let svg = std::fs::read_to_string(export(CAPTURE, format, dir.path())).unwrap();
        let picture = roxmltree::Document::parse(&svg).unwrap();
        assert_eq!(picture.root_element().tag_name().name(), "svg", "{format}");
    }
}

#[test]
fn names_that_are_markup_stay_text() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("hostile.log");
    let name = "</script><b>\"'&;\\";
    std::fs::write(
        &log,
        format!("[    0.100000] Linux version 6\n[    0.200000] probe of {name} returned 0 after 90000 usecs\n"),
    )
    .unwrap();
    let log = log.to_str().unwrap();
    for format in ["svg", "bootgraph"] {
        let svg = std::fs::read_to_string(export(log, format, dir.path())).unwrap();
        let picture = roxmltree::Document::parse(&svg).unwrap();
        assert!(picture.descendants().all(|n| n.tag_name().name() != "b"));
        let mut texts = picture.descendants().filter_map(|n| n.text());
        assert!(texts.any(|t| t.starts_with(name)), "{format}");
    }
    let chrome = std::fs::read(export(log, "chrome", dir.path())).unwrap();
    let chrome: Value = serde_json::from_slice(&chrome).unwrap();
    let events = chrome["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|e| e["name"] == name));
    let folded = std::fs::read_to_string(export(log, "folded", dir.path())).unwrap();
    assert_eq!(folded.lines().count(), 1);
    let trace = export(log, "perfetto", dir.path());
    if let Some(answers) =
        ask_perfetto(&trace, &["select name from slice where category = 'probe'"])
    {
        assert_eq!(answers[0][0][0], name);
    }
}

#[test]
fn an_export_that_cannot_be_written_is_one_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    let out = firstlight(&["export", CAPTURE, "--to", "csv", "-o", path]);
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(
        said.lines().count() == 1 && said.contains("is a folder"),
        "{said}"
    );
    assert_eq!(std::fs::read_dir(path).unwrap().count(), 0);
}
