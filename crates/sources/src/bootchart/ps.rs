//! `proc_ps.log`: every process, from /proc/PID/stat.

use super::blocks::{Piece, TICK_NS, pieces};
use super::lives::{Cpu, Lives, Look};
use super::log::{Found, Log};
use super::notes as note;
use crate::text;
use record::{Process, Recorder, TaskState};
use std::collections::BTreeSet;

/// The longest name that the kernel gives a process (`TASK_COMM_LEN` less one).
/// Android writes command lines in its place.
const LONGEST_NAME: usize = 15;

/// A line of /proc/PID/stat: see proc(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat<'a> {
    pub pid: u32,
    /// What stands in the parentheses, which it may hold itself.
    pub name: &'a [u8],
    pub state: TaskState,
    pub parent: u32,
    /// Nanoseconds in programs, and in the kernel.
    pub cpu: (i64, i64),
    /// When it was forked, in nanoseconds since the boot.
    pub born: i64,
    /// It has no memory of its own, as threads of the kernel have none, nor
    /// those that have exited.
    pub no_memory: bool,
}

impl<'a> Stat<'a> {
    /// Reads a line. `None` if it has fewer fields than any kernel writes.
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
        let (pid, rest) = text::number(text::without_indent(line))?;
        let rest = rest.strip_prefix(b" (")?;
        let close = memchr::memrchr(b')', rest)?;
        let (name, fields) = rest.split_at(close);
        // Behind the name: field 3 of proc(5), the state, and so on.
        let fields = fields.get(1..)?.split(|b| b.is_ascii_whitespace());
        let mut fields = fields.filter(|f| !f.is_empty());
        let mut field = |skip: usize| fields.nth(skip);
        let unsigned = |f: &[u8]| text::number(f).filter(|n| n.1.is_empty()).map(|n| n.0);
        let ticks = |f: &[u8]| i64::try_from(unsigned(f)?).ok()?.checked_mul(TICK_NS);
        let state = state(field(0)?)?;
        let parent = u32::try_from(unsigned(field(0)?)?).ok()?;
        // Fields 14 and 15.
        let user = ticks(field(9)?)?;
        let system = ticks(field(0)?)?;
        // Fields 22 and 23.
        let born = ticks(field(6)?)?;
        let size = unsigned(field(0)?)?;
        Some(Self {
            pid: u32::try_from(pid).ok()?,
            name,
            state,
            parent,
            cpu: (user, system),
            born,
            no_memory: size == 0,
        })
    }

    /// The name as the kernel has it, and the command line if one stands in
    /// its place.
    fn names(&self) -> (&'a [u8], Option<&'a [u8]>) {
        let blank = memchr::memchr(b' ', self.name);
        match blank {
            Some(at) if self.name.len() > LONGEST_NAME => {
                (self.name.split_at(at).0, Some(self.name))
            }
            _ => (self.name, None),
        }
    }
}

/// The states of proc(5), also those of older kernels.
fn state(word: &[u8]) -> Option<TaskState> {
    Some(match word {
        b"R" => TaskState::Running,
        b"D" | b"W" => TaskState::Blocked,
        b"S" | b"I" | b"K" | b"P" => TaskState::Sleeping,
        b"Z" | b"X" | b"x" => TaskState::Zombie,
        b"T" | b"t" => TaskState::Stopped,
        _ => return None,
    })
}

/// How the clock on which processes are born lies beside that of the samples.
///
/// Both should count from the boot. They do not where the collector counts from
/// its own start, nor on old kernels, whose ticks and uptime drifted apart (by
/// 2.7 s in a real chart of Linux 2.6.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Births {
    /// What is to be taken off a birth, in nanoseconds.
    pub offset: i64,
    /// How far that may be wrong.
    pub error: i64,
}

