//! Trials on other hosts, for real: `./x test cluster`. A Slurm of two nodes and an ssh
//! server run on loopback, started and stopped by the tests.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;
mod slurm;

use common::workspace;
use serde_json::Value;
use slurm::{Cluster, find};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// No boot and no change of a cluster takes longer.
const PATIENCE: Duration = Duration::from_secs(900);

/// Two variants, a boot each.
const EXPERIMENT: &str = "firstlight_experiment = 1\n[base]\nmachine = \"pc\"\nmemory_mb = 512\n\
    storage = \"none\"\nkernel = \"debian\"\nroot = \"none\"\nfirst_light = \"init\"\n\
    cmdline = [\"console=ttyS0\", \"nokaslr\", \"panic=-1\", \"quiet\", \"cryptomgr.notests\"]\n\
    limit_wall_s = 900\nensemble = 1\n\
    [[variant]]\nname = \"log\"\ntreatments = [\"cmdline+=loglevel=4\"]\n";

/// The tables that a run leaves.
const TABLES: [&str; 3] = ["result.json", "result.md", "result.csv"];

/// Boots of several tests at once would only wait for each other.
fn one_at_a_time() -> impl Drop {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says what is skipped if one of these programs is missing.
fn has(what: &str, tools: &[&str]) -> bool {
    let missing = tools.iter().find(|t| find(t).is_none());
    if let Some(tool) = missing {
        eprintln!("skipped: {what}, because there is no {tool}");
    }
    missing.is_none()
}

/// A folder in which `firstlight lab run … --out run` is run. Output folders of different
/// places have the same name, so that tables can be compared byte by byte.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::write(place.path("two.toml"), EXPERIMENT).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
        command
            .args(["lab", "run", "two.toml", "--out", "run"])
            .args(more)
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        let done = self.command(more).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        done
    }

    fn tables(&self) -> [Vec<u8>; 3] {
        TABLES.map(|name| fs::read(self.path("run").join(name)).unwrap())
    }

    /// The files in the folder of jobs whose names end so.
    fn texts(&self, end: &str) -> Vec<String> {
        let files = fs::read_dir(self.path("run/jobs")).into_iter().flatten();
        let files = files.flatten().map(|e| e.path());
        let files = files.filter(|p| p.extension().is_some_and(|e| e == end));
        files.filter_map(|p| fs::read_to_string(p).ok()).collect()
    }

    /// The line of a result that says how long its boot took.
    fn wall_of_result(&self, name: &str) -> String {
        let path = self.path("run/jobs").join(format!("{name}.tar.zst"));
        let tar = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
        let text = String::from_utf8_lossy(&tar);
        let at = text.find("\"wall_s\"").unwrap();
        let line = text[at..].lines().next().unwrap();
        line.trim_end_matches(',').replace(": ", ":")
    }

    /// Whether a result has come back.
    fn has_result(&self) -> bool {
        let files = fs::read_dir(self.path("run/jobs")).into_iter().flatten();
        let mut names = files.flatten().map(|e| e.file_name());
        names.any(|n| n.to_string_lossy().ends_with(".tar.zst"))
    }
}

/// What one machine gives.
fn alone() -> &'static [Vec<u8>; 3] {
    static ALONE: OnceLock<[Vec<u8>; 3]> = OnceLock::new();
    ALONE.get_or_init(|| {
        let place = Place::new();
        place.run(&[]);
        place.tables()
    })
}

fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < PATIENCE, "{what} did not come");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Ends with the test what it started.
struct Submitter(Child);

