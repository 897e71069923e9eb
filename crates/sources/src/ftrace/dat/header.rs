//! All that a trace.dat says before the events themselves
//! (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)).

use super::compress::{Compression, Unpacker};
use super::cursor::{Cursor, Damage, Order};
use super::format::Format;
use super::page::PageLayout;
use super::section::{self, Entry, Section};
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// How every file begins.
pub(super) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Processors that a file may have; Linux has at most 8,192.
const MOST_CPUS: u32 = 8_192;

/// The sizes of a ring buffer's page that are believed: pages of memory have 4
/// KiB or more, and sub-buffers grow to some megabytes at most.
const PAGE_BYTES: RangeInclusive<u32> = 512..=16 << 20;

/// The numbers of options (`lib/trace-cmd/include/private`).
mod option {
    pub(super) const DATE: u16 = 1;
    pub(super) const CPU_STATS: u16 = 2;
    pub(super) const BUFFER: u16 = 3;
    pub(super) const TRACE_CLOCK: u16 = 4;
    pub(super) const UNAME: u16 = 5;
    pub(super) const OFFSET: u16 = 7;
    pub(super) const CPU_COUNT: u16 = 8;
    pub(super) const VERSION: u16 = 9;
    pub(super) const TIME_SHIFT: u16 = 12;
    pub(super) const TSC_TO_NS: u16 = 14;
    pub(super) const HEADER_INFO: u16 = 16;
    pub(super) const FTRACE_EVENTS: u16 = 17;
    pub(super) const EVENT_FORMATS: u16 = 18;
    pub(super) const KALLSYMS: u16 = 19;
    pub(super) const CMDLINES: u16 = 21;
    pub(super) const BUFFER_TEXT: u16 = 22;
}

/// The first bytes: what is needed to read anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    /// The format's version: 6 or 7.
    pub version: u8,
    pub order: Order,
    /// The machine's pages, in bytes.
    pub page_bytes: u32,
    pub compression: Compression,
    /// Where it goes on: in version 7 the first list of options.
    next: u64,
}

impl Start {
    /// Reads the first bytes of a file.
    pub(super) fn of(file: &[u8]) -> Result<Self, Damage> {
        let mut cursor = Cursor::new(file, 0, Order::Little);
        cursor.expect(MAGIC, "the trace.dat magic")?;
        let here = cursor.damage("trace.dat version 6 or 7");
        let version = match cursor.text(here.expected)? {
            b"6" => 6,
            b"7" => 7,
            _ => return Err(here),
        };
        let here = cursor.damage("a byte order, 0 or 1");
        let order = match cursor.u8(here.expected)? {
            0 => Order::Little,
            1 => Order::Big,
            _ => return Err(here),
        };
        cursor.set_order(order);
        // The size of a "long" of programs; the kernel's is in the page header.
        cursor.u8("the size of `long`")?;
        let here = cursor.damage("the page size");
        let page_bytes = cursor.u32(here.expected)?;
        if !PAGE_BYTES.contains(&page_bytes) {
            return Err(here);
        }
        let (mut compression, mut next) = (Compression::None, cursor.place());
        if version == 7 {
            compression = Compression::named(cursor.text("the name of the compression")?);
            cursor.text("the version of the compression")?;
            next = cursor.u64("the offset of the options")?;
        }
        Ok(Self {
            version,
            order,
            page_bytes,
            compression,
            next,
        })
    }
}

/// Where the events of one processor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CpuData {
    /// The processor.
    pub cpu: u32,
    /// Where they begin in the file.
    pub offset: u64,
    /// How many bytes they take there.
    pub length: u64,
}

/// What a buffer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Pages of the ring buffer, one stream for each processor.
    Pages {
        streams: Vec<CpuData>,
        /// The size of a page.
        page_bytes: u32,
        /// Whether they come in compressed chunks.
        packed: bool,
    },
    /// The text of the file `trace`, from here to the end of the file.
    Text {
        /// Where it begins.
        offset: u64,
        packed: bool,
    },
}

/// A buffer of the kernel's: the main one, or that of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Buffer {
    /// The instance's name; empty for the main buffer.
    pub name: String,
    /// The clock that it is stamped by, if the file says it for this one.
    pub clock: Option<Vec<u8>>,
    pub content: Content,
}

/// Ticks of a time stamp counter as nanoseconds: `ticks * mult >> shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TscToNs {
    pub mult: u32,
    pub shift: u32,
}

