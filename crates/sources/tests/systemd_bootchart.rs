//! systemd-bootchart's drawings: the corpus, and damaged input.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{assert_conserved, check_corpus, damage, read, workspace};
use firstlight_sources::Source;
use firstlight_sources::systemd_bootchart::SystemdBootchart;
use proptest::prelude::*;

#[test]
fn corpus() {
    check_corpus("systemd-bootchart");
}

#[test]
fn a_cut_drawing_is_one_loss() {
    let path = workspace().join("corpus/systemd-bootchart/v235.svg");
    let bytes = std::fs::read(path).unwrap();
    for at in (0..bytes.len() - 1).step_by(23) {
        let record = read(&SystemdBootchart, &bytes[..at]);
        assert_conserved(&record);
        assert_eq!(record.notes().len(), usize::from(at > 0), "cut at {at}");
    }
}

proptest! {
    #[test]
    fn damage_is_counted_and_never_fatal(
        name in prop::sample::select(vec!["v235.svg", "v230-relative.svg"]),
        damages in proptest::collection::vec(damage(), 0..3),
    ) {
        let path = workspace().join("corpus/systemd-bootchart").join(name);
        let mut bytes = std::fs::read(path).unwrap();
        for damage in &damages {
            bytes = damage.apply(&bytes);
        }
        SystemdBootchart.sniff(&bytes);
        let record = read(&SystemdBootchart, &bytes);
        assert_conserved(&record);
        for p in record.processes() {
            prop_assert!(p.first_seen <= p.last_seen, "{:?}", p);
        }
    }
}
