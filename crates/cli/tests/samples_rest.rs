//! What else is known of other people's logs, charts and tables: ends, silences, units
//! and their chains, serial lines; through the public command line.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Scratch, expected, json, sample, valid};
use serde_json::{Value, json as value};

/// The samples whose name begins so: name, path, and what is known of each.
fn each(kind: &str) -> Vec<(String, String, Value)> {
    let Some(expected) = expected() else {
        return Vec::new();
    };
    let files = expected["files"].as_object().unwrap();
    let of_kind = files.iter().filter(|(name, _)| name.starts_with(kind));
    let there = of_kind.filter_map(|(name, file)| {
        let path = sample(name)?;
        Some((name.clone(), path, file["expect"].clone()))
    });
    there.collect()
}

fn rows(kind: &str, path: &str) -> Vec<Value> {
    let blame = json(&["blame", "--json", "--kind", kind, "--top", "0", path]);
    blame["rows"].as_array().unwrap().clone()
}

fn show(path: &str) -> Value {
    json(&["show", "--json", path])
}

/// Seconds with a fraction as microseconds.
fn us(seconds: &Value) -> i64 {
    (seconds.as_f64().unwrap() * 1e6).round() as i64
}

fn noted(show: &Value, kind: &str) -> u64 {
    let notes = show["notes"].as_array().unwrap().iter();
    let of_kind = notes.filter(|n| n["kind"] == kind);
    of_kind.map(|n| n["count"].as_u64().unwrap()).sum()
}

fn milestone(show: &Value, name: &str) -> Option<i64> {
    let milestones = show["milestones"].as_array().unwrap();
    let found = milestones.iter().find(|m| m["name"] == name)?;
    found["at_ns"].as_i64()
}

#[test]
fn silences_of_every_kernel_log() {
    for (name, path, e) in each("dmesg/") {
        let gaps = json(&["blame", "--gaps", "--json", "--top", "0", &path]);
        valid(&gaps, "blame.gaps");
        let ours = gaps["gaps"].as_array().unwrap();
        let wanted = e["largest_gaps"].as_array().unwrap();
        assert!(
            ours.len() >= wanted.len(),
            "{name}: {} silences",
            ours.len()
        );
        for (gap, wanted) in ours.iter().zip(wanted) {
            let long = gap["gap_ns"].as_i64().unwrap() / 1_000;
            assert_eq!(long, us(&wanted["gap_s"]), "{name}: {gap} {wanted}");
            // What stands between two lines of an initcall is in its two lines.
            let words = |text: &Value| {
                let text = text.as_str().unwrap();
                let text = text
                    .trim_start_matches("calling ")
                    .trim_start_matches("initcall ");
                text.trim_start()
                    .split(['+', ' '])
                    .next()
                    .unwrap()
                    .to_owned()
            };
            assert_eq!(words(&gap["after"]), words(&wanted["after"]), "{name}");
        }
    }
}

#[test]
fn ends_and_errors_of_every_kernel_log() {
    for (name, path, e) in each("dmesg/") {
        let show = show(&path);
        assert_eq!(show["zero"], "kernel-clock-start", "{name}");
        let last = show["last_ns"].as_i64().unwrap() / 1_000;
        assert_eq!(last, us(&e["last_stamp_s"]), "{name}: last stamp");
        if let Some(at) = e["run_init_s"].as_f64() {
            let ours = milestone(&show, "init-started").unwrap() / 1_000;
            assert_eq!(ours, us(&value!(at)), "{name}: init");
        }
        if let Some(at) = e["freeing_unused_kernel_s"].as_f64() {
            let ours = milestone(&show, "memory-freed").unwrap() / 1_000;
            assert_eq!(ours, us(&value!(at)), "{name}: memory");
        }
        let calls = rows("initcall", &path);
        let failed = calls
            .iter()
            .filter(|r| r["outcome"].as_i64().is_some_and(|o| o != 0));
        let of = &e["initcalls"];
        assert_eq!(
            failed.count() as u64,
            of["nonzero_return"].as_u64().unwrap(),
            "{name}"
        );
        for (row, wanted) in calls
            .iter()
            .zip(of["top10_wall"].as_array().into_iter().flatten())
        {
            let name = row["name"].as_str().unwrap().split(' ').next().unwrap();
            let us = |key: &str| row[key].as_i64().unwrap() / 1_000;
            assert_eq!(
                value!([name, row["pid"], us("wall_ns"), us("reported_ns")]),
                *wanted
            );
        }
        let distinct = |key: &str| {
            let called = calls.iter().filter(|r| r["doubt"] != "lost_start");
            let of = called.filter_map(|r| match &r[key] {
                // Symbols alone: the same one can be in several modules.
                Value::String(name) => name.split(' ').next().map(str::to_owned),
                other => other.as_u64().map(|n| n.to_string()),
            });
            of.collect::<std::collections::BTreeSet<_>>().len() as u64
        };
        if let Some(pids) = of["distinct_pids"].as_u64() {
            assert_eq!(distinct("pid"), pids, "{name}: tasks");
        }
        let probes = rows("probe", &path);
        let deferred = |r: &&Value| matches!(r["outcome"].as_i64(), Some(-517 | 517));
        let count = |f: &dyn Fn(&&Value) -> bool| probes.iter().filter(|r| f(r)).count() as u64;
        let of = &e["probes"];
        assert_eq!(count(&deferred), of["deferred"].as_u64().unwrap(), "{name}");
        assert_eq!(
            count(&|r| r["outcome"] == 0),
            of["ok"].as_u64().unwrap(),
            "{name}"
        );
        let said: i64 = probes
            .iter()
            .map(|r| r["reported_ns"].as_i64().unwrap() / 1_000)
            .sum();
        assert_eq!(said, of["sum_said_us"].as_i64().unwrap(), "{name}");
    }
}

