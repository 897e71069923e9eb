//! What the lab needs on this machine, and what a run of it would do.

/// Something that the lab needs on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked for: `qemu-system-x86_64`, `a Debian kernel`.
    pub name: String,
    /// Whether it is there and will do.
    pub ok: bool,
    /// What was found, such as a version or a path.
    pub found: Option<String>,
    /// How to get it, if it is not there or will not do.
    pub advice: Option<String>,
}

/// What `lab run` would do, before it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct LabPlan {
    /// The experiment's name.
    pub experiment: String,
    /// The machine, in words.
    pub machine: String,
    /// How many machines run at once.
    pub jobs: usize,
    /// How long it would take on this host, in seconds.
    pub wall_s: f64,
    /// Every variant, the baseline first.
    pub variants: Vec<LabPlanVariant>,
    /// Every boot, in the order of running.
    pub boots: Vec<LabPlanBoot>,
    /// What would be fetched or made first, or is missing, in sentences.
    pub before: Vec<String>,
}

/// A variant, and what it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabPlanVariant {
    /// Its name.
    pub variant: String,
    /// A sentence for each treatment.
    pub changes: Vec<String>,
    /// The kernel command line.
    pub cmdline: String,
}

/// A boot that would be done.
#[derive(Clone, Debug, PartialEq)]
pub struct LabPlanBoot {
    /// Of which variant.
    pub variant: String,
    /// Which neutral perturbation; 0 is none.
    pub perturbation: u32,
    /// `boot`, `again` (the second of two equal ones) or `unrecorded`.
    pub kind: &'static str,
    /// How long it would take, in seconds.
    pub wall_s: f64,
    /// How that is known: `there` (it is not booted again, if nothing changed),
    /// `variant`, `machine` or `guess`.
    pub basis: &'static str,
}