/// The header of a file.
#[derive(Debug, Default)]
pub(super) struct Header<'a> {
    pub layout: PageLayout,
    /// The formats of events with their systems.
    pub formats: Vec<(&'a [u8], Format<'a>)>,
    /// `/proc/kallsyms`.
    pub symbols: &'a [u8],
    /// `saved_cmdlines`: a process and its name in each line.
    pub names: &'a [u8],
    pub buffers: Vec<Buffer>,
    /// The clock's name.
    pub clock: Option<Vec<u8>>,
    /// What must be added to stamps to get the time of day, in microseconds.
    pub date_us: Option<i64>,
    /// What must be added to stamps, in nanoseconds.
    pub offset_ns: i64,
    pub tsc: Option<TscToNs>,
    /// Stamps of this guest were to be corrected by its host's clock.
    pub shifted: bool,
    pub uname: Option<Vec<u8>>,
    /// The version of trace-cmd.
    pub version: Option<Vec<u8>>,
    /// `per_cpu/cpuN/stats`, one after the other.
    pub stats: Vec<u8>,
    /// Why parts could not be read.
    pub damage: Vec<Damage>,
}

/// What version 7 keeps in sections, unpacked.
#[derive(Debug, Default)]
pub(super) struct Sections<'a> {
    entries: Vec<Entry<'a>>,
    header: Option<Section<'a>>,
    ftrace: Option<Section<'a>>,
    events: Option<Section<'a>>,
    symbols: Option<Section<'a>>,
    names: Option<Section<'a>>,
    damage: Vec<Damage>,
}

impl<'a> Sections<'a> {
    /// Finds and unpacks the sections of a file; none in version 6.
    pub(super) fn of(file: &'a [u8], start: Start) -> Self {
        let mut found = Self::default();
        if start.version < 7 {
            return found;
        }
        let mut unpacker = Unpacker::default();
        let (order, compression) = (start.order, start.compression);
        let (entries, damage) =
            section::options(file, start.next, order, compression, &mut unpacker);
        found.damage.extend(damage);
        for (id, place) in [
            (option::HEADER_INFO, &mut found.header),
            (option::FTRACE_EVENTS, &mut found.ftrace),
            (option::EVENT_FORMATS, &mut found.events),
            (option::KALLSYMS, &mut found.symbols),
            (option::CMDLINES, &mut found.names),
        ] {
            // The last one counts.
            let entry = entries.iter().rev().find(|e| e.id == id);
            let Some(at) = entry.and_then(|e| order.u64(&e.data, 0)) else {
                continue;
            };
            match section::section(file, at, id, order, compression, &mut unpacker) {
                Ok(section) => *place = Some(section),
                Err(damage) => found.damage.push(damage),
            }
        }
        found.entries = entries;
        found
    }
}

impl<'a> Header<'a> {
    /// Reads the header of a file; what cannot be read is left out and said in
    /// [`Self::damage`].
    pub(super) fn of(file: &'a [u8], start: Start, sections: &'a Sections<'a>) -> Self {
        let mut header = Self::default();
        if start.version < 7 {
            if let Err(damage) = header.read_6(file, start) {
                header.damage.push(damage);
            }
        } else {
            header.damage.clone_from(&sections.damage);
            header.read_7(file, start, sections);
        }
        header
    }

    fn read_6(&mut self, file: &'a [u8], start: Start) -> Result<(), Damage> {
        let at = usize::try_from(start.next).unwrap_or(usize::MAX);
        let mut cursor = Cursor::new(file, at, start.order);
        self.page_header(&mut cursor)?;
        self.ftrace_formats(&mut cursor)?;
        self.event_formats(&mut cursor)?;
        let length = cursor.u32("the size of the kernel symbols")?;
        self.symbols = cursor.take(length.into(), "the kernel symbols")?;
        let length = cursor.u32("the size of the printk formats")?;
        cursor.take(length.into(), "the printk formats")?;
        self.process_names(&mut cursor)?;
        let cpus = cursor.u32("the number of CPUs")?;
        let cpus = self.options_6(&mut cursor, file, cpus, start)?;
        let main = Buffer {
            name: String::new(),
            clock: None,
            content: buffer_6(&mut cursor, cpus, start)?,
        };
        self.buffers.insert(0, main);
        // Older files say the clock behind the table of processors.
        if self.clock.as_deref() == Some(b"") {
            let length = cursor.u64("the size of the clock name")?;
            self.set_clock(cursor.take(length, "the clock name")?);
        }
        Ok(())
    }

