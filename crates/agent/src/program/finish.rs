//! The agent after first light: waits until the boot has settled, collects the
//! capture, and hands it out.

use crate::job::{Destination, Job};
use crate::kmsg;
use crate::state::{LIGHT, State};
use crate::trial::{Memory, memory_of};
use firstlight_agent::capture::note;
use firstlight_agent::clocks::Stamp;
use firstlight_agent::config::FirstLight;
use firstlight_agent::deliver::{Older, deliver, folder_of, into_memory};
use firstlight_agent::here::{self, Gathered};
use firstlight_agent::sampler::Samples;
use firstlight_agent::sys::Mapped;
use firstlight_agent::trace::Tracefs;
use std::error::Error;
use std::fs::{self, File};
use std::io::Cursor;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often systemd is asked whether it is done. Not too often: units that
/// start after first light share the processor.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// How long a boot may take to settle after first light.
const SETTLE_LIMIT: Duration = Duration::from_secs(120);

/// How long after first light systemd may begin to run.
const SYSTEMD_LIMIT: Duration = Duration::from_secs(10);

/// The boot that has come to first light, as a unit of systemd says it.
pub struct Boot {
    now: Stamp,
    state: State,
    job: Job,
}

impl Boot {
    /// Reads the clocks, and then what `init` left.
    ///
    /// # Errors
    /// If the agent did not start this boot.
    pub fn find() -> Result<Self, Box<dyn Error>> {
        let now = Stamp::now();
        Ok(Self {
            now,
            state: State::find()?,
            job: Job::find()?,
        })
    }

    /// Whether this is a trial of the lab, which has to end.
    pub fn is_trial(&self) -> bool {
        self.job.is_trial()
    }

    /// Tells the watcher, or else collects and hands out.
    pub fn run(self) -> Result<(), Box<dyn Error>> {
        let Self { now, state, job } = self;
        if state.watcher {
            // Written beside and renamed: it is whole when it is seen.
            let beside = format!("{LIGHT}.new");
            fs::write(&beside, now.to_words())?;
            return Ok(fs::rename(&beside, LIGHT)?);
        }
        let first_light = match (&job.first_light, state.userspace_start()) {
            (FirstLight::Init, Some(then)) => then,
            _ => {
                say_first_light(&now, &job)?;
                now
            }
        };
        let seen = Seen {
            first_light: Some(first_light),
            samples: None,
        };
        end_of(&job, state, seen)
    }
}

/// What was seen of the boot.
pub struct Seen {
    /// First light; `None`: it did not come.
    pub first_light: Option<Stamp>,
    /// The readings of /proc.
    pub samples: Option<Samples>,
}

/// Says in the kernel's log that first light has come.
pub fn say_first_light(now: &Stamp, job: &Job) -> Result<(), Box<dyn Error>> {
    kmsg::say("mark first-light")?;
    Ok(kmsg::say(&now.kmsg_line(job.counter_hz))?)
}

/// Collects, hands out, and ends a trial.
pub fn end_of(job: &Job, mut state: State, seen: Seen) -> Result<(), Box<dyn Error>> {
    // What comes now would push the boot out of the rings.
    if let Ok(trace) = Tracefs::find() {
        let _ = trace.switch(false);
    }
    if job.has_root {
        wait_until_settled(&mut state);
    }
    let mut gathered = here::gather(job.counter_hz);
    match &job.destination {
        // A trial asks the root's storage for no more than the boot did.
        Destination::Memory { .. } => gathered.trace(None),
        Destination::Out(out) => gathered.more(folder_of(out).filter(|f| f.is_dir())),
    }
    if matches!(job.destination, Destination::Memory { .. }) {
        add_sockets(&mut gathered);
    }
    add_what_was_seen(&mut gathered, job, state, seen);
    match &job.destination {
        Destination::Memory { size, at } => {
            let memory = match at {
                0 => memory_of(*size)?,
                at => Memory::Physical(*at),
            };
            gathered.manifest.own_devices.extend(memory.device()?);
            hand_out(&gathered, &memory, *size).map_err(|e| {
                format!("{}: cannot write the payload: {e}", memory.path().display())
            })?;
            kmsg::restart()?;
            Err("the machine continued after its restart".into())
        }
        Destination::Out(out) => Ok(deliver(&gathered, out, Older::Replace)?),
    }
}

