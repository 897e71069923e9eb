#![no_main]

use agent::clocks::Stamp;
use agent::payload::{HEADER_BYTES, header, read_payload};

/// The most that is taken, so that the fuzzer's memory is bounded.
const LIMIT: u64 = 1 << 20;

// What a payload's memory holds after a boot, which may have died at any byte of it,
// and the clocks that the agent wrote down as words.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(tar) = read_payload(bytes, LIMIT) {
        assert!(tar.len() as u64 + HEADER_BYTES <= bytes.len() as u64);
    }
    // As the header says, and one byte short of it.
    let whole = [&header(bytes.len() as u64)[..], bytes].concat();
    assert_eq!(read_payload(&whole[..], LIMIT).ok().as_deref(), Some(bytes));
    let cut = whole.get(..whole.len() - 1).unwrap_or_default();
    assert!(read_payload(cut, LIMIT).is_err());

    let words = String::from_utf8_lossy(bytes);
    if let Some(stamp) = Stamp::from_words(&words) {
        assert_eq!(Stamp::from_words(&stamp.to_words()), Some(stamp));
    }
});
