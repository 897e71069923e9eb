//! An access list to bytes.

use super::{AccessList, Entry, Identity, KIND, RangeKind, VERSION};
use crate::bytes::crc32;

/// The list as a file. Entries are put in order first: files by path, then
/// devices by path.
#[must_use]
pub fn encode(list: &AccessList) -> Vec<u8> {
    let mut body = Body::default();
    body.number(list.recordings.into());
    body.number(list.page_bytes.trailing_zeros().into());
    body.text(list.machine.as_bytes());
    body.text(list.title.as_bytes());
    body.number(list.programs.len() as u64);
    for program in &list.programs {
        body.text(program.as_bytes());
    }
    body.number(list.directories);
    let mut entries: Vec<&Entry> = list.entries.iter().collect();
    entries.sort_by(|a, b| (a.is_device(), &a.path).cmp(&(b.is_device(), &b.path)));
    body.number(entries.len() as u64);
    let mut before: &[u8] = b"";
    for entry in entries {
        body.entry(entry, before);
        before = &entry.path;
    }
    let body = body.0;
    let mut file = format!("{KIND} {VERSION}\n").into_bytes();
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(&crc32(&body).to_le_bytes());
    file.extend_from_slice(&body);
    file
}

#[derive(Default)]
struct Body(Vec<u8>);

impl Body {
    /// Seven bits a byte, the lowest first; the top bit says that more follow.
    fn number(&mut self, mut n: u64) {
        loop {
            let low = (n & 0x7f) as u8;
            n >>= 7;
            if n == 0 {
                return self.0.push(low);
            }
            self.0.push(low | 0x80);
        }
    }

    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text);
    }

    fn entry(&mut self, entry: &Entry, before: &[u8]) {
        let shared = entry.path.iter().zip(before).take_while(|(a, b)| a == b);
        let shared = shared.count();
        self.number(shared as u64);
        self.text(entry.path.get(shared..).unwrap_or_default());
        match entry.identity {
            Identity::File {
                size,
                mtime_s,
                mtime_ns,
                inode,
                generation,
            } => {
                self.number(0);
                self.number(size);
                // The sign goes lowest, so that small numbers stay short.
                self.number((mtime_s << 1 ^ mtime_s >> 63).cast_unsigned());
                self.number(mtime_ns.into());
                self.number(inode);
                self.number(generation.into());
            }
            Identity::Device { size, kind, number } => {
                self.number(1);
                self.number(size);
                self.number(kind);
                self.number(number);
            }
        }
        self.number(entry.program.into());
        let first = entry.first_us();
        self.number(first);
        self.number(entry.ranges.len() as u64);
        let mut end = 0;
        for range in &entry.ranges {
            self.number(range.page.saturating_sub(end));
            let touched = u64::from(range.kind == RangeKind::Touched);
            self.number(range.pages << 1 | touched);
            self.number(range.first_us - first);
            self.number(range.seen.into());
            end = range.end();
        }
    }
}
