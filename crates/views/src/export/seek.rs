//! Block requests as a picture: where on the device over time, how long each
//! took, and how much was moved.
//!
//! However many requests there are, the picture stays small: each is drawn on
//! a grid of pixels, and a pixel is drawn once.

use super::drawing::{self, Anchor, Color, Drawing, Shape, Weight};
use super::label::step;
use crate::words::{bytes, counted, thousands};
use analysis::{Seek, SeekDevice};
use record::{Nanos, Operation};

/// The picture's width, and its margins, in pixels.
const WIDTH: u32 = 1280;
const LEFT: u32 = 100;
const RIGHT: u32 = 20;
/// The width of a chart.
const CHART: u32 = WIDTH - LEFT - RIGHT;
/// Heights of charts.
const PLACES: u32 = 300;
const LATENCY: u32 = 160;
const THROUGHPUT: u32 = 90;
/// A cell of the grid is one pixel wide and this high.
const CELL: u32 = 2;

/// How many devices are drawn: those that moved most.
const MOST_DEVICES: usize = 4;

/// The operations that are drawn, in colors of Okabe and Ito, which the
/// color-blind tell apart.
const DRAWN: [(Operation, Color); 3] = [
    (Operation::Read, [0x00, 0x72, 0xb2]),
    (Operation::Write, [0xd5, 0x5e, 0x00]),
    (Operation::Discard, [0x00, 0x9e, 0x73]),
];

/// The ground of a chart, lines in it, and lines at its edge.
const GROUND: Color = [0xf6; 3];
const FAINT: Color = [0xdd; 3];
const EDGE: Color = [0x88; 3];

/// The picture; of no requests, one that says so.
pub struct SeekPicture(Drawing);

impl SeekPicture {
    /// Draws it; `title` stands on top.
    #[must_use]
    pub fn of(seek: Option<&Seek>, title: &str) -> Self {
        let mut picture = Picture {
            shapes: Vec::new(),
            y: 60,
            span: seek.map_or((Nanos::ZERO, Nanos(1)), |s| s.span),
        };
        picture.head(title, seek.map_or("", |s| &s.zero));
        match seek {
            Some(seek) => picture.all(seek),
            None => picture.heading("no requests"),
        }
        picture.axis();
        Self(Drawing {
            title: title.to_owned(),
            width: WIDTH,
            height: picture.y + 26,
            shapes: picture.shapes,
        })
    }

    /// As SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        self.0.svg()
    }

    /// As PNG.
    ///
    /// # Errors
    ///
    /// If there are more pixels than the format holds.
    pub fn png(&self) -> Result<Vec<u8>, png::EncodingError> {
        self.0.png()
    }
}

struct Picture {
    shapes: Vec<Shape>,
    /// Where the next chart goes.
    y: u32,
    span: (Nanos, Nanos),
}

/// Which cells of a chart are drawn.
struct Grid {
    rows: u32,
    cells: Vec<bool>,
}

impl Grid {
    fn new(height: u32) -> Self {
        let rows = height / CELL;
        let cells = usize::try_from(rows * CHART).unwrap_or(0);
        Self {
            rows,
            cells: vec![false; cells],
        }
    }

    /// Marks the cells of some columns and rows, the last ones included.
    fn mark(&mut self, columns: (u32, u32), rows: (u32, u32)) {
        for row in rows.0..=rows.1.min(self.rows - 1) {
            let from = row * CHART + columns.0;
            let to = row * CHART + columns.1.min(CHART - 1);
            let line = usize::try_from(from).ok().zip(usize::try_from(to).ok());
            if let Some(cells) = line.and_then(|(from, to)| self.cells.get_mut(from..=to)) {
                cells.fill(true);
            }
        }
    }

    /// The marked cells as lines across, from `top` down.
    fn runs(&self, top: u32) -> Vec<(u32, u32, u32)> {
        let mut runs = Vec::new();
        let width = usize::try_from(CHART).unwrap_or(1);
        for (row, cells) in (0..).zip(self.cells.chunks(width)) {
            let y = top + row * CELL + CELL / 2;
            let mut column = 0;
            for run in cells.chunk_by(|a, b| a == b) {
                let length = u32::try_from(run.len()).unwrap_or(0);
                if run.first() == Some(&true) {
                    runs.push((LEFT + column, y, length));
                }
                column += length;
            }
        }
        runs
    }
}

/// Where a value stands on a scale of so many steps, from 0.
fn place(value: u128, most: u128, steps: u32) -> u32 {
    let steps_wide = u128::from(steps);
    let at = value.saturating_mul(steps_wide) / most.max(1);
    u32::try_from(at.min(steps_wide.saturating_sub(1))).unwrap_or(0)
}

