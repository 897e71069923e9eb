//! `firstlight advise` and `firstlight tune` on the command line.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{firstlight, json, workspace};
use serde_json::{Value, json as value};
use std::fs;
use std::io::Write;
use std::path::Path;

fn check(name: &str, document: &Value) {
    let file = workspace().join(format!("schemas/{name}.json"));
    let mut all = boon::Schemas::new();
    let index = boon::Compiler::new()
        .compile(&file.to_string_lossy(), &mut all)
        .unwrap_or_else(|e| panic!("{e:#}"));
    if let Err(e) = all.validate(document, index) {
        panic!("{e:#}");
    }
}

fn advise(words: &[&str]) -> Value {
    let advice = json(&[&["advise", "--json"], words].concat());
    check("advise", &advice);
    advice
}

fn ids(advice: &Value) -> Vec<String> {
    let findings = advice["findings"].as_array().unwrap();
    let id = |f: &Value| f["id"].as_str().unwrap().to_owned();
    findings.iter().map(id).collect()
}

#[test]
fn a_capture_is_advised_on_with_evidence_that_is_there() {
    let capture = workspace().join("corpus/captures/v1-debian.tar.zst");
    let advice = advise(&[capture.to_str().unwrap()]);
    let ids = ids(&advice);
    for id in ["kernel-decompression", "crypto-self-tests", "spare-unit"] {
        assert!(ids.contains(&id.to_owned()), "{id} is not in {ids:?}");
    }
    let saving = |f: &Value| f["saving_ns"].as_i64().unwrap();
    let findings = advice["findings"].as_array().unwrap();
    assert!(findings.is_sorted_by_key(|f| -saving(f)));
    let all = advise(&[capture.to_str().unwrap(), "--all"]);
    assert!(all["silent"].as_array().unwrap().len() > 30);
}

#[test]
fn a_plan_begins_with_what_is_last_in_the_boot() {
    let capture = workspace().join("corpus/captures/v1-debian.tar.zst");
    let advice = advise(&[capture.to_str().unwrap(), "--plan"]);
    let findings = advice["findings"].as_array().unwrap();
    let steps = advice["plan"].as_array().unwrap();
    assert_eq!(steps.len(), findings.len());
    let place = |id: &str| steps.iter().position(|s| s["id"] == id).unwrap();
    assert!(place("spare-unit") < place("kernel-decompression"));
    for (number, step) in steps.iter().enumerate() {
        let finding = &findings[step["finding"].as_u64().unwrap() as usize];
        assert_eq!(finding["id"], step["id"]);
        let after = step["after"].as_array().unwrap();
        assert!(
            after
                .iter()
                .all(|a| (a.as_u64().unwrap() as usize) < number)
        );
        assert_eq!(after.is_empty(), step["why"].is_null());
    }
    let screen = firstlight(&["advise", "--plan", capture.to_str().unwrap()]);
    let screen = String::from_utf8(screen.stdout).unwrap();
    assert!(screen.contains("in the order of work"), "{screen}");
    assert!(advise(&[capture.to_str().unwrap()])["plan"].is_null());
}

