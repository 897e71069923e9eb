//! Listening from the first byte to the end: the loop around the engine.

use super::engine::{Action, Engine, Event, Rule, RuleError};
use super::input::{Input, InputError, Place};
use super::port::Settings;
use super::program::{Power, Program};
use super::reader::{Heard, Reader, now_ns};
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// A line that has been quiet for this long may be a prompt.
const QUIET: Duration = Duration::from_millis(100);

/// What to listen to, and for how long.
#[derive(Debug)]
pub struct Options {
    /// Where the console is.
    pub console: Console,
    /// How long to wait for it to appear.
    pub wait: Duration,
    /// What switches the board on, once all is ready to listen.
    pub power: Option<String>,
    /// Patterns to look for.
    pub rules: Vec<Rule>,
    /// How long to listen at most.
    pub limit: Option<Duration>,
}

/// A console.
#[derive(Clone, Debug)]
pub enum Console {
    /// It is there.
    At(Place, Settings),
    /// A program is to be started that writes it.
    Of(String),
}

/// Why a capture ended.
#[derive(Debug)]
pub enum Ended {
    /// The end pattern fitted.
    Pattern,
    /// Its time was over.
    Limit,
    /// The user said so.
    Interrupt,
    /// The other side closed the line.
    Closed,
    /// A program that was started ended, and not well.
    Program(ExitStatus),
    /// The device failed or went away.
    Device(io::Error),
    /// There is no room for more.
    Full,
}

impl Ended {
    /// A name for programs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pattern => "pattern",
            Self::Limit => "limit",
            Self::Interrupt => "interrupt",
            Self::Closed => "closed",
            Self::Program(_) => "program",
            Self::Device(_) => "device",
            Self::Full => "full",
        }
    }

    /// In words; `console` is what was listened to.
    pub fn why(&self, console: &str) -> String {
        match self {
            Self::Pattern => "the end pattern was seen".to_owned(),
            Self::Limit => "the time was over".to_owned(),
            Self::Interrupt => "ended by hand".to_owned(),
            Self::Closed => format!("{console} ended"),
            Self::Program(status) => format!("{console} {}", words(*status)),
            Self::Device(why) => format!("{console} failed: {why}"),
            Self::Full => "a capture of one boot holds no more".to_owned(),
        }
    }
}

