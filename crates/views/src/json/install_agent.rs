//! `firstlight.install-agent/1`.

use super::document::Document;
use schemars::JsonSchema;
use serde::Serialize;

/// Changes that install or remove the agent on a target.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct InstallAgent {
    /// What was done.
    #[schemars(extend("enum" = ["install", "undo"]))]
    pub action: &'static str,
    /// Changes and further steps, in sentences.
    pub changes: Vec<String>,
    /// Whether the changes were made; false if they were only planned.
    pub done: bool,
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Root directory, or `ssh:HOST`.
    pub target: String,
}

impl Document for InstallAgent {
    const SCHEMA: &'static str = "firstlight.install-agent/1";
    const TITLE: &'static str = "Output of `firstlight install-agent --json`";
}
