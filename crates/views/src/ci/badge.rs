//! A badge: a small picture of the verdict.

use super::report::{Outcome, Report};
use super::xml;

/// The width of a character of the font, in tenths of a pixel.
const CHARACTER: usize = 66;

/// An SVG of 20 pixels in height.
#[must_use]
pub fn badge(r: &Report) -> String {
    let (left, right) = ("boot time", r.short.as_str());
    let color = match r.outcome {
        Outcome::Passed => "#2b7d3a",
        Outcome::Failed => "#b3261e",
        Outcome::CannotTell => "#8a6d00",
    };
    let width = |text: &str| text.chars().count() * CHARACTER / 10 + 12;
    let (a, b) = (width(left), width(right));
    let all = a + b;
    let (at_left, at_right) = (a / 2, a + b / 2);
    let right = xml(right);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"20\" role=\"img\" \
         aria-label=\"{left}: {right}\">\n\
         <title>{left}: {right}</title>\n\
         <rect width=\"{a}\" height=\"20\" fill=\"#444\"/>\n\
         <rect x=\"{a}\" width=\"{b}\" height=\"20\" fill=\"{color}\"/>\n\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" \
         font-size=\"11\">\n\
         <text x=\"{at_left}\" y=\"14\">{left}</text>\n\
         <text x=\"{at_right}\" y=\"14\">{right}</text>\n\
         </g>\n</svg>\n"
    )
}
