//! What verbs that write files or wait for readers print: `firstlight.report/1`,
//! `firstlight.export/1` and `firstlight.serve/1`.

use super::document::Document;
use schemars::JsonSchema;
use serde::Serialize;

/// The page that was written.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Report {
    /// Path of the page.
    pub page: String,
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
}

impl Document for Report {
    const SCHEMA: &'static str = "firstlight.report/1";
    const TITLE: &'static str = "Output of `firstlight report --json`";
}

/// The file that was written.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Export {
    /// Path of the file.
    pub file: String,
    /// Format of the file.
    #[schemars(extend("enum" = [
        "perfetto", "chrome", "csv", "parquet", "svg", "bootgraph", "bootchart", "folded"
    ]))]
    pub format: String,
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
}

impl Document for Export {
    const SCHEMA: &'static str = "firstlight.export/1";
    const TITLE: &'static str = "Output of `firstlight export --json`";
}

/// Where the pages of a folder are served.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Serve {
    /// The folder.
    pub dir: String,
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// URL of the pages.
    pub url: String,
}

impl Document for Serve {
    const SCHEMA: &'static str = "firstlight.serve/1";
    const TITLE: &'static str = "Output of `firstlight serve --json`";
}
