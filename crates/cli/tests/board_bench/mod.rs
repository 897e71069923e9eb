//! A board that the tests switch: `board/board_daemon.py`, with its file and its card.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    dead_code,
    reason = "every test program uses a part of this"
)]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything on a busy host may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The command line that the card begins with.
pub const CMDLINE: &str = "console=ttyS0 root=/dev/mmcblk0p2 rw\n";

/// A board, running.
pub struct Bench {
    folder: TempDir,
    daemon: Child,
}

impl Bench {
    /// A board with these options of the daemon; `None`, with a visible line, without
    /// Python.
    pub fn start(options: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/board");
        fs::create_dir_all(at("card/boot")).unwrap();
        fs::write(at("card/boot/cmdline.txt"), CMDLINE).unwrap();
        fs::copy(tests.join("tell"), at("tell")).unwrap();
        let daemon = Command::new("python3")
            .arg(tests.join("board_daemon.py"))
            .arg(folder.path())
            .args(options)
            .stdin(Stdio::null())
            .spawn();
        let Ok(daemon) = daemon else {
            println!("skipped: python3 is not there (apt-get install python3)");
            return None;
        };
        let bench = Self { folder, daemon };
        bench.write_board("[deploy]\nfiles = \"card\"\n", "");
        bench.wait("the daemon", || at_exists(&bench.path("ready")));
        Some(bench)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the board's file: how it deploys, and lines of the table `[boot]`.
    pub fn write_board(&self, deploy: &str, boot: &str) {
        let text = format!(
            "firstlight_board = 1\nname = \"bench\"\nlock = \"bench.lock\"\n\
             [power]\non = \"./tell on\"\noff = \"./tell off\"\noff_s = 0.01\nlimit_s = 30\n\
             tries = 1\n\
             [console]\nport = \"unix:console\"\n\
             [boot]\nloader = \"^U-Boot SPL\"\nfirst_light = \"console:login: $\"\nlimit_s = 20\n\
             {boot}\
             [proof]\nby = \"nonce\"\n{deploy}"
        );
        fs::write(self.path("bench.toml"), text).unwrap();
    }

    /// Writes the experiment: lines of the table `[base]`, and what follows.
    pub fn write_experiment(&self, base: &str, rest: &str) -> String {
        let text = format!(
            "firstlight_experiment = 1\n[base]\nmachine = \"board\"\nboard = \"bench.toml\"\n\
             {base}{rest}"
        );
        let path = self.path("e.toml");
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Tells the board something.
    pub fn tell(&self, what: &str) {
        let status = Command::new(self.path("tell"))
            .args(what.split(' '))
            .status()
            .unwrap();
        assert!(status.success(), "{what}");
    }

    /// How often the board was switched on, and with which faults.
    pub fn boots(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("boots")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn card(&self) -> String {
        fs::read_to_string(self.path("card/boot/cmdline.txt")).unwrap()
    }

    /// That the card is as it was, and nothing of ours is left.
    pub fn is_as_before(&self) {
        assert_eq!(self.card(), CMDLINE);
        let lock = fs::read_to_string(self.path("bench.lock")).unwrap();
        assert_eq!(lock.lines().nth(1), Some(""), "{lock}");
    }

    pub fn command(&self, experiment: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
        command
            .args(["lab", "run", experiment, "--json", "--out"])
            .arg(self.path("out"))
            .args(more);
        command
    }

    /// Begins to run the experiment; what it says is dropped.
    pub fn spawn(&self, experiment: &str) -> Child {
        let mut command = self.command(experiment, &[]);
        let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
        silent.spawn().unwrap()
    }

    /// Runs the experiment: how it ended, its JSON checked by its schema, and what it
    /// said.
    pub fn run(&self, experiment: &str, more: &[&str]) -> (Output, Value, String) {
        let out = self.command(experiment, more).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let value: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
        if !value.is_null() {
            crate::common::valid(&value, "lab.board");
        }
        (out, value, said)
    }

    pub fn wait(&self, what: &str, mut done: impl FnMut() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !done() {
            assert!(Instant::now() < end, "{what} did not come");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.daemon.kill().ok();
        self.daemon.wait().ok();
    }
}

fn at_exists(path: &Path) -> bool {
    path.exists()
}

/// The trials that count, and the reasons of those that do not.
pub fn counted(run: &Value) -> (Vec<&Value>, Vec<String>) {
    let trials = run["trials"].as_array().unwrap();
    let (good, void): (Vec<&Value>, Vec<&Value>) = trials.iter().partition(|t| t["void"].is_null());
    let reasons = void.iter().map(|t| t["void"].as_str().unwrap().to_owned());
    (good, reasons.collect())
}
