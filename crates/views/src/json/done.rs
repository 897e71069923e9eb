//! What verbs that write files or wait for readers print: `firstlight.report/1`,
//! `firstlight.export/1`, `firstlight.rows/1` and `firstlight.serve/1`.

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

/// The tables that were written.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Rows {
    /// Folder of the tables.
    pub dir: String,
    /// Pairs of files, in the order of the boots.
    pub tables: Vec<RowsTables>,
    /// Boots with a time of first light.
    pub ok: u64,
    /// Boots for which no input says when they ended.
    pub no_first_light: u64,
    /// Boots with a time that cannot be true.
    pub implausible: u64,
    /// Inputs that could not be read as a boot. Each has a row with the reason.
    pub bad: u64,
    /// Items of all boots.
    pub items: u64,
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
}

/// A table of boots and the table of their items.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct RowsTables {
    /// File name of the boots.
    pub boots_file: String,
    /// File name of the items.
    pub items_file: String,
    /// Rows of boots.
    pub boots: u64,
    /// Rows of items.
    pub items: u64,
}

impl Document for Rows {
    const SCHEMA: &'static str = "firstlight.rows/1";
    const TITLE: &'static str = "Output of `firstlight rows --json`";
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
