//! The kernel parameters of the agent.
//!
//! Each one is `firstlight.KEY=VALUE`. The kernel takes it for a parameter of an
//! absent module and does not pass it on to init.

use super::first_light::FirstLight;
use super::out::Out;
use super::values::{absolute, shown, word};
use std::time::Duration;

/// What the words begin with.
const PREFIX: &str = "firstlight.";

/// Each key with its value and its purpose. `perturb` belongs to the lab: it changes
/// the command line and nothing else (a neutral perturbation).
pub const KEYS: &[(&str, &str, &str)] = &[
    (
        "first_light",
        FirstLight::EXPECTED,
        "the event that ends the boot",
    ),
    ("out", Out::EXPECTED, "the destination of the capture"),
    ("init", "an absolute path", "the program to start as init"),
    (
        "events",
        "events as in `sched:sched_switch,block:*`",
        "the trace events to record",
    ),
    (
        "opens",
        FLAG,
        "whether to record which files are opened, or looked for in vain",
    ),
    ("buffer_kb", NUMBER, "the size of each trace buffer in KiB"),
    (
        "trace_clock",
        "the name of a trace clock",
        "the clock of the trace timestamps",
    ),
    (
        "sample_ms",
        NUMBER,
        "the interval between samples of /proc in ms, 0 for none",
    ),
    ("sample_kb", NUMBER, "the limit for these samples in KiB"),
    (
        "give_up_s",
        NUMBER,
        "the time limit for first light in seconds",
    ),
    ("perturb", "anything", "nothing"),
];

const NUMBER: &str = "a whole number";
const FLAG: &str = "`1` or `0`";

/// What the words say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// What ends the boot.
    pub first_light: Option<FirstLight>,
    /// Where the capture goes.
    pub out: Option<Out>,
    /// The program to start as init.
    pub init: Option<String>,
    /// What is recorded into the trace rings.
    pub recording: Recording,
    /// How /proc is read while the machine boots; `None`: it is not.
    pub sampling: Option<Sampling>,
    /// How long first light is waited for.
    pub give_up: Option<Duration>,
}

/// What is to be recorded into the kernel's trace rings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Events, as the file `set_event` takes them: `sched:sched_switch`,
    /// `block:*`, `initcall`.
    pub events: Vec<String>,
    /// Whether files that are opened, or looked for in vain, are to be recorded.
    pub opens: bool,
    /// The ring of each processor, in KiB; `None`: as it is.
    pub buffer_kb: Option<u32>,
    /// The clock of the stamps: `local`, `global`, `boot`, `mono`, ...;
    /// `None`: as it is.
    pub clock: Option<String>,
}

/// How /proc is read while the machine boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// From one reading to the next.
    pub period: Duration,
    /// The most that is kept, in bytes. Then the readings end.
    pub most_bytes: usize,
}

impl Sampling {
    /// The period, if readings are wanted and nobody says how often.
    pub const PERIOD: Duration = Duration::from_millis(100);

    /// The most bytes, if nobody says: some 100 s of a hundred processes.
    pub const MOST_BYTES: usize = 16 << 20;
}

impl Words {
    /// Reads the command line. What cannot be used is returned, a sentence each.
    #[must_use]
    pub fn parse(command_line: &str) -> (Self, Vec<String>) {
        let mut words = Self::default();
        let mut wrong = Vec::new();
        let (mut sample_ms, mut sample_kb) = (None, None);
        for argument in split(command_line) {
            let Some(own) = argument.strip_prefix(PREFIX) else {
                continue;
            };
            let (key, value) = own.split_once('=').unwrap_or((own, ""));
            let used = match key {
                "first_light" => set(&mut words.first_light, FirstLight::parse(value)),
                "out" => set(&mut words.out, Out::parse(value)),
                "init" => set(&mut words.init, absolute(value)),
                "events" => set_events(&mut words.recording.events, value),
                "opens" => set_flag(&mut words.recording.opens, value),
                "buffer_kb" => set(&mut words.recording.buffer_kb, value.parse().ok()),
                "trace_clock" => set(&mut words.recording.clock, word(value)),
                "sample_ms" => set(&mut sample_ms, value.parse::<u32>().ok()),
                "sample_kb" => set(&mut sample_kb, value.parse::<u32>().ok()),
                "give_up_s" => {
                    let seconds = value.parse::<u32>().ok();
                    set(
                        &mut words.give_up,
                        seconds.map(|s| Duration::from_secs(s.into())),
                    )
                }
                // Set by the lab: neutral perturbations, and the access list of a trial.
                "perturb" | "prefetch" => true,
                _ => {
                    let (key, known) = (shown(key), names());
                    wrong.push(format!(
                        "unknown kernel parameter `{PREFIX}{key}`; known keys: {known}"
                    ));
                    continue;
                }
            };
            if !used {
                let expected = KEYS.iter().find(|k| k.0 == key).map_or("", |k| k.1);
                let found = shown(value);
                wrong.push(format!(
                    "kernel parameter `{PREFIX}{key}`: `{found}` is invalid; write {expected}"
                ));
            }
        }
        let period = match sample_ms {
            Some(0) => None,
            Some(ms) => Some(Duration::from_millis(ms.into())),
            None => sample_kb.map(|_| Sampling::PERIOD),
        };
        let most_bytes = sample_kb.map_or(Sampling::MOST_BYTES, |kb| {
            usize::try_from(kb)
                .unwrap_or(usize::MAX)
                .saturating_mul(1024)
        });
        words.sampling = period.map(|period| Sampling { period, most_bytes });
        (words, wrong)
    }
}

/// Sets what a word says, if it could be understood. The last one counts, as it
/// does for the kernel.
fn set<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    let good = value.is_some();
    if good {
        *place = value;
    }
    good
}

fn set_flag(place: &mut bool, value: &str) -> bool {
    let is_good = matches!(value, "0" | "1");
    if is_good {
        *place = value == "1";
    }
    is_good
}

fn set_events(events: &mut Vec<String>, value: &str) -> bool {
    let more: Option<Vec<String>> = value.split(',').map(word).collect();
    match more {
        Some(more) => {
            events.extend(more);
            true
        }
        None => false,
    }
}

fn names() -> String {
    let names: Vec<&str> = KEYS
        .iter()
        .map(|k| k.0)
        .filter(|k| *k != "perturb")
        .collect();
    names.join(", ")
}

/// The words of a command line, as the kernel parts them: a word goes to the
/// next white space that is not between quotes, and the quotes fall away.
fn split(command_line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut open, mut quoted) = (None::<String>, false);
    for c in command_line.chars() {
        if c.is_whitespace() && !quoted {
            words.extend(open.take());
            continue;
        }
        let word = open.get_or_insert_default();
        match c {
            '"' => quoted = !quoted,
            c => word.push(c),
        }
    }
    words.extend(open);
    words
}
