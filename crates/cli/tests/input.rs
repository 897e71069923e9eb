//! Bad input gets one clear sentence and exit code 2; doubtful input a note.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Scratch, firstlight, json, valid};
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

/// The one sentence that the command says about a path that it cannot use.
fn refused(path: &str) -> String {
    let out = firstlight(&["show", path]);
    assert_eq!(out.status.code(), Some(2), "{path}");
    assert!(
        out.stdout.is_empty(),
        "nothing is printed beside the sentence"
    );
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "one sentence: {text}");
    assert!(text.contains(path), "it names the file: {text}");
    text
}

#[test]
fn what_is_no_boot_is_refused_in_a_sentence() {
    let s = Scratch::new();
    let huge = s.file("zeros", b"");
    File::options()
        .write(true)
        .open(&huge)
        .unwrap()
        .set_len(4 << 30)
        .unwrap();
    for (path, says) in [
        (s.file("empty", b""), "empty"),
        (
            s.file("binary", b"\x7fELF\x02\x01\x01\0\0\0"),
            "byte 4 is 0x02",
        ),
        (
            s.file("prose", b"Dear diary,\ntoday I did not boot.\n"),
            "looks like unrelated text",
        ),
        (huge, "byte 0 is 0x00"),
        (s.0.path().to_str().unwrap().to_owned(), "directory"),
        (
            s.file("cut.tar.zst", b"\x28\xb5\x2f\xfd\0\0"),
            "incomplete frame",
        ),
    ] {
        let text = refused(&path);
        assert!(text.contains(says), "{text}");
    }
    let text = refused("/there/is/no/such/file");
    assert!(text.contains("No such file"), "{text}");
}

/// A tar with a manifest and one more member whose header claims `size`.
fn capture(name: &str, size: u64) -> Vec<u8> {
    let manifest = br#"{"firstlight_capture":1,"taken_by":"a test"}"#;
    let mut tar = Vec::new();
    for (name, size, bytes) in [
        ("manifest.json", manifest.len() as u64, &manifest[..]),
        (name, size, b"data"),
    ] {
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(size);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        tar.extend_from_slice(header.as_bytes());
        tar.extend_from_slice(bytes);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar
}

#[test]
fn a_capture_that_would_leave_its_folder_or_fill_the_memory_is_refused() {
    let s = Scratch::new();
    let up = refused(&s.file("up.tar", &capture("../../etc/passwd", 4)));
    assert!(up.contains("../../etc/passwd"), "{up}");
    let absolute = refused(&s.file("absolute.tar", &capture("/etc/passwd", 4)));
    assert!(absolute.contains("/etc/passwd"), "{absolute}");
    let bomb = refused(&s.file("bomb.tar", &capture("bomb", 10 << 30)));
    assert!(bomb.contains("10737418240"), "{bomb}");
}

#[test]
fn a_manifest_of_a_later_version_asks_for_a_later_program() {
    let s = Scratch::new();
    std::fs::write(
        s.0.path().join("manifest.json"),
        br#"{"firstlight_capture":99}"#,
    )
    .unwrap();
    let text = refused(s.0.path().to_str().unwrap());
    assert!(text.contains("99"), "{text}");
}

#[test]
fn a_damaged_log_is_read_and_balanced() {
    let s = Scratch::new();
    let path = s.file(
        "damaged.log",
        b"[    0.000000] Linux version 6.1.0\n\
          [    0.100000] calling  a_init+0x0/0x10 @ 1\n\
          [    0.2000\xff\xfe torn\n\
          [    0.300000] initcall a_init+0x0/0x10 returned 0 after 199999 usecs\n\
          [    0.400000] calling  b_init+0x0/0x10 @ 1\n\
          [    0.5000",
    );
    let show = json(&["show", "--json", &path]);
    let source = &show["sources"][0];
    assert_eq!(source["units"], 6);
    let (events, noted) = (source["events"].as_u64(), source["noted"].as_u64());
    assert_eq!(events.unwrap() + noted.unwrap(), 6);
    let blame = json(&["blame", "--json", "--kind", "initcall", "--top", "0", &path]);
    assert_eq!(blame["rows"][0]["wall_ns"], 200_000_000);
    assert_eq!(blame["rows"][1]["doubt"], "lost_end");
}

#[test]
fn a_capture_names_a_file_that_is_not_there() {
    let s = Scratch::new();
    let manifest = br#"{"firstlight_capture":1,"taken_by":"a test",
        "sources":[{"name":"kernel log","format":"kernel-log","file":"kmsg"}]}"#;
    std::fs::write(s.0.path().join("manifest.json"), manifest).unwrap();
    let text = refused(s.0.path().to_str().unwrap());
    assert!(text.contains("kmsg"), "{text}");
}

