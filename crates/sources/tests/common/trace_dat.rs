//! Writes files as `trace-cmd` does, of any version, byte order and word size:
//! what no machine at hand records. Uses nothing but `std`.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking, and no test uses all of this"
)]

/// The kind of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number of so many bytes.
    Number(usize, bool),
    /// A number of the size of the kernel's `long`.
    Long(bool),
    /// Text in place, with room for so many bytes.
    Chars(usize),
    /// Text behind the other fields.
    Located,
}

/// A field of an event: type, name, kind.
pub type Field = (&'static str, &'static str, Kind);

/// An event's format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub id: u16,
    pub system: &'static str,
    pub name: &'static str,
    pub fields: &'static [Field],
    pub print: &'static str,
}

const PID: Kind = Kind::Number(4, true);
const DEV: Kind = Kind::Number(4, false);
const SECTOR: Kind = Kind::Number(8, false);
const LONG: Kind = Kind::Long(false);

const STATES: &str = "\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s \
    next_pid=%d next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, \
    (REC->prev_state & 0xff) ? __print_flags(REC->prev_state & 0xff, \"|\", \
    { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, \
    { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { 0x00000080, \"I\" }) \
    : \"R\", REC->next_comm, REC->next_pid, REC->next_prio";

const WAKE: &[Field] = &[
    ("char", "comm[16]", Kind::Chars(16)),
    ("pid_t", "pid", PID),
    ("int", "prio", PID),
    ("int", "target_cpu", PID),
];

const WAKE_PRINT: &str = "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, \
    REC->prio, REC->target_cpu";

pub const SWITCH: u16 = 314;
pub const WAKING: u16 = 317;
pub const WAKEUP: u16 = 316;
pub const FORK: u16 = 308;
pub const EXEC: u16 = 307;
pub const EXIT: u16 = 311;
pub const CACHE_ADD: u16 = 499;
pub const BIO_QUEUE: u16 = 1096;
pub const RQ_ISSUE: u16 = 1100;
pub const RQ_COMPLETE: u16 = 1102;
pub const INITCALL_START: u16 = 21;
pub const INITCALL_FINISH: u16 = 20;
pub const CONSOLE: u16 = 392;
pub const OTHER: u16 = 100;
pub const FUNCTION: u16 = 1;
pub const GRAPH_ENTRY: u16 = 11;
pub const GRAPH_EXIT: u16 = 10;

