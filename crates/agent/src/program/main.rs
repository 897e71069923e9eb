//! The agent: one static program that runs on the target and computes nothing.

#[cfg(target_os = "linux")]
mod finish;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod kmsg;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod trial;

use std::process::ExitCode;

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "firstlight-agent: runs on Linux only");
    ExitCode::from(2)
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::{finish, init, kmsg, serve};
    use agent::here;
    use lexopt::prelude::*;
    use std::error::Error;
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use std::process::ExitCode;

    const HELP: &str = "\
firstlight-agent: captures a boot on the machine that boots

Usage: firstlight-agent here -o OUT    a capture of this machine's boot: OUT.tar, or a folder

In the lab, the agent starts itself in these roles:
       init        as /init of an initramfs: prepares the trial, starts the root's init
       finish      at first light: collects the capture and ends the trial
       @storage    serves the root as the modelled device

Example: firstlight-agent here -o boot.tar
";

    enum Role {
        Init,
        Finish,
        Storage,
        Here(PathBuf),
        Help,
    }

    pub(super) fn main() -> ExitCode {
        let role = match role() {
            Ok(role) => role,
            Err(why) => return said(&why),
        };
        let done = match role {
            // These two end the trial whatever happens: nobody is there to ask.
            Role::Init => return init::run().map_or_else(kmsg::give_up, |never| match never {}),
            Role::Finish => match finish::Trial::find() {
                Ok(trial) => {
                    return trial
                        .run()
                        .map_or_else(kmsg::give_up, |never| match never {});
                }
                // Not a trial: a machine that must not be restarted.
                Err(why) => Err(why),
            },
            Role::Storage => serve::run().inspect_err(|why| {
                // The boot will hang on its root: at least say why.
                kmsg::error(&why.to_string());
            }),
            Role::Here(out) => here(&out),
            Role::Help => std::io::stdout()
                .write_all(HELP.as_bytes())
                .map_err(Into::into),
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

    /// In the initramfs of a trial the agent is process 1, and is given
    /// whatever words the kernel's command line has.
    fn role() -> Result<Role, lexopt::Error> {
        if std::process::id() == 1 && Path::new(agent::config::PATH).exists() {
            return Ok(Role::Init);
        }
        if std::env::args_os().next().unwrap_or_default() == serve::ARGV0 {
            return Ok(Role::Storage);
        }
        let mut arguments = lexopt::Parser::from_env();
        let mut here = false;
        let mut out = None;
        while let Some(argument) = arguments.next()? {
            match argument {
                Value(verb) if verb == "init" && !here => {
                    return Err("`init` is for process 1 of a trial's initramfs".into());
                }
                Value(verb) if verb == "finish" && !here => return Ok(Role::Finish),
                Value(verb) if verb == "here" && !here => here = true,
                Short('o') | Long("output") if here => out = Some(arguments.value()?.into()),
                Short('h') | Long("help") => return Ok(Role::Help),
                other => return Err(other.unexpected()),
            }
        }
        match (here, out) {
            (true, Some(out)) => Ok(Role::Here(out)),
            (true, None) => Err("`here` needs a place for the capture: -o OUT".into()),
            (false, _) => Ok(Role::Help),
        }
    }

    fn here(out: &Path) -> Result<(), Box<dyn Error>> {
        let gathered = here::capture(out)?;
        for missing in gathered.missing {
            let here::Missing { what, why, advice } = missing;
            let _ = writeln!(std::io::stderr(), "without {what}: {why}; {advice}");
        }
        Ok(())
    }
}
