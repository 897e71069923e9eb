//! A capture of the machine that this runs on.
//!
//! Nothing is computed: files are copied, and programs of the system are asked
//! for what they print. What could not be had is said, with a way to get it.

use crate::capture::{MANIFEST, Manifest, Member, SourceFile, VERSION, write_tar};
use crate::clocks::{Stamp, clocks};
use crate::sys;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Small files of the kernel that say what the machine is and did.
const FILES: &[&str] = &[
    "/proc/cmdline",
    "/proc/version",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/modules",
    "/proc/mounts",
    "/proc/diskstats",
    "/proc/uptime",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource",
    "/proc/config.gz",
];

/// Something that could not be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What: `the kernel log`.
    pub what: &'static str,
    /// Why not, as the system put it.
    pub why: String,
    /// How to get it.
    pub advice: &'static str,
}

/// The parts of a capture.
#[derive(Clone, Debug, PartialEq)]
pub struct Gathered {
    /// What the files are, and the clocks.
    pub manifest: Manifest,
    /// The raw files, without the manifest.
    pub members: Vec<Member>,
    /// What could not be had.
    pub missing: Vec<Missing>,
}

/// Why a capture of this machine could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum HereError {
    /// The place for it is taken.
    #[error("`{path}` already holds something; name a new folder, or a file that ends in .tar")]
    Taken {
        /// The path that was given.
        path: PathBuf,
    },
    /// It could not be written.
    #[error("the capture could not be written to `{path}`: {why}")]
    Write {
        /// The path that was given, or a file in it.
        path: PathBuf,
        /// What the system says.
        why: io::Error,
    },
}

/// Takes a capture of the running machine, and keeps it at `out`: a tar if the
/// name ends in `.tar`, else a new or empty folder. A tar is written beside and
/// then renamed.
///
/// # Errors
/// If `out` is taken or cannot be written. What cannot be read is no error, but
/// one of [`Gathered::missing`].
pub fn capture(out: &Path) -> Result<Gathered, HereError> {
    let taken = || HereError::Taken { path: out.into() };
    let write = |path: &Path| {
        let path = path.to_owned();
        move |why| HereError::Write { path, why }
    };
    let tar = out.extension() == Some(OsStr::new("tar"));
    if tar && out.exists() {
        return Err(taken());
    }
    if !tar {
        fs::create_dir_all(out).map_err(write(out))?;
        if fs::read_dir(out).map_err(write(out))?.next().is_some() {
            return Err(taken());
        }
    }
    let gathered = gather(sys::counter_hz());
    let members = gathered.with_manifest().map_err(write(out))?;
    if tar {
        let beside = out.with_extension("tar.new");
        let done = File::create(&beside)
            .and_then(|file| write_tar(io::BufWriter::new(file), &members))
            .and_then(|()| fs::rename(&beside, out));
        if done.is_err() {
            // The first error is the one to tell.
            let _ = fs::remove_file(&beside);
        }
        done.map_err(write(out))?;
        return Ok(gathered);
    }
    for (name, bytes) in &members {
        let path = out.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(write(folder))?;
        }
        fs::write(&path, bytes).map_err(write(&path))?;
    }
    Ok(gathered)
}

/// Collects what [`capture`] keeps, in memory. `counter_hz`: the ticks per
/// second of the processor's counter, if known.
#[must_use]
pub fn gather(counter_hz: Option<u64>) -> Gathered {
    let begin = Stamp::now();
    let mut gathered = Gathered {
        manifest: Manifest {
            firstlight_capture: VERSION,
            taken_by: concat!("firstlight-agent ", env!("CARGO_PKG_VERSION")).into(),
            machine: String::new(),
            kernel: kernel(),
            cmdline: text_of("/proc/cmdline"),
            clocks: Vec::new(),
            marks: Vec::new(),
            sources: Vec::new(),
        },
        members: Vec::new(),
        missing: Vec::new(),
    };
    gathered.kernel_log();
    gathered.systemd();
    for path in FILES {
        // Not every kernel has every file.
        if let Ok(bytes) = fs::read(path) {
            gathered.add(path, "none", path.trim_start_matches('/'), "", bytes);
        }
    }
    gathered.manifest.clocks = clocks(&[begin, Stamp::now()], counter_hz);
    gathered
}

