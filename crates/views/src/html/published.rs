//! Published results, each beside what it is here.

use crate::ClassicResult;
use crate::json::{self, ClassicsResult};
use serde::Serialize;

/// The data of the page that shows them.
#[derive(Serialize)]
pub(super) struct Published<'p> {
    schema: &'static str,
    made_by: &'static str,
    title: &'p str,
    results: Vec<ClassicsResult>,
}

impl<'p> Published<'p> {
    pub(super) fn of(title: &'p str, results: &[ClassicResult]) -> Self {
        Self {
            schema: "firstlight.published/1",
            made_by: concat!("firstlight ", env!("CARGO_PKG_VERSION")),
            title,
            results: results.iter().map(json::classics_result).collect(),
        }
    }
}
