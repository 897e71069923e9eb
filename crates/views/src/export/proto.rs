//! The wire format of protocol buffers, as much as writing a trace takes
//! (protobuf.dev, "Encoding").

/// A message that is being written.
#[derive(Debug, Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// A field of an integer type: `uint64`, `int64`, an enum, a bool.
    pub(super) fn number(&mut self, field: u32, value: u64) -> &mut Self {
        self.key(field, 0);
        varint(&mut self.bytes, value);
        self
    }

    /// A field of type `int64`.
    pub(super) fn signed(&mut self, field: u32, value: i64) -> &mut Self {
        self.number(field, value.cast_unsigned())
    }

    /// A field of type `string` or `bytes`.
    pub(super) fn text(&mut self, field: u32, text: &str) -> &mut Self {
        self.block(field, text.as_bytes())
    }

    /// A field that is a message itself, filled in by `fill`.
    pub(super) fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.key(field, 2);
        let length = self.bytes.len();
        // Most messages are shorter than 128 bytes: one byte says so.
        self.bytes.push(0);
        fill(self);
        let size = self.bytes.len() - length - 1;
        match u8::try_from(size) {
            Ok(size) if size < 0x80 => {
                if let Some(byte) = self.bytes.get_mut(length) {
                    *byte = size;
                }
            }
            _ => {
                let mut prefix = Vec::new();
                varint(&mut prefix, size as u64);
                self.bytes.splice(length..=length, prefix);
            }
        }
        self
    }

    /// What was written.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn block(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        self.key(field, 2);
        varint(&mut self.bytes, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn key(&mut self, field: u32, wire_type: u32) {
        varint(&mut self.bytes, u64::from(field << 3 | wire_type));
    }
}

/// Seven bits a byte, the lowest first; the top bit says that more follow.
#[expect(clippy::cast_possible_truncation, reason = "seven bits are taken")]
fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn the_examples_of_the_specification() {
        let mut m = Message::default();
        m.number(1, 150);
        assert_eq!(m.into_bytes(), [0x08, 0x96, 0x01]);
        let mut m = Message::default();
        m.text(2, "testing");
        assert_eq!(m.into_bytes(), b"\x12\x07testing");
        let mut m = Message::default();
        m.message(3, |m| {
            m.number(1, 150);
        });
        assert_eq!(m.into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let mut m = Message::default();
        m.signed(1, -2);
        let minus_two = [
            0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
        ];
        assert_eq!(m.into_bytes(), minus_two);
    }

    #[test]
    fn a_long_message_says_its_length_in_more_bytes() {
        let long = "x".repeat(300);
        let mut m = Message::default();
        m.message(1, |m| {
            m.text(2, &long);
        });
        let bytes = m.into_bytes();
        // 300 bytes of text, its key and its length of two bytes.
        assert_eq!(bytes[..6], [0x0a, 0xaf, 0x02, 0x12, 0xac, 0x02]);
        assert_eq!(bytes.len(), 3 + 303);
    }
}
