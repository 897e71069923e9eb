//! A real Slurm on loopback: munged, slurmctld and two slurmd, in a folder of their own.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What it needs.
pub const PROGRAMS: [&str; 6] = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo"];

const NODES: [&str; 2] = ["n1", "n2"];

/// How long its programs may take to answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// The file of a program.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(more)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// The running programs; all end with it.
pub struct Cluster {
    folder: tempfile::TempDir,
    munge: Child,
    controller: Child,
    nodes: Vec<(&'static str, Child)>,
}

impl Cluster {
    /// Starts it; the jobs of a node may have this folder as their disk: the first task of
    /// each array for temporary files, and the others for the cache.
    pub fn start(disk: Option<(&str, &Path)>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["munge", "state", "spool/n1", "spool/n2"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let key: Vec<u8> = (0..1024_u32).map(|_| fastrand::u8(..)).collect();
        fs::write(at("munge/key"), key).unwrap();
        for (name, mode) in [("munge/key", 0o400), ("munge", 0o711), ("", 0o755)] {
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::write(
            at("slurm.conf"),
            Self::config(folder.path(), disk.is_some()),
        )
        .unwrap();
        if let Some((node, folder)) = disk {
            let line = format!(
                "#!/bin/sh\n[ \"$SLURMD_NODENAME\" = {node} ] || exit 0\n\
                 variable=FIRSTLIGHT_CACHE\n\
                 [ \"$SLURM_ARRAY_TASK_ID\" != 0 ] || variable=TMPDIR\n\
                 echo \"export $variable={}\"\n",
                folder.display()
            );
            fs::write(at("prolog"), line).unwrap();
            fs::set_permissions(at("prolog"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let munge = Command::new(find("munged").unwrap())
            .args(["--foreground", "--force"])
            .args(["key", "socket", "pid", "log", "seed"].map(|name| {
                let option = if matches!(name, "key" | "pid" | "log" | "seed") {
                    format!("{name}-file")
                } else {
                    name.to_owned()
                };
                format!("--{option}={}", at("munge").join(name).display())
            }))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("munge", || at("munge/socket").exists());
        let controller = controller(folder.path());
        let mut cluster = Self {
            folder,
            munge,
            controller,
            nodes: Vec::new(),
        };
        for node in NODES {
            cluster.start_node(node);
        }
        wait_until("two idle nodes", || {
            cluster.says("sinfo", &["--noheader", "--Node", "--format=%N %T"])
                == "n1 idle\nn2 idle\n"
        });
        cluster
    }

    fn config(folder: &Path, prolog: bool) -> String {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap();
        let at = |name: &str| folder.join(name).display().to_string();
        let [controller, n1, n2] = [(); 3].map(|()| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        });
        let mut text = format!(
            "ClusterName=firstlight\nSlurmctldHost={host}(127.0.0.1)\n\
             SlurmctldPort={controller}\nAuthType=auth/munge\nAuthInfo=socket={}\n\
             CryptoType=crypto/munge\nSlurmUser=root\nSlurmdUser=root\n\
             StateSaveLocation={}\nSlurmdSpoolDir={}/%n\nSlurmctldPidFile={}\n\
             SlurmdPidFile={}-%n\nSlurmctldLogFile={}\nSlurmdLogFile={}-%n\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             SchedulerType=sched/backfill\n\
             SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\n\
             SlurmdTimeout=15\nMinJobAge=10\nKillWait=2\nMpiDefault=none\nJobRequeue=1\n",
            at("munge/socket"),
            at("state"),
            at("spool"),
            at("slurmctld.pid"),
            at("slurmd.pid"),
            at("slurmctld.log"),
            at("slurmd.log"),
        );
        if prolog {
            text += &format!("TaskProlog={}\n", at("prolog"));
        }
        for (node, port) in NODES.iter().zip([n1, n2]) {
            text += &format!(
                "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 \
                 RealMemory=2000 State=UNKNOWN\n"
            );
        }
        text + "PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n"
    }

    /// Puts the cluster into the environment of a program that talks to it.
    pub fn environment(&self, command: &mut Command) {
        command.env("SLURM_CONF", self.conf());
    }

    fn conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    fn says(&self, program: &str, words: &[&str]) -> String {
        let mut command = Command::new(program);
        self.environment(command.args(words));
        let done = command.output().unwrap();
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Starts a node's program.
    pub fn start_node(&mut self, node: &'static str) {
        let mut command = Command::new(find("slurmd").unwrap());
        self.environment(command.args(["-D", "-N", node]));
        self.nodes.push((node, quiet(command)));
    }

    /// Whether an emulator runs on the node.
    pub fn runs_on(&self, node: &str) -> bool {
        self.processes_of(node).iter().any(|pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name.starts_with("qemu-system")
        })
    }

    /// Takes the node's power: all its programs are killed at once.
    pub fn cut(&mut self, node: &str) {
        if let Some(at) = self.nodes.iter().position(|n| n.0 == node) {
            let (_, mut program) = self.nodes.remove(at);
            let _ = program.kill();
            let _ = program.wait();
        }
        let mut all = self.processes_of(node);
        // Slurm's own program for a task is the parent of the task's.
        let steps = all.iter().filter_map(|pid| parent(*pid));
        let is_step = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|c| c.contains("slurmstepd"))
        };
        let steps: Vec<u32> = steps.filter(is_step).collect();
        all.extend(steps);
        for pid in all {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).output();
        }
    }

    /// The processes of this cluster's jobs on a node.
    fn processes_of(&self, node: &str) -> Vec<u32> {
        let [conf, node] = [
            format!("SLURM_CONF={}", self.conf().display()),
            format!("SLURMD_NODENAME={node}"),
        ];
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let bytes = fs::read(entry.path().join("environ")).ok()?;
            let mut variables = bytes.split(|b| *b == 0);
            let has = |wanted: &str, v: &[u8]| v == wanted.as_bytes();
            let mine = variables.clone().any(|v| has(&conf, v));
            (mine && variables.any(|v| has(&node, v))).then_some(pid)
        })
        .collect()
    }

    /// Kills the controller and starts it again; it reads what it saved.
    pub fn restart_controller(&mut self) {
        let _ = self.controller.kill();
        let _ = self.controller.wait();
        std::thread::sleep(Duration::from_secs(1));
        self.controller = controller(self.folder.path());
    }
}

fn controller(folder: &Path) -> Child {
    let mut command = Command::new(find("slurmctld").unwrap());
    command
        .arg("-D")
        .env("SLURM_CONF", folder.join("slurm.conf"));
    quiet(command)
}

fn quiet(mut command: Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn parent(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < PATIENCE, "{what} did not come");
        std::thread::sleep(Duration::from_millis(100));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.says("scancel", &["--me"]);
        for node in NODES {
            self.cut(node);
        }
        for program in [&mut self.controller, &mut self.munge] {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}
