//! Treatments that take a protection away: fine in a lab, and not in a product unless its
//! maker says so.

use crate::cmdline::key;
use crate::treatment::Treatment;

/// Kernel parameters that weaken a product, and what is lost. A parameter with a value
/// counts only with that value.
const WORDS: [(&str, &str); 24] = [
    ("rodata=off", "kernel code and constants can be overwritten"),
    ("mitigations=off", "processor vulnerabilities are open"),
    ("nopti", "processor vulnerabilities are open"),
    ("pti=off", "processor vulnerabilities are open"),
    ("kpti=off", "processor vulnerabilities are open"),
    ("nospectre_v1", "processor vulnerabilities are open"),
    ("nospectre_v2", "processor vulnerabilities are open"),
    ("spectre_v2=off", "processor vulnerabilities are open"),
    (
        "spec_store_bypass_disable=off",
        "processor vulnerabilities are open",
    ),
    (
        "nokaslr",
        "the kernel lies at an address that attackers know",
    ),
    ("nosmep", "the kernel can be made to run code of programs"),
    (
        "nosmap",
        "the kernel can be made to read memory of programs",
    ),
    ("selinux=0", "SELinux enforces nothing"),
    ("enforcing=0", "SELinux enforces nothing"),
    ("apparmor=0", "AppArmor enforces nothing"),
    ("security=none", "no security module enforces anything"),
    ("audit=0", "security events are not recorded"),
    ("module.sig_enforce=0", "unsigned modules are loaded"),
    ("lockdown=none", "root can change the running kernel"),
    ("ima_appraise=off", "changed files are not detected"),
    ("iommu=off", "devices can read and write all memory"),
    ("intel_iommu=off", "devices can read and write all memory"),
    ("init_on_alloc=0", "old content of memory can leak"),
    ("init_on_free=0", "old content of memory can leak"),
];

/// Initcalls that provide a protection, and what is lost without them.
const INITCALLS: [(&str, &str); 3] = [
    (
        "load_system_certificate_list",
        "the kernel trusts no certificates, so signatures cannot be checked",
    ),
    ("integrity_", "changed files are not detected"),
    ("ima_", "changed files are not detected"),
];

/// Units that protect, by how their names begin.
const UNITS: [&str; 10] = [
    "apparmor",
    "auditd",
    "clamav",
    "fail2ban",
    "firewalld",
    "iptables",
    "netfilter-persistent",
    "nftables",
    "systemd-random-seed",
    "ufw",
];

impl Treatment {
    /// What protection is lost with it, in a clause; `None`: none that is known.
    #[must_use]
    pub fn weakens(&self) -> Option<&'static str> {
        match self {
            Self::AddWord(word) => of_word(word),
            Self::UnsignedModules => Some("modules that were tampered with are loaded"),
            Self::Mask(unit) => UNITS
                .iter()
                .any(|u| unit.starts_with(u))
                .then_some("a service that protects the system does not start"),
            Self::SetVariable { name, value } if name == "verify" => {
                let is_off = !value.starts_with(['1', 'y', 'Y', 't', 'T']);
                is_off.then_some("the boot loader starts damaged and forged images")
            }
            _ => None,
        }
    }
}

fn of_word(word: &str) -> Option<&'static str> {
    if key(word) == "initcall_blacklist" {
        let functions = word.split_once('=').map_or("", |(_, value)| value);
        let mut each = functions.split(',');
        return each
            .find_map(|f| INITCALLS.iter().find(|(name, _)| f.starts_with(name)))
            .map(|(_, lost)| *lost);
    }
    let same = |known: &str| match known.split_once('=') {
        Some((_, value)) => {
            key(known) == key(word) && word.split_once('=').is_some_and(|(_, v)| v == value)
        }
        None => known == word,
    };
    WORDS.iter().find(|(w, _)| same(w)).map(|(_, lost)| *lost)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use crate::Treatment;

    #[test]
    fn what_protects_is_known() {
        let weakens = |text: &str| Treatment::parse(text).unwrap().weakens().is_some();
        for text in [
            "cmdline+=rodata=off",
            "cmdline+=mitigations=off",
            "cmdline+=intel-iommu=off",
            "modules=unsigned",
            "mask=ufw.service",
            "env=verify=no",
            "cmdline+=initcall_blacklist=a,load_system_certificate_list",
        ] {
            assert!(weakens(text), "{text}");
        }
        for text in [
            "cmdline+=quiet",
            "cmdline+=rodata=full",
            "cmdline+=swiotlb=noforce",
            "cmdline+=initcall_blacklist=trace_eval_init",
            "mask=e2scrub_reap.service",
            "env=verify=yes",
            "kernel=uncompressed",
        ] {
            assert!(!weakens(text), "{text}");
        }
    }
}
