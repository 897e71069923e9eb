//! The line of a source that evidence stands in.

use crate::names;
use crate::types::Input;
use analysis::Place;

/// The longest line that is shown, in bytes.
const LONGEST_BYTES: usize = 400;

/// The line that begins at `place`, if one of the inputs is the source, and is
/// text there.
pub fn line(inputs: &[Input], place: &Place) -> Option<String> {
    let mut named = inputs.iter().zip(names::of_inputs(inputs));
    let bytes = named.find_map(|(input, name)| match input {
        Input::Raw(raw) => (name == place.source).then_some(&*raw.bytes),
        Input::Capture(capture) => {
            let mut members = capture.members.iter();
            let member = members.find(|(name, _)| *name == place.source)?;
            Some(member.1.as_slice())
        }
    })?;
    let rest = bytes.get(usize::try_from(place.offset).ok()?..)?;
    let rest = rest.get(..LONGEST_BYTES).unwrap_or(rest);
    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let line = rest.get(..end)?;
    // Binary formats have no lines.
    if line.is_empty() || line.contains(&0) {
        return None;
    }
    let text = String::from_utf8_lossy(line);
    Some(text.trim_end_matches('\r').to_owned())
}
