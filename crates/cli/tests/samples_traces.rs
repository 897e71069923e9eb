//! Charts, loaders' times and block traces of other people, through the public
//! command line, against what other tools found in them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{expected, firstlight, json, sample};
use serde_json::{Value, json as value};

/// The value of a fact of `show --json`.
fn fact<'v>(show: &'v Value, key: &str) -> Option<&'v str> {
    let facts = show["facts"].as_array().unwrap();
    facts.iter().find(|f| f["key"] == key)?["value"].as_str()
}

fn number(show: &Value, key: &str) -> Option<u64> {
    fact(show, key).map(|v| v.parse().unwrap())
}

#[test]
fn a_chart_of_fedora_11() {
    let name = "bootchart/f11_bootchart.tgz";
    let (Some(expected), Some(path)) = (expected(), sample(name)) else {
        return;
    };
    let oracle = &expected["files"][name]["expect"];
    let show = json(&["show", "--json", &path]);
    for (key, wanted) in oracle["header"].as_object().unwrap() {
        let found = fact(&show, &format!("bootchart.{key}"));
        assert_eq!(found, wanted.as_str(), "{key}");
    }
    for (log, of) in oracle["logs"].as_object().unwrap() {
        let sources = show["sources"].as_array().unwrap();
        let mut of_log = sources
            .iter()
            .filter(|s| s["name"].as_str().unwrap().ends_with(log.as_str()));
        let source = of_log.next().unwrap();
        assert_eq!(source["format"], "bootchart");
        assert_eq!(source["units"], of["samples"], "{log}");
        assert_eq!(source["events"], of["samples"], "{log}");
        let log = log.strip_suffix(".log").unwrap();
        for (key, ours) in [("first_cs", "first_ns"), ("last_cs", "last_ns")] {
            let found = number(&show, &format!("bootchart.{log}.{ours}"));
            let wanted = of[key].as_u64().map(|cs| cs * 10_000_000);
            assert_eq!(found, wanted, "{log} {key}");
        }
    }
    let processes = show["summary"]["kinds"].as_array().unwrap();
    let processes = processes.iter().find(|k| k["kind"] == "process").unwrap();
    assert_eq!(processes["count"], oracle["processes"]["distinct_pids"]);
    for (disk, of) in oracle["disks_with_io"].as_object().unwrap() {
        for (key, ours, unit) in [
            ("reads", "reads", 1),
            ("writes", "writes", 1),
            ("read_KiB", "read_bytes", 1_024),
            ("written_KiB", "written_bytes", 1_024),
        ] {
            let found = number(&show, &format!("bootchart.disk.{disk}.{ours}"));
            assert_eq!(found.map(|v| v / unit), of[key].as_u64(), "{disk} {key}");
        }
    }
    let blame = json(&["blame", "--json", "--kind", "process", "--top", "5", &path]);
    let mut busiest: Vec<Value> = blame["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| {
            value!([
                r["pid"],
                r["name"],
                r["cpu_ns"].as_i64().unwrap() / 10_000_000
            ])
        })
        .collect();
    let wanted = &oracle["processes"]["top5_cpu_jiffies_last_value"];
    let mut wanted = wanted.as_array().unwrap().clone();
    // Two were as busy as each other: by process id, then.
    for list in [&mut busiest, &mut wanted] {
        list.sort_by_key(|p| (std::cmp::Reverse(p[2].as_i64()), p[0].as_i64()));
    }
    assert_eq!(busiest, wanted);
}

/// A name without the number that tells it from its namesakes.
fn plain(name: &str) -> &str {
    name.split(" (").next().unwrap_or(name)
}

#[test]
fn reports_of_every_loader() {
    let Some(expected) = expected() else { return };
    for (name, file) in expected["files"].as_object().unwrap() {
        if !name.starts_with("bootstage/") {
            continue;
        }
        let Some(path) = sample(name) else { continue };
        let oracle = &file["expect"];
        let show = json(&["show", "--json", &path]);
        assert_eq!(show["sources"][0]["format"], "bootstage", "{name}");
        assert_eq!(show["zero"], "power-on", "{name}");
        let blame = json(&["blame", "--json", "--kind", "stage", "--top", "0", &path]);
        let rows = blame["rows"].as_array().unwrap();
        let (spans, sums): (Vec<&Value>, Vec<&Value>) =
            rows.iter().partition(|r| !r["start_ns"].is_null());
        // Between marks, each stretch is a row that ends at the later one.
        let mut spans: Vec<(i64, &Value)> = spans
            .into_iter()
            .map(|r| (r["end_ns"].as_i64().unwrap() / 1_000, r))
            .collect();
        spans.sort_by_key(|s| s.0);
        let marks = oracle["marks"].as_array().unwrap();
        assert_eq!(spans.len() + 1, marks.len(), "{name}");
        for ((end, row), mark) in spans.iter().zip(&marks[1..]) {
            let name = row["name"].as_str().unwrap();
            let (_, to) = name.split_once(" -> ").unwrap();
            let took = row["wall_ns"].as_i64().unwrap() / 1_000;
            assert_eq!(value!([plain(to), end, took]), *mark, "{name}");
        }
        let mut sums: Vec<Value> = sums
            .into_iter()
            .map(|r| value!([r["name"], r["reported_ns"].as_i64().unwrap() / 1_000]))
            .collect();
        sums.sort_by_key(|s| s[1].as_i64());
        assert_eq!(oracle["accumulated"], Value::Array(sums), "{name}");
    }
}

