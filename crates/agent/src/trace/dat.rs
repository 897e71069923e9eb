//! The trace rings as a `trace.dat` of version 6, which `trace-cmd report` and
//! others read.
//!
//! The format is that of `trace-cmd.dat.v6(5)`: what the rings' pages need to be
//! understood comes first, copied from tracefs as it is, then the pages of each
//! processor's ring. Nothing is decoded here.

use super::{Tracefs, figure, names};
use crate::sys::read_kernel_file;
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The length of the file, in bytes.
    pub bytes: u64,
    /// Events that were in the rings when they were taken.
    pub events: u64,
    /// Older events that newer ones had overwritten, or that found no room.
    pub lost: u64,
    /// What could not be read, a sentence each.
    pub missing: Vec<String>,
}

/// The first bytes, and the version.
const MAGIC: &[u8] = b"\x17\x08\x44tracing6\0";

// The options used here, by their numbers.
const OPTION_DONE: u16 = 0;
const OPTION_CPU_STATISTICS: u16 = 2;
const OPTION_CLOCK: u16 = 4;
const OPTION_UNAME: u16 = 5;

/// Events that are not of a subsystem, such as those of the function tracer.
const OWN_EVENTS: &str = "ftrace";

/// A page of a ring is never larger than this; the kernel's largest is 64 KiB.
const MOST_PAGE_BYTES: usize = 1 << 20;

/// Writes the rings into `out`. What is read from a ring is gone from it. New
/// events should not come in meanwhile: see [`Tracefs::switch`].
///
/// # Errors
/// If `out` cannot be written, or tracefs lacks what makes the rings readable at
/// all. One event or ring that cannot be read is told in [`Taken::missing`].
pub fn write_dat(trace: &Tracefs, out: &mut (impl Write + Seek)) -> io::Result<Taken> {
    let mut taken = Taken::default();
    let header_page = trace.read_top("events/header_page")?;
    let page = page_bytes(&header_page)
        .ok_or_else(|| io::Error::other("events/header_page does not give the page length"))?;
    let cpus = trace.cpus()?;
    let stats: Vec<Vec<u8>> = cpus
        .iter()
        .map(|cpu| trace.read(&format!("per_cpu/cpu{cpu}/stats")))
        .collect::<io::Result<_>>()?;
    for stats in &stats {
        let of = |name| figure(stats, name);
        taken.events += of("entries");
        taken.lost += of("overrun") + of("commit overrun") + of("dropped events");
    }

    out.write_all(MAGIC)?;
    let big_endian = u8::from(cfg!(target_endian = "big"));
    let long_bytes = u8::try_from(size_of::<libc::c_long>()).unwrap_or(8);
    out.write_all(&[big_endian, long_bytes])?;
    out.write_all(&u32::try_from(page).unwrap_or(4096).to_ne_bytes())?;
    out.write_all(b"header_page\0")?;
    long_block(out, &header_page)?;
    out.write_all(b"header_event\0")?;
    long_block(out, &trace.read_top("events/header_event")?)?;

    let mut names_functions = trace.names_functions();
    let own = formats(
        &trace.top.join("events").join(OWN_EVENTS),
        &mut taken.missing,
    );
    number(out, own.len())?;
    for format in &own {
        long_block(out, format)?;
    }
    let systems = trace.systems(&mut taken.missing)?;
    number(out, systems.len())?;
    for (name, formats) in &systems {
        out.write_all(name.as_bytes())?;
        out.write_all(b"\0")?;
        number(out, formats.len())?;
        for format in formats {
            names_functions |= prints_functions(format);
            long_block(out, format)?;
        }
    }
    // Ten megabytes, so only if an event names a function by its address.
    let mut optional = |wanted: bool, what: &str, read: io::Result<Vec<u8>>| match read {
        Ok(bytes) if wanted => bytes,
        Err(e) if wanted => {
            taken.missing.push(format!("{what}: {e}"));
            Vec::new()
        }
        _ => Vec::new(),
    };
    let kallsyms = match names_functions {
        true => read_kernel_file("/proc/kallsyms"),
        false => Ok(Vec::new()),
    };
    short_block(out, &optional(true, "/proc/kallsyms", kallsyms))?;
    for (file, long) in [("printk_formats", false), ("saved_cmdlines", true)] {
        let bytes = optional(true, file, trace.read_top(file));
        match long {
            false => short_block(out, &bytes)?,
            true => long_block(out, &bytes)?,
        }
    }

    number(out, cpus.len())?;
    out.write_all(b"options  \0")?;
    for stats in &stats {
        option(out, OPTION_CPU_STATISTICS, stats)?;
    }
    option(out, OPTION_CLOCK, &trace.read("trace_clock")?)?;
    option(out, OPTION_UNAME, uname().as_bytes())?;
    out.write_all(&OPTION_DONE.to_ne_bytes())?;

    out.write_all(b"flyrecord\0")?;
    let table = out.stream_position()?;
    out.write_all(&vec![0; cpus.len().saturating_mul(16)])?;
    let mut places = Vec::new();
    for cpu in &cpus {
        let begin = align(out, page)?;
        let file = format!("per_cpu/cpu{cpu}/trace_pipe_raw");
        let bytes = match drain(&trace.rings.join(&file), page, out) {
            Ok(bytes) => bytes,
            Err(Drain::Write(e)) => return Err(e),
            Err(Drain::Read(bytes, e)) => {
                taken
                    .missing
                    .push(format!("{file} after {bytes} bytes: {e}"));
                bytes
            }
        };
        places.extend([begin, bytes]);
    }
    taken.bytes = align(out, page)?;
    out.seek(SeekFrom::Start(table))?;
    for place in places {
        out.write_all(&place.to_ne_bytes())?;
    }
    out.seek(SeekFrom::Start(taken.bytes))?;
    out.flush()?;
    Ok(taken)
}

