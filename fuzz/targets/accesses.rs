#![no_main]

//! Events of the kernel's page cache, as `trace_pipe` prints them.

use capture::accesses::event::parse;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for line in String::from_utf8_lossy(bytes).lines() {
        if let Some(event) = parse(line, 4096) {
            assert!(line.contains(event.program));
        }
    }
});
