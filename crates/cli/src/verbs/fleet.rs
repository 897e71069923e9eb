//! `firstlight fleet`: the program that stores and queries many boots, called as git
//! calls its sub-programs.

use anyhow::{Context, Result, bail};
use clap::Args;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The program, as its Python package installs it.
const PROGRAM: &str = "firstlight-fleet";

/// The module of that package.
const MODULE: &str = "firstlight_fleet";

/// Where that program finds this one, to read boots with `firstlight rows`.
const OURSELVES: &str = "FIRSTLIGHT";

/// The arguments of `fleet`: those of the other program.
#[derive(Debug, Args)]
pub struct Fleet {
    /// Command of firstlight-fleet and its arguments; `firstlight fleet --help` lists them
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub arguments: Vec<OsString>,
}

/// Becomes the other program; returns only if there is none.
pub fn run(args: &Fleet) -> Result<()> {
    let ourselves = std::env::current_exe().context("the path of this program is unknown")?;
    let call = |mut command: Command| {
        command
            .args(&args.arguments)
            .env(OURSELVES, &ourselves)
            .exec()
    };
    let error = call(Command::new(PROGRAM));
    if error.kind() != ErrorKind::NotFound {
        return Err(error).context(format!("{PROGRAM} cannot be started"));
    }
    if has_module() {
        let mut python = Command::new("python3");
        python.args(["-m", MODULE]);
        let error = call(python);
        return Err(error).context("python3 cannot be started");
    }
    bail!(
        "`firstlight fleet` needs the Python package {PROGRAM}; install it with \
         `pipx install {PROGRAM}`, `uv tool install {PROGRAM}` or `pip install {PROGRAM}`"
    )
}

/// Whether python3 has the package.
fn has_module() -> bool {
    let find = format!("import importlib.util as u, sys; sys.exit(not u.find_spec('{MODULE}'))");
    let found = Command::new("python3")
        .args(["-c", &find])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    found.is_ok_and(|status| status.success())
}
