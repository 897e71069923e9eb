//! Programs that end with this one, however it ends.

use std::io::{self, PipeWriter};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Reads until the other end of the pipe is closed, which the kernel does when this program
/// dies, and then ends the whole process group. The command itself has neither pipe nor input.
/// A shell gives what it starts in the background an empty input, so the pipe takes descriptor 3.
const GUARD: &str = "exec 3<&0 </dev/null\n\
    { read -r _; kill -KILL 0; } <&3 3<&- >/dev/null 2>&1 &\n\
    exec 3<&-\neval \"$1\"";

/// Holds programs alive: they end when it is dropped, or when this program dies.
#[derive(Debug)]
pub struct Guard {
    _alive: PipeWriter,
}

/// A shell with a command, in a process group of its own, which ends with the guard. Its
/// output is the caller's to set.
///
/// # Errors
/// If there is no pipe.
pub fn shell(command: &str) -> io::Result<(Command, Guard)> {
    let (alive, writer) = io::pipe()?;
    let mut shell = Command::new("sh");
    shell
        .args(["-c", GUARD, "sh", command])
        .stdin(Stdio::from(alive))
        .process_group(0);
    Ok((shell, Guard { _alive: writer }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;
    use std::io::Read;

    #[test]
    fn a_program_runs_as_without_a_guard() {
        let (mut command, guard) = shell("cat; echo \"a  b\" 'c'; exit 3").unwrap();
        let out = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stdout), "a  b c\n");
        assert_eq!(out.status.code(), Some(3));
        drop(guard);
    }

    #[test]
    fn programs_end_with_their_guard() {
        let (reader, writer) = io::pipe().unwrap();
        let mut output = reader;
        let (mut command, guard) = shell("echo up; sleep 600 & sleep 600").unwrap();
        let mut child = command.stdout(writer).spawn().unwrap();
        drop(command);
        let mut said = [0; 3];
        output.read_exact(&mut said).unwrap();
        drop(guard);
        // Both writers of the pipe are gone.
        assert_eq!(output.read(&mut said).unwrap(), 0);
        assert!(!child.wait().unwrap().success());
    }
}
