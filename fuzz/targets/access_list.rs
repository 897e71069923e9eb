#![no_main]

use agent::access::{checksum, decode, encode, is_plain, merge};

/// Whatever the bytes: no panic, no path that leaves the root, and what was read
/// is written and read again the same.
fn read(file: &[u8]) {
    let Ok(list) = decode(file) else { return };
    assert!(list.entries.iter().all(|e| is_plain(&e.path)));
    assert_eq!(decode(&encode(&list)).as_ref(), Ok(&list));
    if list.recordings < 1000 {
        let merged = merge(&[list.clone(), list]);
        assert!(decode(&encode(&merged)).is_ok());
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    // And behind a right checksum.
    let mut file = b"firstlight-access-list 1\n".to_vec();
    file.extend(u32::try_from(bytes.len()).unwrap_or(0).to_le_bytes());
    file.extend(checksum(bytes).to_le_bytes());
    file.extend(bytes);
    read(&file);
});
