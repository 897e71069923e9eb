//! Lines that keep their length.

/// Adds a line that lost something at its start or in its middle, as long as it was.
pub(super) fn push_padded(line: &[u8], length: usize, into: &mut Vec<u8>) {
    let text = line.trim_ascii_end();
    let (text, end) = line.split_at(text.len());
    into.extend_from_slice(text);
    into.resize(into.len() + length.saturating_sub(line.len()), b' ');
    into.extend_from_slice(end);
}