#[test]
fn a_kernel_tree_names_the_option_of_a_long_initcall() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("dmesg");
    let text = "[    0.000000] Linux version 6.1.0\n\
                [    0.100000] calling  ide_init+0x0/0x160 @ 1\n\
                [    1.400000] initcall ide_init+0x0/0x160 returned 0 after 1300000 usecs\n\
                [    2.000000] Run /init as init process\n";
    fs::write(&log, text).unwrap();
    for (name, text) in [
        ("Kconfig", "config IDE\n\ttristate\n"),
        ("Makefile", "obj-$(CONFIG_IDE) += ide.o\n"),
        ("ide.c", "\tmdelay(50);\nmodule_init(ide_init);\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let tree = folder.path().to_str().unwrap();
    let advice = advise(&[log.to_str().unwrap(), "--kernel-tree", tree]);
    let findings = advice["findings"].as_array().unwrap();
    let found = findings
        .iter()
        .find(|f| f["id"] == "driver-source")
        .unwrap();
    assert_eq!(found["treatment"], "config=CONFIG_IDE=m");
    let evidence = found["evidence"].as_array().unwrap();
    assert!(
        evidence
            .iter()
            .any(|e| e["source"] == "ide.c" && e["text"] == "mdelay(50);")
    );
    let refused = firstlight(&["advise", "--kernel-tree", "/proc", log.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn an_offset_leads_to_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("dmesg");
    let text = "[    0.000000] Linux version 6.1.0\n\
                [    0.000000] Kernel command line: root=/dev/mmcblk0p2 rootdelay=3 quiet\n\
                [    0.500000] Waiting 3 sec before mounting root device...\n\
                [    3.500000] VFS: Mounted root (ext4 filesystem) readonly on device 179:2.\n\
                [    4.000000] Run /sbin/init as init process\n";
    fs::write(&log, text).unwrap();
    let advice = advise(&[log.to_str().unwrap()]);
    let finding = &advice["findings"][0];
    assert_eq!(finding["id"], "root-delay");
    assert_eq!(finding["treatment"], "cmdline-=rootdelay=3");
    assert_eq!(finding["on_critical_path"], true);
    for e in finding["evidence"].as_array().unwrap() {
        let offset = usize::try_from(e["offset"].as_u64().unwrap()).unwrap();
        assert!(text[offset..].starts_with("[  "), "{e}");
    }
}

#[test]
fn images_and_configurations_need_no_boot() {
    let corpus = workspace().join("corpus");
    let environment = corpus.join("flash/environment.bin");
    let found = ids(&advise(&["--image", environment.to_str().unwrap()]));
    assert!(found.contains(&"boot-delay".to_owned()), "{found:?}");
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    fs::write(&config, "CONFIG_KASAN=y\n").unwrap();
    let found = advise(&["--config", config.to_str().unwrap()]);
    assert_eq!(found["schema"], "firstlight.advise/1");
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("etc/init.d")).unwrap();
    fs::write(root.join("etc/init.d/S01x"), "#!/bin/sh\nsleep 4\n").unwrap();
    let found = ids(&advise(&["--image", root.to_str().unwrap()]));
    assert_eq!(found, ["script-sleeps"]);
    for wrong in [
        vec!["advise", "--image", "/none"],
        vec!["advise", "--config", "/dev/null"],
    ] {
        let out = firstlight(&wrong);
        assert_eq!(out.status.code(), Some(2), "{wrong:?}");
    }
}

/// A configuration comes through a pipe as well.
#[test]
fn a_configuration_is_read_from_standard_input() {
    let (from, mut to) = std::io::pipe().unwrap();
    to.write_all(b"CONFIG_PROVE_LOCKING=y\n").unwrap();
    drop(to);
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(["advise", "--json", "--config", "-"])
        .stdin(from)
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0), "{out:?}");
}

/// What is packed and no kernel is told by its name, and a filesystem behind a kernel in one
/// file, as routers have it, is looked at where it lies.
#[test]
fn what_an_image_holds_is_looked_at_where_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("tree")).unwrap();
    fs::write(at("tree/a"), "text\n".repeat(100_000)).unwrap();
    let script = "set -e; mke2fs -q -t ext4 -d tree ext4 16M; gzip -k ext4; \
                  head -c 100000 /bin/sh >kernel; \
                  mkimage -A arm -T kernel -C none -d kernel uimage >/dev/null; \
                  mksquashfs tree squashfs -quiet -no-progress >/dev/null; \
                  cat uimage squashfs >firmware";
    let made = std::process::Command::new("sh")
        .args(["-c", script])
        .current_dir(folder.path())
        .output();
    if !made.is_ok_and(|m| m.status.success()) {
        println!("skipped: mke2fs, gzip, mkimage or mksquashfs is not there");
        return;
    }
    let packed = at("ext4.gz");
    let packed = packed.to_str().unwrap();
    let out = firstlight(&["advise", "--image", packed]);
    let said = String::from_utf8(out.stderr).unwrap();
    let wanted = "gzip data, of an ext4 filesystem; decompress it first (gunzip)";
    assert_eq!(said.trim_end(), format!("firstlight: {packed}: {wanted}"));
    assert_eq!(out.status.code(), Some(2));
    let info = firstlight(&["image", "info", packed]);
    let said = String::from_utf8(info.stdout).unwrap();
    assert!(
        said.contains("gzip data, of an ext4 filesystem, "),
        "{said}"
    );
    // Exit code 0 is what counts: the squashfs begins behind the kernel.
    advise(&["--image", at("firmware").to_str().unwrap()]);
}

