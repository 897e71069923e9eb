//! Whole JSON documents: their names, and how they become text.

use schemars::JsonSchema;
use serde::Serialize;

/// A struct that is printed or written as one whole JSON document.
pub trait Document: JsonSchema + Serialize {
    /// The value of the key `schema`: `firstlight.<verb>/<version>`.
    const SCHEMA: &'static str;
    /// What prints or writes the document: the title of its JSON Schema.
    const TITLE: &'static str;
}

/// A document as indented text, with a line feed at the end.
#[must_use]
pub fn text<T: Serialize>(value: &T) -> String {
    // Structs of strings and numbers cannot fail to become JSON.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