impl Gathered {
    /// The members of the capture, manifest first.
    ///
    /// # Errors
    /// If the manifest cannot be put into JSON.
    pub fn with_manifest(&self) -> io::Result<Vec<Member>> {
        let mut json = serde_json::to_vec_pretty(&self.manifest)?;
        json.push(b'\n');
        let manifest = (MANIFEST.to_owned(), json);
        Ok([manifest]
            .into_iter()
            .chain(self.members.iter().cloned())
            .collect())
    }

    /// Adds a raw file.
    pub fn add(&mut self, name: &str, format: &str, file: &str, clock: &str, bytes: Vec<u8>) {
        self.manifest.sources.push(SourceFile {
            name: name.into(),
            format: format.into(),
            file: file.into(),
            clock: clock.into(),
        });
        self.members.push((file.into(), bytes));
    }

    fn kernel_log(&mut self) {
        const WHAT: &str = "the kernel log";
        let whole = match kmsg() {
            Ok(kmsg) => {
                // The first record has the number 0, unless the ring has wrapped.
                let whole = kmsg.split(|b| *b == b',').nth(1) == Some(b"0");
                self.add("kernel log", "kernel-log", "kmsg", "printk", kmsg);
                whole
            }
            Err(why) => {
                self.missing.push(Missing {
                    what: WHAT,
                    why: format!("/dev/kmsg: {why}"),
                    advice: "run as root, or allow it with `sysctl kernel.dmesg_restrict=0`",
                });
                false
            }
        };
        if whole {
            return;
        }
        // The journal may still have what the ring has lost.
        let ask = ["-k", "-b", "-o", "short-monotonic", "--no-pager", "-q"];
        match run("journalctl", &ask) {
            Ok(bytes) if !bytes.is_empty() => {
                let (format, clock) = ("kernel-log", "monotonic");
                self.add(
                    "kernel log of the journal",
                    format,
                    "journal-kernel.txt",
                    clock,
                    bytes,
                );
            }
            Ok(_) => {}
            Err(why) => self.missing.push(Missing {
                what: "the start of the kernel log",
                why: format!("journalctl: {why}"),
                advice: "boot with a larger `log_buf_len=`, or be in the group systemd-journal",
            }),
        }
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
            Err(why) => self.missing.push(Missing {
                what: "the units of systemd",
                why: format!("systemctl: {why}"),
                advice: "see whether `systemctl show` works for this user",
            }),
        }
    }
}

/// The kernel log, record by record, as `/dev/kmsg` gives it.
fn kmsg() -> io::Result<Vec<u8>> {
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits();
    let mut file = File::options()
        .read(true)
        .custom_flags(nonblock.cast_signed())
        .open("/dev/kmsg")?;
    let mut all = Vec::new();
    // A read gives one record, and fails if it does not fit.
    let mut record = vec![0; 64 << 10];
    loop {
        match file.read(&mut record) {
            Ok(0) => return Ok(all),
            Ok(n) => all.extend(record.iter().take(n)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(all),
            // The ring has overtaken the reader, who goes on behind the gap:
            // the numbers of the records tell.
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::PIPE.raw_os_error()) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// What a program prints, if it ends well.
fn run(program: &str, arguments: &[&str]) -> io::Result<Vec<u8>> {
    let output = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("it failed and said nothing");
    Err(io::Error::other(said.to_owned()))
}

fn kernel() -> String {
    let uname = rustix::system::uname();
    let [release, version] = [uname.release(), uname.version()].map(|s| s.to_string_lossy());
    format!("{release} {version}")
}

fn text_of(path: &str) -> String {
    fs::read(path).map_or_else(
        |_| String::new(),
        |bytes| String::from_utf8_lossy(&bytes).trim_end().to_owned(),
    )
}