/// The formats of a file.
pub const FORMATS: &[Format] = &[
    Format {
        id: FUNCTION,
        system: "ftrace",
        name: "function",
        fields: &[
            ("unsigned long", "ip", LONG),
            ("unsigned long", "parent_ip", LONG),
        ],
        print: "\" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip",
    },
    Format {
        id: GRAPH_ENTRY,
        system: "ftrace",
        name: "funcgraph_entry",
        fields: &[
            ("unsigned long", "func", LONG),
            ("int", "depth", Kind::Number(4, true)),
        ],
        print: "\"--> %ps (%d)\", (void *)REC->func, REC->depth",
    },
    Format {
        id: GRAPH_EXIT,
        system: "ftrace",
        name: "funcgraph_exit",
        fields: &[
            ("unsigned long", "func", LONG),
            ("int", "depth", Kind::Number(4, true)),
            ("unsigned int", "overrun", DEV),
            ("unsigned long long", "calltime", SECTOR),
            ("unsigned long long", "rettime", SECTOR),
        ],
        print: "\"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, REC->depth, \
            REC->calltime, REC->rettime, REC->depth",
    },
    Format {
        id: SWITCH,
        system: "sched",
        name: "sched_switch",
        fields: &[
            ("char", "prev_comm[16]", Kind::Chars(16)),
            ("pid_t", "prev_pid", PID),
            ("int", "prev_prio", PID),
            ("long", "prev_state", Kind::Long(true)),
            ("char", "next_comm[16]", Kind::Chars(16)),
            ("pid_t", "next_pid", PID),
            ("int", "next_prio", PID),
        ],
        print: STATES,
    },
    Format {
        id: WAKING,
        system: "sched",
        name: "sched_waking",
        fields: WAKE,
        print: WAKE_PRINT,
    },
    Format {
        id: WAKEUP,
        system: "sched",
        name: "sched_wakeup",
        fields: WAKE,
        print: WAKE_PRINT,
    },
    Format {
        id: FORK,
        system: "sched",
        name: "sched_process_fork",
        fields: &[
            ("char", "parent_comm[16]", Kind::Chars(16)),
            ("pid_t", "parent_pid", PID),
            ("char", "child_comm[16]", Kind::Chars(16)),
            ("pid_t", "child_pid", PID),
        ],
        print: "\"comm=%s pid=%d child_comm=%s child_pid=%d\", REC->parent_comm, REC->parent_pid, \
            REC->child_comm, REC->child_pid",
    },
    Format {
        id: EXEC,
        system: "sched",
        name: "sched_process_exec",
        fields: &[
            ("__data_loc char[]", "filename", Kind::Located),
            ("pid_t", "pid", PID),
            ("pid_t", "old_pid", PID),
        ],
        print: "\"filename=%s pid=%d old_pid=%d\", __get_str(filename), REC->pid, REC->old_pid",
    },
    Format {
        id: EXIT,
        system: "sched",
        name: "sched_process_exit",
        fields: &[
            ("char", "comm[16]", Kind::Chars(16)),
            ("pid_t", "pid", PID),
            ("int", "prio", PID),
        ],
        print: "\"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio",
    },
    Format {
        id: CACHE_ADD,
        system: "filemap",
        name: "mm_filemap_add_to_page_cache",
        fields: &[
            ("unsigned long", "pfn", LONG),
            ("unsigned long", "i_ino", LONG),
            ("unsigned long", "index", LONG),
            ("dev_t", "s_dev", DEV),
            ("unsigned char", "order", Kind::Number(1, false)),
        ],
        print: "\"dev %d:%d ino %lx pfn=0x%lx ofs=%lu order=%u\", ((unsigned int) ((REC->s_dev) >> \
            20)), ((unsigned int) ((REC->s_dev) & ((1U << 20) - 1))), REC->i_ino, REC->pfn, \
            REC->index << 12, REC->order",
    },
    Format {
        id: BIO_QUEUE,
        system: "block",
        name: "block_bio_queue",
        fields: &[
            ("dev_t", "dev", DEV),
            ("sector_t", "sector", SECTOR),
            ("unsigned int", "nr_sector", DEV),
            ("char", "rwbs[8]", Kind::Chars(8)),
            ("char", "comm[16]", Kind::Chars(16)),
        ],
        print: "\"%d,%d %s %llu + %u [%s]\", ((unsigned int) ((REC->dev) >> 20)), ((unsigned int) \
            ((REC->dev) & ((1U << 20) - 1))), REC->rwbs, (unsigned long long)REC->sector, \
            REC->nr_sector, REC->comm",
    },
    Format {
        id: RQ_ISSUE,
        system: "block",
        name: "block_rq_issue",
        fields: &[
            ("dev_t", "dev", DEV),
            ("sector_t", "sector", SECTOR),
            ("unsigned int", "nr_sector", DEV),
            ("unsigned int", "bytes", DEV),
            ("char", "rwbs[8]", Kind::Chars(8)),
            ("char", "comm[16]", Kind::Chars(16)),
        ],
        print: "\"%d,%d %s %u () %llu + %u [%s]\", ((unsigned int) ((REC->dev) >> 20)), ((unsigned \
            int) ((REC->dev) & ((1U << 20) - 1))), REC->rwbs, REC->bytes, (unsigned long \
            long)REC->sector, REC->nr_sector, REC->comm",
    },
    Format {
        id: RQ_COMPLETE,
        system: "block",
        name: "block_rq_complete",
        fields: &[
            ("dev_t", "dev", DEV),
            ("sector_t", "sector", SECTOR),
            ("unsigned int", "nr_sector", DEV),
            ("int", "error", PID),
            ("char", "rwbs[8]", Kind::Chars(8)),
        ],
        print: "\"%d,%d %s () %llu + %u [%d]\", ((unsigned int) ((REC->dev) >> 20)), ((unsigned \
            int) ((REC->dev) & ((1U << 20) - 1))), REC->rwbs, (unsigned long long)REC->sector, \
            REC->nr_sector, REC->error",
    },
    Format {
        id: INITCALL_START,
        system: "initcall",
        name: "initcall_start",
        fields: &[("initcall_t", "func", LONG)],
        print: "\"func=%pS\", REC->func",
    },
    Format {
        id: INITCALL_FINISH,
        system: "initcall",
        name: "initcall_finish",
        fields: &[
            ("initcall_t", "func", LONG),
            ("int", "ret", Kind::Number(4, true)),
        ],
        print: "\"func=%pS ret=%d\", REC->func, REC->ret",
    },
    Format {
        id: CONSOLE,
        system: "printk",
        name: "console",
        fields: &[("__data_loc char[]", "msg", Kind::Located)],
        print: "\"%s\", __get_str(msg)",
    },
    Format {
        id: OTHER,
        system: "timer",
        name: "timer_start",
        fields: &[("unsigned long", "expires", LONG)],
        print: "\"expires=%lu\", REC->expires",
    },
];

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Number(i64),
    Text(String),
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub cpu: usize,
    pub at: u64,
    pub pid: i32,
    pub id: u16,
    pub values: Vec<Value>,
}

