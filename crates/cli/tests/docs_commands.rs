//! Each command in the indented blocks of the pages is run here, or by the test that is named.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::workspace;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What needs a machine to boot, a board, root or a network: how the command begins, the
/// file that runs it, and what stands there.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("lab run", "crates/cli/tests/lab.rs", "\"lab\", \"run\""),
    (
        "lab trial",
        "crates/cli/tests/lab_trial.rs",
        "\"lab\", \"trial\"",
    ),
    (
        "lab resolution",
        "crates/cli/tests/lab_kill.rs",
        "\"lab\", \"resolution\"",
    ),
    (
        "lab mounts",
        "crates/cli/tests/mount_cost.rs",
        "\"lab\", \"mounts\"",
    ),
    (
        "lab classics",
        "crates/cli/tests/flash_lab.rs",
        "\"lab\", \"classics\"",
    ),
    (
        "lab doctor",
        "crates/cli/tests/lab.rs",
        "\"lab\", \"doctor\"",
    ),
    (
        "capture ssh",
        "crates/cli/tests/capture_ssh.rs",
        "\"capture\", \"ssh\"",
    ),
    (
        "capture serial",
        "crates/cli/tests/capture_serial.rs",
        "\"capture\", \"serial\"",
    ),
    (
        "capture board",
        "crates/cli/tests/board.rs",
        "\"capture\", \"board\"",
    ),
    ("bisect", "crates/cli/tests/bisect.rs", "\"bisect\""),
    (
        "calibrate",
        "crates/cli/tests/calibrate.rs",
        "\"calibrate\"",
    ),
    ("tune", "crates/cli/tests/board_long.rs", "\"tune\""),
    ("cold", "crates/cli/tests/prefetch.rs", "\"cold\""),
    (
        "prefetch record",
        "crates/cli/tests/prefetch.rs",
        "\"prefetch\", \"record\"",
    ),
    (
        "prefetch replay",
        "crates/cli/tests/prefetch.rs",
        "\"prefetch\", \"replay\"",
    ),
    (
        "prefetch install",
        "crates/cli/tests/prefetch.rs",
        "\"prefetch\", \"install\"",
    ),
    (
        "install-agent ssh",
        "xtask/src/packages/clean.rs",
        "\"install-agent\", \"ssh:board\"",
    ),
    (
        "image create",
        "crates/cli/tests/bootimages.rs",
        "\"image\", \"create\"",
    ),
    ("io trace.txt", "crates/cli/tests/lab_storage.rs", "\"io\""),
    ("fleet", "xtask/src/fleet.rs", "fleet"),
];

/// What takes hours, so that no test runs it.
const HOURS: &[&str] = &["lab findings experiments/findings --out proof"];

/// The commands in the indented blocks of a page, each from its verb on, as typed.
fn commands_of(page: &str) -> Vec<String> {
    let joined = page.replace("\\\n", " ");
    let blocks = joined.lines().filter(|line| line.starts_with("    "));
    let parts = blocks.flat_map(|line| line.split(['|', ';']).flat_map(|part| part.split("&&")));
    let commands = parts.filter_map(|part| {
        let part = part.trim().trim_start_matches("$ ");
        let words = part
            .trim_start_matches("sudo ")
            .strip_prefix("firstlight ")?;
        let words = words.split("  #").next()?.trim();
        words
            .starts_with(|c: char| c.is_ascii_lowercase())
            .then(|| words.to_owned())
    });
    commands.collect()
}

/// Whether a command names what you have to put there: `IMAGE`, `[--top N]`.
fn is_form(command: &str) -> bool {
    let words = command
        .split([' ', '=', '|', '/', ','])
        .filter(|w| !w.contains(['\'', '"', '$']));
    let mut words = words.map(|w| w.trim_matches(|c: char| !c.is_ascii_alphanumeric()));
    let capital = |w: &str| {
        w.starts_with(|c: char| c.is_ascii_uppercase())
            && w.chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-')
    };
    command.contains(['[']) || command.contains("...") || words.any(capital)
}

