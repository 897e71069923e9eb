//! Names that only their context gives away.

use crate::kind::Kind;
use regex::bytes::{Captures, Regex};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Names learned so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    known: BTreeMap<Vec<u8>, Kind>,
    kept: BTreeSet<Vec<u8>>,
}

/// Host and user names that many machines have, and that logs use as plain words.
/// To replace them would change what the log says and hide nothing.
const COMMON: &[&str] = &[
    "admin",
    "alarm",
    "alpine",
    "arch",
    "archlinux",
    "armbian",
    "avahi",
    "beaglebone",
    "bin",
    "buildroot",
    "centos",
    "chrony",
    "cloud",
    "colord",
    "coreos",
    "daemon",
    "dbus",
    "debian",
    "default",
    "dhcp",
    "dnsmasq",
    "fedora",
    "gdm",
    "gentoo",
    "guest",
    "host",
    "init",
    "kali",
    "kernel",
    "kmsg",
    "lightdm",
    "linux",
    "live",
    "localhost",
    "manjaro",
    "messagebus",
    "mint",
    "mysql",
    "nixos",
    "nobody",
    "none",
    "ntp",
    "opensuse",
    "openwrt",
    "pi",
    "polkitd",
    "poky",
    "postgres",
    "pulse",
    "qemu",
    "raspberrypi",
    "redhat",
    "root",
    "rtkit",
    "sddm",
    "sshd",
    "suse",
    "sys",
    "syslog",
    "system",
    "systemd",
    "ubuntu",
    "unknown",
    "user",
    "uucp",
    "version",
    "www-data",
    "yocto",
];

fn pattern(text: &str) -> Option<Regex> {
    // A test compiles them all.
    Regex::new(text).ok()
}

/// Each has one group: the name. A host's name has letters, digits, `-` and `.`.
static CONTEXTS: LazyLock<Vec<(Kind, Regex)>> = LazyLock::new(|| {
    let host = r"([0-9A-Za-z](?-u:[\w.-]){0,62})";
    let hosts = [
        format!(r"(?i-u)(?:hostname set to|set hostname to) <{host}>"),
        // syslog: `Nov 24 10:00:00 HOST prog[1]:`
        format!(
            r"(?m-u)^(?:<\d+>)?[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? {host} [^\s:\[]+(?:\[\d+\])?:"
        ),
        // ISO stamps of journalctl and rsyslog
        format!(
            r"(?m-u)^(?:<\d+>)?\d{{4}}-\d\d-\d\dT[\d:.,]+(?:[+-]\d\d:?\d\d|Z)? {host} [^\s:\[]+(?:\[\d+\])?:"
        ),
        // short-monotonic and short-unix
        format!(r"(?m-u)^(?:\[ *\d+\.\d+\]|\d{{9,}}\.\d+) {host} [^\s:\[]+\[\d+\]:"),
        format!(r#"(?-u)"_HOSTNAME"\s*:\s*"{host}""#),
        format!(r"(?m-u)^\s*_HOSTNAME={host}"),
        format!(r"(?m-u)^{host} login:"),
        format!(r"(?-u)\b(?:systemd\.)?hostname[=:] *{host}"),
        format!(r"(?-u)\bip=[^\s:]*:[^\s:]*:[^\s:]*:[^\s:]*:{host}:"),
        // What `uname -a` and recorders of traces print.
        format!(r"(?-u)\bLinux {host} \d+\.\d+[\w.+-]* "),
        // systemd-analyze plot
        format!(r"(?-u)\) {host} \(Linux \d"),
        format!(r"(?-u)# hostname : {host}"),
        format!(r"(?-u)Boot chart for {host}\b"),
    ];
    let users = [
        r#"(?-u)/(?:home|Users)/([^\s/'"<>:;,)\]}\\]+)"#,
        r"(?-u)/(?:run/)?media/([a-z_][\w-]*)/",
        r"(?-u)\b(?:opened|closed) for user ([a-z_][\w-]*)",
        r"(?-u)\bof user ([a-z_][\w-]*)",
        r"(?-u)\bUSER(?:NAME)?=([a-z_][\w-]*)",
        r"(?-u)\bLOGNAME=([a-z_][\w-]*)",
        r"(?m-u) login: ([a-z_][\w-]*)\s*$",
        r"(?-u)\bsudo(?:\[\d+\])?: +([a-z_][\w-]*) :",
        r"(?-u)\bAccepted \w+ for ([a-z_][\w-]*) from",
    ];
    let wireless = [
        r#"(?i-u)\be?ssid[=:] ?"([^"\n]{1,32})""#,
        r"(?i-u)\be?ssid[=:]? ?'([^'\n]{1,32})'",
    ];
    let hosts = hosts.iter().map(|p| (Kind::Host, p.as_str()));
    let users = users.iter().map(|p| (Kind::User, *p));
    let wireless = wireless.iter().map(|p| (Kind::Wireless, *p));
    let all = hosts.chain(users).chain(wireless);
    all.filter_map(|(kind, text)| Some((kind, pattern(text)?)))
        .collect()
});

/// Who built the kernel, and where: `Linux version 6.1.0 (user@host) (gcc`.
static BUILDER: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?-u)Linux version \S+ \(([\w.-]+)@([\w.-]+)\)"));

impl Names {
    pub(crate) fn learn(&mut self, text: &[u8]) {
        let group = |found: &Captures<'_>, n: usize| found.get(n).map(|g| g.as_bytes().to_vec());
        for (kind, context) in CONTEXTS.iter() {
            for found in context.captures_iter(text) {
                if let Some(name) = group(&found, 1) {
                    self.add(*kind, name);
                }
            }
        }
        let builders = BUILDER.iter().flat_map(|b| b.captures_iter(text));
        for found in builders {
            for (n, kind) in [(1, Kind::User), (2, Kind::Host)] {
                if let Some(name) = group(&found, n) {
                    self.add(kind, name);
                }
            }
        }
    }

    fn add(&mut self, kind: Kind, name: Vec<u8>) {
        let name = name.strip_suffix(b".").map_or(name.clone(), <[u8]>::to_vec);
        let lower = name.to_ascii_lowercase();
        let common = COMMON.iter().any(|c| c.as_bytes() == lower);
        let number = name.iter().all(|b| b.is_ascii_digit() || *b == b'.');
        if kind != Kind::Wireless && (common || number || name.len() < 2) {
            if common {
                self.kept.insert(name);
            }
            return;
        }
        if !name.is_empty() {
            self.known.entry(name).or_insert(kind);
        }
    }

    /// The names, longest first, and their kinds.
    pub(crate) fn known(&self) -> Vec<(&[u8], Kind)> {
        let mut known: Vec<_> = self.known.iter().map(|(n, k)| (n.as_slice(), *k)).collect();
        known.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        known
    }

    pub(crate) fn kind(&self, name: &[u8]) -> Option<Kind> {
        self.known.get(name).copied()
    }

    pub(crate) fn kept(&self) -> Vec<String> {
        let kept = self.kept.iter();
        kept.map(|k| String::from_utf8_lossy(k).into_owned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{BUILDER, CONTEXTS};

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(CONTEXTS.len(), 13 + 9 + 2);
        assert!(BUILDER.is_some());
    }
}
