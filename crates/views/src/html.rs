//! One self-contained page: the interactive report.
//!
//! The page holds its data in a JSON script block, its style and its script
//! inline, and asks no network for anything. The script only ever sets text
//! (`textContent`) and makes elements, so nothing in a log can become markup.
//! The page without data is built from `ui/`; `./x test` checks that what is
//! kept here is what `ui/` gives.

mod column;
mod data;
mod lanes;
mod list;
mod published;
mod side;
mod taken;

pub use list::{Listed, ListedKind};
pub use side::{Line, Page, Side};
pub use taken::{CannotOpen, Taken};

use crate::json::{SchemaFile, schema_file};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use std::io::Write;

/// A larger data block is compressed, in bytes. A smaller one can be read by
/// people and by any JSON tool.
const PLAIN_BYTES: usize = 512 << 10;

const PAGE: &str = include_str!("../page/index.html");

/// The page's bytes.
#[must_use]
pub fn page(page: &Page<'_>) -> String {
    filled(&page.title, &data(page))
}

/// A page that lists captures and experiments, each with a link to its page.
#[must_use]
pub fn list(title: &str, entries: &[Listed]) -> String {
    filled(title, &block(&list::List::of(title, entries)))
}

/// A page of published results, each beside what it is here.
#[must_use]
pub fn published(title: &str, results: &[crate::classic::ClassicResult]) -> String {
    filled(title, &block(&published::Published::of(title, results)))
}

/// The page's data block: JSON that cannot end the script element it is in.
/// One that is large stands there as the text of its gzip stream.
#[must_use]
pub fn data(page: &Page<'_>) -> String {
    block(&data::Data::of(page))
}

/// The page, with a title and a data block. The template is cut at its two
/// slots, so that nothing that is put in is searched for slots again.
fn filled(title: &str, data: &str) -> String {
    let (head, rest) = PAGE.split_once("{{title}}").unwrap_or((PAGE, ""));
    let (middle, tail) = rest.split_once("{{data}}").unwrap_or((rest, ""));
    let mut text = String::with_capacity(PAGE.len() + data.len() + title.len());
    text.push_str(head);
    text.push_str(&escaped(title));
    text.push_str(middle);
    text.push_str(data);
    text.push_str(tail);
    text
}

fn block(data: &impl Serialize) -> String {
    // Structs of strings and numbers cannot fail to become JSON.
    let json = serde_json::to_string(data).unwrap_or_default();
    if json.len() <= PLAIN_BYTES {
        return inert(&json);
    }
    packed(&json)
}

/// The text of the gzip stream of `json`, as JSON.
fn packed(json: &str) -> String {
    // To memory: this cannot fail. What it would give is no stream.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    let stream = gzip.write_all(json.as_bytes()).and_then(|()| gzip.finish());
    let stream = STANDARD.encode(stream.unwrap_or_default());
    format!("{{\"encoding\":\"gzip\",\"base64\":\"{stream}\"}}")
}

/// JSON in which no tag can begin: `<` occurs only inside strings, where its
/// escape means the same. The two separators end a line in old scripts.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The schema files of the data of every page.
pub(crate) fn schema_files() -> Vec<SchemaFile> {
    vec![
        schema_file::<data::Data<'_>>(),
        schema_file::<list::List<'_>>(),
        schema_file::<published::Published<'_>>(),
    ]
}
