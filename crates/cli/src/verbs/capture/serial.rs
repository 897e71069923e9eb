//! `firstlight capture serial`: a console, and both ends of every line.

use super::keep::Growing;
use crate::args::CaptureSerial;
use crate::interrupt;
use crate::out::Out;
use crate::serial::engine::{Action, Event, Fit, Rule};
use crate::serial::input::Place;
use crate::serial::listen::{self, Console, Ended, ListenError, Listener, Options, Outcome};
use crate::serial::log::Log;
use crate::serial::port::{self, Settings};
use crate::serial::program;
use crate::serial::reader::Heard;
use agent::capture::{ClockInfo, Manifest, SourceFile, VERSION};
use anyhow::{Context, Result, bail};
use record::Nanos;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::mpsc;
use views::terminal::serial_line;

/// What a member of a capture may hold when it is read, less a margin: at 3
/// Mbaud it comes in ten minutes, at 115200 in four hours.
const MOST_BYTES: u64 = 200 << 20;

const LOG: &str = "serial.log";
const RAW: &str = "serial.raw";

pub fn run(args: &CaptureSerial, out: &mut Out) -> Result<()> {
    let options = options(args)?;
    let console = match &options.console {
        Console::At(place, _) => place.to_string(),
        Console::Of(command) => format!("`{command}`"),
    };
    let device = match &options.console {
        Console::At(place, _) => place.path().cloned(),
        Console::Of(_) => None,
    };
    let growing = Growing::begin(&args.out, manifest())?;
    let (to, from) = mpsc::channel();
    let wish = to.clone();
    interrupt::on_interrupt(move || {
        wish.send(Heard::Interrupt).ok();
    })?;
    let mut screen = Screen::new(&growing, out, args.quiet)?;
    let outcome = match listen::listen(options, (to, from), &mut screen) {
        Ok(outcome) => outcome,
        // The reader of our output has gone: what was heard until then is kept.
        Err(ListenError::Io(e)) if e.kind() == io::ErrorKind::BrokenPipe => {
            screen.finish(&[], None)?;
            return growing.pack();
        }
        Err(e) => {
            let heard = screen.lines > 0;
            drop(screen);
            if !heard {
                growing.forget();
            }
            return Err(e.into());
        }
    };
    let latency = device.as_deref().and_then(port::latency_ms);
    let seen = screen.finish(&outcome.lost, latency)?;
    let files: Vec<String> = growing.files().into_iter().map(str::to_owned).collect();
    growing.pack()?;
    let done = Done {
        args,
        console: &console,
        outcome: &outcome,
        latency_ms: latency.filter(|ms| *ms > 1),
        seen: &seen,
    };
    if out.json {
        out.text(&views::json::text(&done.json(&files)))?;
    } else {
        out.flush()?;
        anstream::eprint!("{}", done.text());
    }
    let off = args.power.power_off.as_deref();
    let off = off.map_or(Ok(()), switch_off);
    done.verdict().and(off)
}

/// What the arguments ask for.
fn options(args: &CaptureSerial) -> Result<Options> {
    let line = &args.line;
    let settings = Settings {
        baud: line.baud,
        bits: line.bits,
        parity: line.parity,
        stop: line.stop,
        flow: line.flow,
    };
    let console = match (&args.exec, &args.input) {
        (Some(command), _) => Console::Of(command.clone()),
        (None, Some(input)) => Console::At(Place::parse(input), settings),
        (None, None) => bail!("nothing to listen to; name a serial port"),
    };
    let mut rules = Vec::new();
    let patterns = &args.patterns;
    if let Some(pattern) = &patterns.reset_on {
        rules.push(Rule::new(Action::Reset, pattern).context("--reset-on")?);
    }
    for mark in &patterns.mark {
        let named = mark.split_once('=').filter(|(name, pattern)| {
            !name.trim().is_empty() && !name.contains(char::is_control) && !pattern.is_empty()
        });
        let Some((name, pattern)) = named else {
            bail!("--mark {mark}: expected NAME=REGEX, such as kernel='Linux version'");
        };
        let action = Action::Mark(name.trim().to_owned());
        rules.push(Rule::new(action, pattern).with_context(|| format!("--mark {name}"))?);
    }
    if let Some(pattern) = &patterns.end_on {
        rules.push(Rule::new(Action::End, pattern).context("--end-on")?);
    }
    let power = args.power.power_on.as_ref();
    Ok(Options {
        console,
        wait: args.wait,
        power: power.or(args.power.power_cycle.as_ref()).cloned(),
        rules,
        limit: patterns.end_after,
    })
}

