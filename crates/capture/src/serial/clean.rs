//! Taking terminal controls out of a stream.

/// Takes escape sequences (ECMA-48: CSI, OSC, two-byte escapes), NUL and
/// backspace out of a stream that comes in pieces: a sequence may begin in one
/// and end in the next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cleaner {
    state: State,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Text,
    /// Behind ESC.
    Escape,
    /// Behind ESC and `[`: parameters, then a final byte.
    Control,
    /// Behind ESC and `]`: text up to BEL or ESC `\`.
    Command,
    /// Behind the ESC that may end a command.
    CommandEscape,
}

impl Cleaner {
    /// Whether a byte is text; a line end and a carriage return are.
    pub fn keeps(&mut self, byte: u8) -> bool {
        let (state, keeps) = match (self.state, byte) {
            (State::Text | State::Escape | State::Control, 0x1b) => (State::Escape, false),
            (State::Escape, b'[') => (State::Control, false),
            (State::Escape, b']') => (State::Command, false),
            (State::Escape, 0x40..=0x7e) => (State::Text, false),
            (State::Control, 0x20..=0x3f) => (State::Control, false),
            (State::Control, 0x40..=0x7e) => (State::Text, false),
            (State::Command, 0x1b) => (State::CommandEscape, false),
            (State::Command, 7) | (State::CommandEscape, b'\\') => (State::Text, false),
            (State::Command | State::CommandEscape, _) => (State::Command, false),
            // A sequence that is cut ends where a byte is none of its own.
            (State::Text | State::Escape | State::Control, byte) => {
                (State::Text, !matches!(byte, 0 | 8))
            }
        };
        self.state = state;
        keeps
    }
}

#[cfg(test)]
mod tests {
    use super::Cleaner;

    #[test]
    fn controls_go_and_text_stays_however_the_stream_is_cut() {
        for (with, without) in [
            (&b"plain\r"[..], &b"plain\r"[..]),
            (b"\x1b[0;32m  OK  \x1b[0m]", b"  OK  ]"),
            (b"\x1b]0;title\x07A", b"A"),
            (b"\x1b]8;;http://x\x1b\\A", b"A"),
            (b"\x1bcA\x08\0B", b"AB"),
            (b"cut \x1b[3", b"cut "),
            (b"cut \x1b[3\x1b[0mx", b"cut x"),
            (b"\x1b\xffx", b"\xffx"),
        ] {
            let mut cleaner = Cleaner::default();
            let kept: Vec<u8> = with.iter().copied().filter(|b| cleaner.keeps(*b)).collect();
            assert_eq!(kept, without, "{}", with.escape_ascii());
        }
    }
}
