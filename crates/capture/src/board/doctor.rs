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
use std::net::ToSocketAddrs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
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
        checks.push(match syntax(command) {
            Ok(()) => programs(key, command, &board.folder()),
            Err(why) => BoardCheck::bad(
                key,
                format!("`{command}`: the shell cannot read it: {why}"),
                "correct the quotes and brackets of the command",
            ),
        });
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
        Err(e) => checks.push(match &board.link {
            Link::Labgrid { .. } => BoardCheck::bad(
                "labgrid",
                e.to_string(),
                "start the coordinator and the exporter, and create the place",
            ),
            _ => BoardCheck::bad("board", e.to_string(), "correct the board's file"),
        }),
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
    if let Some((mount, unmount)) = &deploy.mount {
        all.push(("deploy.mount", mount.as_str()));
        all.push(("deploy.unmount", unmount.as_str()));
    }
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
    if let Some(seen) = &board.power_seen {
        all.push(("power.seen", seen.as_str()));
    }
    if let FirstLight::Command(command) | FirstLight::Watch(command) = &board.boot.first_light {
        all.push(("boot.first_light", command.as_str()));
    }
    if let Some(state) = &board.state {
        all.push(("state.command", state.run.as_str()));
    }
    if let Proof::Command { run, .. } = &board.proof {
        all.push(("proof.command", run.as_str()));
    }
    all
}

/// Words of the shell that are no programs.
const SHELL: &[&str] = &[
    "!", "(", ".", ":", "[", "[[", "case", "cd", "command", "do", "done", "echo", "elif", "else",
    "esac", "eval", "exec", "exit", "export", "false", "fi", "for", "if", "kill", "printf", "pwd",
    "read", "return", "set", "shift", "test", "then", "trap", "true", "type", "ulimit", "umask",
    "unset", "until", "wait", "while", "{", "}",
];

/// Words after which another command begins.
const BEFORE: &[&str] = &[
    "!", "(", "command", "do", "elif", "else", "env", "eval", "exec", "if", "nice", "nohup",
    "sudo", "then", "time", "until", "while", "{",
];

/// Whether the shell can read a command. It runs nothing.
fn syntax(command: &str) -> Result<(), String> {
    let out = Command::new("sh")
        .args(["-n", "-c", command])
        .stdin(Stdio::null())
        .output()
        .map_err(|e| e.to_string())?;
    match out.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&out.stderr)
            .trim()
            .replace('\n', ", ")),
    }
}

/// The programs that a command starts, as far as its text says so: the first word of each
/// command in it. What stands in quotes or behind `$` is not looked into.
fn started(command: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut word = String::new();
    let (mut is_begin, mut is_plain) = (true, true);
    let (mut quote, mut is_file) = (None, false);
    // Patterns of a `case` look like commands.
    let has_case = command.split_whitespace().any(|w| w == "case");
    let mut chars = command.chars().peekable();
    let mut end = |word: &mut String, is_begin: &mut bool, is_plain: &mut bool| {
        let text = std::mem::take(word);
        let plain = std::mem::replace(is_plain, true);
        if text.is_empty() {
            return;
        }
        let is_setting = text.split_once('=').is_some_and(|(n, _)| {
            !n.is_empty() && n.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        let is_redirection = text.starts_with(['<', '>']) || text.starts_with("2>");
        // The file of a redirection may be a word of its own.
        let is_other = std::mem::replace(&mut is_file, text.ends_with(['<', '>']));
        if !*is_begin || is_setting || is_redirection || is_other {
            return;
        }
        *is_begin = BEFORE.contains(&text.as_str());
        let known = SHELL.contains(&text.as_str()) || all.contains(&text);
        if plain && !known && !has_case && !text.starts_with('-') {
            all.push(text);
        }
    };
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => quote = Some(c),
            (None, '\\') => word.extend(chars.next()),
            (None, '#') if word.is_empty() => while chars.next_if(|c| *c != '\n').is_some() {},
            (None, '$' | '`') => {
                is_plain = false;
                word.push(c);
                // What stands in it is run, but its end is not found here.
                if c == '`' || chars.peek() == Some(&'(') {
                    return all;
                }
            }
            (None, ' ' | '\t') => end(&mut word, &mut is_begin, &mut is_plain),
            (None, ';' | '|' | '\n' | '(' | ')') => {
                end(&mut word, &mut is_begin, &mut is_plain);
                is_begin = true;
            }
            (None, '&') if word.ends_with(['>', '<']) || chars.peek() == Some(&'>') => word.push(c),
            (None, '&') => {
                end(&mut word, &mut is_begin, &mut is_plain);
                is_begin = true;
            }
            (None, c) => word.push(c),
        }
    }
    end(&mut word, &mut is_begin, &mut is_plain);
    all
}

