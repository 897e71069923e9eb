//! One measured boot: power off, a pause, power on, and listening.

use super::adapter::{Adapter, Recorded, Switched};
use super::command::first_line;
use super::error::BoardError;
use super::file::Board;
use super::light::{FirstLight, Probe, WAKE_NS};
use super::listening::Listening;
use super::seen::{End, Seen};
use crate::serial::input::{Input, InputError};
use crate::serial::listen::Console;
use crate::serial::port::latency_ms;
use crate::serial::program::Program;
use crate::serial::reader::{Heard, Reader, now_ns};
use crate::serial::take::{self, LOG, RAW};
use agent::capture::{MANIFEST, Member, NoteInfo};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A line that has been quiet for this long may be a prompt.
const QUIET: Duration = Duration::from_millis(100);

/// How long the supply may take to come up after the power command has ended.
const SUPPLY: Duration = Duration::from_secs(5);

/// How long a console is open before power-on, unless the board is off for a shorter time.
const SETTLE: Duration = Duration::from_millis(500);

/// One who watches a boot.
pub trait Watcher {
    /// The console has grown to this many bytes; its last line.
    fn console(&mut self, bytes: u64, last_line: &str);

    /// Whether the user wants to end.
    fn stops(&self) -> bool;
}

/// One measured boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// For how long the board was without power, in nanoseconds; `None`: the power
    /// command alone knows.
    pub off_ns: Option<u64>,
    /// How long the command that switched the power on took: zero, its end, may be late
    /// by this much, in nanoseconds.
    pub power_error_ns: u64,
    /// First light, from power-on.
    pub light: Option<Seen>,
    /// From the loader's first byte to first light, in nanoseconds.
    pub light_from_loader_ns: Option<u64>,
    /// Whether the loader's line, which the board's file describes, did not come.
    pub loader_missed: bool,
    /// How often the board was reset after power-on.
    pub resets: u32,
    /// What the console showed of a fallback slot.
    pub fallback: Option<String>,
    /// How it ended.
    pub end: End,
    /// The last line of the console that was not empty.
    pub last_line: String,
    /// The stamped log.
    pub log: Vec<u8>,
    /// The console's bytes.
    pub raw: Vec<u8>,
    /// Files of those who recorded the boot, with their names.
    pub files: Vec<Member>,
}

impl Cycle {
    /// From power-on to first light, in nanoseconds; `None`: first light did not come, or before
    /// the power command had ended, so that power-on is not known.
    #[must_use]
    pub fn light_from_power_ns(&self) -> Option<u64> {
        self.light.map(|l| l.at_ns).filter(|ns| *ns > 0)
    }

    /// Why this boot says nothing of its variant, if so. A boot that was reset is another
    /// boot than the one that was measured from power-on.
    #[must_use]
    pub fn void(&self, allowed_resets: u32) -> Option<String> {
        let after = match self.last_line.as_str() {
            "" => "the console was empty".to_owned(),
            line => {
                let short: String = line.chars().take(120).collect();
                format!("the last line was `{short}`")
            }
        };
        let resets = self.resets;
        match &self.end {
            End::Hang => Some(format!("hang: no first light within the limit; {after}")),
            End::Silent => Some(format!("hang: the console was silent; {after}")),
            End::Panic(text) => Some(format!("panic: the console showed `{text}`")),
            End::Loop => Some(format!("boot loop: {resets} resets without first light")),
            End::Closed(why) => Some(format!("console: {why}; {after}")),
            End::Full => Some("noise: the console wrote more than 64 MiB".to_owned()),
            End::Stopped => Some("stopped: the run was interrupted".to_owned()),
            End::Light => {
                if let Some(text) = &self.fallback {
                    return Some(format!("fallback: the console showed `{text}`"));
                }
                if self.light_from_power_ns().is_none() && self.light_from_loader_ns.is_none() {
                    return Some(
                        "power: first light came before the power command ended, and there is no \
                         loader's line to count from; use a command that returns as soon as the \
                         power is on"
                            .to_owned(),
                    );
                }
                if self.loader_missed {
                    return Some(
                        "console: first light came without a line that matches `boot.loader`, so \
                         the console lost its beginning, or the pattern is wrong"
                            .to_owned(),
                    );
                }
                (resets > allowed_resets).then(|| {
                    format!(
                        "reset: the board was reset {resets} times after power-on, so first light \
                         belongs to boot {}",
                        resets.saturating_add(1)
                    )
                })
            }
        }
    }

