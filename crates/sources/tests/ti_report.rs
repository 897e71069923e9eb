//! The boot time report of TI's processor SDK, against figures that were added up by hand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{assert_conserved, check_corpus, damage, read, workspace};
use firstlight_sources::sniff;
use firstlight_sources::ti_report::TiReport;
use proptest::prelude::*;
use record::{Phase, Record, mark};

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(workspace().join("corpus/ti-report").join(name)).unwrap()
}

fn of(name: &str) -> Record {
    let record = read(&TiReport, &bytes(name));
    assert_conserved(&record);
    record
}

fn at(record: &Record, name: &str) -> i64 {
    record.mark(name).unwrap().at.get() / 1_000_000
}

#[test]
fn corpus() {
    check_corpus("ti-report");
}

#[test]
fn the_summary_parts_the_boot() {
    let record = of("evm.txt");
    assert_eq!(record.zero(), mark::POWER_ON);
    let expected = [
        ("SPL", 0),
        ("U-Boot", 900),
        (mark::KERNEL_ENTRY, 3_000),
        ("first-kernel-record", 3_400),
        (mark::FIRST_LIGHT, 5_000),
    ];
    for (name, ms) in expected {
        assert_eq!(at(&record, name), ms, "{name}");
    }
    let begins = |phase: Phase| {
        record
            .marks()
            .iter()
            .filter(|m| m.begins == Some(phase))
            .count()
    };
    assert_eq!((begins(Phase::Loader), begins(Phase::Kernel)), (2, 1));
}

#[test]
fn records_are_in_the_order_of_their_times() {
    let record = of("evm.txt");
    let took = |name: &str| {
        let span = record.spans().iter().find(|s| record.name(s.name) == name);
        span.unwrap().duration().unwrap().get() / 1_000_000
    };
    assert_eq!(took("BOOTSTAGE_START_UBOOT_F -> BOOTSTAGE_START_MCU"), 100);
    assert_eq!(
        took("BOOTSTAGE_NET_ETH_START -> BOOTSTAGE_BOOTM_HANDOFF"),
        1_550
    );
    assert_eq!(took("MCU_AWAKE -> MCU: BOARD_PERIPHERALS_INIT"), 40);
}

#[test]
fn a_difference_below_zero_is_no_time() {
    let record = of("older-form.txt");
    let kinds: Vec<_> = record.notes().iter().map(|n| n.kind.name).collect();
    assert!(kinds.contains(&"no_time"), "{kinds:?}");
    assert_eq!(at(&record, mark::KERNEL_ENTRY), 3_016);
    assert_eq!(at(&record, mark::FIRST_LIGHT), 5_538);
}

#[test]
fn both_forms_are_known_and_a_bootstage_report_is_not_one() {
    for name in ["evm.txt", "older-form.txt"] {
        assert_eq!(sniff(&bytes(name)).unwrap().name(), "ti-report", "{name}");
    }
    let other = workspace().join("corpus/bootstage/two-reports.txt");
    assert_eq!(
        sniff(&std::fs::read(other).unwrap()).unwrap().name(),
        "bootstage"
    );
}

proptest! {
    #[test]
    fn damage_is_counted(damages in prop::collection::vec(damage(), 0..8)) {
        let mut bytes = bytes("evm.txt");
        for damage in &damages {
            bytes = damage.apply(&bytes);
        }
        assert_conserved(&read(&TiReport, &bytes));
    }
}
