//! What is redacted can be sent, and still says the same about the boot.
#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn firstlight(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    command.args(arguments).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = firstlight(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// All inputs of the corpus: one of each source and more.
fn inputs(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => inputs(&path, found),
            false => found.push(path),
        }
    }
    let is_made = |p: &Path| p.extension().is_some_and(|e| e == "expected");
    found.retain(|p| !is_made(p) && !p.ends_with("expected.json"));
}

/// Secret `n` of each kind in turn, and what of it must be gone.
fn secret(n: usize) -> (String, String) {
    let hex = format!("{:06x}", 0x00ab_cde0 + n * 7919);
    let (a, b, c) = (&hex[..2], &hex[2..4], &hex[4..]);
    let (text, gone) = match n % 13 {
        0 => (format!("8c:16:45:{a}:{b}:{c}"), format!("{a}:{b}:{c}")),
        1 => {
            let address = format!("10.{}.{}.77", n / 200 + 16, n % 200 + 16);
            (address.clone(), address)
        }
        2 => (
            format!("UUID=0a1b2c3d-1111-2222-3333-444455{hex}"),
            format!("444455{hex}"),
        ),
        3 => (format!("SerialNumber: 4C53{hex}222"), format!("4C53{hex}")),
        4 => (
            format!("fe80::8e16:45ff:fe{a}:{b}{c}"),
            format!("fe{a}:{b}{c}"),
        ),
        5 => (format!("wifi.password=hunter{hex}"), format!("hunter{hex}")),
        6 => (
            format!("/home/jdoe{hex}/osprey{hex}/run"),
            format!("osprey{hex}"),
        ),
        7 => (
            format!("ssid=\"Kingfisher {hex}\""),
            format!("Kingfisher {hex}"),
        ),
        8 => (
            format!("Hostname set to <merlin{hex}>"),
            format!("merlin{hex}"),
        ),
        9 => (
            format!("Session 2 of user wren{hex}."),
            format!("wren{hex}"),
        ),
        10 => (format!("jdoe{hex}@falcon-works.dev"), format!("jdoe{hex}@")),
        11 => (
            format!("machine-id 00112233445566778899aabbcc{hex}"),
            format!("aabbcc{hex}"),
        ),
        _ => (
            format!("https://jdoe:owl{hex}@10.1.2.3/image"),
            format!("owl{hex}"),
        ),
    };
    (text, gone)
}

/// The bytes of an input, without compression.
fn plain(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    match path.extension().is_some_and(|e| e == "zst") {
        true => zstd::decode_all(&bytes[..]).unwrap(),
        false => bytes,
    }
}

/// Two formats that the corpus has only as parts of captures.
const JOURNAL: &str = "{\"__CURSOR\":\"s=1\",\"MESSAGE\":\"Started a\",\"UNIT\":\"a.service\",\
    \"MESSAGE_ID\":\"39f53479d3a045ac8e11786248231fbf\",\"__MONOTONIC_TIMESTAMP\":\"5000\"}\n";
const BUS: &str = "{\"firstlight_systemd_dbus\":1}\n{\"Id\":\"a.service\"}\n";

