#![no_main]

//! The log of a LAVA job.

use capture::board::lava_log::read;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    match read(bytes) {
        Ok(recorded) => {
            let (began, ended) = recorded.power;
            assert!(began <= ended);
            assert!(recorded.lines.iter().all(|(_, line)| line.ends_with(b"\n")));
        }
        Err(why) => assert!(!why.is_empty()),
    }
});