    /// The capture of this boot: manifest, stamped log, raw bytes.
    ///
    /// # Errors
    /// If the manifest cannot become JSON.
    pub fn members(
        &self,
        taken_by: &str,
        machine: &str,
        cmdline: &str,
        notes: &[String],
    ) -> Result<Vec<Member>, serde_json::Error> {
        let mut manifest = take::manifest(taken_by);
        machine.clone_into(&mut manifest.machine);
        cmdline.clone_into(&mut manifest.cmdline);
        manifest.notes = notes
            .iter()
            .map(|text| NoteInfo {
                kind: "board".to_owned(),
                text: text.clone(),
            })
            .collect();
        let mut json = serde_json::to_vec_pretty(&manifest)?;
        json.push(b'\n');
        let mut members = vec![
            (MANIFEST.to_owned(), json),
            (LOG.to_owned(), self.log.clone()),
            (RAW.to_owned(), self.raw.clone()),
        ];
        members.extend(self.files.iter().cloned());
        Ok(members)
    }
}

/// Switches the board off for its off time and on, and listens until its boot ends.
/// `watcher` is told how the console grows, and may end the boot. `off_since` is when the board
/// was switched off, on `CLOCK_MONOTONIC`, if it is off already: its off time counts from there.
///
/// # Errors
/// If the power cannot be switched or the console cannot be opened. The board may be on
/// then. A boot that fails is a [`Cycle`].
pub fn measure(
    adapter: &mut dyn Adapter,
    board: &Board,
    mut off_since: Option<u64>,
    watcher: &mut dyn Watcher,
) -> Result<Cycle, BoardError> {
    let light = &board.boot.first_light;
    if let Some(recorded) = adapter.recorded(&|| watcher.stops())? {
        return from_record(board, recorded);
    }
    let mut tries = board.power_tries.max(1);
    let (off_ns, mut ears, power) = loop {
        tries -= 1;
        match switch(adapter, board, off_since) {
            // It may have been on meanwhile.
            Err(BoardError::Command { .. } | BoardError::Labgrid { .. }) if tries > 0 => {
                off_since = None;
            }
            switched => break switched?,
        }
    };
    let start = ears.start_ns;
    let since = |ns: u64| ns.saturating_sub(start);
    let mut listening = Listening::begin(&board.boot, light, ears.line)?;
    listening.power(since(power.began_ns), since(power.ended_ns))?;
    let probe = Probe::start(light, board.folder(), ears.to.clone());
    let end = ears.watch(board, power, &mut listening, watcher)?;
    drop(probe);
    let zero = since(power.ended_ns);
    let late = |l: &Seen| match (board.boot.light_error, light) {
        (Some(known), _) => u64::try_from(known.as_nanos()).unwrap_or(u64::MAX),
        (None, FirstLight::Console(_)) => ears.late_ns,
        (None, _) => l.error_ns,
    };
    let light = listening.light().map(|l| Seen {
        at_ns: l.at_ns.saturating_sub(zero),
        error_ns: late(&l),
    });
    let lost = ears.input.lost();
    drop(ears);
    Ok(Cycle {
        off_ns,
        power_error_ns: power.ended_ns.saturating_sub(power.began_ns),
        light,
        ..heard(listening, end, &lost)?
    })
}

