//! Names that stay the same from boot to boot.

/// `name` with what changes between boots of one system folded into `*`:
/// process ids, addresses, session and scope numbers, random suffixes, UUIDs,
/// and the worker numbers of kernel threads. Two items whose names differ only
/// there are taken for the same one.
///
/// What stays is what tells items apart: functions, devices, units.
pub(crate) fn stable(name: &str) -> String {
    // A kernel thread's name says which worker it is: `kworker/0:1H-kblockd`.
    if let Some(rest) = name.strip_prefix("kworker/") {
        let kind = rest.split_once('-').map_or("", |(_, kind)| kind);
        return format!("kworker/*-{kind}");
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let word_ends = |c: char| !c.is_ascii_alphanumeric();
        let end = rest.find(word_ends).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        if word.is_empty() {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        let changes = is_address(word)
            || is_random(word)
            || (is_number(word) && follows_counter(&out))
            || is_uuid_part(word, &out, tail);
        out.push_str(if changes { "*" } else { word });
        rest = tail;
    }
    out
}

/// [`stable`], and more: what differs from device to device of one product, so that one
/// name stands for the same thing in a whole fleet. Numbers that the kernel hands out in
/// the order of discovery (`loop3`, `dm-1`, `input5`, `8:16`), revisions of snaps, and
/// short hashes are folded too. Addresses on a bus stay: they name the device.
pub(crate) fn canonical(name: &str) -> String {
    let folded = stable(name);
    let mut out = String::with_capacity(folded.len());
    let mut rest = folded.as_str();
    while let Some(first) = rest.chars().next() {
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        if word.is_empty() {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let numbered = stem.len() < word.len();
        if numbered && ["loop", "input", "hidraw", "event"].contains(&stem) {
            out.push_str(stem);
            out.push('*');
        } else if is_number(word) && (out.ends_with("dm-") || is_revision(&folded, &out, tail))
            || is_hash(word)
        {
            out.push('*');
        } else if let Some(after) = device_number(word, &out, tail) {
            out.push_str("*:*");
            rest = after;
            continue;
        } else {
            out.push_str(word);
        }
        rest = tail;
    }
    out
}

/// `snap-core20-1405.mount`: the last number is the revision.
fn is_revision(name: &str, before: &str, after: &str) -> bool {
    let snap = name.starts_with("snap-") && before.len() > "snap-".len();
    snap && before.ends_with('-') && after == ".mount"
}

/// A hash that git, docker and the like cut short.
fn is_hash(word: &str) -> bool {
    let digits = word.bytes().any(|b| b.is_ascii_digit());
    let letters = word.bytes().any(|b| b.is_ascii_lowercase());
    word.len() >= 12 && is_hex(word) && digits && letters
}

/// A major and a minor number of a device, `8:16`, that stand alone; what is behind them.
fn device_number<'a>(word: &str, before: &str, after: &'a str) -> Option<&'a str> {
    let minor = after.strip_prefix(':')?;
    let end = minor
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(minor.len());
    let behind = minor.get(end..)?;
    let alone = before.is_empty() || before.ends_with([' ', '-', '(']);
    let ends = behind.is_empty() || behind.starts_with([' ', ')']);
    (is_number(word) && end > 0 && word.len() <= 3 && alone && ends).then_some(behind)
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit())
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_hexdigit())
}

/// `0xffffffc008010000`, or as many digits alone.
fn is_address(word: &str) -> bool {
    let digits = word.strip_prefix("0x");
    digits.is_some_and(|d| d.len() >= 8 && is_hex(d)) || (word.len() >= 16 && is_hex(word))
}

/// systemd's transient units: `run-rf3a1...` and `run-u12`.
fn is_random(word: &str) -> bool {
    let hex = word
        .strip_prefix('r')
        .is_some_and(|h| h.len() == 32 && is_hex(h));
    let counted = word
        .strip_prefix('u')
        .is_some_and(|n| !n.is_empty() && is_number(n));
    hex || counted
}