/// How listening went.
#[derive(Debug)]
pub struct Outcome {
    /// Why it ended.
    pub ended: Ended,
    /// How many bytes were heard.
    pub bytes: u64,
    /// What the driver says was lost on the way.
    pub lost: Vec<(&'static str, u32)>,
}

impl Outcome {
    /// What the driver counted, and what to do, a sentence each.
    pub fn losses(&self) -> Vec<String> {
        self.lost.iter().map(|(what, n)| lost(what, *n)).collect()
    }
}

fn lost(what: &str, count: u32) -> String {
    match what {
        "overrun" | "buffer" => format!(
            "the serial port lost characters ({count} times): the host was too slow; use a lower \
             rate or flow control"
        ),
        "frame" => format!(
            "{count} characters were damaged (framing): the rate is not the board's, or the board \
             was switched meanwhile"
        ),
        _ => format!("{count} characters were damaged ({what}): the line's settings differ"),
    }
}

/// Why nothing could be heard.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// A pattern.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The console.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The program that should write the console.
    #[error("cannot start `{command}`: {why}")]
    Program {
        /// The command.
        command: String,
        /// What the system says.
        why: io::Error,
    },
    /// The power command.
    #[error("the power command `{command}` {how}; nothing was captured")]
    Power {
        /// The command.
        command: String,
        /// How it went.
        how: String,
    },
    /// Threads, files or the capture's own files.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// What is told while listening. Times are nanoseconds from the start.
pub trait Listener {
    /// Listening begins, on a line of this rate if it is one; bytes of a line
    /// have this many bits.
    fn begin(&mut self, line: Option<(u32, u8)>) -> io::Result<()>;
    /// These bytes came.
    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// This came of them.
    fn event(&mut self, event: &Event) -> io::Result<()>;
    /// Power was switched on between these times.
    fn power(&mut self, began_ns: u64, ended_ns: u64) -> io::Result<()>;
    /// A line began, at this time, and has not ended.
    fn open(&mut self, first_ns: u64, raw: &[u8]) -> io::Result<()>;
    /// All that had come is told. Whether there is room for more.
    fn flush(&mut self) -> io::Result<bool>;
}

/// Listens until the end. What `from` hears beside the console are power
/// commands and the user's wish to end, which come by way of `to`.
///
/// # Errors
/// If nothing can be listened to, or the listener fails.
pub fn listen(
    options: Options,
    (to, from): (Sender<Heard>, Receiver<Heard>),
    listener: &mut dyn Listener,
) -> Result<Outcome, ListenError> {
    let start = now_ns();
    let mut program = None;
    let mut power = None;
    let switch_on = || {
        let line = options.power.as_deref()?;
        Some(Power::start(line, to.clone()))
    };
    let (input, rate) = match &options.console {
        Console::At(place, settings) => {
            let input = match Input::open(place, settings, Duration::ZERO) {
                Err(InputError::Open { .. }) if !options.wait.is_zero() => {
                    // It may only be there when the board has power.
                    power = switch_on();
                    Input::open(place, settings, options.wait)
                }
                opened => opened,
            };
            let input = input.inspect_err(|_| {
                if let Some(power) = &power {
                    power.end();
                }
            })?;
            let line = (settings.baud, settings.bits_per_byte());
            let rate = input.is_port().then_some(line);
            (input, rate)
        }
        Console::Of(command) => {
            let began = now_ns();
            let failed = |why| ListenError::Program {
                command: command.clone(),
                why,
            };
            let (child, pipe) = Program::start(command).map_err(failed)?;
            program = Some(child);
            if options.power.is_none() {
                to.send(Heard::Power {
                    began_ns: began,
                    ended_ns: now_ns(),
                    status: Ok(ExitStatus::default()),
                })
                .ok();
            }
            (Input::of_pipe(pipe), None)
        }
    };
    listener.begin(rate)?;
    let input = Arc::new(input);
    let reader = Reader::start(Arc::clone(&input), to.clone())?;
    if power.is_none() {
        power = switch_on();
    }
    let mut session = Session {
        start,
        engine: Engine::new(options.rules),
        events: Vec::new(),
        bytes: 0,
        end_seen: false,
        quiet_told: true,
        powered: false,
    };
    let deadline = options
        .limit
        .map(|l| start.saturating_add(u64::try_from(l.as_nanos()).unwrap_or(u64::MAX)));
    let ended = session.run(&from, deadline, &reader, listener, options.power.as_deref());
    drop(reader);
    if matches!(ended, Ok(Ended::Pattern)) && power.is_some() && !session.powered {
        session.late_power(&from, listener)?;
    }
    if let Some(power) = &power {
        power.end();
    }
    let mut ended = ended?;
    if let Some(mut program) = program {
        if matches!(ended, Ended::Closed) {
            program.closed();
        }
        if let Some(status) = program.end().filter(|s| !s.success()) {
            ended = match ended {
                Ended::Closed => Ended::Program(status),
                ended => ended,
            };
        }
    }
    session.engine.finish(&mut session.events);
    session.tell(listener)?;
    listener.flush()?;
    if session.end_seen && !matches!(ended, Ended::Pattern) {
        ended = Ended::Pattern;
    }
    Ok(Outcome {
        ended,
        bytes: session.bytes,
        lost: input.lost(),
    })
}

/// For how long a power command that is still busy is waited for at the end.
const LATE_POWER_NS: u64 = 1_000_000_000;

struct Session {
    start: u64,
    engine: Engine,
    events: Vec<Event>,
    bytes: u64,
    /// The end pattern fitted; only its line is still waited for.
    end_seen: bool,
    /// The open line was looked at since it got its last byte.
    quiet_told: bool,
    /// When power came on was said.
    powered: bool,
}

impl Session {
    fn run(
        &mut self,
        from: &Receiver<Heard>,
        deadline: Option<u64>,
        reader: &Reader,
        listener: &mut dyn Listener,
        power: Option<&str>,
    ) -> Result<Ended, ListenError> {
        loop {
            let now = now_ns();
            if deadline.is_some_and(|d| d <= now) {
                // What came in time counts, even if it was not looked at yet.
                while let Ok(Heard::Bytes { at_ns, bytes }) = from.try_recv() {
                    self.heard(at_ns, &bytes, listener)?;
                }
                return Ok(Ended::Limit);
            }
            let mut wait = deadline.map(|d| Duration::from_nanos(d.saturating_sub(now)));
            if !self.quiet_told {
                wait = Some(wait.map_or(QUIET, |w| w.min(QUIET)));
            }
            let heard = match wait {
                Some(wait) => from.recv_timeout(wait),
                None => from.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match heard {
                Ok(Heard::Bytes { at_ns, bytes }) => {
                    let room = self.heard(at_ns, &bytes, listener)?;
                    reader.done_with(bytes.len());
                    if self.end_seen && self.engine.open().is_none() {
                        return Ok(Ended::Pattern);
                    }
                    if !room {
                        return Ok(Ended::Full);
                    }
                }
                Ok(Heard::Power {
                    began_ns,
                    ended_ns,
                    status,
                }) => {
                    self.power(listener, power, (began_ns, ended_ns), status)?;
                }
                // Nobody asks the board here.
                Ok(Heard::Light { .. }) => {}
                Ok(Heard::Interrupt) => return Ok(Ended::Interrupt),
                Ok(Heard::End(Ok(()))) => return Ok(Ended::Closed),
                Ok(Heard::End(Err(why))) => return Ok(Ended::Device(why)),
                Err(RecvTimeoutError::Timeout) => {
                    if !self.quiet_told {
                        self.quiet_told = true;
                        self.engine.quiet(&mut self.events);
                        self.tell(listener)?;
                        if let Some((first, raw)) = self.engine.open() {
                            listener.open(first, raw)?;
                        }
                        listener.flush()?;
                        if self.end_seen {
                            return Ok(Ended::Pattern);
                        }
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Closed),
            }
        }
    }

    /// Waits a little for a power command that is still busy when the console has said all:
    /// when power came on is the zero of the boot.
    fn late_power(
        &mut self,
        from: &Receiver<Heard>,
        listener: &mut dyn Listener,
    ) -> Result<(), ListenError> {
        let until = now_ns().saturating_add(LATE_POWER_NS);
        while let Some(left) = until.checked_sub(now_ns()) {
            match from.recv_timeout(Duration::from_nanos(left)) {
                Ok(Heard::Power {
                    began_ns,
                    ended_ns,
                    status: Ok(status),
                }) if status.success() => {
                    return self.power(listener, None, (began_ns, ended_ns), Ok(status));
                }
                // The boot was seen to its end: how else the command ended is no matter.
                Ok(Heard::Power { .. }) | Err(_) => break,
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Says when the power command ran; `power` is its text.
    fn power(
        &mut self,
        listener: &mut dyn Listener,
        power: Option<&str>,
        (began_ns, ended_ns): (u64, u64),
        status: io::Result<ExitStatus>,
    ) -> Result<(), ListenError> {
        let how = match status {
            Ok(status) if status.success() => None,
            Ok(status) => Some(words(status)),
            Err(why) => Some(format!("cannot start: {why}")),
        };
        if let Some(how) = how {
            let command = power.unwrap_or_default().to_owned();
            return Err(ListenError::Power { command, how });
        }
        self.powered = true;
        let since = |ns: u64| ns.saturating_sub(self.start);
        listener.power(since(began_ns), since(ended_ns))?;
        Ok(())
    }

    /// Deals with some bytes; whether there is room for more.
    fn heard(&mut self, at_ns: u64, bytes: &[u8], listener: &mut dyn Listener) -> io::Result<bool> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        listener.bytes(bytes)?;
        let at = at_ns.saturating_sub(self.start);
        self.engine.bytes(at, bytes, &mut self.events);
        self.quiet_told = self.engine.open().is_none();
        self.tell(listener)?;
        listener.flush()
    }

    fn tell(&mut self, listener: &mut dyn Listener) -> io::Result<()> {
        for event in self.events.drain(..) {
            if matches!(&event, Event::Fit(fit) if fit.action == Action::End) {
                self.end_seen = true;
            }
            listener.event(&event)?;
        }
        Ok(())
    }
}

/// How a program ended, in words.
pub fn words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (_, Some(signal)) => format!("was ended by signal {signal}"),
        _ => "ended".to_owned(),
    }
}