#[test]
fn a_closed_pipe_is_fine() {
    let s = Scratch::new();
    let log = "[    0.000000] Linux version 6.1.0\n".repeat(2_000);
    let path = s.file("long.log", log.as_bytes());
    let mut child = Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(["blame", "--json", "--top", "0", &path])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    assert!(out.stderr.is_empty());
}

#[test]
fn wrong_arguments_exit_with_2_and_help_with_0() {
    assert_eq!(firstlight(&["blame", "--no-such"]).status.code(), Some(2));
    assert_eq!(firstlight(&["--help"]).status.code(), Some(0));
    assert_eq!(firstlight(&["--version"]).status.code(), Some(0));
}

#[test]
fn every_verb_has_help_with_an_example() {
    for verb in [
        &["show"][..],
        &["blame"],
        &["diff"],
        &["report"],
        &["serve"],
        &["capture", "here"],
        &["lab", "run"],
        &["lab", "doctor"],
        &["demo"],
        &["completions"],
        &["man"],
    ] {
        let out = firstlight(&[verb, &["--help"]].concat());
        let text = String::from_utf8(out.stdout).unwrap();
        let example = format!("firstlight {}", verb.join(" "));
        assert!(
            text.contains("Example") && text.contains(&example),
            "{verb:?}: {text}"
        );
    }
}

#[test]
fn completions_and_the_manual_name_every_verb() {
    let man = String::from_utf8(firstlight(&["man"]).stdout).unwrap();
    let bash = String::from_utf8(firstlight(&["completions", "bash"]).stdout).unwrap();
    for verb in [
        "show", "blame", "diff", "report", "serve", "capture", "lab", "demo",
    ] {
        assert!(
            man.contains(&format!("firstlight\\-{verb}")) || man.contains(verb),
            "{verb}"
        );
        assert!(bash.contains(verb), "{verb}");
    }
}

#[test]
fn diff_is_as_its_schema_says() {
    let s = Scratch::new();
    let log = |end: &str| {
        format!(
            "[    0.000000] Linux version 6.1.0\n[    0.{end}] Run /sbin/init as init process\n"
        )
    };
    let a = s.file("a.log", log("500000").as_bytes());
    let b = s.file("b.log", log("400000").as_bytes());
    let diff = json(&["diff", "--json", &a, "--against", &b]);
    valid(&diff, "diff");
    let kernel = diff["phases"]
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["name"] == "kernel");
    assert_eq!(kernel.unwrap()["delta_ns"], -100_000_000);
}

#[test]
fn a_page_is_written_whole_and_its_path_printed() {
    let s = Scratch::new();
    let log = s.file(
        "a.log",
        b"[    0.000000] Linux version 6.1.0\n[    0.1] x </script><b>\n",
    );
    let page = s.0.path().join("boot.html");
    let out = firstlight(&["report", &log, "-o", page.to_str().unwrap()]);
    assert_eq!(
        String::from_utf8(out.stdout).unwrap().trim(),
        page.to_str().unwrap()
    );
    let text = std::fs::read_to_string(&page).unwrap();
    let done = json(&["report", "--json", &log, "-o", page.to_str().unwrap()]);
    valid(&done, "report");
    assert!(text.ends_with("</html>\n") && !text.contains("http://") && !text.contains("https://"));
}

