//! What the agent is to do in this boot: as the lab says, or as the kernel's
//! command line does.

use firstlight_agent::config::{self, AgentConfig, FirstLight, Out, Recording, Sampling, Words};
use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

/// Where a trial's configuration lies once the root is there.
pub const CONFIG: &str = "/run/firstlight/agent.conf";

/// Physical memory.
pub const MEMORY: &str = "/dev/mem";

/// The same as the watcher was given it: seen from /proc, in which it stands.
const MEMORY_OF_WATCHER: &str = "self/fd/1";

/// How long first light is waited for, if nobody says.
const GIVE_UP: Duration = Duration::from_secs(300);

/// Where the capture goes, if nobody says.
const OUT: &str = "/var/lib/firstlight/boot.tar";

/// What ends the boot, if nobody says.
const FIRST_LIGHT: &str = "default.target";

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// What the machine is, if that is said.
    pub machine: Option<String>,
    /// Ticks per second of the processor's counter, if that is said.
    pub counter_hz: Option<u64>,
    /// What ends the boot.
    pub first_light: FirstLight,
    /// Whether the boot goes on to a root.
    pub has_root: bool,
    /// Where the capture goes.
    pub destination: Destination,
    /// What is recorded into the trace rings.
    pub recording: Recording,
    /// How /proc is read meanwhile.
    pub sampling: Option<Sampling>,
    /// How long first light is waited for.
    pub give_up: Duration,
}

/// Where a capture goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Into a trial's memory; then the trial ends.
    Memory {
        /// How many bytes it has.
        size: u64,
        /// Its physical address; 0: it is a device.
        at: u64,
    },
    /// Out of a machine that goes on.
    Out(Out),
}

impl Job {
    /// The job of a running boot.
    ///
    /// # Errors
    /// If it is a trial's and cannot be understood.
    pub fn find() -> Result<Self, Box<dyn Error>> {
        for path in [config::PATH, CONFIG] {
            match fs::read_to_string(path) {
                Ok(text) => return Self::of_trial(&AgentConfig::parse(&text)?),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(format!("{path}: {e}").into()),
            }
        }
        Ok(Self::of_words(Words::parse(&command_line()).0))
    }

    /// A trial's job. What the lab does not say, the command line may.
    ///
    /// # Errors
    /// If the command line cannot be understood: a trial must not run on other
    /// figures than the ones that were asked for.
    pub fn of_trial(config: &AgentConfig) -> Result<Self, Box<dyn Error>> {
        let (words, wrong) = Words::parse(&command_line());
        if let Some(wrong) = wrong.into_iter().next() {
            return Err(wrong.into());
        }
        if words.first_light.is_some() || words.out.is_some() || words.init.is_some() {
            let why = "in a trial the experiment sets first light, init and the output; remove \
                the kernel parameters firstlight.first_light, firstlight.init and firstlight.out";
            return Err(why.into());
        }
        let (at, hz) = (config.board.counter_at, config.counter_hz);
        if at > 0 {
            File::open(MEMORY)
                .or_else(|e| File::open(MEMORY_OF_WATCHER).map_err(|_| e))
                .and_then(|memory| firstlight_agent::sys::use_board_counter(memory, at, hz))
                .map_err(|e| format!("cannot read the board's counter at {at} of {MEMORY}: {e}"))?;
        }
        Ok(Self {
            machine: Some(config.machine.clone()),
            counter_hz: Some(config.counter_hz).filter(|hz| *hz > 0),
            first_light: config.first_light.clone(),
            has_root: config.root.is_some(),
            destination: Destination::Memory {
                size: config.out_size,
                at: config.board.out_at,
            },
            recording: words.recording,
            sampling: words.sampling,
            give_up: words.give_up.unwrap_or(GIVE_UP),
        })
    }

    /// The job of a user's own machine.
    pub fn of_words(words: Words) -> Self {
        Self {
            machine: None,
            counter_hz: firstlight_agent::sys::counter_hz(),
            first_light: words
                .first_light
                .unwrap_or_else(|| FirstLight::Unit(FIRST_LIGHT.into())),
            has_root: true,
            destination: Destination::Out(words.out.unwrap_or_else(|| Out::File(OUT.into()))),
            recording: words.recording,
            sampling: words.sampling,
            give_up: words.give_up.unwrap_or(GIVE_UP),
        }
    }

    /// Whether it is a trial of the lab.
    pub fn is_trial(&self) -> bool {
        matches!(self.destination, Destination::Memory { .. })
    }

    /// Whether a process has to watch the boot. systemd itself can call the agent
    /// when a unit is active.
    pub fn needs_watcher(&self) -> bool {
        let calls = matches!(self.first_light, FirstLight::Init | FirstLight::Unit(_));
        !calls || self.sampling.is_some() || !self.is_trial()
    }
}

/// The kernel's command line; empty, if it cannot be read.
pub fn command_line() -> String {
    // /proc may not be mounted where the watcher looks, but it stands in it.
    let places = [Path::new("/proc/cmdline"), Path::new("cmdline")];
    let read = |p: &&Path| fs::read(p).ok();
    let bytes = places.iter().find_map(read).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
