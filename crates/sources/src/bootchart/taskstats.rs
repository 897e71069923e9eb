//! `taskstats.log`: what processes used, as bootchart2 has it from the
//! kernel's taskstats interface.

use super::lives::{Cpu, Lives, Look};
use super::log::{Found, Log};
use super::notes as note;
use crate::text;
use record::{Process, Recorder, TaskState};
use std::collections::{BTreeMap, BTreeSet};

/// A line: `PID PARENT NAME CPU BLKIO SWAPIN`, the last three in nanoseconds
/// since the process was forked. Names hold blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Task<'a> {
    pid: u32,
    parent: u32,
    name: &'a [u8],
    cpu_ns: i64,
    /// Waiting for storage, swap included.
    wait_ns: i64,
}

impl<'a> Task<'a> {
    fn of(line: &'a [u8]) -> Option<Self> {
        let (pid, rest) = text::number(line)?;
        let (parent, rest) = text::number(rest.strip_prefix(b" ")?)?;
        let rest = rest.strip_prefix(b" ")?;
        let mut words = rest.rsplitn(4, |&b| b == b' ');
        let mut number = || {
            let (value, rest) = text::number(words.next()?)?;
            i64::try_from(value).ok().filter(|_| rest.is_empty())
        };
        let swap = number()?;
        let storage = number()?;
        let cpu_ns = number()?;
        let name = words.next()?;
        // Some collectors put the name into parentheses, as /proc does.
        let inner = name.strip_prefix(b"(").and_then(|n| n.strip_suffix(b")"));
        Some(Self {
            pid: u32::try_from(pid).ok()?,
            parent: u32::try_from(parent).ok()?,
            name: inner.unwrap_or(name),
            cpu_ns,
            wait_ns: storage.saturating_add(swap),
        })
    }
}

/// Whether a line looks like one of this log.
pub(super) fn is_task(line: &[u8]) -> bool {
    Task::of(line).is_some()
}

/// The processes of a log; the slices of what they did are recorded.
///
/// A sample has only those that used anything since the one before: nothing
/// tells when a process exited.
pub(super) fn read(log: &Log<'_>, recorder: &mut Recorder) -> Vec<Process> {
    let mut lives = Lives::new(log.clock);
    let mut waits: BTreeMap<u32, i64> = BTreeMap::new();
    let mut unreadable = 0_u64;
    let mut first = None;
    let mut cpu: BTreeMap<u32, i64> = BTreeMap::new();
    log.each_sample(recorder, |block, recorder| {
        lives.sample(block.at);
        let mut count = 0_usize;
        for line in block.lines() {
            let origin = log.origin(line.offset);
            let Some(task) = Task::of(line.bytes.trim_ascii_end()) else {
                unreadable += 1;
                recorder.note(origin, &note::UNREADABLE_LINE, String::new);
                continue;
            };
            count += 1;
            let waited = waits.insert(task.pid, task.wait_ns);
            // Less than before is another process of the same id.
            let used = cpu.insert(task.pid, task.cpu_ns);
            let used = used.filter(|u| *u <= task.cpu_ns);
            let state = if task.cpu_ns > used.unwrap_or(0) {
                TaskState::Running
            } else if task.wait_ns > waited.unwrap_or(0) {
                TaskState::Blocked
            } else {
                TaskState::Sleeping
            };
            let look = Look {
                pid: task.pid,
                parent: task.parent,
                name: recorder.name_lossy(task.name),
                command: None,
                state,
                born: None,
                cpu: Cpu::Total(task.cpu_ns),
                kernel_thread: task.pid == 2 || task.parent == 2,
                origin,
            };
            lives.look(&look, recorder);
        }
        if count == 0 {
            return Found::Nothing;
        }
        first.get_or_insert(count);
        Found::Events
    });
    let all = lives.finish(recorder);
    let names: BTreeSet<_> = all.iter().map(|p| p.name).collect();
    log.fact("pids", cpu.len(), recorder);
    log.fact("last_names", names.len(), recorder);
    log.fact("unreadable_lines", unreadable, recorder);
    if let Some(first) = first {
        log.fact("in_first_sample", first, recorder);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::Task;

    #[test]
    fn names_hold_blanks() {
        let task = |line: &str| {
            let task = Task::of(line.as_bytes());
            task.map(|t| {
                let name = String::from_utf8_lossy(t.name).into_owned();
                (t.pid, t.parent, name, t.cpu_ns, t.wait_ns)
            })
        };
        let of = |name: &str| Some((7, 1, name.to_owned(), 10, 5));
        assert_eq!(task("7 1 bash 10 2 3"), of("bash"));
        assert_eq!(task("7 1 Web Content 10 2 3"), of("Web Content"));
        assert_eq!(task("7 1 (sh) 10 2 3"), of("sh"));
        for line in [
            "",
            "7 1 bash 10 2",
            "7 bash 1 2 3",
            "7 1 bash 1 2 -3",
            "x 1 a 1 2 3",
        ] {
            assert_eq!(task(line), None, "{line}");
        }
    }
}
