//! Init scripts of the root, read line by line.

use super::contention::ran_between;
use super::evidence::Evidence;
use super::found::{Found, Scope};
use super::modules::is_alone;
use super::probes::count;
use super::processes::lived;
use super::text::coldplug as coldplug_text;
use super::text::scripts as text;
use super::view::{View, times};
use crate::system::RootTree;
use record::{Nanos, Process};
use std::collections::BTreeSet;

/// What a fork takes on a small machine, and what it takes with a program.
const FORK: i64 = 3_000_000;
const PROGRAM: i64 = 6_000_000;

/// The same in instructions, as counted on an ARM926 in the exact lab: a shell
/// that forks, and one that starts a program of busybox too.
const FORK_WORK: u64 = 300_000;
const PROGRAM_WORK: u64 = 650_000;

/// What a fork takes, or one with a program, on this machine if it is known.
fn start(view: &View<'_>, usual: i64, work: u64) -> i64 {
    let speed = view.speed();
    match speed.is_assumed {
        true => usual,
        false => super::view::transfer(work, speed.rate).0,
    }
}

/// How much of the start of a script stays if one shell runs it, in percent: a copy of that
/// shell, 2.5 of 6.1 ms (`lab classics processes-of-a-shell`).
const COPY_STAYS: i64 = 40;

/// Where start scripts are.
const SCRIPTS: &str = "etc/init.d";

/// Whether a file is a script that init runs.
fn is_script(path: &str) -> bool {
    let init = [
        "etc/init.d/",
        "etc/rc.d/",
        "etc/rcS.d/",
        "etc/rc.local",
        "etc/rc",
    ];
    init.iter().any(|p| path.starts_with(p)) || path == "init" || path == "etc/preinit"
}

/// Whether a file is a script that the init of this root runs. Of etc/init.d/ systemd
/// runs what a link in etc/rcN.d/ starts and what has no unit of its name in its place
/// (`systemd-sysv-generator`).
pub(super) fn is_run(tree: &RootTree, path: &str) -> bool {
    if !is_script(path) || !has_systemd(tree) {
        return is_script(path);
    }
    let Some(name) = path.strip_prefix("etc/init.d/") else {
        return path == "etc/rc.local";
    };
    let all = || tree.texts.keys().chain(tree.links.keys());
    let unit = format!("systemd/system/{}.service", name.trim_end_matches(".sh"));
    let is_start = |p: &String| {
        let link = p.strip_prefix("etc/rc").and_then(|p| p.split_once(".d/S"));
        link.and_then(|(_, l)| l.get(2..)) == Some(name)
    };
    all().any(is_start) && !all().any(|p| p.ends_with(&unit))
}

/// Units that systemd starts, of the distribution and of the administrator.
fn is_unit(path: &str) -> bool {
    let folder = path.contains("systemd/system/");
    folder && (path.ends_with(".service") || path.ends_with(".conf"))
}

/// A line that does something.
pub(super) fn code(line: &str) -> Option<&str> {
    let line = line.trim_start();
    (!line.is_empty() && !line.starts_with('#')).then_some(line)
}

pub(super) fn place(tree: &RootTree, path: &str, offset: usize, line: &str) -> Evidence {
    Evidence {
        text: line.trim().chars().take(100).collect(),
        place: tree.place(path, offset),
    }
}

/// The words of a line of a script, without what stands between commands.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> + Clone {
    line.split(|c: char| c.is_whitespace() || ";&|(){}`".contains(c))
        .filter(|w| !w.is_empty())
}

/// The same, each without the folder of its path.
pub(super) fn names(line: &str) -> impl Iterator<Item = &str> + Clone {
    words(line)
        .map(|w| w.rsplit('/').next().unwrap_or(w))
        .filter(|w| !w.is_empty())
}

/// The seconds of a `sleep N` that stands as a command in a line.
fn slept(line: &str) -> Option<Nanos> {
    let mut words = words(line);
    while let Some(word) = words.next() {
        let program = word
            .trim_start_matches(['-', '@', '+', '!', ':'])
            .rsplit(['/', '='])
            .next()
            .unwrap_or(word);
        if program != "sleep" {
            continue;
        }
        let amount = words.next()?;
        let seconds: f64 = amount.trim_end_matches('s').parse().ok()?;
        if (0.0..=600.0).contains(&seconds) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "at most 600 seconds in nanoseconds"
            )]
            return Some(Nanos((seconds * 1e9) as i64));
        }
    }
    None
}

