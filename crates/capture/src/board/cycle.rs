//! One measured boot: power off, a pause, power on, and listening.

use super::adapter::{Adapter, Recorded, Switched};
use super::error::BoardError;
use super::file::Board;
use super::light::Probe;
use super::listening::Listening;
use super::seen::{End, Seen};
use crate::serial::input::{Input, InputError};
use crate::serial::listen::Console;
use crate::serial::program::Program;
use crate::serial::reader::{Heard, Reader, now_ns};
use crate::serial::take::{self, LOG, RAW};
use agent::capture::{MANIFEST, Member, NoteInfo};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// A line that has been quiet for this long may be a prompt.
const QUIET: Duration = Duration::from_millis(100);

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
/// `watcher` is told how the console grows, and may end the boot.
///
/// # Errors
/// If the power cannot be switched or the console cannot be opened. The board may be on
/// then. A boot that fails is a [`Cycle`].
pub fn measure(
    adapter: &mut dyn Adapter,
    board: &Board,
    watcher: &mut dyn Watcher,
) -> Result<Cycle, BoardError> {
    let light = &board.boot.first_light;
    if let Some(recorded) = adapter.recorded(&|| watcher.stops())? {
        return from_record(board, recorded);
    }
    let mut tries = board.power_tries.max(1);
    let (off_ns, mut ears, power) = loop {
        tries -= 1;
        match switch(adapter, board) {
            Err(BoardError::Command { .. } | BoardError::Labgrid { .. }) if tries > 0 => {}
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
    let light = listening.light().map(|l| Seen {
        at_ns: l.at_ns.saturating_sub(zero),
        ..l
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
    let resets = listening.resets();
    let fallback = listening.fallback().map(str::to_owned);
    let last_line = listening.last_line().to_owned();
    let (log, raw) = listening.finish(lost)?;
    Ok(Cycle {
        off_ns: None,
        power_error_ns: 0,
        light: None,
        light_from_loader_ns,
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
) -> Result<(Option<u64>, Ears, Switched), BoardError> {
    adapter.power_off()?;
    let off_ns = now_ns();
    // A console that the board powers is not there yet.
    let ears = match Ears::open(adapter, false) {
        Err(BoardError::Console(InputError::Open { .. })) => None,
        opened => Some(opened?),
    };
    let switches_off = adapter.switches_off();
    if switches_off {
        let on_ns = off_ns.saturating_add(u64::try_from(board.off.as_nanos()).unwrap_or(u64::MAX));
        thread::sleep(Duration::from_nanos(on_ns.saturating_sub(now_ns())));
    }
    let power = adapter.power_on()?;
    let off_ns = switches_off.then(|| power.began_ns.saturating_sub(off_ns));
    let ears = match ears {
        Some(ears) => ears,
        None => Ears::open(adapter, true)?,
    };
    Ok((off_ns, ears, power))
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
}

impl Ears {
    /// Opens the console. If `patient`, it may take a while to appear.
    fn open(adapter: &mut dyn Adapter, patient: bool) -> Result<Self, BoardError> {
        let (console, wait) = adapter.console()?;
        let start_ns = now_ns();
        let (input, program, line) = match console {
            Console::At(place, settings) => {
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