#[test]
fn a_folder_of_logs_is_its_files() {
    let scratch = Scratch::new();
    let corpus = common::workspace().join("corpus");
    let copy = |from: &str, to: &str| {
        let bytes = std::fs::read(corpus.join(from)).unwrap();
        scratch.file(to, &bytes)
    };
    let logs = [
        copy("kernel-log/caller/input", "dmesg.txt"),
        copy("state/meminfo", "meminfo"),
    ];
    copy("boot/README.md", "README.md");
    let folder = scratch.0.path().to_str().unwrap();
    let show = json(&["show", "--json", folder]);
    let sources = show["sources"].as_array().unwrap();
    let formats: Vec<&str> = sources
        .iter()
        .map(|s| s["format"].as_str().unwrap())
        .collect();
    assert_eq!(formats, ["kernel-log", "proc-meminfo"]);
    let said = firstlight(&["show", folder]).stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(
        said.contains("left out 1") && said.contains("README.md"),
        "{said}"
    );
    for log in logs {
        std::fs::remove_file(log).unwrap();
    }
    assert!(refused(folder).contains("manifest.json"));
}

#[test]
fn the_folder_of_a_trial_is_its_capture_and_that_of_a_run_names_them() {
    let scratch = Scratch::new();
    let trial = scratch.0.path().join("trials/quiet/0");
    std::fs::create_dir_all(trial.join("capture")).unwrap();
    let packed = File::open(common::workspace().join("corpus/captures/v1-debian.tar.zst")).unwrap();
    let unpacked = zstd::Decoder::new(packed).unwrap();
    tar::Archive::new(unpacked)
        .unpack(trial.join("capture"))
        .unwrap();
    let of =
        |place: &Path| json(&["show", "--json", place.to_str().unwrap()])["first_light_ns"].clone();
    assert_eq!(of(&trial), of(&trial.join("capture")));
    let said = refused(scratch.0.path().to_str().unwrap());
    assert!(said.contains("trials/quiet/0/capture"), "{said}");
}

#[test]
fn a_packed_log_is_unpacked() {
    use rawimage::compression::{Compression, encode};
    let scratch = Scratch::new();
    let log = common::workspace().join("corpus/kernel-log/caller/input");
    let plain = std::fs::read(log).unwrap();
    for compression in [
        Compression::Gzip,
        Compression::Xz,
        Compression::Bzip2,
        Compression::Zstd,
    ] {
        let mut packed = Vec::new();
        encode(compression, &mut plain.as_slice(), &mut packed).unwrap();
        let path = scratch.file(compression.name(), &packed);
        let show = json(&["show", "--json", &path]);
        assert_eq!(show["sources"][0]["format"], "kernel-log", "{path}");
    }
}

#[test]
fn a_packed_log_that_is_cut_is_not_read_in_part() {
    use rawimage::compression::{Compression, encode};
    let scratch = Scratch::new();
    let log = common::workspace().join("corpus/kernel-log/caller/input");
    let plain = std::fs::read(log).unwrap().repeat(40);
    for (compression, words) in [
        (Compression::Gzip, "damaged behind the first"),
        (Compression::Xz, "damaged behind the first"),
        // Cut in its first block, it could have been a capture.
        (Compression::Zstd, "incomplete frame"),
    ] {
        let mut packed = Vec::new();
        encode(compression, &mut plain.as_slice(), &mut packed).unwrap();
        packed.truncate(packed.len() - 12);
        let path = scratch.file(compression.name(), &packed);
        let said = refused(&path);
        assert!(said.contains(words), "{path}: {said}");
    }
}

