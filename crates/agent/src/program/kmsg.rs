//! What the agent says in the kernel's log.

use rustix::system::{RebootCommand, reboot};
use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;

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
    let refused = reboot(RebootCommand::Restart);
    let _ = writeln!(io::stderr(), "firstlight-agent: {why} ({refused:?})");
    ExitCode::from(2)
}