/// A stored boot: a kernel log whose first program starts at this time.
fn stored(runs: &Path, set: &str, ms: u64, extra: &str) {
    let trial = runs.join(format!("trials/{set}/0"));
    let capture = trial.join("capture");
    fs::create_dir_all(&capture).unwrap();
    let time = |ms: u64| format!("{}.{:06}", ms / 1000, ms % 1000 * 1000);
    let log = format!(
        "<5>[    0.000000] Linux version 6.1.0\n\
         <6>[    0.000000] Kernel command line: console=ttyS0 rootdelay=1 init=/x\n{extra}\
         <6>[    0.400000] Run /init as init process\n\
         <30>[    {0}] systemd[1]: Startup finished in 400ms (kernel) + 1s (userspace) = 1.4s.\n",
        time(ms)
    );
    fs::write(capture.join("kmsg"), log).unwrap();
    let manifest = value!({
        "firstlight_capture": 1, "taken_by": "a test", "machine": "m", "kernel": "k",
        "cmdline": "c", "clocks": [],
        "sources": [{"name": "kmsg", "format": "kernel-log", "file": "kmsg", "clock": ""}],
    });
    fs::write(capture.join("manifest.json"), manifest.to_string()).unwrap();
    let trial_json = value!({
        "firstlight_trial": 1, "variant": set, "perturbation": 0, "fingerprint": "f",
        "digest": "d", "capture": format!("trials/{set}/0/capture"), "virtual_end_ns": null,
        "wall_s": 1.0, "failure": null, "kernel": "image", "cmdline": "c",
    });
    fs::write(trial.join("trial.json"), trial_json.to_string()).unwrap();
}

#[test]
fn tune_keeps_the_smallest_set_that_brings_most_and_is_healthy() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    // Of four treatments one does nothing, one breaks the boot, one is small; the
    // first takes half of the boot, so the others are tried on top of it.
    stored(&runs, "baseline", 4_000, "");
    stored(&runs, "set-1", 2_000, "");
    stored(&runs, "set-2", 3_980, "");
    stored(&runs, "set-1-3", 2_000, "");
    stored(
        &runs,
        "set-1-4",
        1_000,
        "<3>[    0.500000] foo: cannot find its device\n",
    );
    stored(
        &runs,
        "set-1-2-3-4",
        900,
        "<3>[    0.500000] foo: cannot find its device\n",
    );
    stored(&runs, "set-1-2", 1_980, "");
    let file = folder.path().join("e.toml");
    let text = format!(
        "firstlight_experiment = 1\n[base]\nmachine = \"replay\"\nreplay = {:?}\nensemble = 1\n\
         [[variant]]\nname = \"v\"\ntreatments = [\"cmdline+=a\", \"cmdline+=b\", \"cmdline+=c\", \
         \"cmdline+=d\"]\n",
        runs.to_str().unwrap()
    );
    fs::write(&file, text).unwrap();
    let out = folder.path().join("out");
    let words = [
        "tune",
        file.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--json",
    ];
    let done = firstlight(&words);
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{told}");
    let tuned: Value = serde_json::from_slice(&done.stdout).unwrap();
    check("tune", &tuned);
    assert_eq!(tuned["baseline_ns"], 4_000_000_000_i64, "{tuned}");
    assert_eq!(tuned["best_ns"], 2_000_000_000_i64, "{tuned}");
    assert_eq!(tuned["kept"].as_array().unwrap().len(), 1);
    assert_eq!(tuned["kept"][0]["treatment"], "cmdline+=a");
    assert_eq!(tuned["kept"][0]["share_ns"], 2_000_000_000_i64);
    let why = |t: &str| {
        let dropped = tuned["dropped"].as_array().unwrap();
        let found = dropped.iter().find(|d| d["treatment"] == t);
        found.map_or(String::new(), |d| d["why"].as_str().unwrap().to_owned())
    };
    assert!(why("cmdline+=b").contains("95 %"), "{tuned}");
    assert!(why("cmdline+=c").contains("no effect") || why("cmdline+=c").contains("slower"));
    assert!(why("cmdline+=d").contains("new in the log"), "{tuned}");
    let health = tuned["health"].as_array().unwrap();
    assert!(health.iter().all(|h| h["ok"] == true));
    for name in ["tune.md", "compare.html", "patch.yocto", "patch.setenv"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    // Again: nothing is booted anew, and the answer is the same.
    assert_eq!(json(&words), tuned);
}