/// What only the console decides of a cycle; the power is left open.
fn heard(
    listening: Listening,
    end: End,
    lost: &[(&'static str, u32)],
) -> Result<Cycle, BoardError> {
    let from_loader = listening.light().zip(listening.loader_ns());
    let light_from_loader_ns = from_loader.and_then(|(l, from)| l.at_ns.checked_sub(from));
    let loader_missed = listening.misses_loader();
    let resets = listening.resets();
    let fallback = listening.fallback().map(str::to_owned);
    let last_line = listening.last_line().to_owned();
    let (log, raw) = listening.finish(lost)?;
    Ok(Cycle {
        off_ns: None,
        power_error_ns: 0,
        light: None,
        light_from_loader_ns,
        loader_missed,
        resets,
        fallback,
        end,
        last_line,
        log,
        raw,
        files: Vec::new(),
    })
}

/// The boot that others recorded, as this host would have seen it.
fn from_record(board: &Board, recorded: Recorded) -> Result<Cycle, BoardError> {
    let mut listening = Listening::begin(&board.boot, &board.boot.first_light, None)?;
    let (began, ended) = recorded.power;
    listening.power(began, ended)?;
    let limit = u64::try_from(board.boot.limit.as_nanos()).unwrap_or(u64::MAX);
    for (at_ns, line) in &recorded.lines {
        if *at_ns < began {
            listening.before(line);
            continue;
        }
        if at_ns.saturating_sub(ended) > limit {
            break;
        }
        listening.bytes(*at_ns, line)?;
        if listening.ended().is_some() {
            break;
        }
    }
    listening.quiet()?;
    let end = listening.ended().unwrap_or_else(|| {
        let why = recorded.failure.as_ref();
        why.map_or(End::Hang, |why| {
            End::Closed(format!("the job failed: {why}"))
        })
    });
    let light = listening.light().map(|light| {
        // The line was read after the one before it, and at the latest when it was stamped.
        let earlier = recorded.lines.iter().map(|(at, _)| *at);
        let before = earlier.filter(|at| *at < light.at_ns).max();
        Seen {
            at_ns: light.at_ns.saturating_sub(ended),
            error_ns: light
                .at_ns
                .saturating_sub(before.unwrap_or(ended).max(ended)),
        }
    });
    Ok(Cycle {
        power_error_ns: ended.saturating_sub(began),
        light,
        files: recorded.files,
        ..heard(listening, end, &[])?
    })
}

/// Off, the pause with the console being opened, and on.
fn switch(
    adapter: &mut dyn Adapter,
    board: &Board,
    off_since: Option<u64>,
) -> Result<(Option<u64>, Ears, Switched), BoardError> {
    adapter.power_off()?;
    let off_ns = off_since.unwrap_or_else(now_ns);
    let supply = board.power_seen.as_ref().map(|c| Supply::watch(board, c));
    // A console that the board powers is not there yet.
    let ears = match Ears::open(adapter, false) {
        Err(BoardError::Console(InputError::Open { .. })) => None,
        opened => Some(opened?),
    };
    let switches_off = adapter.switches_off();
    if switches_off {
        let after = |ns: u64, d: Duration| {
            ns.saturating_add(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
        };
        // What watches the supply gets the whole time to begin, and a console some of it: a
        // terminal server may forward nothing at once.
        let ready = match supply {
            Some(_) => board.off,
            None => board.off.min(SETTLE),
        };
        let on_ns = after(off_ns, board.off).max(after(now_ns(), ready));
        thread::sleep(Duration::from_nanos(on_ns.saturating_sub(now_ns())));
    }
    let mut power = adapter.power_on()?;
    if let Some(supply) = supply {
        power = supply.came(board, power.began_ns)?;
    }
    let off_ns = switches_off.then(|| power.began_ns.saturating_sub(off_ns));
    let ears = match ears {
        Some(ears) => ears,
        None => Ears::open(adapter, true)?,
    };
    Ok((off_ns, ears, power))
}

/// A program that watches the supply, from before power-on.
struct Supply {
    command: String,
    stop: Arc<AtomicBool>,
    seen: Receiver<Option<u64>>,
    thread: Option<JoinHandle<()>>,
}

impl Supply {
    fn watch(board: &Board, command: &str) -> Self {
        let (to, seen) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (text, folder, told) = (command.to_owned(), board.folder(), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            let line = first_line(&text, &folder, &|| told.load(Ordering::Relaxed));
            to.send(line).ok();
        });
        Self {
            command: command.to_owned(),
            stop,
            seen,
            thread: Some(thread),
        }
    }

    /// When the supply came up, after `told_ns`, when the switch was told.
    fn came(self, board: &Board, told_ns: u64) -> Result<Switched, BoardError> {
        let failed = |how: String| BoardError::Command {
            board: board.file.display().to_string(),
            key: "power.seen",
            command: self.command.clone(),
            how,
        };
        match self.seen.recv_timeout(SUPPLY) {
            Ok(Some(at_ns)) if at_ns < told_ns => Err(failed(
                "wrote a line before the power was switched on".to_owned(),
            )),
            Ok(Some(at_ns)) => Ok(Switched {
                began_ns: at_ns.saturating_sub(WAKE_NS),
                ended_ns: at_ns,
            }),
            Ok(None) => Err(failed("ended without a line".to_owned())),
            Err(_) => {
                let limit = SUPPLY.as_secs_f64();
                Err(failed(format!("saw no power-on within {limit} s")))
            }
        }
    }
}

impl Drop for Supply {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// The console, being read.
struct Ears {
    /// `CLOCK_MONOTONIC` when listening began.
    start_ns: u64,
    to: Sender<Heard>,
    from: Receiver<Heard>,
    // Dropped in this order: the thread first.
    reader: Reader,
    input: Arc<Input>,
    _program: Option<Program>,
    /// The rate of the line and the bits of a byte, if it is one.
    line: Option<(u32, u8)>,
    /// By how much a character may be late, as far as this host knows.
    late_ns: u64,
}

impl Ears {
    /// Opens the console. If `patient`, it may take a while to appear.
    fn open(adapter: &mut dyn Adapter, patient: bool) -> Result<Self, BoardError> {
        let (console, wait) = adapter.console()?;
        let start_ns = now_ns();
        let mut late_ns = 0;
        let (input, program, line) = match console {
            Console::At(place, settings) => {
                // What the adapter holds back, if its driver says so.
                let held = place.path().and_then(|p| latency_ms(p));
                late_ns = u64::from(held.unwrap_or(0)).saturating_mul(1_000_000);
                let wait = if patient { wait } else { Duration::ZERO };
                let input = Input::open(&place, &settings, wait)?;
                let line = (settings.baud, settings.bits_per_byte());
                let line = input.is_port().then_some(line);
                (input, None, line)
            }
            Console::Of(command) => {
                let (program, pipe) = Program::start(&command)
                    .map_err(|why| BoardError::ConsoleCommand { command, why })?;
                (Input::of_pipe(pipe), Some(program), None)
            }
        };
        let input = Arc::new(input);
        let (to, from) = channel();
        let reader = Reader::start(Arc::clone(&input), to.clone())?;
        Ok(Self {
            start_ns,
            to,
            from,
            reader,
            input,
            _program: program,
            line,
            late_ns,
        })
    }

    /// Listens until the boot has ended.
    fn watch(
        &mut self,
        board: &Board,
        power: Switched,
        listening: &mut Listening,
        watcher: &mut dyn Watcher,
    ) -> Result<End, BoardError> {
        let after = |ns: u64, d: Duration| {
            ns.saturating_add(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
        };
        let limit = after(power.ended_ns, board.boot.limit);
        let mut last_ns = power.ended_ns;
        let mut quiet_told = true;
        let mut shown = 0;
        loop {
            if let Some(end) = listening.ended() {
                return Ok(end);
            }
            if watcher.stops() {
                return Ok(End::Stopped);
            }
            let now = now_ns();
            let silent = board.boot.silence.map(|s| after(last_ns, s));
            let deadline = silent.map_or(limit, |s| s.min(limit));
            // Short enough to notice a prompt, and the user's wish to end.
            let wait = Duration::from_nanos(deadline.saturating_sub(now)).min(QUIET);
            // What came in time is looked at, even if it is late now.
            match self.from.recv_timeout(wait) {
                Ok(Heard::Bytes { at_ns, bytes }) => {
                    self.reader.done_with(bytes.len());
                    if at_ns > limit {
                        return Ok(End::Hang);
                    }
                    if at_ns < power.began_ns {
                        listening.before(&bytes);
                    } else {
                        last_ns = at_ns;
                        listening.bytes(at_ns.saturating_sub(self.start_ns), &bytes)?;
                        quiet_told = false;
                    }
                    if listening.len() > shown {
                        shown = listening.len();
                        watcher.console(shown as u64, listening.last_line());
                    }
                }
                Ok(Heard::Light { at_ns, error_ns }) => listening.answered(Seen {
                    at_ns: at_ns.saturating_sub(self.start_ns),
                    error_ns,
                })?,
                Ok(Heard::End(Ok(()))) => {
                    return Ok(closed("the other side closed it", listening));
                }
                Ok(Heard::End(Err(why))) => return Ok(closed(&why.to_string(), listening)),
                Ok(Heard::Power { .. } | Heard::Interrupt) => {}
                Err(RecvTimeoutError::Timeout) => {
                    if !quiet_told {
                        quiet_told = true;
                        listening.quiet()?;
                    } else if now_ns() >= deadline {
                        let hang = if deadline < limit {
                            End::Silent
                        } else {
                            End::Hang
                        };
                        return Ok(hang);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(closed("nothing reads it any more", listening));
                }
            }
        }
    }
}

/// The console has ended; first light may have come with its last bytes.
fn closed(why: &str, listening: &mut Listening) -> End {
    listening.quiet().ok();
    listening
        .ended()
        .unwrap_or_else(|| End::Closed(why.to_owned()))
}
