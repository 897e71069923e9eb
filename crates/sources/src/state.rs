//! What the running kernel says of itself: `/proc/mounts`, `/proc/modules`,
//! `/proc/interrupts`, `/proc/meminfo`. All of it becomes facts.
//!
//! | file | facts |
//! |---|---|
//! | mounts | `mount./boot` = `ext4 /dev/sda1 rw,relatime`; `root.device`, `root.filesystem`, `root.options` |
//! | modules | `module.ext4` = its size in bytes; where it is in use `module.ext4.users` = how often, or `-` where the kernel does not count; `module.ext4.used_by` = the modules that use it, `a,b`; `modules.count`, `modules.bytes` |
//! | interrupts | `interrupt.24 ACPI:Ged` = how often, on all processors; `interrupts.total` |
//! | meminfo | `meminfo.MemTotal` = bytes, or a count where the kernel says no unit |
//!
//! Units of the ledger are lines.

use crate::source::{Input, Sniff, Source};
use crate::text;
use record::{NoteKind, Origin, Recorder, Severity};

/// `/proc/mounts`, `/proc/self/mounts`, `/etc/mtab`.
#[derive(Debug)]
pub struct Mounts;

/// `/proc/modules`.
#[derive(Debug)]
pub struct Modules;

/// `/proc/interrupts`.
#[derive(Debug)]
pub struct Interrupts;

/// `/proc/meminfo`.
#[derive(Debug)]
pub struct Meminfo;

const BAD_LINE: NoteKind = NoteKind {
    name: "state_line_not_understood",
    severity: Severity::DataLoss,
    advice: "These lines are not in the format of this kernel file. Copy the file again.",
};

const TITLE: NoteKind = NoteKind {
    name: "state_title",
    severity: Severity::Info,
    advice: "Column headers and blank lines were skipped.",
};

/// How many lines are looked at to know a format.
const SNIFF_LINES: usize = 40;

/// Yes if every line fits, and one is sure to be of this file.
fn sniff_lines(head: &[u8], is_sure: fn(&[u8]) -> bool, fits: fn(&[u8]) -> bool) -> Sniff {
    let whole = head.len() < crate::source::SNIFF_BYTES;
    let lines: Vec<&[u8]> = text::lines(head)
        .map(|l| l.bytes)
        .filter(|l| !l.trim_ascii().is_empty())
        .take(SNIFF_LINES)
        .collect();
    // The last line that is shown may be cut.
    let last = lines
        .len()
        .saturating_sub(usize::from(!whole && lines.len() < SNIFF_LINES));
    let lines = lines.get(..last).unwrap_or_default();
    match lines.iter().all(|l| fits(l)) {
        true if lines.iter().any(|l| is_sure(l)) => Sniff::Yes,
        _ => Sniff::No,
    }
}

/// Reads a file line by line: what `take` refuses is noted.
fn read_lines(
    source: &dyn Source,
    input: Input<'_>,
    recorder: &mut Recorder,
    mut take: impl FnMut(&[u8], Origin, &mut Recorder) -> Option<()>,
) -> Origin {
    let source = recorder.source(input.name, source.name());
    for line in text::lines(input.bytes) {
        let origin = line.origin(source);
        if line.bytes.trim_ascii().is_empty() {
            recorder.skipped(origin, &TITLE);
        } else if take(line.bytes, origin, recorder).is_some() {
            recorder.took(source);
        } else {
            recorder.skipped(origin, &BAD_LINE);
        }
    }
    Origin { source, offset: 0 }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty())
}

/// A line of mounts: device, place, type, options, and two numbers.
fn mount(line: &[u8]) -> Option<[&[u8]; 4]> {
    let mut words = words(line);
    let mount = [words.next()?, words.next()?, words.next()?, words.next()?];
    for _ in 0..2 {
        text::number(words.next()?).filter(|n| n.1.is_empty())?;
    }
    let is_place = mount[1].starts_with(b"/") || mount[1] == b"none" || mount[1] == b"swap";
    (words.next().is_none() && is_place).then_some(mount)
}

/// A path as the kernel writes it: blanks are `\040`.
fn unescaped(path: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail
            .get(..3)
            .filter(|d| d.iter().all(|b| (b'0'..=b'7').contains(b)));
        match octal {
            Some(digits) if first == b'\\' => {
                let value = digits
                    .iter()
                    .fold(0_u16, |v, d| v * 8 + u16::from(d - b'0'));
                bytes.push(value.to_le_bytes()[0]);
                rest = tail.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    text::lossy(&bytes).into_owned()
}

impl Source for Mounts {
    fn name(&self) -> &'static str {
        "proc-mounts"
    }

    fn description(&self) -> &'static str {
        "mounted file systems: `cat /proc/mounts`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let is_sure = |l: &[u8]| mount(l).is_some_and(|m| m[3].starts_with(b"r"));
        sniff_lines(head, is_sure, |l| mount(l).is_some())
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let mut root: Option<([String; 3], Origin)> = None;
        read_lines(self, input, recorder, |line, origin, recorder| {
            let [device, place, filesystem, options] = mount(line)?.map(unescaped);
            let value = format!("{filesystem} {device} {options}");
            recorder.fact(&format!("mount.{place}"), &value, origin);
            // What was mounted last over it is what is seen there.
            if place == "/" {
                root = Some(([device, filesystem, options], origin));
            }
            Some(())
        });
        if let Some((values, origin)) = root {
            let keys = ["root.device", "root.filesystem", "root.options"];
            for (key, value) in keys.into_iter().zip(values) {
                recorder.fact(key, &value, origin);
            }
        }
    }
}

