//! Standard output: the only place where results are printed.

use crate::args::{Color, Output};
use anyhow::Result;
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};
use std::process::ExitCode;
use views::terminal::Style;

pub struct Out {
    stdout: BufWriter<StdoutLock<'static>>,
    pub json: bool,
    pub style: Style,
    code: u8,
}

impl Out {
    pub fn new(output: &Output) -> Self {
        let stdout = std::io::stdout();
        let terminal = stdout.is_terminal();
        let color = match output.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                terminal && anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never
            }
        };
        let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
        let width = columns.or_else(|| terminal.then(terminal_width).flatten());
        Self {
            stdout: BufWriter::new(stdout.lock()),
            json: output.json,
            code: 0,
            style: Style {
                color,
                width: width.unwrap_or(100).clamp(60, 200),
            },
        }
    }

    pub fn text(&mut self, text: &str) -> Result<()> {
        self.bytes(text.as_bytes())
    }

    /// Prints a report: its document with `--json`, else its screen.
    pub fn show<D: serde::Serialize>(
        &mut self,
        document: impl FnOnce() -> D,
        screen: impl FnOnce(&Style) -> String,
    ) -> Result<()> {
        let text = match self.json {
            true => views::json::text(&document()),
            false => screen(&self.style),
        };
        self.text(&text)
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stdout.write_all(bytes)?)
    }

    pub fn flush(&mut self) -> Result<()> {
        Ok(self.stdout.flush()?)
    }

    /// Notes the answer of a gate: 0 yes, 1 no, 2 not known.
    pub fn exit_code(&mut self, code: u8) {
        self.code = self.code.max(code);
    }

    /// Notes the answer of a gate: if it is no, the exit code is 1.
    pub fn gate(&mut self, passed: bool) {
        self.exit_code(u8::from(!passed));
    }

    /// Writes what is left, and says how the program ends.
    pub fn finish(mut self) -> Result<ExitCode> {
        self.flush()?;
        Ok(ExitCode::from(self.code))
    }
}

/// For what is printed as it happens.
impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.stdout.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stdout.flush()
    }
}

fn terminal_width() -> Option<usize> {
    let (_, columns) = rustix::termios::tcgetwinsize(std::io::stdout())
        .map(|w| (w.ws_row, w.ws_col))
        .ok()?;
    (columns > 0).then_some(usize::from(columns))
}

/// Whether the reader of our output has gone, which is its right.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>();
        io.is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
