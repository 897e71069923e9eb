//! `firstlight treat` on the command line, and what a kill leaves.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{firstlight, json, workspace};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn root(folder: &Path) -> PathBuf {
    let root = folder.join("root");
    for (path, text) in [
        ("boot/cmdline.txt", "console=ttyS0 root=/dev/sda1\n"),
        (
            "boot/extlinux/extlinux.conf",
            "label a\n kernel /k\n append root=/dev/sda1\n",
        ),
        ("etc/kernel/cmdline", "root=/dev/sda1\n"),
        (
            "etc/default/grub",
            "GRUB_CMDLINE_LINUX_DEFAULT=\"splash\"\n",
        ),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

/// All files of a tree, with their bytes.
fn content(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => all.push((
                    path.strip_prefix(root).unwrap().to_owned(),
                    fs::read(&path).unwrap(),
                )),
            }
        }
    }
    all.sort();
    all
}

fn start(words: &[&str]) -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    command
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Kills a program `kills` times while it applies `treatment` to `target`, or undoes
/// it, and looks after each whether `look` gives the old state or the new one, as the
/// journal says. `seed` chooses the moments.
fn kill<T: PartialEq + std::fmt::Debug>(
    treatment: &str,
    target: &str,
    kills: u32,
    seed: u64,
    look: impl Fn() -> T,
) {
    let old = look();
    let begin = Instant::now();
    let applied = firstlight(&["treat", "apply", treatment, target]);
    let said = String::from_utf8_lossy(&applied.stderr).into_owned();
    assert!(applied.status.success(), "{treatment}: {said}");
    let whole = begin.elapsed();
    let new = look();
    assert!(old != new, "{treatment} changes nothing");
    let mut state = seed;
    let (mut was_new, mut was_old) = (0, 0);
    for round in 0..kills {
        // A kill at a moment of its run that nobody chose.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let share = (state % 1_100) as f64 / 1_000.0;
        let word = if round % 2 == 0 { "undo" } else { "apply" };
        let mut child = start(&["treat", word, treatment, target]);
        std::thread::sleep(Duration::from_secs_f64(whole.as_secs_f64() * share));
        let _ = child.kill();
        child.wait().unwrap();
        // Whoever comes next finishes it or takes it back.
        let list = json(&["treat", "list", target, "--json"]);
        let is = look();
        let applied = list["applied"].as_array().unwrap().len();
        match is == new {
            true => was_new += 1,
            false => was_old += 1,
        }
        assert!(is == new || is == old, "{treatment}, round {round}: {is:?}");
        assert_eq!(
            applied == 1,
            is == new,
            "{treatment}, round {round}: the journal says {list}"
        );
        // Every other round begins from the state that its word changes.
        let other = if word == "undo" { "undo" } else { "apply" };
        let _ = firstlight(&["treat", other, treatment, target]);
    }
    let least = kills / 20;
    assert!(
        was_new > least && was_old > least,
        "{treatment}: {was_new} new, {was_old} old"
    );
}

#[test]
fn two_hundred_kills_leave_the_old_state_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    let target = root.to_str().unwrap();
    let seed = 0x2545_f491_4f6c_dd1d;
    kill("cmdline+=quiet", target, 200, seed, || content(&root));
}

#[test]
fn two_hundred_kills_leave_the_old_image_or_the_new_one() {
    let images = [
        ("flash/environment.bin", "env=bootdelay=0"),
        ("flash/rootfs.jffs2", "jffs2=summaries"),
        ("boot/initrd.img", "initramfs=none"),
        ("boot/uImage", "uimage-load=0x81007fc0"),
    ];
    for (seed, (file, treatment)) in (0x9e37_79b9_7f4a_7c15_u64..).zip(images) {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        fs::copy(workspace().join("corpus").join(file), &image).unwrap();
        let target = image.to_str().unwrap();
        // What is beside the image is the journal's own.
        kill(treatment, target, 50, seed, || fs::read(&image).unwrap());
    }
}

