#![no_main]

//! Tables of boots: each row is as wide as the first line.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(table) = history::table(bytes) {
        for row in &table.rows {
            assert_eq!(row.times.len(), table.times.len());
            assert_eq!(row.others.len(), table.others.len());
        }
    }
});