fn manifest() -> Manifest {
    let file = |name: &str, format: &str, file: &str, clock: &str| SourceFile {
        name: name.into(),
        format: format.into(),
        file: file.into(),
        clock: clock.into(),
    };
    Manifest {
        firstlight_capture: VERSION,
        taken_by: concat!("firstlight ", env!("CARGO_PKG_VERSION")).into(),
        machine: String::new(),
        kernel: String::new(),
        cmdline: String::new(),
        clocks: vec![ClockInfo {
            name: "serial".into(),
            kind: "wall".into(),
            hz: 1_000_000_000,
            readings: Vec::new(),
        }],
        marks: Vec::new(),
        recording: Vec::new(),
        own_devices: Vec::new(),
        notes: Vec::new(),
        sources: vec![
            file("serial log with stamps", "serial", LOG, "serial"),
            file("what came over the line", "none", RAW, ""),
        ],
    }
}

/// A named instant that was seen. Times are nanoseconds from the start.
struct Seen {
    name: String,
    at_ns: u64,
    text: String,
}

/// What was seen, when all was.
struct Summary {
    lines: u64,
    zero_ns: u64,
    seen: Vec<Seen>,
}

/// Keeps what comes, and shows it.
struct Screen<'a> {
    out: &'a mut Out,
    show: bool,
    /// An open line can be drawn and drawn again.
    terminal: bool,
    drawn: bool,
    raw: BufWriter<File>,
    /// The log's file, until the log begins.
    file: Option<File>,
    log: Option<Log<BufWriter<File>>>,
    raw_bytes: u64,
    lines: u64,
    zero_ns: u64,
    reset: bool,
    before_ns: Option<u64>,
    seen: Vec<Seen>,
}

impl<'a> Screen<'a> {
    fn new(growing: &Growing, out: &'a mut Out, quiet: bool) -> Result<Self> {
        let show = !quiet && !out.json;
        Ok(Self {
            out,
            show,
            terminal: show && io::stdout().is_terminal(),
            drawn: false,
            raw: BufWriter::new(growing.create(RAW)?.file),
            file: Some(growing.create(LOG)?.file),
            log: None,
            raw_bytes: 0,
            lines: 0,
            zero_ns: 0,
            reset: false,
            before_ns: None,
            seen: Vec::new(),
        })
    }

    fn log(&mut self) -> io::Result<&mut Log<BufWriter<File>>> {
        self.log
            .as_mut()
            .ok_or_else(|| io::Error::other("the log has not begun"))
    }

    fn line_text(&self, first_ns: u64, last_ns: Option<u64>, raw: &[u8]) -> String {
        let since = |ns: u64| Nanos(signed(ns) - signed(self.zero_ns));
        let before = self.before_ns.unwrap_or(self.zero_ns);
        let delta = Nanos(signed(first_ns) - signed(before));
        let text = sources::serial::screen(raw);
        let last = last_ns.map(since);
        serial_line(since(first_ns), delta, last, &text, &self.out.style)
    }

