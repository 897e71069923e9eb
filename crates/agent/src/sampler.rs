//! Reads /proc at fixed times while the machine boots, and keeps what it read.
//!
//! The logs have the form that bootchart's have had since 2004: a line with the
//! time since the boot in hundredths of a second, what the file held, and a blank
//! line. Nothing is left out of a file and nothing computed.
//!
//! It costs the boot as little as it can: one process without threads or
//! children, files that stay open, and a look at the list of processes only when
//! there are new ones, and only at its end. A thread of the kernel whose line was
//! the same twice is idle: every fourth reading reads it again, and the last line
//! stands for it meanwhile, which the `header` says.

use crate::clocks::boottime;
use crate::config::Sampling;
use crate::sys::read_kernel_file;
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, open, openat, seek};
use rustix::io::{Errno, pread};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
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

/// An idle thread of the kernel is read every so many readings.
const IDLE_EVERY: u32 = 4;

/// The whole list of processes is read every so many looks at it, its end else: a
/// process may get its number before another one, and stand in the list after it.
const WHOLE_LIST_EVERY: u32 = 10;

/// How much of the list of processes is read at a time: a hundred entries.
const LIST_BYTES: usize = 4096;

/// Readings of /proc.
#[derive(Debug)]
pub struct Sampler {
    proc: PathBuf,
    /// How many there were.
    readings: u32,
    left: usize,
    full_at: Option<Duration>,
    whole: Vec<(File, Log)>,
    missing: Vec<String>,
    processes: BTreeMap<u32, Process>,
    process_log: Log,
    /// `/proc/loadavg`, whose last number is that of the newest process.
    newest: Option<File>,
    newest_seen: u32,
    /// Whether a new number was seen at the last reading.
    look_again: bool,
    list: Option<List>,
    /// Processes that could not be opened although they were there.
    refused: u64,
    buffer: Vec<u8>,
}

/// A process that is there.
#[derive(Debug)]
struct Process {
    stat: OwnedFd,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Not read yet.
    New,
    Program,
    /// A thread of the kernel.
    Thread {
        /// What was last read of it.
        line: Vec<u8>,
        idle: bool,
    },
}