impl Picture {
    fn column(&self, t: Nanos) -> u32 {
        let into =
            |t: Nanos| u128::try_from(t.get().saturating_sub(self.span.0.get())).unwrap_or(0);
        place(into(t), into(self.span.1).max(1), CHART)
    }

    fn text(&mut self, at: (u32, u32), anchor: Anchor, weight: Weight, text: String) {
        let loud = anchor == Anchor::Start;
        let text = drawing::text(at, (anchor, weight), loud, text);
        self.shapes.push(text);
    }

    fn rectangle(&mut self, at: (u32, u32), size: (u32, u32), fill: Color) {
        self.shapes.push(Shape::Rectangle { at, size, fill });
    }

    /// A line across the chart.
    fn across(&mut self, y: u32, color: Color) {
        let (from, to) = ((LEFT, y), (WIDTH - RIGHT, y));
        self.shapes.push(Shape::Line { from, to, color });
    }

    /// The title, the legend, and what time zero is.
    fn head(&mut self, title: &str, zero: &str) {
        self.text((12, 22), Anchor::Start, Weight::Title, title.to_owned());
        let zero = format!("time 0: {zero}");
        self.text((WIDTH - RIGHT, 46), Anchor::End, Weight::Plain, zero);
        for (i, (operation, color)) in (0..).zip(DRAWN) {
            let x = LEFT + i * 90;
            self.rectangle((x, 36), (12, 12), color);
            let name = operation.as_str().to_owned();
            self.text((x + 17, 46), Anchor::Start, Weight::Plain, name);
        }
    }

    fn heading(&mut self, text: &str) {
        let at = (LEFT, self.y + 14);
        self.text(at, Anchor::Start, Weight::Bold, text.to_owned());
        self.y += 20;
    }

    fn all(&mut self, seek: &Seek) {
        for device in seek.devices.iter().take(MOST_DEVICES) {
            self.places(device);
        }
        self.latency(seek);
        self.throughput(seek);
        let others = seek.devices.len().saturating_sub(MOST_DEVICES);
        if others > 0 {
            self.heading(&format!(
                "not drawn: {} that moved less data",
                counted(others, "device")
            ));
        }
        if seek.kept < seek.requests {
            self.heading(&format!(
                "only the first {} of {} requests are drawn",
                thousands(seek.kept),
                thousands(seek.requests)
            ));
        }
    }

    /// A frame with values at its left edge, from the bottom up.
    fn frame(&mut self, height: u32, values: &[(u32, String)]) {
        let top = self.y;
        self.rectangle((LEFT, top), (CHART, height), GROUND);
        for (up, value) in values {
            let y = (top + height).saturating_sub(*up);
            self.text((LEFT - 6, y + 4), Anchor::End, Weight::Plain, value.clone());
        }
    }

    fn draw(&mut self, grids: &[Grid]) {
        for (grid, (operation, color)) in grids.iter().zip(DRAWN) {
            let runs = grid.runs(self.y);
            if !runs.is_empty() {
                self.shapes.push(Shape::Runs {
                    runs,
                    thick: CELL,
                    color,
                    says: operation.as_str(),
                });
            }
        }
    }

    /// Where on the device, over time: from when it got a request to when it
    /// was done.
    fn places(&mut self, device: &SeekDevice) {
        let range = device.end.saturating_sub(device.first).max(1);
        self.heading(&format!(
            "{}: position on the device, {} over {}",
            device.device,
            counted(device.points.len(), "request"),
            bytes(range)
        ));
        let rows = PLACES / CELL;
        let mut grids = DRAWN.map(|_| Grid::new(PLACES));
        let fat = fat(device.points.len());
        for p in &device.points {
            let up = |offset: u64| {
                let row = place(
                    u128::from(offset.saturating_sub(device.first)),
                    u128::from(range),
                    rows,
                );
                rows - 1 - row
            };
            let last = p.offset.saturating_add(p.bytes.saturating_sub(1));
            if let Some(grid) = of(&mut grids, p.operation) {
                let columns = (self.column(p.start), self.column(p.end) + fat);
                grid.mark(columns, (up(last), up(p.offset) + fat / 2));
            }
        }
        let values: Vec<(u32, String)> = (0..=4)
            .map(|i| {
                let offset = device.first + range / 4 * u64::from(i);
                (PLACES * i / 4, bytes(offset))
            })
            .collect();
        self.frame(PLACES, &values);
        self.draw(&grids);
        self.y += PLACES + 12;
    }

