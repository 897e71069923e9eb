//! A capture of the machine that this runs on.
//!
//! Nothing is computed: files are copied, and programs of the system are asked
//! for what they print. What could not be had is said, with a way to get it.

mod firmware;
mod log;
mod more;

use crate::capture::{
    MANIFEST, Manifest, MarkInfo, Member, NoteInfo, SourceFile, VERSION, Writer, note,
};
use crate::clocks::{Stamp, clocks, hz_between, hz_in_log};
use crate::sys::{self, read_kernel_file};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Those of [`FILES`] that are read, and their formats.
const STATE: &[(&str, &str)] = &[
    ("/proc/meminfo", "proc-meminfo"),
    ("/proc/modules", "proc-modules"),
    ("/proc/mounts", "proc-mounts"),
    ("/proc/interrupts", "proc-interrupts"),
];

/// Small files of the kernel that say what the machine is and did.
const FILES: &[&str] = &[
    "/proc/cmdline",
    "/proc/version",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/modules",
    "/proc/mounts",
    "/proc/diskstats",
    "/proc/interrupts",
    "/proc/stat",
    "/proc/uptime",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource",
];

/// A counter of unknown speed is measured over at least this time: then the error
/// of its readings is less than a millionth.
const MEASURED_OVER: Duration = Duration::from_millis(100);

/// The parts of a capture.
#[derive(Debug)]
pub struct Gathered {
    /// What the files are, the clocks, and what could not be had.
    pub manifest: Manifest,
    /// The raw files, without the manifest.
    pub members: Vec<Member>,
    /// Raw files that are not kept in memory. They come behind the others.
    pub large: Vec<Large>,
    /// Ticks per second of the processor's counter, if it has one.
    pub counter_hz: Option<u64>,
}

/// A raw file that is not kept in memory.
#[derive(Debug)]
pub struct Large {
    /// The member's path in the capture.
    pub file: String,
    /// Where its bytes are, from the first on.
    pub content: File,
    /// How many, in bytes.
    pub length: u64,
}

/// Collects what a running system says of its boot at once: what [`Gathered::more`]
/// adds takes longer. `counter_hz`: the ticks per second of the processor's
/// counter, if known; else they are found out.
#[must_use]
pub fn gather(counter_hz: Option<u64>) -> Gathered {
    gather_with(counter_hz, None)
}

/// The same, with systemd's own answers, if they are here already: as
/// [`Gathered::add`] takes a raw file.
#[must_use]
pub fn gather_with(counter_hz: Option<u64>, systemd: Option<(SourceFile, Vec<u8>)>) -> Gathered {
    let begin = Stamp::now();
    let mut gathered = Gathered {
        manifest: Manifest {
            firstlight_capture: VERSION,
            taken_by: concat!("firstlight-agent ", env!("CARGO_PKG_VERSION")).into(),
            machine: firmware::machine(),
            kernel: kernel(),
            cmdline: text_of("/proc/cmdline"),
            clocks: Vec::new(),
            marks: Vec::new(),
            sources: Vec::new(),
            recording: Vec::new(),
            own_devices: Vec::new(),
            notes: Vec::new(),
        },
        members: Vec::new(),
        large: Vec::new(),
        counter_hz: None,
    };
    gathered.kernel_log();
    match systemd {
        Some((source, bytes)) => {
            gathered.members.push((source.file.clone(), bytes));
            gathered.manifest.sources.push(source);
        }
        None => gathered.systemd(),
    }
    for path in FILES {
        // Not every kernel has every file.
        if let Ok(bytes) = read_kernel_file(path) {
            let format = STATE.iter().find(|s| s.0 == *path).map_or("none", |s| s.1);
            gathered.add(path, format, path.trim_start_matches('/'), "", bytes);
        }
    }
    gathered.configuration();
    gathered.counter_hz = counter_hz
        .or_else(sys::counter_hz)
        .or_else(|| gathered.logged_hz())
        .or_else(|| measured_hz(&begin));
    gathered.clocks(&[begin, Stamp::now()]);
    gathered
}

impl Gathered {
    /// The readings of the clocks, in the place of those that there are.
    pub fn clocks(&mut self, stamps: &[Stamp]) {
        self.manifest.clocks = clocks(stamps, self.counter_hz);
    }

    /// A mark at `stamp`.
    #[must_use]
    pub fn mark(&self, name: &str, begins: Option<&str>, stamp: &Stamp) -> MarkInfo {
        stamp.mark(name, begins, self.counter_hz)
    }

    /// Adds a raw file.
    pub fn add(&mut self, name: &str, format: &str, file: &str, clock: &str, bytes: Vec<u8>) {
        self.list(name, format, file, clock);
        self.members.push((file.into(), bytes));
    }

    /// Adds a raw file that is not kept in memory.
    pub fn add_large(&mut self, name: &str, format: &str, clock: &str, large: Large) {
        self.list(name, format, &large.file, clock);
        self.large.push(large);
    }