impl Tracefs {
    fn read_top(&self, file: &str) -> io::Result<Vec<u8>> {
        read_kernel_file(self.top.join(file))
    }

    /// Whether a tracer is on that records the addresses of functions.
    fn names_functions(&self) -> bool {
        let tracer = self.read("current_tracer").unwrap_or_default();
        tracer.trim_ascii() != b"nop"
    }

    /// The formats of the events that are on, by subsystem; of all events, if
    /// none is: then they were switched off after the recording.
    fn systems(&self, missing: &mut Vec<String>) -> io::Result<Vec<(String, Vec<Vec<u8>>)>> {
        let on = self.systems_where(missing, &|folder| {
            // 0: none is on; X: some are; ?: there are none.
            read_kernel_file(folder.join("enable"))
                .is_ok_and(|e| !matches!(e.first(), Some(b'0' | b'?')))
        })?;
        if !on.is_empty() {
            return Ok(on);
        }
        self.systems_where(missing, &|_| true)
    }

    fn systems_where(
        &self,
        missing: &mut Vec<String>,
        wanted: &dyn Fn(&Path) -> bool,
    ) -> io::Result<Vec<(String, Vec<Vec<u8>>)>> {
        let mut systems = Vec::new();
        let events = self.rings.join("events");
        for name in names(&events)? {
            let folder = events.join(&name);
            if name == OWN_EVENTS || !folder.is_dir() || !wanted(&folder) {
                continue;
            }
            let formats = formats_where(&folder, missing, wanted);
            if !formats.is_empty() {
                systems.push((name, formats));
            }
        }
        Ok(systems)
    }
}

/// The format of each event of a subsystem.
fn formats(system: &Path, missing: &mut Vec<String>) -> Vec<Vec<u8>> {
    formats_where(system, missing, &|_| true)
}

fn formats_where(
    system: &Path,
    missing: &mut Vec<String>,
    wanted: &dyn Fn(&Path) -> bool,
) -> Vec<Vec<u8>> {
    let mut formats = Vec::new();
    for event in names(system).unwrap_or_default() {
        let folder = system.join(event);
        if !folder.is_dir() || !wanted(&folder) {
            continue;
        }
        let path = folder.join("format");
        match read_kernel_file(&path) {
            Ok(format) => formats.push(format),
            Err(e) => missing.push(format!("{}: {e}", path.display())),
        }
    }
    formats
}