#[test]
fn lines_of_every_serial_log() {
    for (name, path, e) in each("serial/") {
        let show = show(&path);
        let source = &show["sources"][0];
        assert_eq!(source["units"], e["lines"], "{name}");
        assert_eq!(source["events"], e["stamped_lines"], "{name}");
        let resets = e["base_time_resets"].as_array().unwrap().len() as u64;
        assert_eq!(noted(&show, "base_time_reset"), resets, "{name}");
        let gaps = json(&["blame", "--gaps", "--json", "--top", "0", &path]);
        let gaps = gaps["gaps"].as_array().unwrap();
        let longest = gaps[0]["gap_ns"].as_i64().unwrap() / 1_000;
        let wanted = us(&e["largest_delta"]["delta_s"]);
        // A line with the kernel's stamp stands where that is on the host's clock.
        let off = if e["lines_with_printk_stamp"] == 0 {
            1
        } else {
            1_000
        };
        assert!(
            (longest - wanted).abs() <= off,
            "{name}: {longest} {wanted}"
        );
        let text = e["largest_delta"]["text"].as_str().unwrap();
        assert!(
            gaps[0]["after"].as_str().unwrap().starts_with(text),
            "{name}"
        );
        // From the first line to the last.
        let first = gaps.iter().map(|g| g["start_ns"].as_i64().unwrap()).min();
        let last = gaps.iter().map(|g| g["end_ns"].as_i64().unwrap()).max();
        let span = (last.unwrap() - first.unwrap()) / 1_000;
        let wanted = us(&e["total_span_s"]) - us(&e["first_s"]);
        assert!((span - wanted).abs() <= 1, "{name}: {span} {wanted}");
    }
}

#[test]
fn units_of_every_systemd_blame() {
    for (name, path, e) in each("systemd/") {
        let Some(units) = e["units"].as_u64() else {
            continue;
        };
        let rows = rows("unit", &path);
        assert_eq!(rows.len() as u64, units, "{name}");
        let us = |row: &Value| row["reported_ns"].as_i64().map(|ns| ns / 1_000);
        let sum: i64 = rows.iter().filter_map(us).sum();
        let wanted = if e["sum_us"].is_null() {
            &e["sum_printed_us"]
        } else {
            &e["sum_us"]
        };
        assert_eq!(sum, wanted.as_i64().unwrap(), "{name}");
        let mut said: Vec<Value> = rows
            .iter()
            .filter_map(|r| Some(value!([r["name"], us(r)?])))
            .collect();
        said.sort_by_key(|r| std::cmp::Reverse(r[1].as_i64()));
        assert_eq!(said[..5], e["top5"].as_array().unwrap()[..], "{name}");
        if let Some(kinds) = e["units_by_suffix"].as_object() {
            for (suffix, count) in kinds {
                let of = |r: &&Value| r["name"].as_str().unwrap().ends_with(&format!(".{suffix}"));
                assert_eq!(
                    rows.iter().filter(of).count() as u64,
                    count.as_u64().unwrap(),
                    "{name} {suffix}"
                );
            }
        }
    }
}

