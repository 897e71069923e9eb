//! Shells that start programs in a dearer way than they need to.

use super::found::{Found, Scope};
use super::probes::count;
use super::processes::begun;
use super::scripts::{code, is_run, place};
use super::text::shells as text;
use super::view::{View, times, transfer};
use crate::system::RootTree;
use record::{Phase, Process};
use std::collections::BTreeMap;

/// What bash needs for a folder of PATH that does not have a program, in instructions: 83 us
/// at 125 MIPS (`lab classics shell-paths`).
const FOLDER_WORK: u64 = 10_400;

/// So many folders without it come before that of most programs, `/usr/bin`, in Debian's
/// PATH: `/usr/local/sbin`, `/usr/local/bin`, `/usr/sbin`.
const FOLDERS: u64 = 3;

/// What an applet that is started as a program takes beyond one that the shell finds in
/// itself, in instructions: 2.8 ms at 125 MIPS (`lab classics processes-of-a-shell`).
const APPLET_WORK: u64 = 350_000;

/// Fewer applets are not worth a word.
const FEW_APPLETS: usize = 10;

/// How BusyBox' standalone shell starts an applet (`CONFIG_BUSYBOX_EXEC_PATH`).
const ITSELF: &str = "/proc/self/exe";

/// Words before a command that are none.
const KEYWORDS: [&str; 11] = [
    "!", "do", "elif", "else", "exec", "if", "then", "time", "until", "while", "command",
];

/// What bash does itself, and words that are no command.
const BUILTINS: [&str; 44] = [
    ".", ":", "[", "[[", "alias", "break", "builtin", "case", "cd", "continue", "declare", "done",
    "echo", "esac", "eval", "exit", "export", "false", "fi", "for", "function", "getopts", "hash",
    "in", "jobs", "kill", "let", "local", "printf", "pwd", "read", "readonly", "return", "set",
    "shift", "source", "test", "trap", "true", "type", "ulimit", "umask", "unset", "wait",
];

/// Whether a line turns bash's memory of paths off.
fn forgets(line: &str) -> bool {
    let commands = line.split([';', '&', '|']);
    commands.into_iter().any(|command| {
        let mut words = command.split_whitespace();
        if words.next() != Some("set") {
            return false;
        }
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let Some(options) = word.strip_prefix('+') else {
                continue;
            };
            let is_named = options == "o" && words.peek() == Some(&"hashall");
            if is_named || (options != "o" && options.contains('h')) {
                return true;
            }
        }
        false
    })
}

/// The programs that a line of a script names without a folder.
fn programs(line: &str) -> impl Iterator<Item = &str> {
    let commands = line.split(|c: char| ";&|(){}`".contains(c));
    commands.filter_map(|command| {
        let mut words = command.split_whitespace();
        let word = words.find(|w| !KEYWORDS.contains(w) && !w.contains('='))?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        let is_program = word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(is_plain)
            && !BUILTINS.contains(&word);
        is_program.then_some(word)
    })
}

/// A script of bash that searches PATH for each program anew.
pub(super) fn path_search(view: &View<'_>) -> Option<Found> {
    let tree = view.system.root.as_ref()?;
    let is_bash = |path: &str| {
        let first = tree.texts.get(path).and_then(|t| t.lines().next());
        let command = first.and_then(|l| l.strip_prefix("#!")).unwrap_or_default();
        let mut words = command.split_whitespace();
        words.any(|w| w.rsplit('/').next() == Some("bash"))
    };
    let is_it = |path: &str| is_run(tree, path) && is_bash(path);
    let (path, offset, line) = tree
        .lines(is_it)
        .find(|(_, _, line)| code(line).is_some_and(forgets))?;
    let mut starts: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, _, later) in tree.lines(|p| p == path).filter(|(_, at, _)| *at > offset) {
        for program in code(later).into_iter().flat_map(programs) {
            *starts.entry(program).or_default() += 1;
        }
    }
    // The first start of each is searched for either way.
    let again: u64 = starts.values().map(|n| n - 1).sum();
    let speed = view.speed();
    let time = times(again, transfer(FOLDER_WORK * FOLDERS, speed.rate).0);
    let found = Found::new()
        .title(text::forgets(path))
        .why(text::forgets_why(again, FOLDERS))
        .evidence([place(tree, path, offset, line)])
        .scope(Scope::Unknown);
    Some(match again {
        0 => found,
        _ => found.parts(time, 30, 100, 250).at_speed(speed),
    })
}

