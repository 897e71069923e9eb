//! The adapter of labgrid: a Python process that holds the place.
//!
//! It is labgrid's own package that acquires the place and drives its power, in one
//! process that lives as long as the run (`python/firstlight_labgrid`). Requests and
//! answers are lines of JSON over its pipes. When the pipe closes, however this program
//! ended, the process releases the place. Console bytes do not pass through it: it names
//! the console's address, and this program listens there itself.

use super::adapter::{Adapter, Deployment, Switched};
use super::commands::Commands;
use super::error::BoardError;
use super::file::{Board, Link};
use crate::serial::input::Place;
use crate::serial::listen::Console;
use crate::serial::port::Settings;
use crate::serial::reader::now_ns;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How long the process may take to release the place.
const RELEASE: Duration = Duration::from_secs(20);

/// A place that is acquired.
pub struct Labgrid {
    place: String,
    settings: Settings,
    limit: Duration,
    /// Deploying is done by the file's commands.
    commands: Commands,
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<String>,
}

impl Labgrid {
    /// Starts the process, which acquires the place.
    ///
    /// # Errors
    /// If it cannot be started or the place cannot be acquired.
    pub fn acquire(board: &Board) -> Result<Self, BoardError> {
        let Link::Labgrid {
            place,
            coordinator,
            python,
            limit,
            settings,
        } = &board.link
        else {
            return Err(std::io::Error::other("this board is not reached by labgrid").into());
        };
        let failed = |why: String| BoardError::Labgrid {
            place: place.clone(),
            why,
        };
        let mut command = Command::new(python);
        command
            .args(["-m", "firstlight_labgrid"])
            // Ctrl-C is this program's; the process ends with its pipe.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(|e| {
            failed(format!(
                "cannot start `{python} -m firstlight_labgrid`: {e}; set `labgrid.python` to a \
                 Python that has the package"
            ))
        })?;
        let out = child.stdout.take();
        let (lines, from) = mpsc::channel();
        thread::spawn(move || {
            for line in out.into_iter().flat_map(|o| BufReader::new(o).lines()) {
                let Ok(line) = line else { return };
                if lines.send(line).is_err() {
                    return;
                }
            }
        });
        let mut labgrid = Self {
            place: place.clone(),
            settings: *settings,
            limit: *limit,
            commands: Commands::new(board),
            to: child.stdin.take(),
            child,
            from,
        };
        let acquired = labgrid.ask(&json!({
            "do": "acquire",
            "place": place,
            "coordinator": coordinator,
        }))?;
        // With these, `labgrid-client` in a command of the file has the place, too.
        let mut more = vec![("LG_PLACE", place.clone())];
        for (key, name) in [("coordinator", "LG_COORDINATOR"), ("user", "LG_USERNAME")] {
            let value = acquired.get(key).and_then(Value::as_str);
            more.extend(value.map(|v| (name, v.to_owned())));
        }
        labgrid.commands.also(more);
        Ok(labgrid)
    }

    /// One request, and its answer.
    fn ask(&mut self, request: &Value) -> Result<Value, BoardError> {
        let place = self.place.clone();
        let failed = |why: String| BoardError::Labgrid {
            place: place.clone(),
            why,
        };
        let gone = || {
            failed(
                "the process `firstlight_labgrid` ended; run `python -m firstlight_labgrid` by \
                 hand to see why"
                    .to_owned(),
            )
        };
        let to = self.to.as_mut().ok_or_else(gone)?;
        writeln!(to, "{request}")
            .and_then(|()| to.flush())
            .map_err(|_| gone())?;
        let line = match self.from.recv_timeout(self.limit) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                let limit = self.limit.as_secs_f64();
                let what = request.get("do").and_then(Value::as_str);
                // An answer that comes later would be taken for that of the next request.
                self.to = None;
                return Err(failed(format!(
                    "`{}` took longer than {limit} s; raise `labgrid.limit_s` or check the exporter",
                    what.unwrap_or_default()
                )));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(gone()),
        };
        let answer: Value = serde_json::from_str(&line)
            .map_err(|e| failed(format!("an answer is no JSON: {e}: {line}")))?;
        match answer.get("error").and_then(Value::as_str) {
            Some(why) => Err(failed(why.to_owned())),
            None => Ok(answer),
        }
    }
}

impl Adapter for Labgrid {
    fn description(&self) -> String {
        format!("labgrid place {}", self.place)
    }

    fn switches_off(&self) -> bool {
        true
    }

    fn power_on(&mut self) -> Result<Switched, BoardError> {
        let began_ns = now_ns();
        self.ask(&json!({ "do": "power_on" }))?;
        Ok(Switched {
            began_ns,
            ended_ns: now_ns(),
        })
    }

    fn power_off(&mut self) -> Result<(), BoardError> {
        self.ask(&json!({ "do": "power_off" })).map(drop)
    }

    fn console(&mut self) -> Result<(Console, Duration), BoardError> {
        let answer = self.ask(&json!({ "do": "console" }))?;
        let at = answer.get("at").and_then(Value::as_str).unwrap_or_default();
        let place = Place::parse(OsStr::new(at));
        Ok((Console::At(place, self.settings), Duration::from_secs(5)))
    }

    fn mount(&mut self) -> Result<(), BoardError> {
        self.commands.mount()
    }

    fn unmount(&mut self) -> Result<(), BoardError> {
        self.commands.unmount()
    }

    fn deploy(&mut self, what: &Deployment) -> Result<(), BoardError> {
        self.commands.deploy(what)
    }

    fn restore(&mut self, what: &Deployment) -> Result<(), BoardError> {
        self.commands.restore(what)
    }

    fn recover(&mut self, what: &Deployment) -> Result<bool, BoardError> {
        self.commands.recover(what)
    }

    fn evidence(
        &mut self,
        key: &'static str,
        command: &str,
        limit: Duration,
        what: &Deployment,
    ) -> Result<Vec<u8>, BoardError> {
        self.commands.evidence(key, command, limit, what)
    }
}

impl Drop for Labgrid {
    fn drop(&mut self) {
        // The end of its input tells the process to release the place.
        self.to = None;
        let end = Instant::now() + RELEASE;
        while Instant::now() < end {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
