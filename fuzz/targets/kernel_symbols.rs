#![no_main]

use bootimage::kernel::symbols::symbols;

libfuzzer_sys::fuzz_target!(|input: (bool, Vec<u8>)| {
    // Nothing is read without the tokens, so they follow whatever comes as names and places.
    let (is_big_endian, mut kernel) = input;
    let align = |bytes: &mut Vec<u8>| bytes.resize(bytes.len().next_multiple_of(4), 0);
    align(&mut kernel);
    let start = kernel.len();
    let mut places = Vec::new();
    for token in 0..=255_u8 {
        places.push((kernel.len() - start) as u16);
        kernel.extend(token.is_ascii_alphanumeric().then_some(token));
        kernel.push(0);
    }
    align(&mut kernel);
    kernel.extend(places.into_iter().flat_map(|place| match is_big_endian {
        true => place.to_be_bytes(),
        false => place.to_le_bytes(),
    }));
    if let Some(found) = symbols(&kernel) {
        assert!(found.variables <= found.count);
        assert!(found.variable_bytes <= kernel.len() as u64 + found.count * 7);
    }
});
