//! Console bytes, as far as the lab itself looks at them.

/// How many lines of a failed trial's console are kept at hand.
const LAST_LINES: usize = 20;

/// The last lines, for the reader: without escape sequences.
#[must_use]
pub fn last_lines(console: &[u8]) -> Vec<String> {
    let lines: Vec<_> = console.split(|b| *b == b'\n').map(plain).collect();
    let mut lines: Vec<_> = lines.into_iter().filter(|l| !l.is_empty()).collect();
    let first = lines.len().saturating_sub(LAST_LINES);
    lines.split_off(first)
}

/// A line as a reader sees it: no escape sequences, no control characters.
#[must_use]
pub fn plain(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // `ESC [ parameters letter`, or `ESC` and one character.
            if chars.next_if_eq(&'[').is_some() {
                while chars.next_if(|c| !c.is_ascii_alphabetic()).is_some() {}
            }
            chars.next();
        } else if c == '\t' {
            out.push(' ');
        } else if !c.is_control() {
            out.push(c);
        }
    }
    out.trim_end().to_owned()
}

/// The time of a line of the kernel, in whole seconds: `[    1.634555] text`.
#[must_use]
pub fn stamp_seconds(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"[")?;
    let text = std::str::from_utf8(rest.get(..16.min(rest.len()))?).ok()?;
    let (seconds, fraction) = text.trim_start().split_once('.')?;
    let fraction = fraction.get(..7)?;
    (fraction.ends_with(']') && fraction[..6].bytes().all(|b| b.is_ascii_digit()))
        .then(|| seconds.parse().ok())?
}

/// The kernel's or the agent's own words on why it ended.
#[must_use]
pub fn complaint(console: &[u8]) -> Option<(Who, String)> {
    let lines = console.split(|b| *b == b'\n');
    let mut found = None;
    for line in lines.map(plain) {
        if let Some(at) = line.find("firstlight: error: ") {
            found = Some((Who::Agent, line[at..].to_owned()));
        } else if let Some(at) = line.find("Kernel panic - ") {
            // The panic that follows the agent's own end says nothing new.
            return found.or(Some((Who::Kernel, line[at..].to_owned())));
        }
    }
    found
}

/// The length of the console up to the end of the line that ends the kernel's
/// report of a panic, if that line is there and whole.
#[must_use]
pub fn end_of_panic(console: &[u8]) -> Option<usize> {
    end_of_line_with(console, "---[ end Kernel panic")
}

/// The length of the console up to the end of the first line with `words` in it, if
/// that line is whole.
#[must_use]
pub fn end_of_line_with(console: &[u8], words: &str) -> Option<usize> {
    let mark = words.as_bytes();
    let at = console.windows(mark.len()).position(|w| w == mark)?;
    let rest = console.get(at..)?;
    Some(at + rest.iter().position(|b| *b == b'\n')? + 1)
}

/// Who complained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The kernel.
    Kernel,
    /// The agent.
    Agent,
}

#[cfg(test)]
mod tests {
    use super::{Who, complaint, end_of_panic, last_lines, plain, stamp_seconds};

    #[test]
    fn lines_are_shown_without_escapes() {
        assert_eq!(plain(b"\x1bc\x1b[?7l\x1b[2J\x1b[0mSeaBIOS\r"), "SeaBIOS");
        assert_eq!(plain(b"a\tb\x1b"), "a b");
        let many: String = (0..30).map(|i| format!("{i}\r\n")).collect();
        let lines = last_lines(many.as_bytes());
        assert_eq!((lines.len(), lines[0].as_str()), (20, "10"));
    }

    #[test]
    fn only_the_kernels_stamps_are_times() {
        assert_eq!(stamp_seconds(b"[    1.634555] x"), Some(1));
        assert_eq!(stamp_seconds(b"[12345.634555] x"), Some(12_345));
        for line in [
            &b"[ OK ] x"[..],
            b"x [    1.634555]",
            b"[ 1.63",
            b"[",
            b"[1.6345555] x",
        ] {
            assert_eq!(stamp_seconds(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_panic_ends_with_its_last_line() {
        let whole = b"[ 1.0] a\n[ 2.0] ---[ end Kernel panic - not syncing: x ]---\nmore";
        assert_eq!(end_of_panic(whole), Some(whole.len() - 4));
        assert_eq!(end_of_panic(&whole[..40]), None);
        assert_eq!(end_of_panic(b""), None);
    }

    #[test]
    fn the_first_cause_is_named() {
        let panic = b"[ 1.0] a\n[ 1.1] Kernel panic - not syncing: no root\n";
        let expected = "Kernel panic - not syncing: no root".to_owned();
        assert_eq!(complaint(panic), Some((Who::Kernel, expected)));
        let agent = b"firstlight: error: no memory\nKernel panic - not syncing: killed init\n";
        let expected = "firstlight: error: no memory".to_owned();
        assert_eq!(complaint(agent), Some((Who::Agent, expected)));
        assert_eq!(complaint(b"fine"), None);
    }
}
