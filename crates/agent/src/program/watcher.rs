//! The watcher: a process that reads /proc while the machine boots, waits for
//! first light, and then collects and hands out the capture.
//!
//! It stands in /proc, whichever way that is mounted: from an initramfs it goes
//! on in the root that process 1 has gone to.

use crate::finish::{self, Seen};
use crate::job::{Job, MEMORY};
use crate::state::{LIGHT, State};
use crate::{kmsg, units};
use firstlight_agent::capture::{NoteInfo, note};
use firstlight_agent::clocks::{Stamp, monotonic};
use firstlight_agent::config::FirstLight;
use firstlight_agent::sampler::Sampler;
use firstlight_agent::watch::Watch;
use rustix::process::chroot;
use std::error::Error;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The watcher's name. systemd spares processes whose name begins with `@`.
pub const ARGV0: &str = "@firstlight-watcher";

/// The root of process 1, seen from /proc.
const ROOT_OF_INIT: &str = "1/root";

/// The kernel's log, as it was handed on.
const KMSG: &str = "self/fd/0";

/// How often is tried again to begin a watch that cannot begin yet.
const TRY_EVERY: Duration = Duration::from_millis(10);

/// Starts it; /proc must be mounted.
///
/// `memory`: `/dev/mem`, if the job reads a counter of the board.
///
/// # Errors
/// If it cannot be started.
pub fn start(state: &State, memory: bool) -> Result<(), Box<dyn Error>> {
    // What it needs of /dev is handed on open: /dev may look different later, and
    // be nowhere while process 1 goes to its root.
    let kmsg = File::options().read(true).write(true).open("/dev/kmsg")?;
    let memory = match memory {
        true => Stdio::from(File::open(MEMORY)?),
        false => Stdio::null(),
    };
    // It inherits the folder. Told to the command instead, the standard library
    // would ask for a socket, and not every kernel has those.
    let before = std::env::current_dir().unwrap_or_else(|_| "/".into());
    std::env::set_current_dir("/proc")?;
    let started = Command::new("/proc/self/exe")
        .arg0(ARGV0)
        .arg(state.to_text())
        .stdin(kmsg)
        .stdout(memory)
        .stderr(Stdio::null())
        .spawn();
    // First of all: whoever goes on, and be it as the real init, does so where it
    // was.
    std::env::set_current_dir(before)?;
    started?;
    Ok(())
}

/// The watcher's life.
///
/// # Errors
/// If the capture cannot be handed out.
pub fn run() -> Result<(), Box<dyn Error>> {
    let told = std::env::args().nth(1).unwrap_or_default();
    let mut told = State::parse(&told)?;
    // Nobody's child, and in nobody's group of processes.
    rustix::process::setsid()?;
    let job = Job::find()?;
    let mut sampler = job.sampling.map(|s| Sampler::new(Path::new("."), s));
    let mut notes = Vec::new();
    let seen = wait(&job, sampler.as_mut(), &mut notes);
    // What came after the watcher had started, if anything was left.
    let mut state = State::find().unwrap_or_else(|_| std::mem::take(&mut told));
    state.notes.extend(notes);
    let first_light = match job.first_light {
        FirstLight::Init => state.userspace_start().or(seen),
        _ => seen,
    };
    match first_light {
        Some(_) if job.first_light == FirstLight::Init => {}
        Some(stamp) => finish::say_first_light(&stamp, &job)?,
        None => {
            let (what, s) = (&job.first_light, job.give_up.as_secs());
            let text = format!("first light ({what}) was not reached within {s} s");
            kmsg::error(&text);
            let advice = "check the end of the kernel log or set a larger firstlight.give_up_s=";
            state.note(note::GAVE_UP, format!("{text}; {advice}"));
        }
    }
    let seen = Seen {
        first_light,
        samples: sampler.map(Sampler::finish),
    };
    finish::end_of(&job, state, seen)
}

/// Waits for first light and reads /proc meanwhile.
fn wait(job: &Job, mut sampler: Option<&mut Sampler>, notes: &mut Vec<NoteInfo>) -> Option<Stamp> {
    let by_unit = units::awaited(&job.first_light).is_some();
    let what = match by_unit {
        true => FirstLight::File(LIGHT.into()),
        false => job.first_light.clone(),
    };
    let end = monotonic() + job.give_up;
    let mut next_sample = monotonic();
    let mut watch = None;
    loop {
        follow_init();
        if watch.is_none() {
            watch = Watch::begin_with(&what, Path::new(KMSG)).ok();
        }
        if watch.as_mut().is_some_and(Watch::look) {
            let now = Stamp::now();
            if let Some(late) = watch.as_ref().and_then(Watch::late) {
                let (what, ms) = (&job.first_light, late.as_micros().div_ceil(1000));
                notes.push(NoteInfo {
                    kind: note::COARSE.into(),
                    text: format!(
                        "first light ({what}) may have been up to {ms} ms earlier than recorded"
                    ),
                });
            }
            return Some(if by_unit { stamp_of_unit(now) } else { now });
        }
        let now = monotonic();
        if now >= end {
            return None;
        }
        let mut pause = end - now;
        if let Some(sampler) = &mut sampler
            && let Some(sampling) = job.sampling
            && !sampler.is_full()
        {
            if now >= next_sample {
                sampler.sample();
                next_sample += sampling.period;
                // A reading that could not be on time is left out.
                while next_sample <= monotonic() {
                    next_sample += sampling.period;
                }
            }
            pause = pause.min(next_sample.saturating_sub(monotonic()));
        }
        match &watch {
            Some(watch) => {
                if watch.wait(pause).is_err() {
                    std::thread::sleep(pause.min(TRY_EVERY));
                }
            }
            None => std::thread::sleep(pause.min(TRY_EVERY)),
        }
    }
}

/// When systemd's unit said that first light has come.
fn stamp_of_unit(now: Stamp) -> Stamp {
    let said = fs::read_to_string(LIGHT).unwrap_or_default();
    Stamp::from_words(&said).unwrap_or(now)
}

/// Goes to the root that process 1 is in, if it is another one.
fn follow_init() {
    let place = |path: &str| fs::metadata(path).map(|m| (m.dev(), m.ino()));
    if let (Ok(own), Ok(of_init)) = (place("/"), place(ROOT_OF_INIT))
        && own != of_init
    {
        // It stays in /proc, which has moved along or is the same elsewhere.
        let _ = chroot(ROOT_OF_INIT);
    }
}