/// `cat a.gz b.gz`, `pbzip2` and `pzstd` write one member behind another.
#[test]
fn all_members_of_a_packed_log_are_read() {
    use rawimage::compression::{Compression, encode};
    let scratch = Scratch::new();
    let log = common::workspace().join("corpus/kernel-log/caller/input");
    let plain = std::fs::read(log).unwrap();
    let lines = |path: &str| json(&["show", "--json", path])["sources"][0]["units"].clone();
    let twice = lines(&scratch.file("plain", &plain.repeat(2)));
    assert_ne!(twice, lines(&scratch.file("once", &plain)));
    for compression in [
        Compression::Gzip,
        Compression::Xz,
        Compression::Bzip2,
        Compression::Zstd,
        Compression::Lzma,
        Compression::Lzo,
        Compression::Lz4,
        Compression::Lz4Frame,
    ] {
        let name = compression.name();
        let mut packed = Vec::new();
        encode(compression, &mut plain.as_slice(), &mut packed).unwrap();
        let mut both = packed.repeat(2);
        assert_eq!(lines(&scratch.file(name, &both)), twice, "{name}");
        // Zeros fill up a block, and other bytes are no part of any log.
        both.extend([0; 512]);
        assert_eq!(lines(&scratch.file(name, &both)), twice, "{name}");
        let other = [&packed[..], b"and more"].concat();
        let said = refused(&scratch.file(name, &other));
        assert!(said.contains("damaged behind the first"), "{name}: {said}");
    }
    let mut packed = Vec::new();
    encode(Compression::Zstd, &mut plain.as_slice(), &mut packed).unwrap();
    let length = u32::try_from(packed.len()).unwrap().to_le_bytes();
    let pzstd = [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0], &length[..], &packed].concat();
    assert_eq!(lines(&scratch.file("pzstd", &pzstd.repeat(2))), twice);
    let cut = [&pzstd[..], &[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1]].concat();
    assert!(refused(&scratch.file("pzstd", &cut)).contains("damaged behind the first"));
}

#[test]
fn utf16_that_is_cut_or_broken_is_not_read_in_part() {
    let scratch = Scratch::new();
    let log = common::workspace().join("corpus/kernel-log/caller/input");
    let text = std::fs::read_to_string(log).unwrap();
    let mark = std::iter::once(0xfeff).chain(text.encode_utf16());
    let whole: Vec<u8> = mark.flat_map(u16::to_le_bytes).collect();
    let odd = refused(&scratch.file("odd", &[&whole[..], b"x"].concat()));
    assert!(
        odd.contains("the last byte is half of a character"),
        "{odd}"
    );
    let pair = refused(&scratch.file("pair", &[&whole[..], &[0x00, 0xd8, b'x', 0]].concat()));
    let at = format!("byte {} of the file begins half of a pair", whole.len());
    assert!(pair.contains(&at), "{pair}");
}

/// Every line of a log that Windows wrote is read: with its mark before UTF-8, and as
/// UTF-16 of either byte order.
#[test]
fn a_log_from_windows_is_the_same_log() {
    let scratch = Scratch::new();
    for name in [
        "kernel-log/caller/input",
        "bootstage/two-reports.txt",
        "systemd/small.txt",
        "kft/log",
        "kft/table",
        "ftrace/trace.txt",
        "blktrace/kinds.blkparse",
    ] {
        let path = common::workspace().join("corpus").join(name);
        let plain = std::fs::read(&path).unwrap();
        let lines = |path: &str| {
            let show = json(&["show", "--json", path]);
            let source = &show["sources"][0];
            ["format", "units", "events"].map(|key| source[key].clone())
        };
        let wanted = lines(path.to_str().unwrap());
        let text = String::from_utf8(plain).unwrap().replace('\n', "\r\n");
        let wide = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            let mark = std::iter::once(0xfeff).chain(text.encode_utf16());
            mark.flat_map(bytes).collect()
        };
        for (form, bytes) in [
            ("utf8", format!("\u{feff}{text}").into_bytes()),
            ("utf16le", wide(u16::to_le_bytes)),
            ("utf16be", wide(u16::to_be_bytes)),
        ] {
            let file = scratch.file(form, &bytes);
            assert_eq!(lines(&file), wanted, "{name} as {form}");
        }
    }
}

