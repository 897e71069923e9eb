//! Names that only their context gives away.

use crate::kind::Kind;
use crate::quote::{QUOTE, START};
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
    // A line may also be a string in JSON, or begin behind a line's end that JSON escapes.
    let line = r#"(?:^|["']|\\n|\\r)"#;
    let (start, quote, less) = (START, QUOTE, r"(?:<|&lt;|\\u003c)");
    let hosts = [
        format!(r"(?i-u)(?:hostname set to|set hostname to) {less}{host}"),
        // syslog: `Nov 24 10:00:00 HOST prog[1]:`
        format!(
            r"(?m-u){line}(?:<\d+>)?[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? {host} [^\s:\[]+(?:\[\d+\])?:"
        ),
        // ISO stamps of journalctl and rsyslog
        format!(
            r"(?m-u){line}(?:<\d+>)?\d{{4}}-\d\d-\d\dT[\d:.,]+(?:[+-]\d\d:?\d\d|Z)? {host} [^\s:\[]+(?:\[\d+\])?:"
        ),
        // short-monotonic and short-unix
        format!(r"(?m-u){line}(?:\[ *\d+\.\d+\]|\d{{9,}}\.\d+) {host} [^\s:\[]+\[\d+\]:"),
        format!(r"(?m-u){start}_HOSTNAME(?:{quote})?\s*[:=]\s*(?:{quote})?{host}"),
        format!(r"(?m-u){line}{host} login:"),
        format!(r"(?-u){start}(?:systemd\.)?hostname(?:{quote})?[=:] *(?:{quote})?{host}"),
        format!(r"(?-u){start}ip=[^\s:]*:[^\s:]*:[^\s:]*:[^\s:]*:{host}:"),
        // What `uname -a` and recorders of traces print.
        format!(r"(?-u){start}Linux {host} \d+\.\d+[\w.+-]* "),
        // strace
        format!(r"(?-u){start}(?:nodename=|sethostname\(){quote}{host}"),
        // systemd-analyze plot
        format!(r"(?-u)\) {host} \(Linux \d"),
        format!(r"(?-u)# hostname : {host}"),
        format!(r"(?-u)Boot chart for {host}\b"),
    ];
    let users = [
        r#"(?-u)/(?:home|Users)/([^\s/'"<>:;,)\]}\\]+)"#,
        r"(?-u)/(?:run/)?media/([a-z_][\w-]*)/",
        // A home folder in the name of a unit
        r"(?-u)STARThome-([a-z_]\w*)(?:(?:-|\\x2d)\S*)?\.(?:auto)?mount\b",
        r"(?-u)START(?:opened|closed) for user ([a-z_][\w-]*)",
        r"(?-u)STARTof user ([a-z_][\w-]*)",
        r"(?-u)STARTUSER(?:NAME)?=([a-z_][\w-]*)",
        r"(?-u)STARTLOGNAME=([a-z_][\w-]*)",
        // What a unit runs as
        r"(?m-u)^User=([a-z_][\w-]*)",
        r"(?-u)STARTuid=\d+\(([a-z_][\w-]*)\)",
        r"(?m-u) login: ([a-z_][\w-]*)\s*$",
        r"(?-u)STARTsudo(?:\[\d+\])?: +([a-z_][\w-]*) :",
        r"(?-u)STARTAccepted \w+ for ([a-z_][\w-]*) from",
    ];
    let wireless = [
        format!(r#"(?i-u){start}e?ssid(?:{quote})?(?:[=:]| value) ?{quote}([^"'\\\n&]{{1,32}})"#),
        format!(r#"(?i-u){start}wireless network {quote}([^"'\\\n&]{{1,32}})"#),
        format!(r#"(?i-u){start}e?ssid=([^\s"',;&\\]{{1,32}})"#),
    ];
    let hosts = hosts.iter().map(|p| (Kind::Host, p.as_str()));
    let users = users.map(|p| p.replace("START", START));
    let users = users.iter().map(|p| (Kind::User, p.as_str()));
    let wireless = wireless.iter().map(|p| (Kind::Wireless, p.as_str()));
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
        assert_eq!(CONTEXTS.len(), 13 + 12 + 3);
        assert!(BUILDER.is_some());
    }
}
