#![no_main]

use redact::Redactor;

// Binary input keeps its length, whatever is in it.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut redactor = Redactor::default();
    redactor.learn(bytes);
    let sent = redactor.redact(bytes);
    let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    if bytes.contains(&0) && !utf16 {
        assert_eq!(sent.len(), bytes.len());
    }
});