/// A forum writes characters as references and colors as tags, and a file quotes a log in
/// comments.
#[test]
fn a_log_that_was_copied_from_a_page_is_the_same_log() {
    let scratch = Scratch::new();
    let chain = "a.target @9.000s\n└─b.service @5.000s +4.000s\n  └─c.target @2.000s\n";
    let log = "[    0.000000] Linux version 6.1.0 (a@b) #1 SMP\n\
               [    0.500000] a: 1 < 2 & \"3\"\n[    0.900000] Run /init as init process\n";
    let references = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        let text = text.replace('"', "&quot;").replace('└', "&#9492;");
        text.replace('─', "&#x2500;")
    };
    let tags = |text: &str| format!("[CODE]\n[COLOR=#cc0000]{text}[/COLOR]\n[/CODE]\n");
    let each = |text: &str, mark: &dyn Fn(usize) -> String| {
        let lines = text.lines().enumerate();
        let lines = lines.map(|(i, l)| format!("{}{l}\n", mark(i + 1)));
        lines.collect::<String>()
    };
    for text in [chain, log] {
        let read = |name: &str, text: &str| {
            let show = json(&["show", "--json", &scratch.file(name, text.as_bytes())]);
            assert!(!show["phases"].as_array().unwrap().is_empty(), "{name}");
            let phases = show["phases"].as_array().unwrap().iter();
            let times = phases.map(|p| (p["name"].clone(), p["end_ns"].clone()));
            (times.collect::<Vec<_>>(), show["first_light"].clone())
        };
        let plain = read("plain", text);
        assert_eq!(read("references", &references(text)), plain);
        assert_eq!(read("tags", &tags(text)), plain);
        assert_eq!(read("html", &format!("<pre>{text}</pre>\n")), plain);
        assert_eq!(read("comments", &each(text, &|_| "  # ".into())), plain);
        assert_eq!(read("quoted", &each(text, &|_| ">> ".into())), plain);
        assert_eq!(read("indented", &each(text, &|_| "\t".into())), plain);
        assert_eq!(
            read("numbered", &each(text, &|i| format!("{i:6}\t"))),
            plain
        );
    }
    // In a folder, for rows and on a saved page it is that log, too.
    let folder = Scratch::new();
    folder.file("boot", references(&each(log, &|_| "> ".into())).as_bytes());
    folder.file("notes.txt", b"Dear diary,\n");
    let folder = folder.0.path().to_str().unwrap();
    let show = json(&["show", "--json", folder]);
    assert_eq!(show["sources"].as_array().unwrap().len(), 1);
    let rows = json(&["rows", folder, "--json", "--out", &scratch.path("rows")]);
    assert_eq!(
        (&rows["no_first_light"], &rows["bad"]),
        (&1.into(), &0.into())
    );
    let page = |logs: &str| format!("<!DOCTYPE html>\n<html><body><p>Why?</p>{logs}</body></html>");
    let one = format!("<pre><span>{}</span></pre>", references(log));
    let show = json(&[
        "show",
        "--json",
        &scratch.file("one.html", page(&one).as_bytes()),
    ]);
    assert_eq!(show["sources"][0]["format"], "kernel-log");
    assert_eq!(show["last_ns"], 900_000_000);
    let two = page(&format!("{one}<pre>{}</pre>", references(chain)));
    let refusal = refused(&scratch.file("two.html", two.as_bytes()));
    assert!(refusal.contains("2 logs (systemd-analyze of "), "{refusal}");
    let refusal = refused(&scratch.file("none.html", page("").as_bytes()));
    assert!(refusal.contains("HTML page without a log"), "{refusal}");
    let prose = scratch.file("prose", b"# Dear diary,\n# today\n# I did not boot.\n");
    assert!(refused(&prose).contains("unknown format"));
}

