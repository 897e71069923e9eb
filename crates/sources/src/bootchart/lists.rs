//! `cmdline2.log` and `paternity.log`: what bootchart2 writes when a process
//! execs or forks.

use super::notes as note;
use crate::text;
use record::{NameId, Origin, Process, Recorder, SourceId};
use std::collections::BTreeMap;

/// Command lines by process id, in the order of the execs. An entry is the
/// process id, `:` and the program's path, and `:` and the arguments, each
/// ended by NUL; and a blank line. Units are entries.
pub(super) fn command_lines(
    bytes: &[u8],
    source: SourceId,
    recorder: &mut Recorder,
) -> BTreeMap<u32, NameId> {
    let mut found = BTreeMap::new();
    let mut lines = text::lines(bytes).peekable();
    while let Some(line) = lines.next() {
        if line.bytes.is_empty() {
            continue;
        }
        let origin = line.origin(source);
        let pid = text::number(line.bytes).filter(|(_, rest)| rest.is_empty());
        let pid = pid.and_then(|(pid, _)| u32::try_from(pid).ok());
        let mut part = || {
            let line = lines.next_if(|l| l.bytes.starts_with(b":"))?;
            line.bytes.get(1..)
        };
        let (path, arguments) = (part(), part());
        match (pid, path, arguments) {
            (Some(pid), Some(path), Some(arguments)) => {
                let words = arguments.strip_suffix(b"\0").unwrap_or(arguments);
                let words: Vec<u8> = words
                    .iter()
                    .map(|&b| if b == 0 { b' ' } else { b })
                    .collect();
                let words = if words.is_empty() { path } else { &words };
                found.insert(pid, recorder.name_lossy(words));
                recorder.took(source);
            }
            _ => recorder.skipped(origin, &note::BAD_PAIR),
        }
    }
    found
}

/// Who forked whom: lines `CHILD PARENT`, in the order of the forks. A process
/// id that was used again is there again. Units are lines.
pub(super) fn parents(
    bytes: &[u8],
    source: SourceId,
    recorder: &mut Recorder,
) -> BTreeMap<u32, Vec<u32>> {
    let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut forks = 0_u64;
    for line in text::lines(bytes) {
        let origin = line.origin(source);
        match pair(line.bytes) {
            Some((child, parent)) => {
                found.entry(child).or_default().push(parent);
                forks += 1;
                recorder.took(source);
            }
            None => recorder.skipped(origin, &note::BAD_PAIR),
        }
    }
    let origin = Origin { source, offset: 0 };
    recorder.fact("bootchart.paternity.forks", &forks.to_string(), origin);
    found
}

/// `CHILD PARENT`.
pub(super) fn pair(line: &[u8]) -> Option<(u32, u32)> {
    let (child, rest) = text::number(line)?;
    let (parent, rest) = text::number(rest.strip_prefix(b" ")?)?;
    let ids = (u32::try_from(child).ok()?, u32::try_from(parent).ok()?);
    rest.trim_ascii().is_empty().then_some(ids)
}

/// Puts what the lists say to the processes that samples have. Where an id was
/// used more than once and the list does not say for which process, it says
/// nothing.
pub(super) fn apply(
    processes: &mut [Process],
    commands: &BTreeMap<u32, NameId>,
    parents: &BTreeMap<u32, Vec<u32>>,
) {
    let mut by_pid: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, process) in processes.iter().enumerate() {
        by_pid.entry(process.pid).or_default().push(at);
    }
    for (pid, places) in by_pid {
        let forks = parents.get(&pid).map_or(&[][..], Vec::as_slice);
        let same = forks.iter().all(|p| Some(p) == forks.first());
        for (n, &at) in places.iter().enumerate() {
            let Some(process) = processes.get_mut(at) else {
                continue;
            };
            let parent = match forks {
                [parent, ..] if same => Some(parent),
                all if all.len() == places.len() => all.get(n),
                _ => None,
            };
            process.parent = parent.copied().filter(|&p| p > 0).or(process.parent);
            // The list has the last exec of an id.
            if process.command.is_none() && n + 1 == places.len() {
                process.command = commands.get(&pid).copied();
            }
        }
    }
}
