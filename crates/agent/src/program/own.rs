//! The agent as `init=` or `rdinit=` of a user's own machine: it switches on what
//! the kernel's command line asks to record, starts the watcher, and goes on as
//! the real init. Whatever goes wrong, the machine boots.

use crate::job::{Job, command_line};
use crate::kmsg;
use crate::state::{FOLDER, State};
use crate::{units, watcher};
use firstlight_agent::capture::note;
use firstlight_agent::clocks::Stamp;
use firstlight_agent::config::Words;
use firstlight_agent::trace::Tracefs;
use rustix::fs::statfs;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::error::Error;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The programs that the kernel itself tries (`kernel_init` in `init/main.c`).
const INITS: [&str; 4] = ["/sbin/init", "/etc/init", "/bin/init", "/bin/sh"];

/// The program of an initramfs.
const INIT_OF_INITRAMFS: &str = "/init";

/// The kinds of file system that an initramfs is (`linux/magic.h`).
const RAMFS: u32 = 0x8584_58f6;
const TMPFS: u32 = 0x0102_1994;

/// Prepares, and becomes the real init. Comes back only if there is none.
pub fn run() -> ExitCode {
    let start = Stamp::now();
    let mounts = Mounts::make();
    let (words, wrong) = Words::parse(&command_line());
    let init = words.init.clone();
    let own_file = identity("/proc/self/exe");
    if let Err(why) = prepare(words, wrong, start) {
        kmsg::error(&format!("this boot was not captured: {why}"));
    }
    drop(mounts);
    let why = become_init(init.as_deref(), own_file);
    kmsg::error(&why);
    ExitCode::from(2)
}

fn prepare(words: Words, wrong: Vec<String>, start: Stamp) -> Result<(), Box<dyn Error>> {
    let job = Job::of_words(words);
    let mut state = State {
        watcher: true,
        ..State::default()
    };
    match in_initramfs() {
        true => state.mark("initrd-start", "initrd", start),
        false => state.userspace_begins(start),
    }
    if let Some(mark) = state.marks.first() {
        kmsg::say(&format!("mark {}", mark.name))?;
    }
    kmsg::say(&start.kmsg_line(job.counter_hz))?;
    for text in wrong {
        kmsg::error(&text);
        state.note(note::REFUSED, text);
    }
    record(&job, &mut state);
    if let Some(unit) = units::awaited(&job.first_light)
        && let Err(e) = leave_unit(unit, &state)
    {
        let text = format!("cannot ask systemd when {unit} is active: {e}");
        kmsg::error(&text);
        state.note(note::REFUSED, text);
    }
    watcher::start(&state, false)
}

fn leave_unit(unit: &str, state: &State) -> Result<(), Box<dyn Error>> {
    if file_system("/run").is_some_and(|kind| kind != TMPFS) {
        // systemd takes it over. Not noexec: the agent runs from it.
        let safe = MountFlags::NOSUID | MountFlags::NODEV;
        mount("tmpfs", "/run", "tmpfs", safe, c"mode=0755")?;
    }
    fs::create_dir_all(FOLDER)?;
    // Whether what lies in `/` now lies there later.
    let stays = file_system("/").is_some_and(|kind| !in_memory(kind));
    units::leave(unit, stays)?;
    state.keep()
}

/// Switches on what is to be recorded into the trace rings.
pub fn record(job: &Job, state: &mut State) {
    if job.recording == Default::default() {
        return;
    }
    let said = match Tracefs::find() {
        Ok(trace) => trace.start(&job.recording),
        Err(e) => vec![format!("cannot use the trace buffers: {e}")],
    };
    for text in said {
        kmsg::error(&text);
        state.note(note::REFUSED, text);
    }
}

/// Becomes `named`, or else what the kernel would have started.
fn become_init(named: Option<&str>, own_file: Option<(u64, u64)>) -> String {
    let usual = match in_initramfs() {
        true => vec![INIT_OF_INITRAMFS],
        false => INITS.to_vec(),
    };
    let candidates = named.map_or(usual, |n| vec![n]);
    let mut why = "there is none".to_owned();
    for program in &candidates {
        // Not itself again, whatever name it has.
        let file = identity(program);
        if file.is_none() || file == own_file {
            continue;
        }
        // The kernel's words for init go on to it.
        let error = Command::new(program)
            .args(std::env::args_os().skip(1))
            .exec();
        why = format!("{program}: {error}");
    }
    format!("cannot start the real init: {why}; set firstlight.init=")
}

/// Device and number of a file, if it is there.
fn identity(path: &str) -> Option<(u64, u64)> {
    fs::metadata(path).map(|m| (m.dev(), m.ino())).ok()
}

fn in_initramfs() -> bool {
    file_system("/").is_some_and(in_memory) && Path::new(INIT_OF_INITRAMFS).exists()
}

/// Whether a file system of this kind may be an initramfs.
const fn in_memory(kind: u32) -> bool {
    matches!(kind, RAMFS | TMPFS)
}

/// The kind of file system at `path`. The type of the number differs from one
/// processor to the next; its low half holds all.
fn file_system(path: &str) -> Option<u32> {
    statfs(path).ok().map(|s| s.f_type as u32)
}

/// The file systems of the kernel that were not mounted yet. They go again before
/// the real init starts, which finds the machine as it was.
struct Mounts(Vec<&'static str>);

impl Mounts {
    fn make() -> Self {
        let safe = MountFlags::NOSUID | MountFlags::NODEV;
        let mut made = Vec::new();
        for (kind, place, shows, flags, data) in [
            (
                "proc",
                "/proc",
                "/proc/self",
                safe | MountFlags::NOEXEC,
                c"",
            ),
            (
                "sysfs",
                "/sys",
                "/sys/kernel",
                safe | MountFlags::NOEXEC,
                c"",
            ),
            (
                "devtmpfs",
                "/dev",
                "/dev/kmsg",
                MountFlags::NOSUID,
                c"mode=0755",
            ),
        ] {
            if Path::new(shows).exists() {
                continue;
            }
            // An initramfs may not even have the folder; a root may be read-only.
            let _ = fs::create_dir_all(place);
            if mount(kind, place, kind, flags, data).is_ok() {
                made.push(place);
            }
        }
        Self(made)
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for place in self.0.iter().rev() {
            // Detached: the watcher stands in /proc, and goes on standing there.
            let _ = unmount(*place, UnmountFlags::DETACH);
        }
    }
}
