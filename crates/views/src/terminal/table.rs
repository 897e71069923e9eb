//! The one printer of tables: columns as wide as their widest cell, numbers on
//! the right, names cut to what the screen leaves them.

use super::layout::{Ansi, BOLD, DIM, PLAIN, Screen, TIME, clean, fit, fit_end, left, right};
use crate::words::thousands;
use record::Nanos;

/// The least width of a name on a narrow screen.
const NAME: usize = 16;

/// Where the text of a column stands, and what happens if there is no room for it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// On the right, never cut.
    Number,
    /// On the left, never cut.
    Text,
    /// On the left; cut at its end if the screen is too narrow.
    Name,
    /// On the left; cut at its beginning if the screen is too narrow.
    Path,
}

/// A column: its heading, and how it is laid out. A column without any text in
/// its cells is not printed.
pub struct Column {
    head: String,
    kind: Kind,
    least: usize,
    screen: usize,
}

impl Column {
    fn of(head: &str, kind: Kind, least: usize) -> Self {
        Self {
            head: head.to_owned(),
            kind,
            least,
            screen: 0,
        }
    }

    /// Counts, sizes and shares.
    #[must_use]
    pub fn number(head: &str) -> Self {
        Self::of(head, Kind::Number, 0)
    }

    /// Durations and points in time; tables below each other line up.
    #[must_use]
    pub fn time(head: &str) -> Self {
        Self::of(head, Kind::Number, TIME)
    }

    /// Short text that is always shown whole.
    #[must_use]
    pub fn text(head: &str) -> Self {
        Self::of(head, Kind::Text, 0)
    }

    /// Text that is cut at its end if the screen is too narrow.
    #[must_use]
    pub fn name(head: &str) -> Self {
        Self::of(head, Kind::Name, 0)
    }

    /// Text that is cut at its beginning if the screen is too narrow.
    #[must_use]
    pub fn path(head: &str) -> Self {
        Self::of(head, Kind::Path, 0)
    }

    /// At least this many characters wide.
    #[must_use]
    pub fn at_least(self, least: usize) -> Self {
        Self { least, ..self }
    }

    /// Only on screens that are at least this wide.
    #[must_use]
    pub fn from_width(self, screen: usize) -> Self {
        Self { screen, ..self }
    }

    fn is_cut(&self) -> bool {
        matches!(self.kind, Kind::Name | Kind::Path)
    }

    fn laid_out(&self, text: &str, width: usize) -> (String, usize) {
        let text = match self.kind {
            Kind::Number | Kind::Text => text.to_owned(),
            Kind::Name => fit(text, width),
            Kind::Path => fit_end(text, width),
        };
        let pad = width.saturating_sub(length(&text));
        (text, pad)
    }
}

/// A cell: its text, how it looks, and a remark behind it that is never cut.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    ansi: Ansi,
    remark: String,
    remark_ansi: Ansi,
    to_the_end: bool,
}

impl Cell {
    /// In this style.
    #[must_use]
    pub fn ansi(self, ansi: Ansi) -> Self {
        Self { ansi, ..self }
    }

    /// What the reader looks for first.
    #[must_use]
    pub fn bold(self) -> Self {
        self.ansi(BOLD)
    }

    /// What stands back.
    #[must_use]
    pub fn dim(self) -> Self {
        self.ansi(DIM)
    }

    /// With a remark behind it.
    #[must_use]
    pub fn remark(self, remark: &str, ansi: Ansi) -> Self {
        Self {
            remark: clean(remark),
            remark_ansi: ansi,
            ..self
        }
    }

    /// A sentence that takes the rest of its row.
    #[must_use]
    pub fn to_the_end(self) -> Self {
        Self {
            to_the_end: true,
            ..self
        }
    }

    fn length(&self) -> usize {
        match self.to_the_end {
            true => 0,
            false => length(&self.text) + length(&self.remark),
        }
    }

    fn is_blank(&self) -> bool {
        self.text.trim().is_empty() && self.remark.is_empty()
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self {
            text: clean(text),
            ..Self::default()
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Nanos> for Cell {
    fn from(time: Nanos) -> Self {
        Self::from(time.to_string())
    }
}

impl From<Option<Nanos>> for Cell {
    fn from(time: Option<Nanos>) -> Self {
        time.map_or_else(Self::default, Self::from)
    }
}

/// With commas: `1,332`.
impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::from(thousands(count))
    }
}

/// With commas: `1,332`.
impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::from(count as u64)
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// A table that grows row by row.
pub struct Table<const N: usize> {
    columns: [Column; N],
    rows: Vec<[Cell; N]>,
}

impl<const N: usize> Table<N> {
    /// A table without rows.
    #[must_use]
    pub fn new(columns: [Column; N]) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// A row below the others.
    pub fn row(&mut self, cells: [Cell; N]) {
        self.rows.push(cells);
    }

