//! Reads /proc at fixed times while the machine boots, and keeps what it read.
//!
//! The logs have the form that bootchart's have had since 2004: a line with the
//! time since the boot in hundredths of a second, what the file held, and a blank
//! line. Nothing is left out of a file and nothing computed.
//!
//! It costs the boot as little as it can: one process without threads or
//! children, files that stay open, and a look at the list of processes only when
//! there are new ones.

use crate::clocks::boottime;
use crate::config::Sampling;
use crate::sys::read_kernel_file;
use rustix::io::{Errno, pread};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The logs of whole files: of which file, and under which name.
const WHOLE: [(&str, &str); 3] = [
    ("stat", "proc_stat.log"),
    ("diskstats", "proc_diskstats.log"),
    ("meminfo", "proc_meminfo.log"),
];

/// The log of every process's `stat`.
const PROCESSES: &str = "proc_ps.log";

/// What is kept grows by pieces of this many bytes, so that it is never copied.
const PIECE_BYTES: usize = 256 << 10;

/// `/proc/PID/stat` is one line of at most 52 numbers and a short name.
const STAT_BYTES: usize = 2048;

/// The most of a whole file that is read at a time.
const READ_BYTES: usize = 64 << 10;

/// Readings of /proc.
#[derive(Debug)]
pub struct Sampler {
    proc: PathBuf,
    left: usize,
    full_at: Option<Duration>,
    whole: Vec<(File, Log)>,
    missing: Vec<String>,
    processes: BTreeMap<u32, File>,
    process_log: Log,
    /// `/proc/loadavg`, whose last number is that of the newest process.
    newest: Option<File>,
    newest_seen: Vec<u8>,
    /// Processes that could not be opened although they were there.
    refused: u64,
    buffer: Vec<u8>,
}

/// A log, in pieces.
#[derive(Debug, Default)]
struct Log {
    name: &'static str,
    pieces: Vec<Vec<u8>>,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// The logs, and the `header` that names the machine: name and bytes.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// When there was no more room, since the boot; `None`: there was.
    pub full_at: Option<Duration>,
    /// What could not be read, a sentence each.
    pub missing: Vec<String>,
}

impl Sampler {
    /// Opens the files of `proc`, which is /proc.
    #[must_use]
    pub fn new(proc: &Path, sampling: Sampling) -> Self {
        let mut sampler = Self {
            proc: proc.to_owned(),
            left: sampling.most_bytes,
            full_at: None,
            whole: Vec::new(),
            missing: Vec::new(),
            processes: BTreeMap::new(),
            process_log: Log::named(PROCESSES),
            newest: File::open(proc.join("loadavg")).ok(),
            newest_seen: Vec::new(),
            refused: 0,
            buffer: vec![0; READ_BYTES],
        };
        for (file, log) in WHOLE {
            match File::open(proc.join(file)) {
                Ok(opened) => sampler.whole.push((opened, Log::named(log))),
                Err(e) => sampler.missing.push(format!("/proc/{file}: {e}")),
            }
        }
        // A file a process stays open.
        let most = getrlimit(Resource::Nofile).maximum;
        let limit = Rlimit {
            current: most,
            maximum: most,
        };
        // If it may not, some processes are missing, and that is said.
        let _ = setrlimit(Resource::Nofile, limit);
        sampler
    }

    /// Reads all, and keeps it; does nothing once there is no more room.
    pub fn sample(&mut self) {
        if self.full_at.is_some() {
            return;
        }
        for i in 0..self.whole.len() {
            let Some((file, log)) = self.whole.get_mut(i) else {
                continue;
            };
            log.begin();
            let mut at = 0;
            // Until nothing more comes: the kernel gives some files in pieces.
            while let Ok(n @ 1..) = pread(&*file, &mut self.buffer, at) {
                log.push(self.buffer.get(..n).unwrap_or_default());
                at += n as u64;
            }
            log.push(b"\n");
        }
        self.look_for_processes();
        self.process_log.begin();
        let buffer = self.buffer.get_mut(..STAT_BYTES).unwrap_or_default();
        let log = &mut self.process_log;
        // A process that has gone says so (ESRCH).
        self.processes
            .retain(|_, file| match pread(file, &mut *buffer, 0) {
                Ok(n) => {
                    log.push(buffer.get(..n).unwrap_or_default());
                    n > 0
                }
                Err(_) => false,
            });
        log.push(b"\n");
        let kept: usize = self.logs().map(Log::bytes).sum();
        if kept >= self.left {
            self.full_at = Some(boottime());
        }
    }