/// How a file is written.
#[derive(Clone, Debug)]
pub struct Writer {
    pub version: u8,
    pub big: bool,
    /// The kernel's `long`, in bytes.
    pub long: usize,
    /// The machine's pages, in bytes.
    pub page: usize,
    /// The ring buffer's pages, in bytes.
    pub sub_buffer: usize,
    /// `none`, `zlib` or `zstd`: of version 7 with what packs.
    pub compression: &'static str,
    pub pack: fn(&[u8]) -> Vec<u8>,
    pub clock: &'static str,
    pub symbols: String,
    pub names: String,
    /// Further options: number and data.
    pub options: Vec<(u16, Vec<u8>)>,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            version: 6,
            big: false,
            long: 8,
            page: 4096,
            sub_buffer: 4096,
            compression: "none",
            pack: <[u8]>::to_vec,
            clock: "local",
            symbols: String::new(),
            names: String::new(),
            options: Vec::new(),
        }
    }
}

impl Writer {
    fn number(&self, out: &mut Vec<u8>, value: u64, size: usize) {
        let bytes = value.to_le_bytes();
        if self.big {
            out.extend(bytes[..size].iter().rev());
        } else {
            out.extend(&bytes[..size]);
        }
    }

    fn size(&self, kind: Kind) -> usize {
        match kind {
            Kind::Number(size, _) => size,
            Kind::Long(_) => self.long,
            Kind::Chars(size) => size,
            Kind::Located => 4,
        }
    }

    /// Each field of a format with its offset; and where they end.
    fn places(&self, format: &Format) -> (Vec<(Field, usize)>, usize) {
        let mut at: usize = 8;
        let mut places = Vec::new();
        for &field in format.fields {
            let size = self.size(field.2);
            let align = match field.2 {
                Kind::Chars(_) => 1,
                _ => size,
            };
            at = at.next_multiple_of(align);
            places.push((field, at));
            at += size;
        }
        (places, at)
    }

    /// The text of a format file.
    pub fn format(&self, format: &Format) -> String {
        let mut text = format!("name: {}\nID: {}\nformat:\n", format.name, format.id);
        for (kind, name, offset, size, signed) in [
            ("unsigned short", "common_type", 0, 2, 0),
            ("unsigned char", "common_flags", 2, 1, 0),
            ("unsigned char", "common_preempt_count", 3, 1, 0),
            ("int", "common_pid", 4, 4, 1),
        ] {
            text += &format!(
                "\tfield:{kind} {name};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n"
            );
        }
        text.push('\n');
        for ((kind, name, shape), offset) in self.places(format).0 {
            let signed = matches!(shape, Kind::Number(_, true) | Kind::Long(true));
            text += &format!(
                "\tfield:{kind} {name};\toffset:{offset};\tsize:{};\tsigned:{};\n",
                self.size(shape),
                u8::from(signed)
            );
        }
        text + &format!("\nprint fmt: {}\n", format.print)
    }