/// The files of a block trace.
fn keks() -> Option<Vec<String>> {
    let files = (0..8).map(|cpu| sample(&format!("blktrace/keks.blktrace.{cpu}")));
    files.collect()
}

#[test]
fn a_block_trace_of_eight_processors() {
    let (Some(expected), Some(files)) = (expected(), keks()) else {
        return;
    };
    let raw = &expected["captures"]["blktrace/keks"]["raw"];
    // The order of the files does not matter.
    let mut backwards = files.clone();
    backwards.reverse();
    let io = |files: &[String]| {
        let mut args = vec!["io", "--json"];
        args.extend(files.iter().map(String::as_str));
        json(&args)
    };
    let found = io(&files);
    let other = io(&backwards);
    for key in [
        "requests",
        "operations",
        "processes",
        "dispatch_to_complete",
    ] {
        assert_eq!(found[key], other[key], "{key}");
    }
    let mean = "dispatch_to_complete_mean_ns";
    assert_eq!(found[mean], raw["d2c_first_dispatch_avg_ns"]);
    let from_last = &found["dispatch_to_complete_mean_from_last_ns"];
    assert_eq!(from_last, &raw["d2c_last_dispatch_avg_ns"]);
    let served = &found["dispatch_to_complete"];
    assert_eq!(served["count"], raw["d2c_matched"]);
    assert_eq!(served["min_ns"], raw["d2c_first_dispatch_min_ns"]);
    assert_eq!(served["max_ns"], raw["d2c_first_dispatch_max_ns"]);
    for operation in ["read", "write", "discard", "flush"] {
        let ours = found["operations"].as_array().unwrap();
        let ours = ours.iter().find(|o| o["operation"] == operation).unwrap();
        for (action, events, bytes) in [
            ("D", "dispatched", "dispatched_bytes"),
            ("C", "completed", "completed_bytes"),
        ] {
            let key = format!("{action} {operation}");
            let both = value!([ours[events], ours[bytes].as_u64().map(|b| b / 1_024)]);
            let wanted = &raw["by_action_and_direction"][key.as_str()];
            let none = value!([0, 0]);
            let wanted = if wanted.is_null() { &none } else { wanted };
            assert_eq!(&both, wanted, "{key}");
        }
    }
    let mut show = vec!["show", "--json"];
    show.extend(files.iter().map(String::as_str));
    let show = json(&show);
    let sources = show["sources"].as_array().unwrap();
    let sum = |key: &str| {
        sources
            .iter()
            .map(|s| s[key].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(sum("units"), raw["records"].as_u64().unwrap());
    assert!(sources.iter().all(|s| s["format"] == "blktrace"));
}

#[test]
fn all_records_of_a_block_trace_in_one_file() {
    let Some(files) = keks() else { return };
    let folder = tempfile::tempdir().unwrap();
    let merged = folder.path().join("merged");
    let bytes: Vec<u8> = files
        .iter()
        .flat_map(|f| std::fs::read(f).unwrap())
        .collect();
    std::fs::write(&merged, bytes).unwrap();
    let found = json(&["io", "--json", merged.to_str().unwrap()]);
    let mut args = vec!["io", "--json"];
    args.extend(files.iter().map(String::as_str));
    let wanted = json(&args);
    for key in ["requests", "operations", "processes", "depth"] {
        assert_eq!(found[key], wanted[key], "{key}");
    }
}

#[test]
fn every_sample_is_recognised_and_nothing_is_lost_silently() {
    let Some(expected) = expected() else { return };
    for name in expected["files"].as_object().unwrap().keys() {
        // Tables of others' boots are no evidence of one.
        if std::path::Path::new(name)
            .extension()
            .is_some_and(|e| e == "csv")
        {
            continue;
        }
        let Some(path) = sample(name) else { continue };
        let out = firstlight(&["show", &path]);
        let errors = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{name}: {errors}");
        let show = json(&["show", "--json", &path]);
        for source in show["sources"].as_array().unwrap() {
            let of = |key: &str| source[key].as_u64().unwrap();
            assert_eq!(of("units"), of("events") + of("noted"), "{name}");
            assert!(of("units") > 0, "{name}");
        }
    }
}
