//! The screens of `firstlight image map`.

use crate::terminal::Style;
use crate::terminal::layout::{self, DIM, PLAIN, Screen, WARN, clean, left, right};
use crate::words::{size, thousands, utf8};
use inspect::map::{Name, Owner, Paths, Row};
use inspect::requests::Unit;
use std::fmt::Write;

fn begin(image: &str, unit: Unit, notes: &[String], style: &Style) -> Screen {
    let mut screen = Screen::new(style);
    screen.heading(image, &format!("places in {}", unit.word()));
    for note in notes {
        screen.wrapped("  ", 2, WARN, &clean(note));
    }
    screen.blank();
    screen
}

/// What stands above the lines of [`MapLines`].
#[must_use]
pub fn map_head(image: &str, unit: Unit, notes: &[String], style: &Style) -> String {
    let mut screen = begin(image, unit, notes, style);
    let title = format!(
        "  {}  {}  {}  {}",
        right("start", 12),
        right("len", 8),
        left("kind", 26),
        "owner"
    );
    let title = screen.paint(DIM, &title);
    screen.line(&title);
    screen.finish()
}

/// A line for each piece.
pub struct MapLines {
    unit: Unit,
    width: usize,
    paths: Paths,
}

impl MapLines {
    /// No lines yet.
    #[must_use]
    pub fn new(unit: Unit, style: &Style) -> Self {
        Self {
            unit,
            width: style.width,
            paths: Paths::default(),
        }
    }

    /// The next line.
    pub fn next(&mut self, row: &Row<'_>) -> String {
        let (start, len, _) = row.in_units(self.unit);
        let line = format!(
            "  {}  {}  {}  {}",
            right(&start.to_string(), 12),
            right(&len.to_string(), 8),
            left(row.piece.extent.kind.word(), 26),
            owner(row, &mut self.paths)
        );
        format!("{}\n", layout::fit(&line, self.width).trim_end())
    }
}

/// The owner of a piece in words.
fn owner(row: &Row<'_>, paths: &mut Paths) -> String {
    let extent = &row.piece.extent;
    let path = paths.of(row).map(|p| clean(&utf8(p).0));
    let mut text = match (path, extent.inode) {
        (Some(path), _) => path,
        (None, Some(inode)) => format!("inode {inode}"),
        (None, None) => "-".to_owned(),
    };
    if let Some(offset) = extent.offset {
        write!(text, " +{}", thousands(offset)).ok();
    }
    text
}

/// A line for each owner, the first `top`; 0 is all.
#[must_use]
pub fn map_by_file(
    image: &str,
    unit: Unit,
    notes: &[String],
    owners: &[Owner],
    top: usize,
    style: &Style,
) -> String {
    let mut screen = begin(image, unit, notes, style);
    let title = format!(
        "  {}  {}  {}  {}",
        right("bytes", 15),
        right("pieces", 8),
        left("kind", 26),
        "owner"
    );
    let title = screen.paint(DIM, &title);
    screen.line(&title);
    let shown = if top == 0 { owners.len() } else { top };
    for owner in owners.iter().take(shown) {
        let name = match &owner.name {
            Name::Path(path) => clean(&utf8(path).0),
            Name::Inode(inode) => format!("inode {inode}"),
            Name::None => String::new(),
        };
        let line = format!(
            "  {}  {}  {}  {name}",
            right(&thousands(owner.bytes), 15),
            right(&thousands(owner.pieces), 8),
            left(owner.kind.word(), 26),
        );
        let line = layout::fit(&line, screen.width());
        screen.line(line.trim_end());
    }
    if let Some(more) = owners.len().checked_sub(shown).filter(|m| *m > 0) {
        let rest: u64 = owners.iter().skip(shown).map(|o| o.bytes).sum();
        let text = format!(
            "and {} more with {}; --top 0 shows all",
            thousands(more as u64),
            size(rest)
        );
        screen.wrapped("  ", 2, PLAIN, &text);
    }
    screen.finish()
}