    /// The bytes of an event in the ring buffer, without its head.
    fn event(&self, event: &Event) -> Vec<u8> {
        let format = FORMATS.iter().find(|f| f.id == event.id).unwrap();
        let mut out = Vec::new();
        self.number(&mut out, event.id.into(), 2);
        out.extend([0, 0]);
        self.number(&mut out, event.pid as u32 as u64, 4);
        let (places, end) = self.places(format);
        let mut tail = Vec::new();
        for ((field, offset), value) in places.into_iter().zip(&event.values) {
            out.resize(offset, 0);
            match (field.2, value) {
                (Kind::Chars(size), Value::Text(text)) => {
                    let text = &text.as_bytes()[..text.len().min(size - 1)];
                    out.extend(text);
                    out.resize(offset + size, 0);
                }
                (Kind::Located, Value::Text(text)) => {
                    let place = (end + tail.len()) as u64 | ((text.len() + 1) as u64) << 16;
                    self.number(&mut out, place, 4);
                    tail.extend(text.as_bytes());
                    tail.push(0);
                }
                (kind, Value::Number(number)) => {
                    self.number(&mut out, *number as u64, self.size(kind));
                }
                (_, Value::Text(_)) => panic!("{}: {} is no text", format.name, field.1),
            }
        }
        out.resize(end, 0);
        out.extend(tail);
        out
    }