#[test]
fn a_chart_in_any_packing_is_the_same_chart() {
    use rawimage::compression::{Compression, Decoder, encode};
    let chart = common::workspace().join("corpus/bootchart/bootchart2.tgz");
    let wanted = json(&["show", "--json", chart.to_str().unwrap()]);
    let packed = std::fs::read(chart).unwrap();
    let bytes = packed.as_slice();
    let part = rawimage::Part::whole(&bytes).unwrap();
    let mut tar = Vec::new();
    let mut unpacked = Decoder::new(Compression::Gzip, &part, 1 << 20).unwrap();
    std::io::Read::read_to_end(&mut unpacked, &mut tar).unwrap();
    let scratch = Scratch::new();
    for compression in [Compression::Xz, Compression::Zstd, Compression::Bzip2] {
        let mut packed = Vec::new();
        encode(compression, &mut tar.as_slice(), &mut packed).unwrap();
        let file = scratch.file(compression.name(), &packed);
        let show = json(&["show", "--json", &file]);
        for key in ["phases", "summary", "first_light", "last_ns"] {
            assert_eq!(show[key], wanted[key], "{file}: {key}");
        }
        let events = |show: &Value| -> Vec<Value> {
            let sources = show["sources"].as_array().unwrap();
            sources.iter().map(|s| s["events"].clone()).collect()
        };
        assert_eq!(events(&show), events(&wanted), "{file}");
    }
}

#[test]
fn a_kernel_beside_a_log_says_how_it_is_packed() {
    let image = common::workspace().join("corpus/boot/uImage");
    let show = json(&["show", "--json", image.to_str().unwrap()]);
    assert_eq!(show["sources"][0]["format"], "kernel-image");
}

/// `dmesg -T` and the journal write days and months by the locale.
#[test]
fn a_log_of_another_language_has_the_same_times() {
    let scratch = Scratch::new();
    let lines = [
        "Linux version 6.1.0 (x@y) #1",
        "calling  foo_init+0x0/0x10 @ 1",
        "initcall foo_init+0x0/0x10 returned 0 after 1000000 usecs",
    ];
    for (n, (before, after)) in [
        ("[Sun Oct 25 19:37:0", " 2026] "),
        ("[So Okt 25 19:37:0", " 2026] "),
        ("[dim. oct. 25 19:37:0", " 2026] "),
        (
            "[\u{412}\u{441} \u{43e}\u{43a}\u{442} 25 19:37:0",
            " 2026] ",
        ),
        ("[\u{65e5} 10\u{6708} 25 19:37:0", " 2026] "),
        ("Oct 25 19:37:0", " host kernel: "),
        ("Okt 25 19:37:0", " host kernel: "),
        ("oct. 25 19:37:0", " host kernel: "),
        ("\u{43e}\u{43a}\u{442} 25 19:37:0", " host kernel: "),
        ("10\u{6708} 25 19:37:0", " host kernel: "),
    ]
    .into_iter()
    .enumerate()
    {
        let stamped = lines.iter().enumerate();
        let text: String = stamped
            .map(|(i, line)| format!("{before}{i}{after}{line}\n"))
            .collect();
        let file = scratch.file(&format!("{n}.txt"), text.as_bytes());
        let blame = json(&["blame", "--json", "--kind", "initcall", &file]);
        assert_eq!(blame["rows"][0]["wall_ns"], 1_000_000_000_i64, "{before}");
    }
}

#[test]
fn a_dash_is_standard_input() {
    let s = Scratch::new();
    let log = common::workspace().join("corpus/kernel-log/caller/input");
    let read = |stdin: Stdio, args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
        command.args(args).stdin(stdin).output().unwrap()
    };
    let named = json(&["blame", "--json", log.to_str().unwrap()]);
    let file = || Stdio::from(File::open(&log).unwrap());
    let out = read(file(), &["blame", "--json", "-"]);
    let piped: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(named["total_rows"], piped["total_rows"]);
    assert_eq!(named["rows"][0]["wall_ns"], piped["rows"][0]["wall_ns"]);
    let out = read(
        file(),
        &["diff", "-", "--against", s.file("a", b"x").as_str()],
    );
    assert_eq!(out.status.code(), Some(2));
    let twice = read(file(), &["show", "-", "-"]);
    assert!(String::from_utf8_lossy(&twice.stderr).contains("only once"));
}

