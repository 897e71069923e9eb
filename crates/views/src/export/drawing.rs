//! A picture as shapes: SVG and PNG are made of the same ones.

use super::label::escaped;
use embedded_graphics::geometry::{OriginDimensions, Point, Size};
use embedded_graphics::mono_font::iso_8859_1::{FONT_6X13, FONT_6X13_BOLD, FONT_9X15_BOLD};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use embedded_graphics::prelude::{DrawTarget, Drawable, Pixel, Primitive};
use embedded_graphics::primitives::{PrimitiveStyle, Rectangle};
use embedded_graphics::text::{Alignment, Baseline, Text, TextStyleBuilder};
use std::convert::Infallible;
use std::fmt::Write;

/// Red, green and blue.
pub(super) type Color = [u8; 3];

pub(super) const WHITE: Color = [0xff; 3];
pub(super) const TEXT: Color = [0x22; 3];
pub(super) const QUIET: Color = [0x55; 3];

/// On which side of its place a text stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Plain,
    Bold,
    Title,
}

/// A shape; places and lengths are in pixels, from the left and from above.
pub(super) enum Shape {
    Rectangle {
        at: (u32, u32),
        size: (u32, u32),
        fill: Color,
    },
    /// A line one pixel wide, across or down.
    Line {
        from: (u32, u32),
        to: (u32, u32),
        color: Color,
    },
    /// A line of text; `at` is on its baseline.
    Text {
        at: (u32, u32),
        anchor: Anchor,
        weight: Weight,
        color: Color,
        text: String,
    },
    /// A rectangle that says what it is.
    Bar {
        at: (u32, u32),
        size: (u32, u32),
        fill: Color,
        says: String,
    },
    /// Columns one pixel wide, side by side, that stand on a line; `at` is its left end.
    Columns {
        at: (u32, u32),
        heights: Vec<u32>,
        color: Color,
        says: &'static str,
    },
    /// Many lines across: from where, how far down their middle is, how long.
    Runs {
        runs: Vec<(u32, u32, u32)>,
        thick: u32,
        color: Color,
        says: &'static str,
    },
}

/// A line of text, as several pictures write it: quiet but where it is `loud`.
pub(super) fn text(
    at: (u32, u32),
    (anchor, weight): (Anchor, Weight),
    loud: bool,
    text: String,
) -> Shape {
    Shape::Text {
        at,
        anchor,
        weight,
        color: if loud { TEXT } else { QUIET },
        text,
    }
}

/// Shapes on a white ground, later ones over earlier ones.
pub(super) struct Drawing {
    pub(super) title: String,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) shapes: Vec<Shape>,
}

fn hex([r, g, b]: Color) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

impl Drawing {
    /// As a picture that a browser shows and an editor changes.
    pub(super) fn svg(&self) -> String {
        let Self { width, height, .. } = self;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n<style>text{{font:11px sans-serif}}\
             .bold{{font-weight:bold;font-size:12px}}.title{{font-weight:bold;font-size:15px}}\
             .middle{{text-anchor:middle}}.end{{text-anchor:end}}path{{fill:none}}</style>\n\
             <title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>\n",
            escaped(&self.title),
            hex(WHITE),
        );
        for shape in &self.shapes {
            // Writing to memory does not fail.
            shape.svg(&mut svg).ok();
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// As pixels, 24 bits each.
    pub(super) fn png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut pixels = Pixels::new(self.width, self.height);
        for shape in &self.shapes {
            match shape.draw(&mut pixels) {
                Ok(()) => {}
                Err(never) => match never {},
            }
        }
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.add_text_chunk("Title".to_owned(), latin(&self.title))?;
        encoder.write_header()?.write_image_data(&pixels.rgb)?;
        Ok(file)
    }
}

