//! The agent as prefetcher: whatever is wrong with the list, the boot goes on.

use firstlight_agent::access::decode;
use firstlight_agent::prefetch::{Order, Played, Settings, memory, play_and_tell};
use lexopt::prelude::*;
use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

const HELP: &str = "\
firstlight-agent prefetch: read the files of an access list before they are needed

Usage: firstlight-agent prefetch LIST [OPTION...]

  --root DIR         folder that the paths in LIST start from [default: /]
  --enter            make DIR the root directory of this process once the first
                     metadata is requested; for an initramfs, which moves DIR
  --order ORDER      need (as recorded) or physical (as on the device)
                     [default: need; physical for a rotating disk]
  --window MS        sort by position within this much recorded time; 0: in all
                     [default: 250]
  --in-flight KIB    limit of data requested at once
                     [default: 1024; 8192 for a rotating disk]
  --request KIB      size limit of one read [default: 128]
  --infill KIB       also read gaps of at most this size [default: 16]
  --floor KIB        stop when less memory is available [default: 32768]
  --stable PERCENT   read only what this share of the recordings needed [default: 0]
  --tell             write a byte to standard output when DIR may be moved (with
                     --enter) and when the boot may begin
  --memory FILE      store here whether prefetching helped, and pause when it does not
  --no-idle          keep the normal I/O priority instead of the idle class
  --no-ring          use readahead(2) instead of io_uring
  --quiet            print only what is wrong

LIST may be - for standard input.

Example: firstlight-agent prefetch /var/lib/firstlight/boot.list --quiet

A list that is damaged, outdated, of a newer format or of another system gives
one sentence and exit code 0, because a boot continues without it.
";

/// The word of the kernel's command line by which a trial reads ahead:
/// `firstlight.prefetch=LIST[,OPTION[=VALUE]]...`; besides the options of the
/// program there is `wait`: init starts when all is read.
const WORD: &str = "firstlight.prefetch=";

/// The program's name then. systemd spares processes whose name begins with `@`.
const ARGV0: &str = "@firstlight-prefetch";

/// What the command line asks for.
pub struct Asked {
    /// The list, where the initramfs has it.
    list: Option<File>,
    /// The list's path, and options.
    words: Vec<String>,
}

/// Whether the command line asks for a prefetcher. To be called while the initramfs
/// is there.
pub fn asked(command_line: &str) -> Option<Asked> {
    let mut words = command_line.split_ascii_whitespace();
    let asked = words.find_map(|w| w.strip_prefix(WORD))?;
    let words: Vec<String> = asked.split(',').map(str::to_owned).collect();
    let list = File::open(words.first()?).ok();
    Some(Asked { list, words })
}

/// A prefetcher that runs, or that is to be started in the root.
pub struct Started {
    asked: Asked,
    early: Option<Running>,
}

impl Started {
    /// Starts a prefetcher of what is below `root`, which is mounted and will be moved to `/`;
    /// not if its list is in there.
    pub fn below(asked: Asked, root: &Path) -> io::Result<Self> {
        let early = asked.list.as_ref().map(File::try_clone).transpose()?;
        let early = early.map(|list| spawn(&asked, list.into(), Some(root)));
        let early = early.transpose()?;
        Ok(Self { asked, early })
    }

    /// One that is started when the boot waits for it.
    pub const fn later(asked: Asked) -> Self {
        Self { asked, early: None }
    }

    /// Comes back when the root may be moved.
    pub fn has_asked(&mut self) -> io::Result<()> {
        match &mut self.early {
            Some(running) => running.told(),
            None => Ok(()),
        }
    }

    /// Comes back when the boot should go on.
    pub fn has_begun(self) -> io::Result<()> {
        let mut running = match (self.early, &self.asked.list) {
            (Some(running), _) => running,
            (None, Some(list)) => spawn(&self.asked, list.try_clone()?.into(), None)?,
            (None, None) => spawn(&self.asked, Stdio::null(), None)?,
        };
        if running.wait {
            running.child.wait()?;
            return Ok(());
        }
        running.told()
    }
}

/// A prefetcher that runs.
struct Running {
    child: Child,
    /// Whether init starts only when it has ended.
    wait: bool,
}