#[test]
fn of_200_secrets_planted_in_each_input_of_the_corpus_none_is_left() {
    let mut files = Vec::new();
    inputs(&corpus(), &mut files);
    assert!(files.len() > 60, "{}", files.len());
    let secrets: Vec<_> = (0..200).map(secret).collect();
    let mut formats = BTreeSet::new();
    let read = files.into_iter().map(|file| (plain(&file), file));
    let written = [JOURNAL, BUS].map(|text| (text.as_bytes().to_vec(), PathBuf::from(text)));
    for (bytes, file) in read.chain(written) {
        formats.extend(sources::sniff(&bytes).map(|source| source.name()));
        // In text behind lines, in binary input anywhere.
        let binary = bytes.contains(&0);
        let ends: Vec<usize> = match binary {
            true => (0..bytes.len()).step_by(bytes.len() / 200 + 1).collect(),
            false => (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect(),
        };
        let mut planted = Vec::new();
        let mut done = 0;
        for (n, (text, _)) in secrets.iter().enumerate() {
            let at = ends
                .get(n * ends.len() / 200)
                .copied()
                .unwrap_or(bytes.len());
            planted.extend_from_slice(&bytes[done..at.max(done)]);
            planted.extend_from_slice(format!(" {text} ").as_bytes());
            done = at.max(done);
        }
        planted.extend_from_slice(&bytes[done..]);
        let mut redactor = redact::Redactor::default();
        redactor.learn(&planted);
        let sent = redactor.redact(&planted);
        if binary && !bytes.starts_with(&[0xff, 0xfe]) && !bytes.starts_with(&[0xfe, 0xff]) {
            assert_eq!(sent.len(), planted.len(), "{}", file.display());
        }
        for (text, gone) in &secrets {
            let left = memchr::memmem::find(&sent, gone.as_bytes());
            assert!(left.is_none(), "{}: {text}", file.display());
        }
    }
    // Every format that is recognized by its first bytes was among them.
    let all = sources::SOURCES.iter().map(|source| source.name());
    let absent: Vec<_> = all.filter(|name| !formats.contains(name)).collect();
    assert!(absent.is_empty(), "the corpus has no input of {absent:?}");
}

#[test]
fn a_redacted_log_has_the_same_times() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "kernel-log/journal-short/input",
        "kernel-log/journal-json/input",
        "kernel-log/agent/input",
        "kernel-log/overlap-and-namesakes/input",
    ] {
        let input = corpus().join(name);
        let sent = folder.path().join("input");
        let (input, sent) = (input.to_str().unwrap(), sent.to_str().unwrap());
        json(&["redact", input, "-o", sent, "--json"]);
        for verb in ["show", "blame"] {
            let times = |document: &Value| {
                let mut all = Vec::new();
                collect(document, &mut all);
                all
            };
            let (before, after) = (
                json(&[verb, "--json", input]),
                json(&[verb, "--json", sent]),
            );
            assert_eq!(times(&before), times(&after), "{name}: {verb}");
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// What is in these bytes, and in every gzip and zstd among them, without compression.
fn opened(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let magic = |m: &[u8]| bytes.starts_with(m);
    if magic(&[0x1f, 0x8b]) {
        flate2::read::GzDecoder::new(bytes)
            .read_to_end(&mut plain)
            .unwrap();
    } else if magic(&[0x28, 0xb5, 0x2f, 0xfd]) {
        plain = zstd::decode_all(bytes).unwrap();
    } else if !bytes.get(257..).is_some_and(|m| m.starts_with(b"ustar")) {
        return bytes.to_vec();
    } else {
        for entry in tar::Archive::new(bytes).entries().unwrap() {
            let mut member = Vec::new();
            entry.unwrap().read_to_end(&mut member).unwrap();
            plain.extend(opened(&member));
        }
        return plain;
    }
    opened(&plain)
}

/// A kernel log with all secrets.
fn log_of_secrets(secrets: &[(String, String)]) -> String {
    let mut log = String::from("[    0.000000] Linux version 6.1.0 (gcc 12.2) #1 SMP\n");
    for (n, (text, _)) in secrets.iter().enumerate() {
        log.push_str(&format!("[    0.{:06}] {text} \n", n + 1));
    }
    log + "[    0.900000] Run /sbin/init as init process\n"
}

/// `firstlight redact`, and what it wrote.
fn sent(folder: &Path, name: &str, bytes: &[u8]) -> Vec<u8> {
    let (from, to) = (folder.join(name), folder.join(format!("sent-{name}")));
    std::fs::write(&from, bytes).unwrap();
    let output = firstlight(&["redact", from.to_str().unwrap(), "-o", to.to_str().unwrap()]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {error}");
    std::fs::read(to).unwrap()
}

#[test]
fn of_200_secrets_inside_compressed_or_quoted_text_none_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let secrets: Vec<_> = (0..200).map(secret).collect();
    let log = log_of_secrets(&secrets);
    let mut inputs = vec![
        ("dmesg.txt.gz", gzip(log.as_bytes())),
        (
            "dmesg.txt.zst",
            zstd::encode_all(log.as_bytes(), 1).unwrap(),
        ),
        (
            "config.gz",
            gzip(
                format!(
                    "CONFIG_X86=y\nCONFIG_CMDLINE=\"{}\"\n",
                    log.replace('\n', " ")
                )
                .as_bytes(),
            ),
        ),
    ];
    // Newest first, as `journalctl -r` prints it
    let mut lines: Vec<&str> = log.lines().collect();
    lines.reverse();
    inputs.push(("newest-first.txt", lines.join("\n").into_bytes()));
    // Each message as a string in JSON, as journalctl and dmesg write it
    let (mut journal, mut ring) = (String::new(), Vec::new());
    for (n, (text, _)) in secrets.iter().enumerate() {
        let message = format!("first\n{text}\tlast");
        let at = 5_000 + n;
        let entry = serde_json::json!({"MESSAGE": message, "__MONOTONIC_TIMESTAMP": at.to_string(),
            "_TRANSPORT": "kernel", "__CURSOR": format!("s={n}")});
        journal.push_str(&format!("{entry}\n"));
        ring.push(serde_json::json!({"pri": 6, "time": 0.001 * n as f64, "msg": message}));
    }
    inputs.push(("journal.json", journal.into_bytes()));
    let ring = serde_json::json!({ "dmesg": ring }).to_string();
    inputs.push(("dmesg.json", ring.into_bytes()));
    // A bootchart with a kernel log, and a capture with a compressed configuration
    let chart = opened_tar(&corpus().join("bootchart/bootchartd.tgz"), &log);
    inputs.push(("bootchart.tgz", gzip(&chart)));
    let manifest = r#"{"firstlight_capture":1,"taken_by":"a test","machine":"a","kernel":"6.1.0",
        "cmdline":"quiet","clocks":[],"sources":[
        {"name":"kernel log","format":"kernel-log","file":"dmesg.txt","clock":""},
        {"name":"config","format":"kernel-config","file":"proc/config.gz","clock":""}]}"#;
    let config = inputs[2].1.clone();
    let capture = archive(&[
        ("manifest.json", manifest.as_bytes()),
        ("dmesg.txt", log.as_bytes()),
        ("proc/config.gz", &config),
    ]);
    inputs.push(("capture.tar", capture));
    for (name, bytes) in inputs {
        let held = opened(&bytes);
        let sent = sent(folder.path(), name, &bytes);
        assert_eq!(
            sent.starts_with(&[0x1f, 0x8b]),
            name == "config.gz" || name == "bootchart.tgz"
        );
        let sent = opened(&sent);
        for (text, gone) in &secrets {
            let find = |bytes| memchr::memmem::find(bytes, gone.as_bytes());
            // The test plants what it looks for.
            assert!(find(&held[..]).is_some(), "{name}: {text} was not planted");
            assert!(find(&sent[..]).is_none(), "{name}: {text}");
        }
        if name.ends_with(".json") {
            let lines = sent.split(|b| *b == b'\n').filter(|l| !l.is_empty());
            for line in lines {
                let line: Result<Value, _> = serde_json::from_slice(line);
                assert!(line.is_ok(), "{name}: {line:?}");
            }
        }
    }
}

/// A tar of these files.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, *bytes).unwrap();
    }
    tar.into_inner().unwrap()
}

