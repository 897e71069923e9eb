#![no_main]

//! What is read of a folder that the lab filled: results, runs on a board, searches, published
//! figures and plans of trials. A line of `--` begins the next file.

use lab::Prepared;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let files = fuzz::files(bytes);
    let folder = fuzz::folder(&files);
    let folder = folder.path();
    let _ = input::results(folder);
    let _ = input::shares(folder);
    if let Ok(experiment) = inspect::experiment::read(folder) {
        let _ = inspect::experiment::shown_variant(&experiment);
        for variant in &experiment.variants {
            let _ = inspect::experiment::capture(folder, &experiment, &variant.variant);
        }
    }
    if let Ok(run) = inspect::board_run::read(folder) {
        let _ = inspect::board_run::shown_variant(&run);
        for variant in &run.variants {
            let _ = inspect::board_run::capture(folder, &run, &variant.variant);
        }
    }
    if let Ok(Some(found)) = inspect::published::read(folder) {
        assert!(found.iter().all(|f| !f.values.is_empty()));
    }
    for (name, text) in &files {
        match Prepared::parse(name, text) {
            // A plan that is read is written as one that means the same.
            Ok(plan) => {
                let again = Prepared::parse(name, &plan.to_json().unwrap()).unwrap();
                assert_eq!(again, plan);
            }
            Err(why) => assert!(!why.to_string().trim().is_empty()),
        }
    }
});
