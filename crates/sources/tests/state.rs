//! What the running kernel says of itself, and its configuration: the corpus,
//! and damaged input.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{assert_conserved, check_corpus, damage, lines, read, workspace};
use firstlight_sources::kernel_config::{KernelConfig, KernelConfigFile};
use firstlight_sources::{Sniff, Source};
use proptest::prelude::*;

#[test]
fn corpus() {
    check_corpus("state");
    check_corpus("kernel-config");
}

/// The same file, packed and plain, says the same.
#[test]
fn a_packed_configuration_is_read() {
    let file = |name: &str| {
        let path = workspace().join("corpus/kernel-config").join(name);
        std::fs::read(path).unwrap()
    };
    let (plain, packed) = (file("plain"), file("config.gz"));
    assert_eq!(KernelConfigFile.sniff(&packed), Sniff::Yes);
    let [a, b] = [&plain, &packed].map(|bytes| {
        let record = read(&KernelConfigFile, bytes);
        assert_conserved(&record);
        let fact = |f: &record::Fact| {
            let (key, value) = (record.name(f.key), record.name(f.value));
            (key.to_owned(), value.to_owned())
        };
        let mut facts: Vec<_> = record.facts().iter().map(fact).collect();
        facts.sort();
        facts
    });
    assert_eq!(a, b);
    assert_eq!(KernelConfig::parse(&plain), KernelConfig::parse(&packed));
    // Cut at any byte, it is noted and what is there is read.
    for cut in 0..packed.len() {
        let record = read(&KernelConfigFile, &packed[..cut]);
        assert_conserved(&record);
        assert!(cut < 3 || !record.notes().is_empty(), "{cut}");
    }
}

/// This machine's own files, where it has them.
#[test]
fn the_files_of_this_machine() {
    for (path, format) in [
        ("/proc/mounts", "proc-mounts"),
        ("/proc/modules", "proc-modules"),
        ("/proc/interrupts", "proc-interrupts"),
        ("/proc/meminfo", "proc-meminfo"),
        ("/proc/config.gz", "kernel-config"),
    ] {
        let Ok(bytes) = std::fs::read(path) else {
            continue;
        };
        if bytes.is_empty() {
            continue;
        }
        let source = firstlight_sources::sniff(&bytes).unwrap();
        assert_eq!(source.name(), format, "{path}");
        let record = read(source, &bytes);
        assert_conserved(&record);
        let lost = record
            .notes()
            .iter()
            .find(|n| n.kind.severity == record::Severity::DataLoss);
        assert!(lost.is_none(), "{path}: {lost:?}");
        assert!(!record.facts().is_empty(), "{path}");
    }
}

proptest! {
    #[test]
    fn damage_is_counted_and_never_fatal(
        name in prop::sample::select(vec![
            "state/mounts", "state/modules", "state/interrupts", "state/meminfo",
            "kernel-config/plain",
        ]),
        damages in proptest::collection::vec(damage(), 0..8),
    ) {
        let mut bytes = std::fs::read(workspace().join("corpus").join(name)).unwrap();
        let source = firstlight_sources::sniff(&bytes).unwrap();
        for damage in &damages {
            bytes = damage.apply(&bytes);
        }
        source.sniff(&bytes);
        let record = read(source, &bytes);
        assert_conserved(&record);
        prop_assert_eq!(record.sources()[0].units, lines(&bytes));
    }
}