/// Whether a number after `before` only counts: a process id in brackets or
/// behind `pid`, a session, a bus name, a user's manager.
fn follows_counter(before: &str) -> bool {
    [
        "[",
        "pid ",
        "pid-",
        "session-",
        "session-c",
        ":1.",
        "/proc/",
    ]
    .iter()
    .any(|p| before.ends_with(p))
}

/// A part of a UUID: 8-4-4-4-12 hexadecimal digits, with `-` between, which
/// systemd writes as `\x2d`.
fn is_uuid_part(word: &str, before: &str, after: &str) -> bool {
    // Behind an escape the `x2d` is part of the word.
    let digits = word.strip_prefix("x2d").unwrap_or(word);
    let joined = |s: &str| s.starts_with('-') || s.starts_with("\\x2d");
    let length = matches!(digits.len(), 4 | 8 | 12) && is_hex(digits);
    let first = digits.len() == 8 && joined(after) && digits.bytes().any(|b| b.is_ascii_digit());
    let later = before.ends_with("*-") || before.ends_with("*\\");
    length && (first && starts_uuid(after) || later)
}

/// Whether what follows the first part of a UUID is the rest of one.
fn starts_uuid(after: &str) -> bool {
    let plain = after.replace("\\x2d", "-");
    let mut parts = plain.split('-').skip(1);
    [4, 4, 4].iter().all(|n| {
        let part = parts.next();
        part.is_some_and(|p| p.len() == *n && is_hex(p))
    })
}

#[cfg(test)]
mod tests {
    use super::{canonical, stable};

    #[test]
    fn what_changes_between_boots_is_folded() {
        for (name, folded) in [
            ("crypto_algapi_init", "crypto_algapi_init"),
            (
                "ath11k_pci_init [ath11k_pci]",
                "ath11k_pci_init [ath11k_pci]",
            ),
            ("0000:00:1f.2", "0000:00:1f.2"),
            ("33c0000.pinctrl", "33c0000.pinctrl"),
            ("dev-sda1.device", "dev-sda1.device"),
            ("getty@tty1.service", "getty@tty1.service"),
            ("kworker/0:1H-kblockd", "kworker/*-kblockd"),
            ("(udev-worker) [1234]", "(udev-worker) [*]"),
            ("session-3.scope", "session-*.scope"),
            ("run-u12.scope", "run-*.scope"),
            (
                "run-r0123456789abcdef0123456789abcdef.service",
                "run-*.service",
            ),
            ("probe at 0xffffffc008010000", "probe at *"),
            (
                "systemd-fsck@dev-disk-by\\x2duuid-3e1f0a52\\x2d1c2d\\x2d4e5f\\x2d8a9b\\x2d0123456789ab.service",
                "systemd-fsck@dev-disk-by\\x2duuid-*\\*\\*\\*\\*.service",
            ),
            (
                "dev-disk-3e1f0a52-1c2d-4e5f-8a9b-0123456789ab.device",
                "dev-disk-*-*-*-*-*.device",
            ),
        ] {
            assert_eq!(stable(name), folded);
        }
    }

    #[test]
    fn what_differs_between_devices_of_a_product_is_folded() {
        for (name, folded) in [
            ("dev-loop12.device", "dev-loop*.device"),
            ("dm-3", "dm-*"),
            ("snap-core20-1405.mount", "snap-core20-*.mount"),
            ("docker-4f2ab81c9d0e.scope", "docker-*.scope"),
            ("inode 16 on 43:0", "inode 16 on *:*"),
            ("block-8:16", "block-*:*"),
            ("input5", "input*"),
            ("session-3.scope", "session-*.scope"),
            ("0000:00:1f.2", "0000:00:1f.2"),
            ("33c0000.pinctrl", "33c0000.pinctrl"),
            ("usb 1-1:1.0", "usb 1-1:1.*"),
            ("mmcblk0p2", "mmcblk0p2"),
            ("getty@tty1.service", "getty@tty1.service"),
            ("deadbeefcafe.service", "deadbeefcafe.service"),
        ] {
            assert_eq!(canonical(name), folded);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_name_has_a_canonical_one(name in "\\PC{0,40}|[a-f0-9:.x@ -]{0,40}") {
            proptest::prop_assert!(canonical(&name).len() <= name.len() + 8);
        }
    }
}
