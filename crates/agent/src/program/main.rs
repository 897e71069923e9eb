//! The agent: one static program that runs on the target and computes nothing.

#[cfg(target_os = "linux")]
mod finish;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod job;
#[cfg(target_os = "linux")]
mod kmsg;
#[cfg(target_os = "linux")]
mod measure;
#[cfg(target_os = "linux")]
mod own;
#[cfg(target_os = "linux")]
mod prefetch;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod state;
#[cfg(target_os = "linux")]
mod trial;
#[cfg(target_os = "linux")]
mod units;
#[cfg(target_os = "linux")]
mod watcher;

use std::process::ExitCode;

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "firstlight-agent runs only on Linux");
    ExitCode::from(2)
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::job::Job;
    use crate::{finish, init, kmsg, measure, own, prefetch, serve, watcher};
    use firstlight_agent::config::{KEYS, Out};
    use firstlight_agent::deliver::{Older, deliver, folder_of};
    use firstlight_agent::here;
    use lexopt::prelude::*;
    use std::error::Error;
    use std::fmt::Write as _;
    use std::io::Write;
    use std::path::Path;
    use std::process::ExitCode;

    const HELP: &str = "\
firstlight-agent: capture a boot on the machine that boots

Usage: firstlight-agent collect -o OUT    after the boot: save its logs and traces
       firstlight-agent prefetch LIST     read the files of LIST before they are needed;
                                          see `firstlight-agent prefetch --help`
       firstlight-agent measure DEVICE    read DEVICE for a few seconds and print how long
                                          that took, for `firstlight calibrate`
       firstlight-agent clocks            read the hardware counter beside the kernel's
                                          clocks: writes two lines into the kernel log,
                                          and prints them
       init=/path/to/firstlight-agent     on the kernel command line: capture the
                                          next boot and start the real init

OUT is a name that ends in .tar, a new folder, - for standard output,
device:PATH for a block device, or port:PATH[,BAUD[,COPIES]] for a serial or
virtio port (`firstlight` reassembles the capture from its log).

Kernel parameters for a boot that the agent starts:
";

    const HELP_END: &str = "
Examples: firstlight-agent collect -o boot.tar
          firstlight-agent clocks && dmesg > dmesg.txt
          firstlight-agent collect -o - | ssh host 'cat > boot.tar'
          init=/usr/sbin/firstlight-agent firstlight.first_light=listen:22
          firstlight.sample_ms=100 firstlight.events=block:*,sched:sched_process_*

