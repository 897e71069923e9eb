//! `firstlight.doctor/1`.

use crate::Check;
use serde::Serialize;

/// What the lab needs on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Doctor {
    /// `firstlight.doctor/1`.
    pub schema: &'static str,
    /// Whether everything is there.
    pub ok: bool,
    /// One for each thing.
    pub checks: Vec<DoctorCheck>,
}

/// Something that the lab needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    /// What was looked for.
    pub name: String,
    /// Whether it is there and will do.
    pub ok: bool,
    /// What was found.
    pub found: Option<String>,
    /// How to get it.
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
        schema: "firstlight.doctor/1",
        ok: checks.iter().all(|c| c.ok),
        checks: checks.iter().map(check).collect(),
    }
}
