//! `firstlight.doctor/1`.

use super::document::Document;
use crate::Check;
use schemars::JsonSchema;
use serde::Serialize;

/// Programs and files that the lab needs on this machine.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Doctor {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Whether all requirements are met.
    pub ok: bool,
    /// Requirements.
    pub checks: Vec<DoctorCheck>,
}

impl Document for Doctor {
    const SCHEMA: &'static str = "firstlight.doctor/1";
    const TITLE: &'static str = "Output of `firstlight lab doctor --json`";
}

/// A requirement of the lab.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DoctorCheck {
    /// Name of the requirement.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Whether it is met.
    pub ok: bool,
    /// What is installed; null if nothing was found.
    pub found: Option<String>,
    /// How to install it; null if there is nothing to do.
    pub advice: Option<String>,
}

/// What the lab needs, in the shape of `schemas/doctor.json`.
#[must_use]
pub fn doctor(checks: &[Check]) -> Doctor {
    let check = |c: &Check| DoctorCheck {
        name: c.name.clone(),
        ok: c.ok,
        found: c.found.clone(),
        advice: c.advice.clone(),
    };
    Doctor {
        schema: Doctor::SCHEMA,
        ok: checks.iter().all(|c| c.ok),
        checks: checks.iter().map(check).collect(),
    }
}
