//! Commands of a board's file, for the shell, with a limit.

use crate::guarded;
use crate::serial::listen::words;
use crate::serial::reader::now_ns;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How often is looked whether a command shall stop.
const LOOK: Duration = Duration::from_millis(20);

/// How long a command that is told to end may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// How much of a command's output is kept, in bytes.
const OUTPUT: u64 = 1 << 20;

/// A command, and how it is run.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The command line.
    pub command: &'a str,
    /// The folder that it runs in.
    pub folder: &'a Path,
    /// Variables of its environment.
    pub envs: &'a [(&'static str, String)],
    /// How long it may take.
    pub limit: Duration,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Done {
    /// How.
    pub status: ExitStatus,
    /// `CLOCK_MONOTONIC` before it was started, in nanoseconds.
    pub began_ns: u64,
    /// `CLOCK_MONOTONIC` after it ended, in nanoseconds.
    pub ended_ns: u64,
    /// What it wrote to standard output and standard error, up to 1 MiB.
    pub output: Vec<u8>,
}

/// Why a command has not ended by itself.
#[derive(Debug)]
pub enum AskError {
    /// It could not be started, or its output could not be kept.
    Start(io::Error),
    /// It took too long, and was ended.
    Limit(Duration),
    /// It was to stop.
    Stopped,
}

impl Done {
    /// Fails with what it said if it did not succeed.
    pub fn success(self) -> Result<Self, String> {
        match self.status.success() {
            true => Ok(self),
            false => Err(with_last_line(&words(self.status), &self.output)),
        }
    }
}

impl AskError {
    /// How it went, in words that follow the command.
    pub fn how(&self) -> String {
        match self {
            Self::Start(why) => format!("cannot start: {why}"),
            Self::Limit(limit) => format!("took longer than {} s", limit.as_secs_f64()),
            Self::Stopped => "was stopped".to_owned(),
        }
    }
}

/// The words, and the last line that a command wrote.
fn with_last_line(how: &str, output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let last = text.lines().rev().map(str::trim).find(|l| !l.is_empty());
    match last {
        Some(last) => {
            let short: String = last.chars().take(200).collect();
            format!("{how}: {short}")
        }
        None => how.to_owned(),
    }
}

/// A shell with a command, in a process group of its own.
fn shell(command: &str, folder: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .current_dir(folder)
        .stdin(Stdio::null())
        .process_group(0);
    shell
}

/// The process group of such a shell.
fn group(shell: &Child) -> Option<Pid> {
    i32::try_from(shell.id()).ok().and_then(Pid::from_raw)
}

/// Runs a command until it writes a line, and ends it: `CLOCK_MONOTONIC` when the line came, in
/// nanoseconds. `None` if it ends without one, cannot be started, or is to stop.
pub fn first_line(command: &str, folder: &Path, stop: &dyn Fn() -> bool) -> Option<u64> {
    // What watches a board holds its device: it must not outlive this program.
    let (mut shell, _guard) = guarded::shell(command).ok()?;
    let mut child = shell
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let group = group(&child);
    let mut output = BufReader::new(child.stdout.take()?);
    let (to, from) = mpsc::channel();
    let reading = thread::spawn(move || {
        let mut line = Vec::new();
        let read = output.by_ref().take(OUTPUT).read_until(b'\n', &mut line);
        let came = read.is_ok() && line.ends_with(b"\n");
        to.send(came.then(now_ns)).ok();
    });
    let line = loop {
        match from.recv_timeout(LOOK) {
            Ok(line) => break line,
            Err(RecvTimeoutError::Timeout) if !stop() => {}
            Err(_) => break None,
        }
    };
    if let Some(group) = group {
        kill_process_group(group, Signal::KILL).ok();
    }
    child.wait().ok();
    reading.join().ok();
    line
}

/// Runs a command to its end, in a process group of its own: what it leaves running
/// stays, and Ctrl-C does not reach it. `stop` is asked again and again.
pub fn ask(asked: &Asked<'_>, stop: &dyn Fn() -> bool) -> Result<Done, AskError> {
    // Not a pipe: a program that the command leaves in the background would hold it open.
    let mut kept = tempfile::tempfile().map_err(AskError::Start)?;
    let out = kept.try_clone().map_err(AskError::Start)?;
    let errors = kept.try_clone().map_err(AskError::Start)?;
    let began_ns = now_ns();
    let mut child = shell(asked.command, asked.folder)
        .envs(asked.envs.iter().map(|(k, v)| (*k, v.as_str())))
        .stdout(out)
        .stderr(errors)
        .spawn()
        .map_err(AskError::Start)?;
    let group = group(&child);
    let (to, from) = mpsc::channel();
    let waiting = thread::spawn(move || {
        let status = child.wait();
        // Nobody may wait for it any more.
        to.send((status, now_ns())).ok();
    });
    let end = Instant::now() + asked.limit;
    let ended = loop {
        match from.recv_timeout(LOOK) {
            Ok(ended) => break Ok(ended),
            Err(RecvTimeoutError::Timeout) if stop() => break Err(AskError::Stopped),
            Err(RecvTimeoutError::Timeout) if Instant::now() >= end => {
                break Err(AskError::Limit(asked.limit));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                break Err(AskError::Start(io::Error::other("nobody waits for it")));
            }
        }
    };
    if ended.is_err()
        && let Some(group) = group
    {
        kill_process_group(group, Signal::TERM).ok();
        if from.recv_timeout(PATIENCE).is_err() {
            kill_process_group(group, Signal::KILL).ok();
        }
    }
    let (status, ended_ns) = ended?;
    waiting.join().ok();
    let status = status.map_err(AskError::Start)?;
    let mut output = Vec::new();
    kept.seek(SeekFrom::Start(0))
        .and_then(|_| kept.take(OUTPUT).read_to_end(&mut output))
        .map_err(AskError::Start)?;
    Ok(Done {
        status,
        began_ns,
        ended_ns,
        output,
    })
}
