//! Whether a board can be used, without touching its power or its storage.

use super::adapter::Adapter;
use super::error::BoardError;
use super::file::{Board, DeployPower, Link, Power, Proof};
use super::lava;
use super::light::FirstLight;
use super::lock::Lock;
use super::reach::open;
use crate::serial::input::Input;
use crate::serial::listen::Console;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// One thing that a board needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardCheck {
    /// What it is: `power.on`.
    pub what: String,
    /// Whether it is fine.
    pub ok: bool,
    /// What was found.
    pub found: String,
    /// What to do, if it is not fine.
    pub advice: Option<String>,
}

impl BoardCheck {
    fn good(what: &str, found: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            ok: true,
            found: found.into(),
            advice: None,
        }
    }

    fn bad(what: &str, found: impl Into<String>, advice: &str) -> Self {
        Self {
            what: what.to_owned(),
            ok: false,
            found: found.into(),
            advice: Some(advice.to_owned()),
        }
    }
}

/// Checks the programs of every command, the console and the lock of `board`. No command
/// is run and the power is not switched; a labgrid place is acquired and released.
#[must_use]
pub fn doctor(board: &Board) -> Vec<BoardCheck> {
    let mut checks = vec![BoardCheck::good(
        "board",
        format!("{} ({})", board.name, board.file.display()),
    )];
    checks.push(lock(board));
    for (key, command) in commands(board) {
        checks.push(program(key, command, &board.folder()));
    }
    checks.extend(deploy(board));
    match open(board) {
        Ok(mut adapter) => {
            if let Link::Labgrid { place, .. } = &board.link {
                let found = format!("place `{place}` was acquired, and is released again");
                checks.push(BoardCheck::good("labgrid", found));
            }
            checks.push(match &board.link {
                Link::Lava { job, template, .. } => lava_job(job, template),
                _ => console(adapter.as_mut(), board),
            });
        }
        Err(e) => checks.push(BoardCheck::bad(
            "labgrid",
            e.to_string(),
            "start the coordinator and the exporter, and create the place",
        )),
    }
    checks.push(resets(board));
    checks.push(light(board));
    checks
}

fn lock(board: &Board) -> BoardCheck {
    let path = Lock::path(board);
    let shown = path.display();
    match Lock::look(board) {
        Ok((state, true)) => BoardCheck::bad(
            "lock",
            format!("{shown} is held by {}", state.owner),
            "wait until that run ends",
        ),
        Ok((state, false)) if !state.deployed.is_empty() => BoardCheck::bad(
            "lock",
            format!(
                "a run that was cut off left the variant `{}` on the board",
                state.deployed
            ),
            "run `firstlight lab restore --board FILE`, or start the run again",
        ),
        Ok(_) => BoardCheck::good("lock", format!("{shown} is free")),
        Err(e) => BoardCheck::bad(
            "lock",
            e.to_string(),
            "set `lock` to a file that you may write",
        ),
    }
}

/// All commands of the file, by key.
fn commands(board: &Board) -> Vec<(&'static str, &str)> {
    let mut all = Vec::new();
    if let Link::Commands { power, console, .. } = &board.link {
        match power {
            Power::Switch { on, off } => {
                all.push(("power.on", on.as_str()));
                all.push(("power.off", off.as_str()));
            }
            Power::Cycle(cycle) => all.push(("power.cycle", cycle.as_str())),
        }
        if let super::file::ConsoleAt::Exec(exec) = console {
            all.push(("console.exec", exec.as_str()));
        }
    }
    if let Link::Lava { run, .. } = &board.link {
        all.push(("lava.run", run.as_str()));
    }
    let deploy = &board.deploy;
    let optional = [
        ("deploy.run", &deploy.run),
        ("deploy.restore", &deploy.restore),
        ("deploy.recover", &deploy.recover),
    ];
    all.extend(
        optional
            .iter()
            .filter_map(|(k, c)| Some((*k, c.as_deref()?))),
    );
    if let FirstLight::Command(command) = &board.boot.first_light {
        all.push(("boot.first_light", command.as_str()));
    }
    if let Proof::Command { run, .. } = &board.proof {
        all.push(("proof.command", run.as_str()));
    }
    all
}

/// Words of the shell that are no programs.
const SHELL: &[&str] = &[
    ":", ".", "cd", "test", "[", "echo", "exec", "export", "if", "for", "while", "set", "true",
    "false", "kill", "sleep", "printf", "(", "{",
];