#[test]
fn plans_applications_and_undoings_have_the_shapes_that_are_promised() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    let target = root.to_str().unwrap();
    let check = |name: &str, words: &[&str]| {
        let document = json(words);
        let file = workspace().join(format!("schemas/{name}.json"));
        let mut all = boon::Schemas::new();
        let index = boon::Compiler::new()
            .compile(&file.to_string_lossy(), &mut all)
            .unwrap_or_else(|e| panic!("{e:#}"));
        if let Err(e) = all.validate(&document, index) {
            panic!("{e:#}");
        }
        document
    };
    check("treat.list", &["treat", "list", "--json"]);
    let plan = check(
        "treat.plan",
        &["treat", "plan", "cmdline+=quiet", target, "--json"],
    );
    assert_eq!(plan["changes"].as_array().unwrap().len(), 4);
    assert!(
        plan["changes"][0]["diff"]
            .as_str()
            .unwrap()
            .contains("+++ b/boot/cmdline.txt")
    );
    // A plan that is not true any more is not followed.
    let file = folder.path().join("plan.json");
    fs::write(&file, plan.to_string()).unwrap();
    let planned = [
        "treat",
        "apply",
        "cmdline+=quiet",
        target,
        "--planned",
        file.to_str().unwrap(),
    ];
    fs::write(root.join("boot/cmdline.txt"), "root=/dev/sdb1\n").unwrap();
    let refused = firstlight(&planned);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("changed since the plan"));
    fs::write(
        root.join("boot/cmdline.txt"),
        "console=ttyS0 root=/dev/sda1\n",
    )
    .unwrap();
    let mut words = planned.to_vec();
    words.push("--json");
    let done = check("treat.apply", &words);
    assert_eq!(done["changed"], true);
    let again = check(
        "treat.apply",
        &["treat", "apply", "cmdline+=quiet", target, "--json"],
    );
    assert_eq!(again["changed"], false);
    check("treat.list", &["treat", "list", target, "--json"]);
    let undone = check(
        "treat.undo",
        &["treat", "undo", "cmdline+=quiet", target, "--json"],
    );
    assert_eq!(undone["undone"][0]["treatment"], "cmdline+=quiet");
    let nothing = firstlight(&["treat", "undo", target]);
    assert_eq!(nothing.status.code(), Some(2));
}

#[test]
fn a_plan_as_a_diff_is_what_patch_takes() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    let target = root.to_str().unwrap();
    let diff = firstlight(&["treat", "plan", "cmdline+=quiet", target, "--as", "diff"]);
    let file = folder.path().join("change.diff");
    fs::write(&file, &diff.stdout).unwrap();
    let copy = folder.path().join("copy");
    let copied = Command::new("cp")
        .arg("-a")
        .args([&root, &copy])
        .status()
        .unwrap();
    assert!(copied.success());
    let patched = Command::new("patch")
        .args(["-p1", "-s", "-i"])
        .arg(&file)
        .current_dir(&copy)
        .status();
    let Ok(patched) = patched else {
        eprintln!("skipped: patch is not there");
        return;
    };
    assert!(patched.success());
    firstlight(&["treat", "apply", "cmdline+=quiet", target]);
    assert_eq!(content(&copy), content(&root));
}

