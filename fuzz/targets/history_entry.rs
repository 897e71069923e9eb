#![no_main]

//! Files of a history: read or refused, and what is read is written as it was.

use history::{Content, name_of, read, text_of};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // A file is read only under the name of its bytes.
    let _ = read("0.json", bytes);
    match read(&name_of(bytes), bytes) {
        Ok(Content::Entry(entry)) => {
            let text = text_of(&*entry);
            assert_eq!(read(&name_of(&text), &text), Ok(Content::Entry(entry)));
        }
        Ok(Content::Annotation(note)) => {
            let text = text_of(&note);
            assert_eq!(read(&name_of(&text), &text), Ok(Content::Annotation(note)));
        }
        Err(_) => {}
    }
});
