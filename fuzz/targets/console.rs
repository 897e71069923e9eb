#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read(&sources::console::Console, bytes));