    /// The row that adds up the others.
    pub fn total(&mut self, cells: [Cell; N]) {
        self.row(cells.map(Cell::bold));
    }

    /// Prints the table; without rows, nothing.
    pub fn print(&self, screen: &mut Screen) {
        if self.rows.is_empty() {
            return;
        }
        let widths = self.widths(screen.width());
        let columns = || self.columns.iter().zip(widths).filter(|(_, w)| *w > 0);
        let heads = columns().map(|(c, width)| match c.kind {
            Kind::Number => right(&c.head, width),
            _ => left(&c.head, width),
        });
        let heads: Vec<String> = heads.collect();
        if heads.iter().any(|h| !h.trim().is_empty()) {
            screen.columns(&format!("  {}", heads.join("  ")));
        }
        for row in &self.rows {
            let (mut line, mut used) = (String::new(), 0);
            for ((column, cell), width) in self.columns.iter().zip(row).zip(widths) {
                if width == 0 {
                    continue;
                }
                if cell.to_the_end {
                    let room = screen.width().saturating_sub(used + 2);
                    line += &format!("  {}", screen.paint(cell.ansi, &fit(&cell.text, room)));
                    break;
                }
                used += 2 + width;
                let (text, pad) = column.laid_out(&cell.text, width - length(&cell.remark));
                let text = screen.paint(cell.ansi, &text);
                let remark = screen.paint(cell.remark_ansi, &cell.remark);
                let pad = " ".repeat(pad);
                line += &match column.kind {
                    Kind::Number => format!("  {pad}{text}{remark}"),
                    _ => format!("  {text}{remark}{pad}"),
                };
            }
            screen.line(&line);
        }
    }

    /// How wide each column is; 0 leaves one out.
    fn widths(&self, screen: usize) -> [usize; N] {
        let mut widths = [0; N];
        for (i, (column, width)) in self.columns.iter().zip(&mut widths).enumerate() {
            let cells = || self.rows.iter().filter_map(|row| row.get(i));
            if screen >= column.screen && cells().any(|c| !c.is_blank()) {
                let widest = cells().map(Cell::length).max().unwrap_or(0);
                *width = widest.max(length(&column.head)).max(column.least);
            }
        }
        let gaps = 2 * widths.iter().filter(|w| **w > 0).count();
        let cut = || self.columns.iter().map(Column::is_cut);
        let whole: usize = widths
            .iter()
            .zip(cut())
            .filter(|(_, cut)| !cut)
            .map(|(w, _)| w)
            .sum();
        let mut room = screen.saturating_sub(gaps + whole);
        // The shortest names first: what they leave is for the longer ones.
        let mut names: Vec<&mut usize> = widths
            .iter_mut()
            .zip(cut())
            .filter_map(|(w, cut)| (cut && *w > 0).then_some(w))
            .collect();
        names.sort_unstable();
        let count = names.len();
        for (i, width) in names.into_iter().enumerate() {
            let share = (room / (count - i)).max(NAME);
            *width = (*width).min(share);
            room = room.saturating_sub(*width);
        }
        widths
    }
}

/// A cell in no style.
pub fn cell(content: impl Into<Cell>) -> Cell {
    content.into().ansi(PLAIN)
}

#[cfg(test)]
mod tests {
    use super::super::layout::Screen;
    use super::super::style::Style;
    use super::{Column, Table, cell};
    use record::Nanos;

    fn screen(width: usize, fill: impl FnOnce(&mut Screen)) -> String {
        let mut screen = Screen::new(&Style {
            color: false,
            width,
        });
        fill(&mut screen);
        screen.finish()
    }

    #[test]
    fn numbers_stand_on_the_right_and_empty_columns_go() {
        let mut table = Table::new([
            Column::number("calls"),
            Column::time("time"),
            Column::text("doubt"),
            Column::name("name"),
        ]);
        table.row([cell(7_u64), cell(Nanos(5)), cell(""), cell("a")]);
        table.total([cell(1_234_u64), cell(Nanos(5)), cell(""), cell("total")]);
        let text = screen(80, |s| table.print(s));
        let expected =
            "  calls       time  name\n      7       5 ns  a\n  1,234       5 ns  total\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn names_are_cut_and_their_remarks_are_not() {
        let mut table = Table::new([
            Column::number("n"),
            Column::name("name"),
            Column::path("path"),
        ]);
        let long = "x".repeat(90);
        table.row([
            cell(1_u64),
            cell(&long).remark(" (late)", super::DIM),
            cell(&long),
        ]);
        let text = screen(60, |s| table.print(s));
        assert!(text.lines().all(|l| l.chars().count() <= 60), "{text}");
        assert!(text.contains("\u{2026} (late)  \u{2026}x"), "{text}");
    }
}