const LOG: &str = "[    0.000000] Linux version 6.1.0 (gcc 12.2) #1 SMP\n\
    [    0.000000] Command line: quiet\n\
    [    0.100000] calling  slow_init+0x0/0x10 @ 1\n\
    [    0.300000] initcall slow_init+0x0/0x10 returned 0 after 200000 usecs\n\
    [    0.900000] Run /sbin/init as init process\n\
    [    1.900000] systemd[1]: Reached target multi-user.target - Multi-User System.\n\
    [    1.950000] systemd[1]: Startup finished in 900ms (kernel) + 1.050s (userspace) = 1.950s.\n";
const MANIFEST: &str = r#"{"firstlight_capture":1,"taken_by":"a test","machine":"a","kernel":"6.1.0",
    "cmdline":"quiet","clocks":[],"sources":[
    {"name":"kernel log","format":"kernel-log","file":"dmesg.txt","clock":""}]}"#;

/// A folder with the inputs that the pages name.
fn inputs(folder: &Path) {
    let corpus = workspace().join("corpus");
    for name in ["corpus", "experiments"] {
        symlink(workspace().join(name), folder.join(name)).unwrap();
    }
    let (old, new) = (
        "captures/v1-debian.tar.zst",
        "captures/v1-debian-all.tar.zst",
    );
    for (from, to) in [
        (old, "boot.tar"),
        (old, "board.tar.zst"),
        (new, "new.tar.zst"),
        (old, "base/1.tar.zst"),
        (old, "new/1.tar.zst"),
        (old, "field/2026/a.tar.zst"),
        (new, "field/2026/b.tar.zst"),
        ("ftrace/modprobe-7.dat", "boot.dat"),
        ("logic/board.vcd", "boot.vcd"),
        ("video/screen.txt", "boot.txt"),
        ("flash/rootfs.jffs2", "rootfs.jffs2"),
        ("disk/small.ext4", "root.ext4"),
        ("kernel-config/plain", ".config"),
        (old, "tmp/deploy/images/qemu/boots/boot.tar"),
    ] {
        let to = folder.join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(corpus.join(from), to).unwrap();
    }
    for name in ["boot.log", "new.log", "dmesg.txt", "capture/dmesg.txt"] {
        fs::create_dir_all(folder.join("capture")).unwrap();
        fs::write(folder.join(name), LOG).unwrap();
    }
    fs::write(folder.join("capture/manifest.json"), MANIFEST).unwrap();
    // Captures as folders, as the lab leaves them
    for trial in ["amd64/trials/baseline/0", "lab/trials/baseline/0"] {
        let capture = folder.join(trial).join("capture");
        let stream = zstd::Decoder::new(fs::File::open(corpus.join(old)).unwrap()).unwrap();
        tar::Archive::new(stream).unpack(capture).unwrap();
    }
    // A root whose processor and init the agent's installer can tell
    let root = folder.join("rootfs");
    for inside in ["bin", "etc/init.d", "etc/systemd/system", "usr/lib/systemd"] {
        fs::create_dir_all(root.join(inside)).unwrap();
    }
    for program in ["bin/sh", "usr/lib/systemd/systemd"] {
        fs::copy("/bin/sh", root.join(program)).unwrap();
    }
    fs::create_dir(folder.join("agents")).unwrap();
    // The head of a static program: nothing here starts it.
    let mut agent = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
    agent.resize(64, 0);
    (agent[52], agent[54]) = (64, 56);
    fs::write(folder.join("agents/firstlight-agent-x86_64"), agent).unwrap();
    let lines = [
        "tar --zstd -cf boot.tar.zst -C capture manifest.json dmesg.txt",
        "git init -q",
        "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a",
    ];
    for line in lines {
        assert!(shell(line, folder).status.success(), "{line}");
    }
}