impl Drop for Submitter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// In the middle of a run a node loses its power, the controller is restarted and the
/// submitter is killed; a second one finds the jobs in the queue, and nothing is lost.
#[test]
#[ignore = "./x test cluster"]
fn a_cluster_that_loses_node_controller_and_submitter_gives_the_same_table() {
    if !has("Slurm on loopback", &slurm::PROGRAMS) {
        return;
    }
    let _one = one_at_a_time();
    let alone = alone();
    let mut cluster = Cluster::start(None);
    let place = Place::new();
    let on = ["--on", "slurm"];
    let mut first = place.command(&on);
    cluster.environment(&mut first);
    first.stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = Submitter(first.spawn().unwrap());
    wait_until("a trial on n1", || cluster.runs_on("n1"));
    cluster.cut("n1");
    cluster.restart_controller();
    let _ = first.0.kill();
    let _ = first.0.wait();
    // The power is back; Slurm learns that the node's task is gone.
    cluster.start_node("n1");
    let mut second = place.command(&on);
    cluster.environment(&mut second);
    let done = second.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert!(place.tables() == *alone, "other tables");
    // A run whose results are all there asks Slurm nothing.
    drop(cluster);
    place.run(&on);
    assert!(place.tables() == *alone, "other tables");
}

/// Two submitters at once, and a node whose disk is full: its trials end up elsewhere.
#[test]
#[ignore = "./x test cluster"]
fn two_submitters_and_a_node_with_a_full_disk_give_the_same_table() {
    if !has("Slurm on loopback", &slurm::PROGRAMS) {
        return;
    }
    let _one = one_at_a_time();
    let alone = alone();
    let full = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(full.path())
        .status();
    if !mounted.is_ok_and(|s| s.success()) {
        eprintln!("skipped: a node with a full disk, because this user cannot mount a tmpfs");
        return;
    }
    let cluster = Cluster::start(Some(("n2", full.path())));
    let places = [Place::new(), Place::new()];
    let started = places.each_ref().map(|place| {
        let mut command = place.command(&["--on", "slurm", "--json"]);
        cluster.environment(&mut command);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    });
    let done = started.map(|child| child.wait_with_output().unwrap());
    drop(cluster);
    let unmounted = Command::new("umount").arg(full.path()).status().unwrap();
    assert!(unmounted.success());
    let full = "No space left on device";
    let logs = places.iter().flat_map(|p| p.texts("log"));
    assert!(
        logs.into_iter().any(|log| log.contains(full)),
        "no disk was full"
    );
    for (place, done) in places.iter().zip(done) {
        assert!(done.status.success(), "{done:?}");
        let table: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(table["trials"].as_array().unwrap().len(), 2);
        assert!(place.tables() == *alone, "other tables");
    }
}

/// An ssh server for this user on loopback, with keys of its own.
struct Ssh {
    folder: tempfile::TempDir,
    server: Child,
    port: u16,
}