impl Births {
    /// Whoever is in a sample and was not in the one before was born between
    /// their stamps, or while the sample was taken: before the next stamp. Most
    /// decide: a damaged sample makes others look new.
    pub(super) fn of(log: &[u8]) -> Self {
        let mut known = BTreeSet::new();
        // The least and the greatest offset that would put each birth right.
        let mut bounds: Vec<(i64, i64)> = Vec::new();
        // The births of the sample before, each with its greatest offset.
        let mut open: Vec<(i64, i64)> = Vec::new();
        let mut before: Option<i64> = None;
        for piece in pieces(log) {
            let Piece::Block(block) = piece else { continue };
            let least = |(born, most): (i64, i64)| (born.saturating_sub(block.at), most);
            bounds.extend(open.drain(..).map(least));
            let mut any = false;
            for stat in block.lines().filter_map(|l| Stat::of(l.bytes)) {
                any = true;
                if known.insert((stat.pid, stat.born))
                    && let Some(before) = before
                {
                    open.push((stat.born, stat.born.saturating_sub(before)));
                }
            }
            if any {
                before = Some(block.at);
            }
        }
        let fit = |b: &&(i64, i64)| b.0 <= TICK_NS && b.1 >= -TICK_NS;
        if bounds.iter().filter(fit).count() * 2 >= bounds.len() {
            return Self::default();
        }
        // The tightest bounds, but for the tenth of them that damage may have
        // made.
        let mut least: Vec<i64> = bounds.iter().map(|b| b.0).collect();
        let mut most: Vec<i64> = bounds.iter().map(|b| b.1).collect();
        least.sort_unstable();
        most.sort_unstable_by(|a, b| b.cmp(a));
        let tenth = bounds.len() / 10;
        let but_a_tenth = |sorted: &[i64]| sorted.iter().rev().nth(tenth).copied();
        let (Some(least), Some(most)) = (but_a_tenth(&least), but_a_tenth(&most)) else {
            return Self::default();
        };
        let width = most.saturating_sub(least);
        Self {
            offset: least.saturating_add(width / 2),
            error: width.saturating_abs() / 2,
        }
    }
}