/// The tar in a gzip, with a kernel log beside what it has.
fn opened_tar(path: &Path, log: &str) -> Vec<u8> {
    let packed = std::fs::read(path).unwrap();
    let mut members = Vec::new();
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(&packed[..]));
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        members.push((name, bytes));
    }
    members.retain(|(name, _)| !name.ends_with("dmesg"));
    members.push(("dmesg".to_owned(), log.as_bytes().to_vec()));
    let members: Vec<(&str, &[u8])> = members
        .iter()
        .map(|(name, bytes)| (name.as_str(), &bytes[..]))
        .collect();
    archive(&members)
}

#[test]
fn of_200_secrets_in_a_large_page_none_is_left_and_it_is_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let secrets: Vec<_> = (0..200).map(secret).collect();
    // So long that the page compresses its data
    let mut log = log_of_secrets(&secrets);
    for n in 0..20_000 {
        log.push_str(&format!(
            "[    1.{n:06}] line {n} of many others, \"quoted\"\n"
        ));
    }
    let input = folder.path().join("boot.log");
    std::fs::write(&input, &log).unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for against in [false, true] {
        let (input, page) = (input.to_str().unwrap(), path("boot.html"));
        let mut words = vec!["report", input, "-o", &page];
        if against {
            words.extend(["--against", input]);
        }
        assert!(firstlight(&words).status.success());
        let made = std::fs::read_to_string(&page).unwrap();
        assert!(made.contains("\"encoding\":\"gzip\""));
        let sent = String::from_utf8(sent(folder.path(), "page.html", made.as_bytes())).unwrap();
        let (before, after) = (
            views::html::Taken::of(&made).unwrap().unwrap(),
            views::html::Taken::of(&sent).unwrap().unwrap(),
        );
        for (text, gone) in &secrets {
            assert!(!sent.contains(gone.as_str()), "{text}");
            assert!(!after.data.contains(gone.as_str()), "{text}");
        }
        let planted = secrets
            .iter()
            .filter(|s| before.data.contains(&s.1))
            .count();
        assert_eq!(planted, 200, "planted");
        // Its program is as it was, and its data is JSON of the same shape.
        assert_eq!((before.before, before.after), (after.before, after.after));
        let [a, b] = [&before.data, &after.data].map(|d| serde_json::from_str::<Value>(d).unwrap());
        let [mut times, mut sent_times] = [Vec::new(), Vec::new()];
        collect(&a, &mut times);
        collect(&b, &mut sent_times);
        assert_eq!(times, sent_times);
        assert_eq!(a.as_object().unwrap().len(), b.as_object().unwrap().len());
    }
}