#[test]
fn what_does_nothing_beside_the_others_is_left_out_of_all_together() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    // The second does the same as the first, and less; neither alone was booted.
    stored(&runs, "baseline", 4_000, "");
    stored(&runs, "set-1-2-3", 1_000, "");
    stored(&runs, "set-2-3", 2_500, "");
    stored(&runs, "set-1-3", 1_000, "");
    stored(&runs, "set-1-2", 2_000, "");
    let file = folder.path().join("e.toml");
    let text = format!(
        "firstlight_experiment = 1\n[base]\nmachine = \"replay\"\nreplay = {:?}\nensemble = 1\n\
         [[variant]]\nname = \"v\"\ntreatments = [\"cmdline+=a\", \"cmdline+=b\", \"cmdline+=c\"]\n",
        runs.to_str().unwrap()
    );
    fs::write(&file, text).unwrap();
    let out = folder.path().join("out");
    let tuned = json(&[
        "tune",
        file.to_str().unwrap(),
        "--jobs",
        "1",
        "--out",
        out.to_str().unwrap(),
        "--json",
    ]);
    check("tune", &tuned);
    assert_eq!(tuned["best_ns"], 1_000_000_000_i64, "{tuned}");
    let kept = tuned["kept"].as_array().unwrap();
    let kept: Vec<_> = kept
        .iter()
        .map(|k| {
            (
                k["treatment"].as_str().unwrap(),
                k["share_ns"].as_i64().unwrap(),
            )
        })
        .collect();
    let expected = [("cmdline+=a", 1_500_000_000), ("cmdline+=c", 1_000_000_000)];
    assert_eq!(kept, expected);
    let why = tuned["dropped"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("no effect"), "{tuned}");
}

#[test]
fn a_filesystem_tells_of_directories_without_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let (tree, image) = (folder.path().join("tree"), folder.path().join("image"));
    fs::create_dir_all(tree.join("spool")).unwrap();
    for n in 0..3_000 {
        fs::write(tree.join(format!("spool/a-name-of-some-length-{n}")), "").unwrap();
    }
    for (features, is_found) in [("^dir_index", true), ("dir_index", false)] {
        let _ = fs::remove_file(&image);
        let made = std::process::Command::new("mke2fs")
            .args(["-q", "-t", "ext4", "-O", features, "-d"])
            .args([&tree, &image])
            .arg("16M")
            .output();
        let Ok(made) = made else {
            println!("skipped: mke2fs (e2fsprogs) is not there");
            return;
        };
        assert!(made.status.success(), "{made:?}");
        let advice = json(&["advise", "--image", image.to_str().unwrap(), "--json"]);
        let found = advice["findings"].as_array().unwrap();
        let of = found.iter().find(|f| f["id"] == "directory-index");
        assert_eq!(of.is_some(), is_found, "{advice}");
        if let Some(f) = of {
            assert!(f["title"].as_str().unwrap().starts_with("/spool"), "{f}");
        }
    }
}

