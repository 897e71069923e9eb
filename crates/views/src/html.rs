//! One self-contained page: the interactive report.
//!
//! The page holds its data in a JSON script block, its style and its script
//! inline, and asks no network for anything. The script only ever sets text
//! (`textContent`) and makes elements, so nothing in a log can become markup.

mod data;

use analysis::{Blame, Boot, Comparison, Experiment, Timeline};

/// How many bars the time line of a page should have at most: more are slow to
/// draw and cannot be told apart.
pub const MAX_BARS: usize = 20_000;

/// How many rows of what took longest a page should hold at most: the longest
/// of a boot that has very many.
pub const MAX_ROWS: usize = 20_000;

const PAGE: &str = include_str!("../assets/page.html");
const CSS: &str = include_str!("../assets/page.css");
const JS: &str = include_str!("../assets/page.js");

/// A boot on the page.
#[derive(Clone, Debug)]
pub struct Side {
    /// What the reader calls it: `baseline`, a variant, a file.
    pub title: String,
    /// The boot, explained.
    pub boot: Boot,
    /// What took longest, at most [`MAX_ROWS`].
    pub blame: Blame,
    /// The intervals in lanes, at most [`MAX_BARS`].
    pub timeline: Timeline,
}

/// What a page shows.
#[derive(Clone, Debug)]
pub struct Page {
    /// What it is about.
    pub title: String,
    /// The boot.
    pub baseline: Side,
    /// A second boot beside it, such as the best variant.
    pub best: Option<Side>,
    /// The two, item by item.
    pub comparison: Option<Comparison>,
    /// The experiment that both belong to.
    pub experiment: Option<Experiment>,
}

/// The page's bytes.
#[must_use]
pub fn page(page: &Page) -> String {
    let mut text = String::new();
    let mut rest = PAGE;
    // The template is cut at its slots, so that nothing that is put in is
    // searched for slots again.
    while let Some(at) = rest.find("{{") {
        let (before, slot) = rest.split_at(at);
        let end = slot.find("}}").map_or(slot.len(), |i| i + 2);
        let (name, after) = slot.split_at(end);
        text.push_str(before);
        match name {
            "{{title}}" => text.push_str(&escaped(&page.title)),
            "{{css}}" => text.push_str(CSS),
            "{{data}}" => text.push_str(&data(page)),
            "{{js}}" => text.push_str(JS),
            _ => {}
        }
        rest = after;
    }
    text + rest
}

/// The page's data block: JSON that cannot end the script element it is in.
#[must_use]
pub fn data(page: &Page) -> String {
    let json = serde_json::to_string(&data::Data::of(page)).unwrap_or_default();
    // `<` occurs in JSON only inside strings, where its escape means the same.
    // The two separators end a line in old scripts.
    json.replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