    /// The options of version 6, if there are any. Gives the number of
    /// processors, which an option may correct.
    fn options_6(
        &mut self,
        cursor: &mut Cursor<'a>,
        file: &'a [u8],
        mut cpus: u32,
        start: Start,
    ) -> Result<u32, Damage> {
        if !cursor.rest().starts_with(b"options") {
            return Ok(cpus);
        }
        let expected = "a trace.dat option";
        cursor.take(10, expected)?;
        let mut instances = Vec::new();
        loop {
            let id = cursor.u16(expected)?;
            if id == 0 {
                break;
            }
            let length = cursor.u32(expected)?;
            let place = cursor.place();
            let data = cursor.take(length.into(), expected)?;
            match id {
                option::BUFFER => instances.push((place, data)),
                option::CPU_COUNT => cpus = start.order.u32(data, 0).unwrap_or(cpus),
                _ => self.option(id, data, start.order),
            }
        }
        for (place, data) in instances {
            let here = Damage {
                at: place,
                expected: "the offset of an instance's buffer",
            };
            let at = start.order.u64(data, 0).ok_or(here)?;
            let mut cursor =
                Cursor::new(file, usize::try_from(at).unwrap_or(usize::MAX), start.order);
            match buffer_6(&mut cursor, cpus, start) {
                Ok(content) => self.buffers.push(Buffer {
                    name: string(data.get(8..).unwrap_or_default()),
                    clock: None,
                    content,
                }),
                Err(damage) => self.damage.push(damage),
            }
        }
        Ok(cpus)
    }

    fn read_7(&mut self, file: &'a [u8], start: Start, sections: &'a Sections<'a>) {
        let order = start.order;
        let mut read =
            |section: &'a Option<Section<'a>>,
             what: &mut dyn FnMut(&mut Self, Cursor<'a>) -> Result<(), Damage>| {
                let cursor = section.as_ref().map(|s| s.cursor(order));
                if let Some(Err(damage)) = cursor.map(|c| what(self, c)) {
                    self.damage.push(damage);
                }
            };
        read(&sections.header, &mut |h, mut c| h.page_header(&mut c));
        read(&sections.ftrace, &mut |h, mut c| h.ftrace_formats(&mut c));
        read(&sections.events, &mut |h, mut c| h.event_formats(&mut c));
        read(&sections.names, &mut |h, mut c| h.process_names(&mut c));
        read(&sections.symbols, &mut |h, mut c| {
            let length = c.u32("the size of the kernel symbols")?;
            h.symbols = c.take(length.into(), "the kernel symbols")?;
            Ok(())
        });
        for entry in &sections.entries {
            match entry.id {
                option::BUFFER | option::BUFFER_TEXT => match buffer_7(file, entry, order) {
                    Ok(buffer) => self.buffers.push(buffer),
                    Err(damage) => self.damage.push(damage),
                },
                id => self.option(id, &entry.data, order),
            }
        }
    }

    fn option(&mut self, id: u16, data: &[u8], order: Order) {
        match id {
            option::DATE => self.date_us = c_long(data),
            option::OFFSET => self.offset_ns = c_long(data).unwrap_or(0),
            option::CPU_STATS => {
                self.stats.extend_from_slice(until_nul(data));
                self.stats.push(b'\n');
            }
            option::TRACE_CLOCK => self.set_clock(until_nul(data)),
            option::UNAME => self.uname = Some(until_nul(data).to_vec()),
            option::VERSION => self.version = Some(until_nul(data).to_vec()),
            option::TIME_SHIFT => self.shifted = true,
            option::TSC_TO_NS => {
                let (mult, shift) = (order.u32(data, 0), order.u32(data, 4));
                let known = mult.zip(shift).filter(|(_, shift)| *shift < 64);
                self.tsc = known.map(|(mult, shift)| TscToNs { mult, shift });
            }
            _ => {}
        }
    }

    /// The file `trace_clock` names all clocks, the chosen one in brackets.
    fn set_clock(&mut self, text: &[u8]) {
        let text = until_nul(text);
        let mut words = text.split(|b| b.is_ascii_whitespace());
        let chosen = words.find_map(|w| w.strip_prefix(b"[")?.strip_suffix(b"]"));
        self.clock = Some(chosen.unwrap_or(text).to_vec());
    }