#[test]
fn what_cannot_be_opened_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("sent");
    for (input, words) in [
        ("ftrace/modprobe-7.dat", "trace-cmd convert"),
        ("boot/uImage", "cannot be redacted"),
    ] {
        let input = corpus().join(input);
        let output = firstlight(&[
            "redact",
            input.to_str().unwrap(),
            "-o",
            to.to_str().unwrap(),
        ]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!to.exists());
    }
}

/// All numbers whose keys end in `_ns`.
fn collect(value: &Value, all: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                if key.ends_with("_ns") {
                    all.push((key.clone(), value.clone()));
                }
                collect(value, all);
            }
        }
        Value::Array(items) => items.iter().for_each(|v| collect(v, all)),
        _ => {}
    }
}

const LOG: &str = "Nov 24 10:00:00 merlin kernel: [    0.000000] Linux version 6.1.0 (jdoe@forge) #1\n\
    Nov 24 10:00:00 merlin kernel: [    0.500000] eth0: 8c:16:45:aa:bb:cc up\n\
    Nov 24 10:00:01 merlin kernel: [    0.900000] Run /sbin/init as init process\n";

#[test]
fn a_page_whose_data_cannot_be_opened_is_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for data in [
        r#"{"encoding":"gzip","base64":"H4sIAAAAAAAA"}"#,
        r#"{"encoding":"gzip","base64":"!"}"#,
        r#"{"encoding":"brotli","base64":"CwGAYQM="}"#,
    ] {
        let page = format!("<html><script id=\"data\">{data}</script></html>\n");
        std::fs::write(path("page.html"), page).unwrap();
        let out = firstlight(&["redact", &path("page.html"), "-o", &path("sent.html")]);
        assert_eq!(out.status.code(), Some(2), "{data}");
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(said.contains("cannot be redacted"), "{said}");
        assert!(!Path::new(&path("sent.html")).exists(), "{data}");
    }
}

#[test]
fn a_redacted_page_has_no_name_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("merlin.log");
    std::fs::write(&log, LOG).unwrap();
    let page = folder.path().join("boot.html");
    let output = firstlight(&[
        "report",
        "--redact",
        log.to_str().unwrap(),
        "-o",
        page.to_str().unwrap(),
    ]);
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("MAC address"), "{said}");
    let html = std::fs::read_to_string(&page).unwrap();
    for secret in ["merlin", "jdoe", "forge", "8c:16:45:aa:bb:cc"] {
        assert!(!html.contains(secret), "{secret}");
    }
    // A page that was made before can be redacted too.
    firstlight(&[
        "report",
        log.to_str().unwrap(),
        "-o",
        page.to_str().unwrap(),
    ]);
    assert!(
        std::fs::read_to_string(&page)
            .unwrap()
            .contains("8c:16:45:aa:bb:cc")
    );
    let sent = folder.path().join("sent.html");
    let output = firstlight(&[
        "redact",
        page.to_str().unwrap(),
        "-o",
        sent.to_str().unwrap(),
    ]);
    assert!(output.status.success());
    assert!(
        !std::fs::read_to_string(&sent)
            .unwrap()
            .contains("8c:16:45:aa:bb:cc")
    );
}

#[test]
fn a_redacted_capture_says_what_was_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("capture");
    std::fs::create_dir(&capture).unwrap();
    std::fs::write(capture.join("dmesg.txt"), LOG).unwrap();
    let manifest = r#"{"firstlight_capture":1,"taken_by":"a test","machine":"merlin's board",
        "kernel":"6.1.0","cmdline":"root=UUID=0a1b2c3d-1111-2222-3333-444455556666","clocks":[],
        "sources":[{"name":"kernel log","format":"kernel-log","file":"dmesg.txt","clock":""}]}"#;
    std::fs::write(capture.join("manifest.json"), manifest).unwrap();
    let sent = folder.path().join("sent.tar.zst");
    let (capture, sent) = (capture.to_str().unwrap(), sent.to_str().unwrap());
    let done = json(&["redact", capture, "-o", sent, "--json"]);
    assert_eq!(done["schema"], "firstlight.redact/1");
    let shown = json(&["show", "--json", sent]);
    let notes = shown["notes"].as_array().unwrap().iter();
    let note = notes
        .map(ToString::to_string)
        .find(|n| n.contains("UUID in 1 place"));
    assert!(note.is_some(), "{shown}");
    let text = shown.to_string();
    for secret in ["merlin", "jdoe", "forge", "0a1b2c3d"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[test]
fn the_input_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("boot.log");
    std::fs::write(&log, LOG).unwrap();
    let log_name = log.to_str().unwrap();
    let output = firstlight(&["redact", log_name, "-o", log_name]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("are the same file"), "{said}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), LOG);
}
