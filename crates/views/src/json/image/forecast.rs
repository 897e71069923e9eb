//! What reading files takes, as they lie and as they would lie.

use serde::Serialize;

/// Forecast of reading what a list needs, before and after it is laid out.
#[derive(Clone, Debug, schemars::JsonSchema, Serialize)]
pub struct Forecast {
    /// Storage profile.
    #[schemars(length(min = 1))]
    pub storage: String,
    /// Way of reading that the new layout is for.
    pub decides: ForecastWay,
    /// Without a prefetcher: the kernel reads files when they are used.
    pub on_demand: Change,
    /// With a prefetcher that has the list.
    pub read_ahead: Change,
}

/// How files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, schemars::JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ForecastWay {
    /// When they are used.
    OnDemand,
    /// By a prefetcher.
    ReadAhead,
}

/// Time until everything is read, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, schemars::JsonSchema, Serialize)]
pub struct Change {
    /// As the files lie.
    pub before_ns: u64,
    /// In the new layout.
    pub after_ns: u64,
}

impl Forecast {
    /// The time that decides.
    #[must_use]
    pub fn decisive(&self) -> Change {
        match self.decides {
            ForecastWay::OnDemand => self.on_demand,
            ForecastWay::ReadAhead => self.read_ahead,
        }
    }

    /// Whether the new layout is read sooner in the way that it is for.
    #[must_use]
    pub fn is_sooner(&self) -> bool {
        let change = self.decisive();
        change.after_ns < change.before_ns
    }
}
