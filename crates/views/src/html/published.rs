//! Published results, each beside what it is here.

use crate::classic::ClassicResult;
use crate::json::Document;
use crate::json::{self, ClassicsResult};
use schemars::JsonSchema;
use serde::Serialize;

/// Published results, each beside its reproduction.
#[derive(JsonSchema, Serialize)]
pub(super) struct Published<'p> {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    schema: &'static str,
    /// Program that wrote the page, with its version.
    #[schemars(length(min = 1))]
    made_by: &'static str,
    /// Title of the page.
    title: &'p str,
    /// Results.
    results: Vec<ClassicsResult>,
}

impl Document for Published<'_> {
    const SCHEMA: &'static str = "firstlight.published/1";
    const TITLE: &'static str = "Element `#data` of a page of published results";
}

impl<'p> Published<'p> {
    pub(super) fn of(title: &'p str, results: &[ClassicResult]) -> Self {
        Self {
            schema: Self::SCHEMA,
            made_by: concat!("firstlight ", env!("CARGO_PKG_VERSION")),
            title,
            results: results.iter().map(json::classics_result).collect(),
        }
    }
}