#[test]
fn chains_and_targets_of_every_systemd_analyze() {
    for (name, path, e) in each("systemd/") {
        if let Some(chain) = e["chain"].as_array() {
            let rows = rows("unit", &path);
            for link in chain {
                let row = rows.iter().find(|r| r["name"] == link[0]).unwrap();
                let ns = |key: &str| row[key].as_i64();
                // `@` is when it began to start, or was there at once.
                assert_eq!(
                    ns("start_ns").map(|n| n / 1_000),
                    link[1].as_i64(),
                    "{name}: {link}"
                );
                assert_eq!(
                    ns("reported_ns").map(|n| n / 1_000),
                    link[2].as_i64(),
                    "{name}: {link}"
                );
            }
            assert_eq!(rows.len(), chain.len(), "{name}");
        }
        let reached = match &e {
            Value::Array(lines) => lines.iter().find_map(|l| l["reached"].as_array()),
            other => other["reached"].as_array(),
        };
        // A summary of several boots is read as its first one.
        let lines = e.as_array().map_or(0, Vec::len);
        if let Some(reached) = reached.filter(|_| lines <= 2) {
            let show = show(&path);
            // A plot has the target among its units.
            let units = rows("unit", &path);
            let drawn = units.iter().find(|u| u["name"] == reached[0]);
            let target = milestone(&show, reached[0].as_str().unwrap())
                .or_else(|| drawn?["start_ns"].as_i64());
            let begun = milestone(&show, "userspace-start").unwrap();
            let took = target.map(|t| (t - begun) / 1_000_000);
            assert_eq!(took, reached[1].as_i64().map(|us| us / 1_000), "{name}");
        }
    }
}

#[test]
fn readings_of_every_chart() {
    for (name, path, e) in each("bootchart/") {
        let show = show(&path);
        let facts = show["facts"].as_array().unwrap();
        let fact = |key: String| -> u64 {
            let found = facts
                .iter()
                .find(|f| f["key"] == format!("bootchart.{key}"));
            found.unwrap()["value"].as_str().unwrap().parse().unwrap()
        };
        for (log, of) in e["logs"].as_object().unwrap() {
            let log = log.trim_end_matches(".log");
            for (ours, theirs, unit) in [
                ("samples", "samples", 1),
                ("empty_samples", "empty_samples", 1),
                ("stamps_not_later", "non_increasing_steps", 1),
                ("min_step_ns", "min_step_cs", 10_000_000),
                ("max_step_ns", "max_step_cs", 10_000_000),
            ] {
                let found = fact(format!("{log}.{ours}"));
                assert_eq!(
                    Some(found / unit),
                    of[theirs].as_u64(),
                    "{name} {log} {ours}"
                );
            }
            let covered = fact(format!("{log}.covered_ns")) / 1_000;
            assert_eq!(
                i64::try_from(covered).unwrap(),
                us(&of["covered_s"]),
                "{name} {log}"
            );
        }
        let processes = &e["processes"];
        for (ours, theirs) in [
            ("pids", "distinct_pids"),
            // Counted over all lines: two programs became others.
            ("names", "distinct_last_names"),
            ("unreadable_lines", "unparsable_lines"),
            ("most_in_a_sample", "max_in_one_sample"),
            ("in_first_sample", "in_first_sample"),
            ("in_last_sample", "in_last_sample"),
        ] {
            let found = fact(format!("proc_ps.{ours}"));
            assert_eq!(Some(found), processes[theirs].as_u64(), "{name} {ours}");
        }
        for (state, ticks) in e["cpu_jiffies_delta"].as_object().unwrap() {
            let found = fact(format!("proc_stat.{state}_ticks"));
            assert_eq!(Some(found), ticks.as_u64(), "{name} {state}");
        }
        assert_eq!(Some(fact("proc_stat.cpus".into())), e["cpus"].as_u64());
        let disks = fact("proc_diskstats.devices".into());
        assert_eq!(Some(disks), e["disk_names"].as_u64(), "{name}");
    }
}

/// What `systemd-analyze time` prints of the boots of one configuration: the texts that
/// are there, else made of the rows of its table.
fn boots_of(set: &str, scratch: &Scratch) -> Option<Vec<String>> {
    let folder = sample(&format!("systemd/{set}"))?;
    let files = std::fs::read_dir(&folder).unwrap();
    let summaries: Vec<String> = files
        .filter_map(|f| f.unwrap().file_name().into_string().ok())
        .filter(|name| name.ends_with("_summary.txt"))
        .collect();
    let table = std::fs::read_to_string(format!("{folder}/global_milestones.csv")).unwrap();
    let boots = table.lines().skip(1).map(|row| {
        let cells: Vec<&str> = row.split(',').collect();
        let [n, kernel, userspace, total, target, reached] = cells[..] else {
            panic!("{row}")
        };
        let path = format!("systemd/{set}/run_{n}_summary.txt");
        if summaries.iter().any(|s| path.ends_with(s.as_str())) {
            return sample(&path).unwrap();
        }
        let text = format!(
            "Startup finished in {kernel}s (kernel) + {userspace}s (userspace) = {total}s \n\
             {target} reached after {reached}s in userspace.\n"
        );
        scratch.file(&format!("{set}-{n}.txt"), text.as_bytes())
    });
    Some(boots.collect())
}