/// What debugfs says of a path in an image.
fn inside(image: &Path, ask: &str) -> String {
    let out = Command::new("debugfs")
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .args(["-R", ask])
        .arg(image)
        .output()
        .unwrap();
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn a_root_in_an_image_is_treated_and_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let (tree, image) = (root(folder.path()), folder.path().join("root.img"));
    fs::create_dir_all(tree.join("usr/lib/systemd/system")).unwrap();
    fs::write(tree.join("usr/lib/systemd/system/a.service"), "[Unit]\n").unwrap();
    let [tree, shown] = [&tree, &image].map(|p| p.to_str().unwrap());
    let make = ["-q", "-t", "ext4", "-d", tree, shown, "8M"];
    if !common::tool("mke2fs", &make) {
        return;
    }
    // The journal replayed and clean, as the kernel leaves it.
    let plan = firstlight(&["treat", "plan", "mask=a.service", shown, "--json"]);
    let said = String::from_utf8_lossy(&plan.stderr).into_owned();
    if said.contains("cannot be mounted") {
        assert_eq!(said.lines().count(), 1, "{said}");
        eprintln!("skipped: a root in an image: {}", said.trim());
        return;
    }
    assert!(plan.status.success(), "{said}");
    assert!(!folder.path().join("root.img.firstlight").exists());
    // To plan is to read.
    let unread = fs::read(&image).unwrap();
    json(&["treat", "plan", "cmdline+=quiet", shown, "--json"]);
    json(&["treat", "list", shown, "--json"]);
    assert!(fs::read(&image).unwrap() == unread);

    // An image that cannot be unmounted keeps what is in it.
    let programs = folder.path().join("programs");
    fs::create_dir_all(&programs).unwrap();
    fs::write(programs.join("umount"), "#!/bin/sh\nexit 32\n").unwrap();
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(programs.join("umount"), rights).unwrap();
    let path = std::env::var("PATH").unwrap();
    let busy = Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(["treat", "apply", "cmdline+=quiet", shown])
        .env("PATH", format!("{}:{path}", programs.display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&busy.stderr).into_owned();
    assert_eq!(busy.status.code(), Some(2), "{said}");
    assert!(
        said.contains("still mounted") && said.lines().count() == 1,
        "{said}"
    );
    let mounted = said.split("`umount ").nth(1).unwrap();
    let mounted = Path::new(mounted.split('`').next().unwrap());
    assert!(mounted.join("boot/cmdline.txt").is_file());
    assert!(common::tool("umount", &[mounted.to_str().unwrap()]));
    fs::remove_dir(mounted).unwrap();
    json(&["treat", "undo", "--all", shown, "--json"]);

    let link = "stat /etc/systemd/system/a.service";
    for (treatment, ask, words) in [
        ("mask=a.service", link, "Fast link dest: \"/dev/null\""),
        ("cmdline+=quiet", "cat /boot/cmdline.txt", "/dev/sda1 quiet"),
    ] {
        assert!(!inside(&image, ask).contains(words));
        let done = json(&["treat", "apply", treatment, shown, "--json"]);
        assert_eq!(done["changed"], true);
        assert!(
            inside(&image, ask).contains(words),
            "{}",
            inside(&image, ask)
        );
        let again = json(&["treat", "apply", treatment, shown, "--json"]);
        assert_eq!(again["changed"], false);
    }
    let applied = json(&["treat", "list", shown, "--json"]);
    assert_eq!(applied["applied"].as_array().unwrap().len(), 2);
    let undone = json(&["treat", "undo", "--all", shown, "--json"]);
    assert_eq!(undone["undone"].as_array().unwrap().len(), 2);
    assert!(inside(&image, link).is_empty());
    assert_eq!(
        inside(&image, "cat /boot/cmdline.txt"),
        "console=ttyS0 root=/dev/sda1\n"
    );
    assert!(!folder.path().join("root.img.firstlight").exists());
    assert!(common::tool("e2fsck", &["-f", "-n", shown]));

    // What the kernel would have to put in order first is left alone.
    let dirty = ["-w", "-R", "feature needs_recovery", shown];
    assert!(common::tool("debugfs", &dirty));
    let refused = firstlight(&["treat", "apply", "cmdline+=quiet", shown]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("journal must be replayed") && said.lines().count() == 1,
        "{said}"
    );
}

/// A name that is mistyped is not told as done without a word.
#[test]
fn what_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    for verb in ["plan", "apply"] {
        let target = root.to_str().unwrap();
        let told = firstlight(&["treat", verb, "library-=usr/lib/libx.so.1", target]);
        let text = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(told.status.success(), "{text}");
        assert!(
            text.contains("usr/lib/libx.so.1 does not exist; nothing w"),
            "{text}"
        );
        assert!(!text.contains("already"), "{text}");
    }
}
