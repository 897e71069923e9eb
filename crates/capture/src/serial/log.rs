//! The log that is kept: every line with the arrival of its first and its last
//! byte, in the form that the source `serial` reads.

use super::engine::{Action, Event, Fit};
use std::io::{self, Write};

/// The form's name and version: the log's first line.
pub const HEADER: &str = "# firstlight-serial 1";

/// Writes a log.
#[derive(Debug)]
pub struct Log<W: Write> {
    to: W,
    bytes: u64,
}

impl<W: Write> Log<W> {
    /// A log that begins here, of a line of this rate if it is one.
    ///
    /// # Errors
    /// If it cannot be written; so with all others.
    pub fn begin(to: W, line: Option<(u32, u8)>) -> io::Result<Self> {
        let mut log = Self { to, bytes: 0 };
        log.put(format!("{HEADER}\n").as_bytes())?;
        if let Some((baud, bits)) = line {
            log.put(format!("# line {baud} baud, {bits} bits a byte\n").as_bytes())?;
        }
        Ok(log)
    }

    /// Adds a line, or what was seen in the line that comes next.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Line(line) => {
                let (first, last) = (Seconds(line.first_ns), Seconds(line.last_ns));
                self.put(format!("{first} {last} ").as_bytes())?;
                self.put(&line.raw)?;
                self.put(b"\n")
            }
            Event::Fit(Fit { action, at_ns, .. }) => {
                let at = Seconds(*at_ns);
                let text = match action {
                    Action::Reset => format!("# reset {at}\n"),
                    Action::End => format!("# end {at}\n"),
                    Action::Mark(name) => format!("# mark {at} {name}\n"),
                };
                self.put(text.as_bytes())
            }
        }
    }

    /// Adds when power came on.
    pub fn power(&mut self, began_ns: u64, ended_ns: u64) -> io::Result<()> {
        let (began, ended) = (Seconds(began_ns), Seconds(ended_ns));
        self.put(format!("# power-on {began} {ended}\n").as_bytes())
    }

    /// Adds what the driver says was lost, and how long the adapter may have
    /// kept characters back.
    pub fn finish(
        &mut self,
        lost: &[(&'static str, u32)],
        latency_ms: Option<u32>,
    ) -> io::Result<()> {
        for (what, count) in lost {
            self.put(format!("# lost {count} {what}\n").as_bytes())?;
        }
        if let Some(ms) = latency_ms {
            self.put(format!("# latency {ms} ms\n").as_bytes())?;
        }
        self.flush()
    }

    /// How long the log is.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Hands all of it to the system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// What it was written to.
    pub fn into_inner(self) -> W {
        self.to
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        self.to.write_all(bytes)
    }
}

/// Nanoseconds, printed as seconds with nine digits.
struct Seconds(u64);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}.{:09}",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}
