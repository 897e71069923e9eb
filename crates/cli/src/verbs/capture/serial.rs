//! `firstlight capture serial`: a console, and both ends of every line.

use crate::args::CaptureSerial;
use crate::interrupt;
use crate::out::Out;
use anyhow::{Context, Result, bail};
use capture::serial::engine::{Action, Rule};
use capture::serial::input::Place;
use capture::serial::listen::{self, Console, Ended, Options};
use capture::serial::port::Settings;
use capture::serial::program;
use capture::serial::reader::Heard;
use capture::serial::take::{RESET, Shown, Taken, Watcher, take};
use record::Nanos;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc;
use views::json::{self, Document};
use views::terminal::{serial_capture, serial_line};

pub fn run(args: &CaptureSerial, out: &mut Out) -> Result<()> {
    let options = options(args)?;
    let console = match &options.console {
        Console::At(place, _) => place.to_string(),
        Console::Of(command) => format!("`{command}`"),
    };
    let (to, from) = mpsc::channel();
    let wish = to.clone();
    interrupt::on_interrupt(move || {
        wish.send(Heard::Interrupt).ok();
    })?;
    let taken_by = concat!("firstlight ", env!("CARGO_PKG_VERSION"));
    let mut screen = Screen::new(out, args.quiet);
    let taken = take(options, &args.out, taken_by, (to, from), &mut screen)?;
    // The reader of our output has gone, which is its right.
    let Some(taken) = taken else { return Ok(()) };
    let done = Done {
        args,
        console: &console,
        taken: &taken,
    };
    let document = done.json();
    if out.json {
        out.text(&json::text(&document))?;
    } else {
        out.flush()?;
        let text = serial_capture(&document, &done.why(), taken.latency_ms);
        anstream::eprint!("{text}");
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
        parity: line.parity.into(),
        stop: line.stop,
        flow: line.flow.into(),
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

/// Shows what comes.
struct Screen<'a> {
    out: &'a mut Out,
    show: bool,
    /// An open line can be drawn and drawn again.
    terminal: bool,
    drawn: bool,
}

impl<'a> Screen<'a> {
    fn new(out: &'a mut Out, quiet: bool) -> Self {
        let show = !quiet && !out.json;
        Self {
            out,
            show,
            terminal: show && io::stdout().is_terminal(),
            drawn: false,
        }
    }

    fn text(&self, line: Shown<'_>) -> String {
        let text = sources::serial::screen(line.raw);
        serial_line(line.first, line.delta, line.last, &text, &self.out.style)
    }
}

impl Watcher for Screen<'_> {
    fn line(&mut self, line: Shown<'_>) -> io::Result<()> {
        if self.show {
            let mut text = self.text(line);
            text.push('\n');
            self.end()?;
            self.out.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    fn open(&mut self, line: Shown<'_>) -> io::Result<()> {
        if self.terminal {
            let text = self.text(line);
            self.end()?;
            self.out.write_all(text.as_bytes())?;
            self.drawn = true;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.show {
            true => Write::flush(self.out),
            false => Ok(()),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.drawn) {
            // To the first column, and erase what stands there.
            self.out.write_all(b"\r\x1b[K")?;
        }
        Ok(())
    }
}

/// What there is to say at the end.
struct Done<'a> {
    args: &'a CaptureSerial,
    console: &'a str,
    taken: &'a Taken,
}

impl Done<'_> {
    fn json(&self) -> json::Capture {
        let Taken { outcome, .. } = self.taken;
        let marks = self.taken.marks.iter().map(|s| json::CaptureMark {
            at_ns: s.at.get(),
            name: s.name.clone(),
            text: s.text.clone(),
        });
        json::Capture {
            capture: self.args.out.display().to_string(),
            files: self.taken.files.clone(),
            missing: outcome.losses(),
            schema: json::Capture::SCHEMA,
            serial: Some(json::CaptureSerial {
                bytes: outcome.bytes,
                ended: outcome.ended.name(),
                lines: self.taken.lines,
                resets: self.resets(),
                marks: marks.collect(),
            }),
            ssh: None,
            board: None,
        }
    }

    /// How often the board was reset.
    fn resets(&self) -> usize {
        let marks = self.taken.marks.iter();
        marks.filter(|m| m.name == RESET).count()
    }

    /// Why it ended.
    fn why(&self) -> String {
        self.taken.outcome.ended.why(self.console)
    }

    /// Whether what was asked for was done.
    fn verdict(&self) -> Result<()> {
        let kept = self.args.out.display();
        match (&self.args.patterns.end_on, &self.taken.outcome.ended) {
            (_, Ended::Pattern) => {
                let (resets, expected) = (self.resets(), self.args.patterns.resets);
                if resets > expected {
                    bail!(
                        "the board was reset {resets} times and {expected} was expected, so first \
                         light is that of the last boot; look for a panic, a watchdog or a \
                         fallback in {kept}, or pass `--resets {resets}`"
                    );
                }
                Ok(())
            }
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
