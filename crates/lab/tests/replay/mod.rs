//! A machine that is only a script, and an experiment of three variants.

#![allow(unreachable_pub, reason = "each test uses its part")]

use firstlight_lab::{
    Boot, Event, Experiment, Failure, LabError, Machine, On, Options, Outcome, Plan, Reason, run_on,
};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Mutex;

const EXPERIMENT: &str = r#"
firstlight_experiment = 1
[base]
machine = "pc"
storage = "none"
kernel = "debian"
root = "none"
cmdline = ["console=ttyS0"]
first_light = "init"
[[variant]]
name = "quiet"
treatments = ["cmdline+=quiet"]
[[variant]]
name = "broken"
treatments = ["cmdline+=panic-now"]
"#;

/// A machine that plays what it is told, and counts its boots.
#[derive(Default)]
pub struct Replay {
    pub booted: Mutex<Vec<String>>,
    /// The n-th boot of a trial of this name writes this to its console.
    pub consoles: BTreeMap<&'static str, Vec<&'static str>>,
    /// A trial of this name cannot be run at all.
    pub impossible: Option<&'static str>,
    /// What else the boots depend on.
    pub version: u32,
}

impl Machine for Replay {
    fn description(&self) -> String {
        "replay".into()
    }

    fn inputs(&self, plan: &Plan) -> Result<String, LabError> {
        Ok(format!("{} {}", self.version, plan.spec.cmdline))
    }

    fn boot(
        &self,
        plan: &Plan,
        work: &Path,
        seen: &mut dyn FnMut(u64, &str),
    ) -> Result<Boot, LabError> {
        assert!(work.read_dir().unwrap().next().is_none(), "work is empty");
        fs::write(work.join("scratch"), "").unwrap();
        let name = plan.id.to_string();
        if self.impossible == Some(name.as_str()) {
            let why = "as told".into();
            return Err(LabError::Bug { why });
        }
        let mut booted = self.booted.lock().unwrap();
        let before = booted.iter().filter(|b| **b == name).count();
        booted.push(name.clone());
        let console = match self.consoles.get(name.as_str()) {
            Some(scripts) => scripts[before.min(scripts.len() - 1)].to_owned(),
            None => format!("booted {}\n", plan.spec.cmdline),
        };
        seen(console.len() as u64, "booted");
        let failure = plan.spec.cmdline.contains("panic-now").then(|| Failure {
            reason: Reason::Panic,
            detail: "Kernel panic - as asked".into(),
            last_lines: vec!["Kernel panic - as asked".into()],
        });
        Ok(Boot {
            console: console.into_bytes(),
            failure,
            ..Boot::default()
        })
    }
}

impl Replay {
    /// The names of the trials that were booted, in that order.
    pub fn boots(&self) -> Vec<String> {
        self.booted.lock().unwrap().clone()
    }
}

/// A new folder, in memory where there is such a place: each trial is synced.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// One boot of each variant, one at a time.
pub fn options(out: &Path) -> Options {
    Options {
        out: out.to_owned(),
        jobs: NonZeroUsize::new(1),
        ensemble: 1,
        check_exact: false,
        recording_cost: false,
        shared: None,
        on: On::Host,
    }
}

/// Runs the experiment, and gives what came of it and what was told.
pub fn run(machine: &Replay, options: &Options) -> (Result<Outcome, LabError>, Vec<Event>) {
    let experiment = Experiment::parse("e.toml", EXPERIMENT).unwrap();
    let mut events = Vec::new();
    let outcome = run_on(machine, &experiment, options, &mut |e| events.push(e));
    (outcome, events)
}
