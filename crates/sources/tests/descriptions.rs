//! Each format says in one line what it is and where it comes from.

use firstlight_sources::SOURCES;
use std::collections::BTreeSet;

#[test]
fn every_format_has_a_description_of_one_line() {
    let mut seen = BTreeSet::new();
    for source in SOURCES {
        let (name, text) = (source.name(), source.description());
        assert!((20..=100).contains(&text.len()), "{name}: {text}");
        assert!(
            !text.contains('\n') && text.trim() == text,
            "{name}: {text}"
        );
        assert!(!text.ends_with('.'), "{name}: {text}");
        assert!(
            text.matches('`').count().is_multiple_of(2),
            "{name}: {text}"
        );
        assert!(seen.insert(text), "{name}: {text}");
    }
}