/// Fixed waits in scripts and units.
pub(super) fn sleeps(view: &View<'_>) -> Option<Found> {
    let tree = view.system.root.as_ref()?;
    let mut all = Nanos::ZERO;
    let mut seen = Vec::new();
    let mut looped = false;
    for (path, offset, line) in tree.lines(|p| is_run(tree, p) || is_unit(p)) {
        let Some(text) = code(line) else { continue };
        let unit = is_unit(path);
        if unit && !text.starts_with("ExecStart") {
            continue;
        }
        // In a loop it waits for something, as it should.
        looped |= ["while ", "until ", "for "]
            .iter()
            .any(|w| text.starts_with(w));
        looped &= !text.starts_with("done");
        if let Some(time) = slept(text).filter(|_| !looped && !stops(tree, path, offset)) {
            all = all + time;
            seen.push(place(tree, path, offset, line));
        }
    }
    if all < Nanos::from_millis(50) {
        return None;
    }
    // Each is a program, too, which need not be started.
    let started = times(seen.len() as u64, start(view, PROGRAM, PROGRAM_WORK));
    seen.truncate(8);
    let part = |percent: i64| Nanos(all.0 / 100 * percent);
    Some(
        Found::new()
            .title(text::sleeps(all))
            .evidence(seen)
            .saving(part(20), part(80), all + started)
            .scope(Scope::Unknown),
    )
}

/// Whether a line of a script stands in its part for stopping.
pub(super) fn stops(tree: &RootTree, path: &str, offset: usize) -> bool {
    let text = tree.texts.get(path).and_then(|t| t.get(..offset));
    let labels = text.unwrap_or_default().lines().rev().filter_map(|l| {
        let label = l.trim().strip_suffix(')')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "|*_-\"'".contains(c);
        label.chars().all(plain).then(|| label.to_owned())
    });
    let label = labels.take(1).next().unwrap_or_default();
    ["stop", "restart", "reload", "status", "*"]
        .iter()
        .any(|w| label.trim_matches(['"', '\'']).starts_with(w))
}

/// A line that is rewritten with fewer programs, mechanically.
fn shorter(line: &str) -> Option<String> {
    let (before, rest) = line.split_once("cat ")?;
    let (file, after) = rest.split_once('|')?;
    let file = file.trim();
    let plain = !file.is_empty() && !file.contains([' ', '\t', '$', '`', '<', '>', '*', '-', '"']);
    let command = before
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || "`($;&|".contains(c));
    let after = after.trim_start();
    let first = after.split_whitespace().next()?;
    let reads = [
        "grep", "sed", "awk", "cut", "head", "tail", "sort", "wc", "tr",
    ];
    if !plain || !command || !reads.contains(&first) {
        return None;
    }
    // Up to the end of this one command of the pipeline.
    let end = after.find(['|', '`', ')', ';', '&']).unwrap_or(after.len());
    let (own, tail) = after.split_at(end);
    Some(format!(
        "{before}{} <{file}{}{tail}",
        own.trim_end(),
        if tail.is_empty() || tail.starts_with(['`', ')']) {
            ""
        } else {
            " "
        }
    ))
}

/// How many programs a line starts beyond the one that it needs.
fn forks(line: &str) -> u64 {
    let mut quoted = None;
    let mut n = 0;
    let mut back_quotes = 0;
    let chars: Vec<char> = line.chars().collect();
    for (i, c) in chars.iter().enumerate() {
        let (before, next) = (
            i.checked_sub(1).and_then(|i| chars.get(i)),
            chars.get(i + 1),
        );
        match (quoted, c) {
            (None, '#') if before.is_none_or(|b| b.is_whitespace()) => break,
            (None, '\'' | '"') => quoted = Some(*c),
            (Some(q), c) if q == *c => quoted = None,
            (Some('\''), _) => {}
            (_, '`') => back_quotes += 1,
            (_, '$') if next == Some(&'(') && chars.get(i + 2) != Some(&'(') => n += 1,
            (None, '|') if next != Some(&'|') && before != Some(&'|') => n += 1,
            _ => {}
        }
    }
    n + back_quotes / 2
}

/// So many forks are worth a word: five scripts with a pipe and a substitution each.
const FEW_FORKS: u64 = 10;

