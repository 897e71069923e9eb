#![no_main]

//! Files of a history: read or refused, and what is read is written as it was.

use history::{Content, Part, name_of, read, text_of};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // A file is read only under the name of its bytes.
    let _ = read("0.json", bytes, Part::Whole);
    let name = name_of(bytes);
    let again = |text: &[u8]| read(&name_of(text), text, Part::Whole);
    let whole = read(&name, bytes, Part::Whole);
    // What has more than a boot's own figures is read without it, too.
    if let Ok(Content::Entry(_)) = whole {
        assert!(matches!(
            read(&name, bytes, Part::OfBoot),
            Ok(Content::Entry(_))
        ));
    }
    match whole {
        Ok(Content::Entry(entry)) => {
            assert_eq!(again(&text_of(&*entry)), Ok(Content::Entry(entry)));
        }
        Ok(Content::Annotation(note)) => {
            assert_eq!(again(&text_of(&note)), Ok(Content::Annotation(note)));
        }
        Err(_) => {}
    }
});
