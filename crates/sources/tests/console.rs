//! Consoles without stamps: the corpus, and damaged input.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{assert_conserved, check_corpus, read};
use firstlight_sources::console::Console;
use proptest::prelude::*;

#[test]
fn a_running_job_alone_is_a_console() {
    for line in [
        "[ ***  ] Job wait-for-it.se…tart running (32s / no limit)\n",
        "M[K[*    ] A start job is running for A (1min 59s / no limit)\n",
        "[***   ] (1 of 2) Job a.service/start running (5s / 1min 30s)\n",
        "It says: A start job is running for A (59s / 1min 30s)\n",
        "Job a.device/start running (5s / 1min 30s)\n",
        "Timed out waiting for device dev-x.device.\n",
        "ata7: qc timeout after 2000 msecs (cmd 0x47)\n",
    ] {
        let source = firstlight_sources::sniff(line.as_bytes());
        assert_eq!(
            source.map(firstlight_sources::Source::name),
            Some("console"),
            "{line}"
        );
    }
}

#[test]
fn a_quoted_line_in_a_long_text_is_an_aside() {
    let text = format!(
        "{}Timed out waiting for device dev-x.device.\n",
        "Words.\n".repeat(40)
    );
    assert!(firstlight_sources::sniff(text.as_bytes()).is_none());
}

#[test]
fn the_corpus_gives_what_it_gave() {
    check_corpus("console");
}

proptest! {
    #[test]
    fn damage_is_counted_and_never_fatal(
        damages in proptest::collection::vec(common::damage(), 0..8),
    ) {
        let path = common::workspace().join("corpus/console/usb.txt");
        let mut bytes = std::fs::read(path).unwrap();
        for damage in &damages {
            bytes = damage.apply(&bytes);
        }
        assert_conserved(&read(&Console, &bytes));
    }
}