    fn page_header(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Damage> {
        cursor.expect(b"header_page\0", "header_page")?;
        let length = cursor.u64("the size of header_page")?;
        let here = cursor.damage("the layout of a ring buffer page");
        let text = cursor.take(length, here.expected)?;
        cursor.expect(b"header_event\0", "header_event")?;
        let length = cursor.u64("the size of header_event")?;
        cursor.take(length, "header_event")?;
        self.layout = PageLayout::of(text).ok_or(here)?;
        Ok(())
    }

    fn ftrace_formats(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Damage> {
        let count = cursor.u32("the number of formats")?;
        self.formats_of(b"ftrace", count, cursor)
    }

    fn event_formats(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Damage> {
        let systems = cursor.u32("the number of event systems")?;
        for _ in 0..systems {
            let system = cursor.text("the name of an event system")?;
            let count = cursor.u32("the number of formats")?;
            self.formats_of(system, count, cursor)?;
        }
        Ok(())
    }

    fn formats_of(
        &mut self,
        system: &'a [u8],
        count: u32,
        cursor: &mut Cursor<'a>,
    ) -> Result<(), Damage> {
        for _ in 0..count {
            let length = cursor.u64("the size of an event format")?;
            let here = cursor.damage("an event format");
            let text = cursor.take(length, here.expected)?;
            match Format::of(text) {
                Some(format) => self.formats.push((system, format)),
                None => self.damage.push(here),
            }
        }
        Ok(())
    }

    fn process_names(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Damage> {
        let length = cursor.u64("the size of the process names")?;
        self.names = cursor.take(length, "the process names")?;
        Ok(())
    }
}

/// What follows the options of version 6.
fn buffer_6(cursor: &mut Cursor<'_>, cpus: u32, start: Start) -> Result<Content, Damage> {
    let here = cursor.damage("`flyrecord` or `latency`");
    let kind = cursor.take(10, here.expected)?;
    if kind.starts_with(b"latency") {
        return Ok(Content::Text {
            offset: cursor.place(),
            packed: false,
        });
    }
    if !kind.starts_with(b"flyrecord") {
        return Err(here);
    }
    let here = cursor.damage("a plausible number of CPUs");
    if cpus > MOST_CPUS {
        return Err(here);
    }
    let mut streams = Vec::new();
    for cpu in 0..cpus {
        streams.push(CpuData {
            cpu,
            offset: cursor.u64("the offset of a CPU's events")?,
            length: cursor.u64("the size of a CPU's events")?,
        });
    }
    Ok(Content::Pages {
        streams,
        page_bytes: start.page_bytes,
        packed: false,
    })
}

/// The buffer that an option of version 7 describes.
fn buffer_7(file: &[u8], entry: &Entry<'_>, order: Order) -> Result<Buffer, Damage> {
    let mut cursor = Cursor::inside(&entry.data, entry.place, true, order);
    let expected = "a buffer description";
    let offset = cursor.u64(expected)?;
    let name = string(cursor.text(expected)?);
    let clock = cursor.text(expected)?.to_vec();
    let (packed, content) = section::head(file, offset, entry.id, order)?;
    let content = if entry.id == option::BUFFER_TEXT {
        Content::Text {
            offset: content.place(),
            packed,
        }
    } else {
        let here = cursor.damage("the page size of a buffer");
        let page_bytes = cursor.u32(here.expected)?;
        if !PAGE_BYTES.contains(&page_bytes) {
            return Err(here);
        }
        let here = cursor.damage("a plausible number of CPUs");
        let cpus = cursor.u32(here.expected)?;
        if cpus > MOST_CPUS {
            return Err(here);
        }
        let mut streams = Vec::new();
        for _ in 0..cpus {
            streams.push(CpuData {
                cpu: cursor.u32(expected)?,
                offset: cursor.u64(expected)?,
                length: cursor.u64(expected)?,
            });
        }
        Content::Pages {
            streams,
            page_bytes,
            packed,
        }
    };
    Ok(Buffer {
        name,
        clock: Some(clock),
        content,
    })
}

/// The text that `packed` holds, if it is; all of it in memory.
pub(super) fn text_of(
    file: &[u8],
    offset: u64,
    packed: bool,
    start: Start,
) -> Option<Cow<'_, [u8]>> {
    let mut cursor = Cursor::new(file, usize::try_from(offset).ok()?, start.order);
    if !packed {
        return Some(Cow::Borrowed(cursor.rest()));
    }
    let mut unpacker = Unpacker::default();
    let (mut text, mut piece) = (Vec::new(), Vec::new());
    for _ in 0..cursor.u32("").ok()? {
        let length = cursor.u32("").ok()?;
        let unpacked = usize::try_from(cursor.u32("").ok()?).ok()?;
        let bytes = cursor.take(length.into(), "").ok()?;
        let whole = text.len().checked_add(unpacked)?;
        if whole as u64 > super::compress::LARGEST_SECTION {
            break;
        }
        unpacker.unpack(start.compression, bytes, unpacked, &mut piece)?;
        text.extend_from_slice(&piece);
    }
    Some(Cow::Owned(text))
}

/// The bytes before a NUL.
fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == 0).next().unwrap_or_default()
}

fn string(bytes: &[u8]) -> String {
    crate::text::lossy(until_nul(bytes)).into_owned()
}

/// A number as `strtoll` reads it: decimal, or hexadecimal after `0x`.
fn c_long(bytes: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(until_nul(bytes)).ok()?.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    Some(value.ok()?.saturating_mul(sign))
}
