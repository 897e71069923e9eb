//! `firstlight.redact/1`.

use super::document::Document;
use crate::Redaction;
use schemars::JsonSchema;
use serde::Serialize;

/// What was taken out of an input.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Redact {
    /// Path of the redacted file.
    pub file: String,
    /// Host and user names that were kept because they are common words.
    pub kept: Vec<String>,
    /// What was replaced, by kind.
    pub replaced: Vec<RedactKind>,
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
}

/// One kind of what was replaced.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct RedactKind {
    /// Number of different ones.
    pub distinct: u32,
    /// Name of the kind.
    pub kind: &'static str,
    /// Number of places that were replaced.
    pub places: u64,
}

impl Document for Redact {
    const SCHEMA: &'static str = "firstlight.redact/1";
    const TITLE: &'static str = "Output of `firstlight redact --json`";
}

/// The document of a redaction.
#[must_use]
pub fn redact(redaction: &Redaction) -> Redact {
    let kinds = redaction.replaced.iter().map(|r| RedactKind {
        distinct: r.distinct,
        kind: r.kind,
        places: r.places,
    });
    Redact {
        file: redaction.file.clone(),
        kept: redaction.kept.clone(),
        replaced: kinds.collect(),
        schema: Redact::SCHEMA,
    }
}
