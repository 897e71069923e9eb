//! A line appears in the kernel's log.

use crate::bytes::find;
use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The longest record that /dev/kmsg gives (`CONSOLE_EXT_LOG_MAX`).
const RECORD_BYTES: usize = 8192;

#[derive(Debug)]
pub(super) struct LineWatch {
    text: Vec<u8>,
    kmsg: File,
}

impl LineWatch {
    pub(super) fn begin(text: &str, kmsg: &Path) -> io::Result<Self> {
        let nonblock = OFlags::NONBLOCK.bits().cast_signed();
        let kmsg = File::options()
            .read(true)
            .custom_flags(nonblock)
            .open(kmsg)?;
        // Behind the last record that there is.
        seek(&kmsg, SeekFrom::End(0))?;
        Ok(Self {
            text: text.as_bytes().to_vec(),
            kmsg,
        })
    }

    pub(super) fn channel(&self) -> BorrowedFd<'_> {
        self.kmsg.as_fd()
    }

    pub(super) fn look(&mut self) -> bool {
        let mut record = [0; RECORD_BYTES];
        loop {
            match self.kmsg.read(&mut record) {
                Ok(0) => return false,
                Ok(n) => {
                    let record = record.get(..n).unwrap_or_default();
                    if matches(record, &self.text) {
                        return true;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // The ring has overtaken the reader, who goes on behind the gap.
                Err(e) if e.raw_os_error() == Some(Errno::PIPE.raw_os_error()) => {}
                // No more for now.
                Err(_) => return false,
            }
        }
    }
}

/// Whether a record, `6,339,5140900,-;TEXT` and lines with properties, has the
/// text. What the agent says itself does not count.
fn matches(record: &[u8], text: &[u8]) -> bool {
    let begin = find(record, b";").map_or(0, |i| i + 1);
    let line = record.get(begin..).unwrap_or_default();
    let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
    if line.starts_with(crate::LINES.as_bytes()) {
        return false;
    }
    find(&unescaped(line), text).is_some()
}

/// The kernel writes what is not printable, and the backslash, as `\x5c`.
fn unescaped(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((&byte, behind)) = rest.split_first() {
        let code = behind.strip_prefix(b"x").filter(|_| byte == b'\\');
        let digits = code.and_then(|c| std::str::from_utf8(c.get(..2)?).ok());
        match digits.and_then(|d| u8::from_str_radix(d, 16).ok()) {
            Some(code) => {
                plain.push(code);
                rest = behind.get(3..).unwrap_or_default();
            }
            None => {
                plain.push(byte);
                rest = behind;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn the_text_of_a_record_counts_and_nothing_else_of_it() {
        let record = b"6,339,5140900,-;app: gr\\xc3\\xbcn \\x5c\n SUBSYSTEM=usb\n";
        assert!(matches(record, "gr\u{fc}n \\".as_bytes()));
        assert!(!matches(record, b"usb"));
        assert!(!matches(record, b"339"));
        assert!(!matches(b"6,1,1,-;firstlight: mark app", b"app"));
        assert!(matches(b"6,1,1,-;a \\xq", b"\\xq"));
    }
}
