//! What is replaced and what is not, as a table; and what must hold for any input.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use firstlight_redact::{Kind, Redactor};
use proptest::prelude::*;

/// Kind, a line, and what must be gone from it. The line is learned first.
const SECRETS: &[(Kind, &str, &[&str])] = &[
    (
        Kind::Mac,
        "eth0: 52:54:00:ab:cd:ef link up",
        &["52:54:00:ab:cd:ef"],
    ),
    (
        Kind::Mac,
        "e1000e 0000:00:1f.6 eth0: (PCI) 8C:16:45:11:22:33",
        &["8C:16:45:11:22:33"],
    ),
    (
        Kind::Mac,
        "hwaddr 8c-16-45-aa-bb-cc",
        &["8c-16-45-aa-bb-cc"],
    ),
    (
        Kind::Mac,
        "BOOTIF=01-8c-16-45-aa-bb-cc",
        &["8c-16-45-aa-bb-cc"],
    ),
    (
        Kind::Mac,
        "renamed from eth0 to enx8c1645aabbcc",
        &["8c1645aabbcc"],
    ),
    (
        Kind::Mac,
        "sys-subsystem-net-devices-wlx8c1645aabbcc.device",
        &["8c1645aabbcc"],
    ),
    (
        Kind::Mac,
        "Bluetooth: hci0: BD address 8c:16:45:aa:bb:cc.",
        &["8c:16:45:aa:bb:cc"],
    ),
    (
        Kind::Ipv4,
        "IP-Config: eth0 address: 10.20.30.41 mask 255.255.255.0",
        &["10.20.30.41"],
    ),
    (
        Kind::Ipv4,
        "bound to 192.168.17.23 -- renewal in 3600 seconds.",
        &["192.168.17.23"],
    ),
    (Kind::Ipv4, "nfsroot=172.16.9.8:/srv/root", &["172.16.9.8"]),
    (Kind::Ipv4, "the server is 172.16.9.8.", &["172.16.9.8"]),
    (Kind::Ipv4, "inet 10.1.2.3/24", &["10.1.2.3"]),
    (
        Kind::Ipv6,
        "addr fe80::8e16:45ff:feaa:bbcc/64 on eth0",
        &["fe80::8e16:45ff:feaa:bbcc"],
    ),
    (
        Kind::Ipv6,
        "listening on [2a02:8109:1:2:3:4:5:6]:22",
        &["2a02:8109:1:2:3:4:5:6"],
    ),
    (
        Kind::Uuid,
        "root=UUID=0a1b2c3d-1111-2222-3333-444455556666 ro",
        &["0a1b2c3d-1111", "444455556666"],
    ),
    (Kind::Uuid, "root=PARTUUID=deadbeef-02", &["deadbeef-02"]),
    (
        Kind::Uuid,
        "Found device /dev/disk/by-uuid/ABCD-1234.",
        &["ABCD-1234"],
    ),
    (
        Kind::Uuid,
        r"dev-disk-by\x2duuid-0a1b2c3d\x2d1111\x2d2222\x2d3333\x2d444455556666.device",
        &["0a1b2c3d", "444455556666"],
    ),
    (
        Kind::Uuid,
        r"dev-disk-by\x2duuid-ABCD\x2d1234.device",
        &["ABCD"],
    ),
    (
        Kind::Id,
        "machine-id 0123456789abcdef0123456789abcdef",
        &["0123456789abcdef"],
    ),
    (
        Kind::Id,
        r#""_BOOT_ID" : "aaaabbbbccccddddeeeeffff00001111""#,
        &["aaaabbbb"],
    ),
    (
        Kind::Serial,
        "usb 1-1: SerialNumber: 4C530001230611115222",
        &["4C530001230611115222"],
    ),
    (Kind::Serial, "Serial\t\t: 00000000a1b2c3d4", &["a1b2c3d4"]),
    (Kind::Serial, "serial#=0123456AB", &["0123456AB"]),
    (
        Kind::Serial,
        "androidboot.serialno=HT4A1JT00123",
        &["HT4A1JT00123"],
    ),
    (
        Kind::Serial,
        "ID_SERIAL_SHORT=S3Z8NB0K123456X",
        &["S3Z8NB0K123456X"],
    ),
    (
        Kind::Serial,
        "/dev/disk/by-id/ata-Samsung_SSD_860_EVO_S3Z8NB0K123456X-part1",
        &["S3Z8NB0K123456X"],
    ),
    (
        Kind::Serial,
        r"dev-disk-by\x2did-ata\x2dSamsung_SSD_860_EVO_S3Z8NB0K123456X\x2dpart1.device",
        &["S3Z8NB0K123456X"],
    ),
    (
        Kind::Host,
        "systemd[1]: Hostname set to <merlin>.",
        &["merlin"],
    ),
    (
        Kind::Host,
        "Nov 24 10:00:01 merlin-7 kernel: Linux version 6.1",
        &["merlin-7"],
    ),
    (
        Kind::Host,
        "<6>Nov  4 10:00:01 merlin-7 sshd[12]: ready",
        &["merlin-7"],
    ),
    (
        Kind::Host,
        "2026-11-24T10:00:01.123456+01:00 merlin systemd[1]: Started.",
        &["merlin"],
    ),
    (
        Kind::Host,
        "[    1.234567] merlin systemd[1]: Started.",
        &["merlin"],
    ),
    (
        Kind::Host,
        r#"{"_HOSTNAME":"merlin","MESSAGE":"x"}"#,
        &["merlin"],
    ),
    (Kind::Host, "merlin login: ", &["merlin"]),
    (
        Kind::Host,
        "console=ttyS0 systemd.hostname=merlin quiet",
        &["merlin"],
    ),
    (
        Kind::Host,
        "ip=10.1.2.3::10.1.2.1:255.255.255.0:merlin:eth0:off",
        &["merlin", "10.1.2.3"],
    ),
    (
        Kind::Host,
        "Linux merlin 6.1.0-18-amd64 #1 SMP x86_64",
        &["merlin"],
    ),
    (
        Kind::Host,
        "<text>Debian GNU/Linux 12 (bookworm) merlin (Linux 6.1.0 #1) x86-64</text>",
        &["merlin"],
    ),
    (
        Kind::Email,
        "Linux version 6.1.0 (jdoe@forge.local) (gcc 12.2)",
        &["jdoe", "forge"],
    ),
    (
        Kind::Host,
        "Linux version 6.1.0 (jdoe@forge) (gcc 12.2)",
        &["jdoe", "forge"],
    ),
    (
        Kind::User,
        "session opened for user jdoe(uid=1000)",
        &["jdoe"],
    ),
    (Kind::User, "Started Session 1 of user jdoe.", &["jdoe"]),
    (Kind::User, "/home/jdoe/.profile", &["jdoe", ".profile"]),
    (
        Kind::User,
        "Accepted publickey for jdoe from 10.1.2.3 port 50000",
        &["jdoe", "10.1.2.3"],
    ),
    (Kind::User, "sudo:     jdoe : TTY=pts/0", &["jdoe"]),
    (
        Kind::Path,
        "/home/jdoe/products/osprey/run.sh --fast",
        &["osprey", "run.sh"],
    ),
    (Kind::Path, "/run/media/jdoe/Holiday/a.jpg", &["Holiday"]),
    (
        Kind::Wireless,
        "wlan0: SSID='Kingfisher 5G' associated",
        &["Kingfisher"],
    ),
    (
        Kind::Wireless,
        r#"wlan0 ESSID:"Kingfisher""#,
        &["Kingfisher"],
    ),
    (
        Kind::Secret,
        "quiet wifi.password=hunter22 ro",
        &["hunter22"],
    ),
    (Kind::Secret, "wpa_psk=0123abcd", &["0123abcd"]),
    (
        Kind::Secret,
        "fleet.token=\"eyJhbGciOi\" ro",
        &["eyJhbGciOi"],
    ),
    (
        Kind::Secret,
        "rd.luks.passphrase=correct-horse",
        &["correct-horse"],
    ),
    (
        Kind::Secret,
        r#"{"MESSAGE":"line one\nwpa.psk=\"three small words\" set"}"#,
        &["three", "small", "words"],
    ),
    (
        Kind::Secret,
        r#"{"wifi_password": "hunter22", "token" : "eyJhbGciOi"}"#,
        &["hunter22", "eyJhbGciOi"],
    ),
    (
        Kind::Secret,
        "argv[]=/usr/bin/sync --auth-token eyJhbGciOi --password=hunter22 ;",
        &["eyJhbGciOi", "hunter22"],
    ),
    (
        Kind::Secret,
        r#"execve("/usr/bin/sync", ["sync", "--password", "hunter22"]"#,
        &["hunter22"],
    ),
    (
        Kind::Mac,
        r#"{"MESSAGE":"two lines\n8c:16:45:aa:bb:cc"}"#,
        &["8c:16:45:aa:bb:cc"],
    ),
    (
        Kind::Ipv4,
        r#"{"MESSAGE":"lease\t10.1.2.3"}"#,
        &["10.1.2.3"],
    ),
    (
        Kind::Host,
        r#"{"MESSAGE":"Hostname set to \u003cmerlin>."}"#,
        &["merlin"],
    ),
    (
        Kind::Host,
        "<text>Hostname set to &lt;merlin&gt;.</text>",
        &["merlin"],
    ),
    (
        Kind::Host,
        r#"[1,2,"Nov 24 10:00:01 merlin-7 kernel: up"]"#,
        &["merlin-7"],
    ),
    (
        Kind::Host,
        r#"uname({sysname="Linux", nodename="merlin", ...}) = 0"#,
        &["merlin"],
    ),
    (Kind::Host, r#"sethostname("merlin", 6) = 0"#, &["merlin"]),
    (Kind::User, "User=jdoe\nGroup=x", &["jdoe"]),
    (
        Kind::User,
        "home-jdoe-osprey.mount loaded",
        &["jdoe", "osprey"],
    ),
    (
        Kind::Wireless,
        r#"{"MESSAGE":"wlan0: SSID=\"Kingfisher 5G\" associated"}"#,
        &["Kingfisher"],
    ),
    (Kind::Wireless, "net.ssid=Kingfisher ro", &["Kingfisher"]),
    (
        Kind::Wireless,
        "Config: added 'ssid' value 'Kingfisher'",
        &["Kingfisher"],
    ),
    (
        Kind::Wireless,
        "Connected to wireless network \"Kingfisher\"",
        &["Kingfisher"],
    ),
    (
        Kind::Serial,
        r#"{"msg":"a\nSerialNumber: 4C530001230611115222\nnet.ssid=Kingfisher\nhostname=merlin"}"#,
        &["4C530001230611115222", "Kingfisher", "merlin"],
    ),
    (
        Kind::Serial,
        r#"{"board_serial":"HT4A1JT00123"}"#,
        &["HT4A1JT00123"],
    ),
    (
        Kind::Credentials,
        "ds=nocloud;s=http://joe:hunter22@seed/",
        &["joe:hunter22"],
    ),
    (
        Kind::Email,
        "Key of jane.doe@example.org loaded",
        &["jane.doe"],
    ),
];

/// What has the look of a secret and is none.
const INNOCENT: &[&str] = &[
    "[    1.234567] 12:34:56 up 1 day",
    "2026-11-24T12:34:56.789012+0100 start",
    "2026-11-24-10-12-33-44 batch",
    "getty@tty1.service loaded active running",
    "user@1000.service",
    "pci 0000:00:1f.2: [8086:2922] type 00 class 0x010601",
    "Linux version 5.15.0.91-generic",
    "firmware version 1.2.3.4 loaded",
    "Linux version 6.6.1 (gcc 12.2) #1 SMP",
    "lo: 127.0.0.1/8 ::1/128",
    "NET: :: any",
    "mask 255.255.255.0",
    "[mem 0x0000000000000000-0x000000000009fbff] usable",
    "PREEMPT 0-1.2: a::b",
    "serial8250: ttyS0 at I/O 0x3f8",
    "serial: ttyS0",
    "audit: enabled token=1 auth_secret=off",
    r#""MESSAGE_ID" : "39f53479d3a045ac8e11786248231fbf""#,
    "MESSAGE_ID=39f53479d3a045ac8e11786248231fbf",
    "initcall init_hw+0x0/0x1c returned 0 after 12 usecs",
    "/dev/disk/by-path/pci-0000:00:1f.2-ata-1",
    "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff",
    "Startup finished in 1.234s (kernel) + 5.678s (userspace) = 6.912s.",
    "raspberrypi login: ",
    "U-Boot 2026.01 (Nov 24 2026 - 10:11:12 +0000)",
];

fn redacted(line: &str) -> (String, Redactor) {
    let mut redactor = Redactor::default();
    redactor.learn(line.as_bytes());
    let bytes = redactor.redact(line.as_bytes());
    (String::from_utf8(bytes).unwrap(), redactor)
}

#[test]
fn every_planted_secret_is_gone_and_counted() {
    for (kind, line, secrets) in SECRETS {
        let (sent, redactor) = redacted(line);
        for secret in *secrets {
            assert!(!sent.contains(secret), "{line}\n{sent}");
        }
        let kinds: Vec<Kind> = redactor.counts().iter().map(|c| c.kind).collect();
        assert!(kinds.contains(kind), "{line}: {kinds:?}");
    }
}

#[test]
fn what_is_no_secret_stays() {
    for line in INNOCENT {
        assert_eq!(redacted(line).0, *line);
    }
}

#[test]
fn json_stays_json() {
    for text in [
        r#"{"a":"one\njane.doe@example.org \u003cjohn.doe@example.org>"}"#,
        r#"{"a":"ID_SERIAL=S3Z8NB0K123456X","b":"http://x","c":"d:e@f.org"}"#,
        r#"{"a":"say \"ID_SERIAL=S3Z8NB0K123456X\" and \"wifi.password=hunter22\""}"#,
        r#"{"password":"hunter22","b":"psk='a b'"}"#,
    ] {
        let (sent, _) = redacted(text);
        assert!(
            serde_json::from_str::<serde_json::Value>(&sent).is_ok(),
            "{sent}"
        );
        for secret in ["jane", "john", "S3Z8NB0K", "hunter22", "a b"] {
            assert!(!sent.contains(secret), "{sent}");
        }
    }
}

#[test]
fn one_secret_is_one_replacement_in_all_its_spellings() {
    let mut redactor = Redactor::default();
    let sent = redactor.redact(b"8c:16:45:aa:bb:cc 8C-16-45-AA-BB-CC 8c:16:45:aa:bb:cd\n");
    let sent = String::from_utf8(sent).unwrap();
    assert_eq!(
        sent,
        "02:00:00:00:00:01 02-00-00-00-00-01 02:00:00:00:00:02\n"
    );
    let counts = redactor.counts();
    assert_eq!((counts[0].distinct, counts[0].places), (2, 3));
}

#[test]
fn names_of_one_file_go_from_all() {
    let mut redactor = Redactor::default();
    redactor.learn(b"systemd[1]: Hostname set to <merlin>.\n");
    assert_eq!(
        redactor.redact(b"merlin.lan up, merlinia is not"),
        b"host1.lan up, merlinia is not"
    );
}

#[test]
fn names_that_many_machines_have_are_kept_and_named() {
    let (sent, redactor) = redacted("raspberrypi login: ");
    assert_eq!(sent, "raspberrypi login: ");
    assert_eq!(redactor.kept(), ["raspberrypi"]);
}

#[test]
fn utf_16_is_read() {
    let text = "\u{feff}root=UUID=0a1b2c3d-1111-2222-3333-444455556666";
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let sent = Redactor::default().redact(&bytes);
    assert_eq!(sent, b"root=UUID=00000000-0000-0000-0000-000000000001");
}

proptest! {
    /// Any bytes, with secrets among them: no panic, binary keeps its length, and
    /// what was redacted once is not redacted to something longer again.
    #[test]
    fn any_input(
        parts in proptest::collection::vec(prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..20),
            prop::sample::select(SECRETS).prop_map(|(_, line, _)| line.as_bytes().to_vec()),
        ], 0..12),
        binary in any::<bool>(),
    ) {
        let mut input = parts.join(&b' ');
        if binary {
            input.insert(0, b'F');
            input.push(0);
        }
        let mut redactor = Redactor::default();
        redactor.learn(&input);
        let sent = redactor.redact(&input);
        if input.contains(&0) && !input.starts_with(&[0xff, 0xfe]) && !input.starts_with(&[0xfe, 0xff]) {
            prop_assert_eq!(sent.len(), input.len());
        }
    }

    /// Times before a message stay as they are.
    #[test]
    fn times_stay(seconds in 0u32..100_000, micros in 0u32..1_000_000, row in 0..SECRETS.len()) {
        let stamp = format!("[{seconds:5}.{micros:06}] ");
        let line = format!("{stamp}x {}\n", SECRETS[row].1);
        let (sent, _) = redacted(&line);
        prop_assert!(sent.starts_with(&stamp), "{}", sent);
    }
}
