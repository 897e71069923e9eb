//! One boot as its console tells it.

use super::error::BoardError;
use super::file::Boot;
use super::light::FirstLight;
use super::seen::{End, Seen};
use crate::serial::engine::{Action, Engine, Event, Fit, Rule};
use crate::serial::log::Log;
use std::io;

/// The name of the mark at the loader's first line.
pub const LOADER: &str = "loader";

/// Marks that are looked for. Names of the log's marks, too.
const PANIC: &str = "panic";
const FALLBACK: &str = "fallback";

/// What begins each boot if the file names no line of the loader.
const KERNEL: &str = r"Linux version [0-9]";

/// So many resets more than a good boot has are a boot loop.
const LOOP: u32 = 3;

/// More than this on a console is no boot, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// Takes a console's bytes, and knows what they mean for a boot. Times are nanoseconds
/// since listening began.
pub struct Listening {
    engine: Engine,
    events: Vec<Event>,
    log: Log<Vec<u8>>,
    raw: Vec<u8>,
    /// Whether the board's file says what the loader's first line looks like.
    knows_loader: bool,
    resets_allowed: u32,
    starts: u32,
    /// When the first byte after power-on came, and when the loader's first line did.
    first_byte_ns: Option<u64>,
    loader_ns: Option<u64>,
    light: Option<Seen>,
    panic: Option<String>,
    fallback: Option<String>,
    last_line: String,
}

impl Listening {
    /// Begins to listen, on a line of this rate if it is one.
    pub fn begin(
        boot: &Boot,
        light: &FirstLight,
        line: Option<(u32, u8)>,
    ) -> Result<Self, BoardError> {
        let mark = |name: &str| Action::Mark(name.to_owned());
        let start = boot.loader.as_deref().unwrap_or(KERNEL);
        let mut rules = vec![Rule::new(mark(LOADER), start)?];
        for panic in &boot.panic {
            rules.push(Rule::new(mark(PANIC), panic)?);
        }
        if let Some(fallback) = &boot.fallback {
            rules.push(Rule::new(mark(FALLBACK), fallback)?);
        }
        if let FirstLight::Console(pattern) = light {
            rules.push(Rule::new(Action::End, pattern)?);
        }
        Ok(Self {
            engine: Engine::new(rules),
            events: Vec::new(),
            log: Log::begin(Vec::new(), line)?,
            raw: Vec::new(),
            knows_loader: boot.loader.is_some(),
            resets_allowed: boot.resets,
            starts: 0,
            first_byte_ns: None,
            loader_ns: None,
            light: None,
            panic: None,
            fallback: None,
            last_line: String::new(),
        })
    }

    /// Power came on.
    pub fn power(&mut self, began_ns: u64, ended_ns: u64) -> io::Result<()> {
        self.log.power(began_ns, ended_ns)
    }

    /// These bytes are of the time before power came on: they are kept, and say nothing.
    pub fn before(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
    }

    /// These bytes came.
    pub fn bytes(&mut self, at_ns: u64, bytes: &[u8]) -> io::Result<()> {
        self.raw.extend_from_slice(bytes);
        if bytes.iter().any(|b| *b != 0) {
            self.first_byte_ns.get_or_insert(at_ns);
        }
        self.engine.bytes(at_ns, bytes, &mut self.events);
        self.take()
    }

    /// Nothing has come for a while.
    pub fn quiet(&mut self) -> io::Result<()> {
        self.engine.quiet(&mut self.events);
        self.take()
    }

    /// The board answered a probe.
    pub fn answered(&mut self, seen: Seen) -> io::Result<()> {
        if self.light.is_none() {
            self.light = Some(seen);
            self.log.event(&Event::Fit(Fit {
                action: Action::End,
                at_ns: seen.at_ns,
                text: String::new(),
            }))?;
        }
        Ok(())
    }

    fn take(&mut self) -> io::Result<()> {
        for event in std::mem::take(&mut self.events) {
            match &event {
                Event::Line(line) => {
                    let text = String::from_utf8_lossy(&line.raw);
                    let text = text.trim();
                    if !text.is_empty() {
                        text.clone_into(&mut self.last_line);
                    }
                    self.log.event(&event)?;
                }
                Event::Fit(fit) => self.fit(fit)?,
            }
        }
        Ok(())
    }

    fn fit(&mut self, fit: &Fit) -> io::Result<()> {
        let mut fit = fit.clone();
        match &mut fit.action {
            Action::End => {
                if self.light.is_some() {
                    return Ok(());
                }
                self.light = Some(Seen {
                    at_ns: fit.at_ns,
                    error_ns: 0,
                });
            }
            Action::Mark(name) if name == LOADER => {
                self.starts = self.starts.saturating_add(1);
                if self.starts > 1 {
                    *name = format!("reset-{}", self.starts - 1);
                } else if self.knows_loader {
                    self.loader_ns = Some(fit.at_ns);
                } else {
                    // It is the kernel's line, which the sources know themselves.
                    return Ok(());
                }
            }
            Action::Mark(name) if name == PANIC => {
                self.panic.get_or_insert_with(|| fit.text.clone());
            }
            Action::Mark(_) => {
                self.fallback.get_or_insert_with(|| fit.text.clone());
            }
            Action::Reset => {}
        }
        self.log.event(&Event::Fit(fit))
    }

    /// How often the board was reset since power-on.
    pub fn resets(&self) -> u32 {
        self.starts.saturating_sub(1)
    }

    /// When the loader wrote its first byte: its line if the file describes it, else the
    /// console's first byte.
    pub fn loader_ns(&self) -> Option<u64> {
        match self.knows_loader {
            true => self.loader_ns,
            false => self.first_byte_ns,
        }
    }

    /// Whether the loader's line is described and did not come.
    pub fn misses_loader(&self) -> bool {
        self.knows_loader && self.loader_ns.is_none()
    }

    /// First light, if it came.
    pub fn light(&self) -> Option<Seen> {
        self.light
    }

    /// What ended the boot, if it has.
    pub fn ended(&self) -> Option<End> {
        if let Some(panic) = &self.panic {
            return Some(End::Panic(panic.clone()));
        }
        if self.light.is_some() {
            return Some(End::Light);
        }
        if self.resets() >= self.resets_allowed.saturating_add(LOOP) {
            return Some(End::Loop);
        }
        (self.raw.len() > MOST_BYTES).then_some(End::Full)
    }

    /// The last line that was not empty.
    pub fn last_line(&self) -> &str {
        &self.last_line
    }

    /// How many bytes came.
    pub fn len(&self) -> usize {
        self.raw.len()
    }

    /// What the console showed of a fallback.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// Nothing more comes: the log and the raw bytes.
    pub fn finish(mut self, lost: &[(&'static str, u32)]) -> io::Result<(Vec<u8>, Vec<u8>)> {
        self.engine.finish(&mut self.events);
        for event in std::mem::take(&mut self.events) {
            if matches!(event, Event::Line(_)) {
                self.log.event(&event)?;
            }
        }
        self.log.finish(lost, None)?;
        Ok((self.log.into_inner(), self.raw))
    }
}
