//! Modules that products seldom need.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use analysis::{Finding, SystemFacts, advice, phases};
use common::record;

const BOOT: &str = "mark 0s kernel-start kernel
    mark 2s userspace-start userspace
    mark 10s startup-finished -
    fact root.device /dev/sda1
    fact module.ext4 983040\n";

fn found(facts: &str) -> Option<Finding> {
    let record = record(&format!("{BOOT}{facts}"));
    let all = advice(&record, &phases(&record), &SystemFacts::default());
    all.findings.into_iter().find(|f| f.id == "spare-modules")
}

#[test]
fn modules_without_use_are_named_with_what_is_lost() {
    let facts = "fact module.psmouse 184320\nfact module.dm_mod 184320\nfact module.kvm 1146880\n";
    let finding = found(facts).unwrap();
    assert_eq!(
        finding.treatment.as_deref(),
        Some("cmdline+=modprobe.blacklist=dm_mod,kvm,psmouse")
    );
    // 1,515,520 bytes at 66 ns, of which half.
    let ms = finding.expected.0 / 1_000_000;
    assert!((49..=51).contains(&ms), "{ms}");
    assert!(finding.cost.contains("no virtual machines"));
    assert!(finding.evidence[0].text.starts_with("kvm: 1146880 bytes"));
    // What the root lies on stays.
    let text = BOOT.replace("/dev/sda1", "/dev/mapper/root");
    let record = record(&format!("{text}{facts}"));
    let all = advice(&record, &phases(&record), &SystemFacts::default());
    let finding = all.findings.iter().find(|f| f.id == "spare-modules");
    let treatment = finding.unwrap().treatment.clone();
    assert_eq!(
        treatment.as_deref(),
        Some("cmdline+=modprobe.blacklist=kvm,psmouse")
    );
}

#[test]
fn what_a_boot_needs_is_no_finding() {
    assert!(found("fact module.usbhid 65536\nfact module.ahci 49152\n").is_none());
    // Whoever keeps a list knows better.
    let listed = "fact module.kvm 1146880\nfact kernel.cmdline modprobe.blacklist=pcspkr\n";
    assert!(found(listed).is_none());
}

#[test]
fn a_disk_controller_goes_only_if_no_disk_is_there() {
    let empty = "fact module.ahci 49152\nfact module.libata 409600\n\
        say 3s 6 ata1: SATA max UDMA/133 abar\n\
        say 3.3s 6 ata1: SATA link down (SStatus 0 SControl 300)\n";
    let finding = found(empty).unwrap();
    assert_eq!(
        finding.treatment.as_deref(),
        Some("cmdline+=modprobe.blacklist=ahci")
    );
    let disk = empty.replace("link down", "link up 6.0 Gbps");
    assert!(found(&disk).is_none());
    let unknown = format!("{empty}say 3.1s 6 ata2: SATA max UDMA/133 abar\n");
    assert!(found(&unknown).is_none());
}