    /// The pages of one processor's events, which come in the order of time.
    fn pages<'e>(&self, events: impl Iterator<Item = &'e Event>) -> Vec<u8> {
        let mut pages = Pages::default();
        let mut out = Vec::new();
        for event in events {
            out.extend(pages.push(self, event).unwrap_or_default());
        }
        out.extend(pages.finish(self).unwrap_or_default());
        out
    }

    fn header_page(&self) -> String {
        let (long, data) = (self.long, 8 + self.long);
        format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
             \tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
             \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
             \tfield: char data;\toffset:{data};\tsize:{};\tsigned:0;\n",
            self.sub_buffer - data
        )
    }

    fn header_info(&self) -> Vec<u8> {
        let event = "# compressed entry header\n\ttype_len    :    5 bits\n\
            \ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\
            \tpadding     : type == 29\n\ttime_extend : type == 30\n\
            \ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
        let mut out = Vec::new();
        for (name, text) in [
            ("header_page", &*self.header_page()),
            ("header_event", event),
        ] {
            out.extend(name.as_bytes());
            out.push(0);
            self.sized(&mut out, text.as_bytes(), 8);
        }
        out
    }

    /// A length of so many bytes, and the text.
    fn sized(&self, out: &mut Vec<u8>, text: &[u8], size: usize) {
        self.number(out, text.len() as u64, size);
        out.extend(text);
    }

    fn ftrace_formats(&self) -> Vec<u8> {
        let formats: Vec<&Format> = FORMATS.iter().filter(|f| f.system == "ftrace").collect();
        let mut out = Vec::new();
        self.number(&mut out, formats.len() as u64, 4);
        for format in formats {
            self.sized(&mut out, self.format(format).as_bytes(), 8);
        }
        out
    }

    fn event_formats(&self) -> Vec<u8> {
        let mut systems: Vec<&str> = FORMATS.iter().map(|f| f.system).collect();
        systems.retain(|s| *s != "ftrace");
        systems.sort_unstable();
        systems.dedup();
        let mut out = Vec::new();
        self.number(&mut out, systems.len() as u64, 4);
        for system in systems {
            out.extend(system.as_bytes());
            out.push(0);
            let formats: Vec<&Format> = FORMATS.iter().filter(|f| f.system == system).collect();
            self.number(&mut out, formats.len() as u64, 4);
            for format in formats {
                self.sized(&mut out, self.format(format).as_bytes(), 8);
            }
        }
        out
    }

    fn start(&self) -> Vec<u8> {
        let mut out = b"\x17\x08\x44tracing".to_vec();
        out.extend(format!("{}\0", self.version).as_bytes());
        out.push(u8::from(self.big));
        out.push(8);
        self.number(&mut out, self.page as u64, 4);
        out
    }

    /// All that stands before the events of a file of version 6, whose streams
    /// have these lengths and follow one after the other.
    pub fn head_6(&self, lengths: &[usize]) -> Vec<u8> {
        let mut out = self.start();
        out.extend(self.header_info());
        out.extend(self.ftrace_formats());
        out.extend(self.event_formats());
        self.sized(&mut out, self.symbols.as_bytes(), 4);
        self.sized(&mut out, b"", 4);
        self.sized(&mut out, self.names.as_bytes(), 8);
        self.number(&mut out, lengths.len() as u64, 4);
        out.extend(b"options  \0");
        let clock = format!("[{}] other\0", self.clock);
        for (id, data) in [(4, clock.into_bytes())].iter().chain(&self.options) {
            self.number(&mut out, u64::from(*id), 2);
            self.sized(&mut out, data, 4);
        }
        self.number(&mut out, 0, 2);
        out.extend(b"flyrecord\0");
        let clock = format!("[{}] other", self.clock);
        let tables = out.len() + 16 * lengths.len() + 8 + clock.len();
        let mut at = tables.next_multiple_of(self.page);
        for &length in lengths {
            self.number(&mut out, at as u64, 8);
            self.number(&mut out, length as u64, 8);
            at += length;
        }
        self.sized(&mut out, clock.as_bytes(), 8);
        out.resize(tables.next_multiple_of(self.page), 0);
        out
    }

    /// The file with these events of `cpus` processors.
    pub fn write(&self, cpus: usize, events: &[Event]) -> Vec<u8> {
        let streams: Vec<Vec<u8>> = (0..cpus)
            .map(|cpu| self.pages(events.iter().filter(|e| e.cpu == cpu)))
            .collect();
        match self.version {
            6 => self.write_6(&streams),
            _ => self.write_7(&streams),
        }
    }

    fn write_6(&self, streams: &[Vec<u8>]) -> Vec<u8> {
        let lengths: Vec<usize> = streams.iter().map(Vec::len).collect();
        let mut out = self.head_6(&lengths);
        out.extend(streams.concat());
        out
    }

    /// A section; gives where it begins.
    fn section(&self, out: &mut Vec<u8>, id: u16, content: &[u8]) -> u64 {
        let at = out.len() as u64;
        let packs = self.compression != "none";
        self.number(out, id.into(), 2);
        self.number(out, u64::from(packs), 2);
        self.number(out, 0, 4);
        let mut inside = Vec::new();
        if packs {
            let packed = (self.pack)(content);
            self.number(&mut inside, packed.len() as u64, 4);
            self.number(&mut inside, content.len() as u64, 4);
            inside.extend(packed);
        } else {
            inside.extend(content);
        }
        self.number(out, inside.len() as u64, 8);
        out.extend(inside);
        at
    }

    fn write_7(&self, streams: &[Vec<u8>]) -> Vec<u8> {
        let mut out = self.start();
        out.extend(format!("{}\01.0\0", self.compression).as_bytes());
        let first_options = out.len();
        out.extend([0; 8]);
        let mut symbols = Vec::new();
        self.sized(&mut symbols, self.symbols.as_bytes(), 4);
        let mut printk = Vec::new();
        self.sized(&mut printk, b"", 4);
        let mut names = Vec::new();
        self.sized(&mut names, self.names.as_bytes(), 8);
        let mut options: Vec<(u16, Vec<u8>)> = Vec::new();
        for (id, content) in [
            (16, self.header_info()),
            (17, self.ftrace_formats()),
            (18, self.event_formats()),
            (19, symbols),
            (20, printk),
            (21, names),
        ] {
            let at = self.section(&mut out, id, &content);
            let mut data = Vec::new();
            self.number(&mut data, at, 8);
            options.push((id, data));
        }
        options.push((4, format!("[{}] other\0", self.clock).into_bytes()));
        options.extend(self.options.iter().cloned());
        // The events: a section whose content is found by the buffer's option.
        let section = out.len() as u64;
        let packs = self.compression != "none";
        self.number(&mut out, 3, 2);
        self.number(&mut out, u64::from(packs), 2);
        self.number(&mut out, 0, 4);
        self.number(&mut out, 0, 8);
        let mut buffer = Vec::new();
        self.number(&mut buffer, section, 8);
        buffer.push(0);
        buffer.extend(self.clock.as_bytes());
        buffer.push(0);
        self.number(&mut buffer, self.page as u64, 4);
        self.number(&mut buffer, streams.len() as u64, 4);
        for (cpu, stream) in streams.iter().enumerate() {
            out.resize(out.len().next_multiple_of(self.page), 0);
            let at = out.len();
            if packs && !stream.is_empty() {
                let chunks: Vec<&[u8]> = stream.chunks(10 * self.sub_buffer).collect();
                self.number(&mut out, chunks.len() as u64, 4);
                for chunk in chunks {
                    let packed = (self.pack)(chunk);
                    self.number(&mut out, packed.len() as u64, 4);
                    self.number(&mut out, chunk.len() as u64, 4);
                    out.extend(packed);
                }
            } else {
                out.extend(stream);
            }
            let length = out.len() - at;
            self.number(&mut buffer, cpu as u64, 4);
            self.number(&mut buffer, at as u64, 8);
            self.number(&mut buffer, length as u64, 8);
        }
        options.push((3, buffer));
        let mut list = Vec::new();
        for (id, data) in &options {
            self.number(&mut list, u64::from(*id), 2);
            self.sized(&mut list, data, 4);
        }
        self.number(&mut list, 0, 2);
        self.number(&mut list, 8, 4);
        self.number(&mut list, 0, 8);
        let at = self.section(&mut out, 0, &list);
        let mut place = Vec::new();
        self.number(&mut place, at, 8);
        out[first_options..first_options + 8].copy_from_slice(&place);
        out
    }
}

