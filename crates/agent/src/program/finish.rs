//! The agent at first light: waits until the boot has settled, collects the
//! capture, hands it out, and ends the trial.

use crate::kmsg;
use crate::trial::{self, Memory, State, memory_of};
use agent::capture::write_tar;
use agent::clocks::{Stamp, clocks};
use agent::config::{AgentConfig, FirstLight};
use agent::here;
use agent::payload::write_payload;
use agent::sys::Mapped;
use std::convert::Infallible;
use std::error::Error;
use std::fs::{self, File};
use std::io::Cursor;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often systemd is asked whether it is done. Not too often: units that
/// start after first light share the processor.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// How long a boot may take to settle after first light.
const SETTLE_LIMIT: Duration = Duration::from_secs(120);

/// The trial that has come to first light.
pub struct Trial {
    now: Stamp,
    config: AgentConfig,
    state: State,
}

impl Trial {
    /// Reads the clocks, and then what `init` left.
    ///
    /// # Errors
    /// If this machine is not in a trial.
    pub fn find() -> Result<Self, Box<dyn Error>> {
        let now = Stamp::now();
        Ok(Self {
            now,
            state: State::find()?,
            config: trial::config(trial::CONFIG)?,
        })
    }

    /// Ends it. Comes back only with an error.
    pub fn run(self) -> Result<Infallible, Box<dyn Error>> {
        let Self { now, config, state } = self;
        let first_light = match (&config.first_light, state.userspace_start) {
            (FirstLight::Init, Some(then)) => then,
            _ => {
                kmsg::say("mark first-light")?;
                let counter_hz = Some(config.counter_hz).filter(|hz| *hz > 0);
                kmsg::say(&now.kmsg_line(counter_hz))?;
                now
            }
        };
        wait_until_settled();
        end_of(&config, &state, first_light)
    }
}

fn wait_until_settled() {
    let begin = Instant::now();
    while begin.elapsed() < SETTLE_LIMIT {
        sleep(ASK_EVERY);
        let asked = Command::new("systemctl")
            .args(["show", "-p", "FinishTimestampMonotonic", "--value"])
            .output();
        match asked {
            Ok(answer) if answer.stdout.trim_ascii() == b"0" => {}
            // Finished; or no systemd, and then there is nothing to wait for.
            _ => return,
        }
    }
}

/// Collects, hands out, ends. Comes back only with an error.
pub fn end_of(
    config: &AgentConfig,
    state: &State,
    first_light: Stamp,
) -> Result<Infallible, Box<dyn Error>> {
    let counter_hz = Some(config.counter_hz).filter(|hz| *hz > 0);
    let mut gathered = here::gather(counter_hz);
    if let Some(server) = state.storage_server {
        // What the model itself cost: nanoseconds on the processor, nanoseconds
        // of waiting for it, time slices.
        let spent = fs::read(format!("/proc/{server}/schedstat")).unwrap_or_default();
        let name = "processor time of the storage server";
        gathered.add(name, "none", "storage-server/schedstat", "", spent);
    }
    let manifest = &mut gathered.manifest;
    manifest.machine.clone_from(&config.machine);
    let mut stamps = vec![state.initrd_start];
    manifest.marks = vec![
        state
            .initrd_start
            .mark("initrd-start", Some("initrd"), counter_hz),
    ];
    if let Some(start) = state.userspace_start {
        stamps.push(start);
        manifest
            .marks
            .push(start.mark("userspace-start", Some("userspace"), counter_hz));
    }
    manifest
        .marks
        .push(first_light.mark("first-light", None, counter_hz));
    stamps.extend([first_light, Stamp::now()]);
    stamps.dedup();
    manifest.clocks = clocks(&stamps, counter_hz);
    let mut tar = Vec::new();
    write_tar(&mut tar, &gathered.with_manifest()?)?;
    let memory = memory_of(config.out_size)?;
    hand_out(&memory, config.out_size, &tar)
        .map_err(|e| format!("the payload on {}: {e}", memory.path().display()))?;
    rustix::system::reboot(rustix::system::RebootCommand::Restart)?;
    Err("the machine went on after its restart".into())
}

fn hand_out(memory: &Memory, room: u64, tar: &[u8]) -> Result<(), Box<dyn Error>> {
    match memory {
        Memory::Block(path) => {
            let mut file = File::options().write(true).open(path)?;
            write_payload(&mut file, room, tar, |f| f.sync_all())?;
        }
        Memory::Mapped(path) => {
            let file = File::options().read(true).write(true).open(path)?;
            let mut mapped = Mapped::new(&file, usize::try_from(room)?)?;
            // What is written is in the host's file at once.
            write_payload(&mut Cursor::new(mapped.bytes()), room, tar, |_| Ok(()))?;
        }
    }
    Ok(())
}
