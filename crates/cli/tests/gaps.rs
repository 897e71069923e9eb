//! `firstlight blame --gaps` on dumps of `/dev/kmsg` that have holes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Scratch, firstlight, json, valid};

/// A dump of `/dev/kmsg`: records of these numbers, at these milliseconds.
fn kmsg(records: &[(u64, u64, &str)]) -> String {
    let line =
        |(number, ms, text): &(u64, u64, &str)| format!("6,{number},{},-;{text}\n", ms * 1000);
    let lines: Vec<String> = records.iter().map(line).collect();
    lines.concat()
}

/// The silences of this log: milliseconds, the line before, the line behind, and
/// whether it may be a loss.
fn silences(log: &str) -> Vec<(i64, String, String, bool)> {
    let scratch = Scratch::new();
    let path = scratch.file("kmsg", log.as_bytes());
    let answer = json(&["blame", "--gaps", "--json", "--top", "0", &path]);
    valid(&answer, "blame.gaps");
    let gaps = answer["gaps"].as_array().unwrap().iter();
    let words = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    gaps.map(|g| {
        let loss = &g["may_be_loss_of"];
        assert!(loss.is_null() || loss == g["origin"]["source"].as_str().unwrap());
        let ms = g["gap_ns"].as_i64().unwrap() / 1_000_000;
        (ms, words(&g["before"]), words(&g["after"]), !loss.is_null())
    })
    .collect()
}

fn row(ms: i64, before: &str, after: &str, loss: bool) -> (i64, String, String, bool) {
    (ms, before.to_owned(), after.to_owned(), loss)
}

const FIRST: [(u64, u64, &str); 2] = [(0, 0, "Linux version 6.1.0"), (1, 100, "one")];

#[test]
fn a_hole_is_no_silence() {
    let rest = [(2, 900, "two"), (3, 1000, "three")];
    let whole = kmsg(&[&FIRST[..], &rest[..]].concat());
    assert_eq!(
        silences(&whole),
        [
            row(800, "one", "two", false),
            row(100, "Linux version 6.1.0", "one", false),
            row(100, "two", "three", false),
        ]
    );
    // The record 2 was lost.
    let rest = [(3, 900, "two"), (4, 1000, "three")];
    let one = kmsg(&[&FIRST[..], &rest[..]].concat());
    assert_eq!(
        silences(&one),
        [
            row(100, "Linux version 6.1.0", "one", false),
            row(100, "two", "three", false),
        ]
    );
}

#[test]
fn behind_the_first_of_two_holes_silences_are_in_doubt() {
    let rest = [
        (3, 900, "two"),
        (4, 1000, "three"),
        (6, 1600, "four"),
        (7, 1650, "five"),
    ];
    let two = kmsg(&[&FIRST[..], &rest[..]].concat());
    assert_eq!(
        silences(&two),
        [
            row(600, "three", "four", true),
            row(100, "Linux version 6.1.0", "one", false),
            row(100, "two", "three", true),
            row(50, "four", "five", true),
        ]
    );
    let scratch = Scratch::new();
    let path = scratch.file("kmsg", two.as_bytes());
    let done = firstlight(&["blame", "--gaps", &path]);
    let text = String::from_utf8(done.stdout).unwrap();
    assert_eq!(text.matches("  or loss ").count(), 3, "{text}");
    assert!(text.contains("lost more than one line"), "{text}");
}

#[test]
fn a_hole_in_a_call_is_taken_for_all_that_it_may_be() {
    let log = kmsg(&[
        (0, 0, "Linux version 6.1.0"),
        (1, 100, "calling  foo_init+0x0/0x10 @ 1"),
        (2, 200, "in foo"),
        (
            4,
            700,
            "initcall foo_init+0x0/0x10 returned 0 after 600000 usecs",
        ),
        (5, 800, "next"),
        (6, 1000, "last"),
    ]);
    // Where the line of its end stands is not kept: the hole is before `next`.
    assert_eq!(
        silences(&log),
        [
            row(200, "next", "last", false),
            row(100, "Linux version 6.1.0", "calling foo_init", false),
            row(100, "calling foo_init", "in foo", false),
        ]
    );
}