/// A kernel log of a board with NOR flash, and a cramfs whose only program, of 8 MB, lies
/// packed in it, or as it is.
#[test]
fn a_cramfs_in_nor_flash_could_hold_programs_to_be_executed_there() {
    let folder = tempfile::tempdir().unwrap();
    let (log, image) = (folder.path().join("boot.log"), folder.path().join("root"));
    let lines = "[    0.000000] Linux version 6.1.0 (x@y) (gcc) #1\n\
                 [    0.200000] physmap-flash 34000000.flash: physmap platform flash device: [mem]\n\
                 [    0.500000] VFS: Mounted root (cramfs filesystem) readonly on device 31:0.\n\
                 [    0.600000] Run /sbin/init as init process\n\
                 [    3.000000] last: line\n";
    fs::write(&log, lines).unwrap();
    for (block, is_found) in [(200_u32, true), (200 | 1 << 30, false)] {
        let mut bytes = vec![0_u8; 8_192];
        let words: [(usize, u32); 10] = [
            (0, 0x28cd_3d45),
            (4, 8_192),
            (8, 0x803),
            (64, 0o040_755),
            (68, 16),
            (72, (76 / 4) << 6),
            (76, 0o100_755),
            (80, 8_000_000),
            (84, 1 | (100 / 4) << 6),
            (100, block),
        ];
        for (at, word) in words {
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        bytes[16..32].copy_from_slice(b"Compressed ROMFS");
        fs::write(&image, bytes).unwrap();
        let (image, log) = (image.to_str().unwrap(), log.to_str().unwrap());
        let advice = json(&["advise", "--image", image, "--json", log]);
        let found = advice["findings"].as_array().unwrap();
        let of = found.iter().find(|f| f["id"] == "execute-in-place");
        assert_eq!(of.is_some(), is_found, "{advice}");
    }
}

/// The host's stamp stands before the kernel's.
#[test]
fn a_silence_of_the_kernel_is_told_in_a_log_that_a_host_stamped() {
    let scratch = common::Scratch::new();
    let line =
        |at: u64, words: &str| format!("[{at}.000001 0.100000] [{:5}.000000] {words}\n", at - 2);
    let log = [
        "[0.000001 0.000001] U-Boot 2020.01\n".to_owned(),
        line(2, "Linux version 6.1.0 (a@b) #1 SMP"),
        line(3, "clocksource: Switched to clocksource arch"),
        line(11, "IPv6: eth0: a link"),
        line(12, "Freeing unused kernel memory: 1024K"),
        line(13, "Run /sbin/init as init process"),
    ];
    let advice = advise(&[&scratch.file("serial.log", log.concat().as_bytes())]);
    let findings = advice["findings"].as_array().unwrap();
    let silence = findings
        .iter()
        .find(|f| f["id"] == "kernel-silence")
        .unwrap();
    assert!(
        silence["title"].as_str().unwrap().contains("8.000 s"),
        "{silence}"
    );
}

/// A page joined the lines of systemd-analyze, and a console ends while systemd waits.
#[test]
fn what_pages_and_consoles_leave_of_systemd_is_advised_on() {
    let scratch = common::Scratch::new();
    let text = "$ systemd-analyze Startup finished in 2.5s (kernel) + 50.5s (userspace) = 53s\n\
        `systemd-analyze blame 40.5s net-wait.service > 1.5s b.service > 1s c.service`\n";
    let joined = advise(&[&scratch.file("joined", text.as_bytes())]);
    let first = joined["findings"][0]["title"].as_str().unwrap();
    assert!(first.contains("net-wait.service takes 40.500 s"), "{first}");
    let text = "[  OK  ] Started Firewall.\r\n\
        \x1b[K[\x1b[31m*     \x1b[0m] A start job is running for /dev/sdx9 (6s / 1min 30s)\r\
        \x1b[K[ \x1b[31m*    \x1b[0m] A start job is running for /dev/sdx9 (1min 20s / 1min 30s)";
    let job = advise(&[&scratch.file("console", text.as_bytes())]);
    let first = &job["findings"][0];
    assert_eq!(
        (&first["id"], &first["names"][0]),
        (&"start-job".into(), &"/dev/sdx9".into())
    );
    assert_eq!(first["saving_range_ns"][1], 90_000_000_000_u64);
}