/// Whether the first program of a command is there.
fn program(key: &str, command: &str, folder: &Path) -> BoardCheck {
    let is_setting = |w: &&str| {
        w.split_once('=').is_some_and(|(n, _)| {
            !n.is_empty() && n.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let first = command.split_whitespace().find(|w| !is_setting(w));
    let Some(first) = first.map(|w| w.trim_matches(['\'', '"', ';', '('])) else {
        return BoardCheck::bad(key, "the command is empty", "write the command");
    };
    if SHELL.contains(&first) || first.contains('$') {
        return BoardCheck::good(key, format!("`{command}`: a command of the shell"));
    }
    let runs = |path: &Path| {
        let meta = std::fs::metadata(path);
        meta.is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    let found = match first.contains('/') {
        true => Some(folder.join(first)).filter(|p| runs(p)),
        false => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path)
                .map(|d| d.join(first))
                .find(|p| runs(p))
        }
    };
    match found {
        Some(path) => BoardCheck::good(key, format!("{} (not run)", path.display())),
        None => BoardCheck::bad(
            key,
            format!("`{first}` is not a program that can be run"),
            "install it, or correct the command in the board's file",
        ),
    }
}

fn deploy(board: &Board) -> Vec<BoardCheck> {
    let deploy = &board.deploy;
    let mut checks = Vec::new();
    if let Some(files) = &deploy.files {
        checks.push(match files.exists() {
            true => BoardCheck::good("deploy.files", files.display().to_string()),
            false => BoardCheck::bad(
                "deploy.files",
                format!("{} does not exist", files.display()),
                "mount the board's boot partition there, or correct the path",
            ),
        });
    }
    let by_job = matches!(board.link, Link::Lava { .. });
    if deploy.files.is_none() && deploy.run.is_none() && !by_job {
        checks.push(BoardCheck::bad(
            "deploy",
            "the file says neither `files` nor `run`, so only the baseline can be booted",
            "add `deploy.files`, or `deploy.run` and `deploy.restore`",
        ));
    }
    if deploy.power == DeployPower::On
        && matches!(
            &board.link,
            Link::Commands {
                power: Power::Cycle(_),
                ..
            }
        )
    {
        checks.push(BoardCheck::good(
            "deploy.power",
            "the board stays on between boots, because it can only be cycled",
        ));
    }
    checks
}

/// Whether the job of the baseline is one, as LAVA itself sees it.
fn lava_job(job: &Path, template: &str) -> BoardCheck {
    let shown = job.display();
    match lava::check_template(template) {
        Ok(true) => BoardCheck::good("lava.job", format!("{shown}: LAVA's schema accepts it")),
        Ok(false) => BoardCheck::good(
            "lava.job",
            format!(
                "{shown}, not validated: install lava-common (and python3-voluptuous) for that"
            ),
        ),
        Err(why) => BoardCheck::bad("lava.job", format!("{shown}: {why}"), "correct the job"),
    }
}

fn console(adapter: &mut dyn Adapter, board: &Board) -> BoardCheck {
    const ADVICE: &str = "check the cable and the address, and close other programs that use it";
    let found = adapter.console().map_err(|e: BoardError| e.to_string());
    match found {
        Ok((Console::At(place, settings), _)) => {
            match Input::open(&place, &settings, Duration::ZERO) {
                Ok(_) => BoardCheck::good("console", format!("{place} can be opened")),
                Err(e) => BoardCheck::bad("console", e.to_string(), ADVICE),
            }
        }
        Ok((Console::Of(_), _)) => BoardCheck::good("console", "a program writes it (not run)"),
        Err(e) => BoardCheck::bad("console", format!("{}: {e}", board.name), ADVICE),
    }
}

fn resets(board: &Board) -> BoardCheck {
    match &board.boot.loader {
        Some(pattern) => BoardCheck::good("boot.loader", format!("`{pattern}` begins each boot")),
        None => BoardCheck::good(
            "boot.loader",
            "not set: resets are counted by the kernel's first line, and not before it",
        ),
    }
}

fn light(board: &Board) -> BoardCheck {
    let light = &board.boot.first_light;
    let found = format!("`{light}`. {}", light.uncertainty());
    BoardCheck::good("boot.first_light", found)
}
