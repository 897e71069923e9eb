//! How an experiment is run.

use crate::elsewhere::On;
use crate::experiment::Mode;
use crate::shared::Shared;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// How an experiment is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder for the results. What it holds of an earlier run of the same
    /// inputs is not run again.
    pub out: PathBuf,
    /// How many machines run at once; `None`: one a core of the host, and in real
    /// time one.
    pub jobs: Option<NonZeroUsize>,
    /// How many boots each variant gets: one unchanged, and each of the others with
    /// its own neutral perturbation (an unused kernel parameter).
    pub ensemble: u32,
    /// Whether the first boot of each variant is done a second time and compared.
    pub check_exact: bool,
    /// Whether each variant is also booted without what the experiment records, if
    /// it records anything that a boot could notice, so that every capture can say
    /// what that costs.
    pub recording_cost: bool,
    /// Where results of exact trials are shared with other runs, if anywhere.
    pub shared: Option<Shared>,
    /// Where trials are booted.
    pub on: On,
}

/// Who boots trials, and who may know their results already.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// As `Options::jobs`.
    pub jobs: Option<NonZeroUsize>,
    /// As `Options::shared`.
    pub shared: Option<Shared>,
    /// As `Options::on`.
    pub on: On,
}

impl Options {
    /// The same by `hosts`.
    #[must_use]
    pub fn by(self, hosts: &Hosts) -> Self {
        Self {
            jobs: hosts.jobs,
            shared: hosts.shared.clone(),
            on: hosts.on.clone(),
            ..self
        }
    }

    /// Trials into `out`, `ensemble` boots of each variant, with nothing besides.
    #[must_use]
    pub fn plain(out: &Path, ensemble: u32) -> Self {
        Self {
            out: out.to_owned(),
            jobs: None,
            ensemble,
            check_exact: false,
            recording_cost: false,
            shared: None,
            on: On::Host,
        }
    }

    /// How many machines run at once: in real time one, since two would disturb
    /// each other.
    pub(super) fn jobs(&self, mode: Mode) -> usize {
        let cores = || match mode {
            Mode::Exact => std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            Mode::Statistical(_) => NonZeroUsize::MIN,
        };
        self.jobs.unwrap_or_else(cores).get()
    }
}
