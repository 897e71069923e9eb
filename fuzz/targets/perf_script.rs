#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read(&sources::perf_script::PerfScript, bytes));
