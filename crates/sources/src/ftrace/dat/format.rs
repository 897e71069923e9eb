//! What an event looks like in the ring buffer: the text of
//! `events/<system>/<event>/format`.

use crate::text::number;
use memchr::{memchr, memmem};

/// How the bytes of a field say its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A number of 1, 2, 4 or 8 bytes.
    Number {
        /// Whether its first bit is a sign.
        signed: bool,
    },
    /// Bytes in place: text up to a NUL.
    Text,
    /// 4 bytes that say where text is: its offset from the start of the event
    /// in the lower half, its length in the upper (`__data_loc`).
    Located,
    /// The same, but the offset counts from the field's end (`__rel_loc`).
    LocatedAfter,
}

/// A field of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field<'a> {
    /// Its name, without the brackets of an array.
    pub name: &'a [u8],
    /// Where it begins in the event, in bytes.
    pub offset: usize,
    /// How long it is, in bytes.
    pub size: usize,
    /// How it says its value.
    pub shape: Shape,
}

/// The format of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its number, in the events themselves.
    pub id: u16,
    /// The lines of its fields, and how it is printed.
    body: &'a [u8],
}

impl<'a> Format<'a> {
    /// Reads the text of a format file. `None` if it is not one.
    pub(super) fn of(text: &'a [u8]) -> Option<Self> {
        let after = |key: &[u8]| {
            let at = memmem::find(text, key)?;
            let rest = text.get(at + key.len()..)?;
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            Some((rest.get(..end)?.trim_ascii(), at))
        };
        let (name, _) = after(b"name:")?;
        let (id, at) = after(b"\nID:")?;
        let (id, []) = number(id)? else {
            return None;
        };
        Some(Self {
            name,
            id: u16::try_from(id).ok()?,
            body: text.get(at..)?,
        })
    }

    /// Its fields, those that all events have first.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field<'a>> {
        let lines = self.body.split(|b| *b == b'\n');
        lines.filter_map(|line| Field::of(line.trim_ascii().strip_prefix(b"field:")?))
    }

    /// How it is printed.
    pub(super) fn print(&self) -> &'a [u8] {
        let key = b"print fmt:";
        let at = memmem::find(self.body, key).unwrap_or(self.body.len());
        self.body.get(at..).unwrap_or_default()
    }

    /// The letters that the event's print format gives to the bits of a
    /// state: `{ 0x00000001, "S" }`.
    pub(super) fn flags(&self) -> impl Iterator<Item = (u64, u8)> {
        let parts = self.print().split(|b| *b == b'{').skip(1);
        parts.filter_map(|part| {
            let (value, rest) = part.split_at_checked(memchr(b',', part)?)?;
            let letter = rest.get(1..)?.trim_ascii_start().strip_prefix(b"\"")?;
            let [letter, b'"', ..] = *letter else {
                return None;
            };
            Some((c_number(value.trim_ascii())?, letter))
        })
    }
}

/// `0x1f` or `31`.
fn c_number(text: &[u8]) -> Option<u64> {
    match text.strip_prefix(b"0x") {
        Some(digits) => u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok(),
        None => number(text).filter(|n| n.1.is_empty()).map(|n| n.0),
    }
}

impl<'a> Field<'a> {
    /// Reads `TYPE NAME; offset:N; size:N; signed:N;`.
    fn of(line: &'a [u8]) -> Option<Self> {
        let mut parts = line.split(|b| *b == b';').map(<[u8]>::trim_ascii);
        let declared = parts.next()?;
        let (mut offset, mut size, mut signed) = (None, None, false);
        for part in parts {
            let value = |key: &[u8]| number(part.strip_prefix(key)?).map(|n| n.0);
            offset = offset.or(value(b"offset:"));
            size = size.or(value(b"size:"));
            signed |= value(b"signed:") == Some(1);
        }
        let bracket = memchr(b'[', declared);
        // `char[] filename` has its brackets in the type, `char comm[16]` not.
        let space = declared
            .iter()
            .rposition(|b| matches!(b, b' ' | b'\t' | b'*'));
        let name = declared.get(space.map_or(0, |s| s + 1)..)?;
        let name = name.split(|b| *b == b'[').next()?;
        let kind = declared.get(..space.unwrap_or(0))?;
        let size = usize::try_from(size?).ok()?;
        let shape = if kind.starts_with(b"__data_loc") {
            Shape::Located
        } else if kind.starts_with(b"__rel_loc") {
            Shape::LocatedAfter
        } else if bracket.is_some() && memmem::find(kind, b"char").is_some() {
            Shape::Text
        } else {
            Shape::Number { signed }
        };
        Some(Self {
            name,
            offset: usize::try_from(offset?).ok()?,
            size,
            shape,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Field, Format, Shape};

    const EXEC: &[u8] = b"name: sched_process_exec\nID: 310\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:char comm[16];\toffset:12;\tsize:16;\tsigned:1;\n\
        \tfield:const char * text;\toffset:32;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned long args[6];\toffset:40;\tsize:48;\tsigned:0;\n\n\
        print fmt: \"%s\", __print_flags(REC->s, \"|\", { 0x00000001, \"S\" }, { 2, \"D\" })\n";

    #[test]
    fn fields_have_names_places_and_shapes() {
        let format = Format::of(EXEC).unwrap();
        assert_eq!((format.name, format.id), (&b"sched_process_exec"[..], 310));
        let field = |name, offset, size, shape| Field {
            name,
            offset,
            size,
            shape,
        };
        let unsigned = Shape::Number { signed: false };
        let fields: Vec<Field> = format.fields().collect();
        assert_eq!(
            fields,
            [
                field(b"common_type", 0, 2, unsigned),
                field(b"common_pid", 4, 4, Shape::Number { signed: true }),
                field(b"filename", 8, 4, Shape::Located),
                field(b"comm", 12, 16, Shape::Text),
                field(b"text", 32, 8, unsigned),
                field(b"args", 40, 48, unsigned),
            ]
        );
        let flags: Vec<(u64, u8)> = format.flags().collect();
        assert_eq!(flags, [(1, b'S'), (2, b'D')]);
    }

    #[test]
    fn what_is_no_format_is_none() {
        for text in [&b""[..], b"name: x\n", b"name: x\nID: 70000\n", b"ID: 1\n"] {
            assert!(Format::of(text).is_none());
        }
    }
}