/// Programs that scripts start for what the shell can do.
pub(super) fn script_forks(view: &View<'_>) -> Option<Found> {
    let tree = view.system.root.as_ref()?;
    let mut n = 0_u64;
    let mut by_script: Vec<(u64, Evidence)> = Vec::new();
    let mut current: Option<(&str, u64, Evidence)> = None;
    for (path, offset, line) in tree.lines(|p| is_run(tree, p)) {
        let of_line = code(line).map_or(0, forks);
        if of_line == 0 {
            continue;
        }
        n += of_line;
        match &mut current {
            Some((p, sum, _)) if *p == path => *sum += of_line,
            _ => {
                let next = (path, of_line, place(tree, path, offset, line));
                if let Some((_, sum, e)) = current.replace(next) {
                    by_script.push((sum, e));
                }
            }
        }
    }
    by_script.extend(current.map(|(_, sum, e)| (sum, e)));
    if n < FEW_FORKS {
        return None;
    }
    by_script.sort_by_key(|(sum, e)| (std::cmp::Reverse(*sum), e.place.clone()));
    let evidence = by_script
        .into_iter()
        .take(super::evidence::SHOWN)
        .map(|(sum, mut e)| {
            e.text = text::of_script(sum, e.text);
            e
        });
    let time = times(n, start(view, FORK, FORK_WORK));
    Some(
        Found::new()
            .title(text::forks(n))
            .evidence(evidence)
            .parts(time, 5, 50, 150)
            .scope(Scope::Unknown),
    )
}

/// `cat FILE | grep X`, with the line that does without `cat`.
pub(super) fn useless_cats(view: &View<'_>) -> Option<Found> {
    let tree = view.system.root.as_ref()?;
    let mut seen = Vec::new();
    let mut in_folder = true;
    for (path, offset, line) in tree.lines(|p| is_run(tree, p)) {
        let Some(better) = code(line).and_then(shorter) else {
            continue;
        };
        in_folder &= path.starts_with(SCRIPTS);
        let mut e = place(tree, path, offset, line);
        e.text = format!("{} -> {}", e.text, better.trim());
        seen.push(e);
    }
    let n = seen.len();
    seen.truncate(8);
    if n == 0 {
        return None;
    }
    Some(
        Found::new()
            .title(text::cats(count(
                n,
                "`cat` is started",
                "`cat`s are started",
            )))
            .evidence(seen)
            .maybe_treatment(in_folder.then(|| format!("cat-pipes={SCRIPTS}")))
            .parts(
                times(n as u64, start(view, PROGRAM, PROGRAM_WORK)),
                20,
                100,
                200,
            )
            .scope(Scope::Unknown),
    )
}

/// Whether systemd starts this root.
fn has_systemd(tree: &RootTree) -> bool {
    tree.links.keys().chain(tree.texts.keys()).any(|p| {
        p.ends_with("lib/systemd/system/sysinit.target") || p.contains("lib/systemd/system/basic")
    })
}

/// So many scripts one after another are worth joining.
const MANY_SCRIPTS: usize = 5;

/// Many scripts that init runs one after another.
pub(super) fn many_scripts(view: &View<'_>) -> Option<Found> {
    let tree = view.system.root.as_ref()?;
    let systemd = has_systemd(tree);
    let begun = |folder: &str| {
        let all = tree.links.keys().chain(tree.texts.keys());
        let started = all.filter(|p| {
            let name = p.strip_prefix(folder).unwrap_or_default();
            name.starts_with('S')
                && name
                    .get(1..3)
                    .is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
        });
        started.cloned().collect::<Vec<String>>()
    };
    let single = begun("etc/rcS.d/");
    let level = begun("etc/rc5.d/");
    let level = if level.is_empty() {
        begun("etc/rc2.d/")
    } else {
        level
    };
    // BusyBox and Buildroot keep them in init.d itself.
    let plain = begun("etc/init.d/");
    let is_busybox = single.is_empty() && level.is_empty();
    let all: Vec<String> = single.into_iter().chain(level).chain(plain).collect();
    if systemd || all.len() < MANY_SCRIPTS {
        return None;
    }
    let evidence = all.iter().take(super::evidence::SHOWN).map(|p| Evidence {
        text: p.clone(),
        place: tree.place(p, 0),
    });
    let found = Found::new()
        .title(text::many(all.len()))
        .evidence(evidence)
        .maybe_treatment(is_busybox.then(|| "start-script=one".to_owned()))
        .scope(Scope::Unknown);
    // Every script starts a shell: so that takes no longer than the shortest of them.
    let names: BTreeSet<&str> = all.iter().filter_map(|p| p.rsplit('/').next()).collect();
    let ran = lived(view, |name| names.iter().any(|n| is_named(n, name)));
    let shortest = ran.iter().min_by_key(|(time, _)| *time);
    let Some((shortest, p)) = shortest.filter(|_| ran.len() >= MANY_SCRIPTS) else {
        return Some(found);
    };
    let name = view.record.name(p.name);
    let most = times(ran.len() as u64, shortest.0);
    Some(
        found
            .evidence([view.evidence(text::shortest(name, shortest), p.origin)])
            .parts(most, 0, 100 - COPY_STAYS, 100),
    )
}