impl Running {
    /// Waits for one byte. If it ends without a word, that is an answer too.
    fn told(&mut self) -> io::Result<()> {
        if let Some(told) = &mut self.child.stdout {
            let _ = told.read(&mut [0])?;
        }
        Ok(())
    }
}

/// Starts a prefetcher; `list` is its standard input, and the list if that is at hand.
fn spawn(asked: &Asked, list: Stdio, root: Option<&Path>) -> io::Result<Running> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0(ARGV0).arg("prefetch").arg("--tell");
    if let Some(root) = root {
        command.arg("--enter").arg("--root").arg(root);
    }
    let mut words = asked.words.iter();
    let path = words.next();
    match asked.list {
        Some(_) => command.arg("-"),
        None => command.args(path),
    };
    command.stdin(list);
    let mut wait = false;
    for part in words {
        match part.split_once('=') {
            Some((option, value)) => command.arg(format!("--{option}")).arg(value),
            None if part == "wait" => {
                wait = true;
                &mut command
            }
            None => command.arg(format!("--{part}")),
        };
    }
    let child = command.stdout(Stdio::piped()).spawn()?;
    Ok(Running { child, wait })
}

struct Arguments {
    list: PathBuf,
    settings: Settings,
    memory: Option<PathBuf>,
    quiet: bool,
    tell: bool,
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
            // Of a list of which nothing was read, why is all there is to say.
            match &played.stopped {
                Some(why) if arguments.quiet || played.reads == 0 => say(why),
                Some(why) => say(&format!("{why}; {}", summary(&played))),
                None if arguments.quiet => {}
                None => say(&summary(&played)),
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
        "read {} KiB of {} files and {} KiB of metadata in {} reads{}; {} KiB were already in \
         memory, {} files have changed since the recording",
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
    let mut bytes = Vec::new();
    match arguments.list.as_os_str() == "-" {
        true => std::io::stdin().read_to_end(&mut bytes)?,
        false => File::open(&arguments.list)?.read_to_end(&mut bytes)?,
    };
    let list = decode(&bytes)?;
    let idle = arguments
        .memory
        .as_ref()
        .map(|m| memory::idle_runs(m, &bytes));
    if let Some(idle) = idle.filter(|n| *n >= memory::MOST_IDLE_RUNS) {
        return Ok(Played {
            stopped: Some(format!(
                "prefetching is off until the list changes, because it did not help the last \
                 {idle} times"
            )),
            ..Played::default()
        });
    }
    let played = play_and_tell(&list, &arguments.settings, &mut |_| {
        if arguments.tell {
            let mut out = std::io::stdout();
            let _ = out.write_all(b"\n").and_then(|()| out.flush());
        }
    })?;
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
    let (mut memory, mut quiet, mut tell) = (None, false, false);
    while let Some(argument) = arguments.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Value(path) if list.is_none() => list = Some(PathBuf::from(path)),
            Long("root") => settings.root = PathBuf::from(arguments.value()?),
            Long("order") => {
                let word = arguments.value()?.string()?;
                settings.order = match &*word {
                    "need" => Some(Order::Need),
                    "physical" => Some(Order::Physical),
                    _ => return Err("--order: write `physical` or `need`".into()),
                };
            }
            Long("window") => {
                settings.window_us = number(&mut arguments)?.saturating_mul(1000);
            }
            Long("in-flight") => settings.in_flight_bytes = Some(number(&mut arguments)? << 10),
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
            Long("enter") => settings.enter = true,
            Long("tell") => tell = true,
            Long("memory") => memory = Some(PathBuf::from(arguments.value()?)),
            Long("no-idle") => settings.idle = false,
            Long("no-ring") => settings.ring = false,
            Short('q') | Long("quiet") => quiet = true,
            other => return Err(other.unexpected()),
        }
    }
    let list = list.ok_or("the access list is missing; write `firstlight-agent prefetch LIST`")?;
    Ok(Some(Arguments {
        list,
        settings,
        memory,
        quiet,
        tell,
    }))
}

/// A number of at most 40 bits: none of what is asked for is larger.
fn number(arguments: &mut lexopt::Parser) -> Result<u64, lexopt::Error> {
    let n: u64 = arguments.value()?.parse()?;
    Ok(n.min(1 << 40))
}
