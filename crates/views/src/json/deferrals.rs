//! `firstlight.blame.deferrals/1`.

use super::Place;
use record::Nanos;
use serde::Serialize;

/// Probes that were put off, device by device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deferrals {
    /// `firstlight.blame.deferrals/1`.
    pub schema: &'static str,
    /// The most time wasted first.
    pub devices: Vec<DeferredDevice>,
    /// How many devices there are without `--top`.
    pub total_devices: usize,
}

/// A device whose probe was put off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeferredDevice {
    /// The device.
    pub device: String,
    /// How often it was tried in vain.
    pub tries: usize,
    /// How long the vain tries took.
    pub wasted_ns: i64,
    /// The first vain try.
    pub first_ns: Option<i64>,
    /// When it was probed at last; null if that was not seen.
    pub settled_ns: Option<i64>,
    /// What it waited for, where the kernel says so.
    pub waited_for: Option<String>,
    /// The evidence.
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
        schema: "firstlight.blame.deferrals/1",
        devices: all.iter().take(shown).map(device).collect(),
        total_devices: all.len(),
    }
}
