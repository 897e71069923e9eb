#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    use sources::state::{Interrupts, Meminfo, Modules, Mounts};
    fuzz::read(&Mounts, bytes);
    fuzz::read(&Modules, bytes);
    fuzz::read(&Interrupts, bytes);
    fuzz::read(&Meminfo, bytes);
});