    /// How long each request took, over the time of its end: each step up is
    /// ten times as long.
    fn latency(&mut self, seek: &Seek) {
        let points = || seek.devices.iter().flat_map(|d| &d.points);
        let served = || points().filter_map(|p| Some((p, p.service?.get().max(1))));
        let (Some(least), Some(most)) = (served().map(|s| s.1).min(), served().map(|s| s.1).max())
        else {
            return;
        };
        self.heading("latency on the device (logarithmic)");
        let (first, last) = (least.ilog10(), most.ilog10() + 1);
        let decades = last - first;
        let rows = LATENCY / CELL;
        let height = |service: i64| -> u32 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a row of a chart: small, and not negative"
            )]
            let row = {
                let up = (service as f64).log10() - f64::from(first);
                (up / f64::from(decades) * f64::from(rows)) as u32
            };
            row.min(rows - 1)
        };
        let mut grids = DRAWN.map(|_| Grid::new(LATENCY));
        let fat = fat(points().count());
        for (p, service) in served() {
            if let Some(grid) = of(&mut grids, p.operation) {
                let column = self.column(p.end);
                let row = rows - 1 - height(service);
                grid.mark((column, column + fat.max(1)), (row, row + fat / 2));
            }
        }
        let values: Vec<(u32, String)> = (0..=decades)
            .map(|i| {
                let t = 10_i64.checked_pow(first + i).unwrap_or(i64::MAX);
                (LATENCY * i / decades, Nanos(t).to_string())
            })
            .collect();
        self.frame(LATENCY, &values);
        for i in 1..decades {
            let y = self.y + LATENCY - LATENCY * i / decades;
            self.across(y, FAINT);
        }
        self.draw(&grids);
        self.y += LATENCY + 12;
    }

    /// What was moved in each stretch of time: reads up, writes down.
    fn throughput(&mut self, seek: &Seek) {
        let Some(stretch) = seek.timeline.first() else {
            return;
        };
        let length = (stretch.end - stretch.start).get().max(1);
        let most = seek.timeline.iter();
        let most = most.map(|s| s.read_bytes.max(s.write_bytes)).max();
        let most = most.unwrap_or(0);
        if most == 0 {
            return;
        }
        let per_second = u128::from(most) * 1_000_000_000 / u128::from(length.unsigned_abs());
        let rate = format!("{}/s", bytes(u64::try_from(per_second).unwrap_or(u64::MAX)));
        self.heading("throughput: reads above the line, writes below");
        let half = THROUGHPUT / 2;
        let values = [
            (THROUGHPUT, rate.clone()),
            (half, "0".to_owned()),
            (0, rate),
        ];
        self.frame(THROUGHPUT, &values);
        let middle = self.y + half;
        for s in &seek.timeline {
            let (x0, x1) = (LEFT + self.column(s.start), LEFT + self.column(s.end));
            let width = x1.saturating_sub(x0).max(1);
            let tall = |moved: u64| place(u128::from(moved), u128::from(most), half + 1);
            let (up, down) = (tall(s.read_bytes), tall(s.write_bytes));
            if up > 0 {
                self.rectangle((x0, middle - up), (width, up), DRAWN[0].1);
            }
            if down > 0 {
                self.rectangle((x0, middle), (width, down), DRAWN[1].1);
            }
        }
        self.across(middle, EDGE);
        self.y += THROUGHPUT + 8;
    }

    /// Times, below the last chart.
    fn axis(&mut self) {
        let bottom = self.y;
        let step = step(self.span.1 - self.span.0);
        let mut t = Nanos((self.span.0.get().div_euclid(step)).saturating_mul(step));
        // Times near the ends of 64 bits would go on without an end.
        for _ in 0..32 {
            if t > self.span.1 {
                break;
            }
            if t >= self.span.0 {
                let x = LEFT + self.column(t);
                self.shapes.push(Shape::Line {
                    from: (x, bottom),
                    to: (x, bottom + 4),
                    color: EDGE,
                });
                // The last one may stand at the edge.
                let at = (x.min(WIDTH - RIGHT - 14), bottom + 18);
                self.text(at, Anchor::Middle, Weight::Plain, t.to_string());
            }
            t = t + Nanos(step);
        }
    }
}

/// How much larger than one cell a point is drawn: few points would be lost in
/// the picture, and many would hide each other.
const fn fat(points: usize) -> u32 {
    match points {
        0..=5_000 => 2,
        _ => 0,
    }
}

/// The grid of an operation, if it is drawn.
fn of(grids: &mut [Grid; DRAWN.len()], operation: Operation) -> Option<&mut Grid> {
    let at = DRAWN.iter().position(|(o, _)| *o == operation)?;
    grids.get_mut(at)
}