    fn erase(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.drawn) {
            // To the first column, and erase what stands there.
            self.out.write_all(b"\r\x1b[K")?;
        }
        Ok(())
    }

    fn finish(mut self, lost: &[(&'static str, u32)], latency: Option<u32>) -> Result<Summary> {
        self.erase()?;
        self.raw.flush()?;
        if let Some(log) = &mut self.log {
            log.finish(lost, latency.filter(|ms| *ms > 1))?;
        }
        Ok(Summary {
            lines: self.lines,
            zero_ns: self.zero_ns,
            seen: self.seen,
        })
    }
}

impl Listener for Screen<'_> {
    fn begin(&mut self, line: Option<(u32, u8)>) -> io::Result<()> {
        if let Some(file) = self.file.take() {
            self.log = Some(Log::begin(BufWriter::new(file), line)?);
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.raw_bytes = self.raw_bytes.saturating_add(bytes.len() as u64);
        self.raw.write_all(bytes)
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.log()?.event(event)?;
        match event {
            Event::Fit(Fit {
                action,
                at_ns,
                text,
            }) => {
                let name = match action {
                    Action::Reset => "reset",
                    Action::End => record::mark::FIRST_LIGHT,
                    Action::Mark(name) => name,
                };
                self.seen.push(Seen {
                    name: name.to_owned(),
                    at_ns: *at_ns,
                    text: text.clone(),
                });
                if *action == Action::Reset {
                    self.zero_ns = *at_ns;
                    self.reset = true;
                }
            }
            Event::Line(line) => {
                self.lines = self.lines.saturating_add(1);
                if self.show {
                    let mut text = self.line_text(line.first_ns, Some(line.last_ns), &line.raw);
                    text.push('\n');
                    self.erase()?;
                    self.out.write_all(text.as_bytes())?;
                }
                self.before_ns = Some(line.first_ns);
            }
        }
        Ok(())
    }

    fn power(&mut self, began_ns: u64, ended_ns: u64) -> io::Result<()> {
        self.log()?.power(began_ns, ended_ns)?;
        self.seen.push(Seen {
            name: record::mark::POWER_ON.to_owned(),
            at_ns: ended_ns,
            text: String::new(),
        });
        if !self.reset {
            self.zero_ns = ended_ns;
        }
        Ok(())
    }

    fn open(&mut self, first_ns: u64, raw: &[u8]) -> io::Result<()> {
        if self.terminal {
            let text = self.line_text(first_ns, None, raw);
            self.erase()?;
            self.out.write_all(text.as_bytes())?;
            self.drawn = true;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.raw.flush()?;
        let log = self.log()?;
        log.flush()?;
        let bytes = log.bytes().max(self.raw_bytes);
        if self.show {
            Write::flush(self.out)?;
        }
        Ok(bytes < MOST_BYTES)
    }
}

/// What there is to say at the end.
struct Done<'a> {
    args: &'a CaptureSerial,
    console: &'a str,
    outcome: &'a Outcome,
    latency_ms: Option<u32>,
    seen: &'a Summary,
}

impl Done<'_> {
    fn at(&self, ns: u64) -> Nanos {
        Nanos(signed(ns) - signed(self.seen.zero_ns))
    }

    fn text(&self) -> String {
        let Self { outcome, seen, .. } = self;
        let mut text = format!(
            "{}: {} lines, {} bytes; {}\n",
            self.args.out.display(),
            seen.lines,
            outcome.bytes,
            self.why()
        );
        let widest = seen.seen.iter().map(|s| s.name.chars().count()).max();
        let widest = widest.unwrap_or(0);
        for s in &seen.seen {
            let at = self.at(s.at_ns).to_string();
            text += &format!("  {:widest$}  {at:>10}  {}\n", s.name, s.text);
        }
        for (what, count) in &outcome.lost {
            text += &format!("firstlight: {}\n", lost(what, *count));
        }
        if let Some(ms) = self.latency_ms {
            text += &format!(
                "firstlight: the adapter may keep characters back for {ms} ms; for better stamps \
                 write 1 into its latency_timer in /sys/class/tty/*/device\n"
            );
        }
        text
    }

    fn json(&self, files: &[String]) -> serde_json::Value {
        let Self { outcome, seen, .. } = self;
        let marks = seen.seen.iter().map(|s| {
            serde_json::json!({
                "name": s.name, "at_ns": self.at(s.at_ns).get(), "text": s.text,
            })
        });
        let missing = outcome.lost.iter().map(|(what, count)| lost(what, *count));
        serde_json::json!({
            "schema": "firstlight.capture/1",
            "capture": self.args.out,
            "files": files,
            "missing": missing.collect::<Vec<_>>(),
            "serial": {
                "lines": seen.lines,
                "bytes": outcome.bytes,
                "ended": match outcome.ended {
                    Ended::Pattern => "pattern",
                    Ended::Limit => "limit",
                    Ended::Interrupt => "interrupt",
                    Ended::Closed => "closed",
                    Ended::Program(_) => "program",
                    Ended::Device(_) => "device",
                    Ended::Full => "full",
                },
                "marks": marks.collect::<Vec<_>>(),
            },
        })
    }

    /// Why it ended.
    fn why(&self) -> String {
        match &self.outcome.ended {
            Ended::Pattern => "the end pattern was seen".to_owned(),
            Ended::Limit => "the time was over".to_owned(),
            Ended::Interrupt => "ended by hand".to_owned(),
            Ended::Closed => format!("{} ended", self.console),
            Ended::Program(status) => {
                format!("{} {}", self.console, listen::words(*status))
            }
            Ended::Device(why) => format!("{} failed: {why}", self.console),
            Ended::Full => "a capture of one boot holds no more".to_owned(),
        }
    }

    /// Whether what was asked for was done.
    fn verdict(&self) -> Result<()> {
        let kept = self.args.out.display();
        match (&self.args.patterns.end_on, &self.outcome.ended) {
            (_, Ended::Pattern) => Ok(()),
            (Some(pattern), Ended::Limit) => {
                let limit = self.args.patterns.end_after.unwrap_or_default();
                let limit = Nanos(i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX));
                bail!(
                    "the end pattern `{pattern}` was not seen within {limit}; what came is in {kept}"
                )
            }
            (Some(pattern), _) => bail!(
                "{} before the end pattern `{pattern}` was seen; what came is in {kept}",
                self.why()
            ),
            (None, Ended::Program(_) | Ended::Device(_) | Ended::Full) => {
                bail!("{}; what came is in {kept}", self.why())
            }
            (None, _) => Ok(()),
        }
    }
}

/// What the driver counted, and what to do.
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

fn switch_off(command: &str) -> Result<()> {
    let status = program::run(command)
        .with_context(|| format!("the power command `{command}` could not be started"))?;
    if !status.success() {
        bail!(
            "the power command `{command}` {}; the board may still be on",
            listen::words(status)
        );
    }
    Ok(())
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}