/// Whether the kernel calls a process of the script `script` so: its names have at most
/// fifteen bytes.
fn is_named(script: &str, process: &str) -> bool {
    const LONGEST: usize = 15;
    script == process || (process.len() == LONGEST && script.starts_with(process))
}

/// A script waits until every device is handled.
pub(super) fn script_settle(view: &View<'_>) -> Option<Found> {
    let tree = view.system.root.as_ref()?;
    let (path, offset, line) = tree
        .lines(|p| is_run(tree, p))
        .find(|(path, offset, line)| {
            code(line).is_some_and(|l| l.contains("udevadm settle") || l.contains("udevsettle"))
                && !stops(tree, path, *offset)
        })?;
    let found = Found::new()
        .evidence([place(tree, path, offset, line)])
        .scope(Scope::Unknown);
    let ran = lived(view, |name| matches!(name, "udevadm" | "udevsettle"));
    // Of several, `settle` is the one that waits.
    let Some((time, p)) = ran.iter().max_by_key(|(time, _)| *time) else {
        return Some(found);
    };
    let expected = match (is_alone(view), goes_on(view, *time, p)) {
        (false, _) => *time,
        (true, Some(goes_on)) => *time - goes_on,
        // On one processor, what udev does goes on all the same
        // (docs/findings/waiting-unit.md).
        (true, None) => Nanos(time.0 / 4),
    };
    let name = view.record.name(p.name);
    Some(
        found
            .evidence([view.evidence(coldplug_text::ran(name, time), p.origin)])
            .saving(Nanos::ZERO, expected, *time),
    )
}

/// What others compute while `p` waits for `time`, and would compute all the same before first
/// light: the scheduler gives them as much of the one processor as it gives to all that the
/// wait holds up, so that what is longer than that comes after first light. `None`: nobody
/// recorded who had the processor.
fn goes_on(view: &View<'_>, time: Nanos, p: &Process) -> Option<Nanos> {
    let until = p.end?.min(view.phases.end());
    let others = ran_between(view, |pid| pid != p.pid, until - time, until)?;
    Some(others.min(view.phases.end() - until))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cat_is_rewritten_where_that_is_mechanical() {
        let of = |line: &str| shorter(line);
        assert_eq!(
            of("cat /proc/mtd | grep rootfs"),
            Some("grep rootfs </proc/mtd".to_owned())
        );
        assert_eq!(
            of("x=`cat /proc/cmdline | cut -d= -f2`"),
            Some("x=`cut -d= -f2 </proc/cmdline`".to_owned())
        );
        assert_eq!(
            of("x=$(cat /a | grep b | wc -l)"),
            Some("x=$(grep b </a | wc -l)".to_owned())
        );
        for no in [
            "cat $f | grep a",
            "cat a b | grep c",
            "cat /a",
            "zcat /a | grep b",
            "cat /a | ./own",
        ] {
            assert_eq!(of(no), None, "{no}");
        }
    }

    #[test]
    fn forks_are_counted_outside_of_quotes() {
        assert_eq!(forks("a | b | c"), 2);
        assert_eq!(forks("x=`a`; y=$(b)"), 2);
        assert_eq!(forks("a || b"), 0);
        assert_eq!(forks("echo 'a | b' \"c | d\" # e | f"), 0);
        assert_eq!(forks("x=$((1 + 2))"), 0);
        assert_eq!(forks("x=\"$(a)\""), 1);
    }

    #[test]
    fn a_sleep_is_a_command() {
        assert_eq!(slept("sleep 2"), Some(Nanos(2_000_000_000)));
        assert_eq!(slept("a; sleep 0.5 && b"), Some(Nanos(500_000_000)));
        assert_eq!(
            slept("ExecStartPre=/bin/sleep 5s"),
            Some(Nanos(5_000_000_000))
        );
        assert_eq!(slept("nosleep 5"), None);
        assert_eq!(slept("sleep $N"), None);
        assert_eq!(slept("sleep infinity"), None);
    }
}