impl Ssh {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(at(key))
                .status();
            assert!(made.unwrap().success());
        }
        fs::copy(at("user.pub"), at("authorized")).unwrap();
        // Where privileges are separated; only root can make it, and only root needs it.
        let _ = fs::create_dir("/run/sshd");
        let port = free_port();
        let text = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\n\
             PidFile {}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             PermitRootLogin prohibit-password\n",
            at("host").display(),
            at("authorized").display(),
            at("pid").display()
        );
        fs::write(at("config"), text).unwrap();
        let server = Command::new(find("sshd").unwrap())
            .args(["-D", "-e", "-f"])
            .arg(at("config"))
            .stdin(Stdio::null())
            .stderr(fs::File::create(at("log")).unwrap())
            .spawn()
            .unwrap();
        let ssh = Self {
            folder,
            server,
            port,
        };
        wait_until("the ssh server", || {
            let mut tried = Command::new("sh");
            tried.args(["-c", &format!("{} true", ssh.command())]);
            tried.output().is_ok_and(|o| o.status.success())
        });
        ssh
    }

    /// `ssh` with its options and the host.
    fn command(&self) -> String {
        format!("{} 127.0.0.1", self.program())
    }

    fn program(&self) -> String {
        format!(
            "ssh -p {} -i {} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
             -o LogLevel=ERROR -o BatchMode=yes",
            self.port,
            self.folder.path().join("user").display()
        )
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// The recipe of docs/cluster.md: nothing is shared, inputs go by rsync, plan and result
/// through the connection.
#[test]
#[ignore = "./x test cluster"]
fn plain_ssh_gives_the_same_table() {
    if !has("ssh to loopback", &["sshd", "ssh", "ssh-keygen", "rsync"]) {
        return;
    }
    let _one = one_at_a_time();
    let alone = alone();
    let ssh = Ssh::start();
    let place = Place::new();
    let node = place.path("node");
    let program = env!("CARGO_BIN_EXE_firstlight");
    let command = format!(
        "rsync -a -e '{}' {{inputs}}/sha256 127.0.0.1:{node}/ && {} \
         'FIRSTLIGHT_CACHE={node} {program} lab trial - --out -' <{{plan}} >{{out}}",
        ssh.program(),
        ssh.command(),
        node = node.display(),
    );
    fs::create_dir(&node).unwrap();
    place.run(&["--submit", &command, "--jobs", "2"]);
    assert!(place.tables() == *alone, "other tables");
    assert!(node.join("stages").is_dir(), "the node booted them");
}

/// What a CI system does with the matrix: a job for each entry, and then the run that
/// collects.
#[test]
#[ignore = "./x test cluster"]
fn the_jobs_of_a_ci_matrix_give_the_same_table() {
    let _one = one_at_a_time();
    let alone = alone();
    let place = Place::new();
    let matrix = place.run(&["--matrix", "github"]);
    let matrix: Value = serde_json::from_slice(&matrix.stdout).unwrap();
    let jobs = matrix["include"].as_array().unwrap();
    assert_eq!(jobs.len(), 2);
    for job in jobs {
        let line = "for trial in $TRIALS; do \"$FIRSTLIGHT\" lab trial run/jobs/$trial.json \
                    --out run/jobs/$trial.tar.zst || exit 1; done";
        let done = Command::new("sh")
            .args(["-c", line])
            .env("TRIALS", job["trials"].as_str().unwrap())
            .env("FIRSTLIGHT", env!("CARGO_BIN_EXE_firstlight"))
            .current_dir(place.path(""))
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    }
    assert!(place.has_result());
    place.run(&[]);
    // No two boots take the same time, so these are the boots of the jobs.
    let work = fs::read_to_string(place.path("run/trials.jsonl")).unwrap();
    for job in jobs {
        let wall = place.wall_of_result(job["trials"].as_str().unwrap());
        assert!(work.contains(&wall), "{wall} is not in {work}");
    }
    assert!(place.tables() == *alone, "other tables");
}

/// A second run finds the results of the first in a bucket and boots nothing. A third, whose
/// store does not answer, has its own results and ends well.
#[test]
#[ignore = "./x test cluster"]
#[cfg(feature = "s3")]
fn a_bucket_gives_a_second_run_the_same_table_without_a_boot() {
    let Some(bucket) = std::env::var("FIRSTLIGHT_TEST_BUCKET").ok() else {
        eprintln!("skipped: results in a bucket, because FIRSTLIGHT_TEST_BUCKET names none");
        return;
    };
    let _one = one_at_a_time();
    let alone = alone();
    let url = format!("{bucket}/program-{}", std::process::id());
    let shared = ["--shared", &url, "--audit", "0"];
    let places = [Place::new(), Place::new()];
    for place in &places {
        place.run(&shared);
        assert!(place.tables() == *alone, "other tables");
    }
    let journal = |place: &Place| fs::read_to_string(place.path("run/trials.jsonl")).unwrap();
    assert!(!journal(&places[0]).contains("shared_by"));
    let found = format!(", in {url}/");
    assert_eq!(journal(&places[1]).matches(&found).count(), 2);
    // Other trials are wanted of a store that is not there: they are booted.
    let place = Place::new();
    let mut command = place.command(&shared);
    command.env("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert!(!journal(&place).contains("shared_by"));
    assert!(place.tables() == *alone, "other tables");
}

/// The folder that holds the workspace's experiments is the one that the documents name.
#[test]
#[ignore = "./x test cluster"]
fn the_example_of_the_documents_can_be_prepared() {
    let folder = tempfile::tempdir().unwrap();
    let smoke: &Path = &workspace().join("experiments/smoke.toml");
    let done = Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(["lab", "run"])
        .arg(smoke)
        .args(["--prepare", "--out", "smoke"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    assert!(folder.path().join("smoke/jobs/baseline-0.json").is_file());
}
