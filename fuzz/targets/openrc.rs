#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read(&sources::openrc::Openrc, bytes));
