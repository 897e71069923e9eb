//! The kernel's trace rings (ftrace): switched on as asked, and taken as they
//! are.
//!
//! Everything goes through the files of tracefs, which the kernel's
//! `Documentation/trace/ftrace.rst` describes.

mod dat;

pub use dat::{Taken, write_dat};

use crate::capture::{OPEN, OPENED};
use crate::config::Recording;
use crate::sys::read_kernel_file;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where tracefs lies on most systems, and where on old ones.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Probes where `do_filp_open` begins and ends, which opens a file for every system call that
/// does, and for programs that start. Its second argument is a `struct filename`, whose first
/// member is the name (`fs/internal.h`, `include/linux/fs.h`); it returns a file or an error.
const PROBES: [&str; 2] = [
    "p:firstlight_open do_filp_open filename=+0(+0($arg2)):string",
    "r:firstlight_opened do_filp_open ret=$retval:s64",
];

/// The files of tracefs, or of one of its instances.
#[derive(Debug)]
pub struct Tracefs {
    /// The whole, which alone holds the names of tasks and of printk formats.
    top: PathBuf,
    /// Where the rings are: the same, or an instance.
    rings: PathBuf,
    /// Whether it was mounted here, and is to be unmounted.
    mounted: bool,
}

impl Tracefs {
    /// Finds it, or mounts it until this goes away.
    ///
    /// # Errors
    /// If the kernel has none, or the caller may not use it.
    pub fn find() -> io::Result<Self> {
        let at = |place: &str, mounted| Self {
            top: place.into(),
            rings: place.into(),
            mounted,
        };
        for place in PLACES {
            // An empty folder waits there for the mount. Only root may look in.
            if Path::new(place).join("trace_clock").try_exists()? {
                return Ok(at(place, false));
            }
        }
        let [place, _] = PLACES;
        mount("tracefs", place, "tracefs", MountFlags::empty(), c"")?;
        Ok(at(place, true))
    }

    /// The folder of tracefs.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.top
    }

    /// The rings of the instance `name`, which must be there.
    #[must_use]
    pub fn instance(mut self, name: &str) -> Self {
        self.rings = self.top.join("instances").join(name);
        self
    }

    /// Switches on what is asked for. What cannot be switched on is returned, a
    /// sentence each; the rest is recorded all the same.
    #[must_use]
    pub fn start(&self, recording: &Recording) -> Vec<String> {
        let mut said = Vec::new();
        let mut write_at = |folder: &Path, file: &str, value: &str| {
            let path = folder.join(file);
            if let Err(e) = append(&path, value) {
                said.push(format!("{}: cannot write `{value}`: {e}", path.display()));
            }
        };
        // Probes are the same for all instances.
        for probe in PROBES.iter().filter(|_| recording.opens) {
            write_at(&self.top, "kprobe_events", probe);
        }
        let mut write = |file: &str, value: &str| write_at(&self.rings, file, value);
        // The clock first: another one empties the rings.
        if let Some(clock) = &recording.clock {
            write("trace_clock", clock);
        }
        if let Some(kb) = recording.buffer_kb {
            write("buffer_size_kb", &kb.to_string());
        }
        for event in recording.events.iter().flat_map(|e| self.named_by(e)) {
            write("set_event", &event);
        }
        for event in [OPEN, OPENED].iter().filter(|_| recording.opens) {
            write("set_event", &format!("kprobes:{event}"));
        }
        if recording.opens || !recording.events.is_empty() {
            write("tracing_on", "1");
        }
        said
    }

    /// The events that a pattern names: `sched:sched_process_*`. The kernel itself
    /// knows a star only for all events of a subsystem.
    fn named_by(&self, pattern: &str) -> Vec<String> {
        let own = pattern
            .split_once(':')
            .is_some_and(|(_, event)| event != "*" && event.contains('*'));
        let all = match own {
            true => read_kernel_file(self.top.join("available_events")).unwrap_or_default(),
            false => Vec::new(),
        };
        let all = String::from_utf8_lossy(&all);
        let named: Vec<String> = all
            .lines()
            .filter(|event| fits(event, pattern))
            .map(str::to_owned)
            .collect();
        match named.is_empty() {
            // The kernel says what is wrong with it.
            true => vec![pattern.to_owned()],
            false => named,
        }
    }

    /// Whether the rings take new events.
    ///
    /// # Errors
    /// If that cannot be read.
    pub fn is_on(&self) -> io::Result<bool> {
        Ok(self.read("tracing_on")?.trim_ascii() != b"0")
    }

    /// Lets the rings take new events, or keeps them as they are.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn switch(&self, on: bool) -> io::Result<()> {
        self.write("tracing_on", if on { "1" } else { "0" })
    }

    /// Whether any ring holds an event.
    ///
    /// # Errors
    /// If the rings' figures cannot be read.
    pub fn holds_events(&self) -> io::Result<bool> {
        for cpu in self.cpus()? {
            let stats = self.read(&format!("per_cpu/cpu{cpu}/stats"))?;
            if figure(&stats, "entries") > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The numbers of the processors that have a ring.
    fn cpus(&self) -> io::Result<Vec<u32>> {
        let names = names(&self.rings.join("per_cpu"))?;
        let number = |n: &String| n.strip_prefix("cpu")?.parse().ok();
        let mut cpus: Vec<u32> = names.iter().filter_map(number).collect();
        cpus.sort_unstable();
        Ok(cpus)
    }

    fn read(&self, file: &str) -> io::Result<Vec<u8>> {
        read_kernel_file(self.rings.join(file))
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        append(&self.rings.join(file), value)
    }
}

/// Writes into a file of tracefs: those that hold a list, such as `set_event`, add to it then,
/// and are emptied otherwise.
fn append(path: &Path, value: &str) -> io::Result<()> {
    let mut file = File::options().append(true).open(path)?;
    file.write_all(value.as_bytes())
}

impl Drop for Tracefs {
    fn drop(&mut self) {
        if self.mounted {
            // In use by somebody else now, it stays.
            let _ = unmount(&*self.top, UnmountFlags::empty());
        }
    }
}

/// Whether a name fits a pattern in which a star stands for any bytes.
fn fits(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

/// A figure of a ring's `stats`: `entries: 2011`.
fn figure(stats: &[u8], name: &str) -> u64 {
    let text = String::from_utf8_lossy(stats);
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
}

/// The names in a folder, in order.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::{figure, fits};

    #[test]
    fn a_star_stands_for_any_bytes() {
        for (name, pattern, fitting) in [
            ("sched:sched_process_exec", "sched:sched_process_*", true),
            ("sched:sched_process_exec", "sched:*_exec", true),
            ("sched:sched_process_exec", "sched:*process*", true),
            ("sched:sched_process_exec", "sched:*process*c*", true),
            ("sched:sched_switch", "sched:sched_process_*", false),
            ("sched:sched_switch", "sched:*process*", false),
            ("sched:sched_switch", "sched:sched_switch", true),
            ("sched:sched_switch_x", "sched:sched_switch", false),
            ("ab", "a*ab", false),
        ] {
            assert_eq!(fits(name, pattern), fitting, "{name} {pattern}");
        }
    }

    #[test]
    fn figures_are_found_by_their_whole_name() {
        let stats = b"entries: 2011\noverrun: 3\ncommit overrun: 4\ndropped events: x\n";
        let of = |name| figure(stats, name);
        assert_eq!((of("entries"), of("overrun")), (2011, 3));
        assert_eq!((of("commit overrun"), of("dropped events")), (4, 0));
    }
}
