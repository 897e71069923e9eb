//! `firstlight.formats/1`.

use super::document::Document;
use schemars::JsonSchema;
use serde::Serialize;

/// The input formats.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Formats<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Each format, in the order in which inputs are held against them.
    pub formats: Vec<Format<'a>>,
}

impl Document for Formats<'_> {
    const SCHEMA: &'static str = "firstlight.formats/1";
    const TITLE: &'static str = "Output of `firstlight help formats --json`";
}

/// A format that can be read.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Format<'a> {
    /// Its name, as `show --json` prints it for a source.
    pub name: &'a str,
    /// What it is, and how to make it.
    pub description: &'a str,
}

/// The formats of (name, description).
#[must_use]
pub fn formats<'a>(formats: &[(&'a str, &'a str)]) -> Formats<'a> {
    let formats = formats.iter();
    Formats {
        schema: Formats::SCHEMA,
        formats: formats
            .map(|&(name, description)| Format { name, description })
            .collect(),
    }
}