/// Whether the programs of a command are there.
fn programs(key: &str, command: &str, folder: &Path) -> BoardCheck {
    let started = started(command);
    if started.is_empty() {
        return BoardCheck::good(
            key,
            format!("`{command}`: a command of the shell (not run)"),
        );
    }
    let runs = |path: &Path| {
        let meta = std::fs::metadata(path);
        meta.is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    let found = |program: &String| match program.contains('/') {
        true => {
            let path = folder.join(program.trim_start_matches("./"));
            Some(path).filter(|p| runs(p))
        }
        false => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path)
                .map(|d| d.join(program))
                .find(|p| runs(p))
        }
    };
    let mut there = Vec::new();
    for program in &started {
        match found(program) {
            Some(path) => there.push(path.display().to_string()),
            None => {
                return BoardCheck::bad(
                    key,
                    format!("`{program}` is not a program that can be run"),
                    "install it, or correct the command in the board's file",
                );
            }
        }
    }
    BoardCheck::good(key, format!("{} (not run)", there.join(", ")))
}

fn deploy(board: &Board) -> Vec<BoardCheck> {
    let deploy = &board.deploy;
    let mut checks = Vec::new();
    if let Some(files) = &deploy.files {
        checks.push(match files.exists() {
            _ if deploy.mount.is_some() => BoardCheck::good(
                "deploy.files",
                format!("{}, which `deploy.mount` fills (not run)", files.display()),
            ),
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
    const KEY: &str = "boot.first_light";
    let light = &board.boot.first_light;
    if let FirstLight::Tcp(address) | FirstLight::Http { address, .. } = light
        && let Err(e) = address.to_socket_addrs()
    {
        return BoardCheck::bad(
            KEY,
            format!("`{light}`: {address} cannot be resolved: {e}"),
            "write the IP address, or add the name to /etc/hosts: a name that only the running \
             board announces is found late",
        );
    }
    let mut found = format!("`{light}`. {}", light.uncertainty());
    if let Some(known) = board.boot.light_error {
        found.push_str(&format!(
            " `boot.light_error_s` says: at most {} s late.",
            known.as_secs_f64()
        ));
    }
    BoardCheck::good(KEY, found)
}

#[cfg(test)]
mod tests {
    use super::{started, syntax};

    #[test]
    fn the_programs_of_a_command_are_found() {
        for (command, programs) in [
            ("usbrelay BENCH_1=0", &["usbrelay"][..]),
            (
                "sync -f /media/b && umount /media/b; usbsdmux /dev/x dut | tee log",
                &["sync", "umount", "usbsdmux", "tee"],
            ),
            ("A=1 B='x y' ./tell on >/dev/null 2>&1 &", &["./tell"]),
            ("if ! test -e /dev/x; then modprobe x; fi", &["modprobe"]),
            ("( cd x && ./on ) || exit 1", &["./on"]),
            ("> log ./on; echo a >b", &["./on"]),
            ("sudo -n uhubctl -a off", &["sudo"]),
            (
                "for p in 1 2; do uhubctl -p $p; done # done | none",
                &["uhubctl"],
            ),
            ("ssh board \"cat /proc/cmdline | grep x\"", &["ssh"]),
            ("true", &[]),
            ("$TOOL on", &[]),
            ("id=$(lavacli jobs submit x)", &[]),
            ("case $V in a) ./tell ;; esac", &[]),
            ("", &[]),
        ] {
            assert_eq!(started(command), programs, "{command}");
        }
    }

    #[test]
    fn a_command_that_the_shell_cannot_read_is_found_without_running_it() {
        assert_eq!(syntax("echo a | cat"), Ok(()));
        assert!(syntax("echo 'a").is_err());
        assert!(syntax("if true").is_err());
    }
}
