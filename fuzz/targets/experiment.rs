#![no_main]

//! What the lab is told: experiments, and files of mounts. What is wrong is one sentence with
//! its line, and a treatment that is read is written as the same one.

use lab::mounts::Mounts;
use lab::{BASELINE, Experiment};
use treat::Treatment;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    // Paths in it are below a folder that is not there.
    match Experiment::parse("/nowhere/e.toml", &text) {
        Ok(experiment) => {
            assert_eq!(experiment.variants[0].name, BASELINE);
            for (n, variant) in experiment.variants.iter().enumerate() {
                let before = &experiment.variants[..n];
                assert!(before.iter().all(|b| b.name != variant.name));
                for treatment in &variant.treatments {
                    let again = Treatment::parse(&treatment.to_string()).unwrap();
                    assert_eq!(again.to_string(), treatment.to_string());
                }
            }
            let plain = experiment.unrecorded();
            assert_eq!(plain.variants.len(), experiment.variants.len());
        }
        Err(why) => assert!(!why.to_string().contains('\n'), "{why}"),
    }
    match Mounts::parse("m.toml", &text) {
        Ok(mounts) => drop(mounts.cases),
        Err(why) => assert!(!why.to_string().trim().is_empty()),
    }
});