/// Sets of ten boots, and pairs of them: the statistics that others made of them.
#[test]
fn sets_of_ten_boots() {
    let Some(expected) = expected() else { return };
    let scratch = Scratch::new();
    // The key of their column, and ours.
    let row = |document: &Value, column: &str| -> Value {
        let (kind, name) = match column {
            "Kernel_Sec" => ("phase", "kernel"),
            "Userspace_Sec" => ("phase", "userspace"),
            "Total_Sec" => ("total", "systemd's total"),
            _ => ("milestone", "graphical.target"),
        };
        let rows = document["times"].as_array().unwrap();
        // Of a table, the column itself.
        let is_it = |r: &&Value| {
            (r["kind"] == kind && r["name"] == name)
                || (r["kind"] == "column" && r["name"] == column)
        };
        rows.iter().find(is_it).unwrap().clone()
    };
    // In microseconds, as others rounded.
    let rounded = |ns: &Value| (ns.as_i64().unwrap() + 500).div_euclid(1_000);
    let all = |ns: &Value| -> Vec<i64> { ns.as_array().unwrap().iter().map(rounded).collect() };
    let listed = |of: &Value| -> Vec<i64> { of.as_array().unwrap().iter().map(us).collect() };

    let mut compared = 0;
    for (set, columns) in expected["multirun"].as_object().unwrap() {
        let Some(boots) = boots_of(set, &scratch) else {
            return;
        };
        let texts: Vec<&str> = boots.iter().map(String::as_str).collect();
        let table = sample(&format!("systemd/{set}/global_milestones.csv")).unwrap();
        for paths in [&texts[..], &[&*table]] {
            let document = json(&[&["boots", "--json"], paths].concat());
            valid(&document, "boots");
            for (column, wanted) in columns.as_object().unwrap() {
                let found = &row(&document, column)["base"];
                assert_eq!(found["boots"], wanted["n"], "{set} {column}");
                for (ours, theirs) in [
                    ("mean_ns", "mean"),
                    ("sd_ns", "sd"),
                    ("median_ns", "median"),
                    ("mad_ns", "mad"),
                    ("min_ns", "min"),
                    ("max_ns", "max"),
                ] {
                    let value = us(&wanted[theirs]);
                    assert_eq!(rounded(&found[ours]), value, "{set} {column} {ours}");
                }
                let hinges = [&wanted["q1_tukey_hinge"], &wanted["q3_tukey_hinge"]].map(us);
                assert_eq!(all(&found["quartiles_ns"]), hinges, "{set} {column}");
                for (ours, theirs) in [
                    ("outliers_ns", "mad_z_above_3_5"),
                    ("beyond_fences_ns", "tukey_1_5_iqr_outliers"),
                ] {
                    let sorted = |mut times: Vec<i64>| {
                        times.sort_unstable();
                        times
                    };
                    let found = sorted(all(&found[ours]));
                    assert_eq!(
                        found,
                        sorted(listed(&wanted[theirs])),
                        "{set} {column} {ours}"
                    );
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 0, "nothing was compared");

    for (pair, wanted) in expected["comparisons"].as_object().unwrap() {
        let (names, column) = pair.split_once(", ").unwrap();
        let (a, b) = names.split_once(" -> ").unwrap();
        let [a, b] = [a, b].map(|set| boots_of(set, &scratch).unwrap());
        let mut words = vec!["boots", "--json"];
        words.extend(a.iter().map(String::as_str));
        words.push("--against");
        words.extend(b.iter().map(String::as_str));
        let found = row(&json(&words), column);
        assert_eq!(found["base"]["boots"], wanted["n_a"], "{pair}");
        assert_eq!(found["against"]["boots"], wanted["n_b"], "{pair}");
        assert_eq!(
            found["ranges_apart"], wanted["intervals_disjoint"],
            "{pair}"
        );
        let change = &found["change"];
        for (ours, theirs) in [
            ("mean_delta_ns", "mean_b_minus_a"),
            ("median_delta_ns", "median_b_minus_a"),
        ] {
            assert_eq!(rounded(&change[ours]), us(&wanted[theirs]), "{pair} {ours}");
        }
        assert_eq!(change["u"], wanted["mann_whitney_u_of_a"], "{pair}");
        let chance = wanted["mann_whitney_exact_two_sided_p"].as_f64().unwrap();
        // Three figures of it are given.
        let p = change["p_value"].as_f64().unwrap();
        assert!((p - chance).abs() <= chance * 0.005, "{pair}: {p}");
        let differs = change["verdict"] != "no_difference";
        assert_eq!(differs, chance < 0.01, "{pair}: {change}");
    }
}
