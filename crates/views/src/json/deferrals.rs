//! `firstlight.blame.deferrals/1`.

use super::document::Document;
use super::place::Place;
use record::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// Devices whose probe was deferred, the most wasted time first.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Deferrals {
    /// Name and version of this format.
    #[schemars(extend("const" = Self::SCHEMA))]
    pub schema: &'static str,
    /// Devices, the most wasted time first.
    pub devices: Vec<DeferredDevice>,
    /// Number of devices without `--top`.
    pub total_devices: usize,
}

impl Document for Deferrals {
    const SCHEMA: &'static str = "firstlight.blame.deferrals/1";
    const TITLE: &'static str = "Output of `firstlight blame --deferrals --json`";
}

/// A device whose probe was deferred.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DeferredDevice {
    /// Name of the device.
    pub device: String,
    /// Number of failed probe attempts.
    #[schemars(range(min = 1))]
    pub tries: usize,
    /// Total time of the failed attempts.
    #[schemars(range(min = 0))]
    pub wasted_ns: i64,
    /// Time of the first failed attempt.
    pub first_ns: Option<i64>,
    /// Time of the successful probe; null if the input does not show it.
    pub settled_ns: Option<i64>,
    /// What the device waited for; null if the kernel does not say.
    pub waited_for: Option<String>,
    /// Evidence.
    pub origin: Place,
}

/// The first `top` devices, or all if `top` is 0, in the shape of
/// `schemas/blame.deferrals.json`.
#[must_use]
pub fn deferrals(all: &[analysis::Deferral], top: usize) -> Deferrals {
    let device = |d: &analysis::Deferral| DeferredDevice {
        device: d.device.clone(),
        tries: d.tries,
        wasted_ns: d.wasted.get(),
        first_ns: d.first.map(Nanos::get),
        settled_ns: d.settled.map(Nanos::get),
        waited_for: d.waited_for.clone(),
        origin: Place::from(&d.origin),
    };
    let shown = if top == 0 { all.len() } else { top };
    Deferrals {
        schema: Deferrals::SCHEMA,
        devices: all.iter().take(shown).map(device).collect(),
        total_devices: all.len(),
    }
}