/// Whether a program is started as an applet of the root's BusyBox.
fn is_applet(tree: &RootTree, command: &str) -> bool {
    let path = command.split_whitespace().next().unwrap_or_default();
    let Some(path) = path.strip_prefix('/') else {
        return false;
    };
    let is_in = |path: &str| tree.applets.contains(path);
    is_in(path) || is_in(&format!("usr/{path}")) || path.strip_prefix("usr/").is_some_and(is_in)
}

/// Applets that a shell of BusyBox starts as programs.
pub(super) fn standalone(view: &View<'_>) -> Option<Found> {
    let tree = view.system.root.as_ref()?;
    let command = |p: &Process| p.command.map_or("", |c| view.record.name(c));
    // What an initramfs starts is not of this root: it has a BusyBox of its own, or an agent
    // that starts itself again.
    let mut phases = view.phases.phases.iter();
    let from = phases.find(|p| p.name == Phase::Userspace).map(|p| p.start);
    let is_of_root = |p: &&Process| p.start.zip(from).is_none_or(|(start, from)| start >= from);
    let begun = || begun(view).filter(is_of_root);
    let is_standalone = |p: &Process| command(p).split_whitespace().next() == Some(ITSELF);
    if begun().any(is_standalone) {
        return None;
    }
    let mut by_name: BTreeMap<&str, (usize, &Process)> = BTreeMap::new();
    for p in begun().filter(|p| p.pid != 1 && is_applet(tree, command(p))) {
        by_name.entry(view.record.name(p.name)).or_insert((0, p)).0 += 1;
    }
    let all: usize = by_name.values().map(|(n, _)| n).sum();
    if all < FEW_APPLETS {
        return None;
    }
    let mut names: Vec<_> = by_name.into_iter().collect();
    names.sort_by_key(|(name, (n, _))| (std::cmp::Reverse(*n), *name));
    let shown = names.iter().take(super::evidence::SHOWN);
    let shown = shown.map(|(_, (n, p))| {
        let text = text::applet(command(p), count(*n, "time", "times"));
        view.evidence(text, p.origin)
    });
    let speed = view.speed();
    let time = times(all as u64, transfer(APPLET_WORK, speed.rate).0);
    Some(
        Found::new()
            .title(text::applets(all))
            .evidence(shown)
            .parts(time, 10, 80, 120)
            .at_speed(speed)
            .scope(Scope::Unknown),
    )
}

#[cfg(test)]
mod tests {
    use super::{forgets, programs};

    #[test]
    fn a_shell_is_told_to_forget() {
        for yes in [
            "set +h",
            "set -e +h",
            "set +o hashall",
            "x=1; set +eh",
            "set +hB",
        ] {
            assert!(forgets(yes), "{yes}");
        }
        for no in [
            "set -h",
            "set -o hashall",
            "set +o pipefail",
            "echo set +h",
            "set +e",
            "",
        ] {
            assert!(!forgets(no), "{no}");
        }
    }

    #[test]
    fn programs_are_commands_without_a_folder() {
        let of = |line| programs(line).collect::<Vec<_>>();
        assert_eq!(of("mount -a && mkdir -p /run/x"), ["mount", "mkdir"]);
        assert_eq!(of("if ! grep -q x /proc/mounts; then"), ["grep"]);
        assert_eq!(of("A=1 udevadm settle"), ["udevadm"]);
        assert_eq!(of("x=$(uname -r | cut -d. -f1)"), ["uname", "cut"]);
        assert_eq!(of("echo a; /bin/true; \"$x\"; for i in a b; do"), [""; 0]);
    }
}
