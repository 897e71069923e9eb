//! Virtual environments of Python under `target/`, for tests that need packages of PyPI.

use crate::root;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The Python of the environment in the folder `target/NAME/venv`, with the package in the
/// folder `package` (and its extras, in brackets) installed as a link to its source.
///
/// # Errors
/// Why there is none, in a clause.
pub fn with(name: &str, package: &str) -> Result<PathBuf, &'static str> {
    let python = make(&root().join("target").join(name).join("venv"))?;
    match pip(&python, package) {
        true => Ok(python),
        false => Err("pip cannot install the package: no network, or no wheels for this machine"),
    }
}

/// The Python of the environment in the folder `venv`, which is made if it is not there.
///
/// # Errors
/// Why there is none, in a clause.
pub fn make(venv: &Path) -> Result<PathBuf, &'static str> {
    let python = venv.join("bin/python");
    if !python.is_file() && !quiet("python3", &["-m", "venv", &text(venv)]) {
        return Err("python3 has no venv (package python3-venv)");
    }
    Ok(python)
}

/// Installs a package from its folder; whether that worked.
pub fn pip(python: &Path, package: &str) -> bool {
    let install = ["-m", "pip", "install", "--quiet", "--editable", package];
    quiet(&text(python), &install)
}

/// Runs a program in the workspace; whether it did its work.
pub fn quiet(program: &str, args: &[&str]) -> bool {
    let status = Command::new(program)
        .args(args)
        .current_dir(root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|s| s.success())
}

/// A path as an argument.
pub fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