/// A trace of what a boot read of the root `mnt`, where the page about access lists names a
/// capture with one; and a list.
fn accesses(folder: &Path) {
    let file = folder.join("mnt/program");
    fs::create_dir(folder.join("mnt")).unwrap();
    fs::write(&file, [7; 8192]).unwrap();
    let meta = fs::metadata(&file).unwrap();
    let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    let event = |at: u32, offset: u32| {
        format!(
            "  cat-100  [000] .....  1.00{at}000: mm_filemap_add_to_page_cache: dev {major}:{minor} \
             ino {:x} pfn=0x1000 ofs={offset} order=0\n",
            meta.ino()
        )
    };
    let trace = format!("# tracer: nop\n#\n{}{}", event(0, 0), event(1, 4096));
    fs::write(folder.join("boot.tar"), trace).unwrap();
    let line = "firstlight prefetch import boot.tar --root mnt -o editor.list";
    assert!(shell(line, folder).status.success());
}

fn shell(line: &str, folder: &Path) -> std::process::Output {
    let program = Path::new(env!("CARGO_BIN_EXE_firstlight"));
    let path = std::env::var("PATH").unwrap();
    let log = fs::File::open(folder.join("boot.log")).unwrap();
    Command::new("sh")
        .args(["-ec", line])
        .current_dir(folder)
        .env(
            "PATH",
            format!("{}:{path}", program.parent().unwrap().display()),
        )
        .env("MACHINE", "qemu")
        .env("FIRSTLIGHT_AGENT", folder.join("agents"))
        .stdin(Stdio::from(log))
        .output()
        .unwrap()
}

/// What a command ends with if all is well. A gate says "slower" by 1, and a history of too
/// few boots, or one boot against another of real time, says "cannot tell" by 2.
fn is_fine(command: &str, code: Option<i32>, said: &str) -> bool {
    let judges = command.starts_with("gate") || command.starts_with("history check");
    code == Some(0)
        || judges && code == Some(1)
        || judges
            && code == Some(2)
            && !said.contains("cannot be opened")
            && !said.contains("no such")
}

#[test]
fn every_command_of_the_pages_runs() {
    let root = workspace();
    let mut pages: Vec<PathBuf> = ["docs", "docs/findings", "."]
        .iter()
        .flat_map(|f| fs::read_dir(root.join(f)).unwrap())
        .map(|page| page.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "md") && !p.ends_with("CHANGELOG.md"))
        .collect();
    pages.sort();
    let (mut wrong, mut counts) = (Vec::new(), BTreeMap::new());
    for page in pages {
        let mut folder = None;
        for command in commands_of(&fs::read_to_string(&page).unwrap()) {
            let mut count = |what| *counts.entry(what).or_insert(0) += 1;
            if is_form(&command) {
                count("forms");
            } else if HOURS.contains(&command.as_str()) {
                count("hours");
            } else if ELSEWHERE
                .iter()
                .any(|(verb, _, _)| command.starts_with(verb))
            {
                count("elsewhere");
            } else {
                count("run");
                let folder = folder.get_or_insert_with(|| {
                    let folder = tempfile::tempdir().unwrap();
                    inputs(folder.path());
                    if page.ends_with("prefetch.md") {
                        accesses(folder.path());
                    }
                    folder
                });
                // What a user mounts is a folder here.
                let typed = format!("firstlight {command}").replace(" /mnt", " mnt");
                let done = shell(&typed, folder.path());
                let said = String::from_utf8_lossy(&done.stderr);
                if !is_fine(&command, done.status.code(), &said) {
                    let page = page.display();
                    wrong.push(format!(
                        "{page}: {command}: {:?} {said}",
                        done.status.code()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(counts["run"] > 35, "{counts:?}");
}

#[test]
fn what_is_run_elsewhere_is_run_there() {
    for (verb, file, words) in ELSEWHERE {
        let text = fs::read_to_string(workspace().join(file)).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{verb}: {file} has no {words}");
    }
}
