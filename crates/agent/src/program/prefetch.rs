//! The agent as prefetcher: whatever is wrong with the list, the boot goes on.

use agent::access::decode;
use agent::prefetch::{Order, Played, Settings, memory, play};
use lexopt::prelude::*;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
firstlight-agent prefetch: reads ahead of need what an access list names

Usage: firstlight-agent prefetch LIST [OPTION...]

  --root DIR         the folder that is / for the list [default: /]
  --order ORDER      physical (as it lies on the device), or need
  --window MS        order within so much of the recorded time; 0: all at once
                     [default: all for disks that turn, else 250]
  --in-flight KIB    the most that is asked for at once [default: 2048]
  --request KIB      the largest read [default: 128]
  --infill KIB       read holes up to this long as well [default: 16]
  --floor KIB        stop when less memory is available [default: 32768]
  --stable PERCENT   only what so many of the recordings needed [default: 0]
  --memory FILE      remember here whether it helped, and rest when it does not
  --no-idle          do not let the I/O of others go first
  --no-ring          use readahead(2), not io_uring
  --quiet            say nothing that is not wrong

Example: firstlight-agent prefetch /var/lib/firstlight/boot.list --order need

A list that is damaged, old, newer than this program or of another system is
told in one sentence, and the exit code is 0: a boot goes on without it.
";

struct Arguments {
    list: PathBuf,
    settings: Settings,
    memory: Option<PathBuf>,
    quiet: bool,
}

/// Reads ahead.
pub fn run() -> ExitCode {
    let arguments = match arguments() {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            let _ = std::io::stdout().write_all(HELP.as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            say(&why.to_string());
            return ExitCode::from(2);
        }
    };
    match done(&arguments) {
        Ok(played) => {
            if let Some(why) = &played.stopped {
                say(why);
            }
            if !arguments.quiet {
                say(&summary(&played));
            }
        }
        Err(why) => say(&format!("{}: {why}", arguments.list.display())),
    }
    ExitCode::SUCCESS
}

fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "firstlight-agent: {what}");
}

fn summary(played: &Played) -> String {
    format!(
        "read ahead {} KiB of {} files and {} KiB of metadata in {} reads{}; {} KiB were in memory, \
         {} files are not what was recorded",
        (played.bytes - played.metadata_bytes.min(played.bytes)) >> 10,
        played.files,
        played.metadata_bytes >> 10,
        played.reads,
        if played.ring { "" } else { " without io_uring" },
        played.resident_bytes >> 10,
        played.stale
    )
}

fn done(arguments: &Arguments) -> Result<Played, Box<dyn Error>> {
    let bytes = fs::read(&arguments.list)?;
    let list = decode(&bytes)?;
    let idle = arguments
        .memory
        .as_ref()
        .map(|m| memory::idle_runs(m, &bytes));
    if let Some(idle) = idle.filter(|n| *n >= memory::MOST_IDLE_RUNS) {
        return Ok(Played {
            stopped: Some(format!(
                "it did not help the last {idle} times: it rests until the list changes"
            )),
            ..Played::default()
        });
    }
    let played = play(&list, &arguments.settings)?;
    if let (Some(file), Some(idle)) = (&arguments.memory, idle) {
        let now = match played.stopped {
            Some(_) => idle + 1,
            None => 0,
        };
        // The root may still be read-only.
        let _ = memory::keep(file, &bytes, now);
    }
    Ok(played)
}

fn arguments() -> Result<Option<Arguments>, lexopt::Error> {
    let mut arguments = lexopt::Parser::from_env();
    // The word `prefetch` itself.
    arguments.next()?;
    let mut list = None;
    let mut settings = Settings::default();
    let (mut memory, mut quiet) = (None, false);
    while let Some(argument) = arguments.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Value(path) if list.is_none() => list = Some(PathBuf::from(path)),
            Long("root") => settings.root = PathBuf::from(arguments.value()?),
            Long("order") => {
                let word = arguments.value()?.string()?;
                settings.order = match &*word {
                    "need" => Order::Need,
                    "physical" => Order::Physical,
                    _ => return Err("--order takes physical or need".into()),
                };
            }
            Long("window") => {
                settings.window_us = Some(number(&mut arguments)?.saturating_mul(1000))
            }
            Long("in-flight") => settings.in_flight_bytes = number(&mut arguments)? << 10,
            Long("request") => {
                let kib = number(&mut arguments)?.clamp(4, 4096);
                settings.request_bytes = u32::try_from(kib << 10).unwrap_or(1 << 22);
            }
            Long("infill") => settings.infill_bytes = number(&mut arguments)? << 10,
            Long("floor") => settings.floor_bytes = number(&mut arguments)? << 10,
            Long("stable") => {
                let percent = number(&mut arguments)?.min(100);
                settings.stable_percent = u32::try_from(percent).unwrap_or(100);
            }
            Long("memory") => memory = Some(PathBuf::from(arguments.value()?)),
            Long("no-idle") => settings.idle = false,
            Long("no-ring") => settings.ring = false,
            Short('q') | Long("quiet") => quiet = true,
            other => return Err(other.unexpected()),
        }
    }
    let list = list.ok_or("`prefetch` needs a list: firstlight-agent prefetch LIST")?;
    Ok(Some(Arguments {
        list,
        settings,
        memory,
        quiet,
    }))
}

/// A number of at most 40 bits: none of what is asked for is larger.
fn number(arguments: &mut lexopt::Parser) -> Result<u64, lexopt::Error> {
    let n: u64 = arguments.value()?.parse()?;
    Ok(n.min(1 << 40))
}
