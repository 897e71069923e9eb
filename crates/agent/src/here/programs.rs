//! Programs of the system, asked for what they print.

use std::io::{self, Read};
use std::process::{Command, Stdio};

/// What a program prints, if it ends well.
pub(super) fn run(program: &str, arguments: &[&str]) -> io::Result<Vec<u8>> {
    let (bytes, whole) = run_at_most(program, arguments, u64::MAX)?;
    debug_assert!(whole, "nobody prints as much");
    Ok(bytes)
}

/// The first `most` bytes that a program prints, if it ends well, and whether
/// that is all.
pub(super) fn run_at_most(
    program: &str,
    arguments: &[&str],
    most: u64,
) -> io::Result<(Vec<u8>, bool)> {
    let mut child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut printed = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.by_ref().take(most).read_to_end(&mut printed)?;
        if printed.len() as u64 == most && stdout.read(&mut [0])? > 0 {
            child.kill()?;
            child.wait()?;
            return Ok((printed, false));
        }
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok((printed, true));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said
        .lines()
        .next()
        .unwrap_or("the program failed without a message");
    Err(io::Error::other(said.to_owned()))
}
