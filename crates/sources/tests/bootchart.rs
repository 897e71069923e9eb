//! Bootcharts: others' samples, the corpus, and damaged input.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{assert_conserved, check_corpus, damage, expected, read, sample, workspace};
use firstlight_sources::bootchart::Bootchart;
use firstlight_sources::{Input, Sniff, Source};
use proptest::prelude::*;
use record::{Nanos, Record, Recorder};

const F11: &str = "bootchart/f11_bootchart.tgz";

fn fact<'r>(record: &'r Record, key: &str) -> Option<&'r str> {
    record.fact(&format!("bootchart.{key}"))
}

fn number(record: &Record, key: &str) -> Option<u64> {
    fact(record, key).map(|v| v.parse().unwrap())
}

#[test]
fn every_sample_of_fedora_11() {
    let (Some(bytes), Some(oracle)) = (sample(F11), expected(F11)) else {
        return;
    };
    let record = read(&Bootchart, &bytes);
    assert_conserved(&record);
    assert!(record.notes().is_empty(), "{:?}", record.notes());
    for (key, value) in oracle["header"].as_object().unwrap() {
        assert_eq!(fact(&record, key), value.as_str(), "{key}");
    }
    for (log, of) in oracle["logs"].as_object().unwrap() {
        let log = log.strip_suffix(".log").unwrap();
        for (key, ours, scale) in [
            ("samples", "samples", 1),
            ("empty_samples", "empty_samples", 1),
            ("first_cs", "first_ns", 10_000_000),
            ("last_cs", "last_ns", 10_000_000),
            ("min_step_cs", "min_step_ns", 10_000_000),
            ("max_step_cs", "max_step_ns", 10_000_000),
            ("non_increasing_steps", "stamps_not_later", 1),
        ] {
            let found = number(&record, &format!("{log}.{ours}"));
            let wanted = of[key].as_u64().map(|v| v * scale);
            assert_eq!(found, wanted, "{log} {key}");
        }
        // A unit is a sample.
        let source = record.sources().iter().find(|s| s.name.contains(log));
        assert_eq!(source.map(|s| s.units), of["samples"].as_u64());
    }
    let processes = &oracle["processes"];
    for (key, ours) in [
        ("distinct_pids", "pids"),
        ("distinct_last_names", "names"),
        ("unparsable_lines", "unreadable_lines"),
        ("max_in_one_sample", "most_in_a_sample"),
        ("in_first_sample", "in_first_sample"),
        ("in_last_sample", "in_last_sample"),
    ] {
        let found = number(&record, &format!("proc_ps.{ours}"));
        assert_eq!(found, processes[key].as_u64(), "{key}");
    }
    let mut busiest: Vec<_> = record.processes().iter().collect();
    busiest.sort_by_key(|p| std::cmp::Reverse(p.user.unwrap() + p.system.unwrap()));
    let busiest: Vec<serde_json::Value> = busiest[..5]
        .iter()
        .map(|p| {
            let ticks = (p.user.unwrap() + p.system.unwrap()).get() / 10_000_000;
            serde_json::json!([p.pid, record.name(p.name), ticks])
        })
        .collect();
    assert_eq!(
        processes["top5_cpu_jiffies_last_value"],
        serde_json::Value::Array(busiest)
    );
    for (key, value) in oracle["cpu_jiffies_delta"].as_object().unwrap() {
        let found = number(&record, &format!("proc_stat.{key}_ticks"));
        assert_eq!(found, value.as_u64(), "{key}");
    }
    assert_eq!(number(&record, "proc_stat.cpus"), oracle["cpus"].as_u64());
    let devices = number(&record, "proc_diskstats.devices");
    assert_eq!(devices, oracle["disk_names"].as_u64());
    for (disk, of) in oracle["disks_with_io"].as_object().unwrap() {
        for (key, ours, divisor) in [
            ("reads", "reads", 1),
            ("writes", "writes", 1),
            ("read_KiB", "read_bytes", 1_024),
            ("written_KiB", "written_bytes", 1_024),
            ("final_read_KiB", "read_bytes_since_boot", 1_024),
            ("final_written_KiB", "written_bytes_since_boot", 1_024),
        ] {
            let found = number(&record, &format!("disk.{disk}.{ours}"));
            let found = found.map(|v| v / divisor);
            assert_eq!(found, of[key].as_u64(), "{disk} {key}");
        }
    }
}

