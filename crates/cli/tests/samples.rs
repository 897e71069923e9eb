//! Real boots of other people, through the public command line, against what
//! other tools found in them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{expected, firstlight, json, sample, valid};
use serde_json::{Value, json as value};

fn rows(kind: &str, file: &str) -> Vec<Value> {
    let blame = json(&["blame", "--json", "--kind", kind, "--top", "0", file]);
    blame["rows"].as_array().unwrap().clone()
}

/// Microseconds of a row's `wall_ns`.
fn wall_us(row: &Value) -> i64 {
    row["wall_ns"].as_i64().unwrap() / 1_000
}

#[test]
fn initcalls_and_probes_of_every_kernel_log() {
    let Some(expected) = expected() else { return };
    for (name, file) in expected["files"].as_object().unwrap() {
        let expect = &file["expect"];
        if !name.starts_with("dmesg/") {
            continue;
        }
        let Some(path) = sample(name) else { continue };
        let initcalls = rows("initcall", &path);
        let e = &expect["initcalls"];
        let whole: Vec<&Value> = initcalls
            .iter()
            .filter(|r| !r["wall_ns"].is_null())
            .collect();
        assert_eq!(
            whole.len() as u64,
            e["paired"].as_u64().unwrap(),
            "{name}: pairs"
        );
        let doubted = |d: &str| initcalls.iter().filter(|r| r["doubt"] == d).count() as u64;
        assert_eq!(
            doubted("lost_end"),
            e["unmatched_calling"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            doubted("lost_start"),
            e["unmatched_returned"].as_u64().unwrap(),
            "{name}"
        );
        if let Some(sum) = e["sum_wall_us"].as_i64() {
            let ours: i64 = whole.iter().map(|r| wall_us(r)).sum();
            assert_eq!(ours, sum, "{name}: sum of wall times");
        }
        if let Some(max) = e["max"].as_object() {
            let first = whole[0]["name"].as_str().unwrap();
            assert!(
                first.starts_with(max["function"].as_str().unwrap()),
                "{name}: {first}"
            );
            assert_eq!(
                wall_us(whole[0]),
                max["wall_us"].as_i64().unwrap(),
                "{name}"
            );
            let reported = whole[0]["reported_ns"].as_i64().unwrap() / 1_000;
            assert_eq!(reported, max["kernel_said_us"].as_i64().unwrap(), "{name}");
        }
        let probes = rows("probe", &path);
        assert_eq!(
            probes.len() as u64,
            expect["probes"]["lines"].as_u64().unwrap(),
            "{name}"
        );
        let show = json(&["show", "--json", &path]);
        let source = &show["sources"][0];
        assert_eq!(source["units"], expect["lines"], "{name}: lines");
        let notes = show["notes"].as_array().unwrap();
        let count = |kind: &str| {
            let note = notes.iter().find(|n| n["kind"] == kind);
            note.map_or(0, |n| n["count"].as_u64().unwrap())
        };
        assert_eq!(
            count("backward_step"),
            expect["backward_steps"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            count("zero_stamp"),
            expect["zero_stamp_lines"].as_u64().unwrap(),
            "{name}"
        );
    }
}

#[test]
fn the_initcall_that_the_kernel_misjudges() {
    let Some(path) = sample("dmesg/x13s-dmesg.txt") else {
        return;
    };
    let rows = rows("initcall", &path);
    assert_eq!(rows.len(), 1_332);
    let apm = &rows[0];
    assert_eq!(apm["name"], "apm_driver_init [snd_q6apm]");
    assert_eq!(apm["wall_ns"], 5_313_382_000_i64);
    assert_eq!(apm["reported_ns"], 1_472_658_000_i64);
    assert_eq!(apm["doubt"], "overlap");
    // Exactly the rows whose two numbers differ by more than a millisecond say why.
    for row in &rows {
        let (wall, reported) = (&row["wall_ns"], &row["reported_ns"]);
        let differ = (wall.as_i64().unwrap() - reported.as_i64().unwrap()).abs() > 1_000_000;
        assert_eq!(differ, !row["doubt"].is_null(), "{row}");
    }
}

#[test]
fn startup_times_of_every_systemd_analyze() {
    let Some(expected) = expected() else { return };
    for (name, file) in expected["files"].as_object().unwrap() {
        let startup = match &file["expect"] {
            Value::Array(lines) => lines[0].clone(),
            other => other["startup"].clone(),
        };
        let whole = startup["total_us"].is_i64() && startup["kernel_us"].is_i64();
        if !name.starts_with("systemd/") || !whole {
            continue;
        }
        let Some(path) = sample(name) else { continue };
        // A file of several boots has the expected one first.
        let mut show = vec!["show", "--json", &path];
        if file["expect"].is_array() {
            show.extend(["--boot", "1"]);
        }
        let show = json(&show);
        let facts = show["facts"].as_array().unwrap();
        let total = facts
            .iter()
            .find(|f| f["key"] == "systemd.startup_total_ns");
        let total: i64 = total.unwrap()["value"].as_str().unwrap().parse().unwrap();
        assert_eq!(total / 1_000, startup["total_us"], "{name}: total");
        let phases = show["phases"].as_array().unwrap();
        for part in ["firmware", "loader", "kernel", "initrd", "userspace"] {
            let phase = phases.iter().find(|p| p["name"] == part);
            let took =
                phase.map(|p| p["end_ns"].as_i64().unwrap() - p["start_ns"].as_i64().unwrap());
            let Some(us) = startup[format!("{part}_us")].as_i64() else {
                assert_eq!(took, None, "{name}: {part}");
                continue;
            };
            // A plot's bars are finer than its printed, rounded parts.
            let off = (took.unwrap() - us * 1_000).abs();
            assert!(off <= 2_000_000, "{name}: {part} is {off} ns off");
        }
    }
}

#[test]
fn the_same_input_prints_the_same_bytes() {
    let Some(path) = sample("dmesg/x13s-dmesg.txt") else {
        return;
    };
    for args in [
        &["show", &path][..],
        &["blame", "--json", "--top", "0", &path],
    ] {
        assert_eq!(firstlight(args).stdout, firstlight(args).stdout);
    }
}

#[test]
fn deferrals_device_by_device() {
    let name = "dmesg/x13s-dmesg.txt";
    let (Some(expected), Some(path)) = (expected(), sample(name)) else {
        return;
    };
    let e = &expected["files"][name]["expect"]["probes"];
    let all = json(&["blame", "--deferrals", "--json", "--top", "0", &path]);
    let devices = all["devices"].as_array().unwrap();
    let sum = |key: &str| {
        devices
            .iter()
            .map(|d| d[key].as_i64().unwrap())
            .sum::<i64>()
    };
    assert_eq!(sum("tries"), e["deferred"].as_i64().unwrap());
    assert_eq!(
        sum("wasted_ns") / 1_000,
        e["deferred_sum_said_us"].as_i64().unwrap()
    );
    let count = e["devices_deferred_at_least_once"].as_u64().unwrap();
    assert_eq!(devices.len() as u64, count);
    for top in e["top5_deferred_by_count"].as_array().unwrap() {
        let device = devices.iter().find(|d| d["device"] == top[0]).unwrap();
        assert_eq!(device["tries"], top[1]);
        assert_eq!(
            device["wasted_ns"].as_i64().unwrap() / 1_000,
            top[2].as_i64().unwrap()
        );
    }
}

/// Rows of `blame --functions`.
fn functions(file: &str) -> Vec<Value> {
    let table = json(&["blame", "--functions", "--json", "--top", "0", file]);
    valid(&table, "blame.functions");
    table["rows"].as_array().unwrap().clone()
}

/// Name, count, and microseconds of time, average and local time.
fn function(row: &Value) -> Value {
    let us = |key: &str| row[key].as_i64().unwrap() / 1_000;
    value!([
        row["name"],
        row["count"],
        us("time_ns"),
        us("average_ns"),
        us("local_ns")
    ])
}

#[test]
fn a_table_of_kd_says_what_it_said() {
    let Some(expected) = expected() else { return };
    let expect = &expected["files"]["kft/kd-table.txt"]["expect"];
    let Some(path) = sample("kft/kd-table.txt") else {
        return;
    };
    let rows = functions(&path);
    assert_eq!(rows.len() as u64, expect["rows"].as_u64().unwrap());
    assert_eq!(function(&rows[0]), expect["first"]);
    let last = rows.last().unwrap();
    assert_eq!(function(last), expect["last"]);
    let sum: i64 = rows.iter().map(|r| r["local_ns"].as_i64().unwrap()).sum();
    assert_eq!(sum / 1_000, expect["sum_local_us"].as_i64().unwrap());
    let by_local = json(&[
        "blame",
        "--functions",
        "--json",
        "--sort",
        "local",
        "--top",
        "5",
        &path,
    ]);
    for (row, wanted) in by_local["rows"]
        .as_array()
        .unwrap()
        .iter()
        .zip(expect["top5_local"].as_array().unwrap())
    {
        assert_eq!(value!([row["name"], function(row)[4]]), *wanted);
    }
}

#[test]
fn a_log_of_kft_becomes_the_same_table() {
    let Some(expected) = expected() else { return };
    let expect = &expected["files"]["kft/kft-raw-excerpt.txt"]["expect"];
    let Some(path) = sample("kft/kft-raw-excerpt.txt") else {
        return;
    };
    let rows = functions(&path);
    let count = |key: &str| -> u64 { rows.iter().map(|r| r[key].as_u64().unwrap()).sum() };
    assert_eq!(count("count"), expect["rows"].as_u64().unwrap());
    assert_eq!(count("open"), expect["rows_delta_zero"].as_u64().unwrap());
    let longest = &expect["longest"];
    assert_eq!(rows[0]["name"], longest[3]);
    assert_eq!(
        rows[0]["time_ns"].as_i64(),
        longest[1].as_i64().map(|us| us * 1_000)
    );
    assert_eq!(rows[0]["max_sub"], "get_cmos_time");
    let show = json(&["show", "--json", &path]);
    let source = &show["sources"][0];
    assert_eq!(
        (&source["format"], &source["events"]),
        (&value!("kft"), &expect["rows"])
    );
    let facts = show["facts"].as_array().unwrap();
    for key in [
        "run_id",
        "start_us",
        "stop_us",
        "min_execution_us",
        "time_filter_count",
        "total_filtered",
        "entries_not_found",
        "entries_after_filters",
    ] {
        let name = format!("kft.{key}");
        let fact = facts.iter().find(|f| f["key"] == name.as_str()).unwrap();
        assert_eq!(fact["value"], expect[key].to_string(), "{key}");
    }
    let notes = show["notes"].as_array().unwrap();
    assert!(notes.iter().any(|n| n["kind"] == "rows_elided"));
}

#[test]
fn a_tree_of_kd_keeps_its_calls() {
    let Some(expected) = expected() else { return };
    let expect = &expected["files"]["kft/kd-nested.txt"]["expect"];
    let Some(path) = sample("kft/kd-nested.txt") else {
        return;
    };
    let tree = json(&[
        "blame",
        "--functions",
        "--tree",
        "--json",
        "--top",
        "0",
        &path,
    ]);
    valid(&tree, "blame.calls");
    let rows = tree["rows"].as_array().unwrap();
    let calls: Vec<&Value> = rows.iter().filter(|r| r["depth"] != 0).collect();
    let count: u64 = calls.iter().map(|r| r["count"].as_u64().unwrap()).sum();
    assert_eq!(count, expect["rows"].as_u64().unwrap());
    // The bottom of a stack is a task here.
    let deepest = calls.iter().map(|r| r["depth"].as_u64().unwrap()).max();
    assert_eq!(deepest, expect["max_depth"].as_u64().map(|d| d + 1));
    let fork = &calls[0];
    assert_eq!(fork["name"], expect["first"][5]);
    for (key, place) in [("time_ns", 1), ("local_ns", 2)] {
        let us = expect["first"][place].as_i64().unwrap();
        assert_eq!(fork[key], us * 1_000, "{key}");
    }
}

#[test]
fn initcalls_by_part_of_the_kernel() {
    for name in ["dmesg/x13s-dmesg.txt", "dmesg/rpi4-6.18.39-run1-head.txt"] {
        let (Some(expected), Some(path)) = (expected(), sample(name)) else {
            return;
        };
        let all = json(&["blame", "--by", "subsystem", "--json", "--top", "0", &path]);
        valid(&all, "blame.subsystems");
        let e = &expected["files"][name]["expect"]["initcalls"];
        let rows = all["rows"].as_array().unwrap();
        let sum = |key: &str| rows.iter().map(|r| r[key].as_i64().unwrap()).sum::<i64>();
        assert_eq!(sum("time_ns") / 1_000, e["sum_wall_us"].as_i64().unwrap());
        assert_eq!(all["time_ns"].as_i64(), Some(sum("time_ns")));
        // Most of the calls are known.
        let unknown = rows.iter().find(|r| r["subsystem"] == "unknown");
        let unknown = unknown.map_or(0, |r| r["calls"].as_i64().unwrap());
        assert!(unknown * 7 < sum("calls"), "{unknown} of {}", sum("calls"));
        for row in rows {
            assert!(row["busy_ns"].as_i64() <= row["time_ns"].as_i64(), "{row}");
        }
    }
}
