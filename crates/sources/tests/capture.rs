//! Manifests: good, of another version, damaged.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{assert_conserved, read};
use firstlight_sources::capture::{FORMAT, ManifestError, apply, manifest};
use firstlight_sources::ftrace::Ftrace;
use firstlight_sources::systemd::Analyze;
use firstlight_sources::{Input, Source};
use proptest::prelude::*;
use record::{ClockKind, Nanos, Phase, Record, Recorder, mark};

const GOOD: &str = r#"{
  "firstlight_capture": 1,
  "taken_by": "firstlight-agent 0.1.0",
  "machine": "pc",
  "kernel": "6.1.0 #1 SMP",
  "cmdline": "quiet",
  "clocks": [
    {"name": "counter", "kind": "virtual", "hz": 3000000000, "readings": [
      {"ticks": 18000000003, "other": "monotonic", "other_ns": 2000000000, "error_ns": 50}
    ]},
    {"name": "monotonic", "kind": "monotonic", "hz": 1000000000}
  ],
  "marks": [
    {"name": "power-on", "clock": "counter", "at_ns": 0, "begins": "firmware"},
    {"name": "app", "clock": "monotonic", "at_ns": 3000000000}
  ]
}"#;

fn record_of(text: &str, more: Option<&[u8]>) -> Record {
    let manifest = manifest(text.as_bytes()).unwrap();
    let mut recorder = Recorder::new();
    let source = recorder.source("manifest.json", FORMAT);
    apply(&manifest, source, &mut recorder);
    if let Some(bytes) = more {
        Analyze.read(
            Input {
                name: "time",
                bytes,
            },
            &mut recorder,
        );
    }
    recorder.finish()
}

#[test]
fn clocks_marks_and_facts_come_in() {
    let time = b"Startup finished in 1.000s (kernel) + 500ms (userspace) = 1.500s\n";
    let record = record_of(GOOD, Some(time));
    assert_conserved(&record);
    // Two clocks, a reading, two marks.
    assert_eq!(record.sources()[0].units, 5);
    assert_eq!(record.sources()[0].events, 5);
    assert_eq!(record.zero(), mark::POWER_ON);
    assert_eq!(record.clock().unwrap().kind, ClockKind::Virtual);
    assert_eq!(
        record.mark(mark::POWER_ON).unwrap().begins,
        Some(Phase::Firmware)
    );
    // 18,000,000,003 ticks at 3 GHz are 6.000000001 s, when monotonic read 2 s.
    assert_eq!(record.mark("app").unwrap().at, Nanos(7_000_000_001));
    let kernel = record.mark(mark::KERNEL_CLOCK_START).unwrap();
    assert_eq!(kernel.at, Nanos(4_000_000_001));
    assert_eq!(record.fact("machine"), Some("pc"));
    assert_eq!(record.fact("kernel.version"), Some("6.1.0 #1 SMP"));
    assert_eq!(record.fact("kernel.cmdline"), Some("quiet"));
    assert!(record.notes().is_empty(), "{:?}", record.notes());
}

#[test]
fn what_the_storage_server_reads_is_no_request_of_the_boot() {
    let trace = b"# tracer: nop\n\
        init-1 [000] ..... 1.000100: block_rq_issue: 43,0 R 4096 () 8 + 8 [init]\n\
        firstlight-agen-81 [000] ..... 1.000200: block_bio_queue: 259,0 R 8 + 8 [firstlight-agen]\n\
        firstlight-agen-81 [000] ..... 1.000300: block_bio_complete: 259,0 R 8 + 8 [0]\n\
        firstlight-agen-81 [000] ..... 1.000900: block_rq_complete: 43,0 R () 8 + 8 [0]\n";
    let devices = |text: &str| {
        let manifest = manifest(text.as_bytes()).unwrap();
        let mut recorder = Recorder::new();
        let source = recorder.source("manifest.json", FORMAT);
        apply(&manifest, source, &mut recorder);
        let name = "trace";
        Ftrace.read(Input { name, bytes: trace }, &mut recorder);
        let record = recorder.finish();
        assert_conserved(&record);
        let devices = record.requests().iter().map(|r| r.device.to_string());
        let passed_over = record.notes().iter().find(|n| n.kind.name == "own_device");
        (devices.collect::<Vec<_>>(), passed_over.map(|n| n.count))
    };
    let served = GOOD.replacen("\"clocks\"", "\"own_devices\": [[259, 0]], \"clocks\"", 1);
    assert_eq!(devices(&served), (vec!["43:0".into()], Some(2)));
    // Without a server the root is there itself.
    let both = vec!["43:0".into(), "259:0".into()];
    assert_eq!(devices(GOOD), (both, None));
}

