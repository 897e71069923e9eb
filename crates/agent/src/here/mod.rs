//! A capture of the machine that this runs on.
//!
//! Nothing is computed: files are copied, and programs of the system are asked
//! for what they print. What could not be had is said, with a way to get it.

mod firmware;
mod gathered;
mod log;
mod more;
mod programs;
mod reading;
mod texts;

pub use gathered::{Gathered, Large};
pub use reading::{Said, read_clocks};

use crate::capture::{Manifest, SourceFile, VERSION};
use crate::clocks::{Stamp, hz_between, hz_in_log};
use crate::sys::{self, read_kernel_file};
use programs::run;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;
use texts::text_of;

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
    gathered.cloud_init();
    gathered.counter_hz = counter_hz
        .or_else(sys::counter_hz)
        .or_else(|| gathered.logged_hz())
        .or_else(sys::nominal_hz)
        .or_else(|| measured_hz(&begin));
    gathered.clocks(&[begin, Stamp::now()]);
    gathered
}

impl Gathered {
    fn systemd(&mut self) {
        if !Path::new("/run/systemd/system").is_dir() {
            return;
        }
        let show = run("systemctl", &["show", "--no-pager"]).and_then(|mut manager| {
            // All: else units that ran and are done would be missing. The manager's own scope
            // first: each answer takes processor time of the manager.
            let units = run(
                "systemctl",
                &["show", "--no-pager", "--all", "init.scope", "*"],
            )?;
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

    /// The end of cloud-init's log, where cloud-init ran in this boot. The log has earlier
    /// boots too.
    fn cloud_init(&mut self) {
        const LOG: &str = "/var/log/cloud-init.log";
        const MOST_BYTES: u64 = 8 << 20;
        // A folder in memory, so that systems without it are not asked for a file on a disk.
        if !Path::new("/run/cloud-init").is_dir() {
            return;
        }
        match end_of(LOG, MOST_BYTES) {
            Ok(bytes) => self.add("cloud-init", "cloud-init", "cloud-init.log", "", bytes),
            Err(why) => {
                let advice = "run as root or join the group adm";
                self.missing("the log of cloud-init", &format!("{LOG}: {why}"), advice);
            }
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

/// The last `most` bytes of a file, or all of it.
fn end_of(path: &str, most: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// How fast the counter runs, by the kernel's own clock.
fn measured_hz(begin: &Stamp) -> Option<u64> {
    sys::counter()?;
    let since = begin.age();
    sleep(MEASURED_OVER.saturating_sub(since));
    hz_between(begin, &Stamp::now())
}

fn kernel() -> String {
    let uname = rustix::system::uname();
    let [release, version] = [uname.release(), uname.version()].map(|s| s.to_string_lossy());
    format!("{release} {version}")
}
