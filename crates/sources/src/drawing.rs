//! Drawings of a boot: SVG, as programs make it, and as it is sent on: cut.

use record::{NoteKind, Origin, Recorder, SourceId};
use roxmltree::{Document, ParsingOptions};

/// The elements of a drawing. One that is no well-formed XML is one unit, and
/// lost; an empty one is none.
pub fn document<'t>(
    text: &'t str,
    source: SourceId,
    not_well_formed: &NoteKind,
    recorder: &mut Recorder,
) -> Option<Document<'t>> {
    if text.is_empty() {
        return None;
    }
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).ok();
    if document.is_none() {
        recorder.skipped(Origin { source, offset: 0 }, not_well_formed);
    }
    document
}
