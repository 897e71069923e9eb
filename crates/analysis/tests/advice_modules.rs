//! Modules that products seldom need.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::record;
use firstlight_analysis::{Finding, SystemFacts, advice, phases};

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
    // Nothing goes on beside it where there is one processor.
    let alone = format!("{facts}say 100ms 6 smp: Brought up 1 node, 1 CPU\n");
    assert_eq!(found(&alone).unwrap().expected.0 / 1_000_000, 100);
    let two = alone.replace("1 CPU", "2 CPUs");
    assert_eq!(found(&two).unwrap().expected, finding.expected);
    assert!(finding.cost.contains("no virtual machines"));
    assert!(finding.evidence[0].text.starts_with("kvm: 1146880 bytes"));
    assert!(finding.cost.contains("whether one is there"));
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

/// In virtual time an instruction takes as long as the capture states.
#[test]
fn modules_take_longer_on_a_slower_virtual_processor() {
    let expected = |machine: &str| {
        let facts = "fact module.kvm 1146880\nsay 100ms 6 smp: Brought up 1 node, 1 CPU\n";
        let record = record(&format!("clock counter virtual\n{BOOT}{facts}{machine}"));
        let all = advice(&record, &phases(&record), &SystemFacts::default()).findings;
        let finding = all.iter().find(|f| f.id == "spare-modules").unwrap();
        finding.expected.0 / 1_000_000
    };
    // 1,146,880 bytes at 330 ns.
    assert_eq!(expected(""), 378);
    let machine = |speed: &str| format!("fact machine pc, 1 vCPU at {speed} (QEMU), 512 MiB\n");
    assert_eq!(expected(&machine("1 GIPS")), 378);
    assert_eq!(expected(&machine("500 MIPS")), 756);
    assert_eq!(expected(&machine("62.5 MIPS")), 6_055);
    assert_eq!(expected(&machine("a time")), 378);
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
        fact module.libata.users 1\nfact module.libata.used_by ahci\n\
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

/// The modules that are named.
fn named(facts: &str) -> String {
    let finding = found(facts);
    let treatment = finding.and_then(|f| f.treatment).unwrap_or_default();
    let names = treatment.strip_prefix("cmdline+=modprobe.blacklist=");
    names.unwrap_or_default().to_owned()
}

#[test]
fn a_module_in_use_is_never_named() {
    let facts = "fact module.psmouse 983040\nfact module.loop 32768\nfact module.dm_mod 184320\n";
    assert_eq!(named(facts), "dm_mod,loop,psmouse");
    // Counted, or where the kernel does not count.
    for users in ["1", "-"] {
        let used = format!("{facts}fact module.dm_mod.users {users}\n");
        assert_eq!(named(&used), "loop,psmouse");
    }
    // Everything that is mounted, not only the root.
    for (mount, rest) in [
        ("/home ext4 /dev/mapper/x rw", "loop,psmouse"),
        ("/var xfs /dev/dm-0 rw", "loop,psmouse"),
        ("/srv ext4 /dev/group/volume rw", "loop,psmouse"),
        ("/snap/core squashfs /dev/loop0 ro", "dm_mod,psmouse"),
        ("/boot ext4 /dev/sda2 rw", "dm_mod,loop,psmouse"),
    ] {
        assert_eq!(
            named(&format!("{facts}fact mount.{mount}\n")),
            rest,
            "{mount}"
        );
    }
    // A watchdog that is in use is behind the bus.
    let bus =
        "fact module.i2c_i801 900000\nfact module.lpc_ich 900000\nfact module.iTCO_wdt 16384\n";
    assert_eq!(named(bus), "i2c_i801,lpc_ich");
    assert_eq!(named(&format!("{bus}fact module.iTCO_wdt.users 1\n")), "");
}

#[test]
fn what_others_need_goes_with_them_unnamed() {
    let facts = "fact module.kvm_intel 400000\n\
        fact module.kvm 1146880\nfact module.kvm.users 1\nfact module.kvm.used_by kvm_intel\n\
        fact module.irqbypass 16384\nfact module.irqbypass.users 1\n\
        fact module.irqbypass.used_by kvm\n";
    assert_eq!(named(facts), "kvm_intel");
    let finding = found(facts).unwrap();
    assert!(finding.why.contains("irqbypass, kvm"), "{}", finding.why);
    assert_eq!(
        finding.evidence[0].text,
        "kvm: 1146880 bytes, loaded for kvm_intel"
    );
    // 1,563,264 bytes at 66 ns, of which half.
    assert_eq!(finding.expected.0 / 1_000_000, 51);
    // One more user that is no module, or one that stays.
    let open = facts.replace("kvm.users 1", "kvm.users 2");
    let other = facts.replace("used_by kvm_intel", "used_by kvm_intel,other");
    for held in [open, other] {
        assert_eq!(named(&held), "kvm_intel");
        assert!(!found(&held).unwrap().why.contains("irqbypass"));
    }
}

#[test]
fn each_port_must_be_known_to_be_empty() {
    let module = "fact module.ahci 983040\n";
    let port = |n: u32, words: &str| format!("say {n}s 6 ata{n}: SATA {words}\n");
    let max = |n| port(n, "max UDMA/133 abar");
    let down = |n| port(n, "link down (SStatus 0 SControl 300)");
    let both = format!("{module}{}{}", max(1), max(2));
    assert_eq!(named(&format!("{both}{}{}", down(1), down(2))), "ahci");
    // One port twice is not two.
    assert_eq!(named(&format!("{both}{}{}", down(1), down(1))), "");
    assert_eq!(named(&format!("{module}{}", down(1))), "");
    // What was lost may say otherwise.
    let lost = "note data_loss records_lost 1 x\n";
    assert_eq!(named(&format!("{both}{}{}{lost}", down(1), down(2))), "");
    // A controller in use has something.
    let used = "fact module.ahci.users 1\n";
    assert_eq!(named(&format!("{both}{}{}{used}", down(1), down(2))), "");
}

fn of_signatures(text: &str) -> Option<Finding> {
    let record = record(text);
    let all = advice(&record, &phases(&record), &SystemFacts::default());
    all.findings
        .into_iter()
        .find(|f| f.id == "module-signatures")
}

#[test]
fn signatures_of_modules_are_a_finding_where_none_is_enforced() {
    let boot = "mark 0s kernel-start kernel
        mark 2s initrd-start initrd
        mark 4s userspace-start userspace
        mark 10s startup-finished -
        fact module.ext4 983040
        fact module.libnvdimm 204800
        say 1s 6 Loading compiled-in X.509 certificates
        say 1s 6 Loaded X.509 cert 'Debian Secure Boot CA'\n";
    // 1,187,840 bytes at 22 ns and two signatures of 4 ms, of which 60 %.
    let finding = of_signatures(boot).unwrap();
    assert_eq!(finding.expected.0 / 1_000_000, 20);
    assert_eq!(finding.treatment.as_deref(), Some("modules=unsigned"));
    let missing = "say 2s 5 libnvdimm: module verification failed: signature and/or required \
                   key missing - tainting kernel\n";
    for no in [
        boot.replace("Loaded X.509 cert", "Found"),
        // The keys for the rules of wireless networks check no modules.
        boot.replace("Loading", "cfg80211: Loading"),
        boot.replace("say 1s 6 Loading", "say 1s 6 Other"),
        boot.replace("mark 2s initrd-start initrd", ""),
        format!("{boot}{missing}"),
        format!("{boot}say 1s 5 Kernel is locked down from EFI Secure Boot\n"),
        format!("{boot}fact kernel.cmdline module.sig_enforce=1\n"),
        boot.replace("fact module.ext4 983040", ""),
    ] {
        assert!(of_signatures(&no).is_none(), "{no}");
    }
    let off = format!("{boot}fact kernel.cmdline module.sig_enforce=0\n");
    assert!(of_signatures(&off).is_some());
}

/// Without the kernel's keys a signed module is hashed twice, and its signature not checked.
#[test]
fn certificates_are_more_where_modules_are_signed() {
    let boot = "mark 0s kernel-start kernel
        mark 4s userspace-start userspace
        mark 10s startup-finished -
        fact kernel.cmdline cryptomgr.notests
        span initcall 1s 1.1s load_system_certificate_list\n";
    let signed = "fact module.a 10000\nfact module.b 10000\nfact module.c 0\n\
        say 1s 6 Loading compiled-in X.509 certificates\n\
        say 1s 6 Loaded X.509 cert 'Debian Secure Boot CA'\n";
    let of = |text: &str| {
        let record = record(text);
        let all = advice(&record, &phases(&record), &SystemFacts::default());
        let mut all = all.findings.into_iter();
        let found = all.find(|f| f.id == "built-in-certificates");
        found.map(|f| (f.expected.0 / 1_000, f.saving.unwrap().1.0 / 1_000))
    };
    assert_eq!(of(boot), Some((100_000, 100_000)));
    // Two signatures of 4 ms, less 20,000 bytes at 22 ns, of which 60 %.
    let whole = format!("{boot}{signed}");
    assert_eq!(of(&whole), Some((104_536, 107_560)));
    let missing = "say 2s 5 a: module verification failed: signature and/or required key missing\n";
    assert_eq!(of(&format!("{whole}{missing}")), Some((100_000, 100_000)));
    // Large modules cost more than they bring: of these nothing is won.
    let large = whole.replace("10000", "10000000");
    assert_eq!(of(&large), Some((100_000, 100_000)));
    // None would be loaded.
    let word = whole.replace("notests", "notests module.sig_enforce=1");
    assert_eq!(of(&word), None);
}