/// The events of one processor, put into pages.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    page: Vec<u8>,
    start: Option<u64>,
    last: u64,
}

impl Pages {
    /// Adds an event, which must not be older than the one before. Gives the
    /// page before, if that is full.
    pub fn push(&mut self, writer: &Writer, event: &Event) -> Option<Vec<u8>> {
        let mut data = writer.event(event);
        data.resize(data.len().next_multiple_of(4), 0);
        // A head, a length, and perhaps an extended time.
        let head = 8 + writer.long;
        let full = head + self.page.len() + data.len() + 16 > writer.sub_buffer;
        let before = if full { self.finish(writer) } else { None };
        if self.start.is_none() {
            self.start = Some(event.at);
            self.last = event.at;
        }
        let delta = event.at - self.last;
        self.last = event.at;
        let word = |page: &mut Vec<u8>, kind: u64, delta: u64| {
            let word = match writer.big {
                true => kind << 27 | delta,
                false => kind | delta << 5,
            };
            writer.number(page, word, 4);
        };
        let mut small = delta;
        if delta >= 1 << 27 {
            word(&mut self.page, 30, delta & ((1 << 27) - 1));
            writer.number(&mut self.page, delta >> 27, 4);
            small = 0;
        }
        match data.len() / 4 {
            words @ 1..=28 => word(&mut self.page, words as u64, small),
            _ => {
                word(&mut self.page, 0, small);
                writer.number(&mut self.page, data.len() as u64 + 4, 4);
            }
        }
        self.page.extend(data);
        before
    }

    /// The page that is not full yet, if there is one.
    pub fn finish(&mut self, writer: &Writer) -> Option<Vec<u8>> {
        let start = self.start.take()?;
        let mut whole = Vec::new();
        writer.number(&mut whole, start, 8);
        writer.number(&mut whole, self.page.len() as u64, writer.long);
        whole.append(&mut self.page);
        whole.resize(writer.sub_buffer, 0);
        Some(whole)
    }
}