    /// Whether more can be kept.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.full_at.is_some()
    }

    fn logs(&self) -> impl Iterator<Item = &Log> {
        let whole = self.whole.iter().map(|w| &w.1);
        whole.chain([&self.process_log])
    }

    /// Opens processes that are new, if there may be any.
    fn look_for_processes(&mut self) {
        // "0.20 0.18 0.12 1/80 11206": the last changes with every new process.
        // The numbers before it change too, now and then, which does no harm.
        let newest = self.newest.as_ref();
        let read = newest.and_then(|f| pread(f, &mut self.buffer, 0).ok());
        let now = read.and_then(|n| self.buffer.get(..n)).unwrap_or_default();
        let number = now.rsplit(|b| *b == b' ').next().unwrap_or_default();
        if !number.is_empty() && number == self.newest_seen {
            return;
        }
        self.newest_seen = number.to_vec();
        let Ok(folder) = fs::read_dir(&self.proc) else {
            return;
        };
        for entry in folder.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|n| n.parse::<u32>().ok()) else {
                continue;
            };
            if self.processes.contains_key(&pid) {
                continue;
            }
            match File::open(self.proc.join(name).join("stat")) {
                Ok(file) => {
                    self.processes.insert(pid, file);
                }
                // It has gone meanwhile.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) if e.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {}
                Err(_) => self.refused = self.refused.saturating_add(1),
            }
        }
    }

    /// Gives what was read.
    #[must_use]
    pub fn finish(mut self) -> Samples {
        if self.refused > 0 {
            let n = self.refused;
            self.missing
                .push(format!("processes could not be opened {n} times"));
        }
        let mut files = vec![("header", header(&self.proc))];
        let logs = self.whole.into_iter().map(|w| w.1);
        for log in logs.chain([self.process_log]) {
            if !log.pieces.is_empty() {
                files.push((log.name, log.pieces.concat()));
            }
        }
        Samples {
            files,
            full_at: self.full_at,
            missing: self.missing,
        }
    }
}

impl Log {
    fn named(name: &'static str) -> Self {
        Self {
            name,
            pieces: Vec::new(),
        }
    }

    /// The line with the time.
    fn begin(&mut self) {
        let stamp = boottime().as_millis() / 10;
        self.push(format!("{stamp}\n").as_bytes());
    }

    fn push(&mut self, bytes: &[u8]) {
        match self.pieces.last_mut() {
            Some(last) if last.len() + bytes.len() <= last.capacity() => {
                last.extend_from_slice(bytes);
            }
            _ => {
                let mut next = Vec::with_capacity(PIECE_BYTES.max(bytes.len()));
                next.extend_from_slice(bytes);
                self.pieces.push(next);
            }
        }
    }

    fn bytes(&self) -> usize {
        self.pieces.iter().map(Vec::len).sum()
    }
}

/// The machine in words, as bootchart's `header` has it.
fn header(proc: &Path) -> Vec<u8> {
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    let file = |path: &Path| {
        let bytes = read_kernel_file(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    };
    let release = file(Path::new("/etc/os-release"));
    let release = release
        .lines()
        .find_map(|l| l.strip_prefix("PRETTY_NAME="))
        .map_or("", |name| name.trim_matches('"'));
    let cpus = file(&proc.join("cpuinfo"));
    let of_cpu = |l: &&str| l.starts_with("model name") || l.starts_with("Hardware");
    let cpu = cpus.lines().find(of_cpu).unwrap_or_default();
    let uname_words = [
        text(uname.sysname()),
        text(uname.release()),
        text(uname.version()),
        text(uname.machine()),
    ];
    let mut header = String::from("version = 0.8\n");
    for (key, value) in [
        (
            "title",
            format!("Boot chart for {}", text(uname.nodename())),
        ),
        ("system.uname", uname_words.join(" ")),
        ("system.release", release.to_owned()),
        ("system.cpu", cpu.to_owned()),
        ("system.kernel.options", file(&proc.join("cmdline"))),
    ] {
        header.push_str(&format!("{key} = {value}\n"));
    }
    header.into_bytes()
}
