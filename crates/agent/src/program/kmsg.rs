//! What the agent says in the kernel's log.

use rustix::system::{RebootCommand, reboot};
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// So long a restart may take before it is done without the drivers.
const RESTART_LIMIT: Duration = Duration::from_secs(10);

/// Writes one line, `firstlight: ...`.
pub fn say(line: &str) -> io::Result<()> {
    write("<6>", line)
}

/// Says what went wrong. There is nobody to tell if that fails.
pub fn error(why: &str) {
    let _ = write("<3>", &format!("error: {why}"));
}

fn write(level: &str, line: &str) -> io::Result<()> {
    // The kernel takes one record a write.
    let record = format!("{level}firstlight: {line}\n");
    let mut kmsg = File::options().write(true).open("/dev/kmsg")?;
    kmsg.write_all(record.as_bytes())
}

/// Says why the trial cannot go on, and restarts the machine, which ends it.
pub fn give_up(why: &dyn Error) -> ExitCode {
    error(&why.to_string());
    let refused = restart();
    let _ = writeln!(io::stderr(), "firstlight-agent: {why} ({refused:?})");
    ExitCode::from(2)
}

/// Restarts the machine, which ends a trial.
///
/// Linux asks drivers first, and that of NOR flash waits for ever while a cramfs is
/// mapped from it (`cfi_intelext_reset`, seen with 6.1): then nobody is asked.
pub fn restart() -> io::Result<()> {
    let at_once = || {
        thread::sleep(RESTART_LIMIT);
        fs::write("/proc/sysrq-trigger", "b")
    };
    // Without it the machine is restarted all the same, where no driver waits.
    let _ = thread::Builder::new().spawn(at_once);
    Ok(reboot(RebootCommand::Restart)?)
}