/// The list of processes: /proc itself, in which they stand by their numbers.
#[derive(Debug)]
struct List {
    folder: OwnedFd,
    /// Where the newest process stood in it, as the kernel says it.
    newest_at: u64,
    looks: u32,
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
            readings: 0,
            left: sampling.most_bytes,
            full_at: None,
            whole: Vec::new(),
            missing: Vec::new(),
            processes: BTreeMap::new(),
            process_log: Log::named(PROCESSES),
            newest: File::open(proc.join("loadavg")).ok(),
            newest_seen: 0,
            look_again: false,
            list: None,
            refused: 0,
            buffer: vec![0; READ_BYTES],
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match open(proc, flags, Mode::empty()) {
            Ok(folder) => {
                sampler.list = Some(List {
                    folder,
                    newest_at: 0,
                    looks: 0,
                });
            }
            Err(e) => sampler.missing.push(format!("/proc: {e}")),
        }
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
        let (log, reading) = (&mut self.process_log, self.readings);
        self.processes.retain(|pid, process| {
            // Not all idle ones at once: readings cost alike.
            let due = pid.wrapping_add(reading).is_multiple_of(IDLE_EVERY);
            process.read(due, buffer, log)
        });
        self.readings = reading.wrapping_add(1);
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
        let number = now.trim_ascii_end().rsplit(|b| *b == b' ').next();
        let number = number.and_then(number_of).unwrap_or(0);
        let is_new = number == 0 || number != self.newest_seen;
        // A number is given before the list has its process: it is looked for once more.
        if !is_new && !self.look_again {
            return;
        }
        self.look_again = is_new;
        // They begin again where there are no higher ones.
        let again = number < self.newest_seen;
        self.newest_seen = number;
        let Some(list) = &mut self.list else { return };
        let (processes, refused) = (&mut self.processes, &mut self.refused);
        let looked = list.look(number, again, |folder, pid, name| {
            if processes.contains_key(&pid) {
                return;
            }
            match open_stat(folder, name) {
                Ok(stat) => {
                    let kind = Kind::New;
                    processes.insert(pid, Process { stat, kind });
                }
                // It has gone meanwhile.
                Err(Errno::NOENT | Errno::SRCH) => {}
                Err(_) => *refused = refused.saturating_add(1),
            }
        });
        if looked.is_err() {
            *refused = refused.saturating_add(1);
        }
    }

    /// Gives what was read.
    #[must_use]
    pub fn finish(mut self) -> Samples {
        if self.refused > 0 {
            let n = self.refused;
            self.missing
                .push(format!("{n} attempts to open a process failed"));
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

impl Process {
    /// Puts its line into `log`. That of an idle thread of the kernel is read only
    /// where that is `due`. `false` if it has gone, which its file says (ESRCH).
    fn read(&mut self, due: bool, buffer: &mut [u8], log: &mut Log) -> bool {
        if let Kind::Thread { line, idle: true } = &self.kind
            && !due
        {
            log.push(line);
            return true;
        }
        let n = match pread(&self.stat, &mut *buffer, 0) {
            Ok(0) | Err(Errno::SRCH) => return false,
            Ok(n) => n,
            // It is there, and cannot be read now.
            Err(_) => return true,
        };
        let now = buffer.get(..n).unwrap_or_default();
        log.push(now);
        match &mut self.kind {
            Kind::New => {
                let (line, idle) = (now.to_vec(), false);
                self.kind = match is_kernel_thread(now) {
                    true => Kind::Thread { line, idle },
                    false => Kind::Program,
                };
            }
            Kind::Program => {}
            Kind::Thread { line, idle } => {
                let same = line == now;
                // A thread may become a program, and stand still then.
                if same && !*idle && !is_kernel_thread(now) {
                    self.kind = Kind::Program;
                } else {
                    *idle = same;
                    line.clear();
                    line.extend_from_slice(now);
                }
            }
        }
        true
    }
}

/// Whether this line of `stat` is a kernel thread's, by its flags (`PF_KTHREAD` of
/// `linux/sched.h`), the seventh field behind the name.
fn is_kernel_thread(line: &[u8]) -> bool {
    const PF_KTHREAD: u32 = 0x0020_0000;
    let name_ends = line.iter().rposition(|b| *b == b')').unwrap_or(line.len());
    let rest = line.get(name_ends..).unwrap_or_default();
    let flags = rest.split(|b| *b == b' ').nth(7).and_then(number_of);
    flags.is_some_and(|f| f & PF_KTHREAD != 0)
}

fn number_of(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Opens `NAME/stat` in `folder`.
fn open_stat(folder: &OwnedFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    const STAT: &[u8] = b"/stat\0";
    let name = name.to_bytes();
    // A number of 32 bits has at most ten digits.
    let mut path = [0; 16];
    let (first, rest) = path.split_at_mut_checked(name.len()).ok_or(Errno::INVAL)?;
    first.copy_from_slice(name);
    let rest = rest.get_mut(..STAT.len()).ok_or(Errno::INVAL)?;
    rest.copy_from_slice(STAT);
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| Errno::INVAL)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    openat(folder, path, flags, Mode::empty())
}

impl List {
    /// Gives every process that may be new, or all, to `each`; `newest` is the
    /// number of the newest.
    fn look(
        &mut self,
        newest: u32,
        all: bool,
        mut each: impl FnMut(&OwnedFd, u32, &CStr),
    ) -> rustix::io::Result<()> {
        let all = all || self.looks.is_multiple_of(WHOLE_LIST_EVERY);
        self.looks = self.looks.wrapping_add(1);
        // The list is in the order of the numbers.
        let mut at = if all { 0 } else { self.newest_at };
        seek(&self.folder, SeekFrom::Start(at))?;
        let mut room = [MaybeUninit::uninit(); LIST_BYTES];
        let mut entries = RawDir::new(&self.folder, &mut room);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            if let Some(pid) = number_of(entry.file_name().to_bytes()) {
                if pid <= newest {
                    self.newest_at = at;
                }
                each(&self.folder, pid, entry.file_name());
            }
            at = entry.next_entry_cookie();
        }
        Ok(())
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
        (
            "firstlight.idle_kernel_threads",
            format!("read every {IDLE_EVERY}th time; other samples repeat the last line"),
        ),
    ] {
        header.push_str(&format!("{key} = {value}\n"));
    }
    header.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::is_kernel_thread;

    #[test]
    fn threads_of_the_kernel_are_told_by_their_flags() {
        let thread = b"2 (kthread) d) S 0 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 20 0\n";
        let process = b"1 (systemd) S 0 1 1 0 -1 4194560 9 0 0 0 0 1 0 0 20 0\n";
        assert!(is_kernel_thread(thread));
        assert!(!is_kernel_thread(process));
        assert!(!is_kernel_thread(b"7 (cut"));
    }
}
