//! What pictures with a name at the left of each row have in common: the head, headings,
//! and axes of time.

use super::drawing::{self, Anchor, Color, Drawing, Shape, TEXT, Weight};
use super::label::{shortened, step};
use record::{Nanos, Record};

/// The width of a picture, and of the names at its left and the lengths at its right.
const WIDTH: u32 = 1280;
pub(super) const LEFT: u32 = 250;
const RIGHT: u32 = 90;

/// The width of a chart.
pub(super) const CHART: u32 = WIDTH - LEFT - RIGHT;

/// The height of a row with its gap, and of the bar in it.
pub(super) const ROW: u32 = 16;
pub(super) const BAR: u32 = 12;

/// The ground of a chart, lines in it, and lines that join things.
pub(super) const GROUND: Color = [0xf6; 3];
const FAINT: Color = [0xe2; 3];

/// How many letters a name at the left has.
const NAME: usize = 38;

/// From when to when a chart goes.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) from: Nanos,
    pub(super) to: Nanos,
}

impl Span {
    /// The column of a time; those outside are at the edges.
    pub(super) fn x(self, t: Nanos) -> u32 {
        let into = |t: Nanos| u128::try_from(t.get().saturating_sub(self.from.get())).unwrap_or(0);
        let whole = into(self.to).max(1);
        let at = into(t).min(whole) * u128::from(CHART) / whole;
        LEFT + u32::try_from(at).unwrap_or(CHART)
    }

    /// The columns from one time to another, one at least.
    pub(super) fn columns(self, from: Nanos, to: Nanos) -> (u32, u32) {
        let (x0, x1) = (self.x(from), self.x(to));
        (x0.min(LEFT + CHART - 1), x1.saturating_sub(x0).max(1))
    }
}

/// A picture that grows downwards.
pub(super) struct Sheet {
    pub(super) shapes: Vec<Shape>,
    /// Where the next thing goes.
    pub(super) y: u32,
    title: String,
}

impl Sheet {
    /// With a title, what is known of the machine, and what time zero is.
    pub(super) fn new(record: &Record, title: &str) -> Self {
        let mut sheet = Self {
            shapes: Vec::new(),
            y: 44,
            title: title.to_owned(),
        };
        sheet.text((12, 22), Anchor::Start, Weight::Title, title.to_owned());
        let zero = format!("time 0: {}", record.zero());
        sheet.text((WIDTH - 12, 22), Anchor::End, Weight::Plain, zero);
        for (key, word) in [
            ("machine", "machine"),
            ("kernel.version", "Linux"),
            ("kernel.cmdline", "command line"),
        ] {
            if let Some(value) = record.fact(key) {
                let text = shortened(&format!("{word}: {value}"), 190);
                sheet.text((12, sheet.y), Anchor::Start, Weight::Plain, text);
                sheet.y += 15;
            }
        }
        sheet
    }

    /// A line of text; quiet but at the left.
    pub(super) fn text(&mut self, at: (u32, u32), anchor: Anchor, weight: Weight, text: String) {
        let loud = anchor == Anchor::Start && weight != Weight::Plain;
        let text = drawing::text(at, (anchor, weight), loud, text);
        self.shapes.push(text);
    }

    /// The name of the row that comes next.
    pub(super) fn name(&mut self, name: &str) {
        self.shapes.push(Shape::Text {
            at: (LEFT - 8, self.y + BAR - 2),
            anchor: Anchor::End,
            weight: Weight::Plain,
            color: TEXT,
            text: shortened(name, NAME),
        });
    }

    /// What a chart shows, and more of it in plain letters.
    pub(super) fn heading(&mut self, text: &str, about: &str) {
        self.y += 22;
        self.text((12, self.y), Anchor::Start, Weight::Bold, text.to_owned());
        if !about.is_empty() {
            let at = (LEFT, self.y);
            self.text(at, Anchor::Start, Weight::Plain, about.to_owned());
        }
        self.y += 8;
    }

    /// A sentence for something that is not there.
    pub(super) fn remark(&mut self, text: &str) {
        self.y += 18;
        self.text(
            (LEFT, self.y),
            Anchor::Start,
            Weight::Plain,
            text.to_owned(),
        );
    }

    pub(super) fn rectangle(&mut self, at: (u32, u32), size: (u32, u32), fill: Color) {
        self.shapes.push(Shape::Rectangle { at, size, fill });
    }

    /// A bar that says what it is when it is pointed at.
    pub(super) fn bar(&mut self, at: (u32, u32), size: (u32, u32), fill: Color, says: String) {
        self.shapes.push(Shape::Bar {
            at,
            size,
            fill,
            says,
        });
    }

    /// Colors and their meaning, in one row.
    pub(super) fn legend(&mut self, entries: &[(Color, &str)]) {
        let mut x = LEFT;
        self.y += 4;
        for (color, text) in entries {
            self.rectangle((x, self.y), (10, 10), *color);
            let at = (x + 15, self.y + 9);
            self.text(at, Anchor::Start, Weight::Plain, (*text).to_owned());
            x += 40 + 6 * u32::try_from(text.chars().count()).unwrap_or(0);
        }
        self.y += 18;
    }

    /// Room for the times of an axis; gives where its lines begin, for [`Self::axis`].
    pub(super) fn begin(&mut self) -> (usize, u32) {
        self.y += 20;
        (self.shapes.len(), self.y)
    }

    /// Times above what was drawn since [`Self::begin`], and lines behind it.
    pub(super) fn axis(&mut self, (first, top): (usize, u32), span: Span) {
        let drawn = self.shapes.split_off(first);
        let step = step(span.to - span.from);
        let mut t = Nanos(span.from.get().div_euclid(step).saturating_mul(step));
        // Times near the ends of 64 bits would go on without an end.
        for _ in 0..32 {
            if t > span.to {
                break;
            }
            if t >= span.from {
                let x = span.x(t);
                self.shapes.push(Shape::Line {
                    from: (x, top - 3),
                    to: (x, self.y),
                    color: FAINT,
                });
                self.text((x, top - 6), Anchor::Middle, Weight::Plain, t.to_string());
            }
            t = t + Nanos(step);
        }
        self.shapes.extend(drawn);
    }

    /// The picture as SVG.
    pub(super) fn svg(self) -> String {
        let drawing = Drawing {
            title: self.title,
            width: WIDTH,
            height: self.y + 20,
            shapes: self.shapes,
        };
        drawing.svg()
    }
}
