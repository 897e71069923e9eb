//! The page cache's events as the kernel prints them
//! (`include/trace/events/filemap.h`).

/// A device as the kernel numbers it: major, minor.
pub type Device = (u32, u32);

/// What an event says of some pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A mapped page was touched, and was not mapped yet: `mm_filemap_fault`.
    Fault,
    /// These bytes were asked for by a read: `mm_filemap_get_pages`.
    Read,
    /// A mapped page was touched, and these were mapped around it as far as they
    /// were in memory: `mm_filemap_map_pages`.
    Around,
    /// The pages came into memory: `mm_filemap_add_to_page_cache`.
    Fill,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// What it says.
    pub kind: Kind,
    /// The file system's device.
    pub device: Device,
    /// The file's inode number.
    pub inode: u64,
    /// The first byte.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
    /// When, in microseconds on the trace's clock.
    pub at_us: u64,
    /// The thread.
    pub pid: u32,
    /// The program's name.
    pub program: &'a str,
}

/// The event of a line of `trace_pipe`, if it is one of these.
///
/// ```text
///   wl-1234    [001] .....  1234.567890: mm_filemap_fault: dev=254:0 ino=64c5ce ofs=4096
/// ```
pub fn parse(line: &str, page_bytes: u64) -> Option<Event<'_>> {
    let (before, after) = line.split_once(": mm_filemap_")?;
    let (name, fields) = after.split_once(": ")?;
    let kind = match name {
        "fault" => Kind::Fault,
        "get_pages" => Kind::Read,
        "map_pages" => Kind::Around,
        "add_to_page_cache" => Kind::Fill,
        _ => return None,
    };
    let mut device = None;
    let mut inode = None;
    let mut place = None;
    let mut order = 0;
    // Some events write `dev 8:1 ino 1f`, others `dev=8:1 ino=1f`.
    let mut words = fields.split([' ', '=']).filter(|w| !w.is_empty());
    while let Some(word) = words.next() {
        match word {
            "dev" => {
                let (major, minor) = words.next()?.split_once(':')?;
                device = Some((major.parse().ok()?, minor.parse().ok()?));
            }
            "ino" => inode = Some(u64::from_str_radix(words.next()?, 16).ok()?),
            "ofs" => place = Some(words.next()?),
            "order" => order = words.next()?.trim_end().parse().ok()?,
            _ => {}
        }
    }
    let place = place?.trim_end();
    let (offset, bytes) = match place.split_once('-') {
        Some((first, last)) => {
            let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            (first, last.checked_sub(first)?.checked_add(1)?)
        }
        None => (place.parse().ok()?, page_bytes.checked_shl(order)?),
    };
    let (pid, program, at_us) = who_and_when(before)?;
    Some(Event {
        kind,
        device: device?,
        inode: inode?,
        offset,
        bytes,
        at_us,
        pid,
        program,
    })
}

/// Reads `  name-1234    [001] .....  1234.567890` from its end: a name may hold
/// anything.
fn who_and_when(before: &str) -> Option<(u32, &str, u64)> {
    let (rest, time) = before.rsplit_once(' ')?;
    let (seconds, micros) = time.split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let micros: u64 = micros.parse().ok()?;
    let at_us = seconds.checked_mul(1_000_000)?.checked_add(micros)?;
    let (task, _) = rest.rsplit_once(" [")?;
    // `record-tgid` puts the process in brackets behind the thread.
    let task = task.trim_end();
    let task = match task.ends_with(')') {
        true => task.rsplit_once('(')?.0.trim_end(),
        false => task,
    };
    let (program, pid) = task.rsplit_once('-')?;
    Some((pid.parse().ok()?, program.trim_start(), at_us))
}

/// How many events a line of `trace_pipe` says that the kernel lost:
/// `CPU:1 [LOST 1234 EVENTS]`.
pub fn lost(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("[LOST ")?;
    rest.split_once(" EVENTS]")?.0.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::{Kind, lost, parse};

    #[test]
    fn lines_of_several_kernels_are_read() {
        let line = "             a b-c-8501    [000] ..... 23174.571805: mm_filemap_get_pages: dev=254:0 ino=64c5ce ofs=0-4095";
        let event = parse(line, 4096).unwrap();
        assert_eq!((event.program, event.pid), ("a b-c", 8501));
        assert_eq!((event.device, event.inode), ((254, 0), 0x64_c5ce));
        assert_eq!((event.offset, event.bytes), (0, 4096));
        assert_eq!((event.kind, event.at_us), (Kind::Read, 23_174_571_805));
        let line = "cat-9 ( 9) [001] d..1. 5.000001: mm_filemap_add_to_page_cache: dev 0:3 ino fe00000 pfn=0x42e16b ofs=10688004096 order=2";
        let event = parse(line, 4096).unwrap();
        assert_eq!((event.program, event.pid, event.bytes), ("cat", 9, 16384));
        assert_eq!(event.kind, Kind::Fill);
        let line = "cat-9 [001] ..... 5.000001: mm_filemap_fault: dev=8:1 ino=f ofs=8192\n";
        let event = parse(line, 4096).unwrap();
        assert_eq!((event.offset, event.bytes), (8192, 4096));
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "",
            "# tracer: nop",
            "cat-9 [001] ..... 5.1: mm_filemap_delete_from_page_cache: dev=8:1 ino=f ofs=0",
            "cat-9 [001] ..... 5.000001: mm_filemap_fault: dev=8:1 ino=x ofs=8192",
            "cat-9 [001] ..... 5.000001: mm_filemap_get_pages: dev=8:1 ino=f ofs=9-2",
            "mm_filemap_fault: dev=8:1 ino=f ofs=8192",
        ] {
            assert_eq!(parse(line, 4096), None, "{line}");
        }
        assert_eq!(lost("CPU:1 [LOST 1234 EVENTS]"), Some(1234));
        assert_eq!(lost("CPU:1 [LOST EVENTS]"), None);
    }
}