#[test]
fn series_hold_what_the_totals_say() {
    let Some(bytes) = sample(F11) else { return };
    let record = read(&Bootchart, &bytes);
    let series = |name: &str, of: Option<&str>| {
        record
            .series()
            .iter()
            .find(|s| record.name(s.name) == name && s.of.map(|of| record.name(of)) == of)
            .unwrap()
    };
    // The parts of a whole.
    let parts = ["user", "system", "idle", "iowait", "steal"];
    let parts = parts.map(|p| series(&format!("cpu.{p}"), None));
    for (i, sample) in parts[0].samples.iter().enumerate() {
        let sum: i64 = parts.iter().map(|p| p.samples[i].value).sum();
        assert!((sum - 1_000).abs() <= 2, "{sum} at {:?}", sample.at);
    }
    // Rates by time are bytes. All disks are sda and sr0: dm-0 is on sda2.
    let bytes_of = |of: Option<&str>| {
        let samples = &series("disk.read", of).samples;
        let mut before = Nanos(12_750_000_000);
        let mut sum = 0.0;
        for s in samples {
            sum += s.value as f64 * (s.at - before).get() as f64 / 1e9;
            before = s.at;
        }
        sum
    };
    let total = |disk: &str| number(&record, &format!("disk.{disk}.read_bytes")).unwrap();
    for (of, wanted) in [
        (Some("sda"), total("sda")),
        (Some("dm-0"), total("dm-0")),
        (None, total("sda") + total("sr0")),
    ] {
        let off = bytes_of(of) - wanted as f64;
        assert!(off.abs() < 1_000.0, "{of:?}: {off} bytes");
    }
}

#[test]
fn corpus() {
    check_corpus("bootchart");
}

/// The files of an archive one by one are the same boot as the archive.
#[test]
fn files_one_by_one_are_one_boot() {
    let path = workspace().join("corpus/bootchart/bootchartd.tgz");
    let packed = std::fs::read(path).unwrap();
    let mut tar = Vec::new();
    let mut unpacker = flate2::read::GzDecoder::new(&packed[..]);
    std::io::Read::read_to_end(&mut unpacker, &mut tar).unwrap();
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in tar::Archive::new(&tar[..]).entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        files.push((name, bytes));
    }
    files.retain(|(name, _)| !name.ends_with("README"));
    for (name, bytes) in &files {
        let sure = Bootchart.sniff(bytes);
        assert_eq!(sure, Sniff::Yes, "{name}");
    }
    let inputs: Vec<Input<'_>> = files
        .iter()
        .map(|(name, bytes)| Input { name, bytes })
        .collect();
    let mut recorder = Recorder::new();
    Bootchart.read_all(&inputs, &mut recorder);
    let loose = recorder.finish();
    for whole in [&packed, &tar] {
        let whole = read(&Bootchart, whole);
        assert_eq!(loose.processes().len(), whole.processes().len());
        assert_eq!(loose.slices().len(), whole.slices().len());
        assert_eq!(loose.facts().len(), whole.facts().len());
    }
}

#[test]
fn a_cut_archive_is_a_note() {
    let path = workspace().join("corpus/bootchart/bootchart2.tgz");
    let bytes = std::fs::read(path).unwrap();
    for at in 0..bytes.len() {
        let record = read(&Bootchart, &bytes[..at]);
        assert_conserved(&record);
        let lost = record
            .notes()
            .iter()
            .any(|n| matches!(n.kind.name, "archive_damaged" | "member_not_read"));
        assert!(lost || at == 0, "cut at {at}");
    }
}

proptest! {
    #[test]
    fn damage_is_counted_and_never_fatal(
        name in prop::sample::select(vec![
            "agent-proc_stat.log", "android-proc_ps.log", "by-hand-proc_ps.log",
            "bootchartd.tgz", "bootchart2.tgz",
        ]),
        unpacked in any::<bool>(),
        damages in proptest::collection::vec(damage(), 0..8),
    ) {
        let path = workspace().join("corpus/bootchart").join(name);
        let mut bytes = std::fs::read(path).unwrap();
        if unpacked && name.ends_with("tgz") {
            let mut tar = Vec::new();
            let mut unpacker = flate2::read::GzDecoder::new(&bytes[..]);
            std::io::Read::read_to_end(&mut unpacker, &mut tar).unwrap();
            bytes = tar;
        }
        for damage in &damages {
            bytes = damage.apply(&bytes);
        }
        for source in firstlight_sources::SOURCES {
            source.sniff(&bytes);
        }
        let record = read(&Bootchart, &bytes);
        assert_conserved(&record);
        for p in record.processes() {
            prop_assert!(p.first_seen <= p.last_seen, "{:?}", p);
        }
        for s in record.slices() {
            prop_assert!(s.start < s.end, "{:?}", s);
        }
    }
}
