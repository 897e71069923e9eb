#![no_main]

//! What orders the boots of a history: dates as users and git write them, and releases.

use history::{At, release_order};
use std::cmp::Ordering;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    if let Ok(at) = At::parse(lines.next().unwrap_or_default()) {
        assert_eq!(At::parse(&at.to_string()), Ok(at));
    }
    let names: Vec<&str> = lines.take(6).collect();
    for a in &names {
        for b in &names {
            let order = release_order(a, b);
            assert_eq!(release_order(b, a), order.reverse());
            assert_eq!(order == Ordering::Equal, a == b);
            for c in &names {
                if order.is_le() && release_order(b, c).is_le() {
                    assert!(release_order(a, c).is_le(), "{a:?} {b:?} {c:?}");
                }
            }
        }
    }
});