/// Images are read at any place, and some of them twice; a pipe gives its bytes once.
#[test]
fn an_image_may_come_from_a_pipe() {
    let corpus = common::workspace().join("corpus");
    for (verb, image) in [
        ("image info", "disk/small.ext4"),
        ("image info", "boot/board.itb"),
        ("flash check", "flash/rootfs.jffs2"),
        ("flash list", "flash/rootfs.jffs2"),
        ("flash verify", "flash/rootfs.jffs2"),
        ("flash env", "flash/environment.bin"),
        ("flash ubi", "flash/board.ubi"),
    ] {
        let image = corpus.join(image);
        let words: Vec<&str> = verb.split(' ').collect();
        let run = |name: &str, stdin: Stdio| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
            let out = command
                .args(&words)
                .arg(name)
                .stdin(stdin)
                .output()
                .unwrap();
            assert!(out.status.success(), "{verb} {name}: {out:?}");
            let text = String::from_utf8(out.stdout).unwrap();
            // The first line has the name, and ends where the screen does.
            text.split_once('\n').unwrap().1.to_owned()
        };
        let named = run(image.to_str().unwrap(), Stdio::null());
        assert!(!named.is_empty());
        let mut cat = Command::new("cat")
            .arg(&image)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let piped = run("/dev/stdin", Stdio::from(cat.stdout.take().unwrap()));
        cat.wait().unwrap();
        assert_eq!(named, piped, "{verb}");
    }
    let jffs2 = File::open(corpus.join("flash/rootfs.jffs2")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    let listed = command.args(["flash", "list", "-"]).stdin(jffs2).output();
    assert!(listed.unwrap().status.success());
}

#[test]
fn captures_of_two_boots_are_not_one() {
    let capture = common::workspace().join("corpus/captures/v1-debian.tar.zst");
    let capture = capture.to_str().unwrap();
    let out = firstlight(&["show", capture, capture]);
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("2 captures are 2 boots"));
}

#[test]
fn a_first_light_that_nothing_matches_is_refused() {
    let log = common::workspace().join("corpus/kernel-log/caller/input");
    let out = firstlight(&[
        "show",
        "--first-light",
        "no such text",
        log.to_str().unwrap(),
    ]);
    assert_eq!(out.status.code(), Some(2));
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(text.contains("`no such text` matched no mark"), "{text}");
}

#[test]
fn help_has_the_formats_and_every_verb() {
    let formats = json(&["help", "formats", "--json"]);
    assert_eq!(formats["schema"], "firstlight.formats/1");
    let names = formats["formats"].as_array().unwrap();
    assert!(names.iter().any(|f| f["name"] == "kernel-log"));
    let help = firstlight(&["help", "lab", "run"]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("--check-exact"));
    assert_eq!(firstlight(&["help", "no-such-verb"]).status.code(), Some(2));
}

#[test]
fn a_log_that_is_newest_first_says_the_same() {
    let s = Scratch::new();
    let mut forward = vec!["[    0.000000] Linux version 6.1.0".to_owned()];
    for call in 0..12 {
        forward.push(format!(
            "[    0.{call:02}1000] calling  f{call}+0x0/0x10 @ 1"
        ));
        forward.push(format!(
            "[    0.{call:02}5000] initcall f{call}+0x0/0x10 returned 0 after 4000 usecs"
        ));
    }
    let backward: Vec<String> = forward.iter().rev().cloned().collect();
    let shown = |name: &str, lines: &[String]| {
        let file = s.file(name, (lines.join("\n") + "\n").as_bytes());
        // The name of the file is in its evidence.
        let text = json(&["blame", "--json", &file]).to_string();
        text.replace("backward", "forward")
    };
    assert_eq!(shown("backward", &backward), shown("forward", &forward));
}