/// A loaded module.
struct Loaded<'l> {
    name: &'l [u8],
    size: u64,
    /// How many use it; `-` where modules cannot be unloaded.
    users: &'l [u8],
    /// The modules among those, each with a comma behind it; `-` if there is none.
    used_by: &'l [u8],
}

/// A line of modules: name, size, users, who uses it, state, address.
fn module(line: &[u8]) -> Option<Loaded<'_>> {
    let mut words = words(line);
    let name = words.next()?;
    let (size, rest) = text::number(words.next()?)?;
    let users = words.next()?;
    let is_count = users == b"-" || text::number(users).is_some_and(|n| n.1.is_empty());
    let used_by = words.next()?;
    let state = words.next()?;
    let is_state = matches!(state, b"Live" | b"Loading" | b"Unloading");
    (rest.is_empty() && is_count && is_state).then_some(Loaded {
        name,
        size,
        users,
        used_by,
    })
}

impl Source for Modules {
    fn name(&self) -> &'static str {
        "proc-modules"
    }

    fn description(&self) -> &'static str {
        "loaded kernel modules: `cat /proc/modules`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let fits = |l: &[u8]| module(l).is_some();
        sniff_lines(head, fits, fits)
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let (mut count, mut bytes) = (0_u64, 0_u64);
        let origin = read_lines(self, input, recorder, |line, origin, recorder| {
            let module = module(line)?;
            let key = format!("module.{}", text::lossy(module.name));
            recorder.fact(&key, &module.size.to_string(), origin);
            if module.users != b"0" {
                let users = text::lossy(module.users);
                recorder.fact(&format!("{key}.users"), &users, origin);
            }
            let used_by = module.used_by.strip_suffix(b",").unwrap_or(module.used_by);
            if used_by != b"-" {
                recorder.fact(&format!("{key}.used_by"), &text::lossy(used_by), origin);
            }
            count += 1;
            bytes = bytes.saturating_add(module.size);
            Some(())
        });
        for (key, value) in [("modules.count", count), ("modules.bytes", bytes)] {
            recorder.fact(key, &value.to_string(), origin);
        }
    }
}

/// Whether this is the head of interrupts: `CPU0 CPU1`.
fn processors(line: &[u8]) -> Option<usize> {
    let is_processor = |w: &[u8]| {
        let number = w.strip_prefix(b"CPU").and_then(text::number);
        number.is_some_and(|n| n.1.is_empty())
    };
    let mut count = 0_usize;
    for word in words(line) {
        if !is_processor(word) {
            return None;
        }
        count += 1;
    }
    (count > 0).then_some(count)
}

/// A line of interrupts: which, how often on all processors, and what it is.
fn interrupt(line: &[u8], processors: usize) -> Option<(String, u64)> {
    let mut words = words(line);
    let which = words.next()?.strip_suffix(b":")?;
    let mut total = 0_u64;
    let mut counted = 0_usize;
    let mut last: Option<&[u8]> = None;
    for word in words {
        match text::number(word) {
            // `ERR` and `MIS` have one number for all processors.
            Some((count, [])) if counted < processors && last.is_none() => {
                total = total.saturating_add(count);
                counted += 1;
            }
            _ => last = Some(word),
        }
    }
    let which = text::lossy(which);
    let name = match last {
        Some(device) => format!("{which} {}", text::lossy(device)),
        None => which.into_owned(),
    };
    (counted > 0).then_some((name, total))
}

impl Source for Interrupts {
    fn name(&self) -> &'static str {
        "proc-interrupts"
    }

    fn description(&self) -> &'static str {
        "interrupt counts per CPU: `cat /proc/interrupts`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let mut lines = text::lines(head).map(|l| l.bytes);
        let first = lines.next().and_then(processors);
        let second = lines.next();
        match (first, second) {
            (Some(n), Some(line)) if interrupt(line, n).is_some() => Sniff::Yes,
            _ => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let (mut known, mut total) = (0_usize, 0_u64);
        let origin = read_lines(self, input, recorder, |line, origin, recorder| {
            if let Some(count) = processors(line) {
                known = count;
                return Some(());
            }
            let (name, count) = interrupt(line, known)?;
            if count > 0 {
                let key = format!("interrupt.{name}");
                recorder.fact(&key, &count.to_string(), origin);
            }
            total = total.saturating_add(count);
            Some(())
        });
        recorder.fact("interrupts.total", &total.to_string(), origin);
    }
}

/// A line of meminfo: `MemTotal:  16384 kB`.
fn amount(line: &[u8]) -> Option<(&[u8], u64)> {
    let at = memchr::memchr(b':', line)?;
    let (key, rest) = line.split_at(at);
    let mut words = words(rest.get(1..)?);
    let (value, tail) = text::number(words.next()?)?;
    let value = match words.next() {
        None => value,
        Some(b"kB") => value.checked_mul(1_024)?,
        Some(_) => return None,
    };
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'(' | b')');
    let fits = !key.is_empty() && key.iter().all(plain) && tail.is_empty();
    (fits && words.next().is_none()).then_some((key, value))
}

impl Source for Meminfo {
    fn name(&self) -> &'static str {
        "proc-meminfo"
    }

    fn description(&self) -> &'static str {
        "memory use: `cat /proc/meminfo`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        sniff_lines(
            head,
            |l| l.starts_with(b"MemTotal:"),
            |l| amount(l).is_some(),
        )
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        read_lines(self, input, recorder, |line, origin, recorder| {
            let (key, value) = amount(line)?;
            let key = format!("meminfo.{}", text::lossy(key));
            recorder.fact(&key, &value.to_string(), origin);
            Some(())
        });
    }
}
