//! The list of what a folder holds.

use crate::json::Document;
use crate::json::values::CLOCKS;
use schemars::JsonSchema;
use serde::Serialize;

/// What an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ListedKind {
    /// A capture, in a tar or a directory.
    #[default]
    Capture,
    /// What `lab run` wrote.
    Experiment,
    /// What `lab classics` wrote.
    Published,
    /// A raw file in a format that is known.
    Log,
}

/// A capture, an experiment or a log in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Listed {
    /// Path within the folder.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Kind of entry.
    pub kind: ListedKind,
    /// Size; 0 for a folder.
    pub bytes: u64,
    /// Time of the last change, in seconds since 1970.
    pub modified_s: u64,
    /// First light; for an experiment, that of the baseline.
    pub first_light_ns: Option<i64>,
    /// Kind of clock; null if unknown.
    #[schemars(extend("enum" = CLOCKS))]
    pub clock: Option<&'static str>,
    /// Machine; null if unknown.
    pub machine: Option<String>,
    /// Kernel version; null if unknown.
    pub kernel: Option<String>,
}

/// Contents of a folder that have a page.
#[derive(JsonSchema, Serialize)]
pub(super) struct List<'l> {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    schema: &'static str,
    /// Program that wrote the page, with its version.
    #[schemars(length(min = 1))]
    made_by: &'static str,
    /// The folder.
    title: &'l str,
    /// Captures, experiments, published results and logs.
    entries: &'l [Listed],
}

impl Document for List<'_> {
    const SCHEMA: &'static str = "firstlight.list/1";
    const TITLE: &'static str = "Element `#data` of the list of `firstlight serve`";
}

impl<'l> List<'l> {
    pub(super) fn of(title: &'l str, entries: &'l [Listed]) -> Self {
        Self {
            schema: Self::SCHEMA,
            made_by: concat!("firstlight ", env!("CARGO_PKG_VERSION")),
            title,
            entries,
        }
    }
}