/// Whether an event's format prints an address as the name of a function
/// (`Documentation/core-api/printk-formats.rst`).
fn prints_functions(format: &[u8]) -> bool {
    let named = |w: &[u8]| matches!(w, b"%pS" | b"%ps" | b"%pB" | b"%pF" | b"%pf");
    format.windows(3).any(named)
}

/// How long a page of a ring is: where its data begin and how long they are, as
/// `header_page` says: `field: char data; offset:16; size:4080; signed:1;`.
fn page_bytes(header_page: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(header_page);
    let data = text.lines().find(|l| l.contains("char data;"))?;
    let value = |key: &str| {
        let field = data.split(';').find_map(|f| f.trim().strip_prefix(key));
        field?.parse::<usize>().ok()
    };
    let bytes = value("offset:")?.checked_add(value("size:")?)?;
    (512..=MOST_PAGE_BYTES).contains(&bytes).then_some(bytes)
}

/// What went wrong while a ring was copied.
enum Drain {
    /// The ring could not be read on, after so many bytes.
    Read(u64, io::Error),
    Write(io::Error),
}

/// Copies the pages of a ring; gives their length.
fn drain(ring: &Path, page: usize, out: &mut impl Write) -> Result<u64, Drain> {
    let mut bytes = 0;
    let nonblock = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(nonblock).open(ring);
    let mut file = file.map_err(|e| Drain::Read(0, e))?;
    // The kernel gives one page a read, and only a whole one has its header.
    let mut buffer = vec![0; page];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(n) => {
                // A short one is filled up: readers go by whole pages.
                if let Some(rest) = buffer.get_mut(n..) {
                    rest.fill(0);
                }
                out.write_all(&buffer).map_err(Drain::Write)?;
                bytes += page as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(bytes),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Drain::Read(bytes, e)),
        }
    }
}

/// Fills up to the next page; gives where that begins.
fn align(out: &mut (impl Write + Seek), page: usize) -> io::Result<u64> {
    let at = out.stream_position()?;
    let next = at.next_multiple_of(page as u64);
    let gap = usize::try_from(next - at).unwrap_or(0);
    out.write_all(&vec![0; gap])?;
    Ok(next)
}

/// A number of things, in four bytes.
fn number(out: &mut impl Write, n: usize) -> io::Result<()> {
    let n = u32::try_from(n).map_err(|_| too_long(n))?;
    out.write_all(&n.to_ne_bytes())
}

/// Bytes behind their length in four bytes.
fn short_block(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    number(out, bytes.len())?;
    out.write_all(bytes)
}

/// Bytes behind their length in eight bytes.
fn long_block(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(&(bytes.len() as u64).to_ne_bytes())?;
    out.write_all(bytes)
}

/// An option; a text ends with a zero byte.
fn option(out: &mut impl Write, id: u16, text: &[u8]) -> io::Result<()> {
    out.write_all(&id.to_ne_bytes())?;
    let text = [text, b"\0"].concat();
    short_block(out, &text)
}

fn too_long(n: usize) -> io::Error {
    io::Error::other(format!("{n} exceeds the field width of the format"))
}

/// `Linux board 6.1.0 aarch64`, as trace-cmd writes it.
fn uname() -> String {
    let uname = rustix::system::uname();
    let words = [
        uname.sysname(),
        uname.nodename(),
        uname.release(),
        uname.machine(),
    ];
    words.map(|w| w.to_string_lossy().into_owned()).join(" ")
}

#[cfg(test)]
mod tests {
    use super::{page_bytes, prints_functions};

    #[test]
    fn the_length_of_a_page_is_what_its_header_says() {
        let text = b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
            \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
            \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
        assert_eq!(page_bytes(text), Some(4096));
        assert_eq!(page_bytes(b""), None);
        let absurd = b"field: char data; offset:16; size:99999999999;";
        assert_eq!(page_bytes(absurd), None);
    }

    #[test]
    fn functions_are_named_only_where_a_format_prints_them() {
        assert!(prints_functions(b"print fmt: \"func=%pS\", REC->func"));
        assert!(!prints_functions(b"print fmt: \"%u,%u %s\""));
    }
}