/// Waits until systemd has finished, where it runs.
fn wait_until_settled(state: &mut State) {
    let begin = Instant::now();
    loop {
        sleep(ASK_EVERY);
        let runs = Path::new("/run/systemd/system").is_dir();
        if !runs && begin.elapsed() > SYSTEMD_LIMIT {
            return;
        }
        let asked = Command::new("systemctl")
            .args(["show", "-p", "FinishTimestampMonotonic", "--value"])
            .output();
        // It may not answer yet.
        let said = asked.map(|a| a.stdout).unwrap_or_default();
        if !matches!(said.trim_ascii(), b"" | b"0") {
            return;
        }
        if begin.elapsed() > SETTLE_LIMIT {
            break;
        }
    }
    let limit = SETTLE_LIMIT.as_secs();
    state.note(
        note::GAVE_UP,
        format!(
            "systemd had not finished the boot {limit} s after first light, so units that were \
             still starting have no end time; list them with `systemctl list-jobs`"
        ),
    );
}

fn add_what_was_seen(gathered: &mut Gathered, job: &Job, state: State, seen: Seen) {
    if let Some(server) = state.storage_server {
        // What the model itself cost: nanoseconds on the processor, nanoseconds
        // of waiting for it, time slices.
        let spent = fs::read(format!("/proc/{server}/schedstat")).unwrap_or_default();
        let name = "processor time of the storage server";
        gathered.add(name, "none", "storage-server/schedstat", "", spent);
    }
    gathered.manifest.own_devices.extend(state.served_from);
    if let Some(samples) = seen.samples {
        add_samples(gathered, samples);
    }
    let mut stamps = Vec::new();
    for mark in &state.marks {
        stamps.push(mark.stamp);
        let begins = mark.begins.as_deref();
        let mark = gathered.mark(&mark.name, begins, &mark.stamp);
        gathered.manifest.marks.push(mark);
    }
    if let Some(stamp) = seen.first_light {
        stamps.push(stamp);
        let mark = gathered.mark("first-light", None, &stamp);
        gathered.manifest.marks.push(mark);
    }
    stamps.push(Stamp::now());
    stamps.dedup();
    gathered.clocks(&stamps);
    gathered.manifest.notes.extend(state.notes);
    if let Some(machine) = &job.machine {
        gathered.manifest.machine.clone_from(machine);
    }
}

/// Which sockets there are in a trial of the lab, to see that treatments close none. On
/// a system in use the lists would name who talks to it.
fn add_sockets(gathered: &mut Gathered) {
    for name in ["tcp", "tcp6", "unix"] {
        let file = format!("proc/net/{name}");
        if let Ok(bytes) = fs::read(format!("/{file}")) {
            gathered.add("sockets", "none", &file, "", bytes);
        }
    }
}

fn add_samples(gathered: &mut Gathered, samples: Samples) {
    for (name, bytes) in samples.files {
        let file = format!("bootchart/{name}");
        gathered.add(name, "bootchart", &file, "boottime", bytes);
    }
    for why in &samples.missing {
        let advice = "the samples do not include it";
        gathered.missing("part of /proc", why, advice);
    }
    if let Some(at) = samples.full_at {
        let (s, hundredths) = (at.as_secs(), at.subsec_millis() / 10);
        gathered.note(
            note::CUT,
            format!(
                "the samples of /proc end {s}.{hundredths:02} s after the start of the boot, \
                 because their memory was full; boot with a larger firstlight.sample_kb= or \
                 firstlight.sample_ms="
            ),
        );
    }
}

fn hand_out(gathered: &Gathered, memory: &Memory, room: u64) -> Result<(), Box<dyn Error>> {
    let from = match memory {
        Memory::Physical(at) => *at,
        Memory::Block(_) | Memory::Mapped(_) => 0,
    };
    match memory {
        Memory::Block(path) => {
            let mut file = File::options().write(true).open(path)?;
            into_memory(gathered, &mut file, room, |f| f.sync_all())?;
        }
        Memory::Mapped(_) | Memory::Physical(_) => {
            let path = memory.path();
            let file = File::options().read(true).write(true).open(path)?;
            let mut mapped = Mapped::at(&file, from, usize::try_from(room)?)?;
            // What is written is in the host's file at once.
            into_memory(gathered, &mut Cursor::new(mapped.bytes()), room, |_| Ok(()))?;
        }
    }
    Ok(())
}
