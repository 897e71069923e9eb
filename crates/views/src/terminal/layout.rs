//! Columns, wrapping and color: what every screen is made of, those of the
//! command's own verbs too.

use super::style::{MIN_WIDTH, Style};
use anstyle::AnsiColor;
pub use anstyle::Style as Ansi;
use record::{Nanos, Phase, Severity};

/// Headings.
pub const BOLD: Ansi = Ansi::new().bold();
/// What is beside the point.
pub const DIM: Ansi = Ansi::new().dimmed();
/// Neither bold nor colored.
pub const PLAIN: Ansi = Ansi::new();
/// As it should be.
pub const GOOD: Ansi = AnsiColor::Green.on_default().bold();
/// Wrong.
pub const BAD: Ansi = AnsiColor::Red.on_default().bold();
/// Of another kind.
pub const OTHER: Ansi = AnsiColor::Magenta.on_default().bold();
/// In doubt.
pub const WARN: Ansi = AnsiColor::Yellow.on_default().bold();

/// How wide a duration is: `-999.9 ms`. The rare longer one (`-123.456 s`)
/// moves its line by a column.
pub(super) const TIME: usize = 9;

/// Below this width, names need the room more than bars do.
const ROOMY: usize = 100;

pub(super) fn of_severity(severity: Severity) -> Ansi {
    match severity {
        Severity::DataLoss => BAD,
        Severity::Doubt => WARN,
        Severity::Info => DIM,
    }
}

pub(super) fn of_phase(phase: Phase) -> Ansi {
    let color = match phase {
        Phase::BeforeKernelClock | Phase::Firmware => AnsiColor::BrightBlack,
        Phase::Loader => AnsiColor::Magenta,
        Phase::Decompression => AnsiColor::Yellow,
        Phase::Kernel => AnsiColor::Blue,
        Phase::Initrd => AnsiColor::Cyan,
        Phase::Userspace => AnsiColor::Green,
        Phase::App => AnsiColor::White,
    };
    color.on_default()
}

/// A screen that grows line by line.
pub struct Screen {
    style: Style,
    text: String,
}

impl Screen {
    /// An empty one.
    #[must_use]
    pub fn new(style: &Style) -> Self {
        Self {
            style: *style,
            text: String::new(),
        }
    }

    /// How many columns there are.
    #[must_use]
    pub fn width(&self) -> usize {
        self.style.width.max(MIN_WIDTH)
    }

    pub(super) fn is_roomy(&self) -> bool {
        self.width() >= ROOMY
    }

    /// The width of the bars beside a table's numbers.
    pub(super) fn bar_width(&self) -> usize {
        if self.is_roomy() { 12 } else { 6 }
    }

    /// `text` in this style, if there is color.
    #[must_use]
    pub fn paint(&self, ansi: Ansi, text: &str) -> String {
        if self.style.color && !text.trim().is_empty() && ansi != PLAIN {
            format!("{ansi}{text}{ansi:#}")
        } else {
            text.to_owned()
        }
    }

    /// A line; spaces at its end are dropped.
    pub fn line(&mut self, text: &str) {
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    /// An empty line, but not at the top.
    pub fn blank(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// A heading, with what it is about beside it.
    pub fn heading(&mut self, title: &str, about: &str) {
        self.blank();
        let title_width = title.chars().count() + 2;
        let about = fit(about, self.width().saturating_sub(title_width));
        let line = format!("{}  {}", self.paint(BOLD, title), self.paint(DIM, &about));
        self.line(&line);
    }

    /// What the columns below are.
    pub fn columns(&mut self, names: &str) {
        let line = self.paint(DIM, names);
        self.line(&line);
    }

    /// Words wrapped at the screen's width, each line after `indent` columns,
    /// the first after `first` instead.
    pub fn wrapped(&mut self, first: &str, indent: usize, ansi: Ansi, text: &str) {
        let room = self.width().saturating_sub(indent).max(20);
        let mut lead = right_pad(first, indent);
        let mut row = String::new();
        for word in clean(text).split_whitespace() {
            let used = row.chars().count();
            if used > 0 && used + 1 + word.chars().count() > room {
                let line = format!("{lead}{}", self.paint(ansi, &row));
                self.line(&line);
                row.clear();
                lead = " ".repeat(indent);
            }
            if !row.is_empty() {
                row.push(' ');
            }
            row.push_str(word);
        }
        let line = format!("{lead}{}", self.paint(ansi, &row));
        self.line(&line);
    }

    /// The text.
    #[must_use]
    pub fn finish(self) -> String {
        self.text
    }
}

/// Control characters replaced: a log must not move the cursor. So are the
/// characters that turn the direction of text around.
#[must_use]
pub fn clean(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let safe = |c: char| {
        if c == '\t' {
            ' '
        } else if c.is_control() || turns(c) {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(safe).collect()
}

/// `text`, cleaned, in at most `width` columns; what is cut ends in an ellipsis.
#[must_use]
pub fn fit(text: &str, width: usize) -> String {
    let text = clean(text);
    if text.chars().count() <= width {
        return text;
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        cut.push('\u{2026}');
    }
    cut
}

/// As [`fit`], but the end is kept.
pub(super) fn fit_end(text: &str, width: usize) -> String {
    let text = clean(text);
    let length = text.chars().count();
    if length <= width {
        return text;
    }
    let kept = text
        .chars()
        .skip(length - width.saturating_sub(1).min(length));
    std::iter::once('\u{2026}').chain(kept).collect()
}

/// Exactly `width` columns, text to the left.
#[must_use]
pub fn left(text: &str, width: usize) -> String {
    right_pad(&fit(text, width), width)
}

/// At least `width` columns, text to the right.
#[must_use]
pub fn right(text: &str, width: usize) -> String {
    let pad = width.saturating_sub(text.chars().count());
    format!("{}{text}", " ".repeat(pad))
}

fn right_pad(text: &str, width: usize) -> String {
    let pad = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(pad))
}

/// A time in a column of [`TIME`]; nothing if it is not known.
pub(crate) fn time(t: Option<Nanos>) -> String {
    right(&t.map_or_else(String::new, |t| t.to_string()), TIME)
}

/// A difference, with its sign.
pub(crate) fn delta(t: Nanos) -> String {
    let plus = if t > Nanos::ZERO { "+" } else { "" };
    right(&format!("{plus}{t}"), TIME)
}
