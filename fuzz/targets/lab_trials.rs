#![no_main]

//! Trials as the lab reads them back: a payload, a console, and a journal that an earlier run
//! left. Whatever they hold, a run ends with a result or one sentence, and the run after it
//! finds what this one kept.

use fuzz::trials::{OUTSIDE, Script, run};
use std::fs;

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
    let script = Script::new(console, payload);
    match run(&script, out, None) {
        Ok(outcome) => {
            assert_eq!(outcome.trials.len(), 1);
            assert_eq!(script.boots(), 1);
            let again = run(&script, out, None).unwrap();
            let kept = script.boots() == 1;
            if kept {
                assert_eq!(again.trials, outcome.trials);
            }
        }
        Err(why) => assert!(!why.to_string().trim().is_empty()),
    }
    assert!(!out.join("../firstlight-outside").exists());
});
