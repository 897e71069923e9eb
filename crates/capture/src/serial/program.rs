//! Programs that are started beside: what switches the power, and what is
//! listened to.

use super::reader::{Heard, now_ns};
use crate::guarded::{self, Guard};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

/// How long a program that is told to end may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// A command line of the user's, for the shell, in a process group of its own:
/// what it starts can be ended with it, and Ctrl-C reaches only this program.
fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .stdin(Stdio::null())
        .process_group(0);
    command
}

/// What a command says goes to standard error: standard output is for results.
fn to_stderr() -> Stdio {
    io::stderr()
        .as_fd()
        .try_clone_to_owned()
        .map_or_else(|_| Stdio::null(), Stdio::from)
}

/// A power command that runs.
#[derive(Debug)]
pub struct Power {
    group: Option<Pid>,
}

impl Power {
    /// Starts a command; how it went is [told](Heard::Power).
    pub fn start(line: &str, to: Sender<Heard>) -> Self {
        let began_ns = now_ns();
        let mut child = match shell(line).stdout(to_stderr()).spawn() {
            Ok(child) => child,
            Err(why) => {
                to.send(Heard::Power {
                    began_ns,
                    ended_ns: now_ns(),
                    status: Err(why),
                })
                .ok();
                return Self { group: None };
            }
        };
        let group = group(&child);
        thread::spawn(move || {
            let status = child.wait();
            let ended_ns = now_ns();
            to.send(Heard::Power {
                began_ns,
                ended_ns,
                status,
            })
            .ok();
        });
        Self { group }
    }

    /// Ends the command, if it still runs.
    pub fn end(&self) {
        signal(self.group, Signal::TERM);
    }
}

/// Runs a command to its end.
///
/// # Errors
/// If it cannot be started.
pub fn run(line: &str) -> io::Result<ExitStatus> {
    shell(line).stdout(to_stderr()).status()
}

/// A program whose output is a console.
#[derive(Debug)]
pub struct Program {
    child: Child,
    group: Option<Pid>,
    /// It ends with this program, also when that is killed.
    _guard: Guard,
}

impl Program {
    /// Starts a program; what it writes can be read from the pipe.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(line: &str) -> io::Result<(Self, io::PipeReader)> {
        let (reader, writer) = io::pipe()?;
        let errors = writer.try_clone()?;
        let (mut command, guard) = guarded::shell(line)?;
        let child = command.stdout(writer).stderr(errors).spawn()?;
        let group = group(&child);
        let program = Self {
            child,
            group,
            _guard: guard,
        };
        Ok((program, reader))
    }

    /// Ends it, if it has not ended by itself: how it had, if so.
    pub fn end(&mut self) -> Option<ExitStatus> {
        if let Ok(Some(status)) = self.child.try_wait() {
            // What it started may still be there.
            signal(self.group, Signal::TERM);
            return Some(status);
        }
        signal(self.group, Signal::TERM);
        if wait(&mut self.child, PATIENCE).is_none() {
            signal(self.group, Signal::KILL);
            self.child.wait().ok();
        }
        None
    }

    /// Waits a moment for a program that has closed its output.
    pub fn closed(&mut self) {
        wait(&mut self.child, PATIENCE);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}

fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let end = Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(5)),
            _ => return None,
        }
    }
}

fn group(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // It may be gone already.
        kill_process_group(group, signal).ok();
    }
}
