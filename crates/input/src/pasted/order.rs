//! Logs that begin with their newest line.

/// A text with its oldest line first. A line that begins with blanks goes on with the one before
/// it, and stays behind that. No byte is added or lost.
pub(super) fn oldest_first(text: &[u8]) -> Vec<u8> {
    let ends_a_line = text.ends_with(b"\n");
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    let mut records: Vec<Vec<&[u8]>> = Vec::new();
    for line in body.split(|b| *b == b'\n') {
        match records.last_mut() {
            Some(record) if line.starts_with(b" ") || line.starts_with(b"\t") => record.push(line),
            _ => records.push(vec![line]),
        }
    }
    let lines: Vec<&[u8]> = records.into_iter().rev().flatten().collect();
    let mut turned = lines.join(&b'\n');
    if ends_a_line {
        turned.push(b'\n');
    }
    turned
}

#[cfg(test)]
mod tests {
    use super::oldest_first;

    #[test]
    fn lines_turn_and_what_goes_on_stays_behind() {
        assert_eq!(
            oldest_first(b"3 c\n2 b\n   more\n1 a\n"),
            b"1 a\n2 b\n   more\n3 c\n"
        );
        assert_eq!(oldest_first(b"2\n\n1"), b"1\n\n2");
        assert_eq!(oldest_first(b""), b"");
        assert_eq!(oldest_first(b"\n"), b"\n");
    }
}