#[test]
fn what_cannot_be_used_is_noted_and_counted() {
    let text = GOOD
        .replace("\"kind\": \"virtual\"", "\"kind\": \"sundial\"")
        .replace(
            "\"at_ns\": 3000000000",
            "\"at_ns\": 3, \"begins\": \"lunch\"",
        );
    let record = record_of(&text, None);
    assert_conserved(&record);
    let count = |kind: &str| {
        let note = record.notes().iter().find(|n| n.kind.name == kind);
        note.map_or(0, |n| n.count)
    };
    // The clock, its reading, and the mark on it.
    assert_eq!(count("unknown_clock"), 3);
    assert_eq!(count("unknown_phase"), 1);
    assert_eq!(record.sources()[0].units, 5);

    let far = GOOD
        .replace("\"ticks\": 18000000003", "\"ticks\": 18446744073709551615")
        .replace("\"hz\": 3000000000", "\"hz\": 1");
    let record = record_of(&far, None);
    assert_conserved(&record);
    let out_of_range = record
        .notes()
        .iter()
        .any(|n| n.kind.name == "reading_out_of_range");
    assert!(out_of_range);

    let still = GOOD.replace("\"hz\": 3000000000", "\"hz\": 0");
    assert_conserved(&record_of(&still, None));
}

#[test]
fn what_the_taker_says_is_in_the_ledger() {
    let notes = r#""notes": [
        {"kind": "missing", "text": "the journal could not be read: no"},
        {"kind": "gave-up", "text": "first light did not come within 9 s"},
        {"kind": "missing", "text": "the trace rings could not be read: no"},
        {"kind": "of-a-later-version", "text": "so"}
    ], "clocks"#;
    let record = record_of(&GOOD.replace("\"clocks", notes), None);
    assert_conserved(&record);
    let noted: Vec<_> = record.notes().iter().collect();
    let seen: Vec<_> = noted
        .iter()
        .map(|n| (n.kind.name, n.count, n.detail.as_str()))
        .collect();
    assert_eq!(
        seen,
        [
            (
                "not_captured",
                2,
                "the journal could not be read: no. the trace rings could not be read: no"
            ),
            ("capture_note", 1, "so"),
            ("gave_up_waiting", 1, "first light did not come within 9 s"),
        ]
    );
}

#[test]
fn a_bad_manifest_gets_one_sentence() {
    for (text, sentence) in [
        (
            "",
            "malformed JSON at byte 0: EOF while parsing a value; capture again",
        ),
        (
            "{\n  \"firstlight_capture\": 1,\n  !",
            "malformed JSON at byte 31: key must be a string; capture again",
        ),
        (
            "[1]",
            "the key \"firstlight_capture\" (the format version) is missing, so this is not a \
             capture manifest; pass a capture",
        ),
        (
            "{\"a\": 1}",
            "the key \"firstlight_capture\" (the format version) is missing, so this is not a \
             capture manifest; pass a capture",
        ),
        (
            "{\"firstlight_capture\": 7}",
            "the capture format version is 7, but this program supports versions up to 1; upgrade \
             firstlight",
        ),
        (
            "{\"firstlight_capture\": 1}",
            "invalid value at byte 24: missing field `taken_by`; capture again",
        ),
    ] {
        let error = manifest(text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), sentence, "{text}");
    }
    let newer = GOOD.replace("capture\": 1", "capture\": 2");
    assert_eq!(
        manifest(newer.as_bytes()),
        Err(ManifestError::TooNew { found: 2 })
    );
}

proptest! {
    #[test]
    fn damage_is_refused_or_counted(
        damages in proptest::collection::vec(common::damage(), 1..5),
    ) {
        let mut bytes = GOOD.as_bytes().to_vec();
        for damage in &damages {
            bytes = damage.apply(&bytes);
        }
        if let Ok(manifest) = manifest(&bytes) {
            let mut recorder = Recorder::new();
            let source = recorder.source("manifest.json", FORMAT);
            apply(&manifest, source, &mut recorder);
            assert_conserved(&recorder.finish());
        }
        // A manifest is none of the logs, and reading it as one is survived.
        for source in firstlight_sources::SOURCES {
            assert_conserved(&read(*source, &bytes));
        }
    }
}