impl Shape {
    fn svg(&self, out: &mut String) -> std::fmt::Result {
        match self {
            Self::Rectangle { at, size, fill } => writeln!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
                at.0,
                at.1,
                size.0,
                size.1,
                hex(*fill)
            ),
            Self::Bar {
                at,
                size,
                fill,
                says,
            } => writeln!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{}</title></rect>",
                at.0,
                at.1,
                size.0,
                size.1,
                hex(*fill),
                escaped(says)
            ),
            Self::Columns {
                at,
                heights,
                color,
                says,
            } => {
                write!(out, "<path d=\"M{} {}", at.0, at.1)?;
                for alike in heights.chunk_by(|a, b| a == b) {
                    let height = alike.first().copied().unwrap_or(0);
                    write!(out, "V{}h{}", at.1.saturating_sub(height), alike.len())?;
                }
                writeln!(
                    out,
                    "V{}z\" style=\"fill:{}\"><title>{}</title></path>",
                    at.1,
                    hex(*color),
                    escaped(says)
                )
            }
            Self::Line { from, to, color } => writeln!(
                out,
                "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\"/>",
                from.0,
                from.1,
                to.0,
                to.1,
                hex(*color)
            ),
            Self::Text {
                at,
                anchor,
                weight,
                color,
                text,
            } => {
                let anchor = match anchor {
                    Anchor::Start => "",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let weight = match weight {
                    Weight::Plain => "",
                    Weight::Bold => "bold",
                    Weight::Title => "title",
                };
                write!(out, "<text x=\"{}\" y=\"{}\"", at.0, at.1)?;
                let class = [weight, anchor].join(" ");
                if !class.trim().is_empty() {
                    write!(out, " class=\"{}\"", class.trim())?;
                }
                writeln!(out, " fill=\"{}\">{}</text>", hex(*color), escaped(text))
            }
            Self::Runs {
                runs,
                thick,
                color,
                says,
            } => {
                write!(out, "<path d=\"")?;
                for (x, y, length) in runs {
                    write!(out, "M{x} {y}h{length}")?;
                }
                writeln!(
                    out,
                    "\" stroke=\"{}\" stroke-width=\"{thick}\"><title>{}</title></path>",
                    hex(*color),
                    escaped(says)
                )
            }
        }
    }

    fn draw(&self, pixels: &mut Pixels) -> Result<(), Infallible> {
        match self {
            Self::Rectangle { at, size, fill } | Self::Bar { at, size, fill, .. } => {
                pixels.fill(*at, *size, *fill)
            }
            Self::Columns {
                at, heights, color, ..
            } => {
                for (x, height) in (at.0..).zip(heights) {
                    let top = at.1.saturating_sub(*height);
                    pixels.fill((x, top), (1, *height), *color)?;
                }
                Ok(())
            }
            Self::Line { from, to, color } => {
                let size = (to.0.abs_diff(from.0).max(1), to.1.abs_diff(from.1).max(1));
                let at = (from.0.min(to.0), from.1.min(to.1));
                pixels.fill(at, size, *color)
            }
            Self::Text {
                at,
                anchor,
                weight,
                color,
                text,
            } => {
                let font: &MonoFont<'_> = match weight {
                    Weight::Plain => &FONT_6X13,
                    Weight::Bold => &FONT_6X13_BOLD,
                    Weight::Title => &FONT_9X15_BOLD,
                };
                let alignment = match anchor {
                    Anchor::Start => Alignment::Left,
                    Anchor::Middle => Alignment::Center,
                    Anchor::End => Alignment::Right,
                };
                let place = TextStyleBuilder::new()
                    .alignment(alignment)
                    .baseline(Baseline::Alphabetic)
                    .build();
                let look = MonoTextStyle::new(font, rgb(*color));
                Text::with_text_style(&latin(text), point(*at), look, place).draw(pixels)?;
                Ok(())
            }
            Self::Runs {
                runs, thick, color, ..
            } => {
                for &(x, y, length) in runs {
                    let at = (x, y.saturating_sub(thick / 2));
                    pixels.fill(at, (length, *thick), *color)?;
                }
                Ok(())
            }
        }
    }
}

/// A text in the letters that there are: those of ISO 8859-1.
fn latin(text: &str) -> String {
    let known = |c: char| match c {
        '\u{2026}' => '~',
        ' '..='~' | '\u{a0}'..='\u{ff}' => c,
        _ => '?',
    };
    text.chars().map(known).collect()
}

fn rgb([r, g, b]: Color) -> Rgb888 {
    Rgb888::new(r, g, b)
}

fn point((x, y): (u32, u32)) -> Point {
    let whole = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
    Point::new(whole(x), whole(y))
}

/// Pixels, row after row, three bytes each.
struct Pixels {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

impl Pixels {
    fn new(width: u32, height: u32) -> Self {
        let bytes = u64::from(width) * u64::from(height) * 3;
        Self {
            width,
            height,
            rgb: vec![0xff; usize::try_from(bytes).unwrap_or(0)],
        }
    }

    fn fill(&mut self, at: (u32, u32), size: (u32, u32), color: Color) -> Result<(), Infallible> {
        Rectangle::new(point(at), Size::new(size.0, size.1))
            .into_styled(PrimitiveStyle::with_fill(rgb(color)))
            .draw(self)
    }
}

impl OriginDimensions for Pixels {
    fn size(&self) -> Size {
        Size::new(self.width, self.height)
    }
}

impl DrawTarget for Pixels {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(
        &mut self,
        pixels: I,
    ) -> Result<(), Infallible> {
        for Pixel(at, color) in pixels {
            let (Ok(x), Ok(y)) = (u32::try_from(at.x), u32::try_from(at.y)) else {
                continue;
            };
            if x >= self.width {
                continue;
            }
            let byte = (u64::from(y) * u64::from(self.width) + u64::from(x)) * 3;
            let byte = usize::try_from(byte).unwrap_or(usize::MAX);
            let pixel = byte
                .checked_add(3)
                .and_then(|end| self.rgb.get_mut(byte..end));
            if let Some(pixel) = pixel {
                pixel.copy_from_slice(&[color.r(), color.g(), color.b()]);
            }
        }
        Ok(())
    }
}