In the lab, the agent also starts itself in other roles: init, finish, @...
";

    enum Role {
        Init,
        OwnInit,
        Finish,
        Storage,
        Watcher,
        Collect(Out),
        Measure(String),
        Clocks,
        Prefetch,
        Help,
    }

    pub(super) fn main() -> ExitCode {
        let role = match role() {
            Ok(role) => role,
            Err(why) => return said(&why),
        };
        let done = match role {
            // A trial ends whatever happens: nobody is there to ask.
            Role::Init => {
                return match init::run() {
                    Err(why) => kmsg::give_up(why.as_ref()),
                };
            }
            Role::OwnInit => return own::run(),
            Role::Finish => match finish::Boot::find() {
                Ok(boot) => {
                    let trial = boot.is_trial();
                    ended(trial, boot.run())
                }
                // Not a trial: a machine that must not be restarted.
                Err(why) => Err(why),
            },
            Role::Watcher => {
                let trial = Job::find().is_ok_and(|job| job.is_trial());
                ended(trial, watcher::run())
            }
            Role::Storage => serve::run().inspect_err(|why| {
                // The boot will hang on its root: at least say why.
                kmsg::error(&why.to_string());
            }),
            Role::Collect(out) => collect(&out),
            Role::Measure(device) => measure::run(&device),
            Role::Clocks => clocks(),
            Role::Prefetch => return prefetch::run(),
            Role::Help => help(),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => said(why.as_ref()),
        }
    }

    fn said(why: &(impl std::fmt::Display + ?Sized)) -> ExitCode {
        let _ = writeln!(std::io::stderr(), "firstlight-agent: {why}");
        ExitCode::from(2)
    }

    /// What went wrong is said in the kernel's log, where somebody may look; a
    /// trial ends with it.
    fn ended(trial: bool, done: Result<(), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
        done.inspect_err(|why| match trial {
            true => {
                kmsg::give_up(why.as_ref());
            }
            false => kmsg::error(&why.to_string()),
        })
    }

    /// As process 1 the agent is given whatever words the kernel's command line
    /// has; in the initramfs of a trial there is its configuration.
    fn role() -> Result<Role, lexopt::Error> {
        let first = std::env::args().nth(1).unwrap_or_default();
        if std::process::id() == 1
            && !matches!(
                &*first,
                "collect" | "clocks" | "measure" | "prefetch" | "-h" | "--help"
            )
        {
            let trial = Path::new(firstlight_agent::config::PATH).exists();
            return Ok(if trial { Role::Init } else { Role::OwnInit });
        }
        let name = std::env::args_os().next().unwrap_or_default();
        if name == serve::ARGV0 {
            return Ok(Role::Storage);
        }
        if name == watcher::ARGV0 {
            return Ok(Role::Watcher);
        }
        if first == "prefetch" {
            return Ok(Role::Prefetch);
        }
        if first == "clocks" {
            return Ok(Role::Clocks);
        }
        if first == "measure" {
            let device = std::env::args().nth(2);
            let wanted = "the device is missing; write `firstlight-agent measure /dev/mmcblk0`";
            return Ok(Role::Measure(device.ok_or(wanted)?));
        }
        let mut arguments = lexopt::Parser::from_env();
        let mut collect = false;
        let mut out = None;
        while let Some(argument) = arguments.next()? {
            match argument {
                Value(verb) if verb == "init" && !collect => {
                    return Err(
                        "`init` runs only as process 1; set init= to the agent on the \
                        kernel command line"
                            .into(),
                    );
                }
                Value(verb) if verb == "finish" && !collect => return Ok(Role::Finish),
                Value(verb) if verb == "collect" && !collect => collect = true,
                Short('o') | Long("output") if collect => {
                    let text = arguments.value()?.string()?;
                    let parsed = Out::parse(&text);
                    let wrong = || format!("-o: `{text}` is invalid; write {}", Out::EXPECTED);
                    out = Some(parsed.ok_or_else(wrong)?);
                }
                Short('h') | Long("help") => return Ok(Role::Help),
                other => return Err(other.unexpected()),
            }
        }
        match (collect, out) {
            (true, Some(out)) => Ok(Role::Collect(out)),
            (true, None) => Err("the destination of the capture is missing; write \
                `firstlight-agent collect -o OUT`"
                .into()),
            (false, _) => Ok(Role::Help),
        }
    }

    fn help() -> Result<(), Box<dyn Error>> {
        let mut text = HELP.to_owned();
        for (key, takes, what) in KEYS.iter().filter(|k| k.0 != "perturb") {
            let mut line = format!("  firstlight.{key}=");
            for word in format!("{what}: {takes}").split(' ') {
                if line.len() + word.len() >= 78 {
                    writeln!(text, "{line}")?;
                    line = " ".repeat(5);
                }
                write!(line, " {word}")?;
            }
            writeln!(text, "{line}")?;
        }
        text.push_str(HELP_END);
        Ok(std::io::stdout().write_all(text.as_bytes())?)
    }

    fn clocks() -> Result<(), Box<dyn Error>> {
        let said = here::read_clocks();
        if let Some(why) = &said.refused {
            let _ = writeln!(std::io::stderr(), "firstlight-agent: {why}");
        }
        let text = said.lines.join("\n") + "\n";
        Ok(std::io::stdout().write_all(text.as_bytes())?)
    }

    fn collect(out: &Out) -> Result<(), Box<dyn Error>> {
        let mut gathered = here::gather(None);
        gathered.more(folder_of(out).filter(|f| f.is_dir()));
        for note in gathered.notes() {
            let _ = writeln!(std::io::stderr(), "{note}");
        }
        Ok(deliver(&gathered, out, Older::Keep)?)
    }
}
