//! `firstlight capture ssh` against a real sshd, on loopback, whose files are
//! its own: it runs in a mount namespace, and its `systemctl` is a script.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::valid;
use serde_json::Value;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// What systemd does, as far as this needs it. A restart gives the machine a new
/// boot id, cuts the connection, and runs the unit that is enabled.
const SYSTEMCTL: &str = r#"#!/bin/sh
cd "$FAKE" || exit 1
echo "$*" >>asked
case "$*" in
get-default) echo graphical.target ;;
"--quiet enable "*) touch enabled ;;
"--quiet disable "*) rm -f enabled ;;
is-system-running*) echo running ;;
reboot)
    echo "boot-$$" >boot_id
    rm -rf tmp/*
    if [ -e enabled ]; then
        command=$(sed -n 's/^ExecStart=//p' etc/firstlight-capture.service)
        setsid $command </dev/null >/dev/null 2>&1 &
    fi
    # The connection: the parent of the shell that runs this script's.
    shell=$(cut -d' ' -f4 /proc/$PPID/stat)
    kill -9 "$shell"
    ;;
show*) exit 1 ;;
esac
"#;

/// An agent that makes a capture of one file, or does what the test wants.
const AGENT: &str = r#"#!/bin/sh
[ "$1 $2" = "collect -o" ] || exit 9
[ -e "$FAKE/sleep" ] && touch "$FAKE/sleeps"
while [ -e "$FAKE/sleep" ]; do sleep 0.1; done
[ -e "$FAKE/mute" ] && exit 3
[ -e "$FAKE/fail" ] && { echo "the agent cannot" >&2; exit 3; }
case "$3" in
-) exec cat "$FAKE/made.tar" ;;
*) exec cp "$FAKE/made.tar" "$3" ;;
esac
"#;

const NOTHING: [PathBuf; 0] = [];

struct Host {
    folder: tempfile::TempDir,
    port: u16,
    sshd: Child,
}

impl Host {
    /// A host that answers; `None` with a visible line where there cannot be one.
    fn start() -> Option<Self> {
        let sshd = Path::new("/usr/sbin/sshd");
        let usable = || {
            Command::new("unshare")
                .args(["-m", "true"])
                .output()
                .is_ok_and(|o| o.status.success())
        };
        if !rustix::process::geteuid().is_root() || !sshd.exists() || !usable() {
            eprintln!("skipped: no sshd (openssh-server), or not root, or no mount namespaces");
            return None;
        }
        // Not under /tmp, which the host has of its own.
        if Path::new(env!("CARGO_TARGET_TMPDIR")).starts_with("/tmp") {
            eprintln!("skipped: the checkout lies below /tmp, which the host of this test covers");
            return None;
        }
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["bin", "etc", "var", "tmp", "run/sshd", "run/systemd/system"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for key in ["host_key", "user_key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(at(key))
                .status();
            assert!(made.unwrap().success());
        }
        fs::copy(at("user_key.pub"), at("authorized_keys")).unwrap();
        fs::write(at("boot_id"), "boot-first\n").unwrap();
        for (name, text) in [("bin/systemctl", SYSTEMCTL), ("agent", AGENT)] {
            fs::write(at(name), text).unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        made_capture(&at("made.tar"));
        // A port that is free now. Another program could take it, and the test
        // would fail by not reaching this host.
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let shown = folder.path().display();
        fs::write(
            at("sshd_config"),
            format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {shown}/host_key\n\
                 AuthorizedKeysFile {shown}/authorized_keys\nPidFile none\nUsePAM no\n\
                 PasswordAuthentication no\nStrictModes no\nPermitRootLogin yes\n\
                 SetEnv PATH={shown}/bin:/usr/sbin:/usr/bin:/sbin:/bin FAKE={shown}\n"
            ),
        )
        .unwrap();
        // What a capture touches is this test's own.
        let inside = "set -e; cd \"$0\"; mount --bind var /var/lib; mount --bind etc /etc/systemd/system; \
            mount --bind tmp /tmp; mount --bind run /run; \
            mount --bind boot_id /proc/sys/kernel/random/boot_id; exec /usr/sbin/sshd -D -e -f sshd_config";
        let log = fs::File::create(at("sshd.log")).unwrap();
        let sshd = Command::new("unshare")
            .args(["-m", "sh", "-c", inside])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut host = Self { folder, port, sshd };
        for _ in 0..3_000 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(host);
            }
            assert!(host.sshd.try_wait().unwrap().is_none(), "{}", host.log());
            thread::sleep(Duration::from_millis(10));
        }
        panic!("sshd does not answer: {}", host.log());
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.at("sshd.log")).unwrap_or_default()
    }

    /// How this host is reached.
    fn ssh(&self) -> String {
        let shown = self.folder.path().display();
        format!(
            "ssh -F none -p {} -i '{shown}/user_key' -o IdentitiesOnly=yes \
             -o StrictHostKeyChecking=no -o UserKnownHostsFile='{shown}/known_hosts'",
            self.port
        )
    }

    fn capture(&self, args: &[&str]) -> Command {
        let ssh = self.ssh();
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
        command.args(["capture", "ssh", "root@127.0.0.1", "--ssh", &ssh]);
        command
            .arg("--agent")
            .arg(self.at("agent"))
            .arg("-o")
            .arg(self.at("boot.tar.zst"));
        command.args(args).stdin(Stdio::null());
        command
    }

    /// What a capture left behind, anywhere.
    fn left(&self) -> Vec<PathBuf> {
        let mut left: Vec<PathBuf> = ["etc", "var", "tmp"]
            .iter()
            .flat_map(|folder| fs::read_dir(self.at(folder)).unwrap())
            .map(|entry| entry.unwrap().path())
            .collect();
        left.extend(Some(self.at("enabled")).filter(|p| p.exists()));
        left
    }

    fn asked(&self, what: &str) -> bool {
        let asked = fs::read_to_string(self.at("asked")).unwrap_or_default();
        asked.lines().any(|l| l == what)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.sshd.kill().ok();
        self.sshd.wait().ok();
    }
}

/// A capture as an agent makes it.
fn made_capture(path: &Path) {
    let manifest = br#"{"firstlight_capture": 1, "taken_by": "a test",
        "sources": [{"name": "kernel log", "format": "kernel-log", "file": "kmsg"}],
        "notes": [{"kind": "missing", "text": "the counter was not read"}]}"#;
    let log = b"[    0.000000] Linux version 6.1\n[    1.500000] Run /sbin/init as init process\n";
    let members = [("manifest.json", &manifest[..]), ("kmsg", &log[..])];
    let members = members.map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
    agent::capture::write_tar(fs::File::create(path).unwrap(), &members).unwrap();
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

#[test]
fn the_last_boot_is_taken_and_nothing_is_left() {
    let Some(host) = Host::start() else { return };
    let out = host.capture(&["--dry-run"]).output().unwrap();
    let plan = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{}\n{}", said(&out), host.log());
    assert!(
        plan.contains("1. copy the agent into the new folder /tmp/firstlight-capture-"),
        "{plan}"
    );
    assert!(!host.at("boot.tar.zst").exists());

    let out = host.capture(&["--json"]).output().unwrap();
    assert!(out.status.success(), "{}\n{}", said(&out), host.log());
    // The plan is printed before anything is done.
    assert!(
        said(&out).contains("3. remove /tmp/firstlight-capture-"),
        "{}",
        said(&out)
    );
    let done: Value = serde_json::from_slice(&out.stdout).unwrap();
    valid(&done, "capture");
    assert_eq!(done["files"][0], "kmsg");
    assert_eq!(done["missing"][0], "the counter was not read");
    assert_eq!(done["ssh"]["done"], true);
    assert_eq!(host.left(), NOTHING);
    assert!(!host.asked("reboot"));
    let show = common::json(&["show", "--json", host.at("boot.tar.zst").to_str().unwrap()]);
    assert_eq!(show["sources"][1]["format"], "kernel-log");
    // It is not written over.
    let out = host.capture(&[]).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(said(&out).contains("already exists"), "{}", said(&out));
}

#[test]
fn the_real_agent_is_understood() {
    // Whoever builds all programs has it beside the command.
    let agent = Path::new(env!("CARGO_BIN_EXE_firstlight")).with_file_name("firstlight-agent");
    if !agent.exists() {
        eprintln!("skipped: {} not there", agent.display());
        return;
    }
    let Some(host) = Host::start() else { return };
    fs::copy(agent, host.at("agent")).unwrap();
    let out = host.capture(&["--json"]).output().unwrap();
    assert!(out.status.success(), "{}\n{}", said(&out), host.log());
    let done: Value = serde_json::from_slice(&out.stdout).unwrap();
    let files = done["files"].as_array().unwrap();
    assert!(files.iter().any(|f| f == "proc/cmdline"), "{files:?}");
    assert_eq!(host.left(), NOTHING);
}

#[test]
fn the_next_boot_takes_itself() {
    let Some(host) = Host::start() else { return };
    let out = host
        .capture(&["--reboot", "--dry-run", "--json"])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}\n{}", said(&out), host.log());
    let plan: Value = serde_json::from_slice(&out.stdout).unwrap();
    valid(&plan, "capture");
    assert_eq!(plan["ssh"]["done"], false);
    assert!(!host.asked("reboot"));

    let out = host.capture(&["--reboot"]).output().unwrap();
    assert!(out.status.success(), "{}\n{}", said(&out), host.log());
    for asked in [
        "reboot",
        "is-system-running --wait",
        "--quiet enable firstlight-capture.service",
    ] {
        assert!(host.asked(asked), "{asked}");
    }
    assert_ne!(
        fs::read_to_string(host.at("boot_id")).unwrap(),
        "boot-first\n"
    );
    assert_eq!(host.left(), NOTHING);
    assert!(host.at("boot.tar.zst").exists());
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let Some(host) = Host::start() else { return };
    fs::write(host.at("fail"), "").unwrap();
    for args in [&[][..], &["--reboot"]] {
        let out = host.capture(args).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{}", said(&out));
        assert!(said(&out).contains("the agent cannot"), "{}", said(&out));
        assert_eq!(host.left(), NOTHING, "{args:?}");
        assert!(!host.at("boot.tar.zst").exists());
    }
    // Nor does one that cannot even say why, as where a disk is full,
    fs::rename(host.at("fail"), host.at("mute")).unwrap();
    let out = host.capture(&["--reboot"]).output().unwrap();
    assert!(
        said(&out).contains("without a message; check"),
        "{}",
        said(&out)
    );
    assert_eq!(host.left(), NOTHING);
    // nor one that sends something else.
    fs::remove_file(host.at("mute")).unwrap();
    fs::write(host.at("made.tar"), "no tar").unwrap();
    let out = host.capture(&[]).output().unwrap();
    assert!(
        said(&out).contains("what root@127.0.0.1 sent is no capture"),
        "{}",
        said(&out)
    );
    assert_eq!(host.left(), NOTHING);
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let Some(host) = Host::start() else { return };
    fs::write(host.at("sleep"), "").unwrap();
    for args in [&[][..], &["--reboot"]] {
        let child = host.capture(args).stderr(Stdio::piped()).spawn().unwrap();
        while !host.at("sleeps").exists() {
            thread::sleep(Duration::from_millis(5));
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let out = child.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{}", said(&out));
        assert!(said(&out).contains("interrupted"), "{}", said(&out));
        assert_eq!(host.left(), NOTHING, "{args:?}");
        fs::remove_file(host.at("sleeps")).unwrap();
    }
}

#[test]
fn what_was_left_is_not_touched_and_can_be_cleaned() {
    let Some(host) = Host::start() else { return };
    fs::create_dir(host.at("var/firstlight-capture")).unwrap();
    fs::write(host.at("etc/firstlight-capture.service"), "another").unwrap();
    let out = host.capture(&["--reboot"]).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(
        said(&out).contains("remove them with `--clean`"),
        "{}",
        said(&out)
    );
    assert_eq!(host.left().len(), 2);
    let out = host.capture(&["--clean"]).output().unwrap();
    assert!(out.status.success(), "{}", said(&out));
    assert_eq!(host.left(), NOTHING);
}

#[test]
fn cold_starts_are_measured_there_and_nothing_is_left() {
    let Some(host) = Host::start() else { return };
    let cold = |program: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_firstlight"))
            .args([
                "cold",
                "--json",
                "--evict",
                "--runs=2",
                "--on=root@127.0.0.1",
            ])
            .args(["--ssh", &host.ssh(), "--"])
            .args(program)
            .output()
            .unwrap()
    };
    // A word with all that a shell would take apart.
    let out = cold(&["test", "a $b 'c' \"d\" *", "=", "a $b 'c' \"d\" *"]);
    assert!(out.status.success(), "{}\n{}", said(&out), host.log());
    let done: Value = serde_json::from_slice(&out.stdout).unwrap();
    valid(&done, "cold");
    assert_eq!(done["host"], "root@127.0.0.1");
    assert_eq!(done["runs"], 2);
    assert_eq!(host.left(), NOTHING);
    let out = cold(&["false"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(said(&out).contains("--ignore-failure"), "{}", said(&out));
    assert_eq!(host.left(), NOTHING);
}

#[test]
fn a_host_that_is_not_there_is_said() {
    // Nothing listens on a port that was just given back.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let folder = tempfile::tempdir().unwrap();
    let ssh = format!("ssh -F none -p {port} -o BatchMode=yes");
    let out = Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(["capture", "ssh", "127.0.0.1", "--ssh", &ssh, "-o"])
        .arg(folder.path().join("boot.tar"))
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(2));
    let said = said(&out);
    assert!(
        said.contains("127.0.0.1: cannot connect") || said.contains("not found"),
        "{said}"
    );
}
