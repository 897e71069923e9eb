#![no_main]

//! Trials as the lab reads them back: a payload, a console, and a journal that an earlier run
//! left. Whatever they hold, a run ends with a result or one sentence, and the run after it
//! finds what this one kept.

use lab::{Boot, Experiment, LabError, Machine, Options, Outcome, Plan, run_on};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

const EXPERIMENT: &str = "firstlight_experiment = 1\n[base]\nmachine = \"pc\"\nstorage = \"none\"\n\
    kernel = \"debian\"\nroot = \"none\"\nfirst_light = \"init\"\n";

/// The name of a member that lies beside the output folder, seen from a capture in it.
const OUTSIDE: &str = "../../../../../firstlight-outside";

#[derive(Default)]
struct Script {
    console: Vec<u8>,
    payload: Option<Vec<u8>>,
    boots: AtomicUsize,
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

fn run(script: &Script, out: &Path) -> Result<Outcome, LabError> {
    let experiment = Experiment::parse("e.toml", EXPERIMENT).unwrap();
    let options = Options {
        jobs: NonZeroUsize::new(1),
        ..Options::plain(out, 1)
    };
    run_on(script, &experiment, &options, &mut |_| ())
}

/// Which member, and what it holds.
type Member = (u8, Vec<u8>);

libfuzzer_sys::fuzz_target!(|input: (Vec<u8>, Option<Vec<Member>>, Vec<u8>)| {
    let (console, members, journal) = input;
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let out = folder.path();
    fs::write(out.join("trials.jsonl"), &journal).unwrap();
    let names = ["manifest.json", "kmsg", "console.log", "state/a", OUTSIDE];
    let payload = members.map(|members| {
        let mut tar = tar::Builder::new(Vec::new());
        for (number, bytes) in &members {
            let mut header = tar::Header::new_ustar();
            header.set_size(bytes.len() as u64);
            let name = names[usize::from(*number) % names.len()];
            // By hand: the crate refuses a name that leads out of the folder.
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            tar.append(&header, &bytes[..]).unwrap();
        }
        tar.into_inner().unwrap()
    });
    let script = Script {
        console,
        payload,
        ..Script::default()
    };
    match run(&script, out) {
        Ok(outcome) => {
            assert_eq!(outcome.trials.len(), 1);
            assert_eq!(script.boots.load(Ordering::Relaxed), 1);
            let again = run(&script, out).unwrap();
            let kept = script.boots.load(Ordering::Relaxed) == 1;
            if kept {
                assert_eq!(again.trials, outcome.trials);
            }
        }
        Err(why) => assert!(!why.to_string().trim().is_empty()),
    }
    assert!(!out.join("../firstlight-outside").exists());
});