    fn list(&mut self, name: &str, format: &str, file: &str, clock: &str) {
        self.manifest.sources.push(SourceFile {
            name: name.into(),
            format: format.into(),
            file: file.into(),
            clock: clock.into(),
        });
    }

    /// Says something about the capture; `kind` is one of [`note`].
    pub fn note(&mut self, kind: &str, text: String) {
        self.manifest.notes.push(NoteInfo {
            kind: kind.into(),
            text,
        });
    }

    /// Says that something could not be had: what, why, and how to get it.
    pub fn missing(&mut self, what: &str, why: &dyn std::fmt::Display, advice: &str) {
        self.note(
            note::MISSING,
            format!("cannot read {what}: {why}; {advice}"),
        );
    }

    /// What there is to say about the capture, a sentence each.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.manifest.notes.iter().map(|n| n.text.as_str())
    }

    /// Writes the capture as a tar, the manifest first. The same bytes each time.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut tar = Writer::new(out);
        tar.member(MANIFEST, &self.manifest_bytes()?)?;
        for (name, bytes) in &self.members {
            tar.member(name, bytes)?;
        }
        for large in &self.large {
            tar.copy(&large.file, large.reader(), large.length)?;
        }
        tar.finish()?;
        Ok(())
    }

    /// The manifest as a file.
    ///
    /// # Errors
    /// If it cannot be put into JSON.
    pub fn manifest_bytes(&self) -> io::Result<Vec<u8>> {
        let mut json = serde_json::to_vec_pretty(&self.manifest)?;
        json.push(b'\n');
        Ok(json)
    }

    fn systemd(&mut self) {
        if !Path::new("/run/systemd/system").is_dir() {
            return;
        }
        let show = run("systemctl", &["show", "--no-pager"]).and_then(|mut manager| {
            // All: else units that ran and are done would be missing.
            let units = run("systemctl", &["show", "--no-pager", "--all", "*"])?;
            manager.push(b'\n');
            manager.extend(units);
            Ok(manager)
        });
        match show {
            Ok(bytes) => self.add(
                "systemd",
                "systemd-show",
                "systemd-show.txt",
                "monotonic",
                bytes,
            ),
            Err(why) => self.missing(
                "the systemd units",
                &format!("systemctl: {why}"),
                "check whether `systemctl show` works for this user",
            ),
        }
    }

    /// What the kernel was built with, from the first place that has it.
    fn configuration(&mut self) {
        let release = rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned();
        for path in [
            "/proc/config.gz".to_owned(),
            format!("/boot/config-{release}"),
            format!("/lib/modules/{release}/config"),
        ] {
            if let Ok(bytes) = read_kernel_file(&path) {
                let file = path.trim_start_matches('/');
                self.add(&path, "kernel-config", file, "", bytes);
                return;
            }
        }
    }

    fn logged_hz(&self) -> Option<u64> {
        sys::counter()?;
        let (_, log) = self.members.iter().find(|m| m.0 == log::KMSG)?;
        hz_in_log(log)
    }
}

impl Large {
    /// Reads it from its first byte on.
    #[must_use]
    pub fn reader(&self) -> impl Read {
        Positioned {
            file: &self.content,
            at: 0,
        }
    }
}

/// Reads a file without moving its position, so that it can be read again.
struct Positioned<'a> {
    file: &'a File,
    at: u64,
}

impl Read for Positioned<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(to, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

/// How fast the counter runs, by the kernel's own clock.
fn measured_hz(begin: &Stamp) -> Option<u64> {
    sys::counter()?;
    let since = begin.age();
    sleep(MEASURED_OVER.saturating_sub(since));
    hz_between(begin, &Stamp::now())
}

/// What a program prints, if it ends well.
fn run(program: &str, arguments: &[&str]) -> io::Result<Vec<u8>> {
    let (bytes, whole) = run_at_most(program, arguments, u64::MAX)?;
    debug_assert!(whole, "nobody prints as much");
    Ok(bytes)
}

/// The first `most` bytes that a program prints, if it ends well, and whether
/// that is all.
fn run_at_most(program: &str, arguments: &[&str], most: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut printed = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.by_ref().take(most).read_to_end(&mut printed)?;
        if printed.len() as u64 == most && stdout.read(&mut [0])? > 0 {
            child.kill()?;
            child.wait()?;
            return Ok((printed, false));
        }
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok((printed, true));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said
        .lines()
        .next()
        .unwrap_or("the program failed without a message");
    Err(io::Error::other(said.to_owned()))
}

fn kernel() -> String {
    let uname = rustix::system::uname();
    let [release, version] = [uname.release(), uname.version()].map(|s| s.to_string_lossy());
    format!("{release} {version}")
}

fn text_of(path: &str) -> String {
    read_kernel_file(path).map_or_else(
        |_| String::new(),
        |bytes| {
            // Texts of the device tree end with a zero byte.
            let text = String::from_utf8_lossy(&bytes);
            text.trim_end_matches(['\0', '\n', ' ']).to_owned()
        },
    )
}