/// The processes of a log; the slices of what they did are recorded.
pub(super) fn read(log: &Log<'_>, births: Births, recorder: &mut Recorder) -> Vec<Process> {
    let mut lives = Lives::new(log.clock);
    let mut pids = BTreeSet::new();
    let mut names = BTreeSet::new();
    let mut unreadable = 0_u64;
    // How many were in each sample.
    let mut counts: Vec<usize> = Vec::new();
    log.each_sample(recorder, |block, recorder| {
        lives.sample(block.at);
        let mut count = 0;
        for line in block.lines() {
            let origin = log.origin(line.offset);
            let Some(stat) = Stat::of(line.bytes) else {
                unreadable += 1;
                recorder.note(origin, &note::UNREADABLE_LINE, String::new);
                continue;
            };
            count += 1;
            pids.insert(stat.pid);
            let (name, command) = stat.names();
            let name = recorder.name_lossy(name);
            names.insert(name);
            let look = Look {
                pid: stat.pid,
                parent: stat.parent,
                name,
                command: command.map(|c| recorder.name_lossy(c)),
                state: stat.state,
                born: Some(stat.born.saturating_sub(births.offset)),
                cpu: Cpu::Split(stat.cpu.0, stat.cpu.1),
                kernel_thread: stat.no_memory && stat.state != TaskState::Zombie,
                origin,
            };
            lives.look(&look, recorder);
        }
        if count == 0 {
            return Found::Nothing;
        }
        counts.push(count);
        if block.whole {
            lives.everybody();
        }
        Found::Events
    });
    let all = lives.finish(recorder);
    log.fact("pids", pids.len(), recorder);
    log.fact("names", names.len(), recorder);
    let last_names: BTreeSet<_> = all.iter().map(|p| p.name).collect();
    log.fact("last_names", last_names.len(), recorder);
    log.fact("unreadable_lines", unreadable, recorder);
    for (key, count) in [
        ("most_in_a_sample", counts.iter().max()),
        ("in_first_sample", counts.first()),
        ("in_last_sample", counts.last()),
    ] {
        if let Some(count) = count {
            log.fact(key, count, recorder);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{Births, Stat};
    use record::TaskState;

    fn line(pid_and_name: &str) -> String {
        format!("{pid_and_name} D 2 0 0 0 -1 64 1 2 3 4 10 20 5 6 15 -5 1 0 300 4096 7 0")
    }

    #[test]
    fn names_hold_anything() {
        for name in [
            "init",
            "kworker/0:1H-kblockd",
            "a b",
            "(sd-pam)",
            "x) S 1 (y",
            ")",
            "",
        ] {
            let line = line(&format!("12 ({name})"));
            let stat = Stat::of(line.as_bytes());
            let stat = stat.map(|s| (s.pid, s.name, s.state, s.parent, s.cpu, s.born));
            let expected = (
                12,
                name.as_bytes(),
                TaskState::Blocked,
                2,
                (100_000_000, 200_000_000),
                3_000_000_000,
            );
            assert_eq!(stat, Some(expected), "{name}");
        }
    }

    #[test]
    fn command_lines_of_android_are_told_from_names() {
        let names = |name: &str| {
            let line = line(&format!("12 ({name})"));
            let stat = Stat::of(line.as_bytes());
            stat.map(|s| {
                let (name, command) = s.names();
                let text = |b| String::from_utf8_lossy(b).into_owned();
                (text(name), command.map(text))
            })
        };
        for (written, name, command) in [
            ("Web Content", "Web Content", None),
            (
                "app_process64 -Xzygote /system/bin",
                "app_process64",
                Some("app_process64 -Xzygote /system/bin"),
            ),
            ("com.android.systemui", "com.android.systemui", None),
        ] {
            let expected = (name.to_owned(), command.map(str::to_owned));
            assert_eq!(names(written), Some(expected));
        }
    }

    /// Samples at these stamps, with what was born when.
    fn log(samples: &[(u32, &[u32])]) -> String {
        let mut text = String::new();
        for (at, born) in samples {
            text += &format!("{at}\n");
            for b in *born {
                text += &format!("{b} (x) S 1 0 0 0 -1 64 1 2 3 4 1 2 5 6 15 -5 1 0 {b} 9 7\n");
            }
            text += "\n";
        }
        text
    }

    #[test]
    fn births_are_put_beside_the_stamps() {
        const S: i64 = 1_000_000_000;
        let of = |samples: &[(u32, &[u32])]| Births::of(log(samples).as_bytes());
        // On one clock, a slow collector included.
        let slow: &[(u32, &[u32])] = &[(1_000, &[5]), (1_200, &[5, 1_250]), (1_300, &[])];
        assert_eq!(of(slow), Births::default());
        // Three seconds, or an hour, apart.
        for apart in [300, 360_000] {
            let born = [5, apart + 1_150, apart + 1_250];
            let shifted: &[(u32, &[u32])] = &[
                (1_000, &born[..1]),
                (1_200, &born[..2]),
                (1_300, &born),
                (1_400, &[]),
            ];
            let births = of(shifted);
            let off = births.offset - i64::from(apart) * S / 100;
            assert!(off.abs() <= births.error && births.error <= S, "{births:?}");
        }
        // A sample that lost most of its lines does not move the others.
        let torn: &[(u32, &[u32])] = &[
            (1_000, &[5]),
            (1_200, &[5, 6, 1_150]),
            (1_300, &[5, 6, 1_150, 1_250]),
            (1_400, &[5, 6, 1_150, 1_250, 1_350]),
        ];
        assert_eq!(of(torn), Births::default());
        // Nobody was born.
        assert_eq!(of(&[(1_000, &[5]), (1_200, &[5])]), Births::default());
        assert_eq!(Births::of(b""), Births::default());
    }

    #[test]
    fn cut_lines_are_not_half_read() {
        let line = line("12 (x)");
        let whole = Stat::of(line.as_bytes());
        for at in 0..line.len() {
            let cut = Stat::of(&line.as_bytes()[..at]);
            // All that is read stands before the last three fields.
            assert!(
                cut.is_none() || cut == whole || line[at..].len() < 12,
                "{at}"
            );
        }
        assert_eq!(Stat::of(b"99999999999 (x) S 1"), None);
    }
}
