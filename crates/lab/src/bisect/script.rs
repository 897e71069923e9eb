//! Commands of the user: their output, and what a build makes.

use crate::error::{LabError, io_error};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The last words of a program that failed, in one line.
fn last_words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let last: Vec<&str> = text
        .lines()
        .rev()
        .filter(|l| !l.trim().is_empty())
        .take(1)
        .collect();
    last.first()
        .map_or("it said nothing", |l| l.trim())
        .to_owned()
}

/// What came of a command.
pub enum Ran {
    /// Its standard output.
    Fine(String),
    /// Its exit code, if it ended by itself, and its last words.
    Failed(Option<i32>, String),
}

/// Runs a command in `folder` with these variables. Its standard error is kept for the error.
///
/// # Errors
/// It cannot be started.
pub fn run(
    command: &[impl AsRef<OsStr>],
    folder: &Path,
    envs: &[(&str, &str)],
) -> Result<Ran, LabError> {
    let Some((program, args)) = command.split_first() else {
        return Err(LabError::Search(
            "no command was given; write it behind `--`".to_owned(),
        ));
    };
    let mut call = Command::new(program);
    call.args(args)
        .current_dir(folder)
        .envs(envs.iter().copied())
        .stdin(Stdio::null());
    let output = call
        .output()
        .map_err(io_error(Path::new(program.as_ref()), "cannot be started"))?;
    Ok(match output.status.success() {
        true => Ran::Fine(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Ran::Failed(output.status.code(), last_words(&output.stderr)),
    })
}

/// Lets the user's command build `to` of the list or configuration in `from`; what exists
/// already is not built again.
///
/// # Errors
/// The outer one: it cannot be started. The inner one: it failed, in a clause.
pub fn build(command: &str, from: &Path, to: &Path) -> Result<Result<(), String>, LabError> {
    if to.exists() {
        return Ok(Ok(()));
    }
    // Only what is whole has the name.
    let beside = to.with_extension("part");
    let words = [
        OsStr::new("sh"),
        OsStr::new("-c"),
        OsStr::new(command),
        OsStr::new("sh"),
        from.as_os_str(),
        beside.as_os_str(),
    ];
    Ok(match run(&words, Path::new("."), &[])? {
        Ran::Fine(_) if beside.is_file() => {
            let moved = capture::beside::rename(&beside, to);
            moved.map_err(io_error(to, "cannot be moved into place"))?;
            Ok(())
        }
        Ran::Fine(_) => Err("the build command wrote no file `$2`".to_owned()),
        Ran::Failed(_, words) => Err(format!("the build command failed: {words}")),
    })
}
