#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::read(&sources::logic::Vcd, bytes);
    fuzz::read(&sources::logic::LogicCsv, bytes);
});
