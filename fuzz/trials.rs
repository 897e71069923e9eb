//! Trials of the lab on a machine that is only a script.

use lab::{Boot, Experiment, LabError, Machine, Options, Outcome, Plan, Shared, run_on};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

const EXPERIMENT: &str = "firstlight_experiment = 1\n[base]\nmachine = \"pc\"\nstorage = \"none\"\n\
    kernel = \"debian\"\nroot = \"none\"\nfirst_light = \"init\"\n";

/// The name of a member that lies beside the output folder, seen from a capture in it.
pub const OUTSIDE: &str = "../../../../../firstlight-outside";

/// A machine that gives what it was given, and counts its boots.
pub struct Script {
    console: Vec<u8>,
    payload: Option<Vec<u8>>,
    boots: AtomicUsize,
}

impl Script {
    pub fn new(console: Vec<u8>, payload: Option<Vec<u8>>) -> Self {
        Self {
            console,
            payload,
            boots: AtomicUsize::new(0),
        }
    }

    pub fn boots(&self) -> usize {
        self.boots.load(Ordering::Relaxed)
    }
}

impl Machine for Script {
    fn description(&self) -> String {
        "script".into()
    }

    fn inputs(&self, plan: &Plan) -> Result<String, LabError> {
        Ok(plan.spec.cmdline.to_string())
    }

    fn boot(&self, _: &Plan, _: &Path, _: &mut dyn FnMut(u64, &str)) -> Result<Boot, LabError> {
        self.boots.fetch_add(1, Ordering::Relaxed);
        Ok(Boot {
            console: self.console.clone(),
            payload: self.payload.clone(),
            ..Boot::default()
        })
    }
}

/// One boot of one variant, into `out`.
pub fn run(script: &Script, out: &Path, shared: Option<Shared>) -> Result<Outcome, LabError> {
    let experiment = Experiment::parse("e.toml", EXPERIMENT).unwrap();
    let options = Options {
        jobs: NonZeroUsize::new(1),
        shared,
        ..Options::plain(out, 1)
    };
    run_on(script, &experiment, &options, &mut |_| ())
}
