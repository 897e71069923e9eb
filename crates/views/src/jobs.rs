//! Trials that wait for other hosts.

/// Prepared trials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabJobs {
    /// The folder of plans, inputs and results.
    pub folder: String,
    /// Names of plans; those of a group are for one host, one after another.
    pub groups: Vec<Vec<String>>,
}

/// A prepared trial that was booted.
#[derive(Clone, Debug, PartialEq)]
pub struct BootedTrial {
    /// Which one.
    pub trial: String,
    /// SHA-256 over all inputs.
    pub fingerprint: String,
    /// SHA-256 over console and payload.
    pub digest: String,
    /// How long it took on this host, in seconds.
    pub wall_s: f64,
    /// Why it did not reach first light, if it did not.
    pub failure: Option<String>,
    /// The file of the result.
    pub result: String,
}
