#![no_main]

use bootimage::environment::*;
use bootimage::{Part, barebox};

libfuzzer_sys::fuzz_target!(|input: (u8, u16, Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>)| {
    let (how, size, mut bytes, changes) = input;
    // A right checksum, so that the fuzzer gets past it.
    let size = usize::from(size).min(bytes.len());
    let begin = if how & 1 == 0 { 4 } else { 5 };
    if let Some(data) = bytes.get(begin..size) {
        let crc = crc(data);
        let crc = if how & 2 == 0 {
            crc.to_le_bytes()
        } else {
            crc.to_be_bytes()
        };
        bytes[..4].copy_from_slice(&crc);
    }
    let image = bytes.as_slice();
    let part = Part::whole(&image).unwrap();
    barebox::find(&part).unwrap();
    let options = Options {
        offset: (how & 4 != 0).then_some(0),
        size: (how & 8 != 0).then_some(size as u64),
        redundant: (how & 16 != 0).then_some(bytes.len() as u64 / 2),
        scheme: (how & 32 != 0).then_some(Scheme::Boolean),
    };
    let Ok(found) = find(&part, &options) else {
        return;
    };
    for environment in &found.environments {
        let data = environment.data().unwrap();
        let same = data.with(&[]).unwrap();
        assert_eq!(same.variables(), data.variables());
        proposals(data, Some(&part), None).unwrap();
        let changes: Vec<Change> = changes
            .iter()
            .filter_map(|(name, value)| {
                let name = std::str::from_utf8(name).ok()?;
                let value = std::str::from_utf8(value).ok()?;
                Change::parse_set(&format!("{name}={value}")).ok()
            })
            .collect();
        let Ok(patch) = patch(&part, environment, &changes) else {
            continue;
        };
        let mut after = bytes.clone();
        patch.apply(&mut after).unwrap();
        let mut copied = Vec::new();
        patch.copy(&part, &mut copied).unwrap();
        assert_eq!(copied, after);
        // U-Boot takes the changed copy, and it holds what was asked for.
        let after_read = after.as_slice();
        let written = Part::whole(&after_read).unwrap();
        let active = environment.active().unwrap();
        let options = Options {
            offset: Some(patch.edits[0].offset),
            size: Some(active.size),
            redundant: None,
            scheme: environment.scheme,
        };
        let again = find(&written, &options).unwrap();
        let wanted = data.with(&changes).unwrap();
        assert_eq!(
            again.environments[0].data().unwrap().bytes(),
            wanted.bytes()
        );
        patch.inverse().apply(&mut after).unwrap();
        assert_eq!(after, bytes);
    }
});

/// CRC-32, as of zlib.
fn crc(bytes: &[u8]) -> u32 {
    let step = |register: u32, byte: &u8| {
        (0..8).fold(register ^ u32::from(*byte), |r, _| {
            (r >> 1) ^ (0xedb8_8320 & (r & 1).wrapping_neg())
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}
